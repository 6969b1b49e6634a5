// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"strconv"
	"strings"
	"time"

	"github.com/firesteel-dev/firesteel/internal/spark"
)

// This file has the rules for drivers that serve clients (Application.Endures): an edit waits for open sessions, and an idle driver is stopped until a client
// needs it.

const (
	// drainCheck is the interval of session checks while a driver drains.
	drainCheck = 10 * time.Second
	// minIdleCheck and maxIdleCheck bound the interval of idle checks, a tenth of the timeout.
	minIdleCheck = 30 * time.Second
	maxIdleCheck = 5 * time.Minute
)

// Sessions are a Spark Connect server's report about its clients.
type Sessions struct {
	// At is the time of the report; zero for none.
	At time.Time
	// Known is set if the server answered. Problem explains a missing or incomplete answer, with a text that is stable for each reason.
	Known   bool
	Problem string
	// Open counts sessions, and Executing counts running executions. Streams counts streaming queries, which run longer than the executions that started them;
	// only if nothing else runs.
	Open, Executing, Streams int32
	// LastExecution is the latest start or end of an execution; zero for none.
	LastExecution time.Time
}

// WithWake returns the application with a wake request, "" for none. The request starts a driver that was stopped as idle at or before that time. For a running
// driver it counts as an execution. It is not recorded.
func (a Application) WithWake(request string, now time.Time) Application {
	if request == "" {
		return a
	}
	at, err := time.Parse(time.RFC3339, request)
	if err != nil || at.After(now.Add(rerunSkew)) {
		a.WakeIgnored = head(request, maxRequest)
		return a
	}
	a.WakeAt = at.UTC()
	return a
}

// wakeProblem returns the message about an ignored wake request.
func (a Application) wakeProblem() string {
	if a.WakeIgnored == "" {
		return ""
	}
	return a.Fields.Text("{wakeAt}: ") + strconv.Quote(a.WakeIgnored) +
		`: ignored: not a present time in RFC 3339; write the current time, such as "2026-11-22T10:00:00Z"`
}

// stoppedAt returns when an idle driver was stopped; zero if a client needs it or the user suspended it. A request in the same second counts as later, because
// an earlier one would have kept the driver running.
func stoppedAt(app Application, r Record) time.Time {
	at := r.Idle.StoppedAt
	if at.IsZero() || app.Suspend || rerunOf(r.SpecHash) != rerunOf(app.SpecHash) && r.SpecHash != "" {
		return time.Time{}
	}
	if !app.WakeAt.IsZero() && !app.WakeAt.Before(at) {
		return time.Time{}
	}
	return at
}

// idle reports whether the driver is stopped, or is being stopped, as idle.
func (r Record) idle() bool { return !r.Idle.StoppedAt.IsZero() || r.Cause.Reason == ReasonIdle }

// rerunOf returns the part of a hash that identifies the rerun request.
func rerunOf(hash string) string {
	_, mark, _ := strings.Cut(hash, rerunMark)
	return mark
}

// outdated reports whether the spec changed after the attempt was created, without a request for an immediate rerun.
func outdated(app Application, rec Record) bool {
	return rec.SpecHash != "" && specOf(rec.SpecHash) != specOf(app.SpecHash) && rerunOf(rec.SpecHash) == rerunOf(app.SpecHash)
}

// mayDrain reports whether an edit may have to wait for open sessions. A driver that was never ready has no sessions. An edit waits for a driver that cannot be
// observed.
func mayDrain(app Application, rec Record, d Driver, env Env) bool {
	if app.Drain <= 0 || app.Deleting || app.Suspend || !rec.State.HasDriver() || !outdated(app, rec) {
		return false
	}
	if !rec.DrainSince.IsZero() && !env.Now.Before(rec.DrainSince.Add(app.Drain)) {
		return false
	}
	return d.Presence == Unknown || d.serves() && (d.Ready || !rec.Idle.Since.IsZero())
}

