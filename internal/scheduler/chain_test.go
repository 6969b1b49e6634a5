// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func object(name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetName(name)
	return u
}

func TestChainAdmits(t *testing.T) {
	goes := Admission{Verdict: Admit, Reason: ReasonAdmitted, Message: "room"}
	wait := Admission{Verdict: Wait, Reason: ReasonWaitingForQuota, Message: "full"}
	place := Admission{Apply: []*unstructured.Unstructured{object("group")}, Delete: []Ref{{Name: "old"}}}
	boom := errors.New("boom")
	group := Ref{Name: "place"}
	cases := map[string]struct {
		reason    string
		admission stub
		placement stub
		snapshot  Snapshot
		asked     int
		want      Admission
		err       error
	}{
		"Both":  {reason: "both say go", admission: stub{admission: Admission{Verdict: Admit}}, placement: stub{admission: goes, objects: place}, asked: 1, want: Admission{Verdict: Admit, Reason: ReasonAdmitted, Message: "room", Apply: place.Apply, Delete: place.Delete}},
		"Words": {reason: "what admission has to say is said, too", admission: stub{admission: Admission{Verdict: Admit, Warning: "tight"}}, placement: stub{admission: Admission{Verdict: Admit, Warning: "few"}}, asked: 1, want: Admission{Verdict: Admit, Warning: "tight; few"}},
		"First": {reason: "placement is not asked", admission: stub{admission: wait}, placement: stub{admission: goes, objects: place}, want: wait},
		"Back":  {reason: "what placement has reserved is released", admission: stub{admission: wait}, placement: stub{name: "place"}, snapshot: Snapshot{group.Read(): object("place")}, want: Admission{Verdict: Wait, Reason: ReasonWaitingForQuota, Message: "full", Delete: []Ref{group}}},
		"Last":  {reason: "placement waits", admission: stub{admission: goes}, placement: stub{admission: wait}, asked: 1, want: wait},
		"Err1":  {reason: "error of the first", admission: stub{planErr: boom}, err: boom},
		"Err2":  {reason: "error of the last", admission: stub{admission: goes}, placement: stub{planErr: boom}, asked: 1, err: boom},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			asked := 0
			tc.placement.asked = &asked
			got, err := Chain(tc.admission, observer{tc.placement}).Admit(Attempt{}, tc.snapshot)
			if !errors.Is(err, tc.err) {
				t.Fatalf("%s: %v", tc.reason, err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if asked != tc.asked {
				t.Errorf("%s: placement was asked %d times", tc.reason, asked)
			}
		})
	}
}

func TestChainDescribes(t *testing.T) {
	kind := func(name string) schema.GroupVersionKind { return schema.GroupVersionKind{Kind: name} }
	quota := stub{name: "quota", descriptor: Descriptor{Reads: []schema.GroupVersionKind{kind("A")}, Quota: true, Supports: Support{Reserves: true}}}
	queue := stub{name: "queue", schedulerName: "s", descriptor: Descriptor{
		Reads: []schema.GroupVersionKind{kind("B")}, Owns: []schema.GroupVersionKind{kind("C")}, ManagedKeys: []PodKey{{PodLabel, "l"}},
		DefaultQueue: "d", Supports: Support{Queues: true},
	}}
	want := Descriptor{
		Name: "queue", SchedulerName: "s", DefaultQueue: "d", Quota: true,
		Reads: []schema.GroupVersionKind{kind("A"), kind("B")}, Owns: []schema.GroupVersionKind{kind("C")}, ManagedKeys: []PodKey{{PodLabel, "l"}},
		Supports: Support{Queues: true, Reserves: true},
	}
	if diff := cmp.Diff(want, Chain(quota, queue).Describe()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	named := Chain(stub{schedulerName: "a"}, stub{})
	if got := named.Describe().SchedulerName; got != "a" {
		t.Errorf("scheduler name %q: the only one there is", got)
	}
	if got := named.Validate(Attempt{}); len(got) != 0 {
		t.Errorf("one scheduler name is no conflict: %v", got)
	}
	if got := Chain(stub{schedulerName: "a"}, stub{schedulerName: "b", findings: field.ErrorList{Invalid("f", "")}}).Validate(Attempt{}); len(got) != 2 {
		t.Errorf("a pod has one scheduler, and placement's finding counts, too: %v", got)
	}
}

func TestChainObserves(t *testing.T) {
	running := PodStatuses{Driver: &PodStatus{Phase: corev1.PodRunning, Node: "n"}}
	cases := map[string]struct {
		reason string
		chain  Plugin
		want   Observation
	}{
		"Pods":      {reason: "no one has a view of its own", chain: Chain(stub{}, stub{}), want: Pods(Attempt{}, running)},
		"Placement": {reason: "placement knows where", chain: Chain(stub{}, observer{}), want: Observation{Stage: StageReserving, Reason: "Mine", Delete: []Ref{{Name: "observed"}}}},
		"Withdrawn": {reason: "admission takes its word back", chain: Chain(stopper{}, observer{}), want: Observation{Stage: StageEvicted, StopApp: true, Delete: []Ref{{Name: "observed"}}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := Observe(tc.chain, Attempt{}, nil, running)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
	for name, tc := range map[string]struct {
		reason            string
		first, last, want time.Duration
	}{
		"Never":     {reason: "neither wants to be asked again"},
		"Admission": {reason: "admission alone does", first: time.Minute, want: time.Minute},
		"Placement": {reason: "placement alone does", last: time.Minute, want: time.Minute},
		"Both":      {reason: "each is asked when it wants to be", first: time.Second, last: time.Minute, want: time.Second},
	} {
		got, err := Observe(Chain(again{after: tc.first}, again{after: tc.last}), Attempt{}, nil, running)
		if err != nil || got.RetryAfter != tc.want {
			t.Errorf("%s: %s: after %s, %v; want %s", name, tc.reason, got.RetryAfter, err, tc.want)
		}
	}
	if reads, err := ObserveReads(Chain(observer{}, observer{}), Attempt{}, running); len(reads) != 2 || err != nil {
		t.Errorf("both look at what they like: %v, %v", reads, err)
	}
}

// stopper is an admission that withdraws.
type stopper struct{ stub }

func (stopper) ObserveReads(Attempt, PodStatuses) []Read { return nil }
func (stopper) Observe(Attempt, Snapshot, PodStatuses) (Observation, error) {
	return Observation{Stage: StageEvicted, StopApp: true}, nil
}

// again wants to observe again after a while.
type again struct {
	stub
	after time.Duration
}

func (again) ObserveReads(Attempt, PodStatuses) []Read { return nil }
func (p again) Observe(Attempt, Snapshot, PodStatuses) (Observation, error) {
	return Observation{Stage: StagePlaced, RetryAfter: p.after}, nil
}

func TestChainReleasesBackwards(t *testing.T) {
	got, err := Release(Chain(observer{stub{name: "first"}}, observer{stub{name: "last"}}), Attempt{})
	if diff := cmp.Diff([]Ref{{Name: "last"}, {Name: "first"}}, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	reads := []Read{{Name: "a"}}
	if got := Chain(stub{reads: reads}, stub{reads: reads}).Reads(Attempt{}); len(got) != 2 {
		t.Errorf("both see what they ask for: %v", got)
	}
}
