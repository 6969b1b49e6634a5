// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/firesteel-dev/firesteel/internal/config"
)

func TestTenancy(t *testing.T) {
	const prefix = "team_spark_operator_"
	const reloads = prefix + "configuration_reloads_total result="
	none := []string{prefix + "configuration_reloads_total result=applied 0", reloads + "refused 0", prefix + "configuration_restart_needed 0"}
	steps := []struct {
		reason string
		change func(*Metrics)
		want   []string
	}{
		{"what may increase begins with 0, and nothing is watched", func(*Metrics) {}, none},
		{
			"by namespace", func(m *Metrics) {
				m.NamespaceWatched("a", true)
				m.NamespaceWatched("b", false)
				m.NamespaceTrouble("b")
				m.NamespaceTrouble("b")
			}, append(none, prefix+"namespace_trouble_total namespace=b 2", prefix+"namespace_watched namespace=a 1", prefix+"namespace_watched namespace=b 0"),
		},
		{
			"what is taken off the list has no row", func(m *Metrics) {
				m.NamespaceDropped("b")
				m.Reloaded(true)
				m.Reloaded(false)
				m.Reloaded(false)
				m.RestartNeeded(true)
			}, []string{
				reloads + "applied 1", reloads + "refused 2", prefix + "configuration_restart_needed 1",
				prefix + "namespace_trouble_total namespace=b 2", prefix + "namespace_watched namespace=a 1",
			},
		},
		{"it is as it was at the start", func(m *Metrics) { m.RestartNeeded(false) }, []string{
			reloads + "applied 1", reloads + "refused 2", prefix + "configuration_restart_needed 0",
			prefix + "namespace_trouble_total namespace=b 2", prefix + "namespace_watched namespace=a 1",
		}},
	}
	m := New(configured(func(c *config.Metrics) { c.Prefix, c.Labels = "team-", []string{"app_type"} }))
	for _, step := range steps {
		step.change(m)
		var got []string
		for _, sample := range everySample(t, m) {
			if strings.HasPrefix(sample, prefix+"configuration") || strings.HasPrefix(sample, prefix+"namespace") {
				got = append(got, sample)
			}
		}
		if diff := cmp.Diff(step.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.reason, diff)
		}
	}
}

// An operator without metrics works.
func TestTenancyWithoutMetrics(t *testing.T) {
	var m *Metrics
	m.NamespaceWatched("a", true)
	m.NamespaceDropped("a")
	m.NamespaceTrouble("a")
	m.Reloaded(true)
	m.RestartNeeded(true)
	if m != nil {
		t.Error("there are some")
	}
}
