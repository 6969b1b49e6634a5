// SPDX-License-Identifier: Apache-2.0

package prepare

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// batch is a scheduler that answers what it is told to, and keeps what it was asked.
type batch struct {
	plan     scheduler.Plan
	err      error
	decorate func(*scheduler.Decoration) error
	asked    *scheduler.Attempt
	blind    bool
}

func (batch) Describe() scheduler.Descriptor {
	return scheduler.Descriptor{
		Name: "batch", SchedulerName: "batch", DefaultQueue: "default", Supports: scheduler.Support{Queues: true},
		Claims: []scheduler.PodKey{{Part: scheduler.PodLabel, Key: "group"}},
	}
}

func (batch) Validate(scheduler.Attempt) []scheduler.Finding { return nil }

func (b batch) Reads(scheduler.Attempt) []scheduler.Read {
	if b.blind {
		panic("blind")
	}
	return []scheduler.Read{{Name: "q"}}
}

func (b batch) Plan(a scheduler.Attempt, _ scheduler.Snapshot) (scheduler.Plan, error) {
	if b.asked != nil {
		*b.asked = a
	}
	return b.plan, b.err
}

func (b batch) Decorate(a scheduler.Attempt, d *scheduler.Decoration) error {
	scheduler.SetIn(&d.Driver.Labels, "group", a.ID)
	if b.decorate != nil {
		return b.decorate(d)
	}
	return nil
}

func candidate(t *testing.T, b batch, change func(*Request)) (*Candidate, Prepared) {
	t.Helper()
	registry, err := scheduler.NewRegistryFor(scheduler.Policy{Default: "batch", NamespaceDefaults: true}, b)
	if err != nil {
		t.Fatal(err)
	}
	o := pi()
	o.Spec.BatchSchedulerOptions = &v1beta2.BatchSchedulerConfiguration{Queue: new("team-a")}
	app, problems := kubeflow.Normalise(o)
	r := Request{App: app, Problems: problems, Identity: spark.NewIdentity(o.UID, 1, start), Attempt: 1}
	if change != nil {
		change(&r)
	}
	return Examine(r, registry)
}

var goes = scheduler.Plan{
	Apply:     []*unstructured.Unstructured{{Object: map[string]any{"kind": "Group"}}},
	Admission: scheduler.Admission{Verdict: scheduler.Go, Reason: scheduler.ReasonAdmitted, Message: "room"},
}

func TestPlanIsHandedOver(t *testing.T) {
	c, prepared := candidate(t, batch{plan: goes}, nil)
	want := scheduler.Choice{Scheduler: "batch", Source: scheduler.SourceCluster, Queue: "team-a"}
	if diff := cmp.Diff(want, prepared.Choice); diff != "" {
		t.Errorf("the choice is known before the scheduler is asked (-want +got):\n%s", diff)
	}
	got := c.Prepare(nil)
	if diff := cmp.Diff(goes, got.Plan); diff != "" {
		t.Errorf("plan (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, got.Choice); diff != "" {
		t.Errorf("choice (-want +got):\n%s", diff)
	}
	if pod := got.Submission.Driver; pod == nil || pod.Spec.SchedulerName != "batch" || pod.Labels["group"] != c.Attempt().ID {
		t.Errorf("the driver is not decorated: %+v", got.Gate)
	}
	if c.Plugin().Describe().Name != "batch" {
		t.Error("another plugin than the one that was asked")
	}
}

// A wait has objects, too: the group that waits.
func TestPlanOfAWait(t *testing.T) {
	waits := goes
	waits.Verdict, waits.Message, waits.RetryAfter = scheduler.Wait, "full", time.Minute
	c, _ := candidate(t, batch{plan: waits}, nil)
	got := c.Prepare(nil)
	if got.Gate.Verdict != lifecycle.Waiting || len(got.Plan.Apply) != 1 || got.Submission.Driver != nil {
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
		"Decorate":  {reason: "an error", plugin: batch{plan: goes, decorate: func(*scheduler.Decoration) error { return errors.New("crash") }}, says: "crash"},
		"Unclaimed": {reason: "a key that was not announced", plugin: batch{plan: goes, decorate: func(d *scheduler.Decoration) error { d.Executor.HostNetwork = true; return nil }}, says: "executors"},
		"Reads":     {reason: "a plugin that saw nothing must not judge", plugin: batch{plan: goes, blind: true}, says: "blind"},
		"Panic":     {reason: "a panic", plugin: batch{plan: goes, decorate: func(*scheduler.Decoration) error { panic("oops") }}, says: "oops"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c, _ := candidate(t, tc.plugin, nil)
			c.Reads()
			got := c.Prepare(nil)
			if got.Trouble == nil {
				t.Errorf("%s: the log has nothing to say", tc.reason)
			}
			if got.Gate.Verdict != lifecycle.Waiting || got.Plan.Reason != scheduler.ReasonSchedulerFailed || got.Gate.RetryAfter <= 0 {
				t.Errorf("%s: %+v: want a wait with a timer", tc.reason, got.Gate)
			}
			if !strings.Contains(got.Gate.Cause.Message, tc.says) || !strings.Contains(got.Gate.Cause.Message, "batch") {
				t.Errorf("%s: the sentence does not say whose trouble it is: %s", tc.reason, got.Gate.Cause.Message)
			}
			if got.Submission.Driver != nil {
				t.Errorf("%s: a driver is to be created", tc.reason)
			}
		})
	}
}

