// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"github.com/firesteel-dev/firesteel/internal/controller"
	"github.com/firesteel-dev/firesteel/internal/scheduler/coscheduling"
	"github.com/firesteel-dev/firesteel/internal/testutil/testrun"
	"github.com/firesteel-dev/firesteel/test/definitions"
)

// The operator as a process: what is proven here needs a real binary that really crashes.
var _ = Describe("The operator as a process", Ordered, func() {
	l := &lab{}
	BeforeAll(func(ctx SpecContext) { l.start(ctx) })
	killed(l)
	cutOff(l)
	serving(l)
	leading(l)
})

// lab is an API server that no other operator knows, with its audit log, and the operator's binary.
type lab struct {
	client     client.WithWatch
	pods       kubernetes.Interface
	binary     string
	kubeconfig string
	audit      string
	namespaces int
}

const auditPolicy = "apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]\nrules: [{level: Metadata}]\n"

func (l *lab) start(ctx context.Context) {
	GinkgoHelper()
	dir := GinkgoT().TempDir()
	l.kubeconfig, l.audit = filepath.Join(dir, "kubeconfig"), filepath.Join(dir, "audit.log")
	policy := filepath.Join(dir, "policy.yaml")
	Expect(os.WriteFile(policy, []byte(auditPolicy), 0o600)).To(Succeed())
	built := make(chan error, 1)
	go func() {
		var err error
		l.binary, err = testrun.Program(ctx, filepath.Join("..", ".."), dir, testrun.Operator)
		built <- err
	}()
	groups, err := definitions.SchedulerPlugins.Paths(ctx, filepath.Join("..", ".."))
	Expect(err).NotTo(HaveOccurred())
	env := &envtest.Environment{CRDDirectoryPaths: append(groups, filepath.Join("..", "..", "config", "crd", "bases")), ErrorIfCRDPathMissing: true}
	env.ControlPlane.GetAPIServer().Configure().Append("audit-log-path", l.audit).Append("audit-policy-file", policy)
	cfg, err := env.Start()
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { Expect(env.Stop()).To(Succeed()) })
	user, err := env.AddUser(envtest.User{Name: "operator"}, cfg)
	Expect(err).NotTo(HaveOccurred())
	kubeconfig, err := user.KubeConfig()
	Expect(err).NotTo(HaveOccurred())
	Expect(os.WriteFile(l.kubeconfig, kubeconfig, 0o600)).To(Succeed())
	cfg = rest.CopyConfig(cfg)
	cfg.QPS = -1
	l.client, err = client.NewWithWatch(cfg, client.Options{Scheme: controller.Scheme()})
	Expect(err).NotTo(HaveOccurred())
	l.pods, err = kubernetes.NewForConfig(cfg)
	Expect(err).NotTo(HaveOccurred())
	l.permit(ctx)
	Eventually(built, 5*time.Minute).Should(Receive(BeNil()), "the operator is built")
}

// leaseNamespace is where the operator is installed.
const leaseNamespace = "spark-operator"

// permit gives the operator the rights that it is installed with, and no others.
func (l *lab) permit(ctx context.Context) {
	GinkgoHelper()
	Expect(l.client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: leaseNamespace}})).To(Succeed())
	who := []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "operator"}}
	var cluster rbacv1.ClusterRole
	var own rbacv1.Role
	for file, role := range map[string]client.Object{"role.yaml": &cluster, "leader_election_role.yaml": &own} {
		text, err := os.ReadFile(filepath.Join("..", "..", "config", "rbac", file))
		Expect(err).NotTo(HaveOccurred())
		Expect(yaml.UnmarshalStrict(text, role)).To(Succeed())
		Expect(l.client.Create(ctx, role)).To(Succeed())
	}
	groups := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "groups"}, Rules: coscheduling.New("").Describe().Rules}
	Expect(l.client.Create(ctx, groups)).To(Succeed())
	for _, role := range []string{cluster.Name, groups.Name} {
		Expect(l.client.Create(ctx, &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: role}, Subjects: who,
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		})).To(Succeed())
	}
	Expect(l.client.Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: leaseNamespace, Name: "operator"}, Subjects: who,
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: own.Name},
	})).To(Succeed())
}

