// SPDX-License-Identifier: Apache-2.0

package reservations

import (
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/firesteel-dev/firesteel/internal/admission"
	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/resolve"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/testutil"
)

var start = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)

var inLine = scheduler.Line{Namespace: "a", Quota: "q", Resource: "cpu"}

// controllers note who is enqueued.
type controllers struct{ names []string }

func (c *controllers) Enqueue(apps []scheduler.Key) {
	for _, app := range apps {
		c.names = append(c.names, app.Name)
	}
}

// enqueued returns who was enqueued since it was called last.
func (c *controllers) enqueued() []string {
	names := c.names
	c.names = nil
	return names
}

// What is reserved for an application that is deleted, or suspended, is free for others.
func TestForgottenApplicationsHoldNothing(t *testing.T) {
	m := New(clock.RealClock{}, nil, scheduler.Order{})
	gone := scheduler.Attempt{App: scheduler.App{Namespace: "a", Name: "gone"}, ID: "gone-1"}
	next := scheduler.Attempt{App: scheduler.App{Namespace: "a", Name: "next"}, ID: "next-1", QueuedAt: clock.RealClock{}.Now()}
	m.Enter(gone, scheduler.Progress{})
	if others := m.ledger.Outstanding(next, time.Now()).Others; len(others) != 1 {
		t.Fatalf("it holds nothing from the start: %+v", others)
	}
	m.Forget(scheduler.Key{Namespace: "a", Name: "gone"})
	if others := m.ledger.Outstanding(next, time.Now()).Others; len(others) != 0 {
		t.Errorf("it still holds %+v", others)
	}
	m.ledger.Record(gone, scheduler.Admission{Verdict: scheduler.Wait, Lines: []scheduler.Place{{Line: inLine}}}, m.clock.Now())
	m.entered[gone.App.Key()] = gone.ID
	m.Forget(gone.App.Key())
	if ahead := m.ledger.Outstanding(next, time.Now()).Ahead[inLine].Count; ahead != 0 {
		t.Errorf("%d are ahead of it", ahead)
	}
}

// Pods that are seen change reservations, and what a quota reports of them comes later: the first of each
// line hears of both, in time.
func TestSettlingWakesTheFirstInLine(t *testing.T) {
	now := clocktesting.NewFakePassiveClock(time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC))
	k := &controllers{}
	m := New(now, k, scheduler.Order{})
	attempt := func(name string, minute int) scheduler.Attempt {
		return scheduler.Attempt{App: scheduler.App{Namespace: "a", Name: name}, ID: name + "-1", QueuedAt: now.Now().Add(time.Duration(minute) * time.Minute)}
	}
	running, first, second := attempt("running", 0), attempt("first", 1), attempt("second", 2)
	m.Enter(running, scheduler.Progress{})
	for _, a := range []scheduler.Attempt{second, first} {
		m.ledger.Record(a, scheduler.Admission{Verdict: scheduler.Wait, Lines: []scheduler.Place{{Line: inLine}}}, m.clock.Now())
		m.startWaiting(a.App.Key(), waiter{since: a.QueuedAt})
	}
	m.Settle(running.ID, scheduler.Progress{DriverCreated: true, DriverRunning: true})
	if diff := cmp.Diff([]string{"first"}, k.enqueued()); diff != "" {
		t.Errorf("the driver runs (-want +got):\n%s", diff)
	}
	m.Settle(running.ID, scheduler.Progress{DriverCreated: true, DriverRunning: true})
	if names := k.enqueued(); len(names) != 0 {
		t.Errorf("what is known already enqueues %v", names)
	}
	o := m.ledger.Outstanding(first, now.Now())
	if len(o.Others) != 1 || o.Recheck <= 0 {
		t.Errorf("no quota reports it yet: %+v", o)
	}
	for range 5 {
		now.SetTime(now.Now().Add(m.ledger.Outstanding(first, now.Now()).Recheck))
	}
	if o := m.ledger.Outstanding(first, now.Now()); len(o.Others) != 0 || o.Recheck != 0 {
		t.Errorf("who asks again as it is told comes to an end: %+v", o)
	}
}

