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

// Presence has three values: a cache that has not caught up yields Unknown, never Absent.
type Presence string

// The three presences.
const (
	Unknown Presence = "Unknown"
	Absent  Presence = "Absent"
	Present Presence = "Present"
)

// Ownership names the attempt that owns an object. A name alone never identifies an object.
type Ownership string

const (
	// NotOwned objects have another owner. They are never adopted or changed, and deleted only after their owner is gone
	// (Driver.Predecessor).
	NotOwned Ownership = "NotOwned"
	// Current objects belong to this application's current attempt.
	Current Ownership = "Current"
	// Previous objects belong to this application, but to another attempt.
	Previous Ownership = "Previous"
)

// DriverPhase is the driver's progress by its Spark container; sidecars do not count.
type DriverPhase string

// The phases of a driver.
const (
	DriverPending   DriverPhase = "Pending"
	DriverRunning   DriverPhase = "Running"
	DriverSucceeded DriverPhase = "Succeeded"
	DriverFailed    DriverPhase = "Failed"
)

// Driver is the pod with the driver's name.
type Driver struct {
	Presence  Presence
	Ownership Ownership
	Name      string
	UID       string
	// SubmissionID, SparkAppID and SpecHash are read from the pod's labels.
	SubmissionID string
	SparkAppID   string
	SpecHash     string
	CreatedAt    time.Time
	// ScheduledAt is the time at which the pod got a node, StartedAt that at which its Spark container started; zero before.
	ScheduledAt time.Time
	StartedAt   time.Time
	Phase       DriverPhase
	// SparkReady is the readiness of the Spark container, Ready that of the pod for clients. PodIP is its address; "" before it
	// has one.
	SparkReady bool
	Ready      bool
	PodIP      string
	// TokenSecret names the Secret with the clients' token; "" if the pod needs none.
	TokenSecret string
	// UIPort is the port of the UI; 0 if the pod names none.
	UIPort int32
	// Unplaced is the version of a pod without a node, "" once it has one. Such a pod never starts if it has ended, is being
	// deleted, or is deleted at exactly that version.
	Unplaced string
	// Waiting explains why a pending driver does not run; empty if the wait is normal.
	Waiting Wait
	// Restarted is set when a live driver's Spark container ended and the kubelet started it again or is about to: its program
	// would run twice in one attempt.
	Restarted bool
	// Predecessor is set when the driver belongs to a deleted application of the same name.
	Predecessor bool
	// Exit is set in the phase DriverFailed. If Restarted is set, it is that of the first run.
	Exit Exit
	// MemoryLimit is that of the Spark container, in bytes; 0 if unknown.
	MemoryLimit int64
	// Disruption describes the cluster's action on the pod, such as an eviction; empty for none.
	Disruption Cause
	// Deleting is set when the pod is being deleted; GoneAt is when it must be gone.
	Deleting bool
	GoneAt   time.Time
	// LogTail holds the last log lines of a driver whose program failed, without control characters, if requested.
	LogTail string
}

// Wait explains why pods are not scheduled or do not start. The operator's reason and message identify it.
type Wait struct {
	Cause
	// Details are the message of a scheduler or a kubelet. They change often, e.g. with every new node, so a change of details
	// alone is not reported.
	Details string
}

// Detailed returns the cause with the details in its message.
func (w Wait) Detailed() Cause {
	c := w.Cause
	if w.Details != "" {
		c.Message = w.Prefix() + w.Details
	}
	return c
}

// WaitOf returns a scheduler's observation of waiting pods as a Wait. By the plugins' contract only the reason is stable.
func WaitOf(o scheduler.Observation) Wait { return Wait{Cause{Reason: o.Reason}, o.Message} }

// Prefix returns the beginning of the sentence, without the details.
func (w Wait) Prefix() string {
	if w.Message == "" {
		return ""
	}
	return w.Message + ": "
}

// lostGrace is the time that a deleted pod may exist after its grace period. A working kubelet needs a few seconds.
const lostGrace = 30 * time.Second

// claimGrace is the time in which a running scheduler processes a pod.
const claimGrace = 30 * time.Second

// Is reports whether the pod exists and has the given owner.
func (d Driver) Is(o Ownership) bool { return d.Presence == Present && d.Ownership == o }

