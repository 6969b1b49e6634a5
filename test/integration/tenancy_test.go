// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"os"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/yaml"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/config"
	"github.com/firesteel-dev/firesteel/internal/controller"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/scheduler/kube"
)

// Namespaces and policies change while one operator runs, which begins without any right.
var _ = Describe("Tenancy", Ordered, func() {
	t := &tenants{}
	BeforeAll(func(ctx SpecContext) { t.start(ctx) })
	// Whatever is changed, it is the operator that was started first.
	AfterEach(func() { Expect(t.ended).NotTo(Receive(), "the operator ended") })

	It("continues where it may while a namespace does not exist and another one refuses it", func(ctx SpecContext) {
		t.run(ctx, "ten-a", "pi")
		t.create(ctx, "ten-b", "pi")
		t.untouched(ctx, "ten-b", "pi")
	})

	It("takes up a namespace when its rights come, and one when it comes", func(ctx SpecContext) {
		// both at once: an informer pauses longer after each try that fails
		t.permit(ctx, "ten-b")
		t.namespace(ctx, "ten-later", nil)
		t.permit(ctx, "ten-later")
		t.create(ctx, "ten-later", "pi")
		t.driver(ctx, "ten-b", "pi")
		t.driver(ctx, "ten-later", "pi")
	})

	It("says when it cannot watch a namespace any more, and when it can again", func(ctx SpecContext) {
		const pause = 90 * time.Second // of an informer between two tries; those of ten-a have not failed yet, and begin with a second
		Eventually(watched("ten-b"), wait, poll).Should(Equal(1.0))
		t.forbid(ctx, "ten-a")
		t.lines.cut()
		Eventually(watched("ten-a"), wait, poll).Should(BeZero())
		t.create(ctx, "ten-a", "unseen")
		t.untouched(ctx, "ten-a", "unseen")
		Expect(watched("ten-a")(Default)).To(BeZero())
		t.permit(ctx, "ten-a")
		t.driver(ctx, "ten-a", "unseen")
		Eventually(watched("ten-a"), pause, poll).Should(Equal(1.0))
		Eventually(watched("ten-b"), pause, poll).Should(Equal(1.0), "it lost its connections, too, and watches again")
		t.write("namespaces: [ten-b, ten-later]")
		Eventually(watched("ten-a"), wait, poll).Should(Equal(-1.0))
		t.write("namespaces: [ten-a, ten-b, ten-later]")
	})

	It("keeps the previous configuration when the file is wrong", func(ctx SpecContext) {
		t.write("namespaces: [ten-a, Wrong_Name]")
		t.run(ctx, "ten-a", "after-wrong")
	})

	It("takes a namespace onto the list, and off it, without losing an application", func(ctx SpecContext) {
		t.namespace(ctx, "ten-c", map[string]string{"spark": "no"})
		t.permit(ctx, "ten-c")
		t.create(ctx, "ten-c", "early")
		t.untouched(ctx, "ten-c", "early")
		t.write("namespaces: [ten-b, ten-later, ten-c]")
		t.driver(ctx, "ten-c", "early")

		By("leaving alone what is off the list")
		t.untouchedDriver(ctx, "ten-a", "pi")
		t.create(ctx, "ten-a", "off-the-list")
		t.untouched(ctx, "ten-a", "off-the-list")
		t.finish(ctx, "ten-a", "pi")
		Consistently(t.state(ctx, "ten-a", "pi"), 2*time.Second, poll).Should(Equal(v1beta2.ApplicationStateSubmitted))

		By("going on when it is back")
		t.write("namespaces: [ten-a, ten-b, ten-c]")
		Eventually(t.state(ctx, "ten-a", "pi"), wait, poll).Should(Equal(v1beta2.ApplicationStateCompleted))
		t.driver(ctx, "ten-a", "off-the-list")
	})

	It("finds a namespace again that was deleted and recreated", func(ctx SpecContext) {
		t.drop(ctx, "ten-c")
		t.namespace(ctx, "ten-c", map[string]string{"spark": "no"})
		t.permit(ctx, "ten-c")
		t.run(ctx, "ten-c", "early")
	})

	It("changes from a list to a selector, and applies labels at once", func(ctx SpecContext) {
		t.permitEverywhere(ctx)
		t.write("namespaces: [ten-b]\nnamespaceSelector: spark=yes")
		t.run(ctx, "ten-b", "listed")
		t.create(ctx, "ten-c", "labeled")
		t.untouched(ctx, "ten-c", "labeled")
		t.label(ctx, "ten-c", "yes")
		t.driver(ctx, "ten-c", "labeled")
		t.label(ctx, "ten-c", "no")
		t.create(ctx, "ten-c", "late")
		t.finish(ctx, "ten-c", "labeled")
		t.untouched(ctx, "ten-c", "late")
		Expect(t.state(ctx, "ten-c", "labeled")()).To(Equal(v1beta2.ApplicationStateSubmitted))
		t.label(ctx, "ten-c", "yes")
		t.driver(ctx, "ten-c", "late")
		Eventually(t.state(ctx, "ten-c", "labeled"), wait, poll).Should(Equal(v1beta2.ApplicationStateCompleted))
		t.namespace(ctx, "ten-d", map[string]string{"spark": "yes"})
		t.run(ctx, "ten-d", "new")
	})

	It("changes to all namespaces and back to a list", func(ctx SpecContext) {
		t.namespace(ctx, "ten-e", nil)
		t.create(ctx, "ten-e", "pi")
		t.untouched(ctx, "ten-e", "pi")
		t.write("namespaces: []")
		t.driver(ctx, "ten-e", "pi")
		t.write("namespaces: [ten-b]")
		t.run(ctx, "ten-b", "at-last")
		t.create(ctx, "ten-e", "late")
		t.untouched(ctx, "ten-e", "late")
	})

	It("takes over policies, which leave alone what runs", func(ctx SpecContext) {
		t.write("namespaces: [ten-b]\npolicies: [{name: small, namespaces: [ten-*], defaults: {labels: {team: b}}, limits: {executor: {memory: 100Mi}}}]")
		t.create(ctx, "ten-b", "large")
		Eventually(t.state(ctx, "ten-b", "large"), wait, poll).Should(Equal(v1beta2.ApplicationStateFailed))
		Expect(t.app(ctx, "ten-b", "large").Status.AppState.ErrorMessage).To(And(
			ContainSubstring("spec.executor.memory"), ContainSubstring(`namespace ten-b allows at most 100Mi (operator policy "small")`)))
		Expect(t.state(ctx, "ten-b", "at-last")()).To(Equal(v1beta2.ApplicationStateSubmitted))
		t.finish(ctx, "ten-b", "at-last")
		Eventually(t.state(ctx, "ten-b", "at-last"), wait, poll).Should(Equal(v1beta2.ApplicationStateCompleted))

		t.write("namespaces: [ten-b]\npolicies: [{name: small, namespaces: [ten-*], defaults: {labels: {team: b}}}]")
		t.run(ctx, "ten-b", "labeled")
		Expect(t.driver(ctx, "ten-b", "labeled").Labels).To(HaveKeyWithValue("team", "b"))
		Expect(t.app(ctx, "ten-b", "labeled").Spec.Driver.Labels).To(BeEmpty(), "a default is not written into the spec")
	})

	It("records on its pod what happened to a changed configuration, and each refusal in its own words", func(ctx SpecContext) {
		t.write("namespaces: [ten-b]\npolicies: [{name: told, namespaces: [ten-b]}]")
		t.write("namespaces: [ten-b]\npolicies: [{name: told}]")
		t.write("namespaces: [TEN]")
		Eventually(t.events(ctx), wait, poll).Should(ContainElements(
			"Normal ConfigurationReloaded: namespaces and policies of the changed configuration are in force: policies: 1; namespaces: ten-b",
			ContainSubstring(`Warning ConfigurationRefused: the changed configuration is not applied, the previous one stays in force: policies[0].namespaces`),
			ContainSubstring(`Warning ConfigurationRefused: the changed configuration is not applied, the previous one stays in force: namespaces[0]: "TEN"`),
		))
	})
})

