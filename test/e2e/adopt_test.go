// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
)

// submitted is a driver that the real spark-submit has started from a pod, without the operator. It gives up after ten seconds without an answer by
// default, which a busy machine may need.
func submitted(ctx context.Context, namespace string) corev1.Pod {
	GinkgoHelper()
	conf := func(pair string) []string { return []string{"--conf", pair} }
	arguments := []string{"--master", "k8s://https://kubernetes.default.svc", "--deploy-mode", "cluster", "--name", "by-hand", "--class", "io.firesteel.e2e.Behave"}
	for _, pair := range []string{
		"spark.kubernetes.namespace=" + namespace, "spark.kubernetes.container.image=" + sparkImage, "spark.kubernetes.authenticate.driver.serviceAccountName=spark",
		"spark.kubernetes.submission.waitAppCompletion=false", "spark.kubernetes.submission.connectionTimeout=60000", "spark.kubernetes.submission.requestTimeout=60000",
		"spark.executor.instances=1", "spark.driver.memory=512m", "spark.executor.memory=512m",
		"spark.kubernetes.driver.request.cores=100m", "spark.kubernetes.executor.request.cores=100m",
		"spark.driver.extraJavaOptions=" + quickStart, "spark.executor.extraJavaOptions=" + quickStart,
	} {
		arguments = append(arguments, conf(pair)...)
	}
	arguments = append(arguments, "local:///opt/spark/examples/jars/spark-examples.jar", "sleep", "3600")
	machine := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "submit"},
		Spec: corev1.PodSpec{ServiceAccountName: "spark", RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{
			Name: "submit", Image: sparkImage, Command: []string{"/opt/spark/bin/spark-submit"}, Args: arguments,
		}}},
	}
	Expect(admin.Create(ctx, machine)).To(Succeed())
	evidence := func() string { return kubectl("logs", "-n", namespace, machine.Name) }
	Eventually(func(g Gomega) {
		g.Expect(admin.Get(ctx, client.ObjectKeyFromObject(machine), machine)).To(Succeed())
		if machine.Status.Phase == corev1.PodFailed {
			StopTrying("spark-submit has failed:\n" + evidence()).Now()
		}
		g.Expect(machine.Status.Phase).To(Equal(corev1.PodSucceeded))
	}, jobWait, poll).Should(Succeed(), evidence)
	var pods corev1.PodList
	Expect(admin.List(ctx, &pods, client.InNamespace(namespace), client.MatchingLabels{"spark-role": "driver"})).To(Succeed())
	Expect(pods.Items).To(HaveLen(1), evidence)
	return pods.Items[0]
}

var _ = Describe("A driver that spark-submit has started", longest, func() {
	It("is followed to its end by an application that adopts it, and never restarted", func(ctx context.Context) {
		ns := newNamespace(ctx, "adopt")
		driver := submitted(ctx, ns)
		app := &v1beta2.SparkApplication{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "by-hand"}}
		Eventually(func() string { return kubectl("get", "pods", "-n", ns, "-l", "spark-role=executor") }, jobWait, poll).Should(ContainSubstring("Running"))

		By("adopting it")
		out, code := plugin(ctx, "adopt", driver.Name, "-n", ns)
		Expect(code).To(BeZero(), out)
		Expect(out).To(And(ContainSubstring("by-hand created"), ContainSubstring("pod/"+driver.Name+" adopted"), ContainSubstring("1 executor was labeled")))
		s := eventuallyState(ctx, app, v1beta2.ApplicationStateRunning)
		Expect(s.DriverInfo.PodName).To(Equal(driver.Name))
		Expect(s.SparkApplicationID).To(Equal(driver.Labels["spark-app-selector"]))
		Eventually(func() map[string]v1beta2.ExecutorState { return statusOf(ctx, app).ExecutorState }, jobWait, poll).Should(HaveLen(1))
		Eventually(func() string {
			log, _ := plugin(ctx, "logs", app.Name, "-n", ns)
			return log
		}, jobWait, poll).Should(ContainSubstring("context is up"))

		By("adopting it again")
		out, code = plugin(ctx, "adopt", driver.Name, "-n", ns)
		Expect(code).To(BeZero(), out)
		Expect(out).To(And(ContainSubstring("adopted (no change)"), ContainSubstring("0 executors were labeled")))

		By("ending it")
		kubectl("exec", "-n", ns, driver.Name, "--", "pkill", "java")
		s = eventuallyState(ctx, app, v1beta2.ApplicationStateFailed)
		Expect(s.Attempts).To(HaveExactElements(HaveField("ExitCode", HaveValue(BeEquivalentTo(143)))))
		var now corev1.Pod
		Expect(admin.Get(ctx, client.ObjectKeyFromObject(&driver), &now)).To(Succeed())
		Expect(now.UID).To(Equal(driver.UID), "no other driver follows")
	})
})