func (d Driver) ours() bool { return d.Is(Current) || d.Is(Previous) }

func (d Driver) live() bool { return d.Phase == DriverPending || d.Phase == DriverRunning }

// over reports whether the program has ended, whatever happens to the pod afterwards.
func (d Driver) over() bool { return !d.live() || d.Restarted }

// ran reports whether the Spark container has run. A container that failed to start has a start time, too: the earliest
// possible.
func (d Driver) ran() bool {
	return d.Restarted || d.Phase == DriverRunning || d.Phase == DriverSucceeded || d.Phase == DriverFailed && d.StartedAt.Unix() > 0
}

// orphan reports whether the driver runs although the application is finished or suspended. A second operator that believed to
// lead created it late.
func (d Driver) orphan() bool { return d.ours() && d.live() && !d.Deleting }

// overdue reports whether the pod should have been deleted a while ago.
func (d Driver) overdue(now time.Time) bool {
	return d.Presence == Present && d.Deleting && !d.GoneAt.IsZero() && now.After(d.GoneAt.Add(lostGrace))
}

// lost reports whether the pod should have been deleted a while ago and may still run, because its node does not respond.
func (d Driver) lost(now time.Time) bool { return d.overdue(now) && d.live() }

// unclaimed reports whether no scheduler has processed the pod within claimGrace. A scheduler that finds no node sets a
// condition.
func (d Driver) unclaimed(now time.Time) bool {
	return d.Presence == Present && d.Phase == DriverPending && d.ScheduledAt.IsZero() && d.Waiting.Reason == "" && now.Sub(d.CreatedAt) >= claimGrace
}

// Observation is the observed state of an application's pods.
type Observation struct {
	// At is the time of the last read; zero if it was Env.Now, the begin of the reconcile. An API server may be slow.
	At     time.Time
	Driver Driver
	// Strays are drivers of other attempts with other names. A second operator that believed to lead created them late.
	Strays    []Driver
	Executors []Executor
	// Scheduled are the scheduler objects of an application that has ended.
	Scheduled []scheduler.Ref
	// Sessions are the driver's sessions, if NeedsSessions asked for them.
	Sessions Sessions
	// Scheduler is the scheduler's report about a submitted driver. The zero value reports nothing.
	Scheduler scheduler.Observation
	// Chosen is the scheduler of a driver that Decide adopts, if AdoptsDriver asked for it.
	Chosen scheduler.Choice
}

// seenAt returns the earliest time at which the observation was true.
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
	// Ready is set if its pod is ready.
	Ready bool
	// ExitCode is nil if its container reported none; Reason is the kubelet's.
	ExitCode *int32
	Reason   string
}

// Exit is the end of the driver's Spark container.
type Exit struct {
	// Code is the exit code; -1 when the pod failed without the container reporting one.
	Code int32
	// Reason and Message are the kubelet's words, e.g. "OOMKilled".
	Reason  string
	Message string
}

// String returns the error of the application for users.
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

// again returns the sentence about a container that was started again.
func (e Exit) again() string {
	const text = "the driver container was restarted in its pod, but a program must run only once"
	if e.Code < 0 {
		return text + "; its first exit is unknown"
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

// oomKilled is the kubelet's reason for a container killed for its memory use.
const oomKilled = "OOMKilled"

// failureOf classifies the end of a driver. A disruption by the cluster takes precedence over the container's exit code: an
// evicted driver has an exit code, too.
func failureOf(app Application, d Driver) (FailureClass, Cause) {
	text := d.Exit.String()
	if d.Restarted {
		text = d.Exit.again()
	}
	switch {
	case d.Disruption.Reason != "" && string(d.Disruption.Reason) == d.Exit.Reason:
		return Infrastructure, Cause{ReasonDriverEvicted, text} // which names the disruption already
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

// withCause appends the cause in the log to the sentence about an exit.
func withCause(text, cause string) string {
	if cause == "" {
		return text
	}
	return text + ", Cause: " + cause
}

// memoryCause explains the memory limit of a driver that was killed for its memory, and the parts of that limit. For pods
// created under other policies or with a limit of their own it has the limit only.
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

// quantity formats a number of bytes as Kubernetes does.
func quantity(n int64) string { return resource.NewQuantity(n, resource.BinarySI).String() }