// upToDate returns the driver as observed, or with an unknown presence if the observation is older than the record. That is so if the record says that the
// driver was ready and the observation says that it is pending without a restart.
func (d Driver) upToDate(rec Record) Driver {
	if d.Is(Current) && d.Phase == DriverPending && !d.Deleting && !d.Restarted && !rec.Idle.Since.IsZero() {
		d.Presence = Unknown
	}
	return d
}

// serves reports whether the driver runs and is not being deleted.
func (d Driver) serves() bool {
	return d.ours() && d.Phase == DriverRunning && !d.Deleting && !d.Restarted
}

// drained delays an edit until the driver's sessions have ended. Until then it returns the application before the edit, and the time from which the edit waits.
func drained(app Application, rec Record, obs Observation, env Env) (held Application, since time.Time) {
	if !mayDrain(app, rec, obs.Driver, env) || obs.Sessions.Known && obs.Sessions.Open == 0 {
		return app, time.Time{}
	}
	app.SpecHash, app.Generation, app.Placement.Rest = rec.SpecHash, rec.Generation, rec.Placement.Rest
	if since = rec.DrainSince; since.IsZero() && obs.Driver.Presence != Unknown {
		since = env.Now
	}
	return app, since
}

// NeedsSessions reports whether Decide reads the sessions. Otherwise the driver is not asked.
func NeedsSessions(app Application, rec Record, d Driver, env Env) bool {
	if !d.serves() {
		return false
	}
	return mayDrain(app, rec, d, env) || mayIdle(app, rec, d)
}

// mayIdle reports whether an idle timeout applies to the driver.
func mayIdle(app Application, rec Record, d Driver) bool {
	return app.IdleTimeout > 0 && !app.Deleting && !app.Suspend && rec.State.HasDriver() && (rec.SpecHash == "" || rec.SpecHash == app.SpecHash) &&
		d.serves() && d.Ready
}

// Fresh reports whether an earlier answer suffices, because it is recent and stops no driver.
func (s Sessions) Fresh(app Application, rec Record, d Driver, env Env) bool {
	age := env.Now.Sub(s.At)
	if s.At.IsZero() || age < 0 {
		return false
	}
	if mayDrain(app, rec, d, env) {
		return age < env.Periods.drain() && (!s.Known || s.Open > 0)
	}
	return age < idleCheck(app) && !s.idle(app, rec.Idle.Since, env)
}

// idle reports whether nothing has been executed during the timeout.
func (s Sessions) idle(app Application, since time.Time, env Env) bool {
	return s.Known && s.Problem == "" && !s.Busy() && env.Now.Sub(active(app, since, s, env.Now)) >= app.IdleTimeout
}

// Busy reports whether an execution or a streaming query runs.
func (s Sessions) Busy() bool { return s.Executing > 0 || s.Streams > 0 }

// active returns the last time at which a client needed the driver, in whole seconds as in the status. A time in the future counts as now.
func active(app Application, since time.Time, s Sessions, now time.Time) time.Time {
	for _, at := range []time.Time{s.LastExecution, app.WakeAt} {
		if at.After(now) {
			at = now
		}
		if at = at.Truncate(time.Second); at.After(since) {
			since = at
		}
	}
	return since
}

func idleCheck(app Application) time.Duration {
	return min(max(app.IdleTimeout/10, minIdleCheck), maxIdleCheck)
}

