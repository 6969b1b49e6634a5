// SPDX-License-Identifier: Apache-2.0

package kubeflow

import (
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
)

// sentenceHolds is how long a sentence about a wait stands although its numbers are others by now. What is free in a queue
// or a quota changes with every pod that comes or goes there, and each change wakes all who wait for it.
const sentenceHolds = time.Minute

// stands is whether the stored sentence about a wait can stay: the attempt waits for the same reason in the same place, and
// it was written lately. The words are not looked at. An edit of the specification is answered at once, and who has mended
// something is told at once what is next to be mended.
func stands(old, next *v1beta2.SparkApplicationStatus, r lifecycle.Record, now time.Time) bool {
	was, is := old.Scheduling, next.Scheduling
	if was == nil || is == nil || was.MessageTime == nil || !now.Before(was.MessageTime.Add(sentenceHolds)) {
		return false
	}
	return r.State.Starting() && r.State != lifecycle.SubmissionFailed && !lifecycle.NeedsHelp(r.Cause.Reason) && next.AppState.State == old.AppState.State &&
		next.Attempt == old.Attempt && next.ObservedGeneration == old.ObservedGeneration && was.Reason == is.Reason &&
		was.Scheduler == is.Scheduler && was.Source == is.Source && was.Queue == is.Queue && was.Group == is.Group
}

// rephrased is whether somebody else only found other words for why pods wait. Schedulers and kubelets do so all the time,
// for one with every node that comes or goes; a status that repeated it would be written as often. Status and reason are
// the last ones.
func rephrased(last metav1.Condition, next lifecycle.Condition) bool {
	return next.Wait.Details != "" && strings.HasPrefix(last.Message, next.Wait.Lead())
}

// recounted is whether there are other executors by now, of which schedulers tell how many wait.
func recounted(old *v1beta2.SparkApplicationStatus, r lifecycle.Record, next lifecycle.Condition) bool {
	var was lifecycle.Record
	executorsOf(&was, old.Executors)
	return next.Type == lifecycle.ConditionExecutorsReady && was.Counts != r.Counts
}

// spokenAt is when the sentence was written that is to be stored.
func spokenAt(old *v1beta2.SchedulingStatus, message string, now time.Time) *metav1.Time {
	switch {
	case message == "":
		return nil
	case old != nil && old.Message == message:
		return old.MessageTime
	}
	return secondsOrNil(now)
}
