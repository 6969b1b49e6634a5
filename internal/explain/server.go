// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
)

// Server describes a driver that serves clients.
type Server struct {
	// Ready is set if the driver accepts clients.
	Ready bool `json:"ready"`
	// Sessions is nil if the driver was not asked.
	Sessions *Sessions `json:"sessions,omitempty"`
	// DrainUntil is the latest time at which an edited spec replaces the driver.
	DrainUntil *metav1.Time `json:"drainUntil,omitempty"`
	// IdleSince is the time of the last execution, if known. IdleStop is when the driver will be stopped as idle.
	IdleSince *metav1.Time `json:"idleSince,omitempty"`
	IdleStop  *metav1.Time `json:"idleStop,omitempty"`
	// StoppedAt is when the driver was stopped as idle.
	StoppedAt *metav1.Time `json:"stoppedAt,omitempty"`
}

// Sessions are a server's report about its clients.
type Sessions struct {
	Open          int32        `json:"open"`
	Executing     int32        `json:"executing"`
	Streams       int32        `json:"streams,omitempty"`
	LastExecution *metav1.Time `json:"lastExecution,omitempty"`
	// Problem explains why the sessions are unknown.
	Problem string `json:"problem,omitempty"`
}

// server describes the driver; nil if it does not serve clients.
func (v view) server() *Server {
	if !v.Scope.Desired.Endures {
		return nil
	}
	r := v.plan.Record
	s := &Server{
		Ready: r.State == lifecycle.Running && v.plan.Driver.Ready, DrainUntil: timeOrNil(v.drainUntil()),
		StoppedAt: timeOrNil(r.Idle.StoppedAt), IdleStop: timeOrNil(v.idleStop()),
	}
	if r.State.HasDriver() && v.Scope.Desired.IdleTimeout > 0 && r.DrainSince.IsZero() && !v.Observed.Sessions.Busy() {
		s.IdleSince = timeOrNil(r.Idle.Since)
	}
	if said := v.Observed.Sessions; said.Known || said.Problem != "" {
		s.Sessions = &Sessions{Open: said.Open, Executing: said.Executing, Streams: said.Streams, LastExecution: timeOrNil(said.LastExecution), Problem: said.Problem}
	}
	return s
}

// drainUntil returns the latest time at which a draining server is replaced; zero for others.
func (v view) drainUntil() time.Time {
	if v.plan.Record.DrainSince.IsZero() {
		return time.Time{}
	}
	return v.plan.Record.DrainSince.Truncate(time.Second).Add(v.Scope.Desired.Drain)
}

// idleStop returns when an idle server will be stopped; zero if that is unknown or not planned.
func (v view) idleStop() time.Time {
	r, timeout := v.plan.Record, v.Scope.Desired.IdleTimeout
	if r.State != lifecycle.Running || timeout <= 0 || r.Idle.Since.IsZero() || !r.DrainSince.IsZero() ||
		v.Observed.Sessions.Busy() || v.Observed.Sessions.Problem != "" {
		return time.Time{}
	}
	return r.Idle.Since.Add(timeout)
}

// idle reports whether a server was stopped as idle.
func idle(r lifecycle.Record) bool { return !r.Idle.StoppedAt.IsZero() }

// serving explains why a running server is not ready or will be replaced; empty for none.
func (v view) serving() lifecycle.Cause {
	switch until := v.drainUntil(); {
	case !v.Scope.Desired.Endures || v.plan.Record.State != lifecycle.Running:
		return lifecycle.Cause{}
	case !until.IsZero():
		return lifecycle.Cause{Reason: lifecycle.ReasonDraining, Message: "the spec was changed, and its sessions have not ended"}
	case v.plan.Driver.Presence == lifecycle.Present && !v.plan.Driver.Ready:
		return lifecycle.Cause{Reason: lifecycle.ReasonDriverNotReady, Message: "it is not ready for clients"}
	}
	return lifecycle.Cause{}
}

// keeping describes the next step for a running server.
func (v view) keeping() string {
	switch v.serving().Reason {
	case lifecycle.ReasonDraining:
		return "wait until its sessions have ended, then replace it with the new spec"
	case lifecycle.ReasonDriverNotReady:
		return "wait until its pod is ready"
	}
	return "keep it running"
}

// text prints the lines about a server.
func (s *Server) text(p *printer) {
	if s == nil {
		return
	}
	if said := s.Sessions; said != nil {
		switch {
		case said.Problem != "":
			p.field("Sessions", "unknown: %s", said.Problem)
		case said.Streams > 0:
			p.field("Sessions", "%d open, %d streaming queries running", said.Open, said.Streams)
		case said.LastExecution != nil:
			p.field("Sessions", "%d open, %d executions running, the last one began or ended %s ago", said.Open, said.Executing, p.since(said.LastExecution.Time))
		default:
			p.field("Sessions", "%d open, %d executions running", said.Open, said.Executing)
		}
	}
	switch {
	case s.StoppedAt != nil:
		p.field("Idle", "it was stopped %s ago, and runs again when a client connects", p.since(s.StoppedAt.Time))
	case s.IdleSince != nil:
		p.field("Idle", "%s", fmt.Sprintf("for %s, as far as is known", p.since(s.IdleSince.Time)))
	}
}
