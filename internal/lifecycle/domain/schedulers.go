// SPDX-License-Identifier: Apache-2.0

package domain

import (
	"fmt"
	"strings"
	"time"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
)

// GangGates are the answers of the scheduler that has objects in this domain, PlainGates those of another that has none;
// both in the order of Gates.
func GangGates() []lifecycle.Gate {
	return gatesOf(true, lifecycle.Choice{Scheduler: "batch", Source: "Application", Queue: "team-a", Group: "PodGroup g-1"})
}

// PlainGates are the answers of a scheduler that was chosen after the other's objects were made.
func PlainGates() []lifecycle.Gate {
	return gatesOf(false, lifecycle.Choice{Scheduler: "plain", Source: "Application"})
}

func gatesOf(objects bool, choice lifecycle.Choice) []lifecycle.Gate {
	all := Gates()
	for i := range all[1:] {
		all[i+1].Objects, all[i+1].Choice = objects, choice
	}
	return all
}

// EachScheduled visits what schedulers add to the domain: the attempt for which one has objects, and what it says of a
// driver. Executors and half of the restart policies make no difference to that and are left out.
func EachScheduled(state lifecycle.State, visit func(*Element)) {
	drivers, views := drivers(), views(state)
	for _, rec := range held(state) {
		e := Element{Record: rec.value, Env: lifecycle.Env{Now: Now}, where: [4]string{strings.TrimSpace(string(state) + " " + rec.name)}}
		for _, w := range wishes() {
			if t := w.value.Policies.Restart; t.Type == lifecycle.Always || t.Type == lifecycle.OnFailure && t.Classes == nil {
				continue
			}
			e.App, e.where[1] = w.value, w.name
			e.App.SubmissionID, e.App.SparkAppID = submissionOf(rec.value), "spark"
			for _, d := range drivers {
				e.Observation.Driver, e.where[2] = d.value, "driver "+d.name
				for _, v := range views {
					e.Observation.Scheduler, e.where[3] = v.value, "scheduler "+v.name
					visit(&e)
				}
			}
		}
	}
}

// held are the records of a state with the objects that their schedulers can have: of the attempt, of the one before
// until that is cleared up, or none. What is over has none.
func held(state lifecycle.State) []named[lifecycle.Record] {
	var out []named[lifecycle.Record]
	for _, rec := range records(state) {
		for attempt := range rec.value.Attempt + 1 {
			if attempt > 0 && (state.Final() || state == lifecycle.Suspended || attempt < rec.value.Attempt && !state.Starting()) {
				continue
			}
			r := rec
			if attempt > 0 {
				r.value.Scheduling = lifecycle.Scheduling{HeldAttempt: attempt, HeldBy: "batch", Warning: "it is tight"}
			}
			r.name = fmt.Sprintf("%s, objects of attempt %d", rec.name, attempt)
			out = append(out, r)
		}
	}
	return out
}

// views are all that a scheduler can say; it is asked about drivers that may run.
func views(state lifecycle.State) []named[lifecycle.SchedulerView] {
	none := named[lifecycle.SchedulerView]{name: "silent"}
	if state != lifecycle.Submitted && state != lifecycle.Running {
		return []named[lifecycle.SchedulerView]{none}
	}
	cause := lifecycle.Cause{Reason: "QueueFull", Message: "the queue is full of those with higher priority"}
	return []named[lifecycle.SchedulerView]{
		none,
		{"waits", lifecycle.SchedulerView{Waiting: lifecycle.Cause{Reason: "QueueFull", Message: "the queue is full"}, RetryAfter: 3 * time.Second}},
		{"has evicted", lifecycle.SchedulerView{Verdict: lifecycle.SchedulerEvicted, Cause: cause}},
		{"has withdrawn", lifecycle.SchedulerView{Verdict: lifecycle.SchedulerWithdrew, Cause: cause}},
		{"refuses", lifecycle.SchedulerView{Verdict: lifecycle.SchedulerRefused, Cause: cause}},
	}
}
