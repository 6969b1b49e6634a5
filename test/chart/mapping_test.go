// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/firesteel-dev/firesteel/internal/config"
)

// row is what docs/helm-values.md says of a key.
type row struct{ key, word, remark string }

var (
	cell    = regexp.MustCompile("^\\| (`[^|]+`) \\| (same|other default|renamed|ignored) \\| (.*)\\|$")
	codeOf  = regexp.MustCompile("`([^`]+)`")
	mapping = root + "/docs/helm-values.md"
)

func rows(t *testing.T) []row {
	t.Helper()
	text, err := os.ReadFile(mapping)
	if err != nil {
		t.Fatal(err)
	}
	var found []row
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "| `") {
			continue
		}
		parts := cell.FindStringSubmatch(line)
		if parts == nil {
			t.Errorf("not a row of keys, a word and a remark: %s", line)
			continue
		}
		for _, key := range codeOf.FindAllStringSubmatch(parts[1], -1) {
			found = append(found, row{key: key[1], word: parts[2], remark: strings.TrimSpace(parts[3])})
		}
	}
	return found
}

// valuesOf reads a values file.
func valuesOf(t *testing.T, path string) map[string]any {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var values map[string]any
	if err := yaml.UnmarshalStrict(text, &values); err != nil {
		t.Fatal(err)
	}
	return values
}

// leaves are the keys of a values file with their defaults. What an administrator fills in as a whole is one key.
func leaves(prefix string, values map[string]any, found map[string]any) map[string]any {
	whole := []string{"resources", "securityContext", "podSecurityContext", "podMetricsEndpoint"}
	for key, value := range values {
		path := strings.TrimPrefix(prefix+"."+key, ".")
		if level, ok := value.(map[string]any); ok && len(level) > 0 && !slices.Contains(whole, key) {
			leaves(path, level, found)
		} else {
			found[path] = value
		}
	}
	return found
}

func (r row) covers(key string) bool {
	prefix, all := strings.CutSuffix(r.key, ".*")
	return r.key == key || all && strings.HasPrefix(key, prefix+".")
}

// TestEveryKeyOfKubeflowIsMapped holds the page to the list of keys, and to what the chart really does with them.
func TestEveryKeyOfKubeflowIsMapped(t *testing.T) {
	theirs := leaves("", valuesOf(t, "testdata/kubeflow-values.yaml"), map[string]any{})
	ours := leaves("", valuesOf(t, chartPath+"/values.yaml"), map[string]any{})
	all := rows(t)
	for _, key := range slices.Sorted(maps.Keys(theirs)) {
		var found []row
		for _, r := range all {
			if r.covers(key) {
				found = append(found, r)
			}
		}
		if len(found) != 1 {
			t.Errorf("%s: %d rows in %s, want one", key, len(found), mapping)
			continue
		}
		mine, exists := ours[key]
		equal := exists && toJSON(t, mine) == toJSON(t, theirs[key])
		switch r := found[0]; {
		case r.word == "same" && !exists:
			t.Errorf("%s is said to be the same, and is not in values.yaml", key)
		case r.word == "same" && !equal:
			t.Errorf("%s is said to be the same, and its default is %s instead of %s", key, toJSON(t, mine), toJSON(t, theirs[key]))
		case r.word == "other default" && (!exists || equal || r.remark == ""):
			t.Errorf("%s: default %s, theirs %s, remark %q: another default differs, and has a reason", key, toJSON(t, mine), toJSON(t, theirs[key]), r.remark)
		case (r.word == "ignored" || r.word == "renamed") && (exists || r.remark == ""):
			t.Errorf("%s is %s, with the remark %q; it is in values.yaml: %v", key, r.word, r.remark, exists)
		}
	}
	for _, r := range all {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(theirs)), r.covers) {
			t.Errorf("%s: Kubeflow's chart has no such key", r.key)
		}
	}
}

// kubeflowValues are all of their defaults at once, as a file of someone who copied the whole of it, but for the image.
func kubeflowValues(t *testing.T) map[string]any {
	t.Helper()
	values := valuesOf(t, "testdata/kubeflow-values.yaml")
	delete(values, "image")
	return values
}

