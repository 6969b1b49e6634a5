// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"fmt"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// Presence is tri-state: a cache that has not caught up yields Unknown, never Absent.
type Presence string

// The three presences.
const (
	Unknown Presence = "Unknown"
	Absent  Presence = "Absent"
	Present Presence = "Present"
)

// Ownership says which attempt owns an object. Identity is never the name alone.
type Ownership string

const (
	// NotOwned objects have another owner: never adopted or changed, and deleted only if that owner is gone (Driver.Predecessor).
	NotOwned Ownership = "NotOwned"
	// Current objects belong to this application's current attempt.
	Current Ownership = "Current"
	// Previous objects belong to this application, but to another attempt.
	Previous Ownership = "Previous"
)

// DriverPhase is the driver's progress, judged by its Spark container only: sidecars do not count.
type DriverPhase string

// The phases of a driver.
const (
	DriverPending   DriverPhase = "Pending"
	DriverRunning   DriverPhase = "Running"
	DriverSucceeded DriverPhase = "Succeeded"
	DriverFailed    DriverPhase = "Failed"
)

// Driver is the pod that has the driver's name.
type Driver struct {
	Presence  Presence
	Ownership Ownership
	Name      string
	UID       string
	// SubmissionID, SparkAppID and SpecHash are what the pod's labels say.
	SubmissionID string
	SparkAppID   string
	SpecHash     string
	CreatedAt    time.Time
	// ScheduledAt is when the pod got a node, StartedAt when its Spark container started; zero before.
	ScheduledAt time.Time
	StartedAt   time.Time
	Phase       DriverPhase
	// SparkReady is whether its Spark container is ready, Ready whether the pod takes clients, and PodIP its address; "" before it has one.
	SparkReady bool
	Ready      bool
	PodIP      string
	// TokenSecret names the Secret with its clients' token; "" if it asks for none.
	TokenSecret string
	// UIPort is the one of its UI; 0 if the pod names none.
	UIPort int32
	// Unplaced is the version of a pod that has no node, "" once it has one. Such a pod never starts if it has ended, is being
	// deleted, or is deleted at that very version.
	Unplaced string
	// Waiting says why a pending driver does not run; empty when all is normal.
	Waiting Wait
	// Restarted is set when a live driver's Spark container has ended and the kubelet started it again in the pod, or is about to: its
	// program would run twice in one attempt.
	Restarted bool
	// Predecessor is set when a driver that is not owned belongs to the application that had the name before.
	Predecessor bool
	// Exit is set when the phase is DriverFailed, and is that of the first run when Restarted is set.
	Exit Exit
	// MemoryLimit is that of the Spark container, in bytes; 0 if it is not known.
	MemoryLimit int64
	// Disruption says what the cluster did to the pod, in its own words; empty if nothing.
	Disruption Cause
	// Deleting is set when the pod is being deleted; GoneAt is when it must be gone.
	Deleting bool
	GoneAt   time.Time
	// LogTail holds the last lines of the log of a driver whose program failed, without control characters, if it was asked for.
	LogTail string
}

// Wait is why pods are not scheduled or do not start. Reason and message are the operator's and identify the wait.
type Wait struct {
	Cause
	// Details are the message of a scheduler or a kubelet. It changes often, e.g. with every node that is added: other
	// details are no change.
	Details string
}

// Detailed is the cause with the details in its message.
func (w Wait) Detailed() Cause {
	c := w.Cause
	if w.Details != "" {
		c.Message = w.Prefix() + w.Details
	}
	return c
}

// WaitOf is what a scheduler's observation says of pods that wait. By the plugins' contract only the reason is stable.
func WaitOf(o scheduler.Observation) Wait { return Wait{Cause{Reason: o.Reason}, o.Message} }

// Prefix is what the sentence begins with, whatever the details are.
func (w Wait) Prefix() string {
	if w.Message == "" {
		return ""
	}
	return w.Message + ": "
}

// lostGrace is how long after the end of its grace period a pod that is being deleted may need to disappear. A working
// kubelet needs a few seconds.
const lostGrace = 30 * time.Second

// claimGrace is how long a running scheduler may need to process a pod.
const claimGrace = 30 * time.Second

// Is reports whether the pod is there and has the given owner.
func (d Driver) Is(o Ownership) bool { return d.Presence == Present && d.Ownership == o }

func (d Driver) ours() bool { return d.Is(Current) || d.Is(Previous) }

func (d Driver) live() bool { return d.Phase == DriverPending || d.Phase == DriverRunning }

// over reports whether its program has ended, whatever the pod does since.
func (d Driver) over() bool { return !d.live() || d.Restarted }

// ran reports whether its Spark container has run. One that could not be started gets a time, too: the first of all.
func (d Driver) ran() bool {
	return d.Restarted || d.Phase == DriverRunning || d.Phase == DriverSucceeded || d.Phase == DriverFailed && d.StartedAt.Unix() > 0
}

// orphan reports whether the driver runs although the application has finished or suspended: a second operator that
// believed to lead was slow to create it.
func (d Driver) orphan() bool { return d.ours() && d.live() && !d.Deleting }

// overdue reports whether the pod should have been deleted a while ago.
func (d Driver) overdue(now time.Time) bool {
	return d.Presence == Present && d.Deleting && !d.GoneAt.IsZero() && now.After(d.GoneAt.Add(lostGrace))
}

