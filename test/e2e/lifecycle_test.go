// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
)

// What happens to real applications between their beginning and their end.
var _ = Describe("The life of a Spark job", longest, func() {
	ctx := context.Background()

	It("goes on when it loses an executor, runs again when a drained node evicts its driver, is suspended, resumed and changed, and expires", func() {
		app := endless(newNamespace(ctx, "life"), "endless")
		app.Spec.RestartPolicy = v1beta2.RestartPolicy{Infrastructure: &v1beta2.RetryRule{
			Retries: 2, Backoff: &v1beta2.Backoff{Initial: &metav1.Duration{Duration: time.Second}},
		}}
		drivers, states := watchDrivers(ctx, app), watchStates(ctx, app)
		Expect(admin.Create(ctx, app)).To(Succeed())

		By("losing an executor")
		executor := eventuallyExecutor(ctx, app, "")
		Expect(admin.Delete(ctx, &executor, client.GracePeriodSeconds(0))).To(Succeed())
		eventuallyExecutor(ctx, app, executor.Name)
		s := statusOf(ctx, app)
		Expect(s.AppState.State).To(Equal(v1beta2.ApplicationStateRunning))
		Expect(s.ExecutionAttempts).To(BeEquivalentTo(1), "a lost executor is Spark's business")

		By("draining the node of the driver")
		first := driverOf(ctx, app)
		Expect(clientset.PolicyV1().Evictions(app.Namespace).Evict(ctx, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: app.Namespace, Name: first.Name}})).To(Succeed())
		s = eventuallyAttempt(ctx, app, 2, v1beta2.ApplicationStateRunning)
		second := driverOf(ctx, app)
		Expect(second.Name).To(Equal(first.Name), "tools look for this name")
		Expect(second.UID).NotTo(Equal(first.UID))
		Expect(s.Retries.Infrastructure).To(BeEquivalentTo(1))
		Expect(s.Attempts).To(HaveLen(2))
		Expect(s.Attempts[0]).To(And(HaveField("FailureClass", "Infrastructure"), HaveField("Reason", "DriverEvicted"), HaveField("EndTime", Not(BeNil()))))

		By("suspending")
		edit(ctx, app, func(s *v1beta2.SparkApplicationSpec) { s.Suspend = ptr.To(true) })
		eventuallyState(ctx, app, v1beta2.ApplicationStateSuspended)
		Eventually(func() []corev1.Pod { return podsOf(ctx, app) }, jobWait, poll).Should(BeEmpty(), "a suspended job holds no resources")

		By("resuming")
		edit(ctx, app, func(s *v1beta2.SparkApplicationSpec) { s.Suspend = nil })
		eventuallyAttempt(ctx, app, 3, v1beta2.ApplicationStateRunning)

		By("changing what does not concern the pods")
		running := driverOf(ctx, app).UID
		edit(ctx, app, func(s *v1beta2.SparkApplicationSpec) { s.TimeToLiveSeconds = ptr.To[int64](3600) })
		Eventually(func() int64 { return statusOf(ctx, app).ObservedGeneration }, jobWait, poll).Should(BeEquivalentTo(generation(ctx, app)))
		Expect(driverOf(ctx, app).UID).To(Equal(running))

		By("changing what does")
		edit(ctx, app, func(s *v1beta2.SparkApplicationSpec) { s.Arguments = []string{"sleep", "1"} })
		s = eventuallyState(ctx, app, v1beta2.ApplicationStateCompleted)
		Expect(s.ExecutionAttempts).To(BeEquivalentTo(1), "a changed spec starts counting again")
		Expect(s.Attempt).To(BeEquivalentTo(4))
		Eventually(states.String).Should(MatchRegexp(`RUNNING SUSPENDING SUSPENDED RESUMING (SUBMITTED )?RUNNING INVALIDATING PENDING_RERUN (SUBMITTED )?RUNNING COMPLETED$`))
		Expect(drivers.most()).To(Equal(1), "never two drivers at a time")
		Expect(drivers.seen()).To(Equal(4))

		By("letting it expire")
		edit(ctx, app, func(s *v1beta2.SparkApplicationSpec) { s.TimeToLiveSeconds = ptr.To[int64](1) })
		Eventually(func() bool {
			return apierrors.IsNotFound(admin.Get(ctx, client.ObjectKeyFromObject(app), &v1beta2.SparkApplication{}))
		}, jobWait, poll).Should(BeTrue())
		Eventually(func() []corev1.Pod { return podsOf(ctx, app) }, jobWait, poll).Should(BeEmpty())
	})

	It("runs again with more memory after its driver ran out of it", func() {
		app := script(ctx, newNamespace(ctx, "oom"), "hungry", "hold = bytearray(1100 * 1024 * 1024)\nprint('held', len(hold))\n")
		app.Spec.RestartPolicy = v1beta2.RestartPolicy{OutOfMemory: &v1beta2.OutOfMemoryRule{
			RetryRule: v1beta2.RetryRule{Retries: 1, Backoff: &v1beta2.Backoff{Initial: &metav1.Duration{Duration: time.Second}}}, MemoryFactor: ptr.To("4"),
		}}
		Expect(admin.Create(ctx, app)).To(Succeed())
		s := eventuallyState(ctx, app, v1beta2.ApplicationStateCompleted)
		Expect(driverLog(ctx, app)).To(ContainSubstring("held 1153433600"))
		Expect(s.Attempts).To(HaveLen(2))
		Expect(s.Attempts[0]).To(And(HaveField("Reason", "DriverOutOfMemory"), HaveField("FailureClass", "OutOfMemory"), HaveField("ExitCode", HaveValue(BeEquivalentTo(137)))))
		Expect(s.Attempts[0].Message).To(HaveSuffix("Reason: OOMKilled, Cause: it used more memory than its limit of 896Mi (heap 512Mi, overhead 384Mi)"))
		limit := driverOf(ctx, app).Spec.Containers[0].Resources.Limits[corev1.ResourceMemory]
		Expect(limit.Value()).To(BeNumerically(">", 2<<30), "four times 512 MiB and what is beside it")
	})

	It("runs a program once, although the kubelet starts its container again", func() {
		app := endless(newNamespace(ctx, "again"), "once")
		app.Spec.Arguments = []string{"exit", "3"}
		app.Spec.Driver.Template = &corev1.PodTemplateSpec{Spec: startsAgain()}
		drivers := watchDrivers(ctx, app)
		Expect(admin.Create(ctx, app)).To(Succeed())
		s := eventuallyState(ctx, app, v1beta2.ApplicationStateFailed)
		Expect(s.Attempts).To(HaveExactElements(And(HaveField("FailureClass", "Application"), HaveField("ExitCode", HaveValue(BeEquivalentTo(3))))))
		Eventually(func() []corev1.Pod { return podsOf(ctx, app) }, jobWait, poll).Should(BeEmpty(), "it would run the program for ever")
		Expect(drivers.seen()).To(Equal(1))
	})

	It("says what a driver waits for, and continues automatically when it is there", func() {
		app := sparkPi(newNamespace(ctx, "waits"), "patient", "10")
		app.Spec.Driver.ConfigMaps = []v1beta2.NamePath{{Name: "settings", Path: "/etc/settings"}}
		app.Spec.Driver.ServiceAccount = ptr.To("later")
		Expect(admin.Create(ctx, app)).To(Succeed())

		By("a service account that comes a little later")
		eventuallyReason(ctx, app, "Submitted", "AdmissionRefused", `serviceaccount "later" not found`)
		allow(ctx, app.Namespace, "later")

		By("a ConfigMap")
		eventuallyReason(ctx, app, "DriverReady", "FailedMount", `configmap "settings" not found`)
		Expect(meta.IsStatusConditionTrue(statusOf(ctx, app).Conditions, "Stalled")).To(BeTrue())
		Expect(statusOf(ctx, app).AppState.State).To(Equal(v1beta2.ApplicationStateSubmitted))
		Expect(admin.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: app.Namespace, Name: "settings"}})).To(Succeed())
		eventuallyState(ctx, app, v1beta2.ApplicationStateCompleted)
	})

	It("says that an image cannot be pulled or that no node has room, and ends when its deadline is over", func() {
		app := sparkPi(newNamespace(ctx, "image"), "no-image", "10")
		app.Spec.Driver.Image = ptr.To("firesteel.local/not-there:1")
		Expect(admin.Create(ctx, app)).To(Succeed())
		big := sparkPi(app.Namespace, "too-big", "10")
		big.Spec.Driver.CoreRequest = ptr.To("900")
		Expect(admin.Create(ctx, big)).To(Succeed())
		eventuallyReason(ctx, app, "DriverReady", "ImagePullBackOff", "not-there")
		eventuallyReason(ctx, big, "DriverReady", "Unschedulable", "Insufficient cpu")

		By("setting the deadline, which ends what waits, only now that the reasons were seen")
		edit(ctx, app, func(s *v1beta2.SparkApplicationSpec) {
			s.Deadlines = &v1beta2.Deadlines{DriverReady: &metav1.Duration{Duration: time.Second}}
		})
		s := eventuallyState(ctx, app, v1beta2.ApplicationStateFailed)
		Expect(s.AppState.ErrorMessage).To(And(ContainSubstring("spec.deadlines.driverReady"), ContainSubstring("not-there")))
		Eventually(func() []corev1.Pod { return podsOf(ctx, app) }, jobWait, poll).Should(BeEmpty(), "a driver that was given up is not left running")
	})
})

// startsAgain is a driver whose container is started again when it fails, whatever its pod says.
func startsAgain() corev1.PodSpec {
	return corev1.PodSpec{Containers: []corev1.Container{{Name: "spark", RestartPolicy: ptr.To(corev1.ContainerRestartPolicyOnFailure)}}}
}
