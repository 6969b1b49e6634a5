// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// line is a scheduler with queues, one of which does not exist. Without objects of its own, it puts the queue on the pods.
type line struct{}

const (
	lineName = "line"
	// lineLabel is the queue of a pod.
	lineLabel = "line/queue"
	// noQueue does not exist, and noScheduler is none that an operator knows.
	noQueue, noScheduler = "misspelled", "lime"
)

var _ scheduler.Queuer = line{}

func (line) Describe() scheduler.Descriptor {
	return scheduler.Descriptor{
		Name: lineName, SchedulerName: lineName, ManagedKeys: []scheduler.PodKey{{Part: scheduler.PodLabel, Key: lineLabel}},
		Supports: scheduler.Support{Queues: true, WaitsBeforePods: true},
	}
}

func (line) Validate(scheduler.Attempt) field.ErrorList { return nil }

func (line) Reads(scheduler.Attempt) []scheduler.Read { return nil }

func (line) Admit(a scheduler.Attempt, _ scheduler.Snapshot) (scheduler.Admission, error) {
	if a.Queue == noQueue {
		message := fmt.Sprintf("%s: queue %q does not exist", a.QueueField(), a.Queue)
		return scheduler.Admission{Verdict: scheduler.Wait, Reason: scheduler.ReasonQueueNotFound, Message: message, RetryAfter: time.Minute}, nil
	}
	return scheduler.Admission{Verdict: scheduler.Admit, Reason: scheduler.ReasonAdmitted, Message: "the queue has room"}, nil
}

func (line) Decorate(a scheduler.Attempt, d *scheduler.Decoration) error {
	if a.Queue != "" {
		scheduler.SetIn(&d.Driver.Labels, lineLabel, a.Queue)
		scheduler.SetIn(&d.Executor.Labels, lineLabel, a.Queue)
	}
	return nil
}

func (line) QueueOf(pod spark.PodAttributes, _ []*unstructured.Unstructured) (string, bool) {
	return pod.Labels[lineLabel], true
}

func (line) QueueOfObject(*unstructured.Unstructured) (string, bool) { return "", false }

// waitsFor is why an application that asks for a scheduler and a queue waits until its user changes that, and what the reason has to name; ""
// if it need not wait.
func waitsFor(scheduled, queue string) (reason scheduler.Reason, names string) {
	switch {
	case scheduled == noScheduler:
		return scheduler.ReasonSchedulerUnknown, noScheduler
	case scheduled == lineName && queue == noQueue:
		return scheduler.ReasonQueueNotFound, noQueue
	}
	return "", ""
}
