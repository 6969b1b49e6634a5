// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1alpha1"
	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/test/docs/guide"
)

// reader runs the commands of pages as they stand there, but for namespaces and for what they leave open. What needs no node
// is run by test/docs.
type reader struct {
	guide.Reader
	helm chart
	jobs string // the namespace of applications, which is that of the reader's context
	held []<-chan error
}

// newReader has the programs of the pages, a namespace, and a manifest in a file.
func newReader(ctx context.Context, jobs string, fill ...string) *reader {
	GinkgoHelper()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	Expect(err).NotTo(HaveOccurred())
	folder := GinkgoT().TempDir()
	r := &reader{helm: newChart("", ""), jobs: jobs}
	kubeconfig, manifest := filepath.Join(folder, "kubeconfig"), filepath.Join(folder, "app.yaml")
	text, err := os.ReadFile(os.Getenv("FIRESTEEL_E2E_KUBECONFIG"))
	Expect(err).NotTo(HaveOccurred())
	Expect(os.WriteFile(kubeconfig, text, 0o600)).To(Succeed())
	kubectl("config", "set-context", "--current", "--namespace", r.jobs, "--kubeconfig", kubeconfig)
	r.Reader = guide.Reader{
		Root: root,
		Into: []string{filepath.Join(root, "hack", "cluster", "cluster.sh"), "exec", "env", "KUBECONFIG=" + kubeconfig},
		Env: []string{
			"PATH=" + strings.Join([]string{filepath.Join(root, "dist"), filepath.Dir(r.helm.program), os.Getenv("PATH")}, ":"),
			"HELM_CACHE_HOME=" + folder, "HELM_CONFIG_HOME=" + folder, "HELM_DATA_HOME=" + folder,
		},
		// other namespaces belong to other tests
		Fill: strings.NewReplacer(append(fill, "helm install ", "helm install --set 'spark.jobNamespaces={"+r.jobs+"}' ",
			"REGISTRY", "firesteel.local", "=TAG", "=dev", "spark-pi.yaml", manifest, "app.yaml", manifest,
			"k8s://... ARGS", "k8s://https://10.0.0.1:6443 --name pi --class Main --conf spark.kubernetes.container.image=spark:4.1.4 local:///app.jar", "NAME", "spark-pi")...),
	}
	r.run(ctx, "docs/quick-start.md", "On a cluster that you have")
	example, err := r.Manifest("docs/quick-start.md", "A first application")
	Expect(err).NotTo(HaveOccurred())
	Expect(os.WriteFile(manifest, []byte(example), 0o600)).To(Succeed())
	return r
}

// newServerReader has the server of docs/spark-connect.md in the file that its commands apply, as small as one of these tests, and
// the Python of a client.
func newServerReader(ctx context.Context) (*reader, *v1alpha1.SparkConnect) {
	GinkgoHelper()
	file := filepath.Join(GinkgoT().TempDir(), "notebooks.yaml")
	r := newReader(ctx, newNamespace(ctx, "docs"), "notebooks.yaml", file)
	r.Env = append(r.Env, "PATH="+strings.Join([]string{filepath.Dir(python(ctx, "4.1")), filepath.Join(r.Root, "dist"), os.Getenv("PATH")}, ":"))
	text, err := r.Manifest("docs/spark-connect.md", "A first server")
	Expect(err).NotTo(HaveOccurred())
	server := &v1alpha1.SparkConnect{}
	Expect(yaml.UnmarshalStrict([]byte(text), server)).To(Succeed())
	small := connectServer(r.jobs, server.Spec.SparkVersion, sparkImage)
	server.Namespace, server.Spec.Image, server.Spec.SparkConf = r.jobs, small.Spec.Image, small.Spec.SparkConf
	server.Spec.Server.Memory, server.Spec.Executor.Memory = small.Spec.Server.Memory, small.Spec.Executor.Memory
	server.Spec.DynamicAllocation = small.Spec.DynamicAllocation // its executors go sooner than a reader's
	manifest, err := yaml.Marshal(server)
	Expect(err).NotTo(HaveOccurred())
	Expect(os.WriteFile(file, manifest, 0o600)).To(Succeed())
	return r, server
}

// The commands of that page, which test/e2e/connect_test.go asks for one after the other.