// tenants is an API server with one operator, which runs until the end.
type tenants struct {
	client client.Client
	file   string
	rules  []rbacv1.PolicyRule
	ended  chan error
	lines  lines
}

// begin starts an API server and reads the rights of the operator, who is the user that it returns.
func (t *tenants) begin(roles ...string) *envtest.AuthenticatedUser {
	GinkgoHelper()
	env := &envtest.Environment{CRDDirectoryPaths: []string{filepath.Join("..", "..", "config", "crd", "bases")}, ErrorIfCRDPathMissing: true}
	cfg, err := env.Start()
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { Expect(env.Stop()).To(Succeed()) })
	user, err := env.AddUser(envtest.User{Name: "operator"}, cfg)
	Expect(err).NotTo(HaveOccurred())
	t.client, err = client.New(cfg, client.Options{Scheme: controller.Scheme()})
	Expect(err).NotTo(HaveOccurred())
	for _, path := range roles {
		text, err := os.ReadFile(filepath.Join("..", "..", "config", "rbac", path))
		Expect(err).NotTo(HaveOccurred())
		var role rbacv1.ClusterRole
		Expect(yaml.UnmarshalStrict(text, &role)).To(Succeed())
		t.rules = append(t.rules, role.Rules...)
	}
	return user
}

