// SPDX-License-Identifier: Apache-2.0

package yunikorn

import (
	"fmt"
	"strings"
	"time"

	"github.com/apache/yunikorn-k8shim/pkg/common/constants"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

const (
	// settled is the longest time from a driver's creation to an event with the reason of its wait. YuniKorn first writes an event that it has queued the pod.
	// The operator stores a new message only when the reason changes, so it waits for the second event.
	settled = 15 * time.Second
	// eventsRetry is the interval of reading events. It is needed because neither the pod nor its conditions change when YuniKorn queues the pod.
	eventsRetry = 30 * time.Second
	// eventsLast is the age of a pod up to which a missing event proves anything. API servers delete events after an hour, and YuniKorn does not repeat them.
	eventsLast = 50 * time.Minute
)

// Reasons of events in which YuniKorn explains the wait of a pod. Events of type Warning explain it, too.
const (
	eventInformational = "Informational"
	eventUnschedulable = "PodUnschedulable"
)

// unheard ends the sentence if there is no event of YuniKorn and the absence of events proves nothing.
const unheard = "; no events of YuniKorn are visible (the API server deletes them after an hour): if no application starts, check that YuniKorn runs"

// podEvents returns the read of YuniKorn's events about all pods of a namespace. It includes placeholders, because their names are unknown, and one list
// serves all applications there. The most frequent events, about pods with a node, are excluded.
func podEvents(a scheduler.Attempt) scheduler.Read {
	return scheduler.Read{
		GroupVersionKind: eventKind, Namespace: a.App.Namespace, Optional: true,
		Fields: "involvedObject.kind=Pod,reportingComponent=" + constants.SchedulerName + ",reason!=Scheduled,reason!=PodBindSuccessful,reason!=TaskCompleted",
	}
}

// waiting observes a driver without a node. YuniKorn writes events, but sets no condition, in three cases: it gathers a gang, the queue is full, or the queue
// runs its maximum of applications.
func waiting(a scheduler.Attempt, o scheduler.Observation, s scheduler.Snapshot, f scheduler.PodStatuses) scheduler.Observation {
	if o.Reason == scheduler.ReasonCapturedByOther {
		return o
	}
	cause, last := words(a, s, f.Driver)
	if o.Reason == scheduler.ReasonWaitingForScheduler { // no condition
		age, heard := f.Now.Sub(f.Driver.CreatedAt), cause+last != ""
		switch {
		case cause == "" && age < settled:
			return unprocessed(a, settled-age)
		case !heard && age < eventsLast && s.Complete(podEvents(a)):
			return unprocessed(a, eventsRetry)
		}
		if o = queued(a); !heard {
			o.Message += unheard
		}
	}
	switch {
	case cause != "":
		o.Message += "; YuniKorn says: " + cause
	case last != "" && o.Reason != scheduler.ReasonWaitingForCapacity:
		o.Message += "; YuniKorn does not report what is missing: check the capacity of the queue and its maximum " +
			"of running applications (maxapplications); its last event: " + last
	}
	return o
}

// words returns YuniKorn's last message about the wait of the attempt's pods, and its last message about the driver. YuniKorn reports a full queue only once,
// and for a gang it reports it about a placeholder.
func words(a scheduler.Attempt, s scheduler.Snapshot, driver *scheduler.PodStatus) (cause, last string) {
	placeholder := fmt.Sprintf("tg-%.28s-", a.ID)
	ours := func(name string) bool { return name == driver.Name || strings.HasPrefix(name, placeholder) }
	for _, e := range s.Events(podEvents(a), ours) {
		if e.Object == driver.Name {
			if e.UID != driver.UID {
				continue
			}
			last = e.Message
		}
		if says(e) {
			cause = e.Message
		}
	}
	return cause, last
}

// says reports whether an event explains the wait of a pod.
func says(e scheduler.ObjectEvent) bool {
	return e.Reason == eventInformational || e.Reason == eventUnschedulable || e.Warns()
}

// unprocessed observes a driver pod that YuniKorn has not queued yet.
func unprocessed(a scheduler.Attempt, again time.Duration) scheduler.Observation {
	return scheduler.Observation{
		Stage: scheduler.StageQueued, Reason: scheduler.ReasonWaitingForScheduler, RetryAfter: again,
		Message: fmt.Sprintf("waiting for YuniKorn to process the %s pod; if it has no event of YuniKorn a minute after its creation, "+
			"check that YuniKorn runs", a.Word(spark.WordDriver)),
	}
}

// queued observes a driver pod that waits in a queue, alone or with its placeholders.
func queued(a scheduler.Attempt) scheduler.Observation {
	if options, _ := parametersOf(a); options.GangSchedulingStyle == styleNone {
		return scheduler.Observation{
			Stage: scheduler.StageQueued, Reason: scheduler.ReasonWaitingForQuota,
			Message: fmt.Sprintf("waiting in %s for capacity or for its turn: the %s %s",
				queueOf(a), a.Word(spark.WordDriver), scheduler.Asking(a.PodSets.Driver.Requests)),
		}
	}
	whole := a.PodSets.Requests(a.PodSets.Initial)
	return scheduler.Observation{
		Stage: scheduler.StageReserving, Reason: scheduler.ReasonWaitingForGang,
		Message: fmt.Sprintf("waiting in %s for the capacity of the %s and %d %s: together they %s",
			queueOf(a), a.Word(spark.WordDriver), a.PodSets.Initial, a.Word(spark.WordExecutors), scheduler.Asking(whole)),
	}
}