func (r *reader) makeServer(ctx context.Context) string {
	return r.run(ctx, "docs/spark-connect.md", "A first server")
}

func (r *reader) tokenOfServer(ctx context.Context) string {
	return r.run(ctx, "docs/spark-connect.md", "Tokens")
}

func (r *reader) wakeServer(ctx context.Context) {
	r.run(ctx, "docs/spark-connect.md", "Stopped when idle")
}

func (r *reader) rerunServer(ctx context.Context) string {
	return r.run(ctx, "docs/spark-connect.md", "Edits")
}

// newInstaller reads a page that installs a release into a namespace of its name, which is another one here.
func newInstaller(ctx context.Context, release string, fill ...string) *reader {
	GinkgoHelper()
	helm := newChart(release, "docs-"+release)
	r := newReader(ctx, ownNamespace(ctx, "docs"), append(fill, "-n "+release, "-n "+helm.namespace)...)
	r.helm = helm
	DeferCleanup(func() {
		_, _ = helm.try("uninstall", release, "--ignore-not-found", "--wait")
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: helm.namespace}}
		Expect(client.IgnoreNotFound(admin.Delete(context.Background(), ns))).To(Succeed())
		Eventually(func() error { return admin.Get(context.Background(), client.ObjectKeyFromObject(ns), ns) }, installWait, poll).Should(Satisfy(apierrors.IsNotFound))
	})
	return r
}

// run runs the commands of a section, and returns what they print.
func (r *reader) run(ctx context.Context, page, section string) string {
	GinkgoHelper()
	return r.read(ctx, page, section, nil)
}

// start does the same with a section that has commands which continue until the application ends. It returns as soon as those
// that show something have shown it; stop waits for them.
func (r *reader) start(ctx context.Context, page, section string) string {
	GinkgoHelper()
	return r.read(ctx, page, section, holding)
}

// stop waits for what was started, which is to end automatically and well.
func (r *reader) stop() {
	GinkgoHelper()
	for _, ended := range r.held {
		Eventually(ended, jobWait).Should(Receive(BeNil()))
	}
}

var holding = regexp.MustCompile(`^kubectl spark (wait|ui|logs .*-f)\b`)

func (r *reader) read(ctx context.Context, page, section string, holding *regexp.Regexp) string {
	GinkgoHelper()
	steps, err := r.Steps(page, section)
	Expect(err).NotTo(HaveOccurred())
	var printed strings.Builder
	for _, s := range steps {
		By(s.String())
		if holding != nil && holding.MatchString(s.Text) {
			r.hold(ctx, s)
			continue
		}
		bounded, cancel := context.WithTimeout(ctx, 2*jobWait) // make build is among them
		out, err := r.Run(bounded, s)
		cancel()
		Expect(err).NotTo(HaveOccurred())
		printed.WriteString(out)
	}
	return printed.String()
}

// hold runs a command beside the others, once it has shown its first words.
func (r *reader) hold(ctx context.Context, s guide.Step) {
	GinkgoHelper()
	shows := gbytes.NewBuffer()
	parallel := r.Reader
	parallel.Tee = shows
	bounded, cancel := context.WithTimeout(ctx, 2*jobWait)
	DeferCleanup(cancel)
	ended := make(chan error, 1)
	r.held = append(r.held, ended)
	go func() {
		_, err := parallel.Run(bounded, s)
		ended <- err
	}()
	says := `\S`
	if strings.Contains(s.Text, " ui ") {
		says = `http://localhost:\d+/`
	}
	Eventually(func() (string, error) {
		select {
		case err := <-ended:
			ended <- err // for stop
			if err != nil {
				return "", StopTrying(err.Error())
			}
		default:
		}
		return string(shows.Contents()), nil
	}, jobWait, poll).Should(MatchRegexp(says), "%s", s)
}

// twoAttempts is an application whose first attempt fails when it is told to, and whose second one has executors until it is
// told to end.
const twoAttempts = `import os, sys, time
def waits_for(*words):
    while True:
        for word in words:
            if os.path.exists('/tmp/' + word):
                return word
        time.sleep(0.1)
print('first words', flush=True)
if waits_for('fail', 'go') == 'fail':
    sys.exit(3)
from pyspark.sql import SparkSession
print('sum', SparkSession.builder.getOrCreate().sparkContext.parallelize(range(10), 3).sum(), flush=True)
waits_for('end')
print('last words', flush=True)
`

