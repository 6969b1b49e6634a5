// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
)

const (
	driverContainer   = "spark-kubernetes-driver"
	executorContainer = "spark-kubernetes-executor"
)

var _ = Describe("An application", func() {
	var (
		ctx context.Context
		ns  string
	)
	BeforeEach(func(c SpecContext) {
		ctx = context.Background()
		ns = newNamespace(ctx)
	})

	executor := func(driver *corev1.Pod) *corev1.Pod {
		labels := map[string]string{"spark-role": "executor", "spark-exec-id": "1"}
		for _, k := range []string{"sparkoperator.k8s.io/app-name", "sparkoperator.k8s.io/launched-by-spark-operator", "sparkoperator.k8s.io/submission-id"} {
			labels[k] = driver.Labels[k]
		}
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "pi-exec-1", Labels: labels},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: executorContainer, Image: "spark"}}},
		}
	}

	It("goes from nothing to COMPLETED within its budget of writes", smoke, func() {
		Expect(admin.Create(ctx, sparkPi(ns, "pi"))).To(Succeed())
		driver := driverPod(ctx, ns, "pi-driver")
		eventuallyState(ctx, ns, "pi", v1beta2.ApplicationStateSubmitted)
		kubelet(ctx, driver, corev1.PodRunning, driverContainer, running())
		eventuallyState(ctx, ns, "pi", v1beta2.ApplicationStateRunning)

		ex := executor(driver)
		Expect(admin.Create(ctx, ex)).To(Succeed())
		kubelet(ctx, ex, corev1.PodRunning, executorContainer, running())
		kubelet(ctx, driver, corev1.PodSucceeded, driverContainer, exited(0, "Completed"))
		eventuallyState(ctx, ns, "pi", v1beta2.ApplicationStateCompleted)

		s := app(ctx, ns, "pi").Status
		Expect(s.SubmissionAttempts).To(BeEquivalentTo(1))
		Expect(s.ExecutionAttempts).To(BeEquivalentTo(1))
		Expect(s.SubmissionID).To(Equal(driver.Labels["sparkoperator.k8s.io/submission-id"]))
		Expect(s.SparkApplicationID).To(Equal(driver.Labels["spark-app-selector"]))
		Expect(s.DriverInfo.PodName).To(Equal("pi-driver"))
		Expect(s.ExecutorState).To(Equal(map[string]v1beta2.ExecutorState{"pi-exec-1": v1beta2.ExecutorStateCompleted}))
		Expect(s.LastSubmissionAttemptTime.IsZero()).To(BeFalse())
		Expect(s.TerminationTime.IsZero()).To(BeFalse())
		Expect(s.ObservedGeneration).To(BeEquivalentTo(1))
		Expect(condition(ctx, ns, "pi", "Succeeded").Status).To(Equal(metav1.ConditionTrue))

		By("counting the writes")
		Eventually(func() int { return count(writes.in(ns), "POST", "/events") }, wait, poll).Should(Equal(3))
		all := writes.in(ns)
		const ui = 1 // the UI's Service comes on top and goes in the end
		Expect(count(all, "POST", "/pods")+count(all, "POST", "/configmaps")+count(all, "POST", "/services")).To(BeNumerically("<=", 3+ui), "%v", all)
		Expect(count(all, "PATCH", "/sparkapplications/")).To(BeNumerically("<=", 4), "%v", all)
		Expect(count(all, "", "/events")).To(BeNumerically("<=", 4), "%v", all)
		Expect(count(all, "DELETE", "")).To(Equal(ui), "%v", all)
	})

	It("runs again when the annotation asks for it, and once for each time", smoke, func() {
		pi := sparkPi(ns, "again")
		asks := func(at time.Time) {
			metav1.SetMetaDataAnnotation(&pi.ObjectMeta, v1beta2.AnnotationRerunAt, at.UTC().Format(time.RFC3339))
		}
		ends := func() *corev1.Pod {
			driver := driverPod(ctx, ns, "again-driver")
			kubelet(ctx, driver, corev1.PodSucceeded, driverContainer, exited(0, "Completed"))
			eventuallyState(ctx, ns, "again", v1beta2.ApplicationStateCompleted)
			return driver
		}
		By("the first run, which has the first request with it")
		first := time.Now().Add(-time.Hour)
		asks(first)
		Expect(admin.Create(ctx, pi)).To(Succeed())
		driver := ends()
		Expect(app(ctx, ns, "again").Status.Rerun.At.Time).To(BeTemporally("==", first.Truncate(time.Second)))

		By("a later time")
		patch := client.MergeFrom(pi.DeepCopy())
		asks(time.Now())
		Expect(admin.Patch(ctx, pi, patch)).To(Succeed())
		Eventually(func() bool {
			var next corev1.Pod
			err := admin.Get(ctx, client.ObjectKeyFromObject(driver), &next)
			return err == nil && next.UID != driver.UID
		}).Should(BeTrue())
		ends()

		By("a time that is none")
		patch = client.MergeFrom(pi.DeepCopy())
		metav1.SetMetaDataAnnotation(&pi.ObjectMeta, v1beta2.AnnotationRerunAt, "tomorrow")
		Expect(admin.Patch(ctx, pi, patch)).To(Succeed())
		Eventually(func() string {
			return meta.FindStatusCondition(app(ctx, ns, "again").Status.Conditions, "Admitted").Message
		}).Should(ContainSubstring(`"tomorrow": ignored`))
		Expect(app(ctx, ns, "again").Status.Attempt).To(BeEquivalentTo(2))
	})

	It("owns what it creates, and creates it before the driver", func() {
		Expect(admin.Create(ctx, sparkPi(ns, "pi"))).To(Succeed())
		driver := driverPod(ctx, ns, "pi-driver")
		owner := metav1.GetControllerOf(driver)
		Expect(owner.UID).To(Equal(app(ctx, ns, "pi").UID))
		Expect(objectsOf(ctx, ns)).To(HaveLen(3), "ConfigMap, Service and the Service of the UI")
		Expect(driver.Spec.Containers[0].Name).To(Equal(driverContainer))
		Expect(driver.Spec.Volumes).To(ContainElement(HaveField("Name", "spark-conf-volume-driver")))
	})

	It("fails with the driver's exit code and reason", func() {
		Expect(admin.Create(ctx, sparkPi(ns, "pi"))).To(Succeed())
		driver := driverPod(ctx, ns, "pi-driver")
		kubelet(ctx, driver, corev1.PodFailed, driverContainer, exited(137, "OOMKilled"))
		eventuallyState(ctx, ns, "pi", v1beta2.ApplicationStateFailed)
		Expect(app(ctx, ns, "pi").Status.AppState.ErrorMessage).To(Equal(
			"driver container failed with ExitCode: 137, Reason: OOMKilled, Cause: it used more memory than its limit of 896Mi (heap 512Mi, overhead 384Mi)"))
		Expect(condition(ctx, ns, "pi", "Succeeded").Reason).To(Equal("DriverOutOfMemory"))
	})

	It("fails when its driver is deleted", func() {
		Expect(admin.Create(ctx, sparkPi(ns, "pi"))).To(Succeed())
		driver := driverPod(ctx, ns, "pi-driver")
		eventuallyState(ctx, ns, "pi", v1beta2.ApplicationStateSubmitted)
		kubelet(ctx, driver, corev1.PodRunning, driverContainer, running())
		eventuallyState(ctx, ns, "pi", v1beta2.ApplicationStateRunning)
		Expect(admin.Delete(ctx, driver, client.GracePeriodSeconds(0))).To(Succeed())
		eventuallyState(ctx, ns, "pi", v1beta2.ApplicationStateFailed)
		Expect(app(ctx, ns, "pi").Status.AppState.ErrorMessage).To(ContainSubstring("driver pod not found"))
	})

	It("waits for a scheduler that the operator does not know, and lists those that it does", func() {
		a := sparkPi(ns, "pi")
		a.Spec.BatchScheduler = ptr.To("nimbus")
		Expect(admin.Create(ctx, a)).To(Succeed())
		Eventually(func() string { return condition(ctx, ns, "pi", "Admitted").Reason }, wait, poll).Should(Equal("SchedulerUnknown"))
		Expect(condition(ctx, ns, "pi", "Admitted").Message).To(Equal(`spec.batchScheduler: "nimbus" is not known to this operator; known: kube`))
		Expect(app(ctx, ns, "pi").Status.AppState.State).To(Equal(v1beta2.ApplicationStateSubmitted))
		Expect(objectsOf(ctx, ns)).To(BeEmpty())

		By("naming a scheduler that exists")
		edit(ctx, ns, "pi", func(s *v1beta2.SparkApplicationSpec) { s.BatchScheduler = ptr.To("kube") })
		driverPod(ctx, ns, "pi-driver")
	})

	It("waits for a missing PriorityClass and continues when it is there", func() {
		a := sparkPi(ns, "pi")
		a.Spec.BatchSchedulerOptions = &v1beta2.BatchSchedulerConfiguration{PriorityClassName: ptr.To("system-node-criticality")}
		Expect(admin.Create(ctx, a)).To(Succeed())
		Eventually(func() string { return condition(ctx, ns, "pi", "Admitted").Reason }, wait, poll).Should(Equal("PriorityClassNotFound"))
		Expect(objectsOf(ctx, ns)).To(BeEmpty())
		edit(ctx, ns, "pi", func(s *v1beta2.SparkApplicationSpec) {
			s.BatchSchedulerOptions.PriorityClassName = ptr.To("system-node-critical")
		})
		Expect(driverPod(ctx, ns, "pi-driver").Spec.PriorityClassName).To(Equal("system-node-critical"))
	})

	It("waits while suspended", func() {
		a := sparkPi(ns, "pi")
		a.Spec.Suspend = ptr.To(true)
		Expect(admin.Create(ctx, a)).To(Succeed())
		Eventually(func() string { return condition(ctx, ns, "pi", "Submitted").Reason }, wait, poll).Should(Equal("Suspended"))
		Expect(objectsOf(ctx, ns)).To(BeEmpty())
		edit(ctx, ns, "pi", func(s *v1beta2.SparkApplicationSpec) { s.Suspend = ptr.To(false) })
		driverPod(ctx, ns, "pi-driver")
	})

	// Case 018. There is no garbage collector here: the driver is left behind, as if that were slow.
	It("waits for the driver of the application that had its name, without a word to its user, and takes it away in the end", func() {
		Expect(admin.Create(ctx, sparkPi(ns, "pi"))).To(Succeed())
		old := driverPod(ctx, ns, "pi-driver")
		kubelet(ctx, old, corev1.PodRunning, driverContainer, running())
		Expect(admin.Delete(ctx, app(ctx, ns, "pi"))).To(Succeed())
		Expect(admin.Create(ctx, sparkPi(ns, "pi"))).To(Succeed())
		Eventually(func() string { return condition(ctx, ns, "pi", "Reconciling").Reason }, wait, poll).Should(Equal("PreviousApplication"))
		Expect(condition(ctx, ns, "pi", "Stalled").Status).To(Equal(metav1.ConditionFalse))
		Expect(app(ctx, ns, "pi").Status.AppState.State).To(Equal(v1beta2.ApplicationStateSubmitted))
		Eventually(func(g Gomega) {
			var driver corev1.Pod
			g.Expect(admin.Get(ctx, client.ObjectKeyFromObject(old), &driver)).To(Succeed())
			g.Expect(driver.UID).NotTo(Equal(old.UID))
		}, time.Minute+wait, poll).Should(Succeed())
	})

	It("does not touch a pod that has its driver's name, and continues when it is gone", func() {
		notOwned := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "pi-driver"},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "c"}}},
		}
		Expect(admin.Create(ctx, notOwned)).To(Succeed())
		Expect(admin.Create(ctx, sparkPi(ns, "pi"))).To(Succeed())
		Eventually(func() string { return condition(ctx, ns, "pi", "Submitted").Reason }, wait, poll).Should(Equal("NameConflict"))
		Expect(condition(ctx, ns, "pi", "Submitted").Message).To(ContainSubstring("pod pi-driver already exists"))
		Expect(objectsOf(ctx, ns)).To(BeEmpty(), "nothing is half-created")
		Expect(driverPod(ctx, ns, "pi-driver").UID).To(Equal(notOwned.UID))

		Expect(admin.Delete(ctx, notOwned, client.GracePeriodSeconds(0))).To(Succeed())
		Eventually(func() string { return app(ctx, ns, "pi").Status.SubmissionID }, wait, poll).ShouldNot(BeEmpty())
		Expect(driverPod(ctx, ns, "pi-driver").UID).NotTo(Equal(notOwned.UID))
	})

	It("waits for room in a quota", smoke, func() {
		quota := &corev1.ResourceQuota{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "small"},
			Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")}},
		}
		Expect(admin.Create(ctx, quota)).To(Succeed())
		quota.Status = corev1.ResourceQuotaStatus{Hard: quota.Spec.Hard, Used: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")}}
		Expect(admin.Status().Update(ctx, quota)).To(Succeed())
		Expect(admin.Create(ctx, sparkPi(ns, "pi"))).To(Succeed())
		Eventually(func() string { return condition(ctx, ns, "pi", "Submitted").Reason }, wait, poll).Should(Equal("QuotaExceeded"))
		Expect(condition(ctx, ns, "pi", "Submitted").Message).To(ContainSubstring("exceeded quota: small"))
		Expect(objectsOf(ctx, ns)).To(BeEmpty(), "nothing is half-created")

		Expect(admin.Delete(ctx, quota)).To(Succeed())
		driverPod(ctx, ns, "pi-driver")
	})

	It("fails with the API server's words when its driver is refused, and runs once it is fixed", func() {
		forbidPods(ctx, ns, `!("team" in object.metadata.?labels.orValue({}))`, "each pod needs the label team") // what a cluster refuses is not known before
		a := sparkPi(ns, "pi")
		Expect(admin.Create(ctx, a)).To(Succeed())
		eventuallyState(ctx, ns, "pi", v1beta2.ApplicationStateFailed)
		Expect(app(ctx, ns, "pi").Status.AppState.ErrorMessage).To(And(HavePrefix("failed to submit spark application: failed to run spark-submit: "), ContainSubstring("each pod needs the label team")))
		Expect(objectsOf(ctx, ns)).To(BeEmpty(), "nothing is half-created")

		edit(ctx, ns, "pi", func(s *v1beta2.SparkApplicationSpec) { s.Driver.Labels = map[string]string{"team": "night"} })
		driverPod(ctx, ns, "pi-driver")
		eventuallyState(ctx, ns, "pi", v1beta2.ApplicationStateSubmitted)
		Expect(app(ctx, ns, "pi").Status.AppState.ErrorMessage).To(BeEmpty())
	})

	// The other messages are those of internal/validation and of the conversion, which their own tests hold.
	DescribeTable("fails with a message that names the field, and runs once it is fixed",
		func(spoil func(*v1beta2.SparkApplication), message string) {
			a := sparkPi(ns, "pi")
			spoil(a)
			Expect(admin.Create(ctx, a)).To(Succeed())
			eventuallyState(ctx, ns, "pi", v1beta2.ApplicationStateFailed)
			Expect(app(ctx, ns, "pi").Status.AppState.ErrorMessage).To(ContainSubstring(message))
			Expect(condition(ctx, ns, "pi", "Admitted").Reason).To(Equal("InvalidSpec"))
			Expect(objectsOf(ctx, ns)).To(BeEmpty(), "nothing is half-created")

			edit(ctx, ns, "pi", func(s *v1beta2.SparkApplicationSpec) { *s = sparkPi(ns, "pi").Spec })
			driverPod(ctx, ns, "pi-driver")
			eventuallyState(ctx, ns, "pi", v1beta2.ApplicationStateSubmitted)
		},
		Entry("heap", func(a *v1beta2.SparkApplication) { a.Spec.Driver.Memory = ptr.To("2gb ") }, `spec.driver.memory: "2gb ": `),
		Entry("no class", func(a *v1beta2.SparkApplication) { a.Spec.MainClass = nil }, `spec.mainClass: `),
	)

	It("runs in spite of a misspelled field where the schema is open, and names it", func() {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(sparkPi(ns, "pi"))
		Expect(err).NotTo(HaveOccurred())
		o := &unstructured.Unstructured{Object: content}
		o.SetGroupVersionKind(v1beta2.GroupVersion.WithKind("SparkApplication"))
		toleration := []any{map[string]any{"key": "spot", "efect": "NoSchedule"}}
		Expect(unstructured.SetNestedSlice(o.Object, toleration, "spec", "driver", "tolerations")).To(Succeed())
		Expect(admin.Create(ctx, o)).To(Succeed())
		driverPod(ctx, ns, "pi-driver")
		Eventually(func() string { return condition(ctx, ns, "pi", "Admitted").Message }, wait, poll).
			Should(ContainSubstring("note: spec.driver.tolerations[0].efect: unknown field"))
	})

	It("does not hide others when its spec cannot be decoded", func() {
		bad := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "sparkoperator.k8s.io/v1beta2", "kind": "SparkApplication",
			"metadata": map[string]any{"namespace": ns, "name": "bad"},
			"spec": map[string]any{
				"type": "Scala", "sparkVersion": "4.1.4", "mainApplicationFile": "local:///x.jar", "executor": map[string]any{},
				"driver": map[string]any{"template": map[string]any{"spec": map[string]any{"containers": "x"}}},
			},
		}}
		Expect(admin.Create(ctx, bad)).To(Succeed())
		eventuallyState(ctx, ns, "bad", v1beta2.ApplicationStateFailed)
		Expect(app(ctx, ns, "bad").Status.AppState.ErrorMessage).To(And(HavePrefix("spec: cannot be decoded"), ContainSubstring("containers")))
		Expect(admin.Create(ctx, sparkPi(ns, "pi"))).To(Succeed())
		driverPod(ctx, ns, "pi-driver")
	})

	It("stops its driver when its deletion is held by a finalizer", func() {
		a := sparkPi(ns, "pi")
		a.Finalizers = []string{"example.com/hold"}
		Expect(admin.Create(ctx, a)).To(Succeed())
		driver := driverPod(ctx, ns, "pi-driver")
		eventuallyState(ctx, ns, "pi", v1beta2.ApplicationStateSubmitted)
		Expect(admin.Delete(ctx, a)).To(Succeed())
		Eventually(gone(ctx, driver), wait, poll).Should(BeTrue())
		held := change(ctx, admin, ns, "pi", func(a *v1beta2.SparkApplication) { a.Finalizers = nil })
		Eventually(gone(ctx, held), wait, poll).Should(BeTrue())
	})
})
