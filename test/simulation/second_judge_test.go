// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sparkv1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/internal/convert/apache"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// created judges what the second family's controller has created: for its own application, and one driver at a time.
func (s *second) created(o *operator, obj client.Object) {
	app := o.decidesSecond
	if app == nil || !s.has(obj) || app.DeletionTimestamp != nil {
		s.h.fail("%s was created for no application of the second family", idOf(obj))
		return
	}
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return
	}
	s.h.stats.SecondDrivers++
	w, record := s.apps[app.UID], apache.FromStatus(app)
	switch {
	case isProbe(app):
		s.h.fail("driver %s was created for a health probe", pod.Name)
	case app.Spec.Suspend:
		s.h.fail("driver %s was created for a suspended application", pod.Name)
	case record.State.Final():
		s.h.fail("driver %s was created after the end %s", pod.Name, stateOf(app))
	}
	scheduled, queue := askedBySecond(&app.Spec)
	s.h.madeFrom(pod, app.Spec.DriverArgs, scheduled, queue)
	made := &run{uid: pod.UID, made: app, app: app.UID, submission: pod.Labels[spark.LabelAppSelector], labels: pod.Labels}
	for _, r := range s.drivers {
		if r.app != app.UID {
			continue
		}
		switch same := r.submission == made.submission; {
		case same && r.unknown(o):
			made.excused = made.excused || r.recorded > 0
		case same:
			s.h.fail("attempt %q of the second has two drivers", made.submission)
		case !r.over && !r.gone && r.recorded == 0 && s.h.stats.TwoLeaders > 0:
			r.excused = true // a slow second leader has created it for an attempt that is over: attempts have names of their own; it goes as soon as it is seen
		case !r.over && !r.gone:
			s.h.fail("driver %s was created while another one of the second lives", pod.Name)
		}
	}
	s.drivers = append(s.drivers, made)
	n := 0
	for _, r := range s.drivers {
		if r.app == app.UID && !r.excused && (r.recorded > 0 || !r.gone) {
			n++
		}
	}
	if most := 1 + w.restarts + w.resumes; n > most {
		s.h.fail("the second has %d drivers, but %d are allowed", n, most)
	}
}

// deleted judges what the second family's controller has deleted: its own driver, and the application when its time is over.
func (s *second) deleted(o *operator, target client.Object) {
	app := o.decidesSecond
	if app != nil && target.GetUID() == app.UID {
		ttl, over := ptr.Deref(app.Spec.ApplicationTolerations.TTLAfterStopMillis, -1), apache.FromStatus(app)
		if !over.State.Final() || ttl < 0 || s.h.now.Sub(over.TerminatedAt).Milliseconds() < ttl {
			s.h.fail("the second was deleted before its time")
		}
		return
	}
	now, pod := s.h.store.second(), idOf(target).kind == kindPod
	if app == nil || !slices.ContainsFunc(target.GetOwnerReferences(), func(r metav1.OwnerReference) bool {
		return r.UID == app.UID || pod && s.apps[r.UID] != nil && (now == nil || now.UID != r.UID) // the collector was late
	}) {
		s.h.fail("%s, which is not the second's, was deleted", idOf(target))
	}
	if pod, ok := target.(*corev1.Pod); ok && s.h.store.objects[idOf(target)] == nil {
		s.h.invariants.gone(pod)
	}
}

// starts judges what a driver starts with: the kubelet waits for its ConfigMap, which is created last, so that everything is there.
func (s *second) starts(p *corev1.Pod) {
	if !s.owned(p) || s.h.stats.TwoLeaders > 0 {
		return // a second leader that is slow may create the ConfigMap of a driver of this name that is gone
	}
	attempt := p.Labels[spark.LabelAppSelector]
	needs, services := []id{{"NetworkPolicy", attempt + "-policy"}}, []string{attempt + "-driver-svc"}
	if s.apps[p.OwnerReferences[0].UID].attached {
		needs, services = append(needs, id{"Ingress", "ui"}), append(services, "ui")
	}
	for _, name := range services {
		if !s.taken[name] {
			needs = append(needs, id{kindService, name})
		}
	}
	for _, i := range needs {
		if s.h.store.objects[i] == nil {
			s.h.fail("driver %s starts without %s", p.Name, i)
		}
	}
}

// reported judges what a status tells after a write.
func (s *second) reported(before, after *sparkv1.SparkApplication) {
	was, is := apache.FromStatus(before), apache.FromStatus(after)
	won := false
	for _, r := range s.drivers {
		if r.app == after.UID && r.submission == is.SubmissionID {
			won = won || r.over && r.code == 0
		}
	}
	if is.Executions > 0 {
		record(s.drivers, after.UID, is.SubmissionID, s.h.store.version)
	}
	if is.State == lifecycle.Succeeded && !won {
		s.h.fail("the second has succeeded, but no driver of its attempt has")
	}
	if was.State.Final() && was.State != is.State {
		s.h.fail("the second was %s and became %s", was.State, is.State)
	}
	if is.Cause.Reason == lifecycle.ReasonNameConflict && was.Cause.Reason != is.Cause.Reason {
		s.h.stats.Conflicts++
	}
	s.h.neverConflicts(after.Status.Conditions)
	s.states(after)
}

