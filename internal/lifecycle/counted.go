// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"slices"
	"time"
)

// Counted is the restart rule of families that count restarts, instead of a budget for each class of failures.
type Counted struct {
	// Success restarts after a success; After lists the failure classes that restart.
	Success bool
	After   []FailureClass
	// Restarts limits all restarts. Failures limits the restarts after consecutive failures, and Submissions those after consecutive refused submissions; nil
	// means no limit.
	Restarts              int64
	Failures, Submissions *int64
	// Wait precedes every restart. FailureWait replaces it after a failure, and SubmissionWait after a refused submission, unless nil.
	Wait                        time.Duration
	FailureWait, SubmissionWait *time.Duration
	// ResetAfter resets the counters after an attempt that lasted this long; nil for never.
	ResetAfter *time.Duration
}

// Counters count restarts.
type Counters struct {
	// Restarts counts all restarts. Failures counts the restarts after consecutive failures, and Submissions those after consecutive refused submissions.
	Restarts, Failures, Submissions int64
}

// next returns the counters of the next attempt and the wait before it. class is "" for a success; lasted is the duration of the ended attempt. ok is false if
// no attempt follows.
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

// refusalCounts reports whether a refused submission counts as an ended attempt. Such an application ends or begins the next attempt, also when it is
// suspended.
func refusalCounts(app Application, rec Record) bool {
	return rec.State == SubmissionFailed && app.Policies.Restart.Counted != nil
}

// lasted returns the time from the submission of the driver to the attempt's end; 0 if either is unknown.
func (r Record) lasted() time.Duration {
	if a := r.Current(); a != nil && !a.EndedAt.IsZero() && !r.SubmittedAt.IsZero() {
		return a.EndedAt.Sub(r.SubmittedAt)
	}
	return 0
}

// ended returns the class of the failure that ended the attempt; "" for a success.
func (r Record) ended() FailureClass {
	if r.State == SubmissionFailed {
		return Submission
	}
	if a := r.Current(); a != nil {
		return a.Class
	}
	return ""
}

// following returns the counters of the next attempt; ok is false if there is no next attempt or if the policy does not count.
func following(app Application, rec Record) (Counters, bool) {
	c := app.Policies.Restart.Counted
	if c == nil || rec.State != Failing && rec.State != Succeeding && rec.State != SubmissionFailed {
		return Counters{}, false
	}
	next, _, ok := c.next(rec.Retries.Counters, rec.ended(), rec.lasted())
	return next, ok
}
