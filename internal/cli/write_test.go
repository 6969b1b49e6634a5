// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/inspect"
	"github.com/firesteel-dev/firesteel/internal/testutil"
	"github.com/firesteel-dev/firesteel/internal/testutil/apiserver"
)

// nightly is a schedule of namespace jobs.
func nightly(name string, changes ...func(*v1beta2.ScheduledSparkApplication)) *v1beta2.ScheduledSparkApplication {
	o := &v1beta2.ScheduledSparkApplication{
		ObjectMeta: metav1.ObjectMeta{Namespace: "jobs", Name: name, UID: types.UID("uid-" + name), Generation: 1, CreationTimestamp: before(time.Hour)},
		Spec:       v1beta2.ScheduledSparkApplicationSpec{Schedule: "30 2 * * *", TimeZone: "Europe/Berlin", Template: testutil.Pi().Spec},
	}
	for _, c := range changes {
		c(o)
	}
	return o
}

// runOf is a run of a schedule.
func runOf(s *v1beta2.ScheduledSparkApplication, name string, state v1beta2.ApplicationStateType) *v1beta2.SparkApplication {
	o := inState(name, state)
	o.Labels = map[string]string{v1beta2.LabelScheduledAppName: s.Name}
	o.OwnerReferences = []metav1.OwnerReference{{APIVersion: v1beta2.GroupVersion.String(), Kind: "ScheduledSparkApplication", Name: s.Name, UID: s.UID}}
	return o
}

// written are the requests that change something, with their bodies.
func written(a *apiserver.Server) []string {
	var all []string
	for _, r := range a.Requests() {
		if r.Verb == "patch" || r.Verb == "delete" {
			all = append(all, fmt.Sprintf("%s %s/%s %s", r.Verb, r.Resource, r.Name, strings.TrimSpace(r.Body)))
		}
	}
	return all
}

