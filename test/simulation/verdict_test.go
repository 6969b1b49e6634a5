// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"encoding/json"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
)

// statusLimit is how large a status may become, in bytes of JSON.
const statusLimit = 20 << 10

func seconds(n int64) time.Duration { return time.Duration(n) * time.Second }

// reported judges a status that an operator has written.
func (l *invariants) reported(o *operator, before, after *v1beta2.SparkApplication, changed bool) {
	if !changed {
		l.h.fail("a status was written that changes nothing")
		return
	}
	was, is := &before.Status, &after.Status
	if is.ExecutionAttempts > 0 {
		record(l.drivers, after.UID, after.Status.SubmissionID, l.h.store.version)
	}
	w := l.apps[after.UID]
	w.stands.learn(fromFirst(before), fromFirst(after), o.decides)
	if final(before) && was.AppState.State != is.AppState.State && w.specs[was.ObservedGeneration] == w.specs[after.Generation] && was.ExecutionAttempts > 0 {
		l.h.fail("%s became %s, but the spec has not changed", was.AppState.State, is.AppState.State)
	}
	if is.ExecutionAttempts > is.SubmissionAttempts {
		l.h.fail("%d executions of %d submissions", is.ExecutionAttempts, is.SubmissionAttempts)
	}
	if is.Attempt < was.Attempt && was.ExecutionAttempts > 0 {
		l.h.fail("attempt %d is followed by attempt %d", was.Attempt, is.Attempt)
	}
	if n := l.runs(after.UID); int(is.ExecutionAttempts) > n {
		l.h.fail("%d executions are counted, but %d drivers were created", is.ExecutionAttempts, n)
	}
	if is.AppState.State == v1beta2.ApplicationStateCompleted && !l.succeeded(after) {
		l.h.fail("COMPLETED, but no driver of submission %s succeeded", is.SubmissionID)
	}
	if is.AppState.State == v1beta2.ApplicationStateFailing && was.AppState.State != is.AppState.State {
		l.failing(after)
	}
	ended := was.AppState.State == v1beta2.ApplicationStateFailing || was.AppState.State == v1beta2.ApplicationStateSucceeding
	if never := o.decides.Spec.RestartPolicy.Type == v1beta2.RestartPolicyNever; never && ended && is.AppState.State == v1beta2.ApplicationStatePendingRerun {
		l.h.fail("an attempt is followed by another, but the policy is %s", o.decides.Spec.RestartPolicy.Type)
	}
	if is.AppState.State == v1beta2.ApplicationStateFailed && is.AppState.ErrorMessage == "" {
		l.h.fail("FAILED without a reason")
	}
	for _, c := range is.Conditions {
		if c.Reason == "" || c.Message == "" {
			l.h.fail("condition %s has no reason or no message", c.Type)
		}
	}
	l.h.neverConflicts(is.Conditions)
	l.times(w, is)
	l.apart(is)
	if l.h.faithful {
		if text, err := json.Marshal(is); err != nil || len(text) > statusLimit {
			l.h.fail("a status of %d bytes, %v", len(text), err)
		}
	}
}

// times judges what retention is counted from: what goes on has not ended, and what is over has ended since it went on.
func (l *invariants) times(w *wish, is *v1beta2.SparkApplicationStatus) {
	switch is.AppState.State {
	case v1beta2.ApplicationStateSubmitted, v1beta2.ApplicationStateRunning, v1beta2.ApplicationStatePendingRerun, v1beta2.ApplicationStateResuming:
		if !is.TerminationTime.IsZero() {
			l.h.fail("%s shows that it ended at %s", is.AppState.State, is.TerminationTime.UTC())
		}
		w.wentOn = l.h.second()
	case v1beta2.ApplicationStateCompleted, v1beta2.ApplicationStateFailed:
		if is.TerminationTime.IsZero() || is.TerminationTime.Before(&w.wentOn) {
			l.h.fail("%s at %s, but it went on until %s", is.AppState.State, is.TerminationTime.UTC(), w.wentOn.UTC())
		}
	default: // what has ended, or is being ended
	}
}

// followsAnother reports whether a driver before it had its submission. That was created and deleted before any status told of it, and a leader
// whose cache is old may see its end only now.
func (l *invariants) followsAnother(r *run) bool {
	return slices.ContainsFunc(l.drivers, func(other *run) bool {
		return other != r && other.app == r.app && other.submission == r.submission && other.over
	})
}

