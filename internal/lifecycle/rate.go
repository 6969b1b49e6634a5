// SPDX-License-Identifier: Apache-2.0

package lifecycle

import "time"

const (
	// minInterval is the shortest time between the end of an attempt and the next one.
	minInterval = time.Second
	// DefaultRetriesPerHour limits automatic restarts within an hour, unless a policy sets a lower limit. Each restart costs a driver with its objects, status
	// writes and events.
	DefaultRetriesPerHour = 60
)

// perHour returns the limit of restarts within an hour.
func (r Restart) perHour() int {
	if r.PerHour == nil {
		return DefaultRetriesPerHour
	}
	return max(0, min(int(*r.PerHour), DefaultRetriesPerHour))
}

// rated returns the earliest start of the next attempt after the back-off wait. If limited, the hourly limit sets it, otherwise the back-off does. ok is false
// if no retry is allowed.
func (r Restart) rated(rec Record, wait time.Duration) (at time.Time, limited, ok bool) {
	most := r.perHour()
	if most == 0 {
		return time.Time{}, false, false
	}
	at = rec.TerminatedAt.Add(max(wait, minInterval))
	soonest := rec.soonest(most)
	if soonest.After(at) {
		return soonest, true, true
	}
	return at, false, true
}

// soonest returns the earliest start of the next attempt under an hourly limit. The history has the starts of ten attempts, so with 60 an hour the next attempt
// starts ten minutes after the first of these. Refused submissions have no history: the first few follow at the user's interval, and the others share the hour
// equally.
func (r Record) soonest(most int) time.Time {
	if r.State == SubmissionFailed {
		free := min(most/2, maxAttempts)
		if int(r.Retries.Used[Submission]) < free {
			return time.Time{}
		}
		return r.TerminatedAt.Add(time.Hour / time.Duration(most-free))
	}
	window := min(most, maxAttempts)
	for most%window != 0 { // a whole number of windows must make the hourly limit
		window--
	}
	if len(r.Attempts) < window {
		return time.Time{}
	}
	first := r.Attempts[len(r.Attempts)-window]
	began := first.StartedAt
	if began.IsZero() {
		began = first.EndedAt // the attempt never ran
	}
	return began.Truncate(time.Second).Add(time.Duration(window) * time.Hour / time.Duration(most))
}