func (t *tenants) start(ctx context.Context) {
	GinkgoHelper()
	user := t.begin("role.yaml")
	t.namespace(ctx, "ten-a", nil)
	t.namespace(ctx, "ten-b", nil)
	t.permit(ctx, "ten-a")
	t.namespace(ctx, "ten-operator", nil)
	t.permit(ctx, "ten-operator")
	for key, value := range map[string]string{"POD_NAMESPACE": "ten-operator", "POD_NAME": "controller-1", "POD_UID": "uid-1"} {
		GinkgoT().Setenv(key, value)
	}
	t.file = filepath.Join(GinkgoT().TempDir(), "config.yaml")
	t.write("namespaces: [ten-a, ten-b, ten-later]")
	t.operator(t.lines.through(user.Config()))
}

// events returns what kubectl describe shows of the events of the operator's pod.
func (t *tenants) events(ctx context.Context) func(Gomega) []string {
	return func(g Gomega) []string {
		var list corev1.EventList
		fields := client.MatchingFields{"involvedObject.kind": "Pod", "involvedObject.name": "controller-1", "involvedObject.uid": "uid-1"}
		g.Expect(t.client.List(ctx, &list, client.InNamespace(os.Getenv("POD_NAMESPACE")), fields)).To(Succeed())
		var all []string
		for i := range list.Items {
			all = append(all, list.Items[i].Type+" "+list.Items[i].Reason+": "+list.Items[i].Message)
		}
		return all
	}
}

// write replaces the configuration file, and waits until the operator has seen it.
func (t *tenants) write(sections string) {
	GinkgoHelper()
	before := reloads()
	defer func() {
		if t.ended != nil {
			Eventually(reloads, wait, poll).Should(BeNumerically(">", before))
		}
	}()
	text := "apiVersion: config.firesteel.dev/v1alpha1\nkind: OperatorConfiguration\nmetrics: {bindAddress: \"127.0.0.1:0\", prefix: tenants-}\nhealth: {bindAddress: \"0\"}\n" + sections + "\n"
	Expect(os.WriteFile(t.file+".new", []byte(text), 0o600)).To(Succeed())
	Expect(os.Rename(t.file+".new", t.file)).To(Succeed())
}

// reloads is how often operators of this process have read a changed file.
func reloads() float64 {
	GinkgoHelper()
	families, err := metrics.Registry.Gather()
	Expect(err).NotTo(HaveOccurred())
	n := 0.0
	for _, family := range families {
		if family.GetName() == "tenants_spark_operator_configuration_reloads_total" {
			for _, m := range family.GetMetric() {
				n += m.GetCounter().GetValue()
			}
		}
	}
	return n
}

func (t *tenants) operator(cfg *rest.Config) {
	GinkgoHelper()
	c, err := config.Load(t.file)
	Expect(err).NotTo(HaveOccurred())
	registry, err := scheduler.NewRegistry(c.BatchScheduler.Default, kube.Plugin{})
	Expect(err).NotTo(HaveOccurred())
	mgr, err := controller.NewManager(cfg, c)
	Expect(err).NotTo(HaveOccurred())
	ctx, cancel := context.WithCancel(context.Background())
	Expect(controller.SetupWith(ctx, again{mgr}, c, registry, shortPeriods)).To(Succeed())
	t.ended = make(chan error, 1)
	go func() { t.ended <- mgr.Start(ctx) }()
	DeferCleanup(func() {
		cancel()
		Eventually(t.ended, wait).Should(Receive(BeNil()), "the operator stops gracefully")
	})
}

func (t *tenants) namespace(ctx context.Context, name string, labels map[string]string) {
	GinkgoHelper()
	Expect(t.client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}})).To(Succeed())
}

var operatorUser = []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "operator"}}

// permit gives the operator its rights in one namespace.
func (t *tenants) permit(ctx context.Context, namespace string) {
	GinkgoHelper()
	at := metav1.ObjectMeta{Namespace: namespace, Name: "operator"}
	Expect(t.client.Create(ctx, &rbacv1.Role{ObjectMeta: at, Rules: t.rules})).To(Succeed())
	Expect(t.client.Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: at, Subjects: operatorUser, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "operator"},
	})).To(Succeed())
}

