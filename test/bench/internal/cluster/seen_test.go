// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
)

var start = time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)

func at(seconds float64) time.Time { return start.Add(time.Duration(seconds * float64(time.Second))) }

// lived is an application that has shown some states, one each second.
func lived(states ...string) Seen {
	s := Seen{Created: at(0), Drivers: map[types.UID]time.Time{"a": at(0.5)}}
	for i, state := range states {
		s.States = append(s.States, Shown{State: state, At: at(float64(i + 1))})
	}
	return s
}

func TestSeen(t *testing.T) {
	cases := map[string]struct {
		reason  string
		seen    Seen
		state   string
		over    bool
		events  int
		running time.Time
	}{
		"New":       {reason: "nothing was shown"},
		"Submitted": {reason: "it is on its way", seen: lived("SUBMITTED"), state: "SUBMITTED", events: 1},
		"Completed": {reason: "SUCCEEDING is no news", seen: lived("SUBMITTED", "RUNNING", "SUCCEEDING", "COMPLETED"), state: "COMPLETED", over: true, events: 3, running: at(2)},
		"Late":      {reason: "it never showed RUNNING", seen: lived("SUBMITTED", "COMPLETED"), state: "COMPLETED", over: true, events: 2},
		"Failed":    {reason: "another end", seen: lived("FAILED"), state: "FAILED", over: true, events: 1},
		"Twice":     {reason: "the first time counts", seen: lived("RUNNING", "SUBMITTED", "RUNNING"), state: "RUNNING", events: 3, running: at(1)},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := tc.seen
			if s.State() != tc.state || s.Over() != tc.over || Events([]Seen{s}) != tc.events || !s.At("RUNNING").Equal(tc.running) {
				t.Errorf("%s: %q, %v, %d events, running at %v", tc.reason, s.State(), s.Over(), Events([]Seen{s}), s.At("RUNNING"))
			}
		})
	}
}

func TestDriver(t *testing.T) {
	s := Seen{Drivers: map[types.UID]time.Time{"a": at(3), "b": at(1), "c": at(2)}}
	if !s.HasDriver() || !s.Driver().Equal(at(1)) {
		t.Errorf("the first of three drivers: %v", s.Driver())
	}
	if none := (Seen{}); none.HasDriver() || !none.Driver().IsZero() {
		t.Errorf("no driver: %v", none.Driver())
	}
}

func TestBetween(t *testing.T) {
	all := []Seen{lived("SUBMITTED"), {Created: at(0)}, lived("SUBMITTED", "RUNNING")}
	created := func(s *Seen) time.Time { return s.Created }
	cases := map[string]struct {
		reason string
		to     func(*Seen) time.Time
		want   []float64
	}{
		"Driver":  {reason: "one has none", to: (*Seen).Driver, want: []float64{0.5, 0.5}},
		"Running": {reason: "only one", to: func(s *Seen) time.Time { return s.At("RUNNING") }, want: []float64{2}},
		"Nobody":  {reason: "none at all", to: func(s *Seen) time.Time { return s.At("FAILED") }},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Between(all, created, tc.to)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
	if n := Count(all, (*Seen).HasDriver); n != 2 {
		t.Errorf("%d have a driver, want 2", n)
	}
}

// Whatever an operator does to an application that has ended shows.
func TestFingerprint(t *testing.T) {
	was := lived("COMPLETED")
	for name, change := range map[string]func(*Seen){
		"State":     func(s *Seen) { s.States = append(s.States, Shown{State: "RUNNING"}) },
		"Driver":    func(s *Seen) { s.Drivers = map[types.UID]time.Time{"a": at(1), "b": at(2)} },
		"Submitted": func(s *Seen) { s.submissions++ },
		"Executed":  func(s *Seen) { s.executions++ },
	} {
		now := lived("COMPLETED")
		if now.Fingerprint() != was.Fingerprint() {
			t.Fatal("the same is not the same")
		}
		if change(&now); now.Fingerprint() == was.Fingerprint() {
			t.Errorf("%s: the change does not show", name)
		}
	}
}
