// SPDX-License-Identifier: Apache-2.0

package coscheduling

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/spark"
	"github.com/firesteel-dev/firesteel/test/schedulers/schedulertest"
)

const gangOfExecutors = `{"executorGang":true}`

func attempt(parameters string) scheduler.Attempt {
	a := schedulertest.Attempt(Name)
	a.Parameters = []byte(parameters)
	return a
}

func wanted(t *testing.T, spec string) map[string]any {
	t.Helper()
	return schedulertest.Object(t, `
apiVersion: scheduling.x-k8s.io/v1alpha1
kind: PodGroup
metadata: {name: spark-0123456789abcdef-1, namespace: team-a}
spec: `+spec).Object
}

// dynamic gives an attempt dynamic allocation.
func dynamic(minimum, initial int32) func(*scheduler.Attempt) {
	return func(a *scheduler.Attempt) {
		a.PodSets.Min, a.PodSets.Initial, a.PodSets.Max = minimum, initial, 2*initial
	}
}

func TestAdmit(t *testing.T) {
	cases := map[string]struct {
		reason, parameters string
		change             func(*scheduler.Attempt)
		verdict            scheduler.Verdict
		code               scheduler.Reason
		says, spec, warns  string
	}{
		"Headroom":   {reason: "the room of all, and one member", verdict: scheduler.Admit, code: scheduler.ReasonAdmitted, says: "capacity for the whole application", spec: `{minMember: 1, minResources: {cpu: "7", memory: 14Gi}}`},
		"Gang":       {reason: "executors alone", parameters: gangOfExecutors, verdict: scheduler.Admit, code: scheduler.ReasonAdmitted, says: "its 3 executors start together", spec: `{minMember: 3}`},
		"NoGang":     {reason: "a gang of no one is none", parameters: gangOfExecutors, change: dynamic(0, 0), verdict: scheduler.Admit, code: scheduler.ReasonAdmitted, spec: `{minMember: 1, minResources: {cpu: "1", memory: 2Gi}}`},
		"Dynamic":    {reason: "dynamic allocation may delete all but its minimum before they are placed", parameters: gangOfExecutors, change: dynamic(2, 10), verdict: scheduler.Admit, code: scheduler.ReasonAdmitted, says: "the first 2 of its 10 executors start together (the minimum of dynamic allocation)", spec: `{minMember: 2}`},
		"Few":        {reason: "Spark makes as many as the gang needs", parameters: gangOfExecutors, change: func(a *scheduler.Attempt) { dynamic(2, 10)(a); a.PodSets.MaxPending = 2 }, verdict: scheduler.Admit, code: scheduler.ReasonAdmitted, spec: `{minMember: 2}`},
		"NoMinimum":  {reason: "without a minimum there is no gang, and the user is told", parameters: gangOfExecutors, change: dynamic(0, 3), verdict: scheduler.Admit, code: scheduler.ReasonAdmitted, says: "capacity for the whole application", warns: "executorGang has no effect: with dynamic allocation the gang is its minimum; set spark.dynamicAllocation.minExecutors", spec: `{minMember: 1, minResources: {cpu: "7", memory: 14Gi}}`},
		"Timeout":    {reason: "the user's patience", parameters: `{"scheduleTimeoutSeconds":30}`, verdict: scheduler.Admit, code: scheduler.ReasonAdmitted, spec: `{minMember: 1, minResources: {cpu: "7", memory: 14Gi}, scheduleTimeoutSeconds: 30}`},
		"Override":   {reason: "the user's own number where it is more", change: func(a *scheduler.Attempt) { a.Resources = schedulertest.PodResources("9", "1Gi").Requests }, verdict: scheduler.Admit, code: scheduler.ReasonAdmitted, spec: `{minMember: 1, minResources: {cpu: "9", memory: 14Gi}}`},
		"Class":      {reason: "the pods would be refused", change: func(a *scheduler.Attempt) { a.PriorityClass = "high" }, verdict: scheduler.Wait, code: scheduler.ReasonPriorityClassNotFound, says: `"high"`},
		"Never":      {reason: "Spark never makes them all", parameters: gangOfExecutors, change: func(a *scheduler.Attempt) { a.PodSets.MaxPending = 2 }, verdict: scheduler.Reject, code: scheduler.ReasonInvalidParameters, says: "maxPendingPods allows 2"},
		"Just":       {reason: "Spark makes just as many", parameters: gangOfExecutors, change: func(a *scheduler.Attempt) { a.PodSets.MaxPending = 3 }, verdict: scheduler.Admit, code: scheduler.ReasonAdmitted, spec: `{minMember: 3}`},
		"NoTime":     {reason: "no time at all", parameters: `{"scheduleTimeoutSeconds":0}`, verdict: scheduler.Reject, code: scheduler.ReasonInvalidParameters, says: "parameters.scheduleTimeoutSeconds: 0: must be at least 1"},
		"Misspelled": {reason: "no such parameter", parameters: `{"executorgang":true}`, verdict: scheduler.Reject, code: scheduler.ReasonInvalidParameters, says: "parameters.executorgang: is not a parameter of coscheduling"},
		"QueueNoted": {reason: "there are no queues to go to", change: func(a *scheduler.Attempt) { a.Queue = "q" }, verdict: scheduler.Admit, code: scheduler.ReasonAdmitted, spec: `{minMember: 1, minResources: {cpu: "7", memory: 14Gi}}`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a := attempt(tc.parameters)
			if tc.change != nil {
				tc.change(&a)
			}
			got, err := scheduler.AdmitAttempt(New(""), a, scheduler.Snapshot{})
			if err != nil || got.Verdict != tc.verdict || got.Reason != tc.code || !strings.Contains(got.Message, tc.says) || got.Warning != tc.warns {
				t.Fatalf("%s: %+v, %v; want %s, %s, %q and %q", tc.reason, got, err, tc.verdict, tc.code, tc.says, tc.warns)
			}
			schedulertest.Keeps(t, New(""), a, scheduler.Snapshot{}, scheduler.PodStatuses{})
			if tc.spec == "" {
				return
			}
			if diff := cmp.Diff(schedulertest.Numbers(wanted(t, tc.spec)), schedulertest.Numbers(got.Apply[0].Object)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestDecorate(t *testing.T) {
	a := attempt("")
	got, err := scheduler.Decorate(New("batch"), a, spark.Application{})
	if err != nil {
		t.Fatal(err)
	}
	member := spark.PodOverlay{SchedulerName: "batch", Labels: map[string]string{"scheduling.x-k8s.io/pod-group": a.ID}}
	want := spark.Application{OperatorConf: map[string]string{}, Driver: spark.Role{Overlay: member}, Executor: spark.Role{Overlay: member}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got, err = scheduler.Decorate(New("batch"), attempt(gangOfExecutors), spark.Application{}); err != nil || got.Driver.Overlay.Labels != nil || got.Executor.Overlay.Labels == nil {
		t.Errorf("a driver in the gang of its executors would wait for them forever: %+v, %v", got.Driver.Overlay.Labels, err)
	}
	if name := New("").Describe().SchedulerName; name != "scheduler-plugins-scheduler" {
		t.Errorf("scheduler name %q", name)
	}
	if diff := cmp.Diff([]scheduler.Ref{groupOf(a)}, New("").Release(a)); diff != "" {
		t.Errorf("the group goes with its attempt (-want +got):\n%s", diff)
	}
}

// facts: the driver has a node or not, and so many executors wait.
func facts(at time.Duration, placed bool, waiting int) scheduler.PodStatuses {
	f := scheduler.PodStatuses{Now: schedulertest.Start.Add(at), Driver: &scheduler.PodStatus{Phase: corev1.PodPending, SchedulerName: schedulerName}}
	f.Driver.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "resource gap"}}
	if placed {
		f.Driver = &scheduler.PodStatus{Phase: corev1.PodRunning, Node: "n1", Started: true}
	}
	for range waiting {
		f.Executors = append(f.Executors, scheduler.PodStatus{Phase: corev1.PodPending})
	}
	return f
}

// clock is a time of day after the tests' start, as an annotation has it.
func clock(at time.Duration) string { return schedulertest.Start.Add(at).Format(time.RFC3339) }

func TestCare(t *testing.T) {
	const second = time.Second
	made := func(f scheduler.PodStatuses, at time.Duration) scheduler.PodStatuses {
		f.RoomMadeAt = schedulertest.Start.Add(at)
		return f
	}
	since := func(f scheduler.PodStatuses, at time.Duration) scheduler.PodStatuses {
		f.Driver.Conditions[0].LastTransitionTime.Time = schedulertest.Start.Add(at)
		return f
	}
	cases := map[string]struct {
		reason         string
		parameters     string
		facts          scheduler.PodStatuses
		lowered        string // what the group's annotations say
		nudged         string
		cpu            string // what it asks for afterwards
		wantLow, wantN string
		retry          time.Duration
	}{
		"Waiting":   {reason: "the driver waits for the room of all", facts: facts(0, false, 0), cpu: "7", retry: pause},
		"RoomMade":  {reason: "the scheduler does not requeue it", facts: made(facts(60*second, false, 0), 59*second), cpu: "7", wantN: clock(60 * second), retry: pause},
		"Patience":  {reason: "at most every 15 s", facts: made(facts(60*second, false, 0), 59*second), nudged: clock(50 * second), cpu: "7", wantN: clock(50 * second), retry: 5 * second},
		"OldNews":   {reason: "room that was made before the last nudge", facts: made(facts(60*second, false, 0), 30*second), nudged: clock(40 * second), cpu: "7", wantN: clock(40 * second), retry: pause},
		"Overtaken": {reason: "the nudge may have reached the scheduler before the end of the pods did", facts: made(facts(75*second, false, 0), 59*second), nudged: clock(60 * second), cpu: "7", wantN: clock(75 * second), retry: pause},
		"Again":     {reason: "it is nudged once more, and not at once", facts: made(facts(65*second, false, 0), 59*second), nudged: clock(60 * second), cpu: "7", wantN: clock(60 * second), retry: 10 * second},
		"Lower":     {reason: "the driver has a node: the others need no such room", facts: facts(100*second, true, 2), cpu: "1", wantLow: clock(100 * second), retry: 5 * second},
		"Settle":    {reason: "the scheduler still judges by the old spec", facts: facts(102*second, true, 2), lowered: clock(100 * second), cpu: "1", wantLow: clock(100 * second), retry: 3 * second},
		"Nudge":     {reason: "now it judges by the new one", facts: facts(105*second, true, 2), lowered: clock(100 * second), cpu: "1", wantLow: clock(100 * second), wantN: clock(105 * second), retry: pause},
		"Once":      {reason: "one nudge suffices", facts: facts(120*second, true, 2), lowered: clock(100 * second), nudged: clock(105 * second), cpu: "1", wantLow: clock(100 * second), wantN: clock(105 * second), retry: pause},
		"Placed":    {reason: "no one waits", facts: facts(120*second, true, 0), lowered: clock(100 * second), cpu: "1", wantLow: clock(100 * second)},
		"Late":      {reason: "an executor that came later, and room for it", facts: made(facts(200*second, true, 1), 199*second), lowered: clock(100 * second), nudged: clock(105 * second), cpu: "1", wantLow: clock(100 * second), wantN: clock(200 * second), retry: pause},
		"Restarted": {reason: "a new operator takes room for made when it starts: pods that wait since before are requeued", facts: made(since(facts(60*second, false, 0), 10*second), 50*second), cpu: "7", wantN: clock(60 * second), retry: pause},
		"Newcomer":  {reason: "the scheduler knew of that room when it first found too little", facts: made(since(facts(60*second, false, 0), 55*second), 50*second), cpu: "7", retry: pause},
		"Spoilt":    {reason: "an annotation that someone wrote", facts: facts(0, false, 0), nudged: "yesterday", cpu: "7", retry: pause},
		"Gang":      {reason: "a gang asks for no room", parameters: gangOfExecutors, facts: facts(100*second, true, 2), cpu: "", retry: pause},
		"Unscathed": {reason: "the clock went back", facts: made(facts(0, false, 0), 30*second), cpu: "7", retry: 30 * second},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a := attempt(tc.parameters)
			group := &unstructured.Unstructured{Object: wanted(t, "{minMember: 1}")}
			annotations := map[string]string{}
			for key, value := range map[string]string{annotationLowered: tc.lowered, annotationNudged: tc.nudged} {
				if value != "" {
					annotations[key] = value
				}
			}
			group.SetAnnotations(annotations)
			s := scheduler.Snapshot{groupOf(a).Read(): group}
			got, err := scheduler.Observe(New(""), a, s, tc.facts)
			if err != nil || len(got.Apply) != 1 {
				t.Fatalf("%s: %+v, %v", tc.reason, got, err)
			}
			cpu, _, _ := unstructured.NestedString(got.Apply[0].Object, "spec", "minResources", "cpu")
			have := got.Apply[0].GetAnnotations()
			if cpu != tc.cpu || have[annotationLowered] != tc.wantLow || have[annotationNudged] != tc.wantN || got.RetryAfter != tc.retry {
				t.Errorf("%s: asks for %q CPU, %v, again after %s; want %q, %q, %q, %s",
					tc.reason, cpu, have, got.RetryAfter, tc.cpu, tc.wantLow, tc.wantN, tc.retry)
			}
			schedulertest.Keeps(t, New(""), a, s, tc.facts)
		})
	}
}

func TestObserve(t *testing.T) {
	gone := facts(0, true, 0)
	gone.Driver.Deleting = true
	ended := facts(0, true, 0)
	ended.Driver.Phase = corev1.PodFailed
	cases := map[string]struct {
		reason, parameters string
		facts              scheduler.PodStatuses
		stage              scheduler.Stage
		code               scheduler.Reason
		applies            bool
	}{
		"Queued":   {reason: "the driver waits", facts: facts(0, false, 0), stage: scheduler.StageQueued, code: scheduler.ReasonWaitingForCapacity, applies: true},
		"Short":    {reason: "executors wait one by one", facts: facts(0, true, 2), stage: scheduler.StageShort, code: scheduler.ReasonWaitingForCapacity, applies: true},
		"Gang":     {reason: "executors wait for each other", parameters: gangOfExecutors, facts: facts(0, true, 2), stage: scheduler.StageShort, code: scheduler.ReasonWaitingForGang, applies: true},
		"Absent":   {reason: "no driver, no care", stage: scheduler.StageGone, code: scheduler.ReasonDriverGone},
		"Deleting": {reason: "a group being deleted is not recreated", facts: gone, stage: scheduler.StagePlaced, code: scheduler.ReasonScheduled},
		"Ended":    {reason: "an attempt that is over", facts: ended, stage: scheduler.StagePlaced, code: scheduler.ReasonScheduled},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a := attempt(tc.parameters)
			got, err := scheduler.Observe(New(""), a, scheduler.Snapshot{groupOf(a).Read(): nil}, tc.facts)
			if err != nil || got.Stage != tc.stage || got.Reason != tc.code || (len(got.Apply) > 0) != tc.applies {
				t.Errorf("%s: %+v, %v; want %s and %s", tc.reason, got, err, tc.stage, tc.code)
			}
		})
	}
}

