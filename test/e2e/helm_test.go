// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
)

const (
	helmRelease   = "firesteel"
	helmNamespace = "helm-ops"
	helmTime      = 5 * time.Minute
	crdName       = "sparkapplications.sparkoperator.k8s.io"
)

var chartPath = filepath.Join("..", "..", "charts", "spark-operator")

// chart is Helm, and a folder for its own files.
type chart struct{ program, home string }

func newChart() chart {
	GinkgoHelper()
	out, err := exec.CommandContext(context.Background(), filepath.Join("..", "..", "hack", "tools", "build.sh"), "helm").Output()
	Expect(err).NotTo(HaveOccurred())
	return chart{program: filepath.Join(strings.TrimSpace(string(out)), "helm"), home: GinkgoT().TempDir()}
}

// try runs helm in the cluster, against the release.
func (c chart) try(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), helmTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, clusterCmd, append([]string{"exec", c.program, "-n", helmNamespace}, args...)...)
	cmd.Env = append(os.Environ(), "HELM_CACHE_HOME="+c.home, "HELM_CONFIG_HOME="+c.home, "HELM_DATA_HOME="+c.home)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (c chart) do(args ...string) string {
	GinkgoHelper()
	out, err := c.try(args...)
	Expect(err).NotTo(HaveOccurred(), func() string {
		return out + kubectl("get", "pods,events", "-n", helmNamespace) + kubectl("logs", "-n", helmNamespace, "-l", "app.kubernetes.io/component=controller", "--tail=30")
	})
	return out
}

// older returns a copy of the chart whose definition lacks a column: the one that an upgrade brings.
func older(column string) string {
	GinkgoHelper()
	folder := filepath.Join(GinkgoT().TempDir(), "spark-operator")
	Expect(os.CopyFS(folder, os.DirFS(chartPath))).To(Succeed())
	file := filepath.Join(folder, "files", "crds", "sparkoperator.k8s.io_sparkapplications.yaml")
	text, err := os.ReadFile(file)
	Expect(err).NotTo(HaveOccurred())
	changed := strings.Replace(string(text), "name: "+column+"\n", "name: Former\n", 1)
	Expect(changed).NotTo(Equal(string(text)))
	Expect(os.WriteFile(file, []byte(changed), 0o600)).To(Succeed())
	return folder
}

// columns are the names of the columns that kubectl shows.
func columns(ctx context.Context) []string {
	GinkgoHelper()
	crd := &unstructured.Unstructured{}
	crd.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	Expect(admin.Get(ctx, client.ObjectKey{Name: crdName}, crd)).To(Succeed())
	versions, _, err := unstructured.NestedSlice(crd.Object, "spec", "versions")
	Expect(err).NotTo(HaveOccurred())
	var shown struct {
		AdditionalPrinterColumns []struct{ Name string }
	}
	text, err := json.Marshal(versions[0])
	Expect(err).NotTo(HaveOccurred())
	Expect(json.Unmarshal(text, &shown)).To(Succeed())
	var names []string
	for _, c := range shown.AdditionalPrinterColumns {
		names = append(names, c.Name)
	}
	return names
}

// withoutSuiteOperator stops the operator of the other tests: it would run the same applications.
func withoutSuiteOperator(ctx context.Context) {
	GinkgoHelper()
	scale := func(replicas int32) {
		GinkgoHelper()
		d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: operatorNamespace, Name: operatorName}}
		Expect(admin.Patch(ctx, d, client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas)))).To(Succeed())
		Eventually(func(g Gomega) {
			var pods corev1.PodList
			g.Expect(admin.List(ctx, &pods, client.InNamespace(operatorNamespace), client.MatchingLabels(d.Spec.Selector.MatchLabels))).To(Succeed())
			g.Expect(admin.Get(ctx, client.ObjectKeyFromObject(d), d)).To(Succeed())
			g.Expect(pods.Items).To(HaveLen(int(replicas)))
			g.Expect(d.Status.ReadyReplicas).To(Equal(replicas))
		}, installWait, poll).Should(Succeed())
	}
	scale(0)
	DeferCleanup(scale, int32(1))
}

// mark changes labels or annotations of the chart's definitions.
func mark(verb string, marks ...string) {
	GinkgoHelper()
	kubectl(append([]string{verb, "--overwrite", "crd", crdName, "scheduledsparkapplications.sparkoperator.k8s.io"}, marks...)...)
}

