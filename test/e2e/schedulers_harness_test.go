// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
)

var (
	repository       = filepath.Join("..", "..")
	schedulerConfigs = filepath.Join(repository, "test", "schedulers", "testdata")

	volcanoGroup      = schema.GroupVersionKind{Group: "scheduling.volcano.sh", Version: "v1beta1", Kind: "PodGroup"}
	volcanoQueue      = schema.GroupVersionKind{Group: "scheduling.volcano.sh", Version: "v1beta1", Kind: "Queue"}
	coschedulingGroup = schema.GroupVersionKind{Group: "scheduling.x-k8s.io", Version: "v1alpha1", Kind: "PodGroup"}
	elasticQuota      = schema.GroupVersionKind{Group: "scheduling.x-k8s.io", Version: "v1alpha1", Kind: "ElasticQuota"}
)

// externalSchedulers runs the real schedulers: processes of this machine in the network of the node.
type externalSchedulers struct{ logs string }

// newExternalSchedulers takes away what only these specs have when they are over, or a run before this one has left.
func newExternalSchedulers(ctx context.Context) *externalSchedulers {
	GinkgoHelper()
	removed := func() { kubectl(append([]string{"delete", "--ignore-not-found"}, coschedulingAPI(ctx)...)...) }
	removed()
	DeferCleanup(removed)
	return &externalSchedulers{logs: GinkgoT().TempDir()}
}

// tool builds the programs of a tool module, unless they are there, and returns the folder with them.
func tool(ctx context.Context, name string) string {
	GinkgoHelper()
	cmd := exec.CommandContext(ctx, filepath.Join(repository, "hack", "tools", "build.sh"), name)
	cmd.Stderr = GinkgoWriter
	out, err := cmd.Output()
	Expect(err).NotTo(HaveOccurred(), "building %s", name)
	return strings.TrimSpace(string(out))
}

// crds is the folder of a scheduler's CRDs, in the version that its tool is built from.
func crds(ctx context.Context, tool, module string, path ...string) string {
	GinkgoHelper()
	cmd := exec.CommandContext(ctx, "go", "list", "-C", filepath.Join(repository, "hack", "tools", tool), "-m", "-f", "{{.Dir}}", module)
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off")
	out, err := cmd.Output()
	Expect(err).NotTo(HaveOccurred(), "finding %s", module)
	return filepath.Join(append([]string{strings.TrimSpace(string(out))}, path...)...)
}

func volcanoAPI(ctx context.Context) string {
	GinkgoHelper()
	return crds(ctx, "volcano", "volcano.sh/volcano", "config", "crd", "volcano", "bases")
}

// coschedulingAPI are the arguments by which kubectl finds the two CRDs.
func coschedulingAPI(ctx context.Context) []string {
	GinkgoHelper()
	dir := crds(ctx, "scheduler-plugins", "sigs.k8s.io/scheduler-plugins", "config", "crd", "bases")
	return []string{"-f", filepath.Join(dir, "scheduling.x-k8s.io_podgroups.yaml"), "-f", filepath.Join(dir, "scheduling.x-k8s.io_elasticquotas.yaml")}
}

