// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/firesteel-dev/firesteel/test/docs/guide"
)

// wayBack is an administrator who goes back to another operator by the commands of its page.
type wayBack struct {
	folder string
	reader guide.Reader
	// namespace has what runs, and parts the UID and the version of each object in it when Firesteel ended.
	namespace string
	parts     map[string]part
}

type part struct {
	uid     types.UID
	version string
}

// helmFolder has the program helm.
func helmFolder(ctx context.Context) string {
	GinkgoHelper()
	built, err := exec.CommandContext(ctx, "../../hack/tools/build.sh", "helm").Output()
	Expect(err).NotTo(HaveOccurred())
	return strings.TrimSpace(string(built))
}

// programs are kubectl and helm with the rights of an administrator.
func programs(ctx context.Context, folder string) []string {
	GinkgoHelper()
	user, err := server.AddUser(envtest.User{Name: "administrator", Groups: []string{"system:masters"}}, nil)
	Expect(err).NotTo(HaveOccurred())
	text, err := user.KubeConfig()
	Expect(err).NotTo(HaveOccurred())
	kubeconfig := filepath.Join(folder, "kubeconfig")
	Expect(os.WriteFile(kubeconfig, text, 0o600)).To(Succeed())
	return []string{
		"PATH=" + strings.Join([]string{helmFolder(ctx), os.Getenv("KUBEBUILDER_ASSETS"), os.Getenv("PATH")}, ":"),
		"KUBECONFIG=" + kubeconfig, "HELM_CACHE_HOME=" + folder, "HELM_CONFIG_HOME=" + folder, "HELM_DATA_HOME=" + folder,
	}
}

// begin has a cluster, its administrator, and a place for what runs. What the page leaves open is filled in.
func (w *wayBack) begin(ctx context.Context, fill ...string) {
	GinkgoHelper()
	serverAlone()
	root, err := filepath.Abs("../..")
	Expect(err).NotTo(HaveOccurred())
	w.folder = GinkgoT().TempDir()
	w.reader = guide.Reader{Root: root, Env: programs(ctx, w.folder), Fill: strings.NewReplacer(fill...)}
	w.namespace = newNamespace(ctx)
}

// do runs a command of the administrator, and follow those of a section of a page.
func (w *wayBack) do(ctx context.Context, line string) string {
	GinkgoHelper()
	step := guide.Step{Page: "spec"}
	step.Text = line
	out, err := w.reader.Run(ctx, step)
	Expect(err).NotTo(HaveOccurred())
	return out
}

func (w *wayBack) follow(ctx context.Context, page, section string) (printed string) {
	GinkgoHelper()
	steps, err := w.reader.Steps(page, section)
	Expect(err).NotTo(HaveOccurred())
	for _, step := range steps {
		out, err := w.reader.Run(ctx, step)
		Expect(err).NotTo(HaveOccurred())
		GinkgoWriter.Println(step.Text + "\n" + out)
		printed += out
	}
	return printed
}

// kindsOf are those of which the specs have objects.
var kindsOf = []schema.GroupVersionKind{
	{Version: "v1", Kind: "Pod"}, {Version: "v1", Kind: "Service"}, {Version: "v1", Kind: "ConfigMap"},
	{Group: "apps", Version: "v1", Kind: "StatefulSet"}, {Group: "networking.k8s.io", Version: "v1", Kind: "NetworkPolicy"},
	{Group: "networking.k8s.io", Version: "v1", Kind: "Ingress"}, {Group: "policy", Version: "v1", Kind: "PodDisruptionBudget"},
}

// all are the objects of a kind in the namespace.
func (w *wayBack) all(ctx context.Context, kind schema.GroupVersionKind) []unstructured.Unstructured {
	GinkgoHelper()
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	Expect(admin.List(ctx, list, client.InNamespace(w.namespace))).To(Succeed())
	return list.Items
}

func (w *wayBack) one(ctx context.Context, kind schema.GroupVersionKind, name string) *unstructured.Unstructured {
	GinkgoHelper()
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(kind)
	Expect(admin.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: name}, o)).To(Succeed())
	return o
}

func (w *wayBack) seen(ctx context.Context) map[string]part {
	GinkgoHelper()
	all := map[string]part{}
	for _, kind := range kindsOf {
		for _, o := range w.all(ctx, kind) {
			all[kind.Kind+" "+o.GetName()] = part{o.GetUID(), o.GetResourceVersion()}
		}
	}
	return all
}