// prepare makes the namespace of the release, as strict as any, and takes release and namespace away in the end.
func prepare(ctx context.Context, helm chart) {
	GinkgoHelper()
	ops := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: helmNamespace, Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"}}}
	Expect(admin.Create(ctx, ops)).To(Succeed())
	DeferCleanup(func(ctx context.Context) {
		_, _ = helm.try("uninstall", helmRelease, "--ignore-not-found", "--wait")
		Expect(client.IgnoreNotFound(admin.Delete(ctx, ops))).To(Succeed())
		Eventually(func() error { return admin.Get(ctx, client.ObjectKeyFromObject(ops), ops) }, installWait, poll).Should(Satisfy(apierrors.IsNotFound))
	})
}

// leftOver are the objects of the release and of its operator that still exist, but for its definitions.
func leftOver() string {
	GinkgoHelper()
	kinds := "all,configmaps,secrets,serviceaccounts,roles,rolebindings,clusterroles,clusterrolebindings,poddisruptionbudgets,mutatingwebhookconfigurations,validatingwebhookconfigurations"
	labelled := kubectl("get", kinds, "-A", "-l", "app.kubernetes.io/instance="+helmRelease, "-o", "name", "--ignore-not-found")
	leases := kubectl("get", "leases", "-n", helmNamespace, "-o", "name", "--ignore-not-found") // the operator makes it, without labels
	return strings.TrimSpace(labelled + leases)
}

