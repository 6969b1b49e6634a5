// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"strings"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// plainly lets an application opt out of the scheduler that is tested.
func plainly(a *app) {
	a.Spec.BatchScheduler = new(string)
	*a.Spec.BatchScheduler = scheduler.NoScheduler
}

// apiMissing : the application reports the missing API and how to install it; others continue.
func apiMissing(w *Harness) {
	w.start()
	a := w.create("waits")
	message := w.waits(a, scheduler.ReasonSchedulerNotInstalled)
	if !strings.Contains(message, w.API) || !strings.Contains(message, "install") {
		w.Errorf("the message names neither %s nor what to do: %s", w.API, message)
	}
	other := w.create("plain", plainly)
	w.eventually("another scheduler's application has its driver", func() error {
		return w.inState(other, stateSubmitted, stateRunning)()
	})
	w.delete(a)
	w.gone(a)
}

// apiLater : an operator that started without the API continues with it once it is there.
func apiLater(w *Harness) {
	w.start()
	a := w.create("waits")
	w.waits(a, scheduler.ReasonSchedulerNotInstalled)
	must(w, "install the API", w.Environment.Install(w.Context()))
	w.makePlace(1)
	if w.place.Queue != "" {
		w.change(a, func(o *app) { *o = *w.withPlace(o) })
	}
	must(w, "start the scheduler", w.Environment.Start(w.Context()))
	defer w.Environment.Stop()
	w.runs(a, 1)
	w.completes(a)
}

// withPlace moves the application to the case's place, which was made after it.
func (w *Harness) withPlace(o *app) *app {
	fresh := w.application(o.Name)
	o.Spec = fresh.Spec
	return o
}

// schedulerNotRunning : the application waits, reports the reason, and continues when the scheduler is back.
func schedulerNotRunning(w *Harness) {
	w.startWithRoomFor(1)
	a := w.create("waits")
	w.waits(a, w.Silent)
	must(w, "start the scheduler", w.Environment.Start(w.Context()))
	w.runs(a, 1)
	w.completes(a)
}

// apiRemoved : applications in any state continue after the API is removed.
func apiRemoved(w *Harness) {
	w.startWithRoomFor(2)
	running, dying := w.create("running"), w.create("dying")
	w.runs(running, 1)
	w.runs(dying, 1)
	queued := w.create("queued")
	w.waits(queued, w.Full...)
	must(w, "remove the API", w.Environment.Uninstall(w.Context()))
	w.delete(dying)
	w.gone(dying)
	if asks := len(w.pods(queued, spark.RoleDriver)) == 0; asks {
		w.waits(queued, scheduler.ReasonSchedulerNotInstalled)
	} else {
		w.waits(queued, w.Full...) // its driver pod is with the scheduler already
	}
	must(w, "the running one still runs", w.inState(running, stateRunning)())
	w.completes(running)
	w.delete(queued)
	w.gone(queued)
	late := w.create("late")
	w.waits(late, scheduler.ReasonSchedulerNotInstalled)
	other := w.create("plain", plainly)
	w.eventually("another scheduler's application has its driver", func() error {
		return w.inState(other, stateSubmitted, stateRunning)()
	})
}
