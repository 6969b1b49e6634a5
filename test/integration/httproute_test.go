// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
	"github.com/firesteel-dev/firesteel/internal/exposure"
	"github.com/firesteel-dev/firesteel/internal/spark"
	"github.com/firesteel-dev/firesteel/test/definitions"
)

var _ = Describe("An HTTPRoute", Serial, Ordered, func() {
	ctx := context.Background()
	const config = `
ui:
  route:
    urlFormat: "https://ui.example.org/{{$appNamespace}}/{{$appName}}"
    parentRefs: [{name: public, namespace: gateways, sectionName: https, port: 443}, {name: internal}]
    annotations: {team: data}
`
	BeforeAll(func() { restartOperator(func() { extraConfig = config }) })
	AfterAll(func() {
		restartOperator(func() { extraConfig = "" })
		removeGatewayAPI(ctx)
	})

	route := func(ns string) (*unstructured.Unstructured, error) {
		var u unstructured.Unstructured
		u.SetGroupVersionKind(exposure.HTTPRoute)
		return &u, admin.Get(ctx, client.ObjectKey{Namespace: ns, Name: "pi-ui-route"}, &u)
	}
	mustRoute := func(ns string) *unstructured.Unstructured {
		GinkgoHelper()
		u, err := route(ns)
		Expect(err).NotTo(HaveOccurred())
		return u
	}
	begin := func(ns string) *corev1.Pod {
		Expect(admin.Create(ctx, sparkPi(ns, "pi"))).To(Succeed())
		driver := driverPod(ctx, ns, "pi-driver")
		kubelet(ctx, driver, corev1.PodRunning, driverContainer, running())
		eventuallyState(ctx, ns, "pi", v1beta2.ApplicationStateRunning)
		return driver
	}
	finish := func(ns string, driver *corev1.Pod) {
		kubelet(ctx, driver, corev1.PodSucceeded, driverContainer, exited(0, "Completed"))
		eventuallyState(ctx, ns, "pi", v1beta2.ApplicationStateCompleted)
	}

	It("is missed and reported where the Gateway API is not installed, and nothing else suffers", func() {
		ns := newNamespace(ctx)
		driver := begin(ns)
		exposed := condition(ctx, ns, "pi", "Exposed")
		Expect(exposed.Status).To(Equal(metav1.ConditionFalse))
		Expect(exposed.Reason).To(Equal("ExposureRefused"))
		Expect(exposed.Message).To(And(ContainSubstring("httproute/pi-ui-route"), ContainSubstring("its API is not installed in the cluster")))
		s := app(ctx, ns, "pi").Status.DriverInfo
		Expect(s.WebUIServiceName).To(Equal("pi-ui-svc"))
		Expect(s.WebUIRouteName).To(BeEmpty())
		Expect(s.ExposedBy).To(ConsistOf("service/pi-ui-svc"))
		finish(ns, driver)
		Expect(condition(ctx, ns, "pi", "Exposed").Reason).To(BeEmpty())
	})

	It("is made for a driver that runs already as soon as its API is installed, and follows it to its end", func() {
		ns := newNamespace(ctx)
		driver := begin(ns)
		installGatewayAPI(ctx)
		Eventually(func() string { return app(ctx, ns, "pi").Status.DriverInfo.WebUIRouteAddress }, wait, poll).
			Should(Equal("https://ui.example.org/" + ns + "/pi"))
		Expect(condition(ctx, ns, "pi", "Exposed").Reason).To(BeEmpty(), "there is nothing to complain of any more")
		made := mustRoute(ns)
		Expect(made.GetAnnotations()).To(HaveKeyWithValue("team", "data"))
		Expect(metav1.GetControllerOf(made).UID).To(Equal(app(ctx, ns, "pi").UID))

		By("changing the port of the Service")
		edit(ctx, ns, "pi", func(s *v1beta2.SparkApplicationSpec) {
			s.SparkUIOptions = &v1beta2.SparkUIConfiguration{ServicePort: ptr.To[int32](80)}
		})
		Eventually(func(g Gomega) {
			changed, err := route(ns)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(changed.GetUID()).To(Equal(made.GetUID()))
			rules, _, _ := unstructured.NestedSlice(changed.Object, "spec", "rules")
			g.Expect(rules[0]).To(HaveKeyWithValue("backendRefs", ConsistOf(HaveKeyWithValue("port", BeEquivalentTo(80)))))
		}, wait, poll).Should(Succeed())

		By("tampering with it until that is noticed again and again, which is when it is watched, and deleting it then")
		const applied, again = "sparkoperator.k8s.io/applied", 3 // the first time someone may have looked by chance
		mark, restored := mustRoute(ns).GetAnnotations()[applied], -1
		Expect(mark).NotTo(BeEmpty())
		Eventually(func(g Gomega) int {
			current := mustRoute(ns)
			if current.GetAnnotations()[applied] != mark {
				return restored
			}
			if restored++; restored < again {
				change := fmt.Sprintf(`{"metadata": {"annotations": {%q: "tampered with"}}}`, applied)
				g.Expect(admin.Patch(ctx, current, client.RawPatch(types.MergePatchType, []byte(change)))).To(Succeed())
			}
			return restored
		}, again*wait, poll).Should(Equal(again))
		Expect(admin.Delete(ctx, mustRoute(ns))).To(Succeed())
		Eventually(func() error { _, err := route(ns); return err }, wait, poll).Should(Succeed())
		Expect(mustRoute(ns).GetUID()).NotTo(Equal(made.GetUID()))

		finish(ns, driver)
		_, err := route(ns)
		Expect(client.IgnoreNotFound(err)).NotTo(HaveOccurred())
		Expect(err).To(HaveOccurred(), "it is gone before the application has finished")
		Expect(app(ctx, ns, "pi").Status.DriverInfo.ExposedBy).To(BeEmpty())
	})

	Describe("as it is rendered", Ordered, func() {
		var ns string
		strict := func(c exposure.Config, change func(map[string]any)) error {
			u := routeOf(ns, c)
			if change != nil {
				change(u.Object)
			}
			return admin.Create(ctx, u, client.DryRunAll, client.FieldValidation(metav1.FieldValidationStrict))
		}
		BeforeAll(func() {
			installGatewayAPI(ctx)
			ns = newNamespace(ctx)
		})

		DescribeTable("is accepted by the Gateway API", func(url string, parents ...exposure.ParentRef) {
			c := exposure.Config{Service: true, Route: exposure.Route{URLFormat: url, ParentRefs: parents}}
			Expect(strict(c, nil)).To(Succeed())
		},
			Entry("at the root of a host", "{{$appName}}.example.org", exposure.ParentRef{Name: "public"}),
			Entry("below a path", "https://ui.example.org/{{$appNamespace}}/{{$appName}}", exposure.ParentRef{Name: "public"}),
			Entry("with a slash behind the path", "https://ui.example.org/{{$appId}}/", exposure.ParentRef{Name: "public"}),
			Entry("by several Gateways", "ui.example.org", exposure.ParentRef{Name: "a", Namespace: "b", SectionName: "https", Port: 443}, exposure.ParentRef{Name: "c"}),
			Entry("by two listeners of one", "ui.example.org", exposure.ParentRef{Name: "a", SectionName: "http"}, exposure.ParentRef{Name: "a", SectionName: "https"}),
		)

		It("would be refused with a field or a value that the Gateway API does not know", func() {
			c := exposure.Config{Service: true, Route: exposure.Route{URLFormat: "ui.example.org", ParentRefs: []exposure.ParentRef{{Name: "public"}}}}
			Expect(strict(c, func(o map[string]any) { o["spec"].(map[string]any)["host"] = "x" })).To(MatchError(ContainSubstring("unknown field")))
			Expect(strict(c, func(o map[string]any) { o["spec"].(map[string]any)["hostnames"] = []any{"not a name"} })).To(MatchError(ContainSubstring("spec.hostnames")))
		})
	})
})