var _ = Describe("The chart", Serial, func() {
	ctx := context.Background()

	It("installs, upgrades under a running application, tests itself, and leaves nothing", func() {
		helm := newChart()
		withoutSuiteOperator(ctx)
		jobs := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: newNamespace(ctx, "helm-jobs")}}
		prepare(ctx, helm)
		values := []string{"--set", "spark.jobNamespaces={" + jobs.Name + "}", "--wait", "--timeout", "3m"}
		install := append([]string{"install", helmRelease, older("Queue")}, values...)

		By("naming a namespace that does not exist")
		out, err := helm.try("install", helmRelease, chartPath, "--set", "spark.jobNamespaces={"+jobs.Name+",nowhere}")
		Expect(err).To(HaveOccurred(), out)
		Expect(out).To(ContainSubstring(`spark.jobNamespaces[1]: namespace "nowhere" does not exist`))
		Expect(leftOver()).To(BeEmpty())

		By("meeting definitions that are not Helm's, and leaving them as they are")
		mark("label", "app.kubernetes.io/managed-by-") // of another spec
		mark("annotate", "meta.helm.sh/release-name-", "meta.helm.sh/release-namespace-")
		Expect(helm.do(install...)).To(ContainSubstring("exists already and is not of this release"))
		Expect(columns(ctx)).NotTo(ContainElement("Former"))

		By("making them the release's")
		mark("label", "app.kubernetes.io/managed-by=Helm")
		mark("annotate", "meta.helm.sh/release-name="+helmRelease, "meta.helm.sh/release-namespace="+helmNamespace)
		helm.do(append([]string{"upgrade", helmRelease, older("Queue"), "--force-conflicts"}, values...)...)
		Expect(columns(ctx)).To(ContainElement("Former"))

		By("running the example of the notes as it is")
		_, example, found := strings.Cut(helm.do("get", "notes", helmRelease), "<<'EOF'\n")
		Expect(found).To(BeTrue())
		example, _, _ = strings.Cut(example, "EOF\n")
		file := filepath.Join(GinkgoT().TempDir(), "spark-pi.yaml")
		Expect(os.WriteFile(file, []byte(example), 0o600)).To(Succeed())
		kubectl("apply", "-f", file)
		pi := &v1beta2.SparkApplication{ObjectMeta: metav1.ObjectMeta{Namespace: jobs.Name, Name: "spark-pi"}}
		eventuallyState(ctx, pi, v1beta2.ApplicationStateCompleted)
		Expect(driverLog(ctx, pi)).To(ContainSubstring("Pi is roughly 3.1"))

		By("upgrading under a running application")
		sleeper := sparkPi(jobs.Name, "sleeper")
		sleeper.Spec.MainClass, sleeper.Spec.Arguments = ptr.To("io.firesteel.e2e.Behave"), []string{"sleep", "30"}
		sleeper.Spec.Driver.ServiceAccount = ptr.To(helmRelease + "-spark-operator-spark")
		Expect(admin.Create(ctx, sleeper)).To(Succeed())
		eventuallyState(ctx, sleeper, v1beta2.ApplicationStateRunning)
		before := driverOf(ctx, sleeper)
		helm.do(append([]string{"upgrade", helmRelease, chartPath, "--set", "controller.workers=3"}, values...)...)
		Expect(columns(ctx)).To(And(ContainElement("Queue"), Not(ContainElement("Former"))))
		eventuallyState(ctx, sleeper, v1beta2.ApplicationStateCompleted)
		after := driverOf(ctx, sleeper)
		Expect(after.UID).To(Equal(before.UID), "the driver is another one")
		Expect(statusOf(ctx, sleeper).ExecutionAttempts).To(BeEquivalentTo(1))

		By("helm test")
		Expect(helm.do("test", helmRelease, "--timeout", "4m")).To(And(ContainSubstring("Pi is roughly 3.1"), ContainSubstring("Succeeded")))

		By("uninstalling")
		helm.do("uninstall", helmRelease, "--wait")
		Eventually(leftOver, installWait, poll).Should(BeEmpty(), "the operator's pod takes a moment to stop")
		Expect(columns(ctx)).To(ContainElement("Queue"), "the definitions stay, and the applications with them")
		Expect(statusOf(ctx, pi).AppState.State).To(Equal(v1beta2.ApplicationStateCompleted))
	})

	It("takes a values file of Kubeflow's chart, unchanged but for the image", func() {
		const fullname = helmRelease + "-spark-operator"
		helm := newChart()
		withoutSuiteOperator(ctx)
		prepare(ctx, helm)
		values := filepath.Join("..", "chart", "testdata", "kubeflow-values.yaml")
		out := helm.do("install", helmRelease, chartPath, "-f", values, "--set", "image.registry=firesteel.local,image.repository=spark-operator", "--wait", "--timeout", "3m")
		Expect(out).To(ContainSubstring("applications of this namespace: default"))

		By("finding what Kubeflow's chart has made, by its names")
		kubectl("get", "deployment,serviceaccount", fullname+"-controller", fullname+"-webhook", "-n", helmNamespace)
		kubectl("get", "service", fullname+"-webhook-svc", "-n", helmNamespace)
		kubectl("get", "mutatingwebhookconfiguration,validatingwebhookconfiguration", fullname+"-webhook")
		kubectl("get", "serviceaccount,role,rolebinding", fullname+"-spark", "-n", "default")
		kubectl("get", "lease", fullname+"-controller-lock", "-n", helmNamespace)
		Expect(kubectl("get", "validatingwebhookconfiguration", fullname+"-webhook", "-o", "jsonpath={.webhooks[*].failurePolicy}")).To(MatchRegexp("^Fail( Fail)*$"))

		By("refusing a slip, and writing defaults down")
		Eventually(refusal, installWait, poll).Should(Satisfy(apierrors.IsInvalid), "the API server asks the webhook")
		app := sparkPi("default", "values-of-kubeflow", "400")
		app.Spec.Driver.ServiceAccount = ptr.To(fullname + "-spark")
		app.Spec.Executor.Instances, app.Spec.Mode = nil, ""
		Expect(admin.Create(ctx, app)).To(Succeed())
		DeferCleanup(func(ctx context.Context) { Expect(client.IgnoreNotFound(admin.Delete(ctx, app))).To(Succeed()) })
		Expect(app.Spec.Executor.Instances).To(HaveValue(BeEquivalentTo(1)))
		Expect(app.Spec.Mode).To(Equal(v1beta2.DeployModeCluster))

		By("running it")
		s := eventuallyState(ctx, app, v1beta2.ApplicationStateRunning)
		Expect(s.DriverInfo.WebUIServiceName).To(Equal("values-of-kubeflow-ui-svc"))
		eventuallyState(ctx, app, v1beta2.ApplicationStateCompleted)
		Expect(driverLog(ctx, app)).To(ContainSubstring("Pi is roughly 3.1"))

		By("uninstalling")
		helm.do("uninstall", helmRelease, "--wait")
		Eventually(leftOver, installWait, poll).Should(BeEmpty())
		Expect(statusOf(ctx, app).AppState.State).To(Equal(v1beta2.ApplicationStateCompleted))
	})
})