func TestAttemptKnowsItsCircumstances(t *testing.T) {
	var asked scheduler.Attempt
	c, _ := candidate(t, batch{plan: goes, asked: &asked}, func(r *Request) {
		r.QueuedAt = start
		r.User = scheduler.User{Name: "ann"}
		r.App.Scheduling.Parameters = []byte(`{"a":1}`)
		r.App.Scheduling.Resources = r.App.Executor.Overlay.Limits
	})
	c.SetQuota(scheduler.Outstanding{Held: true})
	c.Prepare(nil)
	if !asked.QueuedAt.Equal(start) || asked.User.Name != "ann" || string(asked.Parameters) != `{"a":1}` || !asked.Quota.Held {
		t.Errorf("%+v", asked)
	}
	if asked.Scheduler != "batch" || asked.Source != scheduler.SourceCluster || asked.Queue != "team-a" {
		t.Errorf("%s, %s, %s", asked.Scheduler, asked.Source, asked.Queue)
	}
	if diff := cmp.Diff([]scheduler.Read{{Name: "q"}}, c.Reads()); diff != "" {
		t.Errorf("reads (-want +got):\n%s", diff)
	}
}

func TestNamespaceChooses(t *testing.T) {
	c, prepared := candidate(t, batch{plan: goes}, func(r *Request) {
		r.App.Scheduling = spark.Scheduling{}
		r.NamespaceAnnotations = map[string]string{scheduler.AnnotationQueue: "theirs"}
	})
	if c == nil || prepared.Choice.Queue != "theirs" {
		t.Errorf("%+v", prepared)
	}
	c, prepared = candidate(t, batch{plan: goes}, func(r *Request) { r.App.Scheduling.Scheduler = "bacth" })
	if want := (lifecycle.Choice{Scheduler: "bacth", Source: "Application"}); c != nil || prepared.Gate.Choice != want {
		t.Errorf("the name that was asked for is not told: %+v", prepared.Gate)
	}
	c, prepared = candidate(t, batch{plan: goes}, func(r *Request) {
		r.App.Scheduling.QueueFrom = "the policy"
		r.App.Scheduling.Queue = "theirs"
	})
	if c == nil || c.Attempt().QueueField() != "the policy" {
		t.Errorf("the queue is not the policy's: %+v", prepared)
	}
	c, prepared = candidate(t, batch{plan: goes}, func(r *Request) { r.Recorded = &scheduler.Choice{Scheduler: "gone", Source: scheduler.SourceCluster} })
	if c != nil || prepared.Gate.Verdict != lifecycle.Waiting || prepared.Choice.Scheduler != "gone" || prepared.Plan.Reason != scheduler.ReasonSchedulerUnknown {
		t.Errorf("an attempt keeps its scheduler, and waits for it: %+v", prepared)
	}
}
