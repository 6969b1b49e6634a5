// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

const histories = "testdata/alerts.yaml"

// try evaluates the rules that the chart renders with histories, as Prometheus does, and returns what is wrong.
func try(t *testing.T, values, histories string) error {
	t.Helper()
	rules, file := filepath.Join(t.TempDir(), "rules.yaml"), filepath.Join(t.TempDir(), "histories.yaml")
	rule := render(t, values)["PrometheusRule ops/spark-operator-alerts"]
	if rule == nil {
		t.Fatal("no rules are rendered")
	}
	for path, text := range map[string]string{rules: toJSON(t, rule.Object), file: histories} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, err := run(t, tool(t, "promql", "promql"), "-histories", file, rules)
	return err
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestAlertsFire : when they have to, and not else.
func TestAlertsFire(t *testing.T) {
	if err := try(t, `prometheus: {rules: {create: true}}`, readFile(t, histories)); err != nil {
		t.Error(err)
	}
}

// ourNames are those of the metrics that have a prefix: internal/metrics holds them to these words.
var ourNames = regexp.MustCompile(`\bspark_(application|connect|executor|operator|schedule)`)

// TestPrefix : alerts and dashboard ask for what there is.
func TestPrefix(t *testing.T) {
	const values = `{prometheus: {rules: {create: true}, metrics: {prefix: acme-data_}}, grafana: {dashboard: {create: true}}}`
	all := render(t, values)
	prefix := configOf(t, all, configMap).Metrics.NamePrefix()
	if prefix != "acme_data_" {
		t.Fatalf("prefix %q", prefix)
	}
	if err := try(t, values, ourNames.ReplaceAllString(readFile(t, histories), prefix+"${0}")); err != nil {
		t.Error(err)
	}
	board := as[corev1.ConfigMap](t, all, "ConfigMap ops/spark-operator-dashboard").Data["dashboard.json"]
	plain := readFile(t, chartPath+"/files/dashboard.json")
	if diff := cmp.Diff(ourNames.ReplaceAllString(plain, prefix+"${0}"), board); diff != "" || board == plain {
		t.Errorf("dashboard (-want +got):\n%s", diff)
	}
	without := render(t, `{grafana: {dashboard: {create: true}}}`)
	if diff := cmp.Diff(plain, as[corev1.ConfigMap](t, without, "ConfigMap ops/spark-operator-dashboard").Data["dashboard.json"]); diff != "" {
		t.Errorf("dashboard without a prefix (-want +got):\n%s", diff)
	}
}

// TestAlertsAreTried shows that the test above would find alerts that do not do what they should.
func TestAlertsAreTried(t *testing.T) {
	cases := map[string]struct{ reason, from, to, says string }{
		"Silent":   {reason: "the failures end in time", from: "app_type=\"x\"} _x160 6x60", to: "app_type=\"x\"} _x160 4x60", says: "ManyFailAtOnce"},
		"Loud":     {reason: "a refusal that is younger", from: "_x150 1x60", to: "_x170 1x60", says: "RefusedLongAgo"},
		"Shorter":  {reason: "it was not so for long enough", from: "0x160 200x40", to: "0x170 200x40", says: "Behind"},
		"Untried":  {reason: "nothing makes it fire", from: "fire: [SparkOperatorRestartNeeded]", to: "fire: []", says: "SparkOperatorRestartNeeded: one history"},
		"Unproven": {reason: "nothing is about its silence", from: "silent: [SparkOperatorBehind]", to: "silent: []", says: "SparkOperatorBehind: one history"},
		"Unknown":  {reason: "a slip", from: "silent: [SparkOperatorBehind]", to: "silent: [SparkOperatorBehind, Nothing]", says: "Nothing: no such alert"},
		"Notation": {reason: "no series", from: "0x160 200x40", to: "0y160", says: "Behind: workqueue_depth"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			text := readFile(t, histories)
			if !strings.Contains(text, tc.from) {
				t.Fatalf("%s has no %q", histories, tc.from)
			}
			if err := try(t, `prometheus: {rules: {create: true}}`, strings.Replace(text, tc.from, tc.to, 1)); err == nil || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("%s: it says %v, want %q", tc.reason, err, tc.says)
			}
		})
	}
}