func (l *lab) namespace(ctx SpecContext) string {
	GinkgoHelper()
	l.namespaces++
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("lab-%d", l.namespaces)}}
	Expect(l.client.Create(ctx, ns)).To(Succeed())
	return ns.Name
}

// requests counts what the operators have asked, by verb, resource and answer, such as "create pods 201".
func (l *lab) requests() map[string]int {
	GinkgoHelper()
	text, err := os.ReadFile(l.audit)
	Expect(err).NotTo(HaveOccurred())
	counts, seen := map[string]int{}, map[string]bool{}
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e struct {
			AuditID, Verb, UserAgent string
			ObjectRef                struct{ Resource, Subresource string }
			ResponseStatus           struct{ Code int }
		}
		if json.Unmarshal(lines.Bytes(), &e) != nil || seen[e.AuditID] || !strings.HasPrefix(e.UserAgent, "spark-operator") {
			continue // a watch has a line for its beginning and one for its end
		}
		seen[e.AuditID] = true
		counts[strings.TrimSuffix(e.Verb+" "+e.ObjectRef.Resource+"/"+e.ObjectRef.Subresource, "/")+fmt.Sprintf(" %d", e.ResponseStatus.Code)]++
	}
	return counts
}

// operator is a process, or one after the other.
type operator struct {
	lab    *lab
	config string
	// kubeconfig is the lab's, or one that leads through a network.
	kubeconfig string
	cmd        *exec.Cmd
	log        *journal
}

// operator writes a configuration for the namespace; the process is not started.
func (l *lab) operator(namespace, settings string) *operator {
	GinkgoHelper()
	path := filepath.Join(GinkgoT().TempDir(), "config.yaml")
	text := "apiVersion: config.firesteel.dev/v1alpha1\nkind: OperatorConfiguration\nmetrics: {bindAddress: \"0\"}\nhealth: {bindAddress: \"0\"}\n" +
		"namespaces: [" + namespace + "]\n" + settings + "\n"
	Expect(os.WriteFile(path, []byte(text), 0o600)).To(Succeed())
	return &operator{lab: l, config: path, kubeconfig: l.kubeconfig}
}

func (o *operator) start() error {
	o.log = &journal{}
	o.cmd = exec.CommandContext(context.Background(), o.lab.binary, "--config="+o.config)
	o.cmd.Env = append(os.Environ(), "KUBECONFIG="+o.kubeconfig)
	o.cmd.Stdout, o.cmd.Stderr = o.log, o.log
	if err := o.cmd.Start(); err != nil {
		return fmt.Errorf("start operator: %w", err)
	}
	return nil
}

// end sends a signal and waits for the process's end. It is an error if it has ended before.
func (o *operator) end(signal syscall.Signal) error {
	if o.cmd == nil {
		return nil
	}
	failed := o.cmd.Process.Signal(signal)
	late := time.AfterFunc(wait, func() { _ = o.cmd.Process.Kill() })
	err := o.cmd.Wait()
	o.cmd = nil
	switch {
	case !late.Stop():
		return fmt.Errorf("the operator did not end within %s of %s: %s", wait, signal, o.log)
	case failed != nil:
		return fmt.Errorf("the operator ended unexpectedly: %w: %s", err, o.log)
	case err != nil && signal != syscall.SIGKILL:
		return fmt.Errorf("%w: %s", err, o.log)
	}
	return nil
}

// says waits for a text in the log.
func (o *operator) says(text string) {
	GinkgoHelper()
	Eventually(o.log.String, wait, 5*time.Millisecond).Should(ContainSubstring(text))
}

// journal keeps what a process writes.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

// publish writes numbers for the test runner to print, in one line.
func publish(name, format string, args ...any) {
	GinkgoHelper()
	line := fmt.Sprintf(format, args...)
	GinkgoWriter.Println(line)
	testrun.Publish(GinkgoTB(), name, line)
}
