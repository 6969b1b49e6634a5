// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/test/golden"
)

// manifests are the objects of a file of the repository.
func manifests(elem ...string) []*unstructured.Unstructured {
	GinkgoHelper()
	text, err := os.ReadFile(filepath.Join(append([]string{"..", ".."}, elem...)...))
	Expect(err).NotTo(HaveOccurred())
	decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	var all []*unstructured.Unstructured
	for {
		var o unstructured.Unstructured
		err := decoder.Decode(&o)
		if errors.Is(err, io.EOF) {
			return all
		}
		Expect(err).NotTo(HaveOccurred())
		if len(o.Object) > 0 {
			all = append(all, &o)
		}
	}
}

// install creates an object, and deletes it when the spec is over.
func install(ctx context.Context, o client.Object) {
	GinkgoHelper()
	Expect(admin.Create(ctx, o)).To(Succeed())
	DeferCleanup(func() { Expect(client.IgnoreNotFound(admin.Delete(context.Background(), o))).To(Succeed()) })
}

// convert gives an object its type.
func convert[T any](o *unstructured.Unstructured) *T {
	GinkgoHelper()
	typed := new(T)
	Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, typed)).To(Succeed())
	return typed
}

// tokenOf returns the token that Kubernetes would mount in a pod; without a pod, one that is bound to none.
func tokenOf(ctx context.Context, namespace, account string, pod *corev1.Pod) string {
	GinkgoHelper()
	clients, err := kubernetes.NewForConfig(server.Config)
	Expect(err).NotTo(HaveOccurred())
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr.To[int64](3600)}}
	if pod != nil {
		request.Spec.BoundObjectRef = &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID}
	}
	answer, err := clients.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, account, request, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
	return answer.Status.Token
}

// as returns a client with such a token.
func as(ctx context.Context, namespace, account string, pod *corev1.Pod) client.Client {
	GinkgoHelper()
	cfg := rest.AnonymousClientConfig(server.Config)
	cfg.BearerToken = tokenOf(ctx, namespace, account, pod)
	c, err := client.New(cfg, client.Options{Scheme: admin.Scheme(), Mapper: admin.RESTMapper()})
	Expect(err).NotTo(HaveOccurred())
	return c
}

func mergePatch(text string) client.Patch {
	return client.RawPatch(types.MergePatchType, []byte(text))
}

// simplePod is a pod of an account.
func simplePod(namespace, name, account string, labels map[string]string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels},
		Spec:       corev1.PodSpec{ServiceAccountName: account, Containers: []corev1.Container{{Name: "c", Image: "spark"}}},
	}
}

// bound is a driver under the admission policy for executors.
type bound struct {
	ns     string
	driver *corev1.Pod
	client client.Client // with the driver's token
}

// executor is a pod as Spark makes it, for the driver.
func (b bound) executor(name string) *corev1.Pod {
	pod := simplePod(b.ns, name, "", map[string]string{"spark-role": "executor", v1beta2.LabelAppName: "pi", "spark-app-selector": "spark-1"})
	pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: b.driver.Name, UID: b.driver.UID, Controller: ptr.To(true)}}
	return pod
}

const driverAccount = "spark-operator-spark"

