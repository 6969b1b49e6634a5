/*
Copyright 2026 The Firesteel Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package lifecycle

const (
	crash = true

	quotaText  = `pods "pi-driver" is forbidden: exceeded quota: team, requested: pods=1, used: pods=10, limited: pods=10`
	rightsText = `User "spark-operator" cannot create resource "pods" in API group "" in the namespace "jobs"`
	accountErr = `pods "pi-driver" is forbidden: error looking up service account jobs/spark: serviceaccount "spark" not found`
)

func pending() Driver   { return driver(Current, DriverPending) }
func running() Driver   { return driver(Current, DriverRunning) }
func completed() Driver { return driver(Current, DriverSucceeded) }

func unsure() Driver { return Driver{Presence: Unknown, Name: "pi-driver"} }

func stuck(reason Reason, message string) Driver {
	d := pending()
	d.Waiting = Cause{reason, message}
	return d
}

func exited(e Exit) Driver {
	d := driver(Current, DriverFailed)
	d.Exit = e
	return d
}

func edited(a *Application) { a.Generation++ }

func concat(parts ...[]step) []step {
	var all []step
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}

// start brings an application to a running driver, and end from there to a success.
func start() []step {
	return []step{
		{says: "created", seen: absent, gate: admit},
		{says: "driver waits for its image", seen: pending()},
		{says: "container runs", seen: running()},
	}
}

func end() []step {
	return []step{
		{says: "exit code 0", seen: completed()},
		{says: "conclude", seen: completed()},
		{says: "pod is cleaned up", seen: absent},
	}
}

// stories are what happens to applications: each is one file under testdata/stories.
func stories() map[string][]step {
	return map[string][]step{
		"happy-path":             concat(start(), end()),
		"fast-driver":            concat([]step{{says: "created", seen: absent, gate: admit}}, end()),
		"executors":              executorStory(),
		"crash-before-status":    concat([]step{{says: "created, operator dies", seen: absent, gate: admit, lost: crash}, {says: "restarted, sees its driver", seen: pending()}, {says: "container runs", seen: running()}}, end()),
		"crash-twice":            concat([]step{{says: "created, operator dies", seen: absent, gate: admit, lost: crash}, {says: "stale cache, create meets its own", seen: absent, gate: admit, lost: crash}, {says: "restarted, driver has ended", seen: completed()}, {says: "conclude", seen: completed()}}),
		"conclusion-lost":        concat(start(), []step{{says: "exit code 0, write meets conflict", seen: completed(), lost: crash}}, end()),
		"quota":                  concat([]step{{says: "created", seen: absent, gate: admit, answer: ClassQuota, message: quotaText}, {says: "still no room", seen: absent, gate: admit, answer: ClassQuota, message: quotaText}}, start()),
		"scheduler-waits":        concat([]step{{says: "created", seen: absent, gate: hold}, {says: "nothing new", seen: absent, gate: hold}}, start()),
		"scheduler-then-quota":   concat([]step{{says: "created", seen: absent, gate: hold}, {says: "admitted, but no room", seen: absent, gate: admit, answer: ClassQuota, message: quotaText}}, start()),
		"operator-forbidden":     concat([]step{{says: "created", seen: absent, gate: admit, answer: ClassOperatorForbidden, message: rightsText}}, start()),
		"namespace-terminating":  {{says: "created", seen: absent, gate: admit, answer: ClassTerminating, message: "namespace jobs is being terminated"}, {says: "object gets deleted, too", seen: absent, app: func(a *Application) { a.Deleting = true }}},
		"trouble-at-submission":  concat([]step{{says: "created, API server in trouble", seen: absent, gate: admit, answer: ClassTransient, message: "etcd leader changed"}, {says: "again", seen: absent, gate: admit, answer: ClassTransient, message: "etcd leader changed"}}, start()),
		"refused-then-fixed":     concat([]step{{says: "created", seen: absent, gate: admit, answer: ClassRefused, message: accountErr}, {says: "nothing moves it", seen: absent, gate: admit}, {says: "spec edited", seen: absent, gate: admit, app: edited}}, start()[1:], end()),
		"invalid-then-fixed":     concat([]step{{says: "created", seen: absent, gate: reject}, {says: "edited, still wrong", seen: absent, gate: reject, app: edited}, {says: "edited", seen: absent, gate: admit, app: edited}}, start()[1:]),
		"suspended-then-resumed": concat([]step{{says: "created suspended", seen: absent, gate: admit, app: func(a *Application) { a.Suspend = true }}, {says: "nothing new", seen: absent, gate: admit}, {says: "resumed", seen: absent, gate: admit, app: func(a *Application) { a.Suspend = false; a.Generation++ }}}, start()[1:]),
		"name-conflict":          concat([]step{{says: "somebody's pod has the name", seen: driver(Foreign, DriverRunning), gate: admit}, {says: "it is still there", seen: driver(Foreign, DriverSucceeded), gate: admit}}, start()),
		"name-conflict-unseen":   concat([]step{{says: "create meets a pod out of cache", seen: absent, gate: admit, answer: ClassNameTaken, message: "pod pi-driver exists already and does not belong to this application; delete or rename it"}, {says: "live read shows it", seen: driver(Foreign, DriverRunning), gate: admit}}, start()),
		"driver-oom":             concat(start(), []step{{says: "killed", seen: exited(Exit{Code: 137, Reason: "OOMKilled"})}, {says: "conclude", seen: exited(Exit{Code: 137, Reason: "OOMKilled"})}, {says: "pod is cleaned up", seen: absent}}),
		"driver-evicted":         concat(start(), []step{{says: "evicted", seen: exited(Exit{Code: -1, Reason: "Evicted", Message: "The node was low on resource: memory."})}, {says: "conclude", seen: absent}}),
		"driver-deleted":         concat(start(), []step{{says: "somebody deleted the pod", seen: absent}, {says: "conclude", seen: absent}, {says: "edited after it ran", seen: absent, app: edited}}),
		"driver-replaced":        concat(start(), []step{{says: "somebody made a pod of the name", seen: driver(Foreign, DriverRunning)}, {says: "conclude", seen: driver(Foreign, DriverRunning)}}),
		"api-server-in-doubt":    concat(start(), []step{{says: "live read fails", seen: unsure()}, {says: "live read fails", seen: unsure()}, {says: "it was there all the time", seen: running()}}, end()),
		"doubt-before-start":     concat([]step{{says: "created", seen: absent, gate: hold}, {says: "admitted, live read fails", seen: unsure(), gate: admit}}, start()),
		"unschedulable":          {{says: "created", seen: absent, gate: admit}, {says: "no node has room", seen: stuck("Unschedulable", "0/3 nodes are available: 3 Insufficient cpu.")}, {says: "image is missing", seen: stuck("ImagePullBackOff", "container spark-kubernetes-driver: Back-off pulling image")}, {says: "container runs", seen: running()}},
		"pending-again":          concat(start(), []step{{says: "pod is pending again", seen: pending()}, {says: "container runs", seen: running()}}, end()),
		"deleted-while-running":  concat(start(), []step{{says: "deleted, a finalizer holds it", seen: running(), app: func(a *Application) { a.Deleting = true; a.Generation++ }}, {says: "driver is going", seen: leaving()}, {says: "driver is gone", seen: absent}}),
		"deletion-in-trouble":    concat(start(), []step{{says: "deleted, API server in trouble", seen: running(), app: func(a *Application) { a.Deleting = true }, answer: ClassTransient, message: "etcd leader changed"}, {says: "again", seen: running()}}),
		"former-attempt":         concat([]step{{says: "created", seen: absent, gate: hold}, {says: "pod of an earlier attempt", seen: driver(Former, DriverRunning), gate: admit}, {says: "it is gone", seen: absent, gate: admit}}, start()[1:]),
	}
}

func leaving() Driver {
	d := running()
	d.Deleting = true
	return d
}

func executorStory() []step {
	return concat(start(), []step{
		{says: "executors are asked for", seen: running(), executors: executorMap{"e-1": ExecutorPending, "e-2": ExecutorPending}},
		{says: "one runs", seen: running(), executors: executorMap{"e-1": ExecutorRunning, "e-2": ExecutorPending}},
		{says: "one fails, another replaces it", seen: running(), executors: executorMap{"e-1": ExecutorRunning, "e-2": ExecutorFailed, "e-3": ExecutorRunning}},
		{says: "Spark deletes an idle one", seen: running(), executors: executorMap{"e-2": ExecutorFailed, "e-3": ExecutorRunning}},
		{says: "exit code 0", seen: completed(), executors: executorMap{"e-2": ExecutorFailed, "e-3": ExecutorRunning}},
		{says: "conclude", seen: completed()},
	})
}
