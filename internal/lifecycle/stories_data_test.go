// SPDX-License-Identifier: Apache-2.0

package lifecycle_test

import (
	"fmt"
	"maps"
	"time"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
)

// stories are what happens to applications: each is one file under testdata/stories.
func stories() map[string]story {
	told := map[string]story{}
	for _, chapter := range []map[string]story{beginnings(), runs(), retries(), wishes(), deadlines(), inheritances(), servers()} {
		maps.Copy(told, chapter)
	}
	return told
}

// beginnings are what happens before there is a driver.
func beginnings() map[string]story {
	refused := func(c lifecycle.Class, message string) step {
		return step{says: "the API server refuses the driver", seen: absent, refuses: c, message: message}
	}
	again := func(c lifecycle.Class, message string) step {
		return step{says: "it refuses again", seen: absent, refuses: c, message: message}
	}
	return map[string]story{
		"happy-path":            {steps: concat(begin("1"), succeed("1"))},
		"fast-driver":           {steps: concat([]step{{says: "nothing holds it back", seen: absent}, {says: "it ran and ended", seen: completed("1")}}, succeed("1"))},
		"crash-before-status":   {steps: concat([]step{{says: "the driver is created", seen: absent, lost: crash}, {says: "restarted, it sees its driver", seen: pending("1")}, {says: "its container runs", seen: running("1")}}, succeed("1"))},
		"crash-twice":           {steps: concat([]step{{says: "the driver is created", seen: absent, lost: crash}, {says: "the create meets its own driver", seen: absent, lost: crash}, {says: "it ran and ended", seen: completed("1")}}, succeed("1"))},
		"conclusion-lost":       {steps: concat(begin("1"), []step{{says: "exit code 0, the write meets a conflict", seen: completed("1"), lost: crash}}, succeed("1"))},
		"quota":                 {steps: concat([]step{refused(lifecycle.ClassQuota, quotaText), again(lifecycle.ClassQuota, quotaText)}, begin("1"))},
		"scheduler-waits":       {steps: concat([]step{{says: "the queue is full", seen: absent, gate: held}, {says: "it still is", seen: absent, gate: held, after: time.Minute}}, begin("1"))},
		"scheduler-then-quota":  {steps: concat([]step{{says: "the queue is full", seen: absent, gate: held}, refused(lifecycle.ClassQuota, quotaText)}, begin("1"))},
		"operator-forbidden":    {steps: concat([]step{refused(lifecycle.ClassOperatorForbidden, rightsText)}, begin("1"))},
		"namespace-terminating": {steps: []step{refused(lifecycle.ClassTerminating, "namespace jobs is being terminated"), {says: "the application is deleted, too", seen: absent, app: remove}}},
		"trouble-at-submission": {steps: concat([]step{refused(lifecycle.ClassTransient, "etcd leader changed"), again(lifecycle.ClassTransient, "etcd leader changed")}, begin("1"))},
		"doubt-before-start":    {steps: concat([]step{{says: "the live read fails", seen: unknownDriver}, {says: "it fails again", seen: unknownDriver}}, begin("1"))},
		"admission-heals":       {steps: concat([]step{refused(lifecycle.ClassPolicy, accountText), again(lifecycle.ClassPolicy, accountText), {says: "the service account was applied", seen: absent}}, begin("1")[1:])},
		"admission-refused": {steps: []step{refused(lifecycle.ClassPolicy, accountText), again(lifecycle.ClassPolicy, accountText), again(lifecycle.ClassPolicy, accountText),
			again(lifecycle.ClassPolicy, accountText), {says: "conclude", after: 2 * time.Second, seen: absent}, {says: "nothing moves it", after: time.Hour, seen: absent}}},
		"refused-then-fixed":       {steps: concat([]step{refused(lifecycle.ClassRefused, "spec.containers: required value"), {says: "conclude", after: 2 * time.Second, seen: absent}, {says: "the spec is edited", seen: absent, app: edit}}, begin("1")[1:], succeed("1"))},
		"invalid-then-fixed":       {steps: concat([]step{{says: "the spec cannot run", seen: absent, gate: rejected}, {says: "edited, still wrong", seen: absent, gate: rejected, app: edit}, {says: "edited again", seen: absent, app: edit}}, begin("1")[1:])},
		"suspended-from-the-start": {steps: concat([]step{{says: "created with suspend: true", seen: absent, app: func(a *lifecycle.Application) { a.Suspend = true }}, {says: "nothing new", after: 5 * time.Minute, seen: absent}, {says: "suspend: false", seen: absent, app: unsuspend}}, begin("1")[1:])},
		"name-conflict":            {steps: concat([]step{{says: "somebody's pod has the name", seen: notOwned(lifecycle.DriverRunning)}, {says: "it is still there", seen: notOwned(lifecycle.DriverSucceeded)}}, begin("1"))},
		"name-conflict-unseen":     {steps: []step{refused(lifecycle.ClassNameTaken, "pod pi-driver already exists and does not belong to this application; delete or rename it"), {says: "a live read shows it", seen: notOwned(lifecycle.DriverRunning)}}},
		"deleted-while-queued":     {steps: []step{{says: "the queue is full", seen: absent, gate: held}, {says: "deleted, a finalizer holds it", seen: absent, app: remove}}},
	}
}