var instants = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`)

// verbCase is a command that may write: what it prints, and what it asks of the API server.
type verbCase struct {
	reason      string
	args        string
	out, errOut string
	code        int
	wrote       []string
}

func (tc verbCase) run(t *testing.T, a *apiserver.Server) {
	t.Helper()
	a.AllowWrites()
	out, errOut, code := execute(t, "", strings.Fields(tc.args)...)
	if diff := cmp.Diff(tc.out, out) + cmp.Diff(tc.errOut, errOut); diff != "" || code != tc.code {
		t.Errorf("%s: exit code %d, want %d (-want +got):\n%s", tc.reason, code, tc.code, diff)
	}
	wrote := written(a)
	for i, line := range wrote {
		if !strings.Contains(line, "backfill") {
			wrote[i] = instants.ReplaceAllString(line, "NOW")
		}
	}
	if diff := cmp.Diff(tc.wrote, wrote); diff != "" {
		t.Errorf("%s: what was written (-want +got):\n%s", tc.reason, diff)
	}
}

func TestVerbs(t *testing.T) {
	stopped := true
	held := inState("held", v1beta2.ApplicationStateSuspended)
	held.Spec.Suspend = &stopped
	busy := nightly("busy", func(o *v1beta2.ScheduledSparkApplication) {
		o.Spec.ConcurrencyPolicy, o.Status.Active = v1beta2.ConcurrencyForbid, []string{"busy-1"}
	})
	replaces := nightly("replaces", func(o *v1beta2.ScheduledSparkApplication) {
		o.Spec.ConcurrencyPolicy, o.Status.Active = v1beta2.ConcurrencyReplace, []string{"replaces-1"}
	})
	march := nightly("march", func(o *v1beta2.ScheduledSparkApplication) {
		o.Spec.Backfill = &v1beta2.ScheduleBackfill{From: metav1.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), To: metav1.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC)}
	})
	const app, schedule = "sparkapplication.sparkoperator.k8s.io/", "scheduledsparkapplication.sparkoperator.k8s.io/"
	cases := map[string]verbCase{
		"suspend": {
			"an application", "suspend pi", app + "pi suspended\n", "", 0,
			[]string{`patch sparkapplications/pi {"metadata":{"uid":"uid-pi"},"spec":{"suspend":true}}`},
		},
		"resume": {
			"several, of which one goes on already", "resume held pi", app + "held resumed\n" + app + "pi resumed (no change)\n", "", 0,
			[]string{`patch sparkapplications/held {"metadata":{"uid":"uid-held"},"spec":{"suspend":false}}`},
		},
		"suspend a schedule": {
			"named with its type, as kubectl takes it", "suspend scheduledsparkapp/busy", schedule + "busy suspended\n", "busy: 1 run is still running: busy-1\n", 0,
			[]string{`patch scheduledsparkapplications/busy {"metadata":{"uid":"uid-busy"},"spec":{"suspend":true}}`},
		},
		"suspend what is over": {
			"the field is set, and does nothing now", "suspend done", app + "done suspended\n", "done: it is COMPLETED; the change takes effect when it runs again\n", 0,
			[]string{`patch sparkapplications/done {"metadata":{"uid":"uid-done"},"spec":{"suspend":true}}`},
		},
		"no type": {
			"no application has the name, but a schedule", "suspend nightly", schedule + "nightly suspended\n", "", 0,
			[]string{`patch scheduledsparkapplications/nightly {"metadata":{"uid":"uid-nightly"},"spec":{"suspend":true}}`},
		},
		"type before names": {
			"kubectl's other form", "suspend ScheduledSparkApplications.v1beta2.sparkoperator.k8s.io nightly march", schedule + "nightly suspended\n" + schedule + "march suspended\n", "", 0,
			[]string{
				`patch scheduledsparkapplications/nightly {"metadata":{"uid":"uid-nightly"},"spec":{"suspend":true}}`,
				`patch scheduledsparkapplications/march {"metadata":{"uid":"uid-march"},"spec":{"suspend":true}}`,
			},
		},
		"selector": {
			"by label", "suspend scheduledsparkapplications -l x=y", "", "No resources found in namespace jobs.\n", 0, nil,
		},
		"selector of applications": {
			"the runs of a schedule", "suspend -l sparkoperator.k8s.io/scheduled-app-name=busy", app + "busy-1 suspended\n" + app + "busy-2 suspended\n",
			"busy-2: it is FAILED; the change takes effect when it runs again\n", 0,
			[]string{
				`patch sparkapplications/busy-1 {"metadata":{"uid":"uid-busy-1"},"spec":{"suspend":true}}`,
				`patch sparkapplications/busy-2 {"metadata":{"uid":"uid-busy-2"},"spec":{"suspend":true}}`,
			},
		},
		"all without yes": {
			"so much is asked for twice", "delete scheduledsparkapp --all", "",
			schedule + "busy would be deleted\n" + schedule + "replaces would be deleted\n" + schedule + "march would be deleted\n" + schedule + "nightly would be deleted\n" +
				"error: --all: these are all objects of the type in namespace jobs; with --yes they are deleted\n", 1, nil,
		},
		"all": {
			"with --yes", "resume scheduledsparkapp --all --yes", schedule + "busy resumed (no change)\n" + schedule + "replaces resumed (no change)\n" + schedule + "march resumed (no change)\n" + schedule + "nightly resumed (no change)\n", "", 0, nil,
		},
		"rerun": {
			"at the present time", "rerun pi", app + "pi rerun\n", "", 0,
			[]string{`patch sparkapplications/pi {"metadata":{"annotations":{"sparkoperator.k8s.io/rerun-at":"NOW"},"uid":"uid-pi"}}`},
		},
		"rerun what is suspended": {
			"it does not run yet", "rerun held", app + "held rerun\n", "held: it is suspended, and runs after kubectl spark resume held\n", 0,
			[]string{`patch sparkapplications/held {"metadata":{"annotations":{"sparkoperator.k8s.io/rerun-at":"NOW"},"uid":"uid-held"}}`},
		},
		"rerun a schedule": {
			"that has another name", "rerun nightly", "", "error: nightly is a ScheduledSparkApplication: kubectl spark trigger nightly starts a run of it\n", 1, nil,
		},
		"trigger": {
			"at the present time", "trigger nightly", schedule + "nightly triggered\n", "", 0,
			[]string{`patch scheduledsparkapplications/nightly {"metadata":{"annotations":{"sparkoperator.k8s.io/trigger-at":"NOW"},"uid":"uid-nightly"}}`},
		},
		"trigger with Forbid": {
			"it waits", "trigger busy", schedule + "busy triggered\n", "busy: spec.concurrencyPolicy is Forbid: the run starts when busy-1 has finished\n", 0,
			[]string{`patch scheduledsparkapplications/busy {"metadata":{"annotations":{"sparkoperator.k8s.io/trigger-at":"NOW"},"uid":"uid-busy"}}`},
		},
		"trigger with Replace": {
			"finding 14: it says that it ends what runs", "trigger replaces", schedule + "replaces triggered\n",
			"replaces: spec.concurrencyPolicy is Replace: running ones are deleted first, unless a backfill started them: replaces-1\n", 0,
			[]string{`patch scheduledsparkapplications/replaces {"metadata":{"annotations":{"sparkoperator.k8s.io/trigger-at":"NOW"},"uid":"uid-replaces"}}`},
		},
		"trigger an application": {
			"that has another name", "trigger pi", "", "error: pi is a SparkApplication: kubectl spark rerun pi runs it again\n", 1, nil,
		},
		"backfill": {
			"a range of dates, in the zone of the schedule", "trigger nightly --from 2026-03-01 --to 2026-04-01T00:00:00Z --max-active 2", schedule + "nightly triggered\n",
			"nightly: the runs from 2026-03-01T00:00:00+01:00 until before 2026-04-01T02:00:00+02:00\n", 0,
			[]string{`patch scheduledsparkapplications/nightly {"metadata":{"uid":"uid-nightly"},"spec":{"backfill":{"from":"2026-02-28T23:00:00Z","maxActive":2,"to":"2026-04-01T00:00:00Z"}}}`},
		},
		"backfill once more": {
			"the range is there", "trigger march --from 2026-03-01T00:00:00Z --to 2026-04-01T00:00:00Z", schedule + "march triggered (no change)\n",
			"march: this range is its backfill already; another range starts a new one\n", 0, nil,
		},
		"no range":  {"half a range", "trigger nightly --from 2026-03-01", "", "error: --from and --to: write both\n", 1, nil},
		"backwards": {"the end is before the beginning", "trigger nightly --from 2026-03-02 --to 2026-03-01", "", "error: " + schedule + "nightly: --to: 2026-02-28T23:00:00Z is not after --from, which is 2026-03-01T23:00:00Z\n", 1, nil},
		"no date":   {"a word", "trigger nightly --from march --to 2026-03-01", "", "error: " + schedule + "nightly: --from: \"march\" is neither a date such as 2026-01-31 nor a time such as 2026-01-31T09:00:00Z\n", 1, nil},
		"delete": {
			"and what goes with it", "delete pi", app + "pi deleted\n", "pi: it was RUNNING; driver pod pi-driver, its executors and its other objects are deleted with it\n", 0,
			[]string{`delete sparkapplications/pi {"kind":"DeleteOptions","apiVersion":"v1","preconditions":{"uid":"uid-pi"},"propagationPolicy":"Background"}`},
		},
		"delete a schedule": {
			"and its runs", "delete scheduledsparkapp/busy", schedule + "busy deleted\n", "busy: its 2 runs go with it: busy-1, busy-2\nbusy: not finished: busy-1\n", 0,
			[]string{`delete scheduledsparkapplications/busy {"kind":"DeleteOptions","apiVersion":"v1","preconditions":{"uid":"uid-busy"},"propagationPolicy":"Background"}`},
		},
		"keep runs": {
			"the schedule alone", "delete busy --keep-runs", schedule + "busy deleted\n", "busy: its 2 runs stay: busy-1, busy-2\nbusy: not finished: busy-1\n", 0,
			[]string{`delete scheduledsparkapplications/busy {"kind":"DeleteOptions","apiVersion":"v1","preconditions":{"uid":"uid-busy"},"propagationPolicy":"Orphan"}`},
		},
		"client":  {"nothing is sent", "delete pi --dry-run=client", app + "pi deleted (dry run)\n", "pi: it was RUNNING; driver pod pi-driver, its executors and its other objects are deleted with it\n", 0, nil},
		"dry run": {"a mode that there is not", "delete pi --dry-run=yes", "", "error: --dry-run: invalid value \"yes\": must be one of none, client, server\n", 1, nil},
		"server": {
			"the API server is asked", "suspend pi --dry-run=server", app + "pi suspended (server dry run)\n", "", 0,
			[]string{`patch sparkapplications/pi {"metadata":{"uid":"uid-pi"},"spec":{"suspend":true}}`},
		},
		"near name": {
			"of both kinds; what there is, is done", "suspend nightl done", app + "done suspended\n",
			"done: it is COMPLETED; the change takes effect when it runs again\n" +
				"error: there is no SparkApplication \"nightl\" in namespace jobs; did you mean scheduledsparkapp/nightly?\n", 1,
			[]string{`patch sparkapplications/done {"metadata":{"uid":"uid-done"},"spec":{"suspend":true}}`},
		},
		"type that is a name": {
			"what was meant is not known", "delete pods pi", "",
			"error: there is no SparkApplication \"pods\" in namespace jobs; kubectl spark list -A shows all\n" +
				"error: nothing is deleted, because some of them do not exist\n", 1, nil,
		},
		"no type of ours": {"another kind", "delete pod/pi", "", "error: there is no type \"pod\" here; the types are sparkapp, scheduledsparkapp, sparkconn, sparkapplications.spark.apache.org and sparkcluster\n", 1, nil},
		"nothing":         {"a name is missing", "suspend", "", "error: an argument is missing; write kubectl spark suspend [TYPE/]NAME...\n", 1, nil},
		"too many":        {"a type is one word", "delete --all --yes pods pi", "", "error: \"pi\" is an argument too many; write kubectl spark delete [TYPE/]NAME...\n", 1, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a := newAPI(t, inState("pi", v1beta2.ApplicationStateRunning), held, inState("done", v1beta2.ApplicationStateCompleted), busy, replaces, march, nightly("nightly"),
				runOf(busy, "busy-1", v1beta2.ApplicationStateRunning), runOf(busy, "busy-2", v1beta2.ApplicationStateFailed))
			tc.run(t, a)
		})
	}
}

// The server must not change anything in a dry run, and says so in the request.
func TestServerDryRunIsAsked(t *testing.T) {
	a := newAPI(t, inState("pi", v1beta2.ApplicationStateRunning))
	a.AllowWrites()
	for _, command := range []string{"suspend", "rerun", "delete"} {
		if _, errOut, code := execute(t, "", command, "pi", "--dry-run=server"); code != 0 {
			t.Error(errOut)
		}
	}
	for _, r := range a.Requests() {
		asked := strings.Contains(r.URL, "dryRun=All") || strings.Contains(r.Body, `"dryRun":["All"]`)
		if (r.Verb == "patch" || r.Verb == "delete") && !asked {
			t.Errorf("%s %s: no dry run: %s", r.Verb, r.URL, r.Body)
		}
	}
}

// Two requests within a second, or from machines whose clocks differ, are two requests.
func TestLaterThan(t *testing.T) {
	now := time.Date(2026, 11, 22, 9, 0, 0, 5000, time.UTC)
	for annotation, want := range map[string]string{
		"":                              "2026-11-22T09:00:00Z",
		"2026-11-22T08:59:59Z":          "2026-11-22T09:00:00Z",
		"2026-11-22T09:00:00Z":          "2026-11-22T09:00:01Z",
		"2026-11-22T11:30:00.123+02:00": "2026-11-22T09:30:01Z",
		"yesterday":                     "2026-11-22T09:00:00Z",
	} {
		o := nightly("a")
		o.Annotations = map[string]string{v1beta2.AnnotationTriggerAt: annotation}
		if got := stamp(laterThan(stored(t, o), v1beta2.AnnotationTriggerAt, now)); got != want {
			t.Errorf("after %q: %s, want %s", annotation, got, want)
		}
	}
}

// A right that is missing is named, with where it can come from.
func TestForbiddenWrites(t *testing.T) {
	a := newAPI(t, inState("pi", v1beta2.ApplicationStateRunning))
	a.AllowWrites()
	a.Deny(request("patch", "sparkapplications"), request("delete", "sparkapplications"))
	for command, verb := range map[string]string{"suspend": "patch", "rerun": "patch", "delete": "delete"} {
		_, errOut, code := execute(t, "", command, "pi")
		want := "you may not " + verb + " sparkapplications.sparkoperator.k8s.io in namespace jobs: an administrator can grant you that permission; " +
			"the cluster role edit includes it"
		if code != 1 || !strings.Contains(errOut, want) {
			t.Errorf("%s: exit code %d, %s", command, code, errOut)
		}
	}
}

// A cluster whose definitions are of a release without a kind is one without objects of it.
func TestVerbsWithoutAKind(t *testing.T) {
	cases := map[string]struct {
		kind schema.GroupVersionKind
		says map[string]string
	}{
		"Schedules": {scheduleKind, map[string]string{
			"suspend p1": "did you mean pi?", "suspend scheduledsparkapp/a": "the cluster does not know ScheduledSparkApplications", "trigger a": "the cluster does not know ScheduledSparkApplications",
		}},
		"Servers": {serverKind, map[string]string{
			"suspend p1": "did you mean pi?", "suspend sparkconn/nb": "the cluster does not know SparkConnects (sparkoperator.k8s.io/v1alpha1)",
			"connect nb": "the cluster does not know SparkConnects", "list servers": "the cluster does not know SparkConnects",
		}},
		"Clusters": {clusterKind, map[string]string{
			"suspend p1": "did you mean pi?", "suspend sparkcluster/lab": "the cluster does not know SparkClusters (spark.apache.org/v1)", "list clusters": "the cluster does not know SparkClusters",
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a := newAPI(t, inState("pi", v1beta2.ApplicationStateRunning))
			a.AllowWrites()
			a.Uninstall(tc.kind)
			for args, want := range tc.says {
				if _, errOut, code := execute(t, "", strings.Fields(args)...); code != 1 || !strings.Contains(errOut, want) {
					t.Errorf("%s: exit code %d, %s", args, code, errOut)
				}
			}
			if out, errOut, code := execute(t, "", "suspend", "pi"); code != 0 {
				t.Errorf("exit code %d, %s%s", code, out, errOut)
			}
		})
	}
}

func TestSchedulesAreCompleted(t *testing.T) {
	newAPI(t, inState("pi", ""), nightly("nightly"))
	for args, want := range map[string]string{"suspend": "pi\nscheduledsparkapp/nightly\n", "suspend pi": "scheduledsparkapp/nightly\n", "trigger": "nightly\n", "rerun": "pi\n"} {
		if out, _, _ := execute(t, "", append([]string{"__complete"}, append(strings.Fields(args), "")...)...); !strings.HasPrefix(out, want) {
			t.Errorf("%s: %q", args, out)
		}
	}
}

// stored is an object as the program reads it.
func stored(t *testing.T, o *v1beta2.ScheduledSparkApplication) inspect.Object {
	t.Helper()
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		t.Fatal(err)
	}
	return inspect.Object{Type: inspect.Schedules, Unstructured: &unstructured.Unstructured{Object: fields}}
}