// failing judges the end of an attempt: a driver that lives and is not on its way out has not failed, unless it took longer
// than the user allowed.
func (l *invariants) failing(app *v1beta2.SparkApplication) {
	for _, r := range l.drivers {
		if r.app != app.UID || r.submission != app.Status.SubmissionID || r.over || r.excused || l.h.stats.TwoLeaders > 0 && l.followsAnother(r) {
			continue
		}
		for _, p := range l.h.pods(func(p *corev1.Pod) bool { return p.UID == r.uid && p.DeletionTimestamp == nil }) {
			if app.Spec.Deadlines == nil {
				l.h.fail("driver %s is declared failed, but it lives", p.Name)
			}
		}
	}
}

// record notes that a status tells of a submission's driver. If it had two, because nobody knew of the first, it is the last one.
func record(drivers []*run, app types.UID, submission string, version int64) {
	for _, r := range slices.Backward(drivers) {
		if r.app == app && r.submission == submission {
			if r.recorded == 0 {
				r.recorded = version
			}
			return
		}
	}
}

// succeeded reports whether the driver of the present submission really ended with exit code 0.
func (l *invariants) succeeded(app *v1beta2.SparkApplication) bool {
	for _, r := range l.drivers {
		if r.app == app.UID && r.submission == app.Status.SubmissionID && r.over && r.code == 0 {
			return true
		}
	}
	return false
}

// rests judges a reconcile that left no error behind: a timer or an event must bring the application on, unless it is at
// its end.
func (l *invariants) rests(o *operator) {
	app := l.h.store.app()
	if !o.timer.IsZero() || o.ready || app == nil || app.DeletionTimestamp != nil {
		return
	}
	if !o.current() || l.final(app) || app.Spec.ManagedBy != nil {
		return
	}
	l.h.fail("nothing will bring the application on: %s", l.summary())
}

// final reports whether the application's state is one that it may stay in.
func (l *invariants) final(app *v1beta2.SparkApplication) bool {
	k := keeps(app)
	released := func(what string, keep *metav1.Duration) bool {
		return keep == nil || slices.Contains(app.Status.Released, what)
	}
	return final(app) && k.Application == nil && released("driverPod", k.DriverPod) && released("resources", k.Resources)
}

// settled reports whether the application is where it may stay: gone without a trace, at its end, or suspended.
func (l *invariants) settled() bool {
	app := l.h.store.app()
	if app == nil {
		for i, o := range l.h.store.objects {
			if i.kind != kindApp && len(o.GetOwnerReferences()) > 0 && !l.h.other.has(o) {
				return false
			}
		}
		return true
	}
	if app.DeletionTimestamp != nil || !l.concealed(app) {
		return false
	}
	if l.waits(app) {
		return true
	}
	if app.Status.ObservedGeneration != app.Generation {
		return false
	}
	if l.final(app) {
		return true
	}
	return ptr.Deref(app.Spec.Suspend, false) && l.held(app)
}

// waits reports whether the application waits for its user or another controller, and says so.
func (l *invariants) waits(app *v1beta2.SparkApplication) bool {
	if by := app.Spec.ManagedBy; by != nil {
		return sayWhy(app.Status.Conditions, lifecycle.ReasonManagedByAnother, *by)
	}
	reason, names := waitsFor(asked(&app.Spec))
	bounded := app.Spec.Deadlines != nil && app.Spec.Deadlines.Queued != nil
	return reason != "" && !bounded && !final(app) && !ptr.Deref(app.Spec.Suspend, false) && sayWhy(app.Status.Conditions, reason, names)
}

// held reports whether a suspended application shows it and has no pods. One that never ran is SUBMITTED.
func (l *invariants) held(app *v1beta2.SparkApplication) bool {
	switch s := &app.Status; s.AppState.State {
	case v1beta2.ApplicationStateSuspended:
	case v1beta2.ApplicationStateSubmitted:
		if s.ExecutionAttempts > 0 {
			return false
		}
	default:
		return false
	}
	return len(l.h.pods(func(p *corev1.Pod) bool {
		owner := metav1.GetControllerOfNoCopy(p)
		return owner != nil && owner.UID == app.UID
	})) == 0
}

// end judges the state in which the application stays.
func (l *invariants) end() {
	l.compare()
	app := l.h.store.app()
	if app == nil {
		return
	}
	if live := l.h.pods(func(p *corev1.Pod) bool { return l.ours(p) && isDriver(p) && alive(p) }); len(live) > 0 {
		l.h.fail("at the end driver %s lives on: %s", live[0].Name, l.summary())
	}
	if l.waits(app) {
		l.h.stats.Waits++
	}
	s, w := &app.Status, l.apps[app.UID]
	last := l.lastDriver()
	if s.AppState.State == v1beta2.ApplicationStateCompleted && last.spec != w.specs[app.Generation] {
		l.h.fail("completed from an old spec: %s", l.summary())
	}
	if n := l.runs(app.UID); w.edits+w.placements == 0 && int(s.ExecutionAttempts) != n {
		l.h.fail("%d drivers, but: %s", n, l.summary())
	}
}
