// SPDX-License-Identifier: Apache-2.0

package apache

import (
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/firesteel-dev/firesteel/api/spark/v1"
)

// This file is the judge of the histories.

// created judges a driver that was created: it is the only one that may run, and the first of its attempt.
func (l *life) created(pod *corev1.Pod) {
	id := pod.Labels["spark-app-selector"]
	if l.made[id]++; l.made[id] > 1 {
		l.violated("attempt %s got a second driver", id)
	}
	for _, other := range l.drivers() {
		if other.Name != pod.Name && (other.Status.Phase == "" || other.Status.Phase == corev1.PodPending || other.Status.Phase == corev1.PodRunning) {
			l.violated("driver %s beside %s, which may run", pod.Name, other.Name)
		}
	}
}

// complete judges what a driver starts with: its ConfigMap is there, so everything is.
func (l *life) complete(driver *corev1.Pod) {
	id := driver.Labels["spark-app-selector"]
	needs := []string{"NetworkPolicy " + id + "-policy"}
	services := []string{id + "-driver-svc"}
	if len(l.r.app.Spec.DriverServiceIngressList) > 0 {
		needs, services = append(needs, "Ingress ui"), append(services, "ui")
	}
	for _, name := range services {
		if !l.taken[name] {
			needs = append(needs, "Service "+name)
		}
	}
	there := l.names()
	for _, name := range needs {
		if driver.Status.Phase == "" && !slices.Contains(there, name) {
			l.violated("driver %s starts without %s", driver.Name, name)
		}
	}
}

// follows says after which states a state may come.
var follows = map[v1.ApplicationStateSummary][]v1.ApplicationStateSummary{
	v1.StateSubmitted:                          {"", v1.StateSuspended},
	v1.StateScheduledToRestart:                 {v1.StateSucceeded, v1.StateFailed, v1.StateDriverEvicted, v1.StateDriverStartTimedOut, v1.StateDriverReadyTimedOut, v1.StateExecutorsStartTimedOut, v1.StateSchedulingFailure},
	v1.StateDriverRequested:                    {v1.StateSubmitted, v1.StateScheduledToRestart},
	v1.StateDriverStarted:                      {v1.StateDriverRequested},
	v1.StateDriverReady:                        {v1.StateDriverStarted},
	v1.StateInitializedBelowThresholdExecutors: {v1.StateDriverReady},
	v1.StateRunningHealthy:                     {v1.StateDriverReady, v1.StateInitializedBelowThresholdExecutors, v1.StateRunningWithPartialCapacity, v1.StateRunningWithBelowThresholdExecutors},
	v1.StateRunningWithPartialCapacity:         {v1.StateDriverReady, v1.StateInitializedBelowThresholdExecutors, v1.StateRunningHealthy, v1.StateRunningWithBelowThresholdExecutors},
	v1.StateRunningWithBelowThresholdExecutors: {v1.StateRunningHealthy, v1.StateRunningWithPartialCapacity},
}

// judge looks at the stored status.
func (l *life) judge() {
	app := &v1.SparkApplication{}
	if err := l.client.Get(l.t.Context(), l.key(), app); err != nil {
		return
	}
	states := map[int64]v1.ApplicationStateSummary{}
	histories := []map[string]v1.ApplicationState{app.Status.StateTransitionHistory}
	if p := app.Status.PreviousAttemptSummary; p != nil {
		histories = append(histories, p.StateTransitionHistory)
	}
	for _, h := range histories {
		for key, state := range h {
			n, _ := strconv.ParseInt(key, 10, 64)
			states[n] = state.CurrentStateSummary
		}
	}
	keys := slices.Sorted(maps.Keys(states))
	for i, key := range keys {
		if old, known := l.seen[key]; known && old != states[key] {
			l.violated("state %d was %s and is %s", key, old, states[key])
		}
		l.seen[key] = states[key]
		if i == 0 {
			continue
		}
		if key != keys[i-1]+1 {
			l.violated("states %d and %d, and none between", keys[i-1], key)
		}
		if allowed, limited := follows[states[key]]; limited && !slices.Contains(allowed, states[keys[i-1]]) {
			l.violated("%s follows %s", states[key], states[keys[i-1]])
		}
	}
	most := *l.r.app.Spec.ApplicationTolerations.RestartConfig.MaxRestartAttempts
	if info := currentAttempt(&app.Status); info.RestartCounter > most || info.FailureRestartCounter > info.RestartCounter {
		l.violated("%+v, and %d restarts are allowed", info, most)
	}
	if n := len(keys); n > 0 && app.Status.CurrentState.CurrentStateSummary != states[keys[n-1]] {
		l.violated("the current state is %s, the last %s", app.Status.CurrentState.CurrentStateSummary, states[keys[n-1]])
	}
}
