// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/utils/ptr"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

// Short names of the states.
const (
	stateNew        = v1beta2.ApplicationStateNew
	stateSubmitted  = v1beta2.ApplicationStateSubmitted
	stateRunning    = v1beta2.ApplicationStateRunning
	stateFailed     = v1beta2.ApplicationStateFailed
	stateFailing    = v1beta2.ApplicationStateFailing
	stateRerun      = v1beta2.ApplicationStatePendingRerun
	stateSuspended  = v1beta2.ApplicationStateSuspended
	stateResuming   = v1beta2.ApplicationStateResuming
	stateSubmission = v1beta2.ApplicationStateSubmissionFailed
)

func inQueue(name string) func(*app) {
	return func(a *app) { a.Spec.BatchSchedulerOptions = &v1beta2.BatchSchedulerConfiguration{Queue: &name} }
}

// again lets an application that was refused run once more: an edit starts it again.
func again(a *app) {
	a.Spec.Arguments = append(a.Spec.Arguments, "again")
}

// stuck waits until the application waits or has failed for the reason: schedulers that are asked with a pod refuse for
// good what others let wait.
func (w *Harness) stuck(a *app, reason scheduler.Reason) string {
	w.Helper()
	if reason == scheduler.ReasonSchedulerRefused {
		return w.fails(a, reason)
	}
	return w.waits(a, reason)
}

// unstuck gets it going again after the cause was removed.
func (w *Harness) unstuck(a *app, reason scheduler.Reason) {
	w.Helper()
	if reason == scheduler.ReasonSchedulerRefused {
		w.change(a, again)
	}
	w.runs(a, 1)
}

func (w *Harness) queues() Queues {
	w.Helper()
	queues, ok := w.Environment.(Queues)
	if !ok {
		w.Fatal("the environment has no queues, and the subject does not say that the case does not apply")
	}
	return queues
}

// queueAbsent : the message names the queue; the queue is made, and the application runs.
func queueAbsent(w *Harness) {
	w.start()
	a := w.create("early", inQueue(w.QueueName("absent")))
	if message := w.stuck(a, w.MissingQueue); w.MissingQueue != scheduler.ReasonSchedulerRefused && !strings.Contains(message, w.QueueName("absent")) {
		w.Errorf("the message does not name the queue: %s", message)
	}
	must(w, "create the queue", w.queues().CreateQueue(w.Context(), w.QueueName("absent"), room(1)))
	w.unstuck(a, w.MissingQueue)
	w.completes(a)
}

// queueClosed : nothing starts in a closed queue, and what runs in it continues.
func queueClosed(w *Harness) {
	w.start()
	queue := w.QueueName("door")
	must(w, "create the queue", w.queues().CreateQueue(w.Context(), queue, room(2)))
	before := w.create("before", inQueue(queue))
	w.runs(before, 1)
	must(w, "close the queue", w.queues().CloseQueue(w.Context(), queue))
	a := w.create("after", inQueue(queue))
	w.stuck(a, w.ClosedQueue)
	must(w, "what runs continues", w.inState(before, stateRunning)())
	must(w, "open the queue", w.queues().OpenQueue(w.Context(), queue))
	w.unstuck(a, w.ClosedQueue)
	w.completes(before)
	w.completes(a)
}

// tooBig : the application fails at once with its request and the capacity, and uses no retry.
func tooBig(w *Harness) {
	w.startWithRoomFor(2)
	a := w.create("big", func(a *app) {
		a.Spec.Executor.Instances = ptr.To[int32](6)
		a.Spec.RestartPolicy = v1beta2.RestartPolicy{Type: v1beta2.RestartPolicyOnFailure,
			OnFailureRetries: ptr.To[int32](3), OnFailureRetryInterval: ptr.To[int64](1)}
	})
	message := w.fails(a, w.TooBig)
	if w.TooBig != scheduler.ReasonSchedulerRefused { // a scheduler's own words are its own
		for _, number := range []string{"7", "4"} {
			if !strings.Contains(message, number) {
				w.Errorf("the message does not say %s: %s", number, message)
			}
		}
	}
	current, err := w.get(a)
	must(w, "read it", err)
	if current.Status.Attempt > 1 {
		w.Errorf("it took %d attempts", current.Status.Attempt)
	}
	w.hasGroups(a, false)
	small := w.create("small") // small blocks no other application
	w.runs(small, 1)
	w.completes(small)
}

// full : the application waits with a reason, and runs when another one ends.
func full(w *Harness) {
	w.startWithRoomFor(1)
	first := w.create("first")
	w.runs(first, 1)
	second := w.create("second")
	w.waits(second, w.Full...)
	w.eventually("it has its scheduler's own words", func() error {
		_, message, err := w.waiting(second)
		if err == nil && !strings.Contains(message, w.Says) {
			err = fmt.Errorf("they are not in %q", message)
		}
		return err
	})
	w.during("it keeps waiting", 2*time.Second, w.inState(second, stateNew, stateSubmitted))
	w.completes(first)
	w.runs(second, 1)
	w.completes(second)
}

// race : of two applications that are created at once for one place, one runs, the other waits and comes after.
func race(w *Harness) {
	w.startWithRoomFor(1)
	apps := []*app{w.create("one"), w.create("two")}
	var winner, loser *app
	w.eventually("one of them runs", func() error {
		for i, a := range apps {
			if w.inState(a, stateRunning)() == nil {
				winner, loser = a, apps[1-i]
				return nil
			}
		}
		return fmt.Errorf("none runs")
	})
	w.runs(winner, 1)
	w.waits(loser, append([]scheduler.Reason{scheduler.ReasonBehindOthers}, w.Full...)...)
	w.during("the other one does not start", 2*time.Second, w.inState(loser, stateNew, stateSubmitted))
	w.completes(winner)
	w.runs(loser, 1)
	w.completes(loser)
}

// stable : the status of a waiting application is written only for news. The free amount is updated at most once a minute.
func stable(w *Harness) {
	w.startWithRoomFor(3)
	holder, visitors := w.create("first"), []*app{w.create("visitor-1"), w.create("visitor-2")}
	for _, a := range append(visitors, holder) {
		w.runs(a, 1)
	}
	begun := time.Now()
	second := w.create("second", func(a *app) { a.Spec.Driver.Cores = ptr.To[int32](5) })
	w.waits(second, w.Full...)
	w.quiet("while it waits", second, 8*time.Second)
	known := len(w.statuses(second))
	for _, a := range visitors {
		w.completes(a)
		w.looks(second, enoughLooks)
	}
	if n, minutes := retold(w.statuses(second), known), int(time.Since(begun)/time.Minute); n > minutes {
		w.Errorf("in %d minutes, in which two others ended, the operator said %d times what it had said", minutes, n)
	}
	w.completes(holder)
	w.runs(second, 1)
	w.quiet("while it runs", second, 3*time.Second)
}

// statuses are the writes of the application's status so far.
func (w *Harness) statuses(a *app) []write {
	return slices.DeleteFunc(w.operator.writes.about(a), func(one write) bool { return !strings.HasSuffix(one.request, "/status") })
}