// Who waits is enqueued in turns of the namespaces, the longest first.
func TestWaitersTakeTurns(t *testing.T) {
	m := New(clock.RealClock{}, nil, scheduler.Order{})
	kind := schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "Queue"}
	wait := func(namespace, name string, minute int) {
		m.startWaiting(scheduler.Key{Namespace: namespace, Name: name}, waiter{since: start.Add(time.Duration(minute) * time.Minute), kinds: []schema.GroupVersionKind{kind}})
	}
	for i := range 100 {
		wait("a", fmt.Sprint(i), i)
	}
	wait("b", "only", 500)
	wait("c", "1", 300)
	wait("c", "2", 200)
	m.startWaiting(scheduler.Key{Namespace: "d", Name: "other"}, waiter{since: start})
	var got []string
	for _, app := range m.WaitersFor(kind, "", false, 6) {
		got = append(got, app.Namespace+"/"+app.Name)
	}
	if diff := cmp.Diff([]string{"a/0", "c/2", "b/only", "a/1", "c/1", "a/2"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if n := len(m.WaitersFor(kind, "", false, math.MaxInt)); n != 103 {
		t.Errorf("%d wait, want 103", n)
	}
}

// Who may be the next to start in a line for a quota is enqueued before those who have waited longer, when a quota changes and when one ahead
// leaves the line.
func TestNextInLineIsEnqueuedFirst(t *testing.T) {
	kind := schema.GroupVersionKind{Version: "v1", Kind: "ResourceQuota"}
	now := clocktesting.NewFakePassiveClock(start)
	m := New(now, nil, scheduler.Order{AgingBound: time.Hour})
	wait := func(name string, minute int, priority int32, lines ...scheduler.Place) scheduler.Attempt {
		a := scheduler.Attempt{App: scheduler.App{Namespace: "a", Name: name}, ID: name, QueuedAt: start.Add(time.Duration(minute) * time.Minute), Priority: priority}
		m.ledger.Record(a, scheduler.Admission{Verdict: scheduler.Wait, Lines: lines}, start)
		m.entered[a.App.Key()] = a.ID
		m.startWaiting(a.App.Key(), waiter{since: a.QueuedAt, kinds: []schema.GroupVersionKind{kind}})
		return a
	}
	for i := range 30 {
		wait(fmt.Sprintf("old-%02d", i), i, 0, scheduler.Place{Line: inLine})
	}
	urgent := wait("urgent", 40, 9, scheduler.Place{Line: inLine})
	names := func(apps []scheduler.Key) (out []string) {
		for _, app := range apps {
			out = append(out, app.Name)
		}
		return out
	}
	other := scheduler.Attempt{App: scheduler.App{Namespace: "a", Name: "loose"}, QueuedAt: start.Add(-time.Hour)}
	m.startWaiting(other.App.Key(), waiter{since: other.QueuedAt, kinds: []schema.GroupVersionKind{kind}})
	if diff := cmp.Diff([]string{"urgent", "loose"}, names(m.WaitersFor(kind, "a", false, math.MaxInt))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	m.ledger.Record(urgent, scheduler.Admission{Verdict: scheduler.Admit}, start)
	m.stopWaiting(urgent.App.Key())
	if diff := cmp.Diff([]string{"old-00"}, names(m.firstWaiting(m.ledger.Heads("a", start)))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// roomy admits everything.
type roomy struct{ scheduler.Plugin }

func (roomy) Describe() scheduler.Descriptor {
	return scheduler.Descriptor{Name: "roomy", Quota: true}
}
func (roomy) Reads(scheduler.Attempt) []scheduler.Read                { return nil }
func (roomy) Validate(scheduler.Attempt) field.ErrorList              { return nil }
func (roomy) Decorate(scheduler.Attempt, *scheduler.Decoration) error { return nil }
func (roomy) Admit(scheduler.Attempt, scheduler.Snapshot) (scheduler.Admission, error) {
	return scheduler.Admission{Verdict: scheduler.Admit, Reason: scheduler.ReasonAdmitted}, nil
}

// Who starts leaves its lines, in which there may be room for the next.
func TestAdmittingEnqueuesTheNext(t *testing.T) {
	registry, err := scheduler.NewRegistry("roomy", roomy{})
	if err != nil {
		t.Fatal(err)
	}
	c, _ := admission.NewCandidate(resolve.Load(kubeflow.SparkApplications{}, testutil.Pi(), lifecycle.Record{}, resolve.Operator{}, start), registry, nil)
	k := &controllers{}
	m := New(clocktesting.NewFakePassiveClock(start), k, scheduler.Order{})
	next := scheduler.Attempt{App: scheduler.App{Namespace: "a", Name: "next"}, ID: "next-1", QueuedAt: start.Add(time.Minute)}
	for _, a := range []scheduler.Attempt{c.Attempt(), next} {
		m.ledger.Record(a, scheduler.Admission{Verdict: scheduler.Wait, Lines: []scheduler.Place{{Line: inLine}}}, start)
		m.startWaiting(a.App.Key(), waiter{since: a.QueuedAt})
	}
	if r, err := m.Admit(t.Context(), c, nil); err != nil || r.Verdict != scheduler.Admit {
		t.Fatalf("%+v, %v", r, err)
	}
	if diff := cmp.Diff([]string{"next"}, k.enqueued()); diff != "" {
		t.Errorf("the next one is not enqueued (-want +got):\n%s", diff)
	}
}

// A change of what its scheduler reads may end a refusal that an administrator can take back.
func TestReversedRefusalIsHeardOf(t *testing.T) {
	registry, err := scheduler.NewRegistry("roomy", roomy{})
	if err != nil {
		t.Fatal(err)
	}
	c, _ := admission.NewCandidate(resolve.Load(kubeflow.SparkApplications{}, testutil.Pi(), lifecycle.Record{}, resolve.Operator{}, start), registry, nil)
	m := New(clocktesting.NewFakePassiveClock(start), nil, scheduler.Order{})
	for reversible, want := range map[bool]int{true: 1, false: 0} {
		m.SetWaiting(c.Attempt().App.Key(), c, scheduler.Admission{Verdict: scheduler.Reject, Reversible: reversible})
		if got := len(m.waiting); got != want {
			t.Errorf("reversible %t: %d applications hear of changes, want %d", reversible, got, want)
		}
	}
}

// decorating is roomy, and does something when the pods are decorated.
type decorating struct {
	roomy
	decorate func() error
}

func (d decorating) Decorate(scheduler.Attempt, *scheduler.Decoration) error { return d.decorate() }

// An application is built while others are asked, and one that cannot be built reserves nothing.
func TestBuildingHoldsUpNoOthers(t *testing.T) {
	m := New(clocktesting.NewFakePassiveClock(start), nil, scheduler.Order{})
	other := scheduler.Attempt{App: scheduler.App{Namespace: "default", Name: "other"}, ID: "other-1"}
	reserved, decorated := -1, 0
	registry, err := scheduler.NewRegistry("roomy", decorating{decorate: func() error {
		if decorated++; decorated <= 2 { // to see its class and what it sets
			return nil
		}
		asked := make(chan int, 1)
		go func() { asked <- len(m.Outstanding(other).Others) }()
		select {
		case reserved = <-asked:
		case <-time.After(10 * time.Second):
		}
		return errors.New("it cannot be built")
	}})
	if err != nil {
		t.Fatal(err)
	}
	c, _ := admission.NewCandidate(resolve.Load(kubeflow.SparkApplications{}, testutil.Pi(), lifecycle.Record{}, resolve.Operator{}, start), registry, nil)
	r, err := m.Admit(t.Context(), c, nil)
	if err != nil || r.Verdict == scheduler.Admit || reserved != 1 {
		t.Errorf("%+v, %v; while it is built, %d attempts have reservations, want its own", r, err, reserved)
	}
	if others := m.Outstanding(other).Others; len(others) != 0 {
		t.Errorf("what cannot be built still holds %+v", others)
	}
}

// Applications of two kinds wait in one order, and namesakes have a place each.
func TestTwoKindsWaitInOneOrder(t *testing.T) {
	app := func(kind, name string) scheduler.Key {
		return scheduler.Key{Kind: schema.GroupKind{Group: "example.org", Kind: kind}, Namespace: "jobs", Name: name}
	}
	queue := schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "Queue"}
	order := []scheduler.Key{app("Job", "pi"), app("App", "pi"), app("Job", "last")}
	m := New(clock.RealClock{}, nil, scheduler.Order{})
	for i, a := range order {
		m.startWaiting(a, waiter{since: start.Add(time.Duration(i) * time.Second), kinds: []schema.GroupVersionKind{queue}})
	}
	if diff := cmp.Diff(order, m.WaitersFor(queue, "jobs", false, math.MaxInt)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	m.Forget(order[0])
	if diff := cmp.Diff(order[1:], m.WaitersFor(queue, "jobs", false, math.MaxInt)); diff != "" {
		t.Errorf("its namesake is forgotten (-want +got):\n%s", diff)
	}
}

// A change of a quota enqueues those who may be the next to start in their lines, and those who wait for something else. Of thousands behind them each is
// enqueued when those ahead of it start.
func TestWaitersBehindOthersAreLeftAlone(t *testing.T) {
	quota := schema.GroupVersionKind{Version: "v1", Kind: "ResourceQuota"}
	m := New(clock.RealClock{}, nil, scheduler.Order{AgingBound: time.Hour})
	line := scheduler.Line{Namespace: "jobs", Quota: "compute", Resource: "requests.cpu"}
	var apps []scheduler.Key
	for i := range 5 {
		a := scheduler.Attempt{ID: fmt.Sprint("attempt-", i), QueuedAt: start.Add(time.Duration(i) * time.Second), App: scheduler.App{Namespace: "jobs", Name: fmt.Sprint("app-", i)}}
		apps = append(apps, a.App.Key())
		m.entered[a.App.Key()] = a.ID
		if i < 4 { // the last one waits for something else
			m.ledger.Record(a, scheduler.Admission{Verdict: scheduler.Wait, Lines: []scheduler.Place{{Line: line, Asked: resource.MustParse("4")}}}, start)
		}
		m.startWaiting(a.App.Key(), waiter{since: a.QueuedAt, kinds: []schema.GroupVersionKind{quota}})
	}
	if diff := cmp.Diff([]scheduler.Key{apps[0], apps[4]}, m.WaitersFor(quota, "jobs", false, math.MaxInt)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A change of an object that plugins read in all namespaces concerns the lines of its own namespace first, not only those that all share.
func TestOwnLinesOfAKindReadEverywhere(t *testing.T) {
	kind := schema.GroupVersionKind{Group: "scheduling.x-k8s.io", Version: "v1alpha1", Kind: "ElasticQuota"}
	m := New(clock.RealClock{}, nil, scheduler.Order{AgingBound: time.Hour})
	wait := func(namespace, name string, lines ...scheduler.Line) scheduler.Key {
		a := scheduler.Attempt{ID: name, QueuedAt: start, App: scheduler.App{Namespace: namespace, Name: name}}
		m.entered[a.App.Key()] = a.ID
		var places []scheduler.Place
		for _, line := range lines {
			places = append(places, scheduler.Place{Line: line, Asked: resource.MustParse("4")})
		}
		m.ledger.Record(a, scheduler.Admission{Verdict: scheduler.Wait, Lines: places}, start)
		m.startWaiting(a.App.Key(), waiter{since: a.QueuedAt, kinds: []schema.GroupVersionKind{kind}})
		return a.App.Key()
	}
	inA := wait("a", "in-a", scheduler.Line{Namespace: "a", Quota: "max", Resource: "cpu"})
	wait("b", "in-b", scheduler.Line{Namespace: "b", Quota: "max", Resource: "cpu"})
	shared := wait("c", "shared", scheduler.Line{Quota: "sum of min", Resource: "cpu"})
	loose := wait("d", "loose")
	if diff := cmp.Diff([]scheduler.Key{inA, shared, loose}, m.WaitersFor(kind, "a", true, math.MaxInt)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]scheduler.Key{inA, shared}, m.WaitersFor(kind, "a", false, math.MaxInt)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The metrics report what waits in the ledger.
func TestLinesOfTheLedger(t *testing.T) {
	now := clocktesting.NewFakePassiveClock(time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC))
	m := New(now, nil, scheduler.Order{AgingBound: time.Hour})
	a := scheduler.Attempt{App: scheduler.App{Namespace: "a", Name: "x"}, ID: "x-1", QueuedAt: now.Now().Add(-time.Minute)}
	m.ledger.Record(a, scheduler.Admission{Verdict: scheduler.Wait, Lines: []scheduler.Place{{Line: inLine, Asked: resource.MustParse("4")}}}, now.Now())
	want := []scheduler.LineState{{Usage: scheduler.Usage{Line: inLine}, Waiting: 1, Asked: resource.MustParse("4"), Longest: time.Minute}}
	if diff := cmp.Diff(want, m.Lines()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
