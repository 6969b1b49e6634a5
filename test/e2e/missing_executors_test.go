// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
)

// A cluster's own policy refuses the executors of real drivers, which ask for them again and again.
var _ = Describe("Executors that a policy refuses", longest, func() {
	ctx := context.Background()

	It("are what status, explain and an event say, until they come", func() {
		const words = "executors of this team need the label cost-center"
		jobs := newNamespace(ctx, "refused")
		name := metav1.ObjectMeta{Name: "labels-in-" + jobs}
		policy := &admissionv1.ValidatingAdmissionPolicy{ObjectMeta: name, Spec: admissionv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
				Operations: []admissionv1.OperationType{admissionv1.Create},
				Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
			}}}},
			Validations: []admissionv1.Validation{{Expression: "object.metadata.?labels['spark-role'].orValue('') != 'executor'", Message: words}},
		}}
		binding := &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: name, Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: name.Name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
			MatchResources: &admissionv1.MatchResources{NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: jobs}}},
		}}
		for _, o := range []client.Object{policy, binding} {
			Expect(admin.Create(ctx, o)).To(Succeed())
			DeferCleanup(func() { Expect(client.IgnoreNotFound(admin.Delete(ctx, o))).To(Succeed()) })
		}
		Eventually(func() error {
			return admin.Create(ctx, &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Namespace: jobs, Name: "probe", Labels: map[string]string{"spark-role": "executor"}},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: sparkImage}}},
			}, client.DryRunAll)
		}, jobWait, poll).Should(MatchError(ContainSubstring(words)))

		By("running a driver of each family")
		pi, apache := sparkPi(jobs, "labels"), apachePi(jobs, "labels-too")
		Expect(admin.Create(ctx, pi)).To(Succeed())
		Expect(admin.Create(ctx, apache)).To(Succeed())
		for kind, app := range map[string]client.Object{"sparkoperator.k8s.io": pi, "spark.apache.org": apache} {
			explained := func() string {
				out, _ := plugin(ctx, "explain", "sparkapplications."+kind+"/"+app.GetName(), "-n", jobs)
				return out
			}
			Eventually(explained, jobWait, poll).Should(And(ContainSubstring("ExecutorsRefused"), ContainSubstring(words)))
		}
		eventuallyReason(ctx, pi, "ExecutorsReady", "ExecutorsRefused", words)
		Expect(statusOf(ctx, pi).AppState.State).To(Equal(v1beta2.ApplicationStateRunning))
		Eventually(func() string {
			return kubectl("get", "events", "-n", jobs, "--field-selector", "reason=SparkExecutorsRefused")
		}, jobWait, poll).
			Should(And(ContainSubstring("labels-driver"), ContainSubstring("labels-too")))
		Expect(podsOf(ctx, pi)).To(HaveLen(1), "an executor was created")

		By("taking the policy away: Spark asks again")
		Expect(admin.Delete(ctx, binding)).To(Succeed())
		eventuallyState(ctx, pi, v1beta2.ApplicationStateCompleted)
		Expect(statusOf(ctx, pi).MissingExecutors).To(BeNil())
		Expect(driverLog(ctx, pi)).To(ContainSubstring("Pi is roughly 3.1"))
	})
})
