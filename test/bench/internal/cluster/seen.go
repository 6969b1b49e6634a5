// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Shown is a state that a status has shown, and when it was seen.
type Shown struct {
	State string
	At    time.Time
}

// Seen is the observed history of one application. Times are those of this process's clock.
type Seen struct {
	// Created is just before the request was sent.
	Created time.Time
	// States are all that were shown, in their order.
	States []Shown
	// Drivers are the driver pods and when each was first seen.
	Drivers map[types.UID]time.Time
	// Running and Succeeded are when a driver pod was first seen so.
	Running, Succeeded time.Time
	// Ended are the executors that were seen to have ended.
	Ended map[types.UID]bool

	submissions, executions int
}

// State returns the shown state.
func (s *Seen) State() string {
	if len(s.States) == 0 {
		return ""
	}
	return s.States[len(s.States)-1].State
}

// Over reports whether the application has ended.
func (s *Seen) Over() bool { return s.State() == "COMPLETED" || s.State() == "FAILED" }

// HasDriver reports whether there is or was a driver.
func (s *Seen) HasDriver() bool { return len(s.Drivers) > 0 }

// Driver is when the first driver was seen.
func (s *Seen) Driver() time.Time {
	var first time.Time
	for _, at := range s.Drivers {
		if first.IsZero() || at.Before(first) {
			first = at
		}
	}
	return first
}

// At is when a state was first shown; never is the zero time.
func (s *Seen) At(state string) time.Time {
	if i := slices.IndexFunc(s.States, func(shown Shown) bool { return shown.State == state }); i >= 0 {
		return s.States[i].At
	}
	return time.Time{}
}

// Fingerprint changes if the application was submitted again or changed otherwise.
func (s *Seen) Fingerprint() string {
	return fmt.Sprint(s.states(), len(s.Drivers), s.submissions, s.executions)
}

func (s *Seen) states() []string {
	var out []string
	for _, shown := range s.States {
		out = append(out, shown.State)
	}
	return out
}

// Between are the seconds from one moment to another of the applications that have both.
func Between(all []Seen, from, to func(*Seen) time.Time) []float64 {
	var out []float64
	for i := range all {
		if a, b := from(&all[i]), to(&all[i]); !a.IsZero() && !b.IsZero() {
			out = append(out, b.Sub(a).Seconds())
		}
	}
	return out
}

// Count counts the applications of which something is true.
func Count(all []Seen, is func(*Seen) bool) int {
	n := 0
	for i := range all {
		if is(&all[i]) {
			n++
		}
	}
	return n
}

// Events returns the number of events that the status writes require: one for each newly shown state. SUCCEEDING needs none: it
// is a step to COMPLETED.
func Events(all []Seen) int {
	n := 0
	for i := range all {
		for _, shown := range all[i].States {
			if shown.State != "SUCCEEDING" {
				n++
			}
		}
	}
	return n
}
