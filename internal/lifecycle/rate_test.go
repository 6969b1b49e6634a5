// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"testing"
	"time"
)

// history has so many attempts, the last of which ended now; each began some time after the one before.
func history(state State, attempts int, apart time.Duration) Record {
	r := Record{State: state, Attempt: int32(attempts), TerminatedAt: now, Executions: int32(attempts)}
	for i := range attempts {
		began := now.Add(-time.Duration(attempts-i) * apart)
		r.Attempts = append(r.Attempts, Attempt{Number: int32(i + 1), StartedAt: began, EndedAt: began.Add(time.Second), Class: ApplicationExit})
	}
	return r
}

func refusals(n int32) Record {
	return Record{State: SubmissionFailed, TerminatedAt: now, Retries: Retries{Used: map[FailureClass]int32{Submission: n}}}
}

func TestRatedRetries(t *testing.T) {
	at := func(d time.Duration) time.Time { return now.Add(d) }
	fast := RetryPolicy{Retries: 1000}
	slow := RetryPolicy{Retries: 1000, Initial: time.Hour, Max: 24 * time.Hour}
	unrecorded := history(Failing, 10, 3*time.Second)
	unrecorded.Attempts[0].StartedAt = time.Time{}
	cases := map[string]struct {
		reason  string
		rec     Record
		rule    RetryPolicy
		most    *int32
		want    time.Time
		limited bool
		never   bool
	}{
		"Minimum":       {reason: "an interval of 0 is no loop", rec: history(Failing, 1, time.Minute), rule: fast, want: at(time.Second)},
		"MinimumAlways": {reason: "nor after a success", rec: history(Succeeding, 1, time.Minute), rule: fast, want: at(time.Second)},
		"Few":           {reason: "nine may follow each other", rec: history(Failing, 9, 3*time.Second), rule: fast, want: at(time.Second)},
		"Tenth": {
			reason: "the eleventh attempt starts ten minutes after the first", rec: history(Failing, 10, 3*time.Second), rule: fast,
			want: at(10*time.Minute - 30*time.Second), limited: true,
		},
		"TenthAlways": {
			reason: "also after a success, which costs no budget", rec: history(Succeeding, 10, 3*time.Second), rule: fast,
			want: at(10*time.Minute - 30*time.Second), limited: true,
		},
		"NeverRan": {
			reason: "an attempt that never ran counts from its end", rec: unrecorded, rule: fast, want: at(10*time.Minute - 29*time.Second), limited: true,
		},
		"Long":        {reason: "who runs long enough waits for nothing", rec: history(Failing, 10, 2*time.Minute), rule: fast, want: at(time.Second)},
		"Slow":        {reason: "a longer back-off goes before", rec: history(Succeeding, 10, 3*time.Second), rule: slow, want: at(time.Hour)},
		"Policy":      {reason: "five within an hour", rec: history(Failing, 5, time.Minute), rule: fast, most: new(int32(5)), want: at(55 * time.Minute), limited: true},
		"PolicyFew":   {reason: "the fourth retry is free", rec: history(Failing, 4, time.Minute), rule: fast, most: new(int32(5)), want: at(time.Second)},
		"PolicyOnce":  {reason: "one within an hour", rec: history(Failing, 3, time.Minute), rule: fast, most: new(int32(1)), want: at(59 * time.Minute), limited: true},
		"PolicyNever": {reason: "the policy goes before the user's budget", rec: history(Failing, 1, time.Minute), rule: fast, most: new(int32(0)), never: true},
		"AlwaysNever": {reason: "and before Always", rec: history(Succeeding, 1, time.Minute), rule: fast, most: new(int32(0)), never: true},
		"Negative":    {reason: "less than never is never", rec: history(Failing, 1, time.Minute), rule: fast, most: new(int32(-1)), never: true},
		"PolicyMore": {
			reason: "no policy allows more than the default", rec: history(Failing, 10, 3*time.Second), rule: fast, most: new(int32(1000)),
			want: at(10*time.Minute - 30*time.Second), limited: true,
		},
		"Refused":       {reason: "ten refusals may follow each other", rec: refusals(9), rule: fast, want: at(time.Second)},
		"RefusedOften":  {reason: "fifty more share the hour", rec: refusals(10), rule: fast, want: at(72 * time.Second), limited: true},
		"RefusedPolicy": {reason: "of one there is none that is free", rec: refusals(0), rule: fast, most: new(int32(1)), want: at(time.Hour), limited: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			app := with(restarting(Restart{Type: Always, Failures: tc.rule, Submissions: tc.rule, PerHour: tc.most}))
			got, limited, ok := nextAt(app, tc.rec)
			if ok == tc.never || !got.Equal(tc.want) || limited != tc.limited {
				t.Errorf("%s: %s, limited %v, again %v; want %s, %v, %v", tc.reason, got, limited, ok, tc.want, tc.limited, !tc.never)
			}
		})
	}
}

// However fast an application ends, it starts at most as often within any hour as it may, and as often as that if it asks for it.
func TestAttemptsWithinAnyHour(t *testing.T) {
	for _, most := range []int32{1, 2, 5, 10, 25, 60} {
		app := with(restarting(Restart{Type: Always, Failures: RetryPolicy{}, PerHour: &most}))
		rec, clock := Record{State: Succeeding}, now
		var starts []time.Time
		for range 200 {
			starts = append(starts, clock)
			rec.Attempts = appendAttempt(rec.Attempts, Attempt{Number: int32(len(starts)), StartedAt: clock, EndedAt: clock.Add(time.Second)})
			rec.Attempt, rec.TerminatedAt = int32(len(starts)), clock.Add(time.Second)
			at, _, ok := repeatAt(app, rec)
			if !ok {
				t.Fatal("the application does not run again")
			}
			clock = at.Add(time.Second - 1).Truncate(time.Second) // as a kubelet reports it
		}
		for i := int(most); i < len(starts); i++ {
			if within := starts[i].Sub(starts[i-int(most)]); within < time.Hour {
				t.Fatalf("%d an hour: %d starts within %s", most, most+1, within)
			}
		}
		if took := starts[len(starts)-1].Sub(starts[0]); took > 210*time.Hour/time.Duration(most) {
			t.Errorf("%d an hour: 200 starts took %s", most, took)
		}
	}
}

func TestRateIsReported(t *testing.T) {
	app := with(restarting(Restart{Type: Always, Failures: RetryPolicy{}, PerHour: new(int32(5))}))
	c := condition(t, Plan{App: app, Record: history(Succeeding, 5, time.Minute)}, ConditionReconciling)
	const want = "the next attempt starts no earlier than 2026-11-21T09:55:00Z: an application runs again at most 5 times an hour"
	if c.Reason != ReasonRetryRate || c.Message != want {
		t.Errorf("%s: %s", c.Reason, c.Message)
	}
}
