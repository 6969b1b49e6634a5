// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
)

// Two tenants under quotas: neither can see, stop or starve the other.
var _ = Describe("Tenants", func() {
	ctx := context.Background()

	It("are not delayed by each other's full quota, and may use the same names", func() {
		a, b := newNamespace(ctx, "tenant-a"), newNamespace(ctx, "tenant-b")
		quota(ctx, a, "2Gi")
		quota(ctx, b, "8Gi")
		Expect(admin.Create(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: a, Name: "takes-it-all"}, Spec: corev1.PodSpec{
			ServiceAccountName: "spark",
			Containers:         []corev1.Container{{Name: "c", Image: sparkImage, Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("2Gi")}}}},
			NodeSelector:       map[string]string{"kubernetes.io/hostname": "nowhere"},
		}})).To(Succeed())
		quotaHas(ctx, a, "2Gi")
		const many = 20
		name := func(i int) string { return fmt.Sprintf("job-%d", i) }
		for i := range many {
			Expect(admin.Create(ctx, sparkPi(a, name(i), "10"))).To(Succeed())
		}
		first := sparkPi(a, name(0), "10")
		eventuallyReason(ctx, first, "Admitted", "WaitingForQuota", "ResourceQuota quota")

		app := sparkPi(b, first.Name, "10")
		Expect(admin.Create(ctx, app)).To(Succeed())
		eventuallyState(ctx, app, v1beta2.ApplicationStateCompleted)
		Expect(driverLog(ctx, app)).To(ContainSubstring("Pi is roughly 3.1"))
		for i := range many {
			waiting := sparkPi(a, name(i))
			Expect(statusOf(ctx, waiting).AppState.State).To(Equal(v1beta2.ApplicationStateSubmitted), waiting.Name)
			Expect(podsOf(ctx, waiting)).To(BeEmpty())
		}

		By("deleting the namesake")
		Expect(admin.Delete(ctx, first)).To(Succeed())
		Eventually(func() error { return admin.Get(ctx, client.ObjectKeyFromObject(first), first) }, jobWait, poll).Should(Satisfy(apierrors.IsNotFound))
		Expect(statusOf(ctx, app).AppState.State).To(Equal(v1beta2.ApplicationStateCompleted), "the other tenant's stays")
		Expect(podsOf(ctx, app)).NotTo(BeEmpty())
	})

	It("can neither see nor stop each other", func() {
		a, b := newNamespace(ctx, "tenant-a"), newNamespace(ctx, "tenant-b")
		for _, verb := range []string{"get", "list", "watch", "create", "delete", "deletecollection", "patch", "update"} {
			for _, what := range []authorizationv1.ResourceAttributes{
				{Resource: "pods"}, {Resource: "pods", Subresource: "log"}, {Resource: "pods", Subresource: "exec"}, {Resource: "configmaps"}, {Resource: "secrets"}, {Resource: "services"},
				{Group: "sparkoperator.k8s.io", Resource: "sparkapplications"}, {Group: "sparkoperator.k8s.io", Resource: "sparkapplications", Subresource: "status"},
			} {
				what.Verb = verb
				what.Namespace = b
				Expect(mayDriverOf(ctx, a, what)).To(BeFalse(), "%+v", what)
				what.Namespace = ""
				Expect(mayDriverOf(ctx, a, what)).To(BeFalse(), "everywhere: %+v", what)
			}
		}
		Expect(mayDriverOf(ctx, a, authorizationv1.ResourceAttributes{Namespace: a, Resource: "pods", Verb: "create"})).To(BeTrue(), "its own executors")
	})

	It("cannot send an application elsewhere, or to other rights", func() {
		a, b := newNamespace(ctx, "tenant-a"), newNamespace(ctx, "tenant-b")
		for name, conf := range map[string]map[string]string{
			"namespace":  {"spark.kubernetes.namespace": b},
			"account":    {"spark.kubernetes.authenticate.driver.serviceAccountName": "other"},
			"executors":  {"spark.kubernetes.authenticate.executor.serviceAccountName": "other"},
			"other-api":  {"spark.master": "k8s://https://elsewhere.example"},
			"own-token":  {"spark.kubernetes.authenticate.driver.oauthToken": "abc"},
			"other-spot": {"spark.kubernetes.driver.master": "https://elsewhere.example"},
		} {
			app := sparkPi(a, name, "10")
			app.Spec.SparkConf = conf
			app.Spec.Driver.ServiceAccount = nil // the field would win over the property
			if err := admin.Create(ctx, app); apierrors.IsInvalid(err) {
				Expect(err).To(MatchError(ContainSubstring("is not allowed")), "the webhook says it at once: %s", name)
				continue
			} else {
				Expect(err).NotTo(HaveOccurred())
			}
			s := eventuallyState(ctx, app, v1beta2.ApplicationStateFailed)
			Expect(s.AppState.ErrorMessage).To(ContainSubstring("is not allowed"), name)
		}
		for _, namespace := range []string{a, b} {
			var pods corev1.PodList
			Expect(admin.List(ctx, &pods, client.InNamespace(namespace))).To(Succeed())
			Expect(pods.Items).To(BeEmpty())
		}
	})
})

// quota bounds the memory of a namespace.
func quota(ctx context.Context, namespace, memory string) {
	GinkgoHelper()
	Expect(admin.Create(ctx, &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "quota"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourceRequestsMemory: resource.MustParse(memory)}},
	})).To(Succeed())
	quotaHas(ctx, namespace, "0")
}

// quotaHas waits until Kubernetes counts so much memory: until then the quota binds nobody.
func quotaHas(ctx context.Context, namespace, memory string) {
	GinkgoHelper()
	q, want := &corev1.ResourceQuota{}, resource.MustParse(memory)
	Eventually(func(g Gomega) {
		g.Expect(admin.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "quota"}, q)).To(Succeed())
		used, counted := q.Status.Used[corev1.ResourceRequestsMemory]
		g.Expect(counted && used.Cmp(want) == 0).To(BeTrue(), "%v", q.Status)
	}, jobWait, poll).Should(Succeed())
}

// mayDriverOf asks the API server as kubectl auth can-i does, for the service account that runs a tenant's drivers.
func mayDriverOf(ctx context.Context, tenant string, what authorizationv1.ResourceAttributes) bool {
	GinkgoHelper()
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: "system:serviceaccount:" + tenant + ":spark", Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + tenant, "system:authenticated"},
		ResourceAttributes: &what,
	}}
	Expect(admin.Create(ctx, review)).To(Succeed())
	return review.Status.Allowed
}
