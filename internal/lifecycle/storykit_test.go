// SPDX-License-Identifier: Apache-2.0

package lifecycle_test

import (
	"time"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// story is what happens to an application: it is one file under testdata/stories.
type story struct {
	app    func(*lifecycle.Application)
	status v1beta2.SparkApplicationStatus
	steps  []step
}

const (
	crash = true

	quotaText   = `pods "pi-driver" is forbidden: exceeded quota: team, requested: pods=1, used: pods=10, limited: pods=10`
	rightsText  = `User "spark-operator" cannot create resource "pods" in API group "" in the namespace "jobs"`
	accountText = `pods "pi-driver" is forbidden: error looking up service account jobs/spark: serviceaccount "spark" not found`
	imageText   = `container spark-kubernetes-driver: Back-off pulling image "spark:latst"`
	nodesText   = "0/3 nodes are available: 3 Insufficient cpu."
)

var (
	admitted = scheduler.Admission{Verdict: scheduler.Admit, Reason: lifecycle.ReasonAdmitted, Message: "nothing holds the application back"}
	held     = scheduler.Admission{Verdict: scheduler.Wait, Reason: "QueueFull", Message: "queue team has no room: 8 of 8 cores are used", RetryAfter: time.Minute}
	rejected = scheduler.Admission{Verdict: scheduler.Reject, Reason: lifecycle.ReasonInvalidSpec, Message: `spec.driver.memory: "2gb": not a heap size`}

	absent        = lifecycle.Driver{Presence: lifecycle.Absent, Name: "pi-driver"}
	unknownDriver = lifecycle.Driver{Presence: lifecycle.Unknown, Name: "pi-driver"}
)

func storyApp() lifecycle.Application {
	return lifecycle.Application{
		Fields: spark.Fields{"": "spec"},
		UID:    "app", Generation: 1, SpecHash: "spec-1", DriverName: "pi-driver",
		Policies: lifecycle.Policies{
			Restart:   lifecycle.Restart{Type: lifecycle.Never},
			Deadlines: lifecycle.Deadlines{Queued: 24 * time.Hour, DriverScheduled: 24 * time.Hour, DriverReady: 30 * time.Minute},
		},
	}
}

// Changes of the user's object.
func suspend(a *lifecycle.Application)   { a.Suspend = true; a.Generation++ }
func unsuspend(a *lifecycle.Application) { a.Suspend = false; a.Generation++ }
func edit(a *lifecycle.Application)      { a.Generation++; a.SpecHash += "'" }
func remove(a *lifecycle.Application)    { a.Deleting = true; a.Generation++ }

func restart(kind lifecycle.RestartType, retries int32) func(*lifecycle.Application) {
	return func(a *lifecycle.Application) {
		rule := lifecycle.RetryPolicy{Retries: retries, Initial: 20 * time.Second, Max: time.Hour, Linear: true}
		a.Policies.Restart = lifecycle.Restart{Type: kind, Failures: rule, Submissions: rule}
	}
}

func class(c lifecycle.FailureClass, retries int32) func(*lifecycle.Application) {
	return func(a *lifecycle.Application) {
		rule := lifecycle.RetryPolicy{Retries: retries, Initial: 10 * time.Second, Max: 10 * time.Minute}
		a.Policies.Restart.Type, a.Policies.Restart.Classes = lifecycle.OnFailure, map[lifecycle.FailureClass]lifecycle.RetryPolicy{c: rule}
	}
}

func all(changes ...func(*lifecycle.Application)) func(*lifecycle.Application) {
	return func(a *lifecycle.Application) {
		for _, change := range changes {
			change(a)
		}
	}
}

// Drivers, by the number of their attempt.
func pod(attempt string, phase lifecycle.DriverPhase) lifecycle.Driver {
	return lifecycle.Driver{
		Presence: lifecycle.Present, Name: "pi-driver", UID: "uid-" + attempt, SubmissionID: "s-" + attempt, SparkAppID: "spark-" + attempt, Phase: phase,
	}
}

func pending(attempt string) lifecycle.Driver   { return pod(attempt, lifecycle.DriverPending) }
func running(attempt string) lifecycle.Driver   { return pod(attempt, lifecycle.DriverRunning) }
func completed(attempt string) lifecycle.Driver { return pod(attempt, lifecycle.DriverSucceeded) }

func exited(attempt string, code int32) lifecycle.Driver {
	d := pod(attempt, lifecycle.DriverFailed)
	d.Exit = lifecycle.Exit{Code: code, Reason: "Error"}
	if code == 137 {
		d.Exit.Reason = "OOMKilled"
	}
	return d
}

func evicted(attempt string) lifecycle.Driver {
	d := pod(attempt, lifecycle.DriverFailed)
	d.Exit = lifecycle.Exit{Code: 143, Reason: "Error"}
	d.Disruption = lifecycle.Cause{Reason: "TerminationByKubelet", Message: "The node was low on resource: memory."}
	return d
}

func stuck(attempt string, reason lifecycle.Reason, message string) lifecycle.Driver {
	d := pending(attempt)
	d.Waiting.Cause = lifecycle.Cause{Reason: reason, Message: message}
	return d
}

func leaving(d lifecycle.Driver) lifecycle.Driver {
	d.Deleting = true
	return d
}

func notOwned(phase lifecycle.DriverPhase) lifecycle.Driver {
	return lifecycle.Driver{Presence: lifecycle.Present, Ownership: lifecycle.NotOwned, Name: "pi-driver", UID: "uid-foreign", Phase: phase}
}

func concat(parts ...[]step) []step {
	var steps []step
	for _, p := range parts {
		steps = append(steps, p...)
	}
	return steps
}

// begin brings an attempt to a running driver, and succeed from there to a success.
func begin(attempt string) []step {
	return []step{
		{says: "nothing holds it back", seen: absent},
		{says: "the driver waits for its image", seen: pending(attempt)},
		{says: "its container runs", seen: running(attempt)},
	}
}

func succeed(attempt string) []step {
	return []step{
		{says: "exit code 0", after: time.Minute, seen: completed(attempt)},
		{says: "look again", seen: completed(attempt)},
	}
}

// fail ends an attempt, as a failure or as a success that is repeated, and waits for its retry, which begins with the old pod going.
func fail(d lifecycle.Driver, wait time.Duration) []step {
	return []step{
		{says: "the driver ends", after: time.Minute, seen: d},
		{says: "look again", after: 2 * time.Second, seen: d},
		{says: "the wait is over", after: wait, seen: d},
		{says: "the old pod has to go", after: 2 * time.Second, seen: d},
		{says: "it is going", after: 2 * time.Second, seen: leaving(d)},
	}
}
