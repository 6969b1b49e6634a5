// SPDX-License-Identifier: Apache-2.0

package lifecycle_test

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
)

// again brings the next attempt to a running driver, and over from a driver's end to its conclusion.
func again(attempt string) []step {
	return []step{
		{says: "the name is free", seen: absent},
		{says: "the new driver runs", seen: running(attempt)},
	}
}

func over(d lifecycle.Driver) []step {
	return []step{
		{says: "the driver ends", after: time.Minute, seen: d},
		{says: "look again", after: 2 * time.Second, seen: d},
		{says: "and again", seen: d},
	}
}

// retries are what happens after a failure.
func retries() map[string]story {
	memory := func(a *lifecycle.Application) { a.RaisesMemory = true }
	codes := func(a *lifecycle.Application) { a.Policies.Restart.FailExitCodes = []int32{2} }
	streaming := func(a *lifecycle.Application) { a.Policies.Restart.ResetAfter = time.Hour }
	refused := func(says string, after time.Duration) step {
		return step{says: says, after: after, seen: absent, refuses: lifecycle.ClassRefused, message: "spec.containers: required value"}
	}
	return map[string]story{
		"retry-exhausted":      {app: restart(lifecycle.OnFailure, 1), steps: concat(begin("1"), fail(exited("1", 1), 20*time.Second), again("2"), over(exited("2", 1)))},
		"retry-succeeds":       {app: restart(lifecycle.OnFailure, 1), steps: concat(begin("1"), fail(exited("1", 1), 20*time.Second), again("2"), over(completed("2")))},
		"retry-crash":          {app: restart(lifecycle.OnFailure, 1), steps: concat(begin("1"), fail(exited("1", 1), 20*time.Second), []step{{says: "the new driver is created", seen: absent, lost: crash}, {says: "restarted, it sees its driver", seen: running("2")}})},
		"always-on-success":    {app: restart(lifecycle.Always, 0), steps: concat(begin("1"), fail(completed("1"), 20*time.Second), again("2"))},
		"always-on-failure":    {app: restart(lifecycle.Always, 0), steps: concat(begin("1"), fail(exited("1", 1), 20*time.Second), again("2"), fail(exited("2", 1), 40*time.Second), again("3"))},
		"submission-retries":   {app: restart(lifecycle.OnFailure, 2), steps: []step{refused("the API server refuses the driver", 0), refused("the wait is not over", 2*time.Second), refused("it is over", 20*time.Second), refused("twice as long a wait", 40*time.Second), {says: "no retries are left", after: 2 * time.Second, seen: absent}}},
		"submission-heals":     {app: restart(lifecycle.OnFailure, 2), steps: concat([]step{refused("the API server refuses the driver", 0), {says: "the wait is over", after: 20 * time.Second, seen: absent}}, begin("1")[1:])},
		"oom-raises-memory":    {app: all(class(lifecycle.OutOfMemory, 1), memory), steps: concat(begin("1"), fail(exited("1", 137), 10*time.Second), again("2"), over(exited("2", 137)))},
		"exit-code-fails":      {app: all(restart(lifecycle.OnFailure, 3), codes), steps: concat(begin("1"), over(exited("1", 2)))},
		"infrastructure-apart": {app: all(restart(lifecycle.OnFailure, 1), class(lifecycle.Infrastructure, 5)), steps: concat(begin("1"), fail(evicted("1"), 10*time.Second), again("2"), fail(exited("2", 1), 20*time.Second), again("3"), over(exited("3", 1)))},
		"streaming-resets":     {app: all(restart(lifecycle.OnFailure, 1), streaming), steps: concat(begin("1"), fail(exited("1", 1), 20*time.Second), again("2"), []step{{says: "it runs for a day", after: 24 * time.Hour, seen: running("2")}}, fail(exited("2", 1), 20*time.Second), again("3"))},
		"refused-retry-fixed":  {app: restart(lifecycle.OnFailure, 1), steps: concat(begin("1"), fail(exited("1", 1), 20*time.Second), []step{refused("the API server refuses the new driver", 10*time.Second), {says: "the spec is edited", seen: absent, app: edit}}, again("2"))},
	}
}

