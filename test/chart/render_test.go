// SPDX-License-Identifier: Apache-2.0

// Package chart tests the Helm chart and the kustomize tree: what they render, what they refuse, and that they agree.
package chart

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/firesteel-dev/firesteel/internal/config"
)

const (
	root       = "../.."
	chartPath  = root + "/charts/spark-operator"
	release    = "spark-operator"
	namespace  = "ops"
	controller = "spark-operator-controller"
	webhook    = "spark-operator-webhook"
	// apis are those of others that the chart looks for before it renders their objects.
	apis = "monitoring.coreos.com/v1/PodMonitor,monitoring.coreos.com/v1/ServiceMonitor,monitoring.coreos.com/v1/PrometheusRule," +
		"cert-manager.io/v1/Certificate,admissionregistration.k8s.io/v1/ValidatingAdmissionPolicy,admissionregistration.k8s.io/v1/MutatingAdmissionPolicy"
)

// needsServer leaves a test out that starts an API server: with -short, which only renders, or where there is none.
func needsServer(t *testing.T) {
	t.Helper()
	switch {
	case testing.Short():
		t.Skip("-short: rendering only")
	case os.Getenv("KUBEBUILDER_ASSETS") != "":
	case os.Getenv("CI") != "":
		t.Fatal("KUBEBUILDER_ASSETS is not set: run make test")
	default:
		t.Skip("no API server: KUBEBUILDER_ASSETS is not set; run make test-integration")
	}
}

// tool builds a tool once and returns the path of one of its programs.
func tool(t *testing.T, name, program string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), root+"/hack/tools/build.sh", name).Output()
	if err != nil {
		t.Fatalf("build %s: %v", name, err)
	}
	return filepath.Join(strings.TrimSpace(string(out)), program)
}

// read opens the folders that are rendered: Go's cache of test results sees what a test opens, not what the programs do that it starts.
var read = sync.OnceValue(func() error {
	for _, folder := range []string{"charts", "config"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(_ string, _ fs.DirEntry, err error) error { return err })
		if err != nil {
			return err
		}
	}
	return nil
})

// run runs a program and returns what it prints, or its errors.
func run(t *testing.T, program string, args ...string) (string, error) {
	t.Helper()
	if err := read(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	// Nothing of this machine's user or cluster plays a part.
	home := t.TempDir()
	cmd.Env = append(os.Environ(), "HOME="+home, "HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home, "HELM_DATA_HOME="+home, "KUBECONFIG="+home+"/none")
	if err := cmd.Run(); err != nil {
		return out.String(), errors.New(problems.String())
	}
	return out.String(), nil
}

// helm runs `helm template` with values in YAML.
func helm(t *testing.T, values string, flags ...string) (string, error) {
	t.Helper()
	args := append([]string{"template", release, chartPath, "-n", namespace, "-f", valuesFile(t, values), "--api-versions", apis}, flags...)
	return run(t, tool(t, "helm", "helm"), args...)
}

func valuesFile(t *testing.T, values string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "values.yaml")
	if err := os.WriteFile(file, []byte(values), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// objects are rendered objects by kind, namespace and name: "Role jobs/spark-operator-spark", "ClusterRole spark-operator".
type objects map[string]*unstructured.Unstructured

var (
	renderedMu sync.Mutex
	rendered   = map[string]string{}
)

// render returns what the chart renders with values, without the objects of tests.
func render(t *testing.T, values string) objects {
	t.Helper()
	renderedMu.Lock()
	defer renderedMu.Unlock()
	text, known := rendered[values]
	if !known {
		var err error
		if text, err = helm(t, values); err != nil {
			t.Fatalf("helm template: %v\nvalues:\n%s", err, values)
		}
		rendered[values] = text
	}
	all := parse(t, text)
	for key, o := range all {
		if o.GetAnnotations()["helm.sh/hook"] != "" {
			delete(all, key)
		}
	}
	return all
}

// parse reads a stream of YAML documents.
func parse(t *testing.T, text string) objects {
	t.Helper()
	all := objects{}
	decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 4096)
	for {
		var o unstructured.Unstructured
		err := decoder.Decode(&o.Object)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatalf("rendered YAML: %v", err)
		}
		if len(o.Object) == 0 {
			continue
		}
		name := o.GetName()
		if o.GetNamespace() != "" {
			name = o.GetNamespace() + "/" + name
		}
		key := o.GetKind() + " " + name
		if all[key] != nil {
			t.Fatalf("%s is rendered twice", key)
		}
		all[key] = &o
	}
}

// keys are those of the objects of some kinds, or of all.
func (all objects) keys(kinds ...string) []string {
	var found []string
	for key := range all {
		for _, kind := range kinds {
			if strings.HasPrefix(key, kind+" ") {
				found = append(found, key)
			}
		}
	}
	return found
}

// as decodes an object into its type.
func as[T any](t *testing.T, all objects, key string) *T {
	t.Helper()
	o := all[key]
	if o == nil {
		t.Fatalf("%s is not rendered", key)
	}
	var typed T
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(o.Object, &typed, true); err != nil {
		t.Fatalf("%s: %v", key, err)
	}
	return &typed
}

// configOf parses the rendered configuration file with the operator's own code.
func configOf(t *testing.T, all objects, key string) config.OperatorConfiguration {
	t.Helper()
	text, _, err := unstructured.NestedString(all[key].Object, "data", "config.yaml")
	if err != nil || text == "" {
		t.Fatalf("%s has no configuration: %v", key, err)
	}
	c, err := config.Parse([]byte(text))
	if err != nil {
		t.Fatalf("the operator refuses what is rendered: %v\n%s", err, text)
	}
	return c
}

func toJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
