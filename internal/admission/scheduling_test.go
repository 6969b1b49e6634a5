// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/resolve"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/spark"
	"github.com/firesteel-dev/firesteel/internal/testutil"
)

// batch is a scheduler that answers what it is told to, and keeps what it was asked.
type batch struct {
	admission scheduler.Admission
	err       error
	decorate  func(*scheduler.Decoration) error
	asked     *scheduler.Attempt
	blind     bool
	lost      bool
}

func (batch) Describe() scheduler.Descriptor {
	return scheduler.Descriptor{
		Name: "batch", SchedulerName: "batch", DefaultQueue: "default", Supports: scheduler.Support{Queues: true},
		ManagedKeys: []scheduler.PodKey{{Part: scheduler.PodLabel, Key: "group"}},
	}
}

func (batch) Validate(scheduler.Attempt) field.ErrorList { return nil }

func (b batch) Reads(scheduler.Attempt) []scheduler.Read {
	if b.blind {
		panic("blind")
	}
	return []scheduler.Read{{Name: "q"}}
}

func (b batch) Placeholders(a scheduler.Attempt) []scheduler.Placeholder {
	if b.lost {
		panic("lost")
	}
	return []scheduler.Placeholder{{Role: spark.RoleExecutor, Count: a.PodSets.Initial}}
}

func (b batch) Admit(a scheduler.Attempt, _ scheduler.Snapshot) (scheduler.Admission, error) {
	if b.asked != nil {
		*b.asked = a
	}
	return b.admission, b.err
}

func (b batch) Decorate(a scheduler.Attempt, d *scheduler.Decoration) error {
	scheduler.SetIn(&d.Driver.Labels, "group", a.ID)
	if b.decorate != nil {
		return b.decorate(d)
	}
	return nil
}

// request is what a test changes of an application before it is validated.
type request struct {
	resolve.Application
	annotations map[string]string
}

func candidate(t *testing.T, b batch, change func(*request)) (*Candidate, Result) {
	t.Helper()
	registry, err := scheduler.NewRegistryFor(scheduler.Policy{Default: "batch", NamespaceDefaults: true}, b)
	if err != nil {
		t.Fatal(err)
	}
	o := testutil.Pi()
	o.Spec.BatchSchedulerOptions = &v1beta2.BatchSchedulerConfiguration{Queue: new("team-a")}
	r := request{Application: load(o, lifecycle.Record{})}
	if change != nil {
		change(&r)
	}
	return NewCandidate(r.Application, registry, r.annotations)
}

var goes = scheduler.Admission{
	Apply:   []*unstructured.Unstructured{{Object: map[string]any{"kind": "Group"}}},
	Verdict: scheduler.Admit, Reason: scheduler.ReasonAdmitted, Message: "room",
}

func TestAnswerIsHandedOver(t *testing.T) {
	c, answer := candidate(t, batch{admission: goes}, nil)
	want := scheduler.Choice{Scheduler: "batch", Source: scheduler.SourceCluster, Queue: "team-a"}
	if diff := cmp.Diff(want, answer.Choice); diff != "" {
		t.Errorf("the choice is known before the scheduler is asked (-want +got):\n%s", diff)
	}
	got := c.Admit(nil)
	whole := goes
	whole.Choice = want
	if diff := cmp.Diff(whole, got.Admission); diff != "" {
		t.Errorf("the plugin's answer, and whose it is (-want +got):\n%s", diff)
	}
	if pod := got.Submission.Driver; pod == nil || pod.Spec.SchedulerName != "batch" || pod.Labels["group"] != c.Attempt().ID {
		t.Errorf("the driver is not decorated: %+v", got.Admission)
	}
	if c.Plugin().Describe().Name != "batch" {
		t.Error("another plugin than the one that was asked")
	}
}

// A wait has objects, too: the group that waits.
func TestAnswerOfAWait(t *testing.T) {
	waits := goes
	waits.Verdict, waits.Message, waits.RetryAfter = scheduler.Wait, "full", time.Minute
	c, _ := candidate(t, batch{admission: waits}, nil)
	got := c.Admit(nil)
	if got.Verdict != scheduler.Wait || len(got.Apply) != 1 || got.Submission.Driver != nil {
		t.Errorf("%+v: want a wait with its group, and no driver", got)
	}
}