// wishes are what the user does meanwhile.
func wishes() map[string]story {
	lifted := func(attempt string) []step {
		return concat([]step{{says: "suspend: false", after: time.Minute, seen: absent, app: unsuspend}}, again(attempt))
	}
	stopped := func(attempt string) []step {
		return []step{{says: "stop it", after: 2 * time.Second, seen: running(attempt)}, {says: "it is stopping", seen: leaving(running(attempt))}, {says: "it is gone", seen: absent}, {says: "nothing new", after: 5 * time.Minute, seen: absent}}
	}
	return map[string]story{
		"suspend-while-running":    {steps: concat(begin("1"), []step{{says: "suspend: true", seen: running("1"), app: suspend}}, stopped("1"), lifted("2"), over(completed("2")))},
		"suspend-while-waiting":    {app: restart(lifecycle.OnFailure, 1), steps: concat(begin("1"), []step{{says: "the driver fails", seen: exited("1", 1)}, {says: "suspend: true", after: 2 * time.Second, seen: exited("1", 1), app: suspend}, {says: "clear up", after: 2 * time.Second, seen: exited("1", 1)}, {says: "the pod is gone", seen: absent}, {says: "nothing new", after: 5 * time.Minute, seen: absent}}, lifted("2"))},
		"suspend-while-rerunning":  {app: restart(lifecycle.OnFailure, 1), steps: concat(begin("1"), fail(exited("1", 1), 20*time.Second), []step{{says: "suspend: true", seen: absent, app: suspend}, {says: "no driver is there", after: 2 * time.Second, seen: absent}}, lifted("2"))},
		"suspend-while-succeeding": {app: func(a *lifecycle.Application) { a.Policies.Restart.Type = lifecycle.Always }, steps: concat(begin("1"), []step{{says: "exit code 0", seen: completed("1")}, {says: "suspend: true", after: time.Second, seen: completed("1"), app: suspend}, {says: "look again", seen: completed("1")}})},
		"suspend-too-late":         {steps: concat(begin("1"), []step{{says: "suspend: true", seen: running("1"), app: suspend}, {says: "the driver was faster", after: 2 * time.Second, seen: completed("1")}})},
		"suspend-and-resume":       {steps: concat(begin("1"), []step{{says: "suspend: true", seen: running("1"), app: suspend}, {says: "stop it", after: 2 * time.Second, seen: running("1")}, {says: "suspend: false", after: time.Second, seen: leaving(running("1")), app: unsuspend}, {says: "it is gone", seen: absent}, {says: "begin again", after: 2 * time.Second, seen: absent}}, again("2"))},
		"suspend-on-a-lost-node":   {steps: concat(begin("1"), []step{{says: "suspend: true", seen: running("1"), app: suspend}, {says: "stop it", after: 2 * time.Second, seen: running("1")}, {says: "it does not stop", seen: leaving(running("1"))}, {says: "its node does not answer", after: 2 * time.Minute, seen: leaving(running("1"))}, {says: "the node was deleted", after: time.Minute, seen: absent}})},
		"edit-while-running":       {steps: concat(begin("1"), []step{{says: "the spec is edited", seen: running("1"), app: edit}, {says: "begin again", after: 2 * time.Second, seen: running("1")}, {says: "the old driver has to go", after: 2 * time.Second, seen: running("1")}, {says: "it is going", seen: leaving(running("1"))}}, again("2"), over(completed("2")))},
		"edit-after-completion":    {steps: concat(begin("1"), succeed("1"), []step{{says: "the spec is edited", after: time.Hour, seen: completed("1"), app: edit}, {says: "begin again", after: 2 * time.Second, seen: completed("1")}, {says: "the old pod has to go", after: 2 * time.Second, seen: completed("1")}}, again("2"))},
		"edit-while-waiting":       {app: restart(lifecycle.OnFailure, 1), steps: concat(begin("1"), []step{{says: "the driver fails", seen: exited("1", 1)}, {says: "the spec is edited", after: 2 * time.Second, seen: exited("1", 1), app: edit}, {says: "begin again, without the wait", after: 2 * time.Second, seen: exited("1", 1)}, {says: "the old pod has to go", after: 2 * time.Second, seen: exited("1", 1)}}, again("2"), fail(exited("2", 1), 20*time.Second), again("3"))},
		"edit-while-suspended":     {steps: concat(begin("1"), []step{{says: "suspend: true", seen: running("1"), app: suspend}}, stopped("1"), []step{{says: "the spec is edited", seen: absent, app: edit}}, lifted("2"))},
		"edit-and-suspend":         {steps: concat(begin("1"), []step{{says: "edited and suspended at once", seen: running("1"), app: all(edit, suspend)}}, stopped("1"), lifted("2"))},
		"edit-of-nothing":          {steps: concat(begin("1"), []step{{says: "timeToLiveSeconds is set", seen: running("1"), app: func(a *lifecycle.Application) { a.Generation++ }}}, succeed("1"))},
		"edit-before-a-crash":      {steps: concat([]step{{says: "the driver is created", seen: absent, lost: crash}, {says: "restarted, and edited meanwhile", seen: running("1"), app: edit}, {says: "the spec is another", after: 2 * time.Second, seen: running("1")}, {says: "begin again", after: 2 * time.Second, seen: running("1")}})},
	}
}