// bindExecutors installs the policy, with variables as an administrator would set them, and starts a driver.
func bindExecutors(ctx context.Context, variables map[string]string) bound {
	GinkgoHelper()
	b := bound{ns: newNamespace(ctx)}
	for _, o := range manifests("config", "admission-policy", "executors.yaml") {
		list, _, err := unstructured.NestedSlice(o.Object, "spec", "variables")
		Expect(err).NotTo(HaveOccurred())
		for _, v := range list {
			v := v.(map[string]any)
			if text, ok := variables[v["name"].(string)]; ok {
				v["expression"] = text
			}
		}
		o.SetName(o.GetName() + "-" + b.ns) // the API server remembers what is deleted for a moment
		if o.GetKind() == "ValidatingAdmissionPolicy" {
			Expect(unstructured.SetNestedSlice(o.Object, list, "spec", "variables")).To(Succeed())
		} else {
			here := map[string]any{"namespaceSelector": map[string]any{"matchLabels": map[string]any{"kubernetes.io/metadata.name": b.ns}}}
			Expect(unstructured.SetNestedMap(o.Object, here, "spec", "matchResources")).To(Succeed())
			Expect(unstructured.SetNestedField(o.Object, o.GetName(), "spec", "policyName")).To(Succeed())
		}
		install(ctx, o)
	}
	for _, o := range manifests("config", "rbac", "spark-driver", "role.yaml") {
		o.SetNamespace(b.ns)
		install(ctx, o)
	}
	for _, name := range []string{driverAccount, "default", "powerful"} {
		Expect(admin.Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: b.ns, Name: name}})).To(Succeed())
		Expect(admin.Create(ctx, &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: b.ns, Name: name},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "spark-driver"},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: b.ns, Name: name}},
		})).To(Succeed())
	}
	b.driver = simplePod(b.ns, "pi-driver", driverAccount, map[string]string{"spark-role": "driver", v1beta2.LabelAppName: "pi"})
	b.driver.OwnerReferences = []metav1.OwnerReference{{APIVersion: v1beta2.GroupVersion.String(), Kind: "SparkApplication", Name: "pi", UID: "00000000-0000-4000-8000-000000000001"}}
	Expect(admin.Create(ctx, b.driver)).To(Succeed())
	b.client = as(ctx, b.ns, driverAccount, b.driver)
	eventuallyMay(ctx, b.client, authorizationv1.ResourceAttributes{Namespace: b.ns, Verb: "create", Resource: "pods"})
	By("waiting until the API server goes by the policy")
	Eventually(func() error {
		pod := simplePod(b.ns, "probe", "", nil)
		err := b.client.Create(ctx, pod)
		if err == nil {
			Expect(admin.Delete(ctx, pod, client.GracePeriodSeconds(0))).To(Succeed())
		}
		return err
	}, wait, poll).Should(Satisfy(apierrors.IsForbidden))
	return b
}

// refused is what the policy answers.
func refused(err error, says string) {
	GinkgoHelper()
	Expect(apierrors.IsForbidden(err)).To(BeTrue(), "%v", err)
	Expect(err).To(MatchError(And(ContainSubstring("spark-operator-executors"), ContainSubstring(says))))
}