// signal lets the application continue.
func signal(app *v1beta2.SparkApplication, word string) {
	GinkgoHelper()
	kubectl("exec", "-n", app.Namespace, app.Name+"-driver", "-c", "spark-kubernetes-driver", "--", "touch", "/tmp/"+word)
}

var _ = Describe("The pages of docs/", longest, func() {
	ctx := context.Background()

	It("lead a beginner from the installation to a result", func() {
		r := newInstaller(ctx, "spark-operator")
		r.run(ctx, "docs/quick-start.md", "Install")
		Expect(r.run(ctx, "docs/quick-start.md", "A first application")).To(And(ContainSubstring("errors: 0"), ContainSubstring("COMPLETED")))
		Expect(r.run(ctx, "docs/quick-start.md", "Look at it")).To(And(
			ContainSubstring("COMPLETED"), ContainSubstring("Pi is roughly 3.1"), ContainSubstring("SparkApplication "+r.jobs+"/spark-pi has completed")))
		Expect(r.run(ctx, "docs/first-job.md", "May I")).To(And(MatchRegexp(`operator +ok`), MatchRegexp(`account +ok`)))
		r.run(ctx, "docs/first-job.md", "Run it")
		Expect(r.run(ctx, "docs/first-job.md", "See it")).To(ContainSubstring("Pi is roughly 3.1"))
		Expect(r.run(ctx, "docs/first-job.md", "Why it does not run")).To(ContainSubstring("has completed"))
		r.run(ctx, "docs/quick-start.md", "Take it away")
		kubectl("get", "crd", crdName)
	})

	It("lead an administrator from Kubeflow's operator to this one, with the values of its chart", func() {
		const fullname, account = "firesteel-spark-operator", "spark-operator-spark"
		values, err := filepath.Abs(filepath.Join("..", "chart", "testdata", "kubeflow-values.yaml"))
		Expect(err).NotTo(HaveOccurred())
		const install = "firesteel charts/spark-operator -n "
		r := newInstaller(ctx, "firesteel", install+"firesteel --create-namespace", install+"docs-firesteel --create-namespace -f "+values)
		allow(ctx, r.jobs, account)
		app := sparkPi(r.jobs, "held-back", "200")
		app.Spec.Suspend, app.Spec.Driver.ServiceAccount = ptr.To(true), ptr.To(account)
		Expect(admin.Create(ctx, app)).To(Succeed())

		Expect(r.run(ctx, "docs/migrate-from-kubeflow.md", "4. Update the definitions, and install Firesteel")).To(ContainSubstring("applications of this namespace: " + r.jobs))
		eventuallyReason(ctx, app, "Suspended", "Suspended", "spec.suspend is true")
		Expect(r.run(ctx, "docs/migrate-from-kubeflow.md", "5. See that all is well")).To(And(ContainSubstring(app.Name), ContainSubstring("SUBMITTED")))

		By("finding what Kubeflow's chart has made, by its names")
		kubectl("get", "deployment,serviceaccount", fullname+"-controller", fullname+"-webhook", "-n", r.helm.namespace)
		kubectl("get", "service", fullname+"-webhook-svc", "-n", r.helm.namespace)
		kubectl("get", "lease", fullname+"-controller-lock", "-n", r.helm.namespace)
		Expect(kubectl("get", "validatingwebhookconfiguration", fullname+"-webhook", "-o", "jsonpath={.webhooks[*].failurePolicy}")).To(MatchRegexp("^Fail( Fail)*$"))

		By("refusing a slip, and writing defaults down")
		Eventually(func() error { return refusal(r.jobs) }, installWait, poll).Should(Satisfy(apierrors.IsInvalid), "the API server asks the webhook")
		other := sparkPi(r.jobs, "defaults")
		other.Spec.Executor.Instances, other.Spec.Mode = nil, ""
		Expect(admin.Create(ctx, other, client.DryRunAll)).To(Succeed())
		Expect(other.Spec).To(And(HaveField("Executor.Instances", HaveValue(BeEquivalentTo(1))), HaveField("Mode", v1beta2.DeployModeCluster)))

		By("running what was held back")
		edit(ctx, app, func(s *v1beta2.SparkApplicationSpec) { s.Suspend = nil })
		s := eventuallyState(ctx, app, v1beta2.ApplicationStateRunning)
		Expect(s.DriverInfo.WebUIServiceName).To(Equal("held-back-ui-svc"))
		eventuallyState(ctx, app, v1beta2.ApplicationStateCompleted)
		Expect(driverLog(ctx, app)).To(ContainSubstring("Pi is roughly 3.1"))

		By("going back")
		Expect(r.run(ctx, "docs/migrate-from-kubeflow.md", "Roll back")).To(ContainSubstring(`release "firesteel" uninstalled`))
		Eventually(r.helm.leftOver, installWait, poll).Should(BeEmpty())
		Expect(statusOf(ctx, app).AppState.State).To(Equal(v1beta2.ApplicationStateCompleted))
	})

	It("show an application while it runs, and what it did before", func() {
		// a scheduler that the operator of these tests has enabled may not be installed yet, which check calls wrong
		r := newReader(ctx, newNamespace(ctx, "docs"), "kubectl spark check ", "kubectl spark check || true ")
		app := script(ctx, r.jobs, "spark-pi", twoAttempts)
		app.Spec.RestartPolicy = v1beta2.RestartPolicy{Type: v1beta2.RestartPolicyOnFailure, OnFailureRetries: ptr.To[int32](1), OnFailureRetryInterval: ptr.To[int64](1)}
		app.Spec.Executor.Instances = ptr.To[int32](3)
		Expect(admin.Create(ctx, app)).To(Succeed())
		r.start(ctx, "docs/kubectl-spark.md", "wait")
		eventuallyState(ctx, app, v1beta2.ApplicationStateRunning)
		signal(app, "fail")
		Eventually(func(g Gomega) {
			s := statusOf(ctx, app)
			g.Expect(s.Attempt).To(BeEquivalentTo(2))
			g.Expect(s.AppState.State).To(Equal(v1beta2.ApplicationStateRunning))
		}, jobWait, poll).Should(Succeed())
		signal(app, "go")
		Eventually(func() bool { return meta.IsStatusConditionTrue(statusOf(ctx, app).Conditions, "ExecutorsReady") }, jobWait, poll).Should(BeTrue())
		Eventually(func() string { return driverLog(ctx, app) }, jobWait, poll).Should(ContainSubstring("sum 45"), "the UI is there by then")

		r.look(ctx)
		signal(app, "end")
		eventuallyState(ctx, app, v1beta2.ApplicationStateCompleted)
		r.stop()
	})
})