func keep(success, failure lifecycle.TTLs) func(*lifecycle.Application) {
	return func(a *lifecycle.Application) {
		a.Policies.Retention = lifecycle.Retention{OnSuccess: success, OnFailure: failure}
	}
}

// deadlines are what happens when something takes too long, and after the end.
func deadlines() map[string]story {
	limit := func(d lifecycle.Deadlines) func(*lifecycle.Application) {
		return func(a *lifecycle.Application) { a.Policies.Deadlines, a.Executors = d, 2 }
	}
	minute, hour := time.Minute, time.Hour
	unplaced, imageless := stuck("1", lifecycle.ReasonUnschedulable, nodesText), stuck("1", lifecycle.ReasonImagePull, imageText)
	given := func(d lifecycle.Driver) []step {
		return []step{{says: "stop what is left", after: 2 * time.Second, seen: d}, {says: "it is going", seen: leaving(d)}, {says: "it is gone", seen: absent}}
	}
	return map[string]story{
		"queue-deadline":           {app: limit(lifecycle.Deadlines{Queued: time.Hour}), steps: []step{{says: "the queue is full", seen: absent, gate: held}, {says: "it still is", after: 59*time.Minute + 30*time.Second, seen: absent, gate: held}, {says: "an hour is over", after: 30 * time.Second, seen: absent, gate: held}, {says: "look again", after: 2 * time.Second, seen: absent, gate: held}}},
		"scheduling-deadline":      {app: limit(lifecycle.Deadlines{DriverScheduled: time.Hour}), steps: concat([]step{{says: "nothing holds it back", seen: absent}, {says: "no node has room", seen: unplaced}, {says: "an hour later", after: time.Hour, seen: unplaced}}, given(unplaced))},
		"ready-deadline":           {app: all(restart(lifecycle.OnFailure, 1), limit(lifecycle.Deadlines{DriverReady: 30 * time.Minute})), steps: concat([]step{{says: "nothing holds it back", seen: absent}, {says: "the image is misspelled", seen: imageless}, {says: "half an hour later", after: 30 * time.Minute, seen: imageless}}, given(imageless), []step{{says: "the next attempt", after: 20 * time.Second, seen: absent}})},
		"run-deadline":             {app: all(restart(lifecycle.Always, 0), limit(lifecycle.Deadlines{Run: time.Hour})), steps: concat(begin("1"), []step{{says: "an hour later", after: time.Hour, seen: running("1")}}, given(running("1")))},
		"first-executors-deadline": {app: limit(lifecycle.Deadlines{FirstExecutors: 15 * time.Minute}), steps: concat(begin("1"), []step{{says: "executors get no node", seen: running("1"), executors: pods(lifecycle.ExecutorPending, 1, 2)}, {says: "Spark replaces them", after: 10 * time.Minute, seen: running("1"), executors: pods(lifecycle.ExecutorPending, 3, 4)}, {says: "a quarter of an hour is over", after: 5 * time.Minute, seen: running("1"), executors: pods(lifecycle.ExecutorPending, 3, 4)}}, given(running("1")))},
		"time-to-live":             {app: keep(lifecycle.TTLs{Application: &hour}, lifecycle.TTLs{}), steps: concat(begin("1"), succeed("1"), []step{{says: "an hour later", after: time.Hour, seen: completed("1")}})},
		"retention-on-success":     {app: keep(lifecycle.TTLs{DriverPod: &minute, Resources: &minute, Application: &hour}, lifecycle.TTLs{}), steps: concat(begin("1"), succeed("1"), []step{{says: "a minute later", after: time.Minute, seen: completed("1")}, {says: "the pod is going", seen: leaving(completed("1"))}, {says: "it is gone", seen: absent}, {says: "nothing new", after: time.Minute, seen: absent}, {says: "an hour later", after: time.Hour, seen: absent}})},
		"retention-on-failure":     {app: all(restart(lifecycle.OnFailure, 1), keep(lifecycle.TTLs{}, lifecycle.TTLs{Resources: &minute})), steps: concat(begin("1"), fail(exited("1", 1), 2*time.Minute), again("2"), over(exited("2", 1)), []step{{says: "a minute later", after: time.Minute, seen: exited("2", 1)}, {says: "nothing new", after: time.Hour, seen: exited("2", 1)}})},
	}
}