// gatewayAPI is the definition of the HTTPRoute. Nothing here acts on one.
func gatewayAPI(ctx context.Context) envtest.CRDInstallOptions {
	GinkgoHelper()
	paths, err := definitions.GatewayAPI.Paths(ctx, "../..")
	Expect(err).NotTo(HaveOccurred())
	return envtest.CRDInstallOptions{Paths: paths, ErrorIfPathMissing: true}
}

func installGatewayAPI(ctx context.Context) {
	GinkgoHelper()
	_, err := envtest.InstallCRDs(server.Config, gatewayAPI(ctx))
	Expect(err).NotTo(HaveOccurred())
}

// removeGatewayAPI waits until it is gone, so that any client that comes next may install it again, or miss it.
func removeGatewayAPI(ctx context.Context) {
	GinkgoHelper()
	Expect(envtest.UninstallCRDs(server.Config, gatewayAPI(ctx))).To(Succeed())
	Eventually(func(g Gomega) {
		var list unstructured.UnstructuredList
		list.SetGroupVersionKind(exposure.HTTPRoute.GroupVersion().WithKind("HTTPRouteList"))
		fresh, err := client.New(server.Config, client.Options{})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(meta.IsNoMatchError(fresh.List(ctx, &list))).To(BeTrue())
	}, wait, poll).Should(Succeed())
}

// routeOf is the HTTPRoute that a configuration makes for an application.
func routeOf(namespace string, c exposure.Config) *unstructured.Unstructured {
	GinkgoHelper()
	owner := kubeflow.SparkApplications{}.Family().Owner(sparkPi(namespace, "pi"), "s")
	wanted := exposure.Of(exposure.Attempt{App: spark.Application{Namespace: namespace, Name: "pi"}, Owner: owner, SparkAppID: "spark-1"}, c)
	Expect(wanted.Problems).To(BeEmpty())
	for _, object := range wanted.Objects {
		if object.Kind == exposure.HTTPRoute {
			return object.DeepCopy()
		}
	}
	Fail("no route is made")
	return nil
}
