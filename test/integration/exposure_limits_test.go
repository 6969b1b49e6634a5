// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
)

// tenant is a client of someone who may edit the applications of one namespace, and nothing else.
func tenant(ctx context.Context, namespace string) client.Client {
	GinkgoHelper()
	at := metav1.ObjectMeta{Namespace: namespace, Name: "tenant"}
	user := "tenant-of-" + namespace
	Expect(admin.Create(ctx, &rbacv1.Role{ObjectMeta: at, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"sparkoperator.k8s.io"}, Resources: []string{"sparkapplications"}, Verbs: []string{"get", "create", "update", "patch"}},
	}})).To(Succeed())
	Expect(admin.Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: at, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "tenant"},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	})).To(Succeed())
	cfg := rest.CopyConfig(server.Config)
	cfg.Impersonate = rest.ImpersonationConfig{UserName: user}
	c, err := client.New(cfg, client.Options{Scheme: admin.Scheme(), Mapper: admin.RESTMapper()})
	Expect(err).NotTo(HaveOccurred())
	eventuallyMay(ctx, c, authorizationv1.ResourceAttributes{
		Namespace: namespace, Verb: "patch", Group: "sparkoperator.k8s.io", Resource: "sparkapplications",
	})
	return c
}

// eventuallyMay waits until a client has a right: the API server authorizes by an informer's cache, which a new binding
// reaches some time after it was created.
func eventuallyMay(ctx context.Context, c client.Client, what authorizationv1.ResourceAttributes) {
	GinkgoHelper()
	Eventually(func(g Gomega) bool {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &what}}
		g.Expect(c.Create(ctx, review)).To(Succeed())
		return review.Status.Allowed
	}, wait, poll).Should(BeTrue())
}

