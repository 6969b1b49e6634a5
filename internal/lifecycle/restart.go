// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"hash/fnv"
	"slices"
	"strconv"
	"time"
)

// rule returns the rule of a class and the classes that share its budget.
func (r Restart) rule(c FailureClass) (RetryPolicy, []FailureClass) {
	if own, ok := r.Classes[c]; ok {
		return own, []FailureClass{c}
	}
	if c == Evicted {
		return r.Evictions, []FailureClass{c}
	}
	if c == Submission {
		return r.Submissions, []FailureClass{c}
	}
	var sharing []FailureClass
	for _, other := range []FailureClass{Infrastructure, OutOfMemory, ApplicationExit} {
		if _, ok := r.Classes[other]; !ok {
			sharing = append(sharing, other)
		}
	}
	return r.Failures, sharing
}

// Retry decides whether a failure of the class is retried, and returns the wait before the retry. used counts the earlier retries by class.
func (r Restart) Retry(c FailureClass, exitCode *int32, used map[FailureClass]int32, seed string) (wait time.Duration, ok bool) {
	if r.Type == Never && !r.despiteNever(c) || c == Deadline || c == "" {
		return 0, false
	}
	if c == ApplicationExit && exitCode != nil && !r.worth(*exitCode) {
		return 0, false
	}
	rule, sharing := r.rule(c)
	failures := int32(0)
	for _, class := range sharing {
		failures += used[class]
	}
	_, own := r.Classes[c]
	own = own || c == Evicted
	if failures >= rule.Retries && (own || r.Type != Always) {
		return 0, false
	}
	return rule.wait(failures+1, seed), true
}

// despiteNever reports whether a class is retried with the restart type Never: because the user has set a rule for it, or because the scheduler evicted the
// driver (see RetryAt).
func (r Restart) despiteNever(c FailureClass) bool {
	_, own := r.Classes[c]
	return c == Evicted || c == Infrastructure && own
}

func (r Restart) worth(exitCode int32) bool {
	if slices.Contains(r.FailExitCodes, exitCode) {
		return false
	}
	return len(r.RetryExitCodes) == 0 || slices.Contains(r.RetryExitCodes, exitCode)
}

// wait returns the time between the n-th consecutive failure, counted from 1, and the next attempt. Jitter shortens an exponential wait by up to a fifth. The
// jitter is a function of the seed, so that applications that failed together do not return together.
func (r RetryPolicy) wait(n int32, seed string) time.Duration {
	longest := r.Max
	if r.Linear {
		longest = max(r.Max, r.Initial)
	}
	wait := min(r.Initial, longest)
	if r.Linear {
		if r.Initial > 0 && time.Duration(n) > longest/r.Initial {
			return longest
		}
		return time.Duration(n) * wait
	}
	for i := int32(1); i < n && wait < longest; i++ {
		if wait > longest/2 {
			wait = longest
			break
		}
		wait *= 2
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(seed + "/" + strconv.Itoa(int(n)))) // a hash never fails
	return wait - wait/5000*time.Duration(h.Sum64()%1000)
}

// RetryAt returns the time of the attempt after a failed one; ok is false if there is none.
func RetryAt(app Application, rec Record) (at time.Time, ok bool) {
	at, _, ok = retryAt(app, rec)
	return at, ok
}

func retryAt(app Application, rec Record) (at time.Time, limited, ok bool) {
	class, exitCode := Submission, (*int32)(nil)
	if rec.State != SubmissionFailed {
		a := rec.Current()
		if a == nil {
			return time.Time{}, false, false
		}
		class, exitCode = a.Class, a.ExitCode
		if class == Evicted && !a.Withdrawn && app.Policies.Restart.Type == Never && !app.Policies.Restart.RestartsEvicted {
			return time.Time{}, false, false // the driver may have started, and Never allows one run only
		}
	}
	wait, ok := time.Duration(0), false
	if c := app.Policies.Restart.Counted; c != nil && class != Evicted {
		_, wait, ok = c.next(rec.Retries.Counters, class, rec.lasted())
	} else {
		wait, ok = app.Policies.Restart.Retry(class, exitCode, rec.Retries.Used, app.UID)
	}
	if !ok {
		return time.Time{}, false, false
	}
	return app.Policies.Restart.rated(rec, wait)
}

// repeatAt returns the time of the attempt after a successful one; ok is false if there is none.
func repeatAt(app Application, rec Record) (at time.Time, limited, ok bool) {
	restart := app.Policies.Restart
	if c := restart.Counted; c != nil {
		_, wait, again := c.next(rec.Retries.Counters, "", rec.lasted())
		if !again {
			return time.Time{}, false, false
		}
		return restart.rated(rec, wait)
	}
	if restart.Type != Always {
		return time.Time{}, false, false
	}
	return restart.rated(rec, restart.Failures.Initial)
}

// used takes one retry from the budget of a class.
func used(app Application, r Record, c FailureClass) Record {
	if next, ok := following(app, r); ok && c != Evicted {
		r.Retries.Counters = next
	}
	counts := map[FailureClass]int32{}
	for class, n := range r.Retries.Used {
		counts[class] = n
	}
	counts[c]++
	r.Retries.Used = counts
	return r
}
