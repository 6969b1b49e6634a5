// SPDX-License-Identifier: Apache-2.0

package lifecycle

import "time"

// decideFinal deletes the expired objects of a finished application, and objects that a second operator created late.
func decideFinal(p Plan, obs Observation, env Env) Plan {
	if d := obs.Driver; d.orphan() {
		p.Actions, p.Requeue = []Action{{Kind: DeleteDriver, UID: d.UID}}, unknownRetry
		return p
	}
	p.Requeue = 0
	if len(obs.Scheduled) > 0 {
		p.Actions = []Action{{Kind: Release}}
	}
	if p.Record.TerminatedAt.IsZero() {
		p.Record.TerminatedAt = env.Now // another operator recorded no end
	}
	r, keep := &p.Record, p.App.Policies.Retention.of(p.Record.State)
	due := func(limit *time.Duration) bool {
		if limit == nil {
			return false
		}
		left := r.TerminatedAt.Add(*limit).Sub(env.Now)
		if left > 0 && (p.Requeue == 0 || left < p.Requeue) {
			p.Requeue = left
		}
		return left <= 0
	}
	if due(keep.Application) {
		p.Actions, p.Requeue = []Action{{Kind: DeleteApplication}}, unknownRetry // the garbage collector deletes the rest
		return p
	}
	if !r.Released.Resources && due(keep.Resources) {
		p.Actions = append(p.Actions, Action{Kind: DeleteResources, Attempt: r.lastDriven()})
		r.Released.Resources = true
	}
	if !r.Released.DriverPod && due(keep.DriverPod) {
		switch d := obs.Driver; {
		case d.Presence == Unknown:
			p.Requeue = unknownRetry
		case !d.ours():
			r.Released.DriverPod = true
		default:
			p.Requeue = unknownRetry
			if !d.Deleting {
				p.Actions = append(p.Actions, Action{Kind: DeleteDriver, UID: d.UID})
			}
		}
	}
	return p
}

// NothingDue reports whether an ended application needs no action. after is the time until the next expiration; 0 if there is none.
func NothingDue(app Application, rec Record, env Env) (after time.Duration, ok bool) {
	if !rec.State.Final() || app.Deleting || applySpecChanges(app, rec, env).State != rec.State || rec.Generation != app.Generation ||
		rec.SpecHash != app.SpecHash || !rec.Rerun.same(app.Rerun) {
		return 0, false
	}
	if rec.TerminatedAt.IsZero() {
		return 0, false
	}
	plan := decideFinal(Plan{App: app, Record: clone(rec)}, Observation{Driver: Driver{Presence: Unknown}}, env)
	if len(plan.Actions) > 0 || plan.Requeue == unknownRetry {
		return 0, false
	}
	return plan.Requeue, true
}

func (r Retention) of(s State) TTLs {
	if s == Succeeded {
		return r.OnSuccess
	}
	return r.OnFailure
}

// release deletes the scheduler's objects of an attempt, if there are any.
func release(p Plan) Plan {
	if held := p.Record.Scheduling.HeldAttempt; held != 0 {
		p.Actions = append(p.Actions, Action{Kind: Release, Attempt: held})
		p.Record.Scheduling.HeldAttempt, p.Record.Scheduling.HeldBy = 0, ""
	}
	return p
}
