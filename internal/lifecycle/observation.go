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

// Presence says whether an object exists. A cache that has not caught up yields Unknown, never Absent.
type Presence string

// The three presences.
const (
	Unknown Presence = "Unknown"
	Absent  Presence = "Absent"
	Present Presence = "Present"
)

// Ownership says which attempt owns an object. A name alone never identifies an object.
type Ownership string

const (
	// NotOwned objects have another owner. They are never adopted or changed. They are deleted only after their owner is gone (Driver.Predecessor).
	NotOwned Ownership = "NotOwned"
	// Current objects belong to this application's current attempt.
	Current Ownership = "Current"
	// Previous objects belong to this application, but to another attempt.
	Previous Ownership = "Previous"
)

// DriverPhase is the phase of the driver's Spark container. Sidecars do not count.
type DriverPhase string

// The phases of a driver.
const (
	DriverPending   DriverPhase = "Pending"
	DriverRunning   DriverPhase = "Running"
	DriverSucceeded DriverPhase = "Succeeded"
	DriverFailed    DriverPhase = "Failed"
)

// Driver is the observed pod with the driver's name.
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
	// ScheduledAt is when the pod got a node, and StartedAt when its Spark container started; zero before.
	ScheduledAt time.Time
	StartedAt   time.Time
	Phase       DriverPhase
	// SparkReady is the readiness of the Spark container, and Ready the pod's. PodIP is "" before the pod has an address.
	SparkReady bool
	Ready      bool
	PodIP      string
	// TokenSecret names the Secret with the clients' token; "" if the pod needs none.
	TokenSecret string
	// UIPort is the port of the UI; 0 if the pod names none.
	UIPort int32
	// Unplaced is the resourceVersion of a pod without a node; "" once it has one. Such a pod certainly never starts if it has ended, is being deleted, or is
	// deleted at exactly that version.
	Unplaced string
	// Waiting explains why a pending driver is not running; empty if the wait is normal.
	Waiting Wait
	// Restarted is set when a live driver's Spark container ended and the kubelet restarted it or is about to. Its program would run twice in one attempt.
	Restarted bool
	// Predecessor is set when the driver belongs to a deleted application of the same name.
	Predecessor bool
	// Exit is set in the phase DriverFailed. If Restarted is set, Exit is the exit of the first run.
	Exit Exit
	// MemoryLimit is the limit of the Spark container, in bytes; 0 if unknown.
	MemoryLimit int64
	// Disruption explains how the cluster ended the pod, e.g. by an eviction; empty for none.
	Disruption Cause
	// Deleting is set when the pod has a deletion timestamp. GoneAt is this timestamp.
	Deleting bool
	GoneAt   time.Time
	// LogTail holds the last log lines of a driver whose program failed, if requested, without control characters.
	LogTail string
}

// Wait explains why pods are not scheduled or do not start. The reason and the operator's message identify it.
type Wait struct {
	Cause
	// Details are the message of a scheduler or a kubelet. They change often, e.g. with every new node. Changed details alone are not reported.
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

// WaitOf converts a scheduler's observation of waiting pods. By the plugins' contract only the reason is stable.
func WaitOf(o scheduler.Observation) Wait { return Wait{Cause{Reason: o.Reason}, o.Message} }

// Prefix returns the beginning of the message, before the details.
func (w Wait) Prefix() string {
	if w.Message == "" {
		return ""
	}
	return w.Message + ": "
}

// lostGrace is how long a deleted pod may exist after its grace period. A working kubelet needs a few seconds.
const lostGrace = 30 * time.Second

// claimGrace is how long a scheduler may take to process a new pod.
const claimGrace = 30 * time.Second

// Is reports whether the pod exists and has the given owner.
func (d Driver) Is(o Ownership) bool { return d.Presence == Present && d.Ownership == o }

func (d Driver) ours() bool { return d.Is(Current) || d.Is(Previous) }

func (d Driver) live() bool { return d.Phase == DriverPending || d.Phase == DriverRunning }

// over reports whether the program has ended, even if the pod continues.
func (d Driver) over() bool { return !d.live() || d.Restarted }

// ran reports whether the Spark container has run. A container that failed to start has the Unix epoch as its start time.
func (d Driver) ran() bool {
	return d.Restarted || d.Phase == DriverRunning || d.Phase == DriverSucceeded || d.Phase == DriverFailed && d.StartedAt.Unix() > 0
}

// orphan reports whether the driver runs although the application is finished or suspended. A second operator that believed to be the leader created it late.
func (d Driver) orphan() bool { return d.ours() && d.live() && !d.Deleting }

// overdue reports whether the pod still exists after its deletion should have ended.
func (d Driver) overdue(now time.Time) bool {
	return d.Presence == Present && d.Deleting && !d.GoneAt.IsZero() && now.After(d.GoneAt.Add(lostGrace))
}

// lost reports whether an overdue pod may still run, because its node does not respond.
func (d Driver) lost(now time.Time) bool { return d.overdue(now) && d.live() }

// unclaimed reports whether no scheduler has processed the pod within claimGrace. A scheduler that finds no node sets a condition.
func (d Driver) unclaimed(now time.Time) bool {
	return d.Presence == Present && d.Phase == DriverPending && d.ScheduledAt.IsZero() && d.Waiting.Reason == "" && now.Sub(d.CreatedAt) >= claimGrace
}

// Observation is the observed state of an application's pods.
type Observation struct {
	// At is the time of the last read; zero for Env.Now, the start of the reconcile. The two differ if the API server is slow.
	At     time.Time
	Driver Driver
	// Strays are drivers of other attempts with other names. A second operator that believed to be the leader created them late.
	Strays    []Driver
	Executors []Executor
	// Scheduled are the scheduler objects of an application that has ended.
	Scheduled []scheduler.Ref
	// Sessions are the driver's sessions, if NeedsSessions asked for them.
	Sessions Sessions
	// Scheduler is the scheduler's report about a submitted driver; empty for none.
	Scheduler scheduler.Observation
	// Chosen is the scheduler of an adopted driver, if AdoptsDriver asked for it.
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
	// ExitCode is nil if the container reported none. Reason is the kubelet's.
	ExitCode *int32
	Reason   string
}

// Exit is the end of the driver's Spark container.
type Exit struct {
	// Code is the exit code; -1 if the pod failed and the container reported none.
	Code int32
	// Reason and Message are the kubelet's, e.g. "OOMKilled".
	Reason  string
	Message string
}

// String returns the error message for users.
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

// again returns the error message for a container that was restarted in its pod.
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

// failureOf classifies the end of a driver. A disruption takes precedence over the exit code, because an evicted driver has an exit code, too.
func failureOf(app Application, d Driver) (FailureClass, Cause) {
	text := d.Exit.String()
	if d.Restarted {
		text = d.Exit.again()
	}
	switch {
	case d.Disruption.Reason != "" && string(d.Disruption.Reason) == d.Exit.Reason:
		return Infrastructure, Cause{ReasonDriverEvicted, text} // the text already names the disruption
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

// withCause appends the cause from the log to the message about an exit.
func withCause(text, cause string) string {
	if cause == "" {
		return text
	}
	return text + ", Cause: " + cause
}

// memoryCause explains the memory limit of a driver that exceeded it, with the parts of the limit. The parts are omitted if the limit is not the model's, e.g.
// because the user sets it or policies have changed.
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
