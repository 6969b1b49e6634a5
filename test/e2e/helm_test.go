// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
)

const (
	helmTime = 5 * time.Minute
	crdName  = "sparkapplications.sparkoperator.k8s.io"
)

var chartPath = filepath.Join("..", "..", "charts", "spark-operator")

// chart is Helm with a release, and a folder for its own files. Releases of specs that run side by side have names and namespaces of their own.
type chart struct{ program, home, release, namespace string }

func newChart(release, namespace string) chart {
	GinkgoHelper()
	return chart{program: filepath.Join(tool(context.Background(), "helm"), "helm"), home: GinkgoT().TempDir(), release: release, namespace: namespace}
}

// account is the service account of drivers that the release makes.
func (c chart) account() string { return c.release + "-spark-operator-spark" }

// try runs helm in the cluster, in the namespace of the release.
func (c chart) try(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), helmTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, clusterCmd, append([]string{"exec", c.program, "-n", c.namespace}, args...)...)
	cmd.Env = append(os.Environ(), "HELM_CACHE_HOME="+c.home, "HELM_CONFIG_HOME="+c.home, "HELM_DATA_HOME="+c.home)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (c chart) do(args ...string) string {
	GinkgoHelper()
	out, err := c.try(args...)
	Expect(err).NotTo(HaveOccurred(), func() string {
		return out + kubectl("get", "pods,events", "-n", c.namespace) + kubectl("logs", "-n", c.namespace, "-l", "app.kubernetes.io/component=controller", "--tail=30")
	})
	return out
}

// prepare makes the namespace of the release, as strict as any, and takes release and namespace away in the end.
func (c chart) prepare(ctx context.Context) {
	GinkgoHelper()
	ops := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: c.namespace, Labels: map[string]string{enforceLabel: "restricted"}}}
	Expect(admin.Create(ctx, ops)).To(Succeed())
	DeferCleanup(func(ctx context.Context) {
		_, _ = c.try("uninstall", c.release, "--ignore-not-found", "--wait")
		Expect(client.IgnoreNotFound(admin.Delete(ctx, ops))).To(Succeed())
		Eventually(func() error { return admin.Get(ctx, client.ObjectKeyFromObject(ops), ops) }, installWait, poll).Should(Satisfy(apierrors.IsNotFound))
	})
}

// uninstall leaves nothing of the release but its definitions.
func (c chart) uninstall() {
	GinkgoHelper()
	c.do("uninstall", c.release, "--wait")
	Eventually(c.leftOver, installWait, poll).Should(BeEmpty(), "the operator's pod takes a moment to stop")
	kubectl("get", "crd", crdName)
}

// leftOver are the objects of the release and of its operator that still exist, but for its definitions.
func (c chart) leftOver() string {
	GinkgoHelper()
	kinds := "all,configmaps,secrets,serviceaccounts,roles,rolebindings,clusterroles,clusterrolebindings,poddisruptionbudgets,mutatingwebhookconfigurations,validatingwebhookconfigurations"
	labeled := kubectl("get", kinds, "-A", "-l", "app.kubernetes.io/instance="+c.release, "-o", "name", "--ignore-not-found")
	leases := kubectl("get", "leases", "-n", c.namespace, "-o", "name", "--ignore-not-found") // the operator makes it, without labels
	return strings.TrimSpace(labeled + leases)
}

var _ = Describe("The chart", longest, func() {
	ctx := context.Background()

	It("installs, upgrades under a running application, tests itself, and leaves nothing", func() {
		helm := newChart("chart", "chart-ops")
		jobs := ownNamespace(ctx, "chart-jobs")
		helm.prepare(ctx)
		values := []string{"--set", "spark.jobNamespaces={" + jobs + "}", "--wait", "--timeout", "3m"}

		By("naming a namespace that does not exist")
		out, err := helm.try("install", helm.release, chartPath, "--set", "spark.jobNamespaces={"+jobs+",nowhere}")
		Expect(err).To(HaveOccurred(), out)
		Expect(out).To(ContainSubstring(`spark.jobNamespaces[1]: namespace "nowhere" does not exist`))
		Expect(helm.leftOver()).To(BeEmpty())

		By("meeting definitions that are not Helm's")
		Expect(helm.do(append([]string{"install", helm.release, chartPath}, values...)...)).To(ContainSubstring("exists already and is not of this release"))

		By("asking for the example of the notes as it is")
		_, example, found := strings.Cut(helm.do("get", "notes", helm.release), "<<'EOF'\n")
		Expect(found).To(BeTrue())
		example, _, _ = strings.Cut(example, "EOF\n")
		file := filepath.Join(GinkgoT().TempDir(), "spark-pi.yaml")
		Expect(os.WriteFile(file, []byte(example), 0o600)).To(Succeed())
		Expect(kubectl("apply", "--dry-run=server", "-f", file)).To(ContainSubstring("spark-pi created"))

		By("upgrading under a running application")
		sleeper := endless(jobs, "sleeper")
		sleeper.Spec.Driver.ServiceAccount = ptr.To(helm.account())
		Expect(admin.Create(ctx, sleeper)).To(Succeed())
		eventuallyExecutor(ctx, sleeper, "")
		before := driverOf(ctx, sleeper)
		helm.do(append([]string{"upgrade", helm.release, chartPath, "--set", "controller.workers=3"}, values...)...)
		edit(ctx, sleeper, func(s *v1beta2.SparkApplicationSpec) { s.TimeToLiveSeconds = ptr.To[int64](3600) })
		Eventually(func() int64 { return statusOf(ctx, sleeper).ObservedGeneration }, jobWait, poll).Should(BeEquivalentTo(generation(ctx, sleeper)), "the new operator has it")
		Expect(driverOf(ctx, sleeper).UID).To(Equal(before.UID), "the driver is another one")
		Expect(statusOf(ctx, sleeper)).To(And(HaveField("AppState.State", v1beta2.ApplicationStateRunning), HaveField("ExecutionAttempts", BeEquivalentTo(1))))

		By("helm test")
		Expect(helm.do("test", helm.release, "--timeout", "4m")).To(And(ContainSubstring("Pi is roughly 3.1"), ContainSubstring("Succeeded")))

		By("uninstalling")
		helm.uninstall()
		Expect(statusOf(ctx, sleeper).AppState.State).To(Equal(v1beta2.ApplicationStateRunning), "applications stay")
	})
})
