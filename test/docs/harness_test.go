// SPDX-License-Identifier: Apache-2.0

// Package docs runs the commands of the pages that need no node, against a real kube-apiserver and etcd: page by page, as a
// reader would. Those that need Spark to run are run by test/e2e.
package docs

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/testutil/testrun"
	"github.com/firesteel-dev/firesteel/test/docs/guide"
)

const (
	startWait   = 2 * time.Minute
	buildWait   = 10 * time.Minute // with nothing in Go's cache
	commandWait = 3 * time.Minute  // the deletion of definitions takes more than one on a busy machine
	root        = "../.."
	jobs        = "jobs" // the namespace of applications in pages that have one
)

// TestPages runs page after page in one cluster: first those for users, then those that install.
func TestPages(t *testing.T) {
	needsServer(t)
	w := newHarness(t)
	t.Run("from-spark-submit", w.as(fromSparkSubmit))
	t.Run("migrate-from-kubeflow", w.as(migrate))
	t.Run("kubectl-spark", w.as(kubectlSpark))
	t.Run("schedulers", w.as(schedulers))
	t.Run("samples", w.as(samples))
	t.Run("guides", w.as(guides))
	t.Run("README", w.as(firstApplication))
	t.Run("install", w.as(install))
	t.Run("webhooks", w.as(webhooks))
	t.Run("migrate-from-apache", w.as(migrateFromApache))
}

// harness is a reader with programs, a cluster, and a folder for files.
type harness struct {
	*testing.T
	reader guide.Reader
	admin  client.Client
	folder string
}

// as runs a story as a test of its own.
func (w *harness) as(story func(w *harness)) func(t *testing.T) {
	return func(t *testing.T) {
		t.Helper()
		mine := *w
		mine.T = t
		story(&mine)
	}
}

// needsServer skips a test where there is no API server, which in CI is a failure.
func needsServer(t *testing.T) {
	t.Helper()
	if os.Getenv("KUBEBUILDER_ASSETS") != "" {
		return
	}
	if os.Getenv("CI") != "" {
		t.Fatal("KUBEBUILDER_ASSETS is not set: run make test")
	}
	t.Skip("no API server: KUBEBUILDER_ASSETS is not set; run make test-integration")
}

// onServer starts an API server, and has its administrator's kubeconfig in a folder.
func onServer(t *testing.T, server *envtest.Environment) *harness {
	t.Helper()
	logf.SetLogger(zap.New(zap.WriteTo(io.Discard)))
	server.ControlPlaneStartTimeout, server.ControlPlaneStopTimeout = startWait, startWait
	cfg, err := server.Start()
	must(t, err)
	t.Cleanup(func() { must(t, server.Stop()) })
	user, err := server.AddUser(envtest.User{Name: "reader", Groups: []string{"system:masters"}}, nil)
	must(t, err)
	kubeconfig, err := user.KubeConfig()
	must(t, err)
	scheme := runtime.NewScheme()
	must(t, clientgoscheme.AddToScheme(scheme))
	must(t, v1beta2.AddToScheme(scheme))
	admin, err := client.New(cfg, client.Options{Scheme: scheme})
	must(t, err)
	w := &harness{T: t, admin: admin, folder: t.TempDir()}
	w.write("kubeconfig", string(kubeconfig))
	return w
}

// environment is what kubectl, Helm and the operator need to find the server and to leave nothing elsewhere.
func (w *harness) environment() []string {
	return []string{"KUBECONFIG=" + filepath.Join(w.folder, "kubeconfig"), "HELM_CACHE_HOME=" + w.folder, "HELM_CONFIG_HOME=" + w.folder, "HELM_DATA_HOME=" + w.folder}
}

func newHarness(t *testing.T) *harness {
	t.Helper()
	w := onServer(t, &envtest.Environment{CRDDirectoryPaths: installed(t, root), ErrorIfCRDPathMissing: true})
	ctx, cancel := context.WithTimeout(t.Context(), buildWait)
	defer cancel()
	program, err := testrun.Program(ctx, root, w.folder, testrun.KubectlSpark)
	must(t, err)
	repository, err := filepath.Abs(root)
	must(t, err)
	w.reader = guide.Reader{
		Root: repository,
		Env:  append(w.environment(), "PATH="+strings.Join([]string{filepath.Dir(program), os.Getenv("KUBEBUILDER_ASSETS"), helmFolder(t), os.Getenv("PATH")}, ":")),
		Fill: strings.NewReplacer("REGISTRY", "firesteel.local", "=TAG", "=dev", "app.yaml", filepath.Join(w.folder, "app.yaml"), "-f spark-pi.yaml", "-f "+filepath.Join(w.folder, "app.yaml"), "operator.yaml", filepath.Join(w.folder, "operator.yaml"),
			"k8s://...", "k8s://https://10.0.0.1:6443", "--conf ...", "--conf spark.kubernetes.container.image=spark:4.1.4",
			"RELEASE -n NAMESPACE", "spark-operator -n spark-operator", "namespace NAME", "namespace default", "NAME", "spark-pi"),
	}
	go releaseDefinitions(t.Context(), w.admin)
	must(t, w.admin.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: jobs}}))
	return w
}

// releaseDefinitions lets go of definitions that are being deleted for long: now and then the API server takes minutes to notice that they
// have no objects. It ends with the test.
func releaseDefinitions(ctx context.Context, admin client.Client) {
	const long = 30 * time.Second
	all := &metav1.PartialObjectMetadataList{}
	all.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinitionList"})
	for tick := time.NewTicker(long / 3); ; {
		select {
		case <-ctx.Done():
			tick.Stop()
			return
		case <-tick.C:
		}
		if admin.List(ctx, all) != nil {
			continue
		}
		for i := range all.Items {
			if since := all.Items[i].DeletionTimestamp; since != nil && time.Since(since.Time) > long {
				_ = admin.Patch(ctx, &all.Items[i], client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))) // tried again
			}
		}
	}
}

func helmFolder(t *testing.T) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(root, "hack/tools/build.sh"), "helm")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	must(t, err)
	return strings.TrimSpace(string(out))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (w *harness) write(name, text string) {
	w.Helper()
	must(w.T, os.WriteFile(filepath.Join(w.folder, name), []byte(text), 0o600))
}

// run runs the commands of a section, or one of a sentence, and returns what they print. before is called ahead of each line.
func (w *harness) run(page, where string, before ...func(line string)) string {
	w.Helper()
	steps, err := w.reader.Steps(page, where)
	must(w.T, err)
	var printed strings.Builder
	for _, s := range steps {
		for _, f := range before {
			f(s.Text)
		}
		printed.WriteString(w.within(commandWait, s))
	}
	return printed.String()
}

func (w *harness) within(limit time.Duration, s guide.Step) string {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), limit)
	defer cancel()
	out, err := w.reader.Run(ctx, s)
	must(w.T, err)
	return out
}

// do runs a command of the test's own.
func (w *harness) do(line string) string {
	w.Helper()
	return w.within(commandWait, w.own(line))
}

func (w *harness) own(line string) guide.Step {
	w.Helper()
	s := guide.Step{Page: w.Name()}
	s.Text = line
	return s
}

// says fails the test if a text lacks a part.
func (w *harness) says(text string, parts ...string) {
	w.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			w.Errorf("it does not say %q:\n%s", part, text)
		}
	}
}

// installed are the definitions of both families: with Apache's, kubectl takes sparkapp for its kind, and what pages say has to hold all the same.
func installed(t *testing.T, root string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "config", "crd", "bases", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatal("there are no definitions", err)
	}
	return files
}
