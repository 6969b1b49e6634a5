// SPDX-License-Identifier: Apache-2.0

// Package eventrecorder sends events: each as it is, within a budget for each object and namespace, also while the operator stops.
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
	// eventsWaiting is how many events may wait to be sent; more are dropped, and logged. Ten workers can record events faster
	// than they are sent: of a burst of 2,000 more than 1,000 wait. So many take 9 MB.
	eventsWaiting = 10_000
	// eventSenders is how many are sent at the same time.
	eventSenders = 8
	// resendFirst is when an event is tried again that the API server does not take at once; each further pause is twice as long, up to
	// resendLast. After resends it is given up, which is after three minutes.
	resendFirst, resendLast = time.Second, time.Minute
	resends                 = 8
	// lastMoment is how long events are still sent when the operator stops.
	lastMoment = time.Second
)

// Recorder sends every event as it is, and those that wait when the operator stops, too. client-go's gives up what is on its
// way when the manager stops: the last events before each handover to another replica. It has no bound on how many are sent at
// the same time, and takes an event with the reason of an earlier one about the same version of an object for its repetition, for
// six minutes and more, and shows the message of the first. Ours are recorded once for each transition: there is nothing to aggregate.
type Recorder struct {
	client   client.Writer
	scheme   *runtime.Scheme
	clock    clock.PassiveClock
	log      logr.Logger
	instance string
	queue    eventQueue
	// waiting is how many are in the queue, or will be once more.
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

// New returns a recorder, which the manager has to start. m may be nil.
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
			fmt.Sprintf("there were %d events within a short time; most of those that follow are not sent, and the status says what is true", objectBurst))
		fallthrough
	case first:
		r.log.Info("too many events; most of those that follow are not sent", "limit", string(exceeded), "namespace", about.Namespace, "object", about.Name)
		fallthrough
	default:
		r.metrics.EventsDropped(exceeded, 1)
	}
}

// enqueue sends an event as soon as those before it are sent.
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
		r.log.Info("too many events wait to be sent, or the operator stops; this one is dropped", "object", about.Namespace+"/"+about.Name, "reason", reason)
		return
	}
	r.queue.Add(e)
}

// Start sends events until the context ends, and after that those that wait, as far as a moment suffices. It implements
// manager.Runnable.
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
		r.log.Info("events are lost: the API server did not take them before the operator stopped", "events", left)
	}
	return nil
}

// NeedLeaderElection is false: a standby, too, records what happened to its configuration.
func (r *Recorder) NeedLeaderElection() bool { return false }

// send sends what comes until the queue shuts down, and then what is left.
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

// create sends an event. One that the API server does not take now comes back later: others do not wait for it.
func (r *Recorder) create(ctx context.Context, e *eventsv1.Event) {
	err := r.client.Create(ctx, e.DeepCopy())
	if err != nil && !refusedForGood(err) && r.queue.NumRequeues(e) < resends && !r.queue.ShuttingDown() {
		r.queue.AddRateLimited(e)
		return
	}
	r.queue.Forget(e)
	r.waiting.Add(-1)
	if err != nil && !apierrors.IsAlreadyExists(err) { // the answer to an earlier try was lost
		r.metrics.EventsDropped(metrics.EventsRefused, 1)
		r.log.Info("an event is lost", "object", e.Regarding.Namespace+"/"+e.Regarding.Name, "reason", e.Reason, "answer", err.Error())
	}
}

// refusedForGood is whether the API server would give the same answer to another try.
func refusedForGood(err error) bool {
	return apierrors.IsAlreadyExists(err) || apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsNotFound(err) || apierrors.IsBadRequest(err)
}

// EventType is the type of an event.
func EventType(warning bool) string {
	if warning {
		return corev1.EventTypeWarning
	}
	return corev1.EventTypeNormal
}