// serving sets the next session check of a running driver that serves clients, and stops an idle one.
func serving(p Plan, obs Observation, env Env) Plan {
	d, r := obs.Driver, &p.Record
	if d.Ready && r.Idle.Since.IsZero() {
		r.Idle.Since = obs.seenAt(env).Truncate(time.Second)
	}
	ask := func(every time.Duration) {
		if age := env.Now.Sub(obs.Sessions.At); age > 0 && age < every {
			every -= age
		}
		p.Requeue = min(p.Requeue, every)
	}
	draining := !r.DrainSince.IsZero()
	switch {
	case !draining && p.App.IdleTimeout <= 0:
		r.Idle.Problem = ""
	case !obs.Sessions.At.Before(env.Now): // the driver was asked in this reconcile
		r.Idle.Problem = obs.Sessions.Problem
		if draining && obs.Sessions.Known {
			r.Idle.Problem = "" // its sessions are known
		}
	}
	if draining {
		ask(env.Periods.drain())
		p.Requeue = min(p.Requeue, max(r.DrainSince.Add(p.App.Drain).Sub(env.Now), time.Second))
		return p
	}
	if !mayIdle(p.App, *r, d) {
		return p
	}
	r.Idle = streaming(r.Idle, obs.Sessions, env)
	r.Idle.Since = active(p.App, r.Idle.Since, obs.Sessions, obs.seenAt(env))
	if obs.Sessions.idle(p.App, r.Idle.Since, env) {
		r.Idle.StoppedAt = env.Now.Truncate(time.Second) // the state is stored before the first action
		r.State, r.Cause, p.Requeue = Suspending, stopping(p.App.Fields, *r), unknownRetry
		return p
	}
	ask(idleCheck(p.App))
	if s := obs.Sessions; s.Known && s.Problem == "" && !s.Busy() {
		p.Requeue = min(p.Requeue, max(r.Idle.Since.Add(p.App.IdleTimeout).Sub(env.Now), time.Second))
	}
	return p
}

// streaming records whether streaming queries run. A reused answer changes nothing, because two operators that both believe to be the leader would overwrite
// each other forever.
func streaming(idle Idle, s Sessions, env Env) Idle {
	if !s.Known || s.Problem != "" || s.Executing > 0 || s.At.Before(env.Now) {
		return idle
	}
	if idle.Streaming && s.Streams == 0 && s.At.After(idle.Since) {
		idle.Since = s.At.Truncate(time.Second)
	}
	idle.Streaming = s.Streams > 0
	return idle
}

// Messages about a driver that was stopped as idle. They are stable, because they have no timestamp.
const (
	idleStopping = "the driver executed nothing for longer than {idleTimeout}: it is being stopped"
	idleStopped  = "the driver executed nothing for longer than {idleTimeout}: it was stopped, and runs again when {wakeAt} has a later time"
	idleEnded    = "the driver was stopped because it executed nothing for longer than {idleTimeout}"
)

func idleCause(f spark.Fields, sentence string) Cause { return Cause{ReasonIdle, f.Text(sentence)} }

// clientsReady returns the condition of a running driver that serves clients.
func clientsReady(c Condition, r Record, p Plan) Condition {
	switch d := p.Driver; {
	case d.Presence == Unknown:
		c.Status, c.Reason, c.Message = Undetermined, ReasonDriverRunning, "the API server did not report whether the driver pod is ready"
	case d.Deleting:
		c.Reason, c.Message = ReasonDriverStopping, "the driver pod is being deleted"
		if d.Ready {
			c.Status = True
		}
	case !d.Ready:
		c.Reason, c.Message = ReasonDriverNotReady, "the driver's container is running, and its pod is not ready for clients"
	default:
		c.Status, c.Reason, c.Message = True, ReasonDriverRunning, "the driver's container is running, and its pod is ready for clients"
		if r.Idle.Problem != "" && r.DrainSince.IsZero() {
			c.Message += p.App.Fields.Text("; note: {idleTimeout} has no effect, because the driver's executions are unknown: ") + r.Idle.Problem
		}
	}
	return c
}

// rollingOut returns the message about a waiting edit, with its latest start in whole seconds.
func rollingOut(r Record, p Plan) string {
	text := "the spec has changed: the driver keeps running until its sessions have ended or until " +
		r.DrainSince.Truncate(time.Second).Add(p.App.Drain).UTC().Format(time.RFC3339) + " at the latest"
	if r.Idle.Problem != "" {
		text += "; the sessions are unknown: " + r.Idle.Problem
	}
	return text
}
