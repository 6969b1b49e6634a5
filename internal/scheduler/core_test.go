// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/firesteel-dev/firesteel/internal/spark"
)

func TestAdmit(t *testing.T) {
	wait := Admission{Verdict: Wait, Reason: "Full", Message: "3 ahead"}
	cases := map[string]struct {
		reason   string
		findings field.ErrorList
		want     Admission
		asked    int
	}{
		"Plan":    {reason: "the plugin's answer as it is", want: wait, asked: 1},
		"Finding": {reason: "what is wrong in the spec needs no look at the cluster", findings: field.ErrorList{Invalid("spec.a", "must be b")}, want: Admission{Verdict: Reject, Reason: ReasonInvalidParameters, Message: "spec.a: must be b"}},
		"Several": {reason: "all mistakes at once", findings: field.ErrorList{Invalid("spec.a", "must be b"), Invalid("spec.c", "must be d")}, want: Admission{Verdict: Reject, Reason: ReasonInvalidParameters, Message: "spec.a: must be b; spec.c: must be d"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			asked := 0
			got, err := AdmitAttempt(stub{findings: tc.findings, admission: wait, asked: &asked}, Attempt{}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if asked != tc.asked {
				t.Errorf("%s: Admit was asked %d times, want %d", tc.reason, asked, tc.asked)
			}
		})
	}
}

// A failure is a wait that names the plugin, and an error for the log.
func TestAdmitFails(t *testing.T) {
	boom := errors.New("boom")
	got, err := AdmitAttempt(stub{name: "x", planErr: boom}, Attempt{}, nil)
	if !errors.Is(err, boom) {
		t.Errorf("the error is lost: %v", err)
	}
	if got.Verdict != Unavailable || got.Reason != ReasonSchedulerFailed || got.RetryAfter <= 0 {
		t.Errorf("%+v: want a wait with a timer", got)
	}
	for _, text := range []string{"plugin x", "Admit", "boom"} {
		if !strings.Contains(got.Message, text) {
			t.Errorf("the sentence does not say %q: %s", text, got.Message)
		}
	}
}

// wild panics wherever it is asked.
type wild struct{}

func (wild) Describe() Descriptor { return Descriptor{Name: "wild"} }
func (wild) Validate(a Attempt) field.ErrorList {
	return field.ErrorList{Invalid(third(a.Parameters), "")}
}
func (wild) Reads(Attempt) []Read                                        { panic("reads") }
func (wild) Admit(Attempt, Snapshot) (Admission, error)                  { panic("plan") }
func (wild) Decorate(Attempt, *Decoration) error                         { panic("decorate") }
func (wild) ObserveReads(Attempt, PodStatuses) []Read                    { panic("observe reads") }
func (wild) Observe(Attempt, Snapshot, PodStatuses) (Observation, error) { panic("observe") }
func (wild) Release(Attempt) []Ref                                       { panic("release") }
func (wild) Placeholders(Attempt) []Placeholder                          { panic("placeholders") }
func (wild) QueueReads(Attempt) []Read                                   { panic("queue reads") }
func (wild) QueueUsage(Attempt, Snapshot) ([]Usage, error)               { panic("queue usage") }

// third panics like a plugin that trusts its input.
func third(text []byte) string { return string(text[2]) }

func TestPanicsBecomeErrors(t *testing.T) {
	calls := map[string]func() error{
		"Validate":     func() error { _, err := Validate(wild{}, Attempt{}); return err },
		"Reads":        func() error { _, err := Reads(wild{}, Attempt{}); return err },
		"Admit":        func() error { _, err := AdmitAttempt(wild{}, Attempt{}, nil); return err },
		"Decorate":     func() error { _, err := Decorate(wild{}, Attempt{}, spark.Application{}); return err },
		"ObserveReads": func() error { _, err := ObserveReads(wild{}, Attempt{}, PodStatuses{}); return err },
		"Observe":      func() error { _, err := Observe(wild{}, Attempt{}, nil, PodStatuses{}); return err },
		"Release":      func() error { _, err := Release(wild{}, Attempt{}); return err },
		"Placeholders": func() error { _, err := Placeholders(wild{}, Attempt{}); return err },
		"QueueReads":   func() error { _, err := QueueReads(wild{}, Attempt{}); return err },
		"QueueUsage":   func() error { _, err := QueueUsage(wild{}, Attempt{}, nil); return err },
		"Chained":      func() error { _, err := Reads(Chain(stub{name: "a"}, wild{}), Attempt{}); return err },
	}
	for name, f := range calls {
		t.Run(name, func(t *testing.T) {
			var panicked *PanicError
			if err := f(); !errors.As(err, &panicked) {
				t.Fatalf("want a PanicError, got %v", err)
			}
			if panicked.Plugin != "wild" || len(panicked.Stack) == 0 || !strings.Contains(panicked.Error(), "wild panicked in") {
				t.Errorf("who panicked where is lost: %v", panicked)
			}
		})
	}
}

// A plugin that cannot even say its name is named by its type.
func TestPanicInDescribe(t *testing.T) {
	_, err := Reads((*nameless)(nil), Attempt{})
	if err == nil || !strings.Contains(err.Error(), "nameless") {
		t.Errorf("got %v", err)
	}
}

type nameless struct{ stub }

func (n *nameless) Describe() Descriptor { return Descriptor{Name: n.name} }

func TestObserve(t *testing.T) {
	running := &PodStatus{Name: "d", Phase: corev1.PodRunning, Node: "n1", SchedulerName: "s"}
	cases := map[string]struct {
		reason string
		plugin Plugin
		facts  PodStatuses
		stage  Stage
		code   Reason
		says   string
	}{
		"Pods":      {reason: "a plugin that says nothing is spoken for", plugin: stub{}, facts: PodStatuses{Driver: running}, stage: StagePlaced, code: ReasonScheduled},
		"Own":       {reason: "a plugin that knows more is heard", plugin: observer{stub{}}, facts: PodStatuses{Driver: running}, stage: StageReserving, code: "Mine"},
		"Captured":  {reason: "the name that we wrote was rewritten", plugin: observer{stub{schedulerName: "s"}}, facts: PodStatuses{Driver: &PodStatus{Phase: corev1.PodPending, SchedulerName: "thief"}}, stage: StageQueued, code: ReasonCapturedByOther, says: `"thief"`},
		"NotOurs":   {reason: "we wrote no name", plugin: stub{}, facts: PodStatuses{Driver: &PodStatus{Phase: corev1.PodPending, SchedulerName: "default-scheduler"}}, stage: StageQueued, code: ReasonWaitingForScheduler},
		"Scheduled": {reason: "whichever scheduler it was, it has a node", plugin: stub{schedulerName: "x"}, facts: PodStatuses{Driver: running}, stage: StagePlaced, code: ReasonScheduled},
		"Absent":    {reason: "no one captured what does not exist", plugin: stub{schedulerName: "x"}, stage: StageGone, code: ReasonDriverGone},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := Observe(tc.plugin, Attempt{}, nil, tc.facts)
			if err != nil || got.Stage != tc.stage || got.Reason != tc.code || !strings.Contains(got.Message, tc.says) {
				t.Errorf("%s: %+v, %v; want %s, %s and %q", tc.reason, got, err, tc.stage, tc.code, tc.says)
			}
		})
	}
}