// look reads all pages that show an application which runs.
func (r *reader) look(ctx context.Context) {
	GinkgoHelper()
	Expect(r.start(ctx, "docs/kubectl-spark.md", "logs")).To(And(ContainSubstring("sum 45"), MatchRegexp(`(?m)^\[?2\]? `)))
	r.start(ctx, "docs/ui.md", "Look at it now")
	Expect(r.start(ctx, "README.md", "kubectl spark")).To(And(ContainSubstring("with 3 of 3 executors"), ContainSubstring("errors: 0"), ContainSubstring("kind: Pod")))
	Expect(r.run(ctx, "README.md", "Try it without a cluster")).To(ContainSubstring("spark-pi-driver"))
	r.run(ctx, "docs/quick-start.md", "From nothing")

	Expect(r.run(ctx, "docs/troubleshooting.md", "Troubleshooting")).To(ContainSubstring("with 3 of 3 executors"))
	Expect(r.run(ctx, "docs/troubleshooting.md", "Nothing happens: STATUS is empty")).To(ContainSubstring(operatorName))
	Expect(r.run(ctx, "docs/troubleshooting.md", "The driver failed")).To(ContainSubstring("first words"))
	Expect(r.run(ctx, "docs/troubleshooting.md", "Executors do not come, or get lost")).To(ContainSubstring("-exec-3"))
	r.start(ctx, "docs/troubleshooting.md", "The UI cannot be reached")
	Expect(r.run(ctx, "docs/troubleshooting.md", "The operator does not start")).To(ContainSubstring("Starting workers"))
}
