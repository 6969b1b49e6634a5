// SPDX-License-Identifier: Apache-2.0

package yunikorn

import (
	"fmt"
	"strings"
	"time"

	"github.com/apache/yunikorn-k8shim/pkg/common/constants"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

const (
	// settled is how long after a driver's creation it takes at most until an event says why it waits: YuniKorn writes at
	// first that it has queued the pod. What is stored of a message is what it says when its reason changes.
	settled = 15 * time.Second
	// eventsRetry is when to read events again: neither the pod nor its conditions change when YuniKorn queues it.
	eventsRetry = 30 * time.Second
	// eventsLast is for how long a missing event proves anything: API servers delete events after an hour, and YuniKorn
	// does not write them again.
	eventsLast = 50 * time.Minute
)

// Reasons of the events in which YuniKorn says why a pod waits; those of type Warning do, too.
const (
	eventInformational = "Informational"
	eventUnschedulable = "PodUnschedulable"
)

// unheard ends the sentence where nothing of YuniKorn can be read and that proves nothing.
const unheard = "; there are no events of YuniKorn, which are deleted after an hour or may not be read: if no application starts, check that YuniKorn runs"

// podEvents are YuniKorn's events about all pods of a namespace: it writes about placeholders whose names are not known,
// and one list serves all applications there. Those about pods that have a node say nothing here, and there are the most of
// them.
func podEvents(a scheduler.Attempt) scheduler.Read {
	return scheduler.Read{
		GroupVersionKind: eventKind, Namespace: a.App.Namespace, Optional: true,
		Fields: "involvedObject.kind=Pod,reportingComponent=" + constants.SchedulerName + ",reason!=Scheduled,reason!=PodBindSuccessful,reason!=TaskCompleted",
	}
}

// waiting is a driver without a node. YuniKorn writes no condition while it gathers a gang, while the queue is full and
// while the queue runs as many applications as it may; what it writes are events.
func waiting(a scheduler.Attempt, o scheduler.Observation, s scheduler.Snapshot, f scheduler.PodStatuses) scheduler.Observation {
	if o.Reason == scheduler.ReasonCapturedByOther {
		return o
	}
	cause, last := words(a, s, f.Driver)
	if o.Reason == scheduler.ReasonWaitingForScheduler { // no condition
		age, heard := f.Now.Sub(f.Driver.CreatedAt), cause+last != ""
		switch {
		case cause == "" && age < settled:
			return unprocessed(settled - age)
		case !heard && age < eventsLast && s.Complete(podEvents(a)):
			return unprocessed(eventsRetry)
		}
		if o = queued(a); !heard {
			o.Message += unheard
		}
	}
	switch {
	case cause != "":
		o.Message += "; YuniKorn says: " + cause
	case last != "" && o.Reason != scheduler.ReasonWaitingForCapacity:
		o.Message += "; YuniKorn does not say what is missing: see whether the queue has capacity, " +
			"and whether it runs as many applications as it may (maxapplications); its last event: " + last
	}
	return o
}

// words returns what YuniKorn said last about why the attempt's pods wait, and what it said last about its driver. About a
// full queue it writes once, and in a gang about a placeholder.
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

// says is whether an event says why a pod waits.
func says(e scheduler.ObjectEvent) bool {
	return e.Reason == eventInformational || e.Reason == eventUnschedulable || e.Warns()
}

// unprocessed is a driver pod that YuniKorn has not queued yet.
func unprocessed(again time.Duration) scheduler.Observation {
	return scheduler.Observation{
		Stage: scheduler.StageQueued, Reason: scheduler.ReasonWaitingForScheduler, RetryAfter: again,
		Message: "waiting for YuniKorn to process the driver pod; if it has no event of YuniKorn a minute after its creation, check that YuniKorn runs",
	}
}

// queued is a driver pod that waits in a queue, alone or with its placeholders.
func queued(a scheduler.Attempt) scheduler.Observation {
	if options, _ := parametersOf(a); options.GangSchedulingStyle == styleNone {
		return scheduler.Observation{
			Stage: scheduler.StageQueued, Reason: scheduler.ReasonWaitingForQuota,
			Message: fmt.Sprintf("waiting in %s for capacity or for its turn: the driver %s", queueOf(a), scheduler.Asking(a.PodSets.Driver.Requests)),
		}
	}
	whole := scheduler.Sum(a.PodSets.Driver.Requests, scheduler.Times(a.PodSets.Executor.Requests, int64(a.PodSets.Initial)))
	return scheduler.Observation{
		Stage: scheduler.StageReserving, Reason: scheduler.ReasonWaitingForGang,
		Message: fmt.Sprintf("waiting in %s for the capacity of the driver and %d executors: together they %s",
			queueOf(a), a.PodSets.Initial, scheduler.Asking(whole)),
	}
}
