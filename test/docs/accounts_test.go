// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"github.com/firesteel-dev/firesteel/internal/testutil/testrun"
	"github.com/firesteel-dev/firesteel/test/docs/markdown"
)

// Each manifest of README, pages and samples, applied as it is on a cluster on which the chart is installed with its defaults, gets its driver pod:
// nobody must make a service account before the first job. An API server that looks for the accounts of pods is one of its own.
func TestManifestsFindTheirAccounts(t *testing.T) {
	needsServer(t)
	all := manifests(t)
	if len(all) < 10 {
		t.Fatalf("only %d manifests were found: the test does not see what it should", len(all))
	}
	admin := installedByChart(t)
	for i, o := range all {
		o.SetName(fmt.Sprintf("m-%d", i))
		o.SetNamespace(metav1.NamespaceDefault)
		var refused error
		if err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, startWait, true, func(ctx context.Context) (bool, error) {
			refused = admin.Create(ctx, o.DeepCopy()) // definitions are served a moment after they are made
			return refused == nil, nil
		}); err != nil {
			t.Fatalf("%s: %v", o.GetAnnotations()["from"], refused)
		}
	}
	for _, o := range all {
		var last string
		err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, startWait/2, true, func(ctx context.Context) (bool, error) {
			var pods corev1.PodList
			if err := admin.List(ctx, &pods, client.InNamespace(metav1.NamespaceDefault)); err != nil {
				return false, err
			}
			for _, p := range pods.Items {
				if strings.HasPrefix(p.Name, o.GetName()+"-") {
					return true, nil
				}
			}
			now := o.DeepCopy()
			err := admin.Get(ctx, client.ObjectKeyFromObject(o), now)
			last = fmt.Sprint(now.Object["status"])
			return false, err
		})
		if err != nil {
			t.Errorf("%s of %s has no pod: %v: %s", o.GetKind(), o.GetAnnotations()["from"], err, last)
		}
	}
}

// manifests are the applications and servers of pages and samples, and the template of each schedule as an application.
func manifests(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	var all []*unstructured.Unstructured
	add := func(from, text string) {
		var o unstructured.Unstructured
		content, err := yaml.YAMLToJSON([]byte(text)) // it keeps whole numbers that a float cannot
		if err != nil || o.UnmarshalJSON(content) != nil || !strings.HasPrefix(o.GetAPIVersion(), "spark") {
			return
		}
		if o.GetKind() == "ScheduledSparkApplication" {
			template, _, _ := unstructured.NestedMap(o.Object, "spec", "template")
			o.SetKind("SparkApplication")
			o.Object["spec"] = template
		}
		if elsewhere(&o) {
			return
		}
		o.SetAnnotations(map[string]string{"from": from})
		all = append(all, &o)
	}
	var pages []string
	for _, pattern := range []string{"README.md", "docs/*.md", "config/samples/*.yaml"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		must(t, err)
		pages = append(pages, found...)
	}
	for _, name := range pages {
		if filepath.Base(name) == "scheduler-coscheduling.md" {
			continue // its parameters mean nothing before its scheduler is enabled, as the page says
		}
		text, err := os.ReadFile(name)
		must(t, err)
		if strings.HasSuffix(name, ".yaml") {
			for object := range strings.SplitSeq(string(text), "\n---\n") {
				add(name, object)
			}
			continue
		}
		for _, b := range markdown.Blocks(string(text)) {
			add(fmt.Sprintf("%s:%d", name, b.Line), b.Text)
		}
	}
	return all
}

// elsewhere reports whether the pods of an object wait for what this cluster does not have: a scheduler, Kueue, or a controller of StatefulSets.
func elsewhere(o *unstructured.Unstructured) bool {
	scheduler, _, _ := unstructured.NestedString(o.Object, "spec", "batchScheduler")
	suspended, _, _ := unstructured.NestedBool(o.Object, "spec", "suspend")
	return suspended || o.GetKind() == "SparkCluster" || slices.Contains([]string{"volcano", "yunikorn", "coscheduling"}, scheduler)
}

// installedByChart is a cluster with the chart, which has the kinds of spark.apache.org besides its defaults, and with the operator as a process.
func installedByChart(t *testing.T) client.Client {
	t.Helper()
	server := &envtest.Environment{} // the chart installs the definitions
	server.ControlPlane.GetAPIServer().Configure().Disable("disable-admission-plugins")
	w := onServer(t, server)
	helm := exec.CommandContext(t.Context(), filepath.Join(helmFolder(t), "helm"), "install", "spark-operator", filepath.Join(root, "charts", "spark-operator"),
		"-n", "spark-operator", "--create-namespace", "--set", "apache.enable=true")
	helm.Env = append(os.Environ(), w.environment()...)
	said, err := helm.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	// which a controller makes in every namespace
	must(t, w.admin.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "default"}}))
	operate(w)
	return w.admin
}

// operate starts the operator with the configuration that the chart has made, but for its ports and its lease.
func operate(w *harness) {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), buildWait)
	defer cancel()
	program, err := testrun.Program(ctx, root, w.folder, testrun.Operator)
	must(w.T, err)
	var made corev1.ConfigMap
	must(w.T, w.admin.Get(ctx, client.ObjectKey{Namespace: "spark-operator", Name: "spark-operator-controller-config"}, &made))
	var config map[string]any
	must(w.T, yaml.Unmarshal([]byte(made.Data["config.yaml"]), &config))
	config["metrics"], config["health"] = map[string]any{"bindAddress": "0"}, map[string]any{"bindAddress": "0"}
	config["leaderElection"] = map[string]any{"enabled": false}
	text, err := yaml.Marshal(config)
	must(w.T, err)
	w.write("config.yaml", string(text))
	operator := exec.CommandContext(w.Context(), program, "--config="+filepath.Join(w.folder, "config.yaml"))
	operator.Env = append(append(os.Environ(), w.environment()...), "POD_NAMESPACE=spark-operator")
	log, err := os.Create(filepath.Join(w.folder, "operator.log"))
	must(w.T, err)
	operator.Stdout, operator.Stderr = log, log
	must(w.T, operator.Start())
	w.Cleanup(func() { // the context of the test has ended it
		_ = operator.Wait()
		must(w.T, log.Close())
		if text, err := os.ReadFile(log.Name()); w.Failed() && err == nil {
			w.Log(string(text))
		}
	})
}
