// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"slices"
	"time"
)

// Counted says when an application runs again by counters of restarts, in families that have no budget for each class of failures.
type Counted struct {
	// Success says that it runs again after a success, and After after which failures.
	Success bool
	After   []FailureClass
	// Restarts is how often it runs again, Failures how often after failures in a row, and Submissions after refused submissions in a row;
	// nil is not counted.
	Restarts              int64
	Failures, Submissions *int64
	// Wait is that before it, FailureWait after a failure and SubmissionWait after a refused submission; nil is Wait.
	Wait                        time.Duration
	FailureWait, SubmissionWait *time.Duration
	// ResetAfter is how long an attempt must have lasted for the counters to begin again; nil for never.
	ResetAfter *time.Duration
}

// Counters count restarts.
type Counters struct {
	// Restarts are all of them, Failures those after failures in a row, and Submissions those after refused submissions in a row.
	Restarts, Failures, Submissions int64
}

// next returns the counters of the attempt after one that lasted so long and ended with a failure of a class, or with "" for a success, and
// the wait before it; ok is false if there is none.
func (c *Counted) next(n Counters, class FailureClass, lasted time.Duration) (next Counters, wait time.Duration, ok bool) {
	if class == "" && !c.Success || class != "" && !slices.Contains(c.After, class) {
		return Counters{}, 0, false
	}
	fresh := c.ResetAfter != nil && lasted >= *c.ResetAfter
	if fresh {
		n = Counters{}
	}
	n.Restarts++
	switch {
	case fresh:
	case class == Submission:
		n.Submissions++
		n.Failures++
	case class == "":
		n.Failures, n.Submissions = 0, 0
	default:
		n.Failures++
		n.Submissions = 0
	}
	limit, count, own := c.Failures, n.Failures, c.FailureWait
	if class == Submission && c.Submissions != nil {
		limit, count = c.Submissions, n.Submissions
	}
	if class == Submission && c.SubmissionWait != nil {
		own = c.SubmissionWait
	}
	if n.Restarts > c.Restarts || class != "" && limit != nil && count > *limit {
		return Counters{}, 0, false
	}
	if wait = c.Wait; class != "" && own != nil {
		wait = *own
	}
	return n, wait, true
}

// refusalCounts reports whether a refused submission is an attempt that has ended: it is over, or the next one begins, whatever is suspended.
func refusalCounts(app Application, rec Record) bool {
	return rec.State == SubmissionFailed && app.Policies.Restart.Counted != nil
}

// lasted is how long the attempt of a record has been at work, from the request for its driver to its end.
func (r Record) lasted() time.Duration {
	if a := r.Current(); a != nil && !a.EndedAt.IsZero() && !r.SubmittedAt.IsZero() {
		return a.EndedAt.Sub(r.SubmittedAt)
	}
	return 0
}

// ended is the class of the failure that the attempt of a record ended with; "" for a success.
func (r Record) ended() FailureClass {
	if r.State == SubmissionFailed {
		return Submission
	}
	if a := r.Current(); a != nil {
		return a.Class
	}
	return ""
}

// following returns the counters of the next attempt; ok is false if there is none, or no counters.
func following(app Application, rec Record) (Counters, bool) {
	c := app.Policies.Restart.Counted
	if c == nil || rec.State != Failing && rec.State != Succeeding && rec.State != SubmissionFailed {
		return Counters{}, false
	}
	next, _, ok := c.next(rec.Retries.Counters, rec.ended(), rec.lasted())
	return next, ok
}
