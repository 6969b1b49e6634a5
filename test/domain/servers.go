// SPDX-License-Identifier: Apache-2.0

package domain

import (
	"strings"
	"time"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

const (
	// drain and idle are how long a server with sessions is kept, and after which time an idle one is stopped.
	drain = 10 * time.Minute
	idle  = 30 * time.Minute
)

// EachServer visits the server dimension of the domain: readiness, sessions, recorded drain and idleness, and wake requests.
// Executors and deadlines make no difference and are left out.
func EachServer(state lifecycle.State, visit func(*Element)) {
	drivers := serverDrivers()
	for _, rec := range serverRecords(state) {
		e := Element{Record: rec.value, Env: lifecycle.Env{Now: Now}, where: [4]string{strings.TrimSpace(string(state) + " " + rec.name)}}
		for _, w := range serverWishes() {
			e.App, e.where[1] = w.value, w.name
			e.App.SubmissionID, e.App.SparkAppID = submissionOf(rec.value), "spark"
			for _, d := range drivers {
				e.Observation.Driver, e.where[2] = d.value, "driver "+d.name
				for _, s := range sessions() {
					e.Observation.Sessions, e.where[3] = s.value, "sessions "+s.name
					if !lifecycle.NeedsSessions(e.App, e.Record, d.value, e.Env) {
						e.Observation.Sessions, e.where[3] = lifecycle.Sessions{}, "nobody asks for sessions"
						visit(&e)
						break
					}
					visit(&e)
				}
			}
		}
	}
}

// serverDrivers returns the drivers of the domain; running ones occur a second time as ready.
func serverDrivers() []named[lifecycle.Driver] {
	out := drivers()
	for _, d := range out {
		if d.value.Phase == lifecycle.DriverRunning && d.value.Ownership != lifecycle.NotOwned {
			d.name += " ready"
			d.value.Ready, d.value.PodIP = true, "10.0.0.1"
			out = append(out, d)
		}
	}
	return out
}

// sessions are all that a server can say of them.
func sessions() []named[lifecycle.Sessions] {
	recent, old := Now.Add(-time.Minute), Now.Add(-2*idle)
	return []named[lifecycle.Sessions]{
		{"unknown", lifecycle.Sessions{At: Now, Problem: "the UI does not answer"}},
		{"none, never", lifecycle.Sessions{At: Now, Known: true}},
		{"none, long ago", lifecycle.Sessions{At: Now, Known: true, LastExecution: old}},
		{"open, just now", lifecycle.Sessions{At: Now, Known: true, Open: 1, LastExecution: recent}},
		{"open, long ago", lifecycle.Sessions{At: Now, Known: true, Open: 2, LastExecution: old}},
		{"streaming", lifecycle.Sessions{At: Now, Known: true, Open: 1, Streams: 1, LastExecution: old}},
		{"executing", lifecycle.Sessions{At: Now, Known: true, Open: 1, Executing: 1, LastExecution: old}},
	}
}

// serverRecords are the records of the domain, and what else those of a server can say in the state.
func serverRecords(state lifecycle.State) []named[lifecycle.Record] {
	out := records(state)
	add := func(name string, r lifecycle.Record, change func(*lifecycle.Record)) {
		change(&r)
		out = append(out, named[lifecycle.Record]{name, r})
	}
	switch n := len(out); {
	case state.HasDriver():
		for _, r := range out[:n] {
			add(r.name+" ready for long", r.value, func(r *lifecycle.Record) { r.Idle.Since = Now.Add(-2 * idle) })
			add(r.name+" ready just now", r.value, func(r *lifecycle.Record) { r.Idle.Since = Now.Add(-time.Minute) })
			add(r.name+" drains", r.value, func(r *lifecycle.Record) { r.Idle.Since, r.DrainSince = Now.Add(-2*idle), Now.Add(-drain/2) })
			add(r.name+" drained", r.value, func(r *lifecycle.Record) { r.Idle.Since, r.DrainSince = Now.Add(-2*idle), Now.Add(-drain) })
		}
	case state == lifecycle.Suspending || state == lifecycle.Suspended:
		for _, r := range out[:n] {
			if r.value.NeverRan() {
				continue
			}
			add(r.name+" idle", r.value, func(r *lifecycle.Record) {
				r.Idle = lifecycle.Idle{Since: Now.Add(-2 * idle), StoppedAt: Now.Add(-time.Minute)}
				r.Cause = lifecycle.Cause{Reason: lifecycle.ReasonIdle, Message: "it executed nothing"}
			})
			add(r.name+" woken", r.value, func(r *lifecycle.Record) {
				r.Cause = lifecycle.Cause{Reason: lifecycle.ReasonIdle, Message: "it executed nothing"}
			})
		}
	}
	return out
}

// serverWishes are all that a user can want of a server.
func serverWishes() []named[lifecycle.Application] {
	rule := lifecycle.RetryPolicy{Initial: wait, Max: wait}
	app := lifecycle.Application{
		Fields: spark.Fields{"": "spec"}, UID: "app", Generation: 1, SpecHash: hashOfSpec, DriverName: driverName, Executors: 2,
		Policies: lifecycle.Policies{Restart: lifecycle.Restart{Type: lifecycle.Always, Failures: rule, Submissions: rule, Evictions: rule, ResetAfter: drain}},
		Endures:  true, Drain: drain, IdleTimeout: idle,
	}
	out := []named[lifecycle.Application]{{"server", app}}
	add := func(name string, change func(*lifecycle.Application)) {
		next := app
		change(&next)
		out = append(out, named[lifecycle.Application]{"server " + name, next})
	}
	edit := func(a *lifecycle.Application) { a.Generation, a.SpecHash = 2, "spec-2" }
	add("edited", edit)
	add("edited without a drain", func(a *lifecycle.Application) { edit(a); a.Drain = 0 })
	add("edited and woken", func(a *lifecycle.Application) { edit(a); a.WakeAt = Now })
	add("edited and suspended", func(a *lifecycle.Application) { edit(a); a.Suspend = true })
	add("to run again", func(a *lifecycle.Application) { a.SpecHash += ".7"; a.Rerun.At = Now })
	add("woken", func(a *lifecycle.Application) { a.WakeAt = Now })
	add("woken long ago", func(a *lifecycle.Application) { a.WakeAt = Now.Add(-time.Hour) })
	add("suspended", func(a *lifecycle.Application) { a.Suspend = true })
	add("never idle", func(a *lifecycle.Application) { a.IdleTimeout = 0 })
	add("deleted", func(a *lifecycle.Application) { a.Deleting = true })
	return out
}