// inheritances are applications that Kubeflow's operator has brought this far.
func inheritances() map[string]story {
	status := func(state v1beta2.ApplicationStateType, executions, submissions int32) v1beta2.SparkApplicationStatus {
		return v1beta2.SparkApplicationStatus{
			AppState: v1beta2.ApplicationState{State: state}, SubmissionID: "kubeflow-1", SparkApplicationID: "spark-kubeflow-1",
			LastSubmissionAttemptTime: metav1.NewTime(storyStart.Add(-time.Hour)), ExecutionAttempts: executions, SubmissionAttempts: submissions,
			DriverInfo: v1beta2.DriverInfo{PodName: "pi-driver"},
		}
	}
	theirs := func(id string, phase lifecycle.DriverPhase) lifecycle.Driver {
		d := pod(id, phase)
		d.SubmissionID = id
		return d
	}
	old, unrecorded := theirs("kubeflow-1", lifecycle.DriverRunning), theirs("kubeflow-2", lifecycle.DriverRunning)
	return map[string]story{
		"takeover-running":      {status: status(v1beta2.ApplicationStateRunning, 1, 1), steps: []step{{says: "its driver runs", seen: old}, {says: "nothing new", after: 5 * time.Minute, seen: old}, {says: "exit code 0", after: time.Hour, seen: theirs("kubeflow-1", lifecycle.DriverSucceeded)}}},
		"takeover-rerun":        {app: restart(lifecycle.OnFailure, 2), status: status(v1beta2.ApplicationStatePendingRerun, 1, 1), steps: concat([]step{{says: "the old pod is there", seen: theirs("kubeflow-1", lifecycle.DriverFailed)}, {says: "it is going", seen: leaving(theirs("kubeflow-1", lifecycle.DriverFailed))}}, again("2"))},
		"takeover-unrecorded":   {app: restart(lifecycle.OnFailure, 2), status: status(v1beta2.ApplicationStatePendingRerun, 1, 1), steps: []step{{says: "it had created the next driver and not recorded it", seen: unrecorded}, {says: "nothing new", after: 5 * time.Minute, seen: unrecorded}}},
		"takeover-invalidating": {status: status(v1beta2.ApplicationStateInvalidating, 3, 3), steps: concat([]step{{says: "it was stuck", seen: old}, {says: "the old driver has to go", after: 2 * time.Second, seen: old}}, again("4"))},
	}
}