// There is no webhook: the operator alone keeps its limits.
var _ = Describe("What a tenant asks for as auxiliary objects of a running driver", Serial, Ordered, func() {
	const limits = `
ui: {ingress: {urlFormat: "https://ui.example.org/{{$appNamespace}}/{{$appName}}", className: nginx}}
policies:
- name: tenants
  namespaces: ["it-*"]
  limits:
    serviceTypes: [ClusterIP]
    hosts: ["*.{{$appNamespace}}.example.org", shared.example.org]
    paths: ["/{{$appNamespace}}"]
    forbiddenAnnotations: ["*-snippet"]
`
	var ns string
	var user client.Client
	BeforeAll(func() { restartOperator(func() { extraConfig = limits }) })
	AfterAll(func() { restartOperator(func() { extraConfig = "" }) })

	get := func(ctx context.Context, o client.Object, name string) client.Object {
		GinkgoHelper()
		Expect(admin.Get(ctx, client.ObjectKey{Namespace: ns, Name: name}, o)).To(Succeed())
		return o
	}
	all := func(ctx context.Context) []client.Object {
		GinkgoHelper()
		return []client.Object{
			get(ctx, &corev1.Service{}, "pi-ui-svc"), get(ctx, &corev1.Service{}, "pi-driver-8000"),
			get(ctx, &networkingv1.Ingress{}, "pi-ui-ingress"), get(ctx, &networkingv1.Ingress{}, "pi-ing-8000"),
		}
	}
	events := func(ctx context.Context) func(Gomega) []string {
		return func(g Gomega) []string {
			var list eventsv1.EventList
			g.Expect(admin.List(ctx, &list, client.InNamespace(ns))).To(Succeed())
			var notes []string
			for _, e := range list.Items {
				if e.Reason == "SparkApplicationExposureForbidden" {
					notes = append(notes, e.Type+" "+e.Note)
				}
			}
			return notes
		}
	}

	BeforeEach(func(ctx SpecContext) {
		ns = newNamespace(ctx)
		user = tenant(ctx, ns)
		a := sparkPi(ns, "pi")
		a.Spec.DriverIngressOptions = []v1beta2.DriverIngressConfiguration{{
			ServicePort: ptr.To[int32](8000), ServicePortName: ptr.To("rest"), IngressURLFormat: fmt.Sprintf("shared.example.org/%s/v1.0", ns),
		}}
		Expect(user.Create(ctx, a)).To(Succeed())
		kubelet(ctx, driverPod(ctx, ns, "pi-driver"), corev1.PodRunning, driverContainer, running())
		eventuallyState(ctx, ns, "pi", v1beta2.ApplicationStateRunning)
		Expect(apierrors.IsForbidden(user.Get(ctx, client.ObjectKey{Namespace: ns, Name: "pi-ui-svc"}, &corev1.Service{}))).To(BeTrue(), "it has no rights of its own")
		ingress, _ := get(ctx, &networkingv1.Ingress{}, "pi-ing-8000").(*networkingv1.Ingress)
		Expect(ingress.Spec.Rules[0].HTTP.Paths[0].Path).To(Equal("/"+ns+`/v1\.0(/|$)(.*)`), "the API server takes a quoted path")
	})

	DescribeTable("stays as it is", func(ctx SpecContext, patch, says string) {
		before, driver := all(ctx), driverPod(ctx, ns, "pi-driver").UID
		pi := &v1beta2.SparkApplication{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "pi"}}
		Expect(user.Patch(ctx, pi, mergePatch(patch))).To(Succeed())
		Eventually(func() string { return condition(ctx, ns, "pi", "Exposed").Message }, wait, poll).Should(ContainSubstring(says))
		kept := func() {
			GinkgoHelper()
			c := condition(ctx, ns, "pi", "Exposed")
			Expect([]any{c.Status, c.Reason, c.ObservedGeneration}).To(Equal([]any{metav1.ConditionFalse, "ExposureForbidden", pi.Generation}))
			Expect(all(ctx)).To(Equal(before))
		}
		kept()
		Eventually(events(ctx), wait, poll).Should(ConsistOf(And(HavePrefix("Warning "), ContainSubstring(says))))

		By("starting another operator")
		restartOperator(func() {})
		later := sparkPi(ns, "later")
		Expect(admin.Create(ctx, later)).To(Succeed())
		driverPod(ctx, ns, "later-driver")
		Expect(user.Patch(ctx, pi, mergePatch(`{"spec":{"timeToLiveSeconds":3600}}`))).To(Succeed())
		Eventually(func() int64 { return app(ctx, ns, "pi").Status.ObservedGeneration }, wait, poll).Should(Equal(pi.Generation))
		kept()
		Expect(events(ctx)(Default)).To(HaveLen(1), "it is recorded once")
		Expect(driverPod(ctx, ns, "pi-driver").UID).To(Equal(driver))

		By("ending the driver")
		kubelet(ctx, driverPod(ctx, ns, "pi-driver"), corev1.PodSucceeded, driverContainer, exited(0, "Completed"))
		eventuallyState(ctx, ns, "pi", v1beta2.ApplicationStateCompleted)
		for _, o := range before {
			Expect(apierrors.IsNotFound(admin.Get(ctx, client.ObjectKeyFromObject(o), o))).To(BeTrue(), o.GetName())
		}
		Expect(condition(ctx, ns, "pi", "Exposed").Reason).To(BeEmpty())
	},
		Entry("though a LoadBalancer is wanted", `{"spec":{"sparkUIOptions":{"serviceType":"LoadBalancer"}}}`,
			`service/pi-ui-svc is not created or updated: spec.sparkUIOptions.serviceType: "LoadBalancer": namespace it-`),
		Entry("though another owner's host is wanted", `{"spec":{"driverIngressOptions":[{"servicePort":8000,"servicePortName":"rest","ingressURLFormat":"login.example.org"}]}}`,
			`ingress/pi-ing-8000 is not created or updated: spec.driverIngressOptions[0].ingressURLFormat: "login.example.org": namespace it-`),
		Entry("though another's path is wanted", `{"spec":{"driverIngressOptions":[{"servicePort":8000,"servicePortName":"rest","ingressURLFormat":"shared.example.org/team-b/app"}]}}`,
			`ingress/pi-ing-8000 is not created or updated: spec.driverIngressOptions[0].ingressURLFormat: "shared.example.org/team-b/app": namespace it-`),
		Entry("though a path is wanted that is none", `{"spec":{"driverIngressOptions":[{"servicePort":8000,"servicePortName":"rest","ingressURLFormat":"shared.example.org/%0a%7breturn%20200;%7d"}]}}`,
			`ingress/pi-ing-8000 is not created or updated: spec.driverIngressOptions[0].ingressURLFormat: "shared.example.org/%0a%7breturn%20200;%7d": the path `),
		Entry("though a forbidden annotation is wanted", `{"spec":{"sparkUIOptions":{"ingressAnnotations":{"nginx.ingress.kubernetes.io/configuration-snippet":"return 200;"}}}}`,
			`ingress/pi-ui-ingress is not created or updated: spec.sparkUIOptions.ingressAnnotations["nginx.ingress.kubernetes.io/configuration-snippet"]: namespace it-`),
	)
})
