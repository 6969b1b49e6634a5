// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1alpha1"
	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/config"
	"github.com/firesteel-dev/firesteel/internal/resolve"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/scheduler/kube"
	"github.com/firesteel-dev/firesteel/internal/webhook"
)

// guarded is the label of namespaces whose applications the webhook sees.
const guarded = "admission.test/webhook"

// hooks are the webhooks that controller-gen makes of the markers, for namespaces with a value of the label. They have the time
// that the product gives them: a slow answer is no answer to the API server, and with Ignore it stores what was not judged.
func hooks(name, value string, policy admissionv1.FailurePolicyType) envtest.WebhookInstallOptions {
	GinkgoHelper()
	options := envtest.WebhookInstallOptions{LocalServingHost: "127.0.0.1", LocalServingPort: freePort()}
	for _, o := range manifests("config", "webhook", "manifests.yaml") {
		o.SetName(name)
		list, _, err := unstructured.NestedSlice(o.Object, "webhooks")
		Expect(err).NotTo(HaveOccurred())
		for i := range list {
			hook := list[i].(map[string]any)
			hook["failurePolicy"] = string(policy)
			hook["namespaceSelector"] = map[string]any{"matchLabels": map[string]any{guarded: value}}
		}
		Expect(unstructured.SetNestedSlice(o.Object, list, "webhooks")).To(Succeed())
		switch o.GetKind() {
		case "MutatingWebhookConfiguration":
			options.MutatingWebhooks = append(options.MutatingWebhooks, convert[admissionv1.MutatingWebhookConfiguration](o))
		case "ValidatingWebhookConfiguration":
			options.ValidatingWebhooks = append(options.ValidatingWebhooks, convert[admissionv1.ValidatingWebhookConfiguration](o))
		}
	}
	return options
}

// installHooks has envtest make certificates and tell the API server where the webhook listens.
func installHooks(value string, policy admissionv1.FailurePolicyType) *envtest.WebhookInstallOptions {
	GinkgoHelper()
	options := hooks("test-"+value, value, policy)
	Expect(options.Install(server.Config)).To(Succeed())
	DeferCleanup(func() {
		for _, o := range options.MutatingWebhooks {
			Expect(admin.Delete(context.Background(), o)).To(Succeed())
		}
		for _, o := range options.ValidatingWebhooks {
			Expect(admin.Delete(context.Background(), o)).To(Succeed())
		}
		Expect(options.Cleanup()).To(Succeed())
	})
	return &options
}

// startWebhook runs the webhook's process, as its main function would, until the spec is over. It returns when the process says
// that it is ready, with a function that ends it.
func startWebhook(cfg *rest.Config, c config.Webhook) (end func()) {
	GinkgoHelper()
	return startWebhookWith(cfg, config.OperatorConfiguration{Webhook: c})
}

// startWebhookWith also takes what is not the webhook's alone of the configuration.
func startWebhookWith(cfg *rest.Config, c config.OperatorConfiguration) (end func()) {
	GinkgoHelper()
	health := freeAddress()
	registry, err := scheduler.NewRegistry(kube.Name, kube.Plugin{})
	Expect(err).NotTo(HaveOccurred())
	c.Metrics, c.Health = config.Metrics{Endpoint: config.Endpoint{BindAddress: "0"}}, config.Endpoint{BindAddress: health}
	mgr, err := webhook.New(cfg, c, func() resolve.Operator { return resolve.Operator{Registry: registry} })
	Expect(err).NotTo(HaveOccurred())
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	running := true
	end = func() {
		if running {
			running = false
			cancel()
			Eventually(done, wait).Should(Receive(BeNil()), "the webhook stops gracefully")
		}
	}
	DeferCleanup(end)
	Eventually(func() (int, error) { return get("http://" + health + "/readyz") }, wait, poll).Should(Equal(http.StatusOK), "the webhook becomes ready")
	return end
}

// get returns the status code of an answer.
func get(url string) (int, error) {
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return 0, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	return response.StatusCode, response.Body.Close()
}

// guard lets the webhook see the applications of a namespace from now on.
func guard(ctx context.Context, namespace, value string) {
	GinkgoHelper()
	Expect(admin.Patch(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}},
		mergePatch(fmt.Sprintf(`{"metadata":{"labels":{%q:%q}}}`, guarded, value)))).To(Succeed())
}

// warned is a client that remembers the warnings of the API server.
func warned() (client.Client, *[]string) {
	GinkgoHelper()
	var said []string
	cfg := rest.CopyConfig(server.Config)
	cfg.WarningHandlerWithContext = warnings{&said}
	c, err := client.New(cfg, client.Options{Scheme: admin.Scheme(), Mapper: admin.RESTMapper()})
	Expect(err).NotTo(HaveOccurred())
	return c, &said
}

type warnings struct{ said *[]string }

// HandleWarningHeaderWithContext remembers a warning.
func (w warnings) HandleWarningHeaderWithContext(_ context.Context, _ int, _, text string) {
	*w.said = append(*w.said, text)
}

