// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// answers is the status with which a URL is answered to a token; without one there is none.
func answers(ctx context.Context, url, token string) (int, error) {
	client := http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{
		DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, // as its certificate is self-signed
	}}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, err
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := client.Do(r)
	if err != nil {
		return 0, err
	}
	return answer.StatusCode, answer.Body.Close()
}

var _ = Describe("Authenticated metrics", Serial, Ordered, func() {
	var url, ns string

	BeforeAll(func(ctx SpecContext) {
		stopOperator()
		DeferCleanup(func() {
			if stop != nil {
				stopOperator()
			}
			startOperator(server.Config)
		})
		address := freeAddress()
		url = "https://" + address + "/metrics"
		startOperatorWith(server.Config, fmt.Sprintf("{bindAddress: %q, labels: %s, tls: {enabled: true}, authentication: true}", address, metricLabels))
		ns = newNamespace(ctx)
		for _, name := range []string{"scraper", "tenant"} {
			Expect(admin.Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}})).To(Succeed())
		}
		for _, o := range manifests("config", "metrics-authentication", "reader.yaml") {
			install(ctx, o)
		}
		install(ctx, &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{GenerateName: "scraper-"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "spark-operator-metrics-reader"},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: ns, Name: "scraper"}},
		})
		By("waiting until the API server knows the right: the operator remembers a refusal for ten seconds")
		Eventually(func() (bool, error) {
			review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
				User: "system:serviceaccount:" + ns + ":scraper", NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: "/metrics", Verb: "get"},
			}}
			err := admin.Create(ctx, review)
			return review.Status.Allowed, err
		}, wait, poll).Should(BeTrue())
	})

	DescribeTable("are served", func(ctx SpecContext, account string, want int) {
		token := account
		if account == "scraper" || account == "tenant" {
			token = tokenOf(ctx, ns, account, nil)
		}
		Eventually(func() (int, error) { return answers(ctx, url, token) }, wait, poll).Should(Equal(want))
	},
		Entry("to nobody without a token", "", http.StatusUnauthorized),
		Entry("to nobody with a token that the API server does not know", "made-up", http.StatusUnauthorized),
		Entry("to nobody without the right", "tenant", http.StatusForbidden),
		Entry("to whom the ClusterRole is bound", "scraper", http.StatusOK),
	)
})
