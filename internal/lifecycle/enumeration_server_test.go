// SPDX-License-Identifier: Apache-2.0

package lifecycle_test

import (
	"testing"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/test/domain"
)

// TestEnumerationOfServers checks the same rules for drivers that take clients, and those that are theirs alone.
func TestEnumerationOfServers(t *testing.T) {
	enumerate(t, "enumeration-servers", "servers: ", func(c *checker, state lifecycle.State) {
		c.gates = domain.Admissions()
		domain.EachServer(state, c.some(func(e *domain.Element) {
			c.element(e)
			c.server(e)
		}))
	})
}

// server checks what is promised to the clients of a server.
func (c *checker) server(e *domain.Element) {
	p := c.decide(c.admits(e))
	from, to, s, d := e.Record, p.Record, e.Observation.Sessions, e.Observation.Driver
	serves := d.Presence == lifecycle.Present && d.Ownership != lifecycle.NotOwned && d.Phase == lifecycle.DriverRunning && !d.Deleting && !d.Restarted // whose sessions ended with its first run
	interrupted := e.App.Suspend || e.App.Deleting || e.App.SpecHash == from.SpecHash+".7"
	overdue := !from.DrainSince.IsZero() && !e.Env.Now.Before(from.DrainSince.Add(e.App.Drain))
	sessions := serves && d.Ready && (!s.Known || s.Open > 0) && e.App.Drain > 0
	edited := from.SpecHash != "" && e.App.SpecHash != from.SpecHash
	current := d.Ownership == lifecycle.Current || d.SubmissionID == from.SubmissionID
	switch {
	case from.State.HasDriver() && edited && current && sessions && !interrupted && !overdue && to.State != lifecycle.Running:
		c.broken("an edit replaces a server with sessions: it becomes %s", to.State)
	case from.State.HasDriver() && edited && overdue && !e.App.Deleting && to.State.HasDriver():
		c.broken("a drain never ends: it stays %s", to.State)
	case to.State.HasDriver() && !to.DrainSince.IsZero() && to.SpecHash != from.SpecHash:
		c.broken("a drain shows the new spec as rolled out")
	case !to.DrainSince.IsZero() && to.State != lifecycle.Running && !e.App.Deleting && d.Presence != lifecycle.Unknown && !seenBefore(from, d):
		c.broken("%s drains", to.State)
	}
	if from.Idle.StoppedAt.IsZero() && !to.Idle.StoppedAt.IsZero() {
		switch {
		case !s.Known, s.Problem != "", s.Executing > 0, s.Streams > 0, e.Env.Now.Sub(s.LastExecution) < e.App.IdleTimeout, e.Env.Now.Sub(e.App.WakeAt) < e.App.IdleTimeout, e.App.IdleTimeout <= 0:
			c.broken("it is stopped as idle, and is not: %+v", s)
		case len(p.Actions) > 0, to.State != lifecycle.Suspending:
			c.broken("it is stopped before that was stored: %s, %+v", to.State, p.Actions)
		}
	}
	if stopped := from.Idle.StoppedAt; !stopped.IsZero() && to.State == lifecycle.Resuming && !interrupted && e.App.WakeAt.Before(stopped) {
		c.broken("it runs again, and nobody has asked for it")
	}
}

// admits is the answer of a scheduler that admits, if it is asked.
func (c *checker) admits(e *domain.Element) (a scheduler.Admission) {
	if lifecycle.NeedsAdmission(e.App, e.Record, e.Observation.Driver, e.Env) {
		a = c.gates[1]
	}
	return a
}