// gates are what answers the API server for Firesteel, or lets it refuse what others write.
func gates(ctx context.Context) (names []string) {
	GinkgoHelper()
	for _, kind := range []string{
		"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding",
		"MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding",
	} {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(schema.GroupVersionKind{Group: "admissionregistration.k8s.io", Version: "v1", Kind: kind + "List"})
		err := admin.List(ctx, list, client.MatchingLabels{"app.kubernetes.io/instance": "firesteel"})
		if meta.IsNoMatchError(err) {
			continue
		}
		Expect(err).NotTo(HaveOccurred())
		for _, o := range list.Items {
			names = append(names, kind+" "+o.GetName())
		}
	}
	return names
}

// installs puts Firesteel's release beside the operator of this process, which has ended: what the chart makes is there, and its operator does nothing.
func (w *wayBack) installs(ctx context.Context, more string) {
	GinkgoHelper()
	w.do(ctx, fmt.Sprintf("helm install firesteel charts/spark-operator -n firesteel --create-namespace --set 'spark.jobNamespaces={%s}' %s", w.namespace, more))
	Expect(gates(ctx)).To(ContainElement(HavePrefix("ValidatingWebhookConfiguration ")))
	w.parts = w.seen(ctx)
}

// leavesNothingBehind checks what the cluster has of Firesteel afterwards.
func (w *wayBack) leavesNothingBehind(ctx context.Context) {
	GinkgoHelper()
	Expect(gates(ctx)).To(BeEmpty())
	Expect(w.do(ctx, "kubectl get deployments,leases -n firesteel -o name")).To(BeEmpty())
	Expect(w.do(ctx, "kubectl get serviceaccounts,roles,rolebindings -o name -n "+w.namespace)).To(And(
		ContainSubstring("serviceaccount/firesteel-spark-operator-spark\n"), ContainSubstring("role.rbac.authorization.k8s.io/firesteel-spark-operator-spark\n"),
		ContainSubstring("rolebinding.rbac.authorization.k8s.io/firesteel-spark-operator-spark\n"),
	), "drivers go on with what they need")
	Expect(w.seen(ctx)).To(Equal(w.parts), "what runs is as Firesteel left it")
}

// isHeldByNothing deletes all objects of the kinds, with no operator in the cluster. What is left then has to belong to what is gone: the garbage
// collector takes it, which this API server does not have.
func (w *wayBack) isHeldByNothing(ctx context.Context, kinds ...schema.GroupVersionKind) {
	GinkgoHelper()
	for _, kind := range kinds {
		for _, o := range w.all(ctx, kind) {
			Expect(o.GetFinalizers()).To(BeEmpty(), "%s %s", kind.Kind, o.GetName())
			Expect(admin.Delete(ctx, &o)).To(Succeed())
		}
		Expect(w.all(ctx, kind)).To(BeEmpty(), "what is deleted is gone without an operator")
	}
	left := map[types.UID]unstructured.Unstructured{}
	for _, kind := range kindsOf {
		for _, o := range w.all(ctx, kind) {
			if o.GetName() != "kube-root-ca.crt" {
				left[o.GetUID()] = o
			}
		}
	}
	stays := func(r metav1.OwnerReference) bool { _, there := left[r.UID]; return there }
	for range len(left) { // owners of owners; a range over the map itself ends early when it shrinks
		for uid, o := range left {
			Expect(o.GetFinalizers()).To(BeEmpty(), "%s %s", o.GetKind(), o.GetName())
			if owners := o.GetOwnerReferences(); len(owners) > 0 && !slices.ContainsFunc(owners, stays) {
				delete(left, uid)
			}
		}
	}
	Expect(left).To(BeEmpty(), "it belongs to nothing that goes")
}

// nested is a string of an object.
func nested(o *unstructured.Unstructured, fields ...string) string {
	text, _, _ := unstructured.NestedString(o.Object, fields...)
	return text
}

// takesItsStatus writes a status as the next operator does: whole, and with what it knows.
func takesItsStatus(ctx context.Context, o *unstructured.Unstructured) {
	GinkgoHelper()
	Expect(client.WithFieldValidation(admin, metav1.FieldValidationStrict).Status().Update(ctx, o)).To(Succeed(), "%s %s", o.GetKind(), o.GetName())
}