// mayFollow says after which states a state may come. All others are ends.
var mayFollow = map[sparkv1.ApplicationStateSummary][]sparkv1.ApplicationStateSummary{
	sparkv1.StateSubmitted: {"", sparkv1.StateSuspended},
	sparkv1.StateScheduledToRestart: {
		sparkv1.StateSucceeded, sparkv1.StateFailed, sparkv1.StateDriverEvicted, sparkv1.StateDriverStartTimedOut, sparkv1.StateDriverReadyTimedOut,
		sparkv1.StateExecutorsStartTimedOut, sparkv1.StateSchedulingFailure,
	},
	sparkv1.StateDriverRequested:                    {sparkv1.StateSubmitted, sparkv1.StateScheduledToRestart},
	sparkv1.StateDriverStarted:                      {sparkv1.StateDriverRequested},
	sparkv1.StateDriverReady:                        {sparkv1.StateDriverStarted},
	sparkv1.StateInitializedBelowThresholdExecutors: {sparkv1.StateDriverReady},
	sparkv1.StateRunningHealthy: {
		sparkv1.StateDriverReady, sparkv1.StateInitializedBelowThresholdExecutors, sparkv1.StateRunningWithPartialCapacity, sparkv1.StateRunningWithBelowThresholdExecutors,
	},
	sparkv1.StateRunningWithPartialCapacity: {
		sparkv1.StateDriverReady, sparkv1.StateInitializedBelowThresholdExecutors, sparkv1.StateRunningHealthy, sparkv1.StateRunningWithBelowThresholdExecutors,
	},
	sparkv1.StateRunningWithBelowThresholdExecutors: {sparkv1.StateRunningHealthy, sparkv1.StateRunningWithPartialCapacity},
}

// states judges the history of states: none is lost or changed, each follows one that it may follow, and restarts are counted.
func (s *second) states(o *sparkv1.SparkApplication) {
	told, now := s.apps[o.UID].told, map[int64]sparkv1.ApplicationStateSummary{}
	histories := []map[string]sparkv1.ApplicationState{o.Status.StateTransitionHistory}
	if p := o.Status.PreviousAttemptSummary; p != nil {
		histories = append(histories, p.StateTransitionHistory)
	}
	for _, h := range histories {
		for key, state := range h {
			n, err := strconv.ParseInt(key, 10, 64)
			if err != nil {
				s.h.fail("a state has the key %q", key)
			}
			now[n] = state.CurrentStateSummary
		}
	}
	keys := slices.Sorted(maps.Keys(now))
	for i, key := range keys {
		if old, known := told[key]; known && old != now[key] {
			s.h.fail("state %d was %s and is %s", key, old, now[key])
		}
		told[key], s.h.stats.States[now[key]] = now[key], true
		if i == 0 {
			continue
		}
		if key != keys[i-1]+1 {
			s.h.fail("there are states %d and %d, and none between", keys[i-1], key)
		}
		if allowed, limited := mayFollow[now[key]]; limited && !slices.Contains(allowed, now[keys[i-1]]) {
			s.h.fail("%s follows %s", now[key], now[keys[i-1]])
		}
	}
	if n := len(keys); n > 0 && stateOf(o) != now[keys[n-1]] {
		s.h.fail("the current state is %s, the last %s", stateOf(o), now[keys[n-1]])
	}
	if c := o.Status.CurrentAttemptSummary; c != nil && c.AttemptInfo != nil {
		if n := c.AttemptInfo; n.RestartCounter > int64(s.apps[o.UID].restarts) || n.FailureRestartCounter > n.RestartCounter {
			s.h.fail("%+v, and %d restarts are allowed", n, s.apps[o.UID].restarts)
		}
	}
}

// settled reports whether the application is where it may stay: at its end, or held back or suspended.
func (s *second) settled(o *sparkv1.SparkApplication) bool {
	if isProbe(o) {
		return true
	}
	if s.waits(o) {
		return true
	}
	r, t := apache.FromStatus(o), o.Spec.ApplicationTolerations
	switch state := stateOf(o); {
	case secondOver(o) && ptr.Deref(t.TTLAfterStopMillis, -1) >= 0:
		return false // it is deleted
	case secondOver(o):
		return state == sparkv1.StateResourceReleased || ptr.Deref(t.ResourceRetainDurationMillis, -1) < 0
	}
	return o.Spec.Suspend && (r.State == lifecycle.Suspended || r.State == lifecycle.Queued && r.Executions == 0)
}

// stays judges that another look at an application which is where it may stay writes nothing.
func (s *second) stays(o *sparkv1.SparkApplication) {
	if o == nil || s.h.stats.TwoLeaders > 0 { // a second leader may be amid what it began
		return
	}
	for _, process := range s.h.operators {
		process.second.woken()
	}
	for range restLimit {
		if !s.h.fairStep() {
			break
		}
	}
	if now := s.h.store.second(); s.h.broken == "" && (now == nil || now.DeletionTimestamp == nil && now.ResourceVersion != o.ResourceVersion) {
		s.h.fail("the second is written at rest: %s", s.h.invariants.summary())
	}
}

func (s *second) end() {
	s.compare()
	o := s.h.store.second()
	probe := o != nil && isProbe(o) // it may have got the label while its driver was created, and before a status told of it
	if live := s.h.pods(func(p *corev1.Pod) bool { return s.owned(p) && isDriver(p) && alive(p) }); len(live) > 0 && !probe {
		s.h.fail("at the end driver %s of the second lives on: %s", live[0].Name, s.h.invariants.summary())
	}
	if o != nil && s.waits(o) {
		s.h.stats.Waits++
	}
	if o != nil && stateOf(o) != sparkv1.StateResourceReleased {
		return
	}
	state := sparkv1.ApplicationStateSummary("gone")
	if o != nil {
		state = stateOf(o)
	}
	for _, i := range sortedIDs(s.h.store.objects) {
		if s.has(s.h.store.objects[i]) {
			s.h.fail("the second is %s, and there is %s: %s", state, i, s.h.invariants.summary())
		}
	}
}
