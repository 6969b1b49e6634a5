// SPDX-License-Identifier: Apache-2.0

package eventrecorder

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/actuate"
	"github.com/firesteel-dev/firesteel/internal/config"
	"github.com/firesteel-dev/firesteel/internal/metrics"
	"github.com/firesteel-dev/firesteel/internal/testutil"
	"github.com/firesteel-dev/firesteel/internal/testutil/apiserver"
)

var start = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)

// sink takes events, and answers the first tries with errors.
type sink struct {
	client.Writer
	mu     sync.Mutex
	errs   []error
	events []*eventsv1.Event
	tries  int
	took   chan struct{}
}

func (s *sink) Create(ctx context.Context, o client.Object, _ ...client.CreateOption) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tries++
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if len(s.errs) > 0 {
		err := s.errs[0]
		s.errs = s.errs[1:]
		return err
	}
	e, ok := o.(*eventsv1.Event)
	if !ok {
		return fmt.Errorf("a %T", o)
	}
	s.events = append(s.events, e)
	s.took <- struct{}{}
	return nil
}

// sending is a recorder over a sink. run starts it; what that returns stops it and waits for its end.
func sending(t *testing.T, errs ...error) (r *Recorder, s *sink, log *strings.Builder, run func() (stop func())) {
	t.Helper()
	s, log = &sink{errs: errs, took: make(chan struct{}, 2*eventsWaiting)}, &strings.Builder{}
	var mu sync.Mutex
	logger := funcr.New(func(_, args string) {
		mu.Lock()
		defer mu.Unlock()
		log.WriteString(args + "\n")
	}, funcr.Options{})
	r, err := New(s, apiserver.Scheme(), clocktesting.NewFakePassiveClock(start), logger, nil)
	if err != nil {
		t.Fatal(err)
	}
	run = func() func() {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- r.Start(ctx) }()
		return func() {
			t.Helper()
			cancel()
			select {
			case err := <-ended:
				if err != nil {
					t.Error(err)
				}
			case <-time.After(30 * time.Second):
				t.Fatal("it does not end")
			}
		}
	}
	return r, s, log, run
}

// Two causes of the same reason are two events, with the words of each: client-go's recorder would show the first twice.
func TestEventsKeepTheirWords(t *testing.T) {
	r, s, _, run := sending(t)
	app := testutil.Pi()
	r.Eventf(app, nil, corev1.EventTypeWarning, "SparkApplicationWaiting", "Submit", "%s", "quota: 100% of it")
	r.Eventf(app, nil, corev1.EventTypeWarning, "SparkApplicationWaiting", "Submit", "%s", "name taken")
	run()()
	notes := map[string]bool{}
	for _, e := range s.events {
		notes[e.Note] = true
		got := *e
		got.Name, got.Note, got.ReportingInstance = "", "", strings.TrimSuffix(got.ReportingInstance, strings.TrimPrefix(r.instance, actuate.FieldOwner))
		want := eventsv1.Event{
			ObjectMeta: metav1.ObjectMeta{Namespace: "jobs"}, EventTime: metav1.NewMicroTime(start), ReportingController: actuate.FieldOwner, ReportingInstance: actuate.FieldOwner,
			Action: "Submit", Reason: "SparkApplicationWaiting", Type: "Warning",
			Regarding: corev1.ObjectReference{APIVersion: "sparkoperator.k8s.io/v1beta2", Kind: "SparkApplication", Namespace: "jobs", Name: "pi", UID: app.UID},
		}
		if diff := cmp.Diff(want, got); diff != "" || !strings.HasPrefix(e.Name, "pi.") {
			t.Errorf("%s (-want +got):\n%s", e.Name, diff)
		}
	}
	if diff := cmp.Diff(map[string]bool{"quota: 100% of it": true, "name taken": true}, notes); diff != "" || len(s.events) != 2 {
		t.Errorf("%d events (-want +got):\n%s", len(s.events), diff)
	}
}

func TestEventsAreTriedAgain(t *testing.T) {
	busy := apierrors.NewServiceUnavailable("later")
	gone := apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "jobs")
	cases := map[string]struct {
		reason string
		errs   []error
		tries  int
		sent   int
		lost   int
		says   string
	}{
		"Trouble": {reason: "the API server comes back", errs: []error{busy, errors.New("connection refused"), busy}, tries: 4, sent: 1},
		"Long":    {reason: "it does not: what is lost is counted", errs: slices.Repeat([]error{busy}, resends+1), tries: resends + 1, lost: 1, says: "an event is lost"},
		"Gone":    {reason: "the namespace goes", errs: []error{gone}, tries: 1, lost: 1, says: `namespaces \"jobs\" not found`},
		"Twice":   {reason: "the answer to an earlier try was lost", errs: []error{apierrors.NewAlreadyExists(schema.GroupResource{Resource: "events"}, "e")}, tries: 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r, s, log, run := sending(t, tc.errs...)
			r.queue, r.metrics = newEventQueue(time.Microsecond, time.Microsecond), metrics.New(config.Metrics{MaxLabelValues: 1})
			stop := run()
			r.Eventf(testutil.Pi(), nil, corev1.EventTypeNormal, "A", "B", "c")
			for deadline := time.Now().Add(30 * time.Second); r.waiting.Load() > 0; runtime.Gosched() {
				if time.Now().After(deadline) {
					t.Fatal("it is neither sent nor given up")
				}
			}
			stop()
			if s.tries != tc.tries || len(s.events) != tc.sent {
				t.Errorf("%s: %d tries, %d sent", tc.reason, s.tries, len(s.events))
			}
			if got := dropped(t, r.metrics, metrics.EventsRefused); got != tc.lost {
				t.Errorf("%s: %d are counted as lost, want %d", tc.reason, got, tc.lost)
			}
			if !strings.Contains(log.String(), tc.says) || tc.says == "" && log.Len() > 0 {
				t.Errorf("%s: logged %q, want %q", tc.reason, log.String(), tc.says)
			}
		})
	}
}