// runs are what happens to a driver.
func runs() map[string]story {
	oom, lost := exited("1", 137), leaving(running("1"))
	return map[string]story{
		"driver-fails":          {steps: concat(begin("1"), fails(exited("1", 1)))},
		"driver-oom":            {steps: concat(begin("1"), fails(oom))},
		"driver-evicted":        {steps: concat(begin("1"), fails(evicted("1")))},
		"driver-deleted":        {steps: concat(begin("1"), []step{{says: "somebody deletes the pod", seen: leaving(running("1"))}, {says: "it is gone", seen: absent}, {says: "conclude", after: 2 * time.Second, seen: absent}})},
		"driver-replaced":       {steps: concat(begin("1"), []step{{says: "somebody's pod has the name", seen: notOwned(lifecycle.DriverRunning)}, {says: "conclude", after: 2 * time.Second, seen: notOwned(lifecycle.DriverRunning)}})},
		"node-lost":             {app: class(lifecycle.Infrastructure, 3), steps: concat(begin("1"), []step{{says: "the node does not answer, its pods are to be deleted", seen: lost}, {says: "the grace period is over", after: 70 * time.Second, seen: lost}, {says: "the next attempt", after: 10 * time.Second, seen: lost}, {says: "the pod may still run", after: 2 * time.Second, seen: lost}, {says: "still", after: 5 * time.Minute, seen: lost}, {says: "the node was deleted", after: time.Minute, seen: absent}, {says: "the driver runs elsewhere", seen: running("2")}})},
		"node-back":             {steps: concat(begin("1"), []step{{says: "its readings fail", seen: unknownDriver}, {says: "they fail again", after: 2 * time.Second, seen: unknownDriver}, {says: "it was there all the time", after: time.Minute, seen: running("1")}}, succeed("1"))},
		"pending-again":         {steps: concat(begin("1"), []step{{says: "the pod is pending again", seen: pending("1")}, {says: "its container runs", seen: running("1")}})},
		"unschedulable":         {steps: []step{{says: "nothing holds it back", seen: absent}, {says: "no node has room", seen: stuck("1", lifecycle.ReasonUnschedulable, nodesText)}, {says: "still", after: time.Minute, seen: stuck("1", lifecycle.ReasonUnschedulable, nodesText)}, {says: "a node was added", after: time.Minute, seen: running("1")}}},
		"image-heals":           {steps: []step{{says: "nothing holds it back", seen: absent}, {says: "the registry does not answer", seen: stuck("1", lifecycle.ReasonImagePull, imageText)}, {says: "it answers", after: time.Minute, seen: running("1")}}},
		"executors":             {app: func(a *lifecycle.Application) { a.Executors = 2 }, steps: executorStory()},
		"executors-churn":       {app: func(a *lifecycle.Application) { a.Executors = 400 }, steps: churnStory()},
		"deleted-while-running": {steps: concat(begin("1"), []step{{says: "deleted, a finalizer holds it", seen: running("1"), app: remove}, {says: "the driver is going", seen: leaving(running("1"))}, {says: "the driver is gone", seen: absent}})},
		"deletion-in-trouble":   {steps: concat(begin("1"), []step{{says: "deleted, the API server is in trouble", seen: running("1"), app: remove, trouble: lifecycle.ClassTransient, message: "etcd leader changed"}, {says: "again", seen: running("1")}})},
	}
}

// fails ends an attempt that nothing repeats.
func fails(d lifecycle.Driver) []step {
	return []step{
		{says: "the driver fails", after: time.Minute, seen: d},
		{says: "conclude", after: 2 * time.Second, seen: d},
		{says: "look again", seen: d},
	}
}

func pods(state lifecycle.ExecutorState, from, to int) []lifecycle.Executor {
	var all []lifecycle.Executor
	for i := from; i <= to; i++ {
		e := lifecycle.Executor{Name: fmt.Sprintf("pi-0123456789abcdef-exec-%d", i), State: state}
		if state == lifecycle.ExecutorFailed {
			e.Reason = "OOMKilled"
		}
		all = append(all, e)
	}
	return all
}

func executorStory() []step {
	join := func(parts ...[]lifecycle.Executor) (all []lifecycle.Executor) {
		for _, p := range parts {
			all = append(all, p...)
		}
		return all
	}
	run, fail := lifecycle.ExecutorRunning, lifecycle.ExecutorFailed
	return concat(begin("1"), []step{
		{says: "executors are asked for", seen: running("1"), executors: pods(lifecycle.ExecutorPending, 1, 2)},
		{says: "they run", seen: running("1"), executors: pods(run, 1, 2)},
		{says: "one runs out of memory, another replaces it", seen: running("1"), executors: join(pods(run, 1, 1), pods(fail, 2, 2), pods(run, 3, 3))},
		{says: "Spark deletes both", seen: running("1"), executors: pods(run, 3, 3)},
		{says: "exit code 0", seen: completed("1"), executors: pods(run, 3, 3)},
	})
}

func churnStory() []step {
	return concat(begin("1"), []step{
		{says: "hundreds are asked for", seen: running("1"), executors: pods(lifecycle.ExecutorPending, 1, 400)},
		{says: "they run", seen: running("1"), executors: pods(lifecycle.ExecutorRunning, 1, 400)},
		{says: "the first stage is done", seen: running("1"), executors: pods(lifecycle.ExecutorRunning, 301, 400)},
		{says: "and the next", seen: running("1"), executors: pods(lifecycle.ExecutorRunning, 401, 900)},
		{says: "nothing new", seen: running("1"), executors: pods(lifecycle.ExecutorRunning, 401, 900)},
		{says: "exit code 0", seen: completed("1"), executors: pods(lifecycle.ExecutorRunning, 401, 500)},
	})
}
