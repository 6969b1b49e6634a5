// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/schedule"
	"github.com/firesteel-dev/firesteel/internal/testutil"
)

// sampleSchedule is the one of the samples.
const sampleSchedule = "../../config/samples/scheduled-spark-pi.yaml"

// anyTime is a time in any zone: when the next run is due depends on the day.
var anyTime = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(Z|[+-]\d\d:\d\d)`)

// toCome is how long it is until something.
var toCome = regexp.MustCompile(`in \d+m`)

func TestValidateSchedules(t *testing.T) {
	for name, tc := range map[string]struct {
		files []string
		code  int
	}{
		"validate-schedules": {[]string{"-f", "testdata/schedules.yaml"}, 1},
		"validate-examples":  {[]string{"-f", "testdata/examples"}, 0}, // by name what Kubeflow's operator has as examples (finding 4)
		"validate-mixed":     {[]string{"-f", sampleSchedule, "-f", "testdata/pi.yaml"}, 0},
	} {
		out, errOut, code := execute(t, "", append([]string{"validate"}, tc.files...)...)
		if code != tc.code {
			t.Errorf("%s: exit code %d: %s", name, code, errOut)
		}
		testutil.Golden(t, "testdata/"+name+".golden", "# stdout\n"+anyTime.ReplaceAllString(out, "TIME")+"# stderr\n"+errOut)
	}
}

// A folder stands for the manifests in it (finding 24).
func TestValidateFolder(t *testing.T) {
	dir := t.TempDir()
	if out, errOut, code := execute(t, "", "validate", "-f", dir); code != 1 || !strings.Contains(errOut, dir+": no file there ends in .yaml, .yml or .json") {
		t.Errorf("an empty folder: exit code %d: %s%s", code, out, errOut)
	}
	const app = "apiVersion: sparkoperator.k8s.io/v1beta2\nkind: SparkApplication\nmetadata: {name: pi}\nspec: {typo: 1}\n"
	for name, text := range map[string]string{"a.yaml": app, "b.yml": app, "c.json": "{}", "README.md": "# not a manifest", "below.yaml/d.yaml": app} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	out, errOut, code := execute(t, "", "validate", "-f", dir)
	for file, read := range map[string]bool{"a.yaml": true, "b.yml": true, "README.md": false, "d.yaml": false} {
		if code != 1 || strings.Contains(out+errOut, file+":") != read {
			t.Errorf("%s read: want %t; exit code %d: %s%s", file, read, code, out, errOut)
		}
	}
}

// A check of nothing looks like success in a pipeline.
func TestValidateOfNothing(t *testing.T) {
	const list, app = "apiVersion: v1\nkind: List\nitems:\n", "- apiVersion: sparkoperator.k8s.io/v1beta2\n  kind: SparkApplication\n  metadata: {name: pi}\n  spec: {typo: 1}\n"
	for name, c := range map[string]struct{ reason, in, says string }{
		"Empty": {"finding 5: an empty file", "", "nothing was checked"},
		"Text":  {"finding 5: no object", "hello\n", "nothing was checked"},
		"Other": {"finding 5: objects of others alone", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n", "nothing was checked"},
		"Apache": {
			"a kind of the group that there is not", "apiVersion: spark.apache.org/v1\nkind: SparkServer\nmetadata: {name: a}\n",
			"spark.apache.org has no such kind; write kind: SparkApplication or SparkCluster, apiVersion: spark.apache.org/v1",
		},
		"NoItem": {"finding 5: an empty list", list + "  []\n", "nothing was checked"},
		"List":   {"finding 5: one of its items is wrong", list + app, ":7: error: spec.typo: unknown field"},
	} {
		t.Run(name, func(t *testing.T) {
			out, errOut, code := execute(t, c.in, "validate", "-f", "-")
			if code != 1 || !strings.Contains(out+errOut, c.says) {
				t.Errorf("%s: exit code %d: %s%s", c.reason, code, out, errOut)
			}
		})
	}
}

// The run of a time has the variables of that time, and leads to the objects of an application.
func TestRenderSchedule(t *testing.T) {
	out, errOut, code := execute(t, "", "render", "-f", sampleSchedule, "--submit-time", "2026-03-28T12:00:00Z")
	if code != 0 {
		t.Fatal(errOut)
	}
	for _, text := range []string{
		"name: scheduled-spark-pi-1774747800000000000\n", // 2026-03-29 has no 02:30 in Berlin: it is 03:30 there
		`sparkoperator.k8s.io/scheduled-time: "2026-03-29T03:30:00+02:00"`, `spark.pi.day: "2026-03-28"`, "kind: ConfigMap\n", "kind: Pod\n",
	} {
		if !strings.Contains(out, text) {
			t.Errorf("it lacks %q:\n%s", text, out)
		}
	}
	if again, _, _ := execute(t, "", "render", "-f", sampleSchedule, "--submit-time", "2026-03-28T12:00:00Z"); again != out {
		t.Error("the same time gives something else")
	}
	out, errOut, code = execute(t, "", "render", "-f", "testdata/schedules.yaml")
	if want := "testdata/schedules.yaml:10: error: spec.schedule: "; code != 1 || out != "" || !strings.Contains(errOut, want) {
		t.Errorf("exit code %d, want 1 and %q: %s%s", code, want, out, errOut)
	}
	if out, _, _ := execute(t, "", "render", "-f", sampleSchedule); !strings.Contains(out, "kind: Pod\n") {
		t.Errorf("the next run from now on:\n%s", out)
	}
}

// stands is a schedule as the operator has left it.
func stands(state v1beta2.ScheduleState, changes ...func(*v1beta2.ScheduledSparkApplication)) func(*v1beta2.ScheduledSparkApplication) {
	return func(o *v1beta2.ScheduledSparkApplication) {
		o.Status = v1beta2.ScheduledSparkApplicationStatus{
			ScheduleState: state, ObservedGeneration: 1, LastRun: before(10 * time.Minute), LastRunName: o.Name + "-1", NextRun: before(-65 * time.Minute),
			Scheduled: "CRON_TZ=Europe/Berlin 30 2 * * *", ScheduledSince: ptr.To(before(time.Hour)),
		}
		for _, c := range changes {
			c(o)
		}
	}
}

func says(kind, status, reason, message string) func(*v1beta2.ScheduledSparkApplication) {
	return func(o *v1beta2.ScheduledSparkApplication) {
		o.Status.Conditions = append(o.Status.Conditions, metav1.Condition{Type: kind, Status: metav1.ConditionStatus(status), Reason: reason, Message: message})
	}
}

func TestListSchedules(t *testing.T) {
	other := nightly("other", stands(v1beta2.ScheduleStateScheduled))
	other.Namespace = "etl"
	newAPI(t, other, inState("an-application", ""), nightly("a-new"),
		nightly("busy", stands(v1beta2.ScheduleStateScheduled), func(o *v1beta2.ScheduledSparkApplication) { o.Status.Active = []string{"busy-1"} },
			says("Stalled", "False", "NoTrouble", "no action required"), says("Scheduled", "True", "OnSchedule", "runs are started at the times of the schedule"),
			says("RunActive", "True", "WaitingForActiveRun", "a run is due and waits")),
		nightly("stopped", stands(v1beta2.ScheduleStateScheduled), func(o *v1beta2.ScheduledSparkApplication) { o.Spec.Suspend, o.Status.SkippedRuns = ptr.To(true), 7 },
			says("Scheduled", "False", "Suspended", "spec.suspend is true")),
		nightly("wrong", func(o *v1beta2.ScheduledSparkApplication) { o.Spec.Schedule, o.Spec.TimeZone = "never", "" },
			stands(v1beta2.ScheduleStateFailedValidation, func(o *v1beta2.ScheduledSparkApplication) {
				o.Status.NextRun, o.Status.LastRun, o.Status.LastRunName = metav1.Time{}, metav1.Time{}, ""
			}), says("Stalled", "True", "InvalidSchedule", "spec.schedule: two\nlines")),
	)
	for name, args := range map[string][]string{
		"list-schedules": {"schedules"}, "list-schedules-all": {"scheduledsparkapp", "-A", "-o", "wide"}, "list-schedules-state": {"schedules", "--state", "suspended"},
		"list-schedules-name": {"schedules", "-o", "name"}, "list-schedules-none": {"schedules", "-n", "empty"},
	} {
		out, errOut, code := execute(t, "", append([]string{"list"}, args...)...)
		if code != 0 {
			t.Error(errOut)
		}
		out = toCome.ReplaceAllString(ages.ReplaceAllString(out, "AGE"), "in TIME")
		testutil.Golden(t, "testdata/"+name+".golden", "# stdout\n"+columns.ReplaceAllString(out, "  ")+"# stderr\n"+errOut)
	}
	for _, args := range [][]string{{"schedules", "--state", "running"}, {"pods"}} {
		if _, errOut, code := execute(t, "", append([]string{"list"}, args...)...); code != 1 || !strings.Contains(errOut, args[len(args)-1]) {
			t.Errorf("%v: exit code %d, %s", args, code, errOut)
		}
	}
}

// The dates of a range are in the zone of the schedule, which is not known of one that cannot be read.
func TestZoneOf(t *testing.T) {
	for name, tc := range map[string]struct {
		reason     string
		desired    schedule.Desired
		want, says string
	}{
		"Zone":      {reason: "its field", desired: schedule.Desired{Schedule: "@daily", TimeZone: "Asia/Tokyo"}, want: "Asia/Tokyo"},
		"Prefix":    {reason: "what comes first", desired: schedule.Desired{Schedule: "CRON_TZ=Asia/Tokyo 0 9 * * *", TimeZone: "Europe/Berlin"}, want: "Asia/Tokyo"},
		"None":      {reason: "the operator's", desired: schedule.Desired{Schedule: "@daily"}, want: "UTC"},
		"Wrong":     {reason: "no zone", desired: schedule.Desired{TimeZone: "Berlin"}, says: `spec.timeZone: "Berlin" is no time zone`},
		"Malformed": {reason: "what cannot be read", desired: schedule.Desired{Malformed: "spec.template: write an object"}, says: "spec.template: write an object"},
	} {
		zone, err := zoneOf(tc.desired)
		if tc.says == "" && (err != nil || zone.String() != tc.want) || tc.says != "" && (err == nil || !strings.Contains(err.Error(), tc.says)) {
			t.Errorf("%s, %s: %s, %v", name, tc.reason, zone, err)
		}
	}
}

func TestExplainSchedule(t *testing.T) {
	busy := nightly("busy", stands(v1beta2.ScheduleStateScheduled), func(o *v1beta2.ScheduledSparkApplication) {
		o.Spec.Schedule, o.Spec.ConcurrencyPolicy, o.Status.Active = "* * * * *", v1beta2.ConcurrencyForbid, []string{"busy-1"}
		o.Status.Scheduled, o.Status.LastScheduledTime = "CRON_TZ=Europe/Berlin * * * * *", ptr.To(before(10*time.Minute))
	})
	run := runOf(busy, "busy-1", v1beta2.ApplicationStateRunning)
	run.Annotations = map[string]string{v1beta2.AnnotationScheduledTime: before(10 * time.Minute).Format(time.RFC3339), v1beta2.AnnotationRunReason: "Schedule"}
	stray := runOf(busy, "stray", v1beta2.ApplicationStateRunning)
	stray.OwnerReferences = nil
	wrong := nightly("wrong", stands(v1beta2.ScheduleStateScheduled), func(o *v1beta2.ScheduledSparkApplication) {
		o.Spec.Template.Driver.Memory = ptr.To("2gb")
		// It has been scheduled for an hour: at half past two in Berlin a run would be due.
		o.Spec.TimeZone, o.Spec.Schedule = "UTC", fmt.Sprintf("30 %d * * *", time.Now().UTC().Add(3*time.Hour).Hour())
		o.Status.Scheduled = "CRON_TZ=UTC " + o.Spec.Schedule
	})
	a := newAPI(t, busy, wrong, run, stray)
	says := func(args string, texts ...string) {
		t.Helper()
		out, errOut, code := execute(t, "", append([]string{"explain"}, strings.Fields(args)...)...)
		if code != 0 {
			t.Error(errOut)
		}
		for _, text := range texts {
			if !strings.Contains(out, text) {
				t.Errorf("%s: it does not say %q:\n%s", args, text, out)
			}
		}
		if strings.Contains(out, "stray") {
			t.Errorf("a run of somebody else is among its runs:\n%s", out)
		}
	}
	says("scheduledsparkapp/busy", "ScheduledSparkApplication jobs/busy waits: the run of ", "busy-1 has not finished, and spec.concurrencyPolicy is Forbid",
		"Decision   wait until busy-1 has finished", "busy-1: RUNNING, Schedule, for ", "stop it: kubectl spark delete busy-1 -n jobs")
	says("busy", "waits: the run of ")
	says("scheduledsparkapp wrong", "starts its next run in ", "correct the template, or its runs fail: spec.template.driver.memory: \"2gb\"")
	a.Deny(request("list", "sparkapplications"))
	says("scheduledsparkapp/wrong", "runs: you may not list sparkapplications.sparkoperator.k8s.io in namespace jobs")
	a.Deny()
	out, _, _ := execute(t, "", "explain", "scheduledsparkapp/busy", "-o", "json")
	var report struct {
		Decision struct{ Sentence string }
		Runs     []struct{ Name, State string }
	}
	if err := json.Unmarshal([]byte(out), &report); err != nil || report.Decision.Sentence == "" || len(report.Runs) != 1 || report.Runs[0].State != "RUNNING" {
		t.Errorf("%v: %s", err, out)
	}
	if _, errOut, code := execute(t, "", "explain", "scheduledsparkapp/buzy"); code != 1 || !strings.Contains(errOut, `no ScheduledSparkApplication "buzy" in namespace jobs; did you mean busy?`) {
		t.Errorf("exit code %d: %s", code, errOut)
	}
}
