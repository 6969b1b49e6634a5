// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	yamlstream "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/yaml"

	"github.com/firesteel-dev/firesteel/internal/controller"
	"github.com/firesteel-dev/firesteel/internal/testutil/ports"
	"github.com/firesteel-dev/firesteel/internal/testutil/testrun"
)

const (
	root = "../.."
	// wait bounds each wait.
	wait = 30 * time.Second
	poll = 50 * time.Millisecond
	// installed is the operator's own namespace, bystanders that of those who attack nobody.
	installed  = "spark-operator"
	bystanders = "bystander"
	// operatorUser is who the operator is to the API server.
	operatorUser = "operator"
)

// auditPolicy writes down what order is judged by, and nothing of what attackers do.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- {level: Metadata, users: [` + operatorUser + `], verbs: [create, patch, delete]}
- {level: Metadata, namespaces: [` + bystanders + `], verbs: [create]}
- {level: None}
`

// editable are the kinds that tenants may edit, as their roles are called.
var editable = []string{"sparkapplication", "scheduledsparkapplication", "sparkconnect", "apache-sparkapplication"}

// installation is how the operator is installed.
type installation struct {
	name string
	// values are files of testdata, beside policies.yaml.
	values   []string
	hardened bool
}

// hardenedSays are what attackers hear of the hardened chart in other words than of the default one.
var hardenedSays = []string{`operator policy "hardened"`, "ValidatingAdmissionPolicy", "Ingresses are disabled in the operator's configuration"}

// lab is an API server and the operator.
type lab struct {
	installation
	dir    string
	config *rest.Config
	// admin reads what there is, and plays the kubelet.
	admin client.Client
	chart chart
	// files of the operator
	binary, configFile, kubeconfig, audit string
	metrics, health                       string
	group                                 *group
	operator                              *process
	starts, bystanders, made              int
	// begun is where the audit log of the round begins.
	begun int64
	// peaks are the most memory by attack or round.
	peaks map[string]int64
}

func newLab(t *testing.T, how installation, namespaces []string) *lab {
	t.Helper()
	logf.SetLogger(logr.Discard())
	l := &lab{installation: how, dir: t.TempDir(), peaks: map[string]int64{}}
	l.audit = filepath.Join(l.dir, "audit.log")
	l.chart = render(t, how, append([]string{bystanders}, namespaces...))
	l.group = newGroup(t, l.chart.memory)
	built := make(chan error, 1)
	go func() {
		var err error
		l.binary, err = testrun.Program(t.Context(), root, l.dir, testrun.Operator)
		built <- err
	}()
	l.serve(t)
	l.install(t)
	l.create(t, l.chart.policies...)
	for _, namespace := range append([]string{bystanders}, namespaces...) {
		l.namespace(t, namespace)
	}
	if err := <-built; err != nil {
		t.Fatal(err)
	}
	if err := l.judged(t.Context()); err != nil {
		t.Fatalf("the API server does not apply the chart's policies: %v", err)
	}
	l.start(t)
	t.Cleanup(func() { l.operator.stop() })
	return l
}

// serve starts the API server, with an audit log.
func (l *lab) serve(t *testing.T) {
	t.Helper()
	policy := filepath.Join(l.dir, "policy.yaml")
	write(t, policy, auditPolicy)
	env := &envtest.Environment{CRDDirectoryPaths: []string{filepath.Join(root, "config", "crd", "bases")}, ErrorIfCRDPathMissing: true}
	env.ControlPlane.GetAPIServer().Configure().
		Append("audit-log-path", l.audit).Append("audit-policy-file", policy).Append("audit-log-maxsize", "10000") // a log that turns has lost its beginning: by default after 100 MB
	cfg, err := env.Start()
	if err != nil {
		t.Fatalf("start API server: %v", err)
	}
	t.Cleanup(func() {
		if err := env.Stop(); err != nil {
			t.Error(err)
		}
	})
	user, err := env.AddUser(envtest.User{Name: operatorUser}, cfg)
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig, err := user.KubeConfig()
	if err != nil {
		t.Fatal(err)
	}
	l.kubeconfig = filepath.Join(l.dir, "kubeconfig")
	write(t, l.kubeconfig, string(kubeconfig))
	l.config = rest.CopyConfig(cfg)
	l.config.QPS = -1
	if l.admin, err = client.New(l.config, client.Options{Scheme: controller.Scheme()}); err != nil {
		t.Fatal(err)
	}
}

// install gives the operator its rights and its configuration, which is the chart's but for addresses of this machine.
func (l *lab) install(t *testing.T) {
	t.Helper()
	l.create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: installed}})
	var cluster rbacv1.ClusterRole
	var own rbacv1.Role
	read(t, "config/rbac/role.yaml", &cluster)
	read(t, "config/rbac/leader_election_role.yaml", &own)
	own.Namespace = installed
	who := []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: operatorUser}}
	for _, name := range []string{"apache", "apache-routes"} {
		var more rbacv1.ClusterRole
		readFirst(t, "config/rbac/families/"+name+".yaml", &more)
		cluster.Rules = append(cluster.Rules, more.Rules...)
	}
	l.create(t, &cluster, &own)
	l.create(t,
		&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: operatorUser}, Subjects: who, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: cluster.Name}},
		&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: installed, Name: operatorUser}, Subjects: who, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: own.Name}},
	)
	for _, kind := range editable {
		var role rbacv1.ClusterRole
		read(t, "charts/spark-operator/files/user-roles/"+strings.ReplaceAll(kind, "-", "_")+"_editor_role.yaml", &role)
		l.create(t, &role)
	}
	l.metrics, l.health = fmt.Sprintf("127.0.0.1:%d", ports.ForTest(t)), fmt.Sprintf("127.0.0.1:%d", ports.ForTest(t))
	section(l.chart.config, "metrics")["bindAddress"] = l.metrics
	section(l.chart.config, "health")["bindAddress"] = l.health
	section(l.chart.config, "leaderElection")["namespace"] = installed
	text, err := yaml.Marshal(l.chart.config)
	if err != nil {
		t.Fatal(err)
	}
	l.configFile = filepath.Join(l.dir, "config.yaml")
	write(t, l.configFile, string(text))
}

// namespace creates a namespace, its tenant and the service account of its drivers.
func (l *lab) namespace(t *testing.T, name string) {
	t.Helper()
	l.create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: "spark"}})
	bind := func(who actor, kind, role string) {
		l.create(t, &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: string(who) + "-" + role},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: who.user(name)}},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: role},
		})
	}
	for _, kind := range editable {
		bind(tenant, "ClusterRole", kind+"-editor-role")
	}
	var role rbacv1.Role
	read(t, "config/rbac/spark-driver/role.yaml", &role)
	role.Namespace = name
	l.create(t, &role)
	bind(driverCode, "Role", role.Name)
}

// user is who an actor is to the API server.
func (who actor) user(namespace string) string {
	if who == driverCode {
		return "system:serviceaccount:" + namespace + ":spark"
	}
	return string(who) + "-of-" + namespace
}

func (l *lab) create(t *testing.T, objects ...client.Object) {
	t.Helper()
	for _, o := range objects {
		if err := l.admin.Create(t.Context(), o); err != nil {
			t.Fatalf("create %T %s: %v", o, o.GetName(), err)
		}
	}
}

// publish writes numbers for the test runner to print, in one line.
func (l *lab) publish(t *testing.T, what string) {
	t.Helper()
	worst := ""
	for name, peak := range l.peaks {
		if c := cmp.Compare(peak, l.peaks[worst]); c > 0 || c == 0 && name < worst {
			worst = name
		}
	}
	line := fmt.Sprintf("%s: %d attacks were made, %s; the operator's own memory was at most %d MiB of %d MiB (%s)", l.name, l.made, what, l.peaks[worst]>>20, l.group.limit>>20, worst)
	t.Log(line)
	testrun.Publish(t, "hostile-"+l.name, line)
}

// chart is what the chart renders for the controller.
type chart struct {
	config map[string]any
	args   []string
	env    []string
	memory int64
	// policies are its admission policies and their bindings.
	policies []client.Object
}

// render renders the chart as it is installed for these namespaces, with the policies of the test.
func render(t *testing.T, how installation, namespaces []string) chart {
	t.Helper()
	tool := exec.CommandContext(t.Context(), root+"/hack/tools/build.sh", "helm")
	dir, err := tool.Output()
	if err != nil {
		t.Fatalf("build helm: %v", err)
	}
	values := filepath.Join(t.TempDir(), "values.yaml")
	write(t, values, "apache: {enable: true}\nspark: {jobNamespaces: ["+strings.Join(namespaces, ", ")+"]}\n")
	helm := exec.CommandContext(t.Context(), filepath.Join(strings.TrimSpace(string(dir)), "helm"),
		"template", "spark-operator", root+"/charts/spark-operator", "-n", installed, "-f", values, "-f", filepath.Join("testdata", "policies.yaml"))
	for _, name := range how.values {
		helm.Args = append(helm.Args, "-f", filepath.Join("testdata", name))
	}
	for _, kind := range []string{"ValidatingAdmissionPolicy", "MutatingAdmissionPolicy"} {
		helm.Args = append(helm.Args, "--api-versions", "admissionregistration.k8s.io/v1/"+kind)
	}
	text, err := helm.Output()
	if err != nil {
		var failed *exec.ExitError
		if errors.As(err, &failed) {
			t.Fatalf("helm template: %s", failed.Stderr)
		}
		t.Fatalf("helm template: %v", err)
	}
	var c chart
	const controllerName = "spark-operator-controller"
	var config corev1.ConfigMap
	var deployment appsv1.Deployment
	documents := yamlstream.NewYAMLOrJSONDecoder(strings.NewReader(string(text)), 4096)
	for {
		var object map[string]any
		if err := documents.Decode(&object); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if kind := fmt.Sprint(object["kind"]); strings.Contains(kind, "AdmissionPolicy") {
			c.policies = append(c.policies, &unstructured.Unstructured{Object: object})
		}
		into := map[string]any{"ConfigMap " + controllerName + "-config": &config, "Deployment " + controllerName: &deployment}
		name := section(object, "metadata")["name"]
		if o := into[fmt.Sprint(object["kind"], " ", name)]; o != nil {
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object, o); err != nil {
				t.Fatal(err)
			}
		}
	}
	if config.Data == nil || len(deployment.Spec.Template.Spec.Containers) == 0 {
		t.Fatalf("the chart renders no %s", controllerName)
	}
	container := deployment.Spec.Template.Spec.Containers[0]
	c.memory = container.Resources.Limits.Memory().Value()
	if err := yaml.Unmarshal([]byte(config.Data["config.yaml"]), &c.config); err != nil {
		t.Fatal(err)
	}
	c.args = slices.DeleteFunc(slices.Clone(container.Args), func(arg string) bool { return strings.HasPrefix(arg, "--config=") })
	fields := map[string]string{"metadata.namespace": installed, "metadata.name": controllerName}
	for _, e := range container.Env {
		if f := e.ValueFrom; f != nil && f.FieldRef != nil {
			e.Value = fields[f.FieldRef.FieldPath]
		}
		c.env = append(c.env, e.Name+"="+e.Value)
	}
	return c
}

// section is an object in an object, which is made if there is none.
func section(of map[string]any, name string) map[string]any {
	in, ok := of[name].(map[string]any)
	if !ok {
		in = map[string]any{}
		of[name] = in
	}
	return in
}

func read(t *testing.T, path string, into client.Object) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(text, into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// readFirst reads the first of several objects, behind the comment that says who wrote them.
func readFirst(t *testing.T, path string, into client.Object) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	_, first, _ := strings.Cut(string(text), "---\n")
	first, _, _ = strings.Cut(first, "---\n")
	if err := yaml.UnmarshalStrict([]byte(first), into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// final is an error that no waiting changes.
type final struct{ error }

// await calls a function until it returns no error, and returns the last one when the time is over.
func await(ctx context.Context, check func() error) error { return awaitFor(ctx, wait, check) }

func awaitFor(ctx context.Context, wait time.Duration, check func() error) error {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	ticker := time.NewTicker(poll)
	defer ticker.Stop()
	for {
		err := check()
		var last final
		if err == nil || errors.As(err, &last) {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("after %s: %w", wait, err)
		case <-ticker.C:
		}
	}
}