// An event that the API server does not take holds up no other, however many there are of them, and is counted when the operator stops.
func TestRefusedEventsHoldUpNobody(t *testing.T) {
	busy := apierrors.NewServiceUnavailable("later")
	r, s, _, run := sending(t, slices.Repeat([]error{busy}, 10*eventSenders)...)
	r.queue, r.metrics = newEventQueue(time.Hour, time.Hour), metrics.New(config.Metrics{MaxLabelValues: 1})
	for i := range 10*eventSenders + 1 {
		r.Eventf(about(0, i), nil, corev1.EventTypeNormal, "A", "B", "c")
	}
	stop := run()
	select {
	case <-s.took:
	case <-time.After(30 * time.Second):
		t.Fatal("the last one waits for the others")
	}
	stop()
	if got := dropped(t, r.metrics, metrics.EventsRefused); got != 10*eventSenders {
		t.Errorf("%d are counted as lost, want %d", got, 10*eventSenders)
	}
	r.Eventf(about(0, 0), nil, corev1.EventTypeNormal, "A", "B", "after the end")
	if got := dropped(t, r.metrics, metrics.EventsWaiting); got != 1 {
		t.Errorf("an event after the end is counted %d times, want once", got)
	}
}

// dropped is how many events were not stored, for one of the limits.
func dropped(t *testing.T, m *metrics.Metrics, limit metrics.EventLimit) int {
	t.Helper()
	return int(testutil.Scrape(t, m)["spark_operator_events_dropped_total "+string(limit)])
}

// No one waits for an API server that takes no events: those that are too many are dropped and logged.
func TestEventsDoNotBlock(t *testing.T) {
	r, s, log, run := sending(t)
	for i := range eventsWaiting + 2 {
		r.Eventf(about(i%4, i/4), nil, corev1.EventTypeNormal, "A", "B", "c")
	}
	run()()
	if told := strings.Count(log.String(), "dropped"); len(s.events) != eventsWaiting || told != 2 {
		t.Errorf("%d sent, %d dropped", len(s.events), told)
	}
}

// about is one of the applications of one of many namespaces.
func about(namespace, name int) *v1beta2.SparkApplication {
	o := testutil.Pi()
	o.Namespace, o.Name = fmt.Sprint("n", namespace), fmt.Sprint("a", name)
	return o
}

// A storm of events about one object or in one namespace ends with one sentence, and takes nothing from others.
func TestEventStorms(t *testing.T) {
	r, s, log, run := sending(t)
	clock := clocktesting.NewFakePassiveClock(start)
	r.clock, r.metrics = clock, metrics.New(config.Metrics{MaxLabelValues: 10})
	send := func(namespace, name, n int) {
		for range n {
			r.Eventf(about(namespace, name), nil, corev1.EventTypeNormal, "A", "B", "c")
		}
	}
	send(0, 0, 10*objectBurst)
	send(0, 1, 1)
	clock.SetTime(start.Add(time.Minute))
	send(0, 0, 10*objectBurst) // six more
	clock.SetTime(start.Add(time.Hour))
	send(0, 0, 2*objectBurst) // the budget is full again, and so is what is told
	for i := range 2 * namespaceBurst {
		send(1, i, 1)
	}
	send(2, 0, 1)
	run()()
	got := map[string]int{}
	for _, e := range s.events {
		got[e.Namespace+" "+e.Reason]++
	}
	want := map[string]int{"n0 A": 2*objectBurst + 6 + 1, "n0 EventsDropped": 2, "n1 A": namespaceBurst, "n2 A": 1}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if told := strings.Count(log.String(), "too many events"); told != 3 {
		t.Errorf("the log tells of it %d times, want 3:\n%s", told, log.String())
	}
	for limit, want := range map[metrics.EventLimit]int{metrics.EventsOfObject: (9+10+1)*objectBurst - 6, metrics.EventsOfNamespace: namespaceBurst} {
		if got := dropped(t, r.metrics, limit); got != want {
			t.Errorf("%d events are counted as beyond the limit of the %s, want %d", got, limit, want)
		}
	}
}

// What is remembered is bounded, however many objects there are.
func TestEventBudgetsAreBounded(t *testing.T) {
	b := newEventBudget()
	for i := range 2 * objectsRemembered {
		b.take(&corev1.ObjectReference{Namespace: fmt.Sprint(i % (2 * namespacesRemembered)), Name: fmt.Sprint(i)}, start)
	}
	if b.objects.Len() != objectsRemembered || b.namespaces.Len() != namespacesRemembered {
		t.Errorf("%d objects and %d namespaces are remembered", b.objects.Len(), b.namespaces.Len())
	}
}

// An operator that runs sends at once.
func TestEventsAreSentWhileItRuns(t *testing.T) {
	r, s, _, run := sending(t)
	stop := run()
	defer stop()
	for range 3 {
		r.Eventf(testutil.Pi(), nil, corev1.EventTypeNormal, "A", "B", "c")
		select {
		case <-s.took:
		case <-time.After(30 * time.Second):
			t.Fatal("nothing was sent")
		}
	}
	r.Eventf(&metav1.Status{}, nil, corev1.EventTypeNormal, "A", "B", "what no one can refer to is not sent")
}
