// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
)

// Two tenants under quotas: neither can see, stop or starve the other.
var _ = Describe("Tenants", func() {
	ctx := context.Background()

	It("are not delayed by each other's full quota", func() {
		a, b := newNamespace(ctx, "tenant-a"), newNamespace(ctx, "tenant-b")
		quota(ctx, a, "500Mi") // less than one driver
		quota(ctx, b, "8Gi")
		const many = 20
		for i := range many {
			Expect(admin.Create(ctx, sparkPi(a, fmt.Sprintf("waits-%d", i), "10"))).To(Succeed())
		}
		first := sparkPi(a, "waits-0", "10")
		Eventually(func() string { return submission(ctx, first).Reason }, jobWait, poll).Should(Equal("QuotaExceeded"))

		app := sparkPi(b, "runs", "10")
		Expect(admin.Create(ctx, app)).To(Succeed())
		eventuallyState(ctx, app, v1beta2.ApplicationStateCompleted)
		Expect(driverLog(ctx, app)).To(ContainSubstring("Pi is roughly 3.1"))
		for i := range many {
			waiting := sparkPi(a, fmt.Sprintf("waits-%d", i))
			Expect(statusOf(ctx, waiting).AppState.State).To(Equal(v1beta2.ApplicationStateSubmitted), waiting.Name)
			Expect(podsOf(ctx, waiting)).To(BeEmpty())
		}

		By("giving the first tenant room for one application after the other")
		for i := range many - 1 {
			Expect(admin.Delete(ctx, sparkPi(a, fmt.Sprintf("waits-%d", i+1)))).To(Succeed())
		}
		roomy := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: a, Name: "quota"}}
		Expect(admin.Patch(ctx, roomy, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"hard":{"requests.memory":"8Gi"}}}`)))).To(Succeed())
		eventuallyState(ctx, first, v1beta2.ApplicationStateCompleted)
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

	It("may use the same names", func() {
		a, b := newNamespace(ctx, "tenant-a"), newNamespace(ctx, "tenant-b")
		one, other := sparkPi(a, "same", "10"), endless(b, "same")
		Expect(admin.Create(ctx, other)).To(Succeed())
		Expect(admin.Create(ctx, one)).To(Succeed())
		eventuallyState(ctx, other, v1beta2.ApplicationStateRunning)
		eventuallyState(ctx, one, v1beta2.ApplicationStateCompleted)
		Expect(admin.Delete(ctx, one)).To(Succeed())
		Eventually(func() []corev1.Pod { return podsOf(ctx, one) }, jobWait, poll).Should(BeEmpty())
		Consistently(func() v1beta2.ApplicationStateType { return statusOf(ctx, other).AppState.State }, 2*time.Second, poll).
			Should(Equal(v1beta2.ApplicationStateRunning), "the other tenant's continues")
	})
})

// quota bounds the memory of a namespace.
func quota(ctx context.Context, namespace, memory string) {
	GinkgoHelper()
	Expect(admin.Create(ctx, &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "quota"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourceRequestsMemory: resource.MustParse(memory)}},
	})).To(Succeed())
}

// submission is why an application has a driver, or not yet.
func submission(ctx context.Context, app *v1beta2.SparkApplication) metav1.Condition {
	GinkgoHelper()
	if c := meta.FindStatusCondition(statusOf(ctx, app).Conditions, "Submitted"); c != nil {
		return *c
	}
	return metav1.Condition{}
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