// Trouble of the scheduler's is never the application's fault.
func TestTrouble(t *testing.T) {
	cases := map[string]struct {
		reason string
		plugin batch
		says   string
	}{
		"Plan":      {reason: "an error", plugin: batch{err: errors.New("boom")}, says: "boom"},
		"Decorate":  {reason: "an error", plugin: batch{admission: goes, decorate: func(*scheduler.Decoration) error { return errors.New("crash") }}, says: "crash"},
		"Unclaimed": {reason: "a key that was not announced", plugin: batch{admission: goes, decorate: func(d *scheduler.Decoration) error { d.Executor.HostNetwork = true; return nil }}, says: "executors"},
		"Reads":     {reason: "a plugin that saw nothing must not judge", plugin: batch{admission: goes, blind: true}, says: "blind"},
		"Lost":      {reason: "placeholders that are not known cannot be counted", plugin: batch{admission: goes, lost: true}, says: "lost"},
		"Panic":     {reason: "a panic", plugin: batch{admission: goes, decorate: func(*scheduler.Decoration) error { panic("oops") }}, says: "oops"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c, _ := candidate(t, tc.plugin, nil)
			got := c.Admit(nil)
			if got.Err == nil {
				t.Errorf("%s: the log has nothing to say", tc.reason)
			}
			if got.Verdict != scheduler.Unavailable || got.Reason != scheduler.ReasonSchedulerFailed || got.RetryAfter <= 0 {
				t.Errorf("%s: %+v: want a wait with a timer", tc.reason, got.Admission)
			}
			if !strings.Contains(got.Message, tc.says) || !strings.Contains(got.Message, "batch") {
				t.Errorf("%s: the sentence does not say whose trouble it is: %s", tc.reason, got.Message)
			}
			if got.Submission.Driver != nil {
				t.Errorf("%s: a driver is to be created", tc.reason)
			}
		})
	}
}