var _ = Describe("The admission policy for executors", Ordered, smoke, func() {
	var (
		it     bound
		tenant client.Client // the driver
	)

	BeforeAll(func(ctx SpecContext) {
		it = bindExecutors(ctx, nil)
		tenant = it.client
	})

	It("lets every executor pass that a real driver was seen to make", func(ctx SpecContext) {
		corpus := golden.Open(GinkgoTB(), "GOLDEN", filepath.Join("..", "..", "internal", "spark", "testdata", "golden.zip"))
		seen := 0
		for file, text := range corpus.ExecutorPods(GinkgoTB()) {
			var pod corev1.Pod
			Expect(yaml.Unmarshal(text, &pod)).To(Succeed())
			pod.Namespace, pod.Spec.PriorityClassName = it.ns, "" // there is no such class here
			if pod.Spec.ServiceAccountName == "spark" {           // the recorded driver's
				pod.Spec.ServiceAccountName = driverAccount
			}
			for i := range pod.OwnerReferences {
				pod.OwnerReferences[i].UID = it.driver.UID
			}
			maps.DeleteFunc(pod.Labels, func(_, value string) bool { return strings.Contains(value, "{") }) // before 4.0 no API server takes them
			pod.Labels[v1beta2.LabelAppName] = "pi"                                                         // spark-submit knows no applications
			Expect(tenant.Create(ctx, &pod)).To(Succeed(), file)
			Expect(tenant.Patch(ctx, &pod, mergePatch(`{"metadata":{"labels":{"spark-exec-inactive":"true"}}}`))).To(Succeed(), file)
			Expect(tenant.Delete(ctx, &pod, client.GracePeriodSeconds(0))).To(Succeed(), file)
			seen++
		}
		Expect(seen).To(BeNumerically(">", 15))
	})

	It("lets a driver mark itself, label executors for decommissioning and delete them by label", func(ctx SpecContext) {
		for _, name := range []string{"pi-exec-1", "pi-exec-2"} {
			Expect(tenant.Create(ctx, it.executor(name))).To(Succeed())
		}
		annotate := mergePatch(`{"metadata":{"annotations":{"spark.exit-exception":"x"}}}`)
		Expect(tenant.Patch(ctx, it.driver.DeepCopy(), annotate)).To(Succeed())
		decommission := mergePatch(`{"metadata":{"labels":{"decommission":"true"}}}`)
		Expect(tenant.Patch(ctx, it.executor("pi-exec-1"), decommission)).To(Succeed())
		Expect(tenant.DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace(it.ns), client.GracePeriodSeconds(0),
			client.MatchingLabels{"spark-app-selector": "spark-1", "spark-role": "executor"})).To(Succeed())
		Expect(tenant.Create(ctx, &corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Namespace: it.ns, Name: "claim"},
			Spec: corev1.PersistentVolumeClaimSpec{
				AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
				Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{"storage": resource.MustParse("1Gi")}},
			},
		})).To(Succeed(), "claims are no pods")
	})

	DescribeTable("refuses", func(ctx SpecContext, says string, act func(ctx context.Context) error) {
		refused(act(ctx), says)
	},
		Entry("a pod that belongs to no one", "name it as their owner", func(ctx context.Context) error {
			pod := it.executor("x")
			pod.OwnerReferences = nil
			return tenant.Create(ctx, pod)
		}),
		Entry("an executor of another driver", "name it as their owner", func(ctx context.Context) error {
			pod := it.executor("x")
			pod.OwnerReferences[0].UID = "00000000-0000-4000-8000-000000000009"
			return tenant.Create(ctx, pod)
		}),
		Entry("a second driver", "labels of an executor", func(ctx context.Context) error {
			pod := it.executor("x")
			pod.Labels["spark-role"] = "driver"
			return tenant.Create(ctx, pod)
		}),
		Entry("an executor of no application", "labels of an executor", func(ctx context.Context) error {
			pod := it.executor("x")
			delete(pod.Labels, v1beta2.LabelAppName)
			return tenant.Create(ctx, pod)
		}),
		Entry("an executor with someone else's rights", "may not have the service account powerful", func(ctx context.Context) error {
			pod := it.executor("x")
			pod.Spec.ServiceAccountName = "powerful"
			return tenant.Create(ctx, pod)
		}),
		Entry("the deletion of someone else's pod", "name it as their owner", func(ctx context.Context) error {
			pod := simplePod(it.ns, "other-driver", "default", nil)
			Expect(admin.Create(ctx, pod)).To(Succeed())
			DeferCleanup(func() { Expect(admin.Delete(context.Background(), pod, client.GracePeriodSeconds(0))).To(Succeed()) })
			return tenant.Delete(ctx, pod)
		}),
		Entry("the deletion of everything", "name it as their owner", func(ctx context.Context) error {
			pod := simplePod(it.ns, "other-pod", "default", nil)
			Expect(admin.Create(ctx, pod)).To(Succeed())
			DeferCleanup(func() { Expect(admin.Delete(context.Background(), pod, client.GracePeriodSeconds(0))).To(Succeed()) })
			return tenant.DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace(it.ns), client.MatchingFields{"metadata.name": "other-pod"})
		}),
		Entry("a driver that calls itself another application's", "may not change the labels", func(ctx context.Context) error {
			rename := mergePatch(`{"metadata":{"labels":{"sparkoperator.k8s.io/app-name":"other"}}}`)
			return tenant.Patch(ctx, it.driver.DeepCopy(), rename)
		}),
		Entry("a driver that is deleted with nobody", "neither images nor owners nor finalizers", func(ctx context.Context) error {
			return tenant.Patch(ctx, it.driver.DeepCopy(), mergePatch(`{"metadata":{"ownerReferences":null}}`))
		}),
		Entry("a driver that cannot be deleted", "neither images nor owners nor finalizers", func(ctx context.Context) error {
			return tenant.Patch(ctx, it.driver.DeepCopy(), mergePatch(`{"metadata":{"finalizers":["example.com/never"]}}`))
		}),
		Entry("another image under the name of the previous", "neither images nor owners nor finalizers", func(ctx context.Context) error {
			image := client.RawPatch(types.StrategicMergePatchType, []byte(`{"spec":{"containers":[{"name":"c","image":"other"}]}}`))
			return tenant.Patch(ctx, it.driver.DeepCopy(), image)
		}),
		Entry("a driver of another attempt", "may not change the labels", func(ctx context.Context) error {
			return tenant.Patch(ctx, it.driver.DeepCopy(), mergePatch(`{"metadata":{"labels":{"sparkoperator.k8s.io/submission-id":"x"}}}`))
		}),
		Entry("a driver without its application", "may not change the labels", func(ctx context.Context) error {
			return tenant.Patch(ctx, it.driver.DeepCopy(), mergePatch(`{"metadata":{"labels":{"sparkoperator.k8s.io/app-name":null}}}`))
		}),
		Entry("a token that was carried away", "the token that Kubernetes mounts", func(ctx context.Context) error {
			return as(ctx, it.ns, driverAccount, nil).Create(ctx, it.executor("x"))
		}),
		Entry("a call in the driver's name without any token", "the token that Kubernetes mounts", func(ctx context.Context) error {
			cfg := rest.CopyConfig(server.Config)
			cfg.Impersonate.UserName = "system:serviceaccount:" + it.ns + ":" + driverAccount
			c, err := client.New(cfg, client.Options{Scheme: admin.Scheme(), Mapper: admin.RESTMapper()})
			Expect(err).NotTo(HaveOccurred())
			return c.Create(ctx, it.executor("x"))
		}),
	)

	It("is about drivers only", func(ctx SpecContext) {
		other := simplePod(it.ns, "other", "powerful", nil)
		Expect(as(ctx, it.ns, "powerful", nil).Create(ctx, other)).To(Succeed())
		Expect(as(ctx, it.ns, "powerful", nil).Delete(ctx, other, client.GracePeriodSeconds(0))).To(Succeed())
	})
})

// forbidPods refuses the pods of a namespace that an expression is true of, from now to the end of the spec.
func forbidPods(ctx context.Context, namespace, expression, message string) {
	GinkgoHelper()
	name := metav1.ObjectMeta{Name: "forbidden-in-" + namespace}
	policy := &admissionv1.ValidatingAdmissionPolicy{ObjectMeta: name, Spec: admissionv1.ValidatingAdmissionPolicySpec{
		MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
			Operations: []admissionv1.OperationType{admissionv1.Create},
			Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
		}}}},
		Validations: []admissionv1.Validation{{Expression: "!(" + expression + ")", Message: message}},
	}}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: name, Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
		PolicyName: name.Name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
		MatchResources: &admissionv1.MatchResources{NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}}},
	}}
	for _, o := range []client.Object{policy, binding} {
		Expect(admin.Create(ctx, o)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(admin.Delete(ctx, o)).To(Succeed()) })
	}
	Eventually(func() error {
		return admin.Create(ctx, simplePod(namespace, "any", "", nil), client.DryRunAll)
	}, wait, poll).Should(MatchError(ContainSubstring(message)))
}
