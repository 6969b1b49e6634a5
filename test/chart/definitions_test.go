// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/firesteel-dev/firesteel/test/definitions"
)

const applications = "sparkapplications.sparkoperator.k8s.io"

// cluster is an API server without a definition, and the programs of an administrator.
type cluster struct {
	*testing.T
	client                    client.Client
	helm, kubectl, kubeconfig string
	// older is a copy of the chart whose definition of SparkApplication lacks fields: an earlier release.
	older string
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	needsServer(t)
	logf.SetLogger(zap.New(zap.WriteTo(io.Discard)))
	server := &envtest.Environment{ControlPlaneStartTimeout: 2 * time.Minute, ControlPlaneStopTimeout: time.Minute}
	cfg, err := server.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	user, err := server.AddUser(envtest.User{Name: "admin", Groups: []string{"system:masters"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := user.KubeConfig()
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{T: t, helm: tool(t, "helm", "helm"), kubectl: tool(t, "kubernetes", "kubectl"), kubeconfig: filepath.Join(t.TempDir(), "kubeconfig")}
	if err := os.WriteFile(c.kubeconfig, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if c.client, err = client.New(cfg, client.Options{}); err != nil {
		t.Fatal(err)
	}
	if err := c.client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
		t.Fatal(err)
	}
	c.older = olderChart(t)
	return c
}

// olderChart has a definition of SparkApplication without the field spec.suspend.
func olderChart(t *testing.T) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "spark-operator")
	if err := os.CopyFS(folder, os.DirFS(chartPath)); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(folder, "files/crds/sparkoperator.k8s.io_sparkapplications.yaml")
	crd := &unstructured.Unstructured{Object: valuesOf(t, file)}
	version := crd.Object["spec"].(map[string]any)["versions"].([]any)[0].(map[string]any)
	unstructured.RemoveNestedField(version, "schema", "openAPIV3Schema", "properties", "spec", "properties", "suspend")
	if err := os.WriteFile(file, []byte(toJSON(t, crd.Object)), 0o600); err != nil {
		t.Fatal(err)
	}
	return folder
}

// do runs helm or kubectl in the cluster.
func (c *cluster) do(program string, args ...string) string {
	c.Helper()
	out, err := run(c.T, program, append(args, "--kubeconfig", c.kubeconfig, "-n", namespace)...)
	if err != nil {
		c.Fatalf("%s %s: %v\n%s", filepath.Base(program), strings.Join(args, " "), err, out)
	}
	return out
}

// upgrade installs or upgrades a release, without a flag, and returns its notes.
func (c *cluster) upgrade(name, chart string, flags ...string) string {
	c.Helper()
	c.do(c.helm, append([]string{"upgrade", "--install", name, chart}, flags...)...)
	return c.do(c.helm, "get", "notes", name)
}

// definition returns a definition, nil if there is none.
func (c *cluster) definition(ctx context.Context, name string) *unstructured.Unstructured {
	c.Helper()
	o := &unstructured.Unstructured{}
	o.SetAPIVersion("apiextensions.k8s.io/v1")
	o.SetKind("CustomResourceDefinition")
	if err := c.client.Get(ctx, client.ObjectKey{Name: name}, o); client.IgnoreNotFound(err) != nil {
		c.Fatal(err)
	} else if err != nil {
		return nil
	}
	return o
}

// deleteDefinitions deletes all definitions, without the API server's search for objects of theirs, of which there are none: on a busy machine it
// tries again and again for minutes.
func (c *cluster) deleteDefinitions() {
	c.Helper()
	c.do(c.kubectl, "delete", "crd", "--all", "--wait=false")
	all := &unstructured.UnstructuredList{}
	all.SetAPIVersion("apiextensions.k8s.io/v1")
	all.SetKind("CustomResourceDefinitionList")
	if err := c.client.List(c.Context(), all); err != nil {
		c.Fatal(err)
	}
	for i := range all.Items {
		err := c.client.Patch(c.Context(), &all.Items[i], client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))
		if client.IgnoreNotFound(err) != nil {
			c.Fatal(err)
		}
	}
}

// suspends reports whether the definition of SparkApplication has the field that the older one lacks.
func (c *cluster) suspends() bool {
	c.Helper()
	return strings.Contains(toJSON(c.T, c.definition(c.Context(), applications).Object), `"suspend":{`)
}

func (c *cluster) says(text string, want ...string) {
	c.Helper()
	for _, w := range want {
		if !strings.Contains(text, w) {
			c.Errorf("it does not say %q:\n%s", w, text)
		}
	}
}

func (c *cluster) lacks(text string, unwanted ...string) {
	c.Helper()
	for _, u := range unwanted {
		if strings.Contains(text, u) {
			c.Errorf("it says %q:\n%s", u, text)
		}
	}
}

// apply is the command of the notes.
func (c *cluster) apply(notes string) {
	c.Helper()
	_, command, found := strings.Cut(notes, "it deletes no object:\n\n")
	if !found {
		c.Fatalf("no command in the notes:\n%s", notes)
	}
	command = strings.TrimSpace(strings.SplitN(command, "\n", 2)[0])
	words := strings.NewReplacer("helm ", c.helm+" ", "CHART", chartPath, "kubectl apply", c.kubectl+" apply --kubeconfig "+c.kubeconfig)
	if out, err := run(c.T, "sh", "-c", words.Replace(command)); err != nil {
		c.Fatalf("%s: %v\n%s", command, err, out)
	}
}

