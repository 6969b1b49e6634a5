// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/firesteel-dev/firesteel/internal/config"
	"github.com/firesteel-dev/firesteel/internal/testutil"
)

const (
	documentation = "../../docs/metrics.md"
	dashboard     = "../../charts/spark-operator/files/dashboard.json"
	alerts        = "../../charts/spark-operator/files/alerts.yaml"
	kustomize     = "../../config/prometheus/"
)

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.FromSlash(path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// table is what the documentation says of the families of one kind.
func table(all []Family, kubeflow bool) string {
	var b strings.Builder
	b.WriteString("| Name | Type | Labels of its own | Meaning | Recorded when |\n|---|---|---|---|---|\n")
	for _, f := range all {
		if f.Kubeflow != kubeflow {
			continue
		}
		labels := "—"
		if len(f.Labels) > 0 {
			labels = "`" + strings.Join(f.Labels, "`, `") + "`"
		}
		if f.Operator {
			labels += " (and none of the configuration)"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", f.Name, f.Type, labels, f.Help, f.When)
	}
	return b.String()
}

func TestDocumentation(t *testing.T) {
	text := read(t, documentation)
	for section, kubeflow := range map[string]bool{"<!-- kubeflow -->\n": true, "<!-- firesteel -->\n": false} {
		before, rest, found := strings.Cut(text, section)
		_, after, ends := strings.Cut(rest, "<!-- end -->")
		if !found || !ends {
			t.Fatalf("%s has no section %s", documentation, section)
		}
		text = before + section + table(New(configured(nil)).Families(), kubeflow) + "<!-- end -->" + after
	}
	testutil.Golden(t, documentation, text)
}

// The defaults in the documentation are those of the code.
func TestDocumentedDefaults(t *testing.T) {
	_, text, _ := strings.Cut(read(t, documentation), "## Configuration\n")
	block, _, _ := strings.Cut(text, "\n**Labels.**")
	const head = "apiVersion: config.firesteel.dev/v1alpha1\nkind: OperatorConfiguration\n"
	defaults, err := config.Parse([]byte(head))
	if err != nil {
		t.Fatal(err)
	}
	documented, err := config.Parse([]byte(head + strings.ReplaceAll(block, "\n    ", "\n")))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(defaults.Metrics, documented.Metrics); diff != "" {
		t.Errorf("(-code +documentation):\n%s", diff)
	}
}

// alert is what the test needs of a rule.
type alert struct {
	Alert, Expr string
	Labels      map[string]string
	Annotations map[string]string
}

func rules(t *testing.T) []alert {
	t.Helper()
	var file struct {
		Groups []struct {
			Name  string
			Rules []alert
		}
	}
	if err := yaml.Unmarshal([]byte(read(t, alerts)), &file); err != nil {
		t.Fatal(err)
	}
	var all []alert
	for _, g := range file.Groups {
		all = append(all, g.Rules...)
	}
	if len(all) < 10 {
		t.Fatalf("%s has %d rules", alerts, len(all))
	}
	return all
}

// expressions are those of the dashboard, by the panel's title.
func expressions(t *testing.T) map[string][]string {
	t.Helper()
	var file struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
		Templating struct {
			List []struct{ Name, Definition string }
		}
	}
	if err := json.Unmarshal([]byte(read(t, dashboard)), &file); err != nil {
		t.Fatal(err)
	}
	all := map[string][]string{}
	for _, p := range file.Panels {
		for _, target := range p.Targets {
			all[p.Title] = append(all[p.Title], target.Expr)
		}
	}
	for _, v := range file.Templating.List {
		if v.Definition != "" {
			all["variable "+v.Name] = []string{v.Definition}
		}
	}
	if len(all) < 10 {
		t.Fatalf("%s has %d panels", dashboard, len(all))
	}
	return all
}

var (
	inStrings  = regexp.MustCompile(`"[^"]*"`)
	inBraces   = regexp.MustCompile(`\{[^}]*\}|\[[^\]]*\]`)
	groupings  = regexp.MustCompile(`\b(by|without|on|ignoring)\s*\([^)]*\)`)
	variable   = regexp.MustCompile(`label_values\(([^,]*),[^)]*\)`)
	identifier = regexp.MustCompile(`[a-zA-Z_:][a-zA-Z0-9_:]*\s*\(?`)
	durations  = regexp.MustCompile(`\b[0-9][0-9a-z]*`)
	operators  = []string{"and", "or", "unless", "bool", "offset"}
)

// metricsIn names the metrics in an expression of PromQL: the words that are neither functions, operators nor labels.
func metricsIn(expr string) []string {
	expr = variable.ReplaceAllString(expr, "$1")
	expr = inBraces.ReplaceAllString(inStrings.ReplaceAllString(expr, ""), "")
	var out []string
	for _, word := range identifier.FindAllString(durations.ReplaceAllString(groupings.ReplaceAllString(expr, ""), ""), -1) {
		word = strings.TrimSpace(word)
		if !strings.HasSuffix(word, "(") && !slices.Contains(operators, word) && !slices.Contains(out, word) {
			out = append(out, word)
		}
	}
	return out
}

func TestMetricsIn(t *testing.T) {
	cases := map[string]struct {
		reason, expr string
		want         []string
	}{
		"Functions": {reason: "functions are none", expr: `sum by (le, state) (rate(a_bucket{job=~"$job",b="c{d}"}[$__rate_interval]))`, want: []string{"a_bucket"}},
		"Operators": {reason: "operators are none", expr: "sum(a) > 0.5 * sum (b) and c or vector(0) unless on (x) a", want: []string{"a", "b", "c"}},
		"Durations": {reason: "nor is a time", expr: "rate(a[1h] offset 15m) > 1e3 unless b_1 offset 1d", want: []string{"a", "b_1"}},
		"Variable":  {reason: "a variable's query has one and a label", expr: "label_values(a, job)", want: []string{"a"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, metricsIn(tc.expr)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// existing are the names that a scrape has, of ours and of those of the libraries that the documentation promises;
// test/integration looks for the latter in a real scrape.
func existing(t *testing.T) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	for _, f := range New(configured(nil)).Families() {
		all[f.Name] = f.Type == "counter" || f.Type == "gauge"
		if f.Type == "histogram" {
			all[f.Name+"_bucket"] = true
		}
		if f.Type == "histogram" || f.Type == "summary" {
			all[f.Name+"_sum"], all[f.Name+"_count"] = true, true
		}
	}
	_, section, _ := strings.Cut(read(t, documentation), "## Metrics of the libraries\n")
	section, _, _ = strings.Cut(section, "\n## ")
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z_]+)`").FindAllStringSubmatch(section, -1) {
		all[row[1]] = true
	}
	return all
}

func TestDashboardAndAlerts(t *testing.T) {
	exists, used := existing(t), map[string]bool{}
	check := func(where, expr string) {
		names := metricsIn(expr)
		if len(names) == 0 {
			t.Errorf("%s: %q has no metric", where, expr)
		}
		for _, name := range names {
			used[name] = true
			if !exists[name] {
				t.Errorf("%s: %s does not exist", where, name)
			}
		}
	}
	for title, all := range expressions(t) {
		for _, expr := range all {
			check("panel "+title, expr)
		}
	}
	for _, rule := range rules(t) {
		check("alert "+rule.Alert, rule.Expr)
		if rule.Annotations["summary"] == "" || rule.Annotations["description"] == "" || rule.Labels["severity"] == "" {
			t.Errorf("alert %s says not what is wrong and how bad it is", rule.Alert)
		}
		if !strings.Contains(read(t, documentation), "| `"+rule.Alert+"` |") {
			t.Errorf("alert %s: docs/metrics.md does not say what to do", rule.Alert)
		}
	}
	for _, f := range New(configured(nil)).Families() {
		if !used[f.Name] && !used[f.Name+"_bucket"] && !used[f.Name+"_count"] && !f.Kubeflow {
			t.Errorf("nothing shows %s", f.Name)
		}
	}
}

// ourNames says which words of the two files are names of our metrics: the chart puts the prefix before them.
var ourNames = regexp.MustCompile(`\bspark_(application|connect|executor|operator|schedule)`)

func TestPrefixCanBePutIn(t *testing.T) {
	inExpressions := 0
	complete := func(expr string) {
		for _, name := range metricsIn(expr) {
			if strings.HasPrefix(name, "spark") && !ourNames.MatchString(name) {
				t.Errorf("%s: the prefix would be missing", name)
			}
		}
	}
	for _, rule := range rules(t) {
		complete(rule.Expr)
	}
	for _, all := range expressions(t) {
		for _, expr := range all {
			inExpressions += len(ourNames.FindAllString(expr, -1))
			complete(expr)
		}
	}
	// a variable's definition is there twice
	if all := len(ourNames.FindAllString(read(t, dashboard), -1)); all != inExpressions+1 {
		t.Errorf("the dashboard has %d words like our metrics, and %d are in expressions", all, inExpressions)
	}
}

// What the kustomize tree has is the chart's, in the form in which it is applied.
func TestKustomize(t *testing.T) {
	_, groups, found := strings.Cut(read(t, alerts), "\ngroups:\n")
	if !found {
		t.Fatalf("%s has no groups", alerts)
	}
	testutil.Golden(t, kustomize+"rules.yaml", "# Written from charts/spark-operator/files/alerts.yaml by go test ./internal/metrics -update.\n"+
		"apiVersion: monitoring.coreos.com/v1\nkind: PrometheusRule\nmetadata:\n  name: spark-operator-alerts\n  namespace: spark-operator\nspec:\n  groups:\n"+
		regexp.MustCompile(`(?m)^(.)`).ReplaceAllString(groups, "  $1"))
	testutil.Golden(t, kustomize+"dashboard.json", read(t, dashboard))
}