// bare is an application without a word that has a default.
func bare(namespace, name string) *v1beta2.SparkApplication {
	o := sparkPi(namespace, name)
	o.Spec.Driver, o.Spec.Executor = v1beta2.DriverSpec{}, v1beta2.ExecutorSpec{}
	return o
}

// replaceBare sends it again as kubectl replace does.
func replaceBare(ctx context.Context, namespace, name string) {
	GinkgoHelper()
	change(ctx, admin, namespace, name, func(a *v1beta2.SparkApplication) {
		version := a.ResourceVersion
		*a = *bare(namespace, name)
		a.ResourceVersion = version
	})
}

var _ = Describe("The webhook", Ordered, func() {
	const value = "up"
	var ns string
	BeforeAll(func(ctx SpecContext) {
		options := installHooks(value, admissionv1.Fail)
		startWebhook(server.Config, filesOf(options))
	})
	BeforeEach(func(ctx SpecContext) {
		ns = newNamespace(ctx)
		guard(ctx, ns, value)
		Eventually(func() error {
			probe := sparkPi(ns, "probe")
			probe.Spec.Driver.Memory = ptr.To("2gb") // which the schema alone would take
			return admin.Create(ctx, probe, client.DryRunAll)
		}, wait, poll).Should(Satisfy(apierrors.IsInvalid), "the API server asks the webhook")
	})

	It("writes down the defaults, and an edit that drops them is no change (C12)", smoke, func(ctx SpecContext) {
		Expect(admin.Create(ctx, bare(ns, "pi"))).To(Succeed())
		stored := app(ctx, ns, "pi")
		Expect(stored.Spec.Mode).To(Equal(v1beta2.DeployModeCluster))
		Expect(stored.Spec.Driver.Memory).To(HaveValue(Equal("1g")))
		Expect(stored.Spec.Executor.Instances).To(HaveValue(BeEquivalentTo(1)))
		Expect(stored.Spec.RestartPolicy.Type).To(Equal(v1beta2.RestartPolicyNever))
		driver := driverPod(ctx, ns, "pi-driver")
		kubelet(ctx, driver, corev1.PodRunning, driverContainer, running())
		eventuallyState(ctx, ns, "pi", v1beta2.ApplicationStateRunning)

		replaceBare(ctx, ns, "pi")
		after := app(ctx, ns, "pi")
		Expect(after.Generation).To(Equal(stored.Generation))
		Expect(after.Spec).To(Equal(stored.Spec))
		Expect(after.Status.AppState.State).To(Equal(v1beta2.ApplicationStateRunning))
	})

	It("refuses what cannot run, with every field at once, and stores nothing", func(ctx SpecContext) {
		o := sparkPi(ns, "pi")
		o.Spec.Executor.CoreLimit, o.Spec.Driver.Memory = ptr.To("many"), ptr.To("2gb")
		o.Spec.SparkConf = map[string]string{"spark.master": "local", "spark.kubernetes.namespace": "kube-system"}
		err := admin.Create(ctx, o)
		Expect(apierrors.IsInvalid(err)).To(BeTrue(), "%v", err)
		Expect(err).To(MatchError(And(
			ContainSubstring("validate-sparkoperator-k8s-io-v1beta2-sparkapplication.sparkoperator.k8s.io"),
			ContainSubstring(`spec.executor.coreLimit: "many"`), ContainSubstring(`spec.driver.memory: "2gb"`),
			ContainSubstring(`sparkConf key "spark.master" is not allowed`), ContainSubstring(`"spark.kubernetes.namespace" is not allowed`),
		)))
		var fields []string
		for _, cause := range err.(apierrors.APIStatus).Status().Details.Causes {
			fields = append(fields, cause.Field)
		}
		Expect(fields).To(ContainElements("spec.executor.coreLimit", "spec.driver.memory", `spec.sparkConf["spark.master"]`))
		Expect(gone(ctx, o)()).To(BeTrue())

		long := sparkPi(ns, strings.Repeat("a", 64))
		Expect(admin.Create(ctx, long)).To(MatchError(ContainSubstring("metadata.name")))
	})

	It("takes a name that the API server generates", func(ctx SpecContext) {
		o := sparkPi(ns, "")
		o.GenerateName = "pi-"
		Expect(admin.Create(ctx, o)).To(Succeed())
		driverPod(ctx, ns, o.Name+"-driver")
	})

	It("warns of what will be ignored", func(ctx SpecContext) {
		c, said := warned()
		o := sparkPi(ns, "pi")
		o.Spec.Type, o.Spec.FailureRetries = v1beta2.ApplicationTypePython, ptr.To[int32](3)
		Expect(c.Create(ctx, o)).To(Succeed())
		Expect(*said).To(ContainElements(ContainSubstring("spec.type"), ContainSubstring("spec.failureRetries")))
	})

	It("never stands in the way of metadata, status and deletion of what is invalid, nor of stopping it", func(ctx SpecContext) {
		Expect(admin.Patch(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}, mergePatch(`{"metadata":{"labels":{"`+guarded+`":null}}}`))).To(Succeed())
		invalid := sparkPi(ns, "pi")
		invalid.Spec.Driver.Memory = ptr.To("2gb")
		invalid.Finalizers = []string{"test/last-word"}
		Eventually(func() error { return admin.Create(ctx, invalid) }, wait, poll).Should(Succeed(), "without the webhook anything is stored")
		guard(ctx, ns, value)
		eventuallyState(ctx, ns, "pi", v1beta2.ApplicationStateFailed)
		Expect(app(ctx, ns, "pi").Status.AppState.ErrorMessage).To(ContainSubstring(`spec.driver.memory: "2gb"`))

		c, said := warned()
		worse := app(ctx, ns, "pi")
		Eventually(func() error {
			return admin.Patch(ctx, worse.DeepCopy(), mergePatch(`{"spec":{"driver":{"memory":"3gb"}}}`), client.DryRunAll)
		}, wait, poll).Should(Satisfy(apierrors.IsInvalid), "the API server asks the webhook again")
		Expect(c.Patch(ctx, worse.DeepCopy(), mergePatch(`{"metadata":{"labels":{"a":"b"}}}`))).To(Succeed())
		Expect(*said).To(BeEmpty())
		Expect(c.Patch(ctx, worse.DeepCopy(), mergePatch(`{"spec":{"suspend":true}}`))).To(Succeed())
		Expect(*said).To(ContainElement(ContainSubstring("invalid before this change, too: spec.driver.memory")))
		Expect(c.Delete(ctx, worse.DeepCopy())).To(Succeed())
		Expect(c.Patch(ctx, worse.DeepCopy(), mergePatch(`{"metadata":{"finalizers":null}}`))).To(Succeed())
		Eventually(gone(ctx, worse), wait, poll).Should(BeTrue())
	})

	It("takes a default back when sparkConf has a say in it", func(ctx SpecContext) {
		Expect(admin.Create(ctx, bare(ns, "pi"))).To(Succeed())
		Expect(admin.Patch(ctx, bare(ns, "pi"), mergePatch(`{"spec":{"sparkConf":{"spark.driver.memory":"2g"}}}`))).To(Succeed())
		Expect(app(ctx, ns, "pi").Spec.Driver.Memory).To(BeNil())
	})

	It("judges a server, and keeps its template as it is written", func(ctx SpecContext) {
		good := &v1alpha1.SparkConnect{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "lab"}}
		good.Spec = v1alpha1.SparkConnectSpec{SparkVersion: "4.1.4", Image: ptr.To("spark:4.1.4"), Suspend: ptr.To(true)}
		good.Spec.Server.Service = &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "books", Labels: map[string]string{"a": "b"}}}
		wrong := good.DeepCopy()
		wrong.Spec.Server.Memory, wrong.Spec.Image = ptr.To("2gb"), nil
		err := admin.Create(ctx, wrong)
		Expect(apierrors.IsInvalid(err)).To(BeTrue(), "%v", err)
		Expect(err).To(MatchError(And(ContainSubstring(`spec.server.memory: "2gb"`), ContainSubstring("spec.image: the server has no image"))))
		Expect(admin.Create(ctx, good)).To(Succeed())
		Expect(good.Spec.Server.Service.Name).To(Equal("books"), "the API server drops the metadata of the template")
		Expect(good.Spec.Server.Service.Labels).To(HaveKey("a"))
	})

	It("judges a schedule with the template of its runs, and warns of nothing where nothing is wrong", func(ctx SpecContext) {
		c, said := warned()
		nightly := &v1beta2.ScheduledSparkApplication{ObjectMeta: metav1.ObjectMeta{Namespace: ns, GenerateName: "nightly-"}}
		nightly.Spec = v1beta2.ScheduledSparkApplicationSpec{Schedule: "@yearly", TimeZone: "Europe/Berlin", Template: sparkPi(ns, "pi").Spec}
		wrong := nightly.DeepCopy()
		wrong.Spec.Schedule, wrong.Spec.Template.Driver.Memory = "never", ptr.To("2gb")
		err := admin.Create(ctx, wrong)
		Expect(apierrors.IsInvalid(err)).To(BeTrue(), "%v", err)
		Expect(err).To(MatchError(And(ContainSubstring(`spec.schedule: "never"`), ContainSubstring(`spec.template.driver.memory: "2gb"`))))

		Expect(c.Create(ctx, nightly)).To(Succeed())
		Expect(*said).To(BeEmpty())
		Expect(nightly.Spec.Template.Mode).To(BeEmpty(), "nothing is assumed of a template")
		Expect(admin.Patch(ctx, nightly, mergePatch(`{"spec":{"timeZone":"Berlin"}}`))).To(MatchError(ContainSubstring("spec.timeZone")))
		Expect(admin.Delete(ctx, nightly)).To(Succeed())
	})
})
