// SPDX-License-Identifier: Apache-2.0

package kubeflow

import (
	"regexp"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
)

// sentenceHolds is how long a sentence about a wait stands although its numbers are others by now. What is free in a queue
// or a quota changes with every pod that comes or goes there, and each change wakes all who wait for it.
const sentenceHolds = time.Minute

// numbers are amounts in sentences, with their units.
var numbers = regexp.MustCompile(`[0-9][0-9.]*[A-Za-z]*`)

// stands is whether the stored sentence about a wait still says why the application waits, and was written so lately that
// other numbers can wait. An edit of the specification is answered at once.
func stands(old *v1beta2.SparkApplicationStatus, r lifecycle.Record, now time.Time) bool {
	s := old.Scheduling
	if s == nil || s.MessageTime == nil || !now.Before(s.MessageTime.Add(sentenceHolds)) {
		return false
	}
	return r.State.Starting() && r.State != lifecycle.SubmissionFailed && states[r.State] == old.AppState.State &&
		r.Generation == old.ObservedGeneration && s.Reason == string(r.Cause.Reason) && alike(s.Message, r.Cause.Message)
}

// alike is whether two sentences say the same but for numbers. Before a colon the cause is named, after it come the
// details: which resources are short, and of how much.
func alike(a, b string) bool {
	headA, _, longA := strings.Cut(a, ": ")
	headB, _, longB := strings.Cut(b, ": ")
	return longA == longB && numbers.ReplaceAllString(headA, "0") == numbers.ReplaceAllString(headB, "0")
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
