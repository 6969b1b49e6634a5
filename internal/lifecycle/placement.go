// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"time"

	"github.com/firesteel-dev/firesteel/internal/text"
)

// placed returns the placement after the user's edits. The operator tries to apply each edit once per generation of the spec.
func placed(app Application, r Record) Placement {
	p := r.Placement
	tried := p.Problem != ""
	if r.Generation != app.Generation {
		p.Problem = ""
	}
	edited := p.Made != app.Placement.Made && (p.Made != "" || p.Outdated)
	p.Outdated = r.State.HasDriver() && (edited || p.Outdated && !tried)
	if !p.Outdated {
		p.Problem = ""
	}
	p.Rest = app.Placement.Rest
	return p
}

// foundPlacement returns the placement of an adopted driver of the present spec. The driver does not show its executors' placement, so its template is updated
// if the spec was ever edited.
func foundPlacement(app Application, rest string) Placement {
	if app.Generation > 1 && app.Placement.Made != "" {
		return Placement{Rest: rest, Outdated: true}
	}
	return Placement{Rest: rest, Made: app.Placement.Made}
}

// withTemplate updates the driver's executor template, after the difference is stored.
func withTemplate(p Plan, d Driver) Plan {
	now, stored := p.Record.Placement, p.Before.Placement
	switch {
	case !now.Outdated || now.Problem != "" || p.App.Suspend || d.Deleting || !d.Is(Current):
	case !stored.Outdated || stored.Problem != "":
		p.Requeue = min(p.Requeue, unknownRetry)
	default:
		p.Actions = append(p.Actions, Action{Kind: UpdateTemplate})
	}
	return p
}

// settleTemplate records the result of a template update. A refused update is repeated only after the next edit.
func settleTemplate(r Record, p Plan, result Result) Record {
	if result.Class == ClassDone {
		r.Placement.Made, r.Placement.Outdated = p.App.Placement.Made, false
		r.Missing.AskedAt, r.Missing.Refusal = time.Time{}, "" // the next executors differ
		return r
	}
	r.Placement.Problem = Truncate(text.Lines(result.Message), maxCondition)
	return r
}

// until explains when an edited placement takes effect, once that is known; "" before.
func (p Placement) until(next Placement) string {
	switch {
	case next.Problem != "" && next.Problem != p.Problem:
		return "from the next attempt on: " + next.Problem
	case p.Outdated && !next.Outdated && p.Made != "" && p.Made != next.Made:
		return "for new executors"
	}
	return ""
}