// permitEverywhere gives the operator what it needs with a selector.
func (t *tenants) permitEverywhere(ctx context.Context) {
	GinkgoHelper()
	text, err := os.ReadFile(filepath.Join("..", "..", "config", "rbac", "namespaces", "role.yaml"))
	Expect(err).NotTo(HaveOccurred())
	var labels rbacv1.ClusterRole
	Expect(yaml.UnmarshalStrict(text, &labels)).To(Succeed())
	for name, rules := range map[string][]rbacv1.PolicyRule{"operator": t.rules, "labels": labels.Rules} {
		Expect(t.client.Create(ctx, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules})).To(Succeed())
		Expect(t.client.Create(ctx, &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: name}, Subjects: operatorUser,
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		})).To(Succeed())
	}
}

// drop deletes a namespace with everything in it, as the namespace controller does, which is not here.
func (t *tenants) drop(ctx context.Context, name string) {
	GinkgoHelper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	Expect(t.client.Delete(ctx, ns)).To(Succeed())
	for _, kind := range []client.Object{
		&v1beta2.SparkApplication{}, &corev1.Pod{}, &corev1.ConfigMap{}, &corev1.Service{}, &rbacv1.RoleBinding{}, &rbacv1.Role{},
	} {
		Expect(t.client.DeleteAllOf(ctx, kind, client.InNamespace(name), client.GracePeriodSeconds(0))).To(Succeed())
	}
	Expect(t.client.Get(ctx, client.ObjectKeyFromObject(ns), ns)).To(Succeed())
	ns.Spec.Finalizers = nil
	Expect(t.client.SubResource("finalize").Update(ctx, ns)).To(Succeed())
	Eventually(func() error { return t.client.Get(ctx, client.ObjectKeyFromObject(ns), ns) }, wait, poll).ShouldNot(Succeed())
}

func (t *tenants) label(ctx context.Context, namespace, value string) {
	GinkgoHelper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"spark":"`+value+`"}}}`))
	Expect(t.client.Patch(ctx, ns, patch)).To(Succeed())
}

func (t *tenants) create(ctx context.Context, namespace, name string) {
	GinkgoHelper()
	Expect(t.client.Create(ctx, sparkPi(namespace, name))).To(Succeed())
}

func (t *tenants) app(ctx context.Context, namespace, name string) *v1beta2.SparkApplication {
	GinkgoHelper()
	var a v1beta2.SparkApplication
	Expect(t.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &a)).To(Succeed())
	return &a
}

func (t *tenants) state(ctx context.Context, namespace, name string) func() v1beta2.ApplicationStateType {
	return func() v1beta2.ApplicationStateType { return t.app(ctx, namespace, name).Status.AppState.State }
}

// driver waits for an application's driver, as long as an informer may pause between two tries.
func (t *tenants) driver(ctx context.Context, namespace, name string) *corev1.Pod {
	GinkgoHelper()
	const pause = 90 * time.Second
	var pod corev1.Pod
	Eventually(func() error {
		return t.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name + "-driver"}, &pod)
	}, pause, poll).Should(Succeed())
	Eventually(t.state(ctx, namespace, name), wait, poll).Should(Equal(v1beta2.ApplicationStateSubmitted))
	return &pod
}

func (t *tenants) run(ctx context.Context, namespace, name string) {
	GinkgoHelper()
	t.create(ctx, namespace, name)
	t.driver(ctx, namespace, name)
}

// untouched checks that an application is left alone for much longer than the operator takes otherwise.
func (t *tenants) untouched(ctx context.Context, namespace, name string) {
	GinkgoHelper()
	Consistently(t.state(ctx, namespace, name), 1500*time.Millisecond, poll).Should(BeEmpty())
}

func (t *tenants) untouchedDriver(ctx context.Context, namespace, name string) {
	GinkgoHelper()
	var pod corev1.Pod
	Expect(t.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name + "-driver"}, &pod)).To(Succeed())
	Expect(pod.DeletionTimestamp).To(BeNil())
}

// finish ends a driver as a kubelet does.
func (t *tenants) finish(ctx context.Context, namespace, name string) {
	GinkgoHelper()
	pod := t.driver(ctx, namespace, name)
	pod.Status.Phase = corev1.PodSucceeded
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "spark-kubernetes-driver", State: exited(0, "Completed")}}
	Expect(t.client.Status().Update(ctx, pod)).To(Succeed())
}