// TestDefinitions installs over definitions of whoever applied them. Each step goes on where the one before has ended.
func TestDefinitions(t *testing.T) {
	c := newCluster(t)
	for _, step := range []struct {
		name, reason string
		run          func(*cluster)
	}{
		{"Own", "what a release has installed it upgrades, and leaves when it goes", own},
		{"Replaced", "an upgrade keeps definitions that someone has replaced, and their objects", replaced},
		{"Second", "a second release leaves those of the first alone", second},
		{"Kubectl", "what kubectl has applied stays as it is; when it is older, the notes have the command", applied},
		{"Kubeflow", "a switch begins with Kubeflow's definitions, the third of which is none of ours", kubeflows},
		{"Unchecked", "someone who may not read definitions has them installed by others", unchecked},
	} {
		ok := t.Run(step.name, func(t *testing.T) {
			at := *c
			at.T = t
			step.run(&at)
		})
		if !ok {
			t.Fatal(step.reason)
		}
	}
}

func own(c *cluster) {
	c.Helper()
	c.lacks(c.upgrade(release, c.older), "exists already")
	if c.suspends() {
		c.Fatal("the older chart has the field")
	}
	c.lacks(c.upgrade(release, chartPath), "exists already")
	if !c.suspends() {
		c.Error("the upgrade did not upgrade the definition")
	}
	c.do(c.helm, "uninstall", release)
	if c.definition(c.Context(), applications) == nil {
		c.Fatal("the definition went with the release, and all applications with it")
	}
}

func replaced(c *cluster) {
	c.Helper()
	c.upgrade(release, c.older) // of the same name: its definitions are its own again
	c.do(c.kubectl, "replace", "-f", filepath.Join(c.older, "files/crds"))
	if marks := c.definition(c.Context(), applications).GetAnnotations(); marks["helm.sh/resource-policy"] != "" {
		c.Fatalf("kubectl replace left the marks: %v", marks)
	}
	before := c.definition(c.Context(), applications).GetUID()
	c.lacks(c.upgrade(release, chartPath, "--force-conflicts"), "exists already")
	after := c.definition(c.Context(), applications)
	if after == nil || after.GetUID() != before || after.GetAnnotations()["helm.sh/resource-policy"] != "keep" || !c.suspends() {
		c.Errorf("the definition was %s, and is now %s", before, after.GetUID())
	}
}

func second(c *cluster) {
	c.Helper()
	c.do(c.kubectl, "create", "namespace", "team-b")
	notes := c.upgrade("beta", chartPath, "--set", "spark.jobNamespaces={team-b}", "--set-json",
		`controller.featureGates=[{"name":"DefaultTimeToLive","enabled":true},{"name":"RestSubmitter","enabled":false},{"name":"News","enabled":true}]`)
	c.says(notes, "feature gate DefaultTimeToLive does not exist here: set controller.defaultTimeToLiveSeconds.")
	c.says(notes, "feature gate News does not exist here: it is of Kubeflow's operator, and ignored.")
	c.lacks(notes, "RestSubmitter")
	c.says(notes, "definition "+applications+" exists already and is not of this release")
	c.lacks(notes, "older than")
	c.lacks(c.do(c.helm, "get", "manifest", "beta"), "kind: CustomResourceDefinition")
	c.do(c.helm, "uninstall", "beta")
	c.do(c.helm, "uninstall", release)
	c.deleteDefinitions()
}

func applied(c *cluster) {
	c.Helper()
	c.do(c.kubectl, "apply", "-f", filepath.Join(c.older, "files/crds")) // as GitOps set-ups do
	notes := c.upgrade(release, chartPath)
	c.says(notes, "definition scheduledsparkapplications.sparkoperator.k8s.io exists already and is not of this release",
		"older than this chart needs. The API server drops a field that it lacks: spec.suspend\n", "Update it, with CHART")
	c.says(c.upgrade(release, chartPath, "--set", "controller.workers=3"), "older than")
	if c.suspends() {
		c.Error("the chart has changed what is not its own")
	}
	c.apply(notes)
	if !c.suspends() {
		c.Error("the command of the notes does not update the definition")
	}
	notes = c.upgrade(release, chartPath)
	c.says(notes, "exists already")
	c.lacks(notes, "older than")
	c.do(c.helm, "uninstall", release)
	c.deleteDefinitions()
}

func kubeflows(c *cluster) {
	c.Helper()
	files, err := definitions.Kubeflow.Paths(c.Context(), root)
	if err != nil {
		c.Fatal(err)
	}
	for _, file := range files {
		c.do(c.kubectl, "create", "-f", file) // as Helm does with the folder crds of their chart
	}
	const connects = "sparkconnects.sparkoperator.k8s.io"
	before := c.definition(c.Context(), connects)
	notes := c.upgrade(release, chartPath, "-f", valuesFile(c.T, toJSON(c.T, kubeflowValues(c.T))))
	c.says(notes, "definition "+applications+" exists already", "definition "+connects+" exists already", "fields that it lacks: spec.", "Update them, with CHART")
	if found := c.definition(c.Context(), connects); found == nil || !cmp.Equal(found.Object["spec"], before.Object["spec"]) {
		c.Error("the definition of SparkConnect was touched before anybody said so")
	}
	c.apply(notes)
	c.lacks(c.upgrade(release, chartPath), "older than")
	if after := c.definition(c.Context(), connects); after == nil || after.GetUID() != before.GetUID() || cmp.Equal(after.Object["spec"], before.Object["spec"]) {
		c.Error("the command of the notes does not update the definition of SparkConnect in place")
	}
	c.do(c.helm, "uninstall", release)
}

func unchecked(c *cluster) {
	c.Helper()
	c.lacks(c.upgrade(release, chartPath, "--set", "crds.install=false"), "exists already")
	c.do(c.helm, "uninstall", release)
	if c.definition(c.Context(), applications) == nil {
		c.Error("the definition is gone")
	}
}