// observer is a plugin with a view of its own.
type observer struct{ stub }

func (observer) ObserveReads(Attempt, PodStatuses) []Read {
	return []Read{{GroupVersionKind: schema.GroupVersionKind{Kind: "Own"}}}
}

func (observer) Observe(Attempt, Snapshot, PodStatuses) (Observation, error) {
	return Observation{Stage: StageReserving, Reason: "Mine", Delete: []Ref{{Name: "observed"}}}, nil
}

func (o observer) Release(Attempt) []Ref { return []Ref{{Name: o.name}} }

func TestOptionalParts(t *testing.T) {
	reads, err := ObserveReads(observer{}, Attempt{}, PodStatuses{})
	if err != nil || len(reads) != 1 {
		t.Errorf("reads %v, %v", reads, err)
	}
	refs, err := Release(observer{stub{name: "g"}}, Attempt{})
	if diff := cmp.Diff([]Ref{{Name: "g"}}, refs); diff != "" || err != nil {
		t.Errorf("release (-want +got), %v:\n%s", err, diff)
	}
	if reads, err := ObserveReads(stub{}, Attempt{}, PodStatuses{}); len(reads) != 0 || err != nil {
		t.Errorf("a plugin that observes nothing reads %v, %v", reads, err)
	}
	if refs, err := Release(stub{}, Attempt{}); len(refs) != 0 || err != nil {
		t.Errorf("a plugin without objects releases %v, %v", refs, err)
	}
}
