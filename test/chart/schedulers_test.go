// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/firesteel-dev/firesteel/cmd/plugins"
	"github.com/firesteel-dev/firesteel/internal/config"
	"github.com/firesteel-dev/firesteel/test/docs/markdown"
)

// The values on a scheduler's page render to the settings that test/schedulers gives the operator, and to the rights that the plugin needs.
func TestSchedulerPages(t *testing.T) {
	settings := func(plugin string, change func(*config.BatchScheduler)) config.BatchScheduler {
		s := config.BatchScheduler{
			Default: "kube", Enabled: []string{"kube", plugin}, ApplicationIDs: config.OwnApplicationIDs, // submitters are recorded
			Quota: config.Quota{Mode: "Off", Order: config.BestEffortFIFO, AgingBound: metav1.Duration{Duration: 10 * time.Minute}},
		}
		s.Enabled = slices.Compact(s.Enabled)
		if change != nil {
			change(&s)
		}
		return s
	}
	for plugin, wanted := range map[string][]config.BatchScheduler{
		"kube":     {settings("kube", func(s *config.BatchScheduler) { s.Quota.Mode = "Enforce" })},
		"volcano":  {settings("volcano", nil)},
		"yunikorn": {settings("yunikorn", nil)},
		"coscheduling": {
			settings("coscheduling", func(s *config.BatchScheduler) {
				s.Plugins = map[string]config.SchedulerPlugin{"coscheduling": {SchedulerName: "coscheduling", SchedulerNames: []string{"kube-scheduler"}}}
			}),
			settings("coscheduling", func(s *config.BatchScheduler) {
				s.Plugins = map[string]config.SchedulerPlugin{"coscheduling": {SchedulerName: "coscheduling-quota"}}
				s.Quota.Mode, s.Quota.Order, s.Quota.ElasticQuotaSchedulers = "Enforce", config.StrictFIFO, []string{"coscheduling"}
			}),
		},
	} {
		t.Run(plugin, func(t *testing.T) {
			page, err := os.ReadFile(root + "/docs/scheduler-" + plugin + ".md")
			if err != nil {
				t.Fatal(err)
			}
			var values []string
			for _, b := range markdown.Blocks(string(page)) {
				if strings.HasPrefix(b.Text, "controller:\n") {
					values = append(values, b.Text)
				}
			}
			if len(values) != len(wanted) {
				t.Fatalf("the page has %d blocks of values, want %d", len(values), len(wanted))
			}
			for i := range wanted {
				all := render(t, values[i]+"spark: {jobNamespaces: []}\n") // all rights are in one ClusterRole
				got := configOf(t, all, "ConfigMap ops/spark-operator-controller-config").BatchScheduler
				if diff := cmp.Diff(wanted[i], got); diff != "" {
					t.Errorf("values %d (-want +got):\n%s", i, diff)
				}
				hasRights(t, got, as[rbacv1.ClusterRole](t, all, "ClusterRole spark-operator-controller").Rules)
			}
		})
	}
}

// hasRights checks that a role has what the enabled plugins say that they need.
func hasRights(t *testing.T, c config.BatchScheduler, rules []rbacv1.PolicyRule) {
	t.Helper()
	registry, err := plugins.Registry(c)
	if err != nil {
		t.Fatalf("the operator does not start with it: %v", err)
	}
	for _, plugin := range registry.Plugins() {
		for _, a := range plugin.Describe().Accesses() {
			if !grants(rules, a.Group, a.Resource, a.Verb) {
				t.Errorf("%s: the role may not %s %s of %q", plugin.Describe().Name, a.Verb, a.Resource, a.Group)
			}
		}
	}
}