func TestAttemptKnowsItsCircumstances(t *testing.T) {
	var asked scheduler.Attempt
	c, _ := candidate(t, batch{admission: goes, asked: &asked}, func(r *request) {
		r.Record.QueuedAt = start
		r.App.Scheduling.Parameters = []byte(`{"a":1}`)
		r.App.Scheduling.Resources = r.App.Executor.Overlay.Limits
	})
	c.SetQuota(scheduler.Outstanding{Held: true})
	c.Admit(nil)
	if !asked.QueuedAt.Equal(start) || string(asked.Parameters) != `{"a":1}` || !asked.Quota.Held {
		t.Errorf("%+v", asked)
	}
	if asked.Scheduler != "batch" || asked.Source != scheduler.SourceCluster || asked.Queue != "team-a" {
		t.Errorf("%s, %s, %s", asked.Scheduler, asked.Source, asked.Queue)
	}
	if diff := cmp.Diff([]scheduler.Placeholder{{Role: spark.RoleExecutor, Count: asked.PodSets.Initial}}, asked.Placeholders); diff != "" {
		t.Errorf("placeholders (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]scheduler.Read{{Name: "q"}}, c.Reads); diff != "" {
		t.Errorf("reads (-want +got):\n%s", diff)
	}
}

// What the configuration says of a plugin's parameters holds where the application says nothing, and stays for an attempt.
func TestConfiguredParameters(t *testing.T) {
	b := batch{admission: goes}
	registry, err := scheduler.NewRegistryFor(scheduler.Policy{
		Default: "batch", Parameters: map[string]scheduler.PluginParameters{"batch": {ParameterRules: scheduler.ParameterRules{Parameters: map[string]json.RawMessage{"a": []byte("2"), "b": []byte("3")}}}},
	}, b)
	if err != nil {
		t.Fatal(err)
	}
	loaded := load(testutil.Pi(), lifecycle.Record{})
	loaded.App.Scheduling.Parameters = []byte(`{"a":1}`)
	c, answer := NewCandidate(loaded, registry, nil)
	if c == nil || string(c.Attempt().Parameters) != `{"a":1,"b":3}` || c.Admit(nil).Choice.Parameters != `{"a":2,"b":3}` {
		t.Errorf("%+v, %+v", c, answer)
	}
	loaded.Record = lifecycle.Record{State: lifecycle.Running, SpecHash: loaded.Desired.SpecHash, Scheduling: lifecycle.Scheduling{
		Choice: scheduler.Choice{Scheduler: "batch", Parameters: `{"b":4}`},
	}}
	if c, answer = NewCandidate(loaded, registry, nil); c == nil || string(c.Attempt().Parameters) != `{"a":1,"b":4}` {
		t.Errorf("%+v, %+v", c, answer)
	}
}

// What an administrator's bounds forbid is named by its own field, before the application exists, too.
func TestParametersBeyondBounds(t *testing.T) {
	most := int64(5)
	registry, err := scheduler.NewRegistryFor(scheduler.Policy{
		Default: "batch", Parameters: map[string]scheduler.PluginParameters{"batch": {ParameterRules: scheduler.ParameterRules{Bounds: map[string]scheduler.Bound{"a": {Max: &most}}}}},
	}, batch{admission: goes})
	if err != nil {
		t.Fatal(err)
	}
	loaded := load(testutil.Pi(), lifecycle.Record{})
	loaded.App.Scheduling.Parameters = []byte(`{"a":6}`)
	const want = `spec.batchSchedulerOptions.parameters.a: 6: must be at most 5 (batchScheduler.plugins.batch of the operator's configuration)`
	if c, answer := NewCandidate(loaded, registry, nil); c != nil || answer.Verdict != scheduler.Reject || answer.Reason != scheduler.ReasonInvalidParameters || answer.Message != want {
		t.Errorf("%+v", answer)
	}
	var got []string
	for _, e := range DryRun(loaded, registry).Errors {
		got = append(got, e.Field+": "+e.Detail)
	}
	if diff := cmp.Diff([]string{want}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestNamespaceChooses(t *testing.T) {
	c, answer := candidate(t, batch{admission: goes}, func(r *request) {
		r.App.Scheduling = spark.Scheduling{}
		r.annotations = map[string]string{scheduler.AnnotationQueue: "theirs"}
	})
	if c == nil || answer.Choice.Queue != "theirs" {
		t.Errorf("%+v", answer)
	}
	c, answer = candidate(t, batch{admission: goes}, func(r *request) { r.App.Scheduling.Scheduler = "bacth" })
	if want := (scheduler.Choice{Scheduler: "bacth", Source: "Application"}); c != nil || answer.Choice != want {
		t.Errorf("the name that was asked for is not told: %+v", answer.Admission)
	}
	c, answer = candidate(t, batch{admission: goes}, func(r *request) {
		r.App.Scheduling.QueueFrom = "the policy"
		r.App.Scheduling.Queue = "theirs"
	})
	if c == nil || c.Attempt().QueueField() != "the policy" {
		t.Errorf("the queue is not the policy's: %+v", answer)
	}
	c, answer = candidate(t, batch{admission: goes}, func(r *request) {
		r.Record.Scheduling.Choice, r.Record.SpecHash = scheduler.Choice{Scheduler: "gone", Source: scheduler.SourceCluster}, r.Desired.SpecHash
	})
	if c != nil || answer.Verdict != scheduler.Unavailable || answer.Choice.Scheduler != "gone" || answer.Reason != scheduler.ReasonSchedulerUnknown {
		t.Errorf("an attempt keeps its scheduler, and waits for it: %+v", answer)
	}
}

// A choice that was made for an attempt stays, unless the operator did not have what was chosen: that is chosen again.
func TestRecordedChoice(t *testing.T) {
	made := lifecycle.Scheduling{Choice: scheduler.Choice{Scheduler: "batch", Source: "Namespace", Queue: "q"}}
	held := made
	held.HeldAttempt, held.HeldBy = 1, "batch"
	stays := &scheduler.Choice{Scheduler: "batch", Source: scheduler.SourceNamespace, Queue: "q"}
	cases := map[string]struct {
		reason string
		record lifecycle.Record
		app    lifecycle.Application
		want   *scheduler.Choice
	}{
		"EditedWithoutHash": {reason: "fault 4: the queue may be corrected", record: lifecycle.Record{State: lifecycle.Queued, Generation: 1, Scheduling: made}, app: lifecycle.Application{Generation: 2}},
		"WaitsWithoutHash":  {reason: "a restart of the operator is no edit", record: lifecycle.Record{State: lifecycle.Queued, Generation: 2, Scheduling: made}, app: lifecycle.Application{Generation: 2}, want: stays},
		"RunsWithoutHash":   {reason: "an edit is for the next attempt", record: lifecycle.Record{State: lifecycle.Running, Generation: 1, Scheduling: made}, app: lifecycle.Application{Generation: 2}, want: stays},
		"OtherEdit":         {reason: "nothing that an attempt is made of", record: lifecycle.Record{State: lifecycle.Queued, Generation: 1, SpecHash: "a", Scheduling: made}, app: lifecycle.Application{Generation: 2, SpecHash: "a"}, want: stays},

		"Nothing":  {reason: "the first look", record: lifecycle.Record{State: lifecycle.New}},
		"Waits":    {reason: "it waits for its scheduler", record: lifecycle.Record{State: lifecycle.Queued, Scheduling: made, Cause: lifecycle.Cause{Reason: "WaitingForQuota"}}, want: stays},
		"Edited":   {reason: "the spec says otherwise now", record: lifecycle.Record{State: lifecycle.Queued, SpecHash: "previous", Scheduling: made}},
		"Unknown":  {reason: "an administrator may have corrected a default", record: lifecycle.Record{State: lifecycle.Queued, Scheduling: made, Cause: lifecycle.Cause{Reason: "SchedulerUnknown"}}},
		"Disabled": {reason: "an administrator may have changed a default", record: lifecycle.Record{State: lifecycle.Rerunning, Scheduling: made, Cause: lifecycle.Cause{Reason: "SchedulerDisabled"}}},
		"Held":     {reason: "the scheduler has objects of the attempt", record: lifecycle.Record{State: lifecycle.Queued, Scheduling: held, Cause: lifecycle.Cause{Reason: "SchedulerDisabled"}}, want: stays},
		"Runs":     {reason: "its pods are that scheduler's", record: lifecycle.Record{State: lifecycle.Running, Scheduling: made, Cause: lifecycle.Cause{Reason: "SchedulerDisabled"}}, want: stays},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := Checked{Application: resolve.Application{Loaded: lifecycle.Loaded{Desired: tc.app}, Record: tc.record}}
			if diff := cmp.Diff(tc.want, c.request(nil).Recorded); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// An application that asks for the first time stands at the end of the line, not before everybody.
func TestFirstRequestIsQueuedNow(t *testing.T) {
	before := start.Add(-time.Hour)
	for want, record := range map[time.Time]lifecycle.Record{start: {}, before: {QueuedAt: before}} {
		a := Validate(load(testutil.Pi(), record)).attempt()
		if !a.QueuedAt.Equal(want) || !a.Now.Equal(start) {
			t.Errorf("queued at %s, want %s; asked at %s, want %s", a.QueuedAt, want, a.Now, start)
		}
	}
}

// An attempt has the place in line that it will have when its status is read again: a status has whole seconds.
func TestPlaceInLineIsAsInTheStatus(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		record time.Time
		now    time.Time
	}{
		"First": {reason: "it asks for the first time", now: start.Add(900 * time.Millisecond)},
		"Again": {reason: "it asks again", record: start, now: start.Add(5 * time.Minute)},
	} {
		t.Run(name, func(t *testing.T) {
			var asked scheduler.Attempt
			c, _ := candidate(t, batch{admission: goes, asked: &asked}, func(r *request) { r.Record.QueuedAt, r.Now = tc.record, tc.now })
			c.SetPriority(nil)
			c.Admit(nil)
			if !asked.QueuedAt.Equal(start) {
				t.Errorf("%s: it waits since %s", tc.reason, asked.QueuedAt)
			}
		})
	}
}
