// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/firesteel-dev/firesteel/internal/kinds"
	"github.com/firesteel-dev/firesteel/internal/resolve"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/scheduler/kube"
)

const (
	scheduleHead = "apiVersion: sparkoperator.k8s.io/v1beta2\nkind: ScheduledSparkApplication\nmetadata: {name: nightly}\nspec:\n"
	template     = "  template: {type: Python, sparkVersion: 4.1.4, image: 'spark:4.1.4', mainApplicationFile: 'local:///a.py', driver: {}, executor: {instances: 1}}\n"
	due          = "spec.schedule: the next runs are due at "
)

func TestCheckSchedules(t *testing.T) {
	registry, err := scheduler.NewRegistry(kube.Name, kube.Plugin{})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 10, 24, 12, 0, 0, 0, time.UTC) // the day before the clocks of Berlin are put back
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		reason string
		text   string
		local  *time.Location
		want   []Finding
	}{
		"Times": {
			"in its own zone, over a change of the clock", scheduleHead + "  schedule: '30 2 * * *'\n  timeZone: Europe/Berlin\n" + template, nil,
			[]Finding{{5, Note, due + "2026-10-25T02:30:00+02:00, 2026-10-26T02:30:00+01:00, 2026-10-27T02:30:00+01:00 (Europe/Berlin)"}},
		},
		"Every": {
			"counted from the creation, which is now", scheduleHead + "  schedule: '@every 90m'\n" + template, nil,
			[]Finding{{5, Note, due + "2026-10-24T13:30:00Z, 2026-10-24T15:00:00Z, 2026-10-24T16:30:00Z (UTC)"}},
		},
		"Local": {
			"the operator's zone", scheduleHead + "  schedule: '@weekly'\n" + template, berlin,
			[]Finding{{5, Note, due + "2026-10-25T00:00:00+02:00, 2026-11-01T00:00:00+01:00, 2026-11-08T00:00:00+01:00 (Europe/Berlin)"}},
		},
		"Template": {
			"fields of the template by their paths in the schedule", scheduleHead + "  schedule: '@daily'\n  template:\n    driver: {memory: 2gb}\n" +
				"    type: Python\n    sparkVersion: 4.1.4\n    image: a\n    mainApplicationFile: local:///a.py\n    executor: {instances: 1}\n", nil,
			[]Finding{{7, Error, `spec.template.driver.memory: "2gb": not a heap size that a JVM takes; write a whole number and one of k, m, g, t, such as "512m" or "2g"`}},
		},
		"Prose": {
			"fields in sentences, and texts of the user's that only look like one", scheduleHead + "  schedule: '@daily'\n  suspend: true\n  template:\n    type: Python\n    failureRetries: 1\n    suspend: true\n" +
				"    sparkVersion: 4.1.4\n    image: a\n    mainApplicationFile: local:///a;spec.b.R\n    driver: {}\n    executor: {}\n", nil,
			[]Finding{
				{5, Note, due + "2026-10-25T00:00:00Z, 2026-10-26T00:00:00Z, 2026-10-27T00:00:00Z (UTC)"},
				{6, Note, "spec.suspend: no run is started while it is true"},
				{8, Warning, `spec.template.type: "Python": the suffix of "local:///a;spec.b.R" makes Spark run it as R; write that type`},
				{9, Warning, "spec.template.failureRetries: has no effect; use spec.template.restartPolicy.onFailureRetries"},
				{10, Note, "spec.template.suspend: nothing is created while it is true"},
			},
		},
		"Never": {
			"a day that does not exist", scheduleHead + "  schedule: '0 0 30 2 *'\n" + template, nil,
			[]Finding{{5, Error, `spec.schedule: "0 0 30 2 *": no date matches it; choose a day that exists in its month`}},
		},
		"Zone": {
			"a zone that there is not", scheduleHead + "  schedule: '@daily'\n  timeZone: Berlin\n" + template, nil,
			[]Finding{{6, Error, `spec.timeZone: "Berlin": unknown time zone: "Berlin"; write a name of the IANA database such as Europe/Berlin`}},
		},
		"Trigger": {
			"an annotation that is no time", "apiVersion: sparkoperator.k8s.io/v1beta2\nkind: ScheduledSparkApplication\nmetadata:\n  name: nightly\n" +
				"  annotations: {sparkoperator.k8s.io/trigger-at: now}\nspec:\n  schedule: '@yearly'\n" + template, nil,
			[]Finding{{5, Error, `metadata.annotations[sparkoperator.k8s.io/trigger-at]: "now": write a time in RFC 3339, such as 2026-01-31T08:30:00Z`}},
		},
		"Suspended": {
			"it starts nothing", scheduleHead + "  schedule: '@yearly'\n  suspend: true\n" + template, nil,
			[]Finding{
				{5, Note, due + "2027-01-01T00:00:00Z, 2028-01-01T00:00:00Z, 2029-01-01T00:00:00Z (UTC)"},
				{6, Note, "spec.suspend: no run is started while it is true"},
			},
		},
		"Name": {
			"what all runs are named after", "apiVersion: sparkoperator.k8s.io/v1beta2\nkind: ScheduledSparkApplication\nspec: {schedule: '@daily'}\n", nil,
			[]Finding{{1, Error, "metadata.name: missing; a schedule needs a name"}, {3, Error, "spec.template: is required"}},
		},
		"Metadata": {
			"a word that YAML takes for a truth value, where the decoder knows no field", "apiVersion: sparkoperator.k8s.io/v1beta2\nkind: ScheduledSparkApplication\nmetadata: {name: job, labels: {team: y}}\nspec: {schedule: x}\n", nil,
			[]Finding{{3, Error, `metadata.labels["team"]: a bool is not valid here; write a string, in quotes if it looks like a number`}, {4, Error, "spec.template: is required"}},
		},
		"Malformed": {
			"the decoder's words, once", scheduleHead + "  schedule: '@daily'\n  template: {type: Scala, sparkVersion: 4.1.4, mainApplicationFile: a, executor: {}, driver: {template: text}}\n", nil,
			[]Finding{{6, Error, "spec.template.driver.template: a string is not valid here; write a map"}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := Check(documents(t, tc.text), kinds.Assumed{Now: now, Local: tc.local}, resolve.Operator{Registry: registry})
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
