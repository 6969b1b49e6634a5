// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"cmp"
	"time"

	"github.com/firesteel-dev/firesteel/internal/text"
)

// Missing describes a running driver that wants executor pods and has none. Spark creates them again and again, and only its log has the API server's answers.
type Missing struct {
	// Since is when the last executor pod disappeared; zero if the attempt has had none.
	Since time.Time
	// AskedAt is when the operator asked the API server for an executor pod in a dry run; zero for never.
	AskedAt time.Time
	// Refusal is the API server's refusal; "" if the API server accepts the pod, or if the answer is unknown.
	Refusal string
}

// missingGrace is how long a driver may have no executor pods before the operator asks. Most drivers have some within seconds.
const missingGrace = time.Minute

// Cause returns the API server's refusal; zero for none.
func (m Missing) Cause() Cause {
	if m.Refusal == "" {
		return Cause{}
	}
	return Cause{ReasonExecutorsRefused, "the API server refuses the executor pods: " + m.Refusal}
}

// executorsWanted returns the number of executor pods that a driver certainly wants. With dynamic allocation a driver removes idle executors down to the
// minimum.
func executorsWanted(app Application, r Record) int32 {
	if r.Counts.Total > 0 {
		return app.LeastExecutors
	}
	return app.Executors
}

// withMissing follows a running driver without executor pods. After missingGrace it asks the API server once. It asks again only after executors have come and
// gone, or after their template has changed.
func withMissing(p Plan, env Env) Plan {
	d, r := p.Driver, &p.Record
	if r.State != Running || !d.Is(Current) || d.Phase != DriverRunning {
		return p
	}
	if r.Counts.Pending+r.Counts.Running > 0 || executorsWanted(p.App, *r) == 0 {
		r.Missing = Missing{}
		return p
	}
	if r.Counts.Total > 0 && r.Missing.Since.IsZero() {
		r.Missing.Since = env.Now.Truncate(time.Second)
	}
	if !r.Missing.AskedAt.IsZero() || !r.DrainSince.IsZero() || !knowsExecutors(p) {
		return p
	}
	since := cmp.Or(d.StartedAt, d.CreatedAt)
	if r.Missing.Since.After(since) {
		since = r.Missing.Since
	}
	if left := since.Add(missingGrace).Sub(env.Now); left > 0 {
		p.Requeue = min(p.Requeue, left)
		return p
	}
	p.Actions = append(p.Actions, Action{Kind: TryExecutor})
	return p
}

// knowsExecutors reports whether the operator knows that the running driver creates its executors from the present spec. Executors of an adopted driver, or of
// a driver started before an edit, may differ.
func knowsExecutors(p Plan) bool {
	d := p.Driver
	return p.Before.State == Running && !d.Deleting && d.SpecHash == p.App.SpecHash && !p.App.FollowsOthers(p.Record) && !p.Record.Placement.Outdated
}

// settleMissing records the answer to TryExecutor.
func settleMissing(o Outcome, r Result, env Env) Outcome {
	if r.Kind != TryExecutor {
		return o
	}
	m := &o.Record.Missing
	switch r.Class {
	case ClassTransient:
		o.Requeue = min(o.Requeue, operatorRetry)
		return o
	case ClassQuota, ClassPolicy, ClassRefused:
		m.Refusal = Truncate(text.Lines(r.Message), maxCondition)
	case ClassDone, ClassNameTaken, ClassLeaving, ClassTerminating, ClassOperatorForbidden: // these answers are not about executors
	}
	m.AskedAt = env.Now.Truncate(time.Second)
	return o
}
