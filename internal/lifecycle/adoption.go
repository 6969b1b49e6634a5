// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"strconv"
	"time"
)

// awaitsAdoption reports whether the application is to follow a driver that others started, and has none yet. It starts no driver then: the
// other one runs already. What has been adopted is a driver like any other, and so is its successor.
func awaitsAdoption(app Application, r Record) bool { return app.Adopts != "" && r.NeverRan() }

// FollowsOthers reports whether the driver of the current attempt is one that others started, or is going to be. What bounds a start does not
// bound it: it started long ago, and not all of its executors need be known.
func (a Application) FollowsOthers(r Record) bool { return a.Adopts != "" && r.Attempt <= 1 }

// awaitAdoption waits until the driver is marked as the application's. Neither a suspension nor an invalid spec nor a policy ends that: they
// are about drivers to come. It does not wait in a queue, so no deadline is over meanwhile.
func awaitAdoption(p Plan) Plan {
	p.Record.QueuedAt, p.Record.TerminatedAt = time.Time{}, time.Time{}
	pod := p.App.Adopts
	return wait(release(p), Cause{ReasonAwaitingAdoption, head(p.App.Fields.Text("{adopts} is ")+strconv.Quote(pod)+
		": the application follows that driver pod as soon as the pod has its mark; run kubectl spark adopt "+pod+
		" again, or remove the annotation to start a driver of its own", maxCondition)}, heartbeat)
}
