// SPDX-License-Identifier: Apache-2.0

// Package eventrecorder sends each event separately, within a budget for each object and namespace. During shutdown it sends the waiting events.
package eventrecorder

import (
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/record/util"
	"k8s.io/client-go/tools/reference"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/internal/actuate"
	"github.com/firesteel-dev/firesteel/internal/metrics"
)

const (
	// eventsWaiting bounds the events that wait to be sent. Further events are dropped and logged. Ten workers can record events faster than they are sent:
	// more than 1,000 wait after a burst of 2,000. They take 9 MB.
	eventsWaiting = 10_000
	// eventSenders is the number of concurrent requests.
	eventSenders = 8
	// resendFirst is the delay before a failed event is sent again. The delay doubles up to resendLast. After resends, about three minutes, the event is
	// dropped.
	resendFirst, resendLast = time.Second, time.Minute
	resends                 = 8
	// lastMoment is how long events are sent during shutdown.
	lastMoment = time.Second
)

// Recorder sends every event, including those that wait during shutdown. client-go's recorder drops events in flight when the manager stops, so the last events
// before each handover to another replica are lost. Its concurrency is unbounded. For six minutes or more it also counts an event with an earlier reason about
// the same object version as a repetition, and shows the first message. This operator records one event for each transition, so there is nothing to aggregate.
type Recorder struct {
	client   client.Writer
	scheme   *runtime.Scheme
	clock    clock.PassiveClock
	log      logr.Logger
	instance string
	queue    eventQueue
	// waiting counts the events in the queue, including those that are sent again.
	waiting atomic.Int64
	budget  *eventBudget
	// metrics may be nil.
	metrics *metrics.Metrics
}

var _ events.EventRecorder = (*Recorder)(nil)

type eventQueue = workqueue.TypedRateLimitingInterface[*eventsv1.Event]

func newEventQueue(first, last time.Duration) eventQueue {
	return workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[*eventsv1.Event](first, last))
}

// New returns a recorder; the manager must start it. m may be nil.
func New(c client.Writer, scheme *runtime.Scheme, now clock.PassiveClock, log logr.Logger, m *metrics.Metrics) (*Recorder, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("name this replica: %w", err)
	}
	return &Recorder{
		client: c, scheme: scheme, clock: now, log: log, instance: actuate.FieldOwner + "-" + host,
		queue: newEventQueue(resendFirst, resendLast), budget: newEventBudget(), metrics: m,
	}, nil
}

// Eventf implements events.EventRecorder. It does not wait for the API server.
func (r *Recorder) Eventf(regarding, _ runtime.Object, kind, reason, action, note string, args ...any) {
	about, err := reference.GetReference(r.scheme, regarding)
	if err != nil {
		r.log.Error(err, "an event about this object cannot be sent", "reason", reason)
		return
	}
	switch exceeded, first := r.budget.take(about, r.clock.Now()); {
	case exceeded == "":
		r.enqueue(about, kind, reason, action, fmt.Sprintf(note, args...))
		return
	case first && exceeded == metrics.EventsOfObject:
		r.enqueue(about, corev1.EventTypeWarning, reasonEventsDropped, action,
			fmt.Sprintf("there were %d events within a short time; most later ones are dropped; see the status instead", objectBurst))
		fallthrough
	case first:
		r.log.Info("too many events; most later ones are dropped", "limit", string(exceeded), "namespace", about.Namespace, "object", about.Name)
		fallthrough
	default:
		r.metrics.EventsDropped(exceeded, 1)
	}
}

// enqueue adds an event to the end of the queue.
func (r *Recorder) enqueue(about *corev1.ObjectReference, kind, reason, action, note string) {
	now := r.clock.Now()
	e := &eventsv1.Event{
		ObjectMeta:          metav1.ObjectMeta{Name: util.GenerateEventName(about.Name, now.UnixNano()), Namespace: about.Namespace},
		EventTime:           metav1.NewMicroTime(now),
		ReportingController: actuate.FieldOwner, ReportingInstance: r.instance,
		Action: action, Reason: reason, Regarding: *about, Note: note, Type: kind,
	}
	if r.waiting.Add(1) > eventsWaiting || r.queue.ShuttingDown() {
		r.waiting.Add(-1)
		r.metrics.EventsDropped(metrics.EventsWaiting, 1)
		r.log.Info("an event is dropped: too many wait to be sent, or the operator stops", "object", about.Namespace+"/"+about.Name, "reason", reason)
		return
	}
	r.queue.Add(e)
}

// Start sends events until the context ends. It then sends the waiting events, for at most lastMoment. It implements manager.Runnable.
func (r *Recorder) Start(ctx context.Context) error {
	sending, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(lastMoment, cancel) })()
	defer context.AfterFunc(ctx, r.queue.ShutDown)()
	var senders sync.WaitGroup
	for range eventSenders {
		senders.Go(func() { r.send(sending) })
	}
	senders.Wait()
	if left := r.waiting.Swap(0); left > 0 {
		r.metrics.EventsDropped(metrics.EventsRefused, left)
		r.log.Info("events are lost: the operator stopped before it could send them", "events", left)
	}
	return nil
}

// NeedLeaderElection is false, because a standby replica also records changes of its configuration.
func (r *Recorder) NeedLeaderElection() bool { return false }

// send sends events until the queue shuts down and is empty.
func (r *Recorder) send(ctx context.Context) {
	for {
		e, end := r.queue.Get()
		if end {
			return
		}
		r.create(ctx, e)
		r.queue.Done(e)
	}
}

// create sends an event. After a temporary error it queues the event again, so that other events do not wait.
func (r *Recorder) create(ctx context.Context, e *eventsv1.Event) {
	err := r.client.Create(ctx, e.DeepCopy())
	if err != nil && !refusedForGood(err) && r.queue.NumRequeues(e) < resends && !r.queue.ShuttingDown() {
		r.queue.AddRateLimited(e)
		return
	}
	r.queue.Forget(e)
	r.waiting.Add(-1)
	if err != nil && !apierrors.IsAlreadyExists(err) { // if it already exists, the response to an earlier try was lost
		r.metrics.EventsDropped(metrics.EventsRefused, 1)
		r.log.Info("an event is lost", "object", e.Regarding.Namespace+"/"+e.Regarding.Name, "reason", e.Reason, "answer", err.Error())
	}
}

// refusedForGood reports whether each further try would fail in the same way.
func refusedForGood(err error) bool {
	return apierrors.IsAlreadyExists(err) || apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsNotFound(err) || apierrors.IsBadRequest(err)
}

// EventType returns the API's type of an event.
func EventType(warning bool) string {
	if warning {
		return corev1.EventTypeWarning
	}
	return corev1.EventTypeNormal
}
