// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/record/util"
	"k8s.io/client-go/tools/reference"
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
	eventSenders = 4
	// lastMoment is how long events are still sent when the operator stops.
	lastMoment = time.Second
)

// resend is how often an event is tried that the API server does not take at once.
var resend = wait.Backoff{Duration: time.Second, Factor: 2, Steps: 4}

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
	queue    chan *eventsv1.Event
	budget   *eventBudget
	// metrics may be nil.
	metrics *metrics.Metrics
}

var _ events.EventRecorder = (*Recorder)(nil)

// NewRecorder returns a recorder, which the manager has to start. m may be nil.
func NewRecorder(c client.Writer, scheme *runtime.Scheme, now clock.PassiveClock, log logr.Logger, m *metrics.Metrics) (*Recorder, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("name this replica: %w", err)
	}
	return &Recorder{
		client: c, scheme: scheme, clock: now, log: log, instance: actuate.FieldOwner + "-" + host,
		queue: make(chan *eventsv1.Event, eventsWaiting), budget: newEventBudget(), metrics: m,
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
		r.metrics.EventDropped(exceeded)
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
	select {
	case r.queue <- e:
	default:
		r.metrics.EventDropped(metrics.EventsWaiting)
		r.log.Info("too many events wait to be sent; this one is dropped", "object", about.Namespace+"/"+about.Name, "reason", reason)
	}
}

// Start sends events until the context ends, and after that those that wait, as far as a moment suffices. It implements
// manager.Runnable.
func (r *Recorder) Start(ctx context.Context) error {
	sending, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(lastMoment, cancel) })()
	var senders sync.WaitGroup
	for range eventSenders {
		senders.Go(func() { r.send(sending, ctx.Done()) })
	}
	senders.Wait()
	return nil
}

// NeedLeaderElection is false: a standby, too, records what happened to its configuration.
func (r *Recorder) NeedLeaderElection() bool { return false }

// send sends what comes until the context ends, and then what is left.
func (r *Recorder) send(ctx context.Context, stop <-chan struct{}) {
	for {
		select {
		case e := <-r.queue:
			r.create(ctx, e)
			continue
		default:
		}
		select {
		case e := <-r.queue:
			r.create(ctx, e)
		case <-stop:
			return
		}
	}
}

// create sends an event, again if the API server is failing.
func (r *Recorder) create(ctx context.Context, e *eventsv1.Event) {
	var last error
	err := wait.ExponentialBackoffWithContext(ctx, resend, func(ctx context.Context) (bool, error) {
		last = r.client.Create(ctx, e.DeepCopy())
		return last == nil || refusedForGood(last), nil
	})
	if last == nil {
		last = err
	}
	if last != nil && !apierrors.IsAlreadyExists(last) { // the answer to an earlier try was lost
		r.log.Info("an event is lost", "object", e.Regarding.Namespace+"/"+e.Regarding.Name, "reason", e.Reason, "answer", last.Error())
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