// start runs a program in the cluster's network until the specs are over, or the kernel ends it with this process.
func (b *externalSchedulers) start(ctx context.Context, name, path string, env []string, args ...string) {
	GinkgoHelper()
	log, err := os.Create(filepath.Join(b.logs, name+".log"))
	Expect(err).NotTo(HaveOccurred())
	cmd := exec.CommandContext(context.WithoutCancel(ctx), clusterCmd, append(append([]string{"exec", "env"}, env...), append([]string{path}, args...)...)...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	started, ended := make(chan error), make(chan struct{})
	go func() { // Pdeathsig is about the thread that starts the process: it must stay
		runtime.LockOSThread()
		started <- cmd.Start()
		_ = cmd.Wait()
		close(ended)
	}()
	Expect(<-started).To(Succeed())
	DeferCleanup(func() {
		_ = cmd.Process.Kill()
		Eventually(ended, time.Minute).Should(BeClosed())
		Expect(log.Close()).To(Succeed())
	})
}

// tails are the last words of the schedulers, for a spec that failed.
func (b *externalSchedulers) tails() string {
	text := ""
	files, _ := filepath.Glob(filepath.Join(b.logs, "*.log"))
	for _, file := range files {
		const enough = 4000
		log, _ := os.ReadFile(file)
		text += fmt.Sprintf("%s:\n%s\n", filepath.Base(file), log[max(0, len(log)-enough):])
	}
	return text
}

func (b *externalSchedulers) startVolcano(ctx context.Context) {
	GinkgoHelper()
	dir, config := tool(ctx, "volcano"), "--kubeconfig="+os.Getenv("FIRESTEEL_E2E_KUBECONFIG")
	b.start(ctx, "volcano-controllers", filepath.Join(dir, "controller-manager"), nil, config, "--leader-elect=false",
		"--controllers=pg-controller,queue-controller", "--listen-address=127.0.0.1:18081", "--healthz-address=127.0.0.1:18082")
	b.start(ctx, "volcano-scheduler", filepath.Join(dir, "scheduler"), nil, config, "--leader-elect=false", "--schedule-period=500ms",
		"--scheduler-conf="+filepath.Join(schedulerConfigs, "volcano.yaml"), "--listen-address=127.0.0.1:18083", "--cache-dumper=false", "--priority-class=true")
}

func (b *externalSchedulers) startYuniKorn(ctx context.Context) {
	GinkgoHelper()
	kubectl("apply", "--server-side", "-f", filepath.Join("testdata", "yunikorn.yaml"))
	b.start(ctx, "yunikorn", filepath.Join(tool(ctx, "yunikorn"), "shim"), []string{"NAMESPACE=yunikorn"})
	Eventually(func() string { return yunikorn(ctx, "queue/root.spark.team-y") }, installWait, poll).Should(ContainSubstring(`"status":"Active"`))
}

// yunikorn asks YuniKorn's REST API, which is on a fixed port. The answer is empty as long as it does not answer.
func yunikorn(ctx context.Context, path string) string {
	transport := &http.Transport{DisableKeepAlives: true}
	if ns := os.Getenv("FIRESTEEL_E2E_NETNS"); ns != "" {
		transport.DialContext = dialIn(ns)
	}
	question, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://127.0.0.1:9080/ws/v1/partition/default/"+path, http.NoBody)
	Expect(err).NotTo(HaveOccurred())
	answer, err := (&http.Client{Transport: transport, Timeout: 5 * time.Second}).Do(question)
	if err != nil {
		return ""
	}
	defer func() { _ = answer.Body.Close() }()
	var text strings.Builder
	if err := answer.Write(&text); err != nil {
		return ""
	}
	return text.String()
}

// startCoscheduling installs its API, too.
func (b *externalSchedulers) startCoscheduling(ctx context.Context) {
	GinkgoHelper()
	kubectl(append([]string{"apply", "--server-side"}, coschedulingAPI(ctx)...)...)
	dir, kubeconfig := tool(ctx, "scheduler-plugins"), os.Getenv("FIRESTEEL_E2E_KUBECONFIG")
	text, err := os.ReadFile(filepath.Join(schedulerConfigs, "scheduler-plugins.yaml"))
	Expect(err).NotTo(HaveOccurred())
	path := filepath.Join(b.logs, "scheduler-plugins.yaml")
	Expect(os.WriteFile(path, []byte(strings.ReplaceAll(string(text), "KUBECONFIG", kubeconfig)), 0o600)).To(Succeed())
	b.start(ctx, "coscheduling-controller", filepath.Join(dir, "controller"), nil,
		"--kubeconfig="+kubeconfig, "--metricsAddr=127.0.0.1:0", "--probeAddr=127.0.0.1:0", "--enableLeaderElection=false")
	b.start(ctx, "coscheduling-scheduler", filepath.Join(dir, "scheduler"), nil, "--config="+path, "--bind-address=127.0.0.1", "--secure-port=18084",
		"--cert-dir="+b.logs, "--authentication-kubeconfig="+kubeconfig, "--authorization-kubeconfig="+kubeconfig, "--authentication-skip-lookup")
}

// untilTold is an application with an executor that runs as long as a spec looks at it; see signal.
const untilTold = `import os, time
from pyspark.sql import SparkSession
SparkSession.builder.getOrCreate().sparkContext.parallelize(range(10), 2).sum()
while not os.path.exists('/tmp/end'):
    time.sleep(0.1)
print('Pi is roughly 3.14')
`

// through chooses an application's scheduler and queue.
func through(app *v1beta2.SparkApplication, scheduler, queue string) *v1beta2.SparkApplication {
	app.Spec.BatchScheduler = ptr.To(scheduler)
	if queue != "" {
		app.Spec.BatchSchedulerOptions = &v1beta2.BatchSchedulerConfiguration{Queue: ptr.To(queue)}
	}
	return app
}

// object makes an object of a scheduler's. It goes with its namespace, or else when the spec is over: specs may be tried again.
func object(ctx context.Context, kind schema.GroupVersionKind, namespace, name string, spec map[string]any) {
	GinkgoHelper()
	u := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	u.SetGroupVersionKind(kind)
	u.SetNamespace(namespace)
	u.SetName(name)
	Eventually(func() error { return admin.Create(ctx, u) }, reasonWait, poll).Should(Succeed()) // its API may be new
	if namespace == "" {
		DeferCleanup(func() { Expect(client.IgnoreNotFound(admin.Delete(context.Background(), u))).To(Succeed()) })
	}
}

// groupOf is the group of the application's first attempt. It has the name that the status has.
func groupOf(ctx context.Context, app *v1beta2.SparkApplication, kind schema.GroupVersionKind) (*unstructured.Unstructured, error) {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(kind)
	s := statusOf(ctx, app).Scheduling
	if s == nil {
		return u, apierrors.NewNotFound(schema.GroupResource{Group: kind.Group, Resource: kind.Kind}, app.Name)
	}
	return u, admin.Get(ctx, client.ObjectKey{Namespace: app.Namespace, Name: strings.TrimPrefix(s.Group, kind.Kind+" ")}, u)
}

// freeWord begins what a sentence says of free resources.
const freeWord = ", free "

// anyFree is a pattern for a sentence, whatever amount it says is free, and reserved for pods that a quota does not count yet: that is read at
// each look, while pods come and go.
func anyFree(sentence string) string {
	return regexp.MustCompile(freeWord+`\S+ of (\S+)`).ReplaceAllString(regexp.QuoteMeta(sentence), freeWord+`\S+ of $1(?:, reserved \S+ for others)?`)
}

// countEvents counts how often an application's events have a message. An event is recorded at the first word of a wait: how
// much is free may be another number by then.
func countEvents(ctx context.Context, app *v1beta2.SparkApplication, sentence string) int {
	GinkgoHelper()
	list, err := clientset.EventsV1().Events(app.Namespace).List(ctx, metav1.ListOptions{})
	Expect(err).NotTo(HaveOccurred())
	said, _, _ := strings.Cut(sentence, freeWord)
	if said == "" {
		return 0
	}
	times := 0
	for i := range list.Items {
		if e := &list.Items[i]; e.Regarding.Name == app.Name && e.Regarding.Kind == "SparkApplication" && strings.HasPrefix(e.Note, said) {
			if times++; e.Series != nil {
				times = int(e.Series.Count)
			}
		}
	}
	return times
}