func FuzzPlugin(f *testing.F) {
	group := schedulertest.Object(f, "metadata: {annotations: {firesteel.dev/nudged-at: x}}")
	schedulertest.Fuzz(f, New(""), func(scheduler.Read) *unstructured.Unstructured { return group })
}

func BenchmarkAdmit(b *testing.B) {
	schedulertest.Bench(b, New(""), attempt(gangOfExecutors), scheduler.Snapshot{})
}

// Pods that the user put into a group stay there: the plugin waits for it, makes none and touches none.
func TestUsersGroup(t *testing.T) {
	mine := map[string]string{"scheduling.x-k8s.io/pod-group": "mine"}
	theirs := scheduler.Ref{GroupVersionKind: podGroupKind, Namespace: "team-a", Name: "mine"}
	exists := &unstructured.Unstructured{Object: wanted(t, "{minMember: 3}")}
	cases := map[string]struct {
		reason   string
		set      func(*scheduler.Attempt)
		snapshot func(scheduler.Attempt) scheduler.Snapshot
		verdict  scheduler.Verdict
		code     scheduler.Reason
		says     string
		deletes  int
	}{
		"Absent": {reason: "the scheduler would place nothing", set: func(a *scheduler.Attempt) { a.PodSets.ExecutorAttributes.Labels = mine },
			verdict: scheduler.Wait, code: scheduler.ReasonPodGroupNotFound, says: "PodGroup mine does not exist; create it"},
		"There": {reason: "the group decides", set: func(a *scheduler.Attempt) {
			a.PodSets.DriverAttributes.Labels, a.PodSets.ExecutorAttributes.Labels = mine, mine
		},
			snapshot: func(scheduler.Attempt) scheduler.Snapshot { return scheduler.Snapshot{theirs.Read(): exists} }, verdict: scheduler.Admit, code: scheduler.ReasonAdmitted, says: "the pods belong to PodGroup mine"},
		"Before": {reason: "the one that was made before the edit would hold room", set: func(a *scheduler.Attempt) { a.PodSets.DriverAttributes.Labels = mine },
			snapshot: func(a scheduler.Attempt) scheduler.Snapshot {
				return scheduler.Snapshot{theirs.Read(): exists, groupOf(a).Read(): exists}
			}, verdict: scheduler.Admit, code: scheduler.ReasonAdmitted, deletes: 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a, s := attempt(""), scheduler.Snapshot{}
			tc.set(&a)
			if tc.snapshot != nil {
				s = tc.snapshot(a)
			}
			got, err := scheduler.AdmitAttempt(New(""), a, s)
			if err != nil || got.Verdict != tc.verdict || got.Reason != tc.code || !strings.Contains(got.Message, tc.says) || len(got.Apply) > 0 || len(got.Delete) != tc.deletes {
				t.Errorf("%s: %+v, %v", tc.reason, got, err)
			}
			app, err := scheduler.Decorate(New(""), a, spark.Application{})
			if err != nil || len(app.Driver.Overlay.Labels)+len(app.Executor.Overlay.Labels) > 0 || app.Driver.Overlay.SchedulerName == "" {
				t.Errorf("%s: marks %+v, %v", tc.reason, app, err)
			}
			o, err := scheduler.Observe(New(""), a, s, facts(0, true, 2))
			if err != nil || len(o.Apply) > 0 {
				t.Errorf("%s: it writes %+v, %v", tc.reason, o.Apply, err)
			}
			schedulertest.Keeps(t, New(""), a, s, facts(0, true, 2))
		})
	}
}