// TestKubeflowValues renders with them.
func TestKubeflowValues(t *testing.T) {
	values := kubeflowValues(t)
	all := render(t, toJSON(t, values))
	if all["Deployment ops/"+controller] == nil || all["Deployment ops/"+webhook] == nil {
		t.Errorf("not what their defaults ask for: %v", slices.Sorted(maps.Keys(all)))
	}
	// their times are for client-go's elector: 15s, 10s and 2s
	want := config.LeaderElection{Enabled: true, Name: controller + "-lock", LeaseDuration: metav1.Duration{Duration: 15 * time.Second},
		RenewDeadline: metav1.Duration{Duration: 9375 * time.Millisecond}, RetryPeriod: metav1.Duration{Duration: 1875 * time.Millisecond}}
	if diff := cmp.Diff(want, configOf(t, all, configMap).LeaderElection); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	values["image"] = map[string]any{"registry": "ghcr.io", "repository": "kubeflow/spark-operator/controller"}
	if _, err := helm(t, toJSON(t, values)); err == nil || !strings.Contains(err.Error(), "image of Kubeflow's operator") {
		t.Errorf("their image does not know our arguments; got %v", err)
	}
}

// TestIgnoredKeysAreTold compares the page with the notes.
func TestIgnoredKeysAreTold(t *testing.T) {
	text, err := os.ReadFile(chartPath + "/templates/_helpers.tpl")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(text), `define "spark-operator.ignored"`)
	list, _, _ = strings.Cut(list, "-}}\n{{- $at")
	var listed, said []string
	for _, quoted := range regexp.MustCompile(`"([a-zA-Z.]+)"`).FindAllStringSubmatch(list, -1) {
		listed = append(listed, quoted[1])
	}
	for _, r := range rows(t) {
		if r.word == "ignored" {
			key := strings.TrimSuffix(strings.TrimSuffix(r.key, ".*"), ".enable")
			said = append(said, key)
		}
	}
	slices.Sort(listed)
	slices.Sort(said)
	if !slices.Equal(listed, said) {
		t.Errorf("the notes know %v\nthe page %v", listed, said)
	}
}

// TestNotes are the words after an installation.
func TestNotes(t *testing.T) {
	cases := map[string]struct {
		reason, values string
		says, not      []string
	}{
		"Default": {reason: "an example that runs as it is", values: "{}", says: []string{"this namespace: default", "helm test spark-operator -n ops", "kind: SparkApplication", "namespace: default", "serviceAccount: spark-operator-spark"}, not: []string{"ignored"}},
		"Names":   {reason: "with the names that were chosen", values: "{spark: {jobNamespaces: [b, a], serviceAccount: {name: d}}, tests: {image: mine}}", says: []string{"these namespaces: b, a", "namespace: b", "serviceAccount: d", "image: mine"}},
		"All":     {reason: "no one knows where drivers will run", values: "spark: {jobNamespaces: []}", says: []string{"all namespaces", "-s templates/spark/rbac.yaml"}, not: []string{"kind: SparkApplication"}},
		"Ignored": {reason: "what means nothing is told", values: "{hook: {upgradeCrd: true}, controller: {kubeAPIQPS: 5}}", says: []string{"ignored: hook.*, controller.kubeAPIQPS\n"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			out, err := run(t, tool(t, "helm", "helm"), "install", release, chartPath, "-n", namespace, "--dry-run=client", "-f", valuesFile(t, tc.values))
			if err != nil {
				t.Fatal(err)
			}
			_, notes, _ := strings.Cut(out, "\nNOTES:\n")
			for _, text := range tc.says {
				if !strings.Contains(notes, text) {
					t.Errorf("%s: the notes do not say %q:\n%s", tc.reason, text, notes)
				}
			}
			for _, text := range tc.not {
				if strings.Contains(notes, text) {
					t.Errorf("%s: the notes say %q:\n%s", tc.reason, text, notes)
				}
			}
		})
	}
}