// lost reports whether the pod should have been deleted a while ago, and may still run: its node does not respond.
func (d Driver) lost(now time.Time) bool { return d.overdue(now) && d.live() }

// unclaimed reports whether the pod has waited for a while and no scheduler has processed it: one that finds no node
// sets a condition.
func (d Driver) unclaimed(now time.Time) bool {
	return d.Presence == Present && d.Phase == DriverPending && d.ScheduledAt.IsZero() && d.Waiting.Reason == "" && now.Sub(d.CreatedAt) >= claimGrace
}

// Observation is what the reader saw of an application's pods.
type Observation struct {
	// At is when the last of it was seen; zero if that was at Env.Now, with which a reconcile begins. An API server may be slow.
	At     time.Time
	Driver Driver
	// Strays are drivers of other attempts that have other names than this one's: an operator that believed to lead was slow to create them.
	Strays    []Driver
	Executors []Executor
	// Scheduled are the objects that schedulers have for an application that is over.
	Scheduled []scheduler.Ref
	// Sessions are the driver's, if NeedsSessions asked for them.
	Sessions Sessions
	// Scheduler is what the application's scheduler says of a driver that was submitted. Its zero value says nothing.
	Scheduler scheduler.Observation
	// Chosen is who schedules a driver that Decide is to adopt, if AdoptsDriver asked for it.
	Chosen scheduler.Choice
}

// seenAt is when what is seen was certainly true: it was not before that moment, as far as anybody knows.
func (o Observation) seenAt(env Env) time.Time {
	if o.At.After(env.Now) {
		return o.At
	}
	return env.Now
}

// Executor is one executor pod.
type Executor struct {
	Name  string
	State ExecutorState
	// Ready is whether its pod is ready.
	Ready bool
	// ExitCode is nil if its container reported none; Reason is the kubelet's.
	ExitCode *int32
	Reason   string
}

// Exit is how the driver's Spark container ended.
type Exit struct {
	// Code is the exit code; -1 when the pod failed without the container reporting one.
	Code int32
	// Reason and Message are the kubelet's words, e.g. "OOMKilled".
	Reason  string
	Message string
}

// String is the sentence that users read as the application's error.
func (e Exit) String() string {
	if e.Code < 0 {
		return withDetail("driver container status missing", e.Reason, e.Message)
	}
	text := fmt.Sprintf("driver container failed with ExitCode: %d, Reason: %s", e.Code, e.Reason)
	if e.Message != "" {
		text += ", Message: " + e.Message
	}
	return text
}

// again is the sentence about the end of a container that was started again.
func (e Exit) again() string {
	const text = "the driver container was started again in its pod, where a program runs once"
	if e.Code < 0 {
		return text + "; its first end is not known"
	}
	return withDetail(text+"; it had ended with ExitCode: "+strconv.Itoa(int(e.Code)), e.Reason, e.Message)
}

func withDetail(text, reason, message string) string {
	for _, part := range []string{reason, message} {
		if part != "" {
			text += ": " + part
		}
	}
	return text
}

// oomKilled is the kubelet's reason for a container that was killed for its memory.
const oomKilled = "OOMKilled"

// failureOf says what kind of failure the end of a driver is. What the cluster did to the pod takes precedence over
// what its container reported: an evicted driver has an exit code, too.
func failureOf(app Application, d Driver) (FailureClass, Cause) {
	text := d.Exit.String()
	if d.Restarted {
		text = d.Exit.again()
	}
	switch {
	case d.Disruption.Reason != "" && string(d.Disruption.Reason) == d.Exit.Reason:
		return Infrastructure, Cause{ReasonDriverEvicted, text} // it says so itself
	case d.Disruption.Reason != "":
		return Infrastructure, Cause{ReasonDriverEvicted, withDetail(text, string(d.Disruption.Reason), d.Disruption.Message)}
	case d.Exit.Reason == oomKilled:
		return OutOfMemory, Cause{ReasonDriverOutOfMemory, withCause(text, memoryCause(app, d))}
	case d.Restarted:
		return ApplicationExit, Cause{ReasonDriverRestarted, withCause(text, logCause(d.LogTail))}
	case d.Exit.Code < 0:
		return Infrastructure, Cause{ReasonDriverEvicted, text}
	case d.Deleting:
		return Infrastructure, Cause{ReasonDriverNotFound, text + "; the driver pod was being deleted"}
	}
	return ApplicationExit, Cause{ReasonDriverFailed, withCause(text, logCause(d.LogTail))}
}

// withCause continues the sentence about an exit with what led to it.
func withCause(text, cause string) string {
	if cause == "" {
		return text
	}
	return text + ", Cause: " + cause
}

// memoryCause says how much memory a driver that was killed for it could use, and what it was made up of. Pods that were
// made under other policies, or that have a limit of their own, say the limit only.
func memoryCause(app Application, d Driver) string {
	if d.MemoryLimit <= 0 {
		return ""
	}
	text := "it used more memory than its limit of " + quantity(d.MemoryLimit)
	if app.Model == nil {
		return text
	}
	if heap, overhead := spark.DriverMemory(*app.Model); heap+overhead == d.MemoryLimit {
		text += " (heap " + quantity(heap) + ", overhead " + quantity(overhead) + ")"
	}
	return text
}

// quantity is a number of bytes as Kubernetes writes it.
func quantity(n int64) string { return resource.NewQuantity(n, resource.BinarySI).String() }
