// SPDX-License-Identifier: Apache-2.0

package domain

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

// GangAdmissions are the answers of the scheduler that has objects in this domain, PlainAdmissions those of another that has none;
// both in the order of Admissions.
func GangAdmissions() []scheduler.Admission {
	return admissionsOf(true, scheduler.Choice{Scheduler: "batch", Source: "Application", Queue: "team-a", Group: "PodGroup g-1"})
}

// PlainAdmissions are the answers of a scheduler that was chosen after the other's objects were made.
func PlainAdmissions() []scheduler.Admission {
	return admissionsOf(false, scheduler.Choice{Scheduler: "plain", Source: "Application"})
}

func admissionsOf(objects bool, choice scheduler.Choice) []scheduler.Admission {
	all := Admissions()
	for i := range all[1:] {
		if all[i+1].Choice = choice; objects {
			all[i+1].Apply = []*unstructured.Unstructured{{}}
		}
	}
	return all
}

// EachScheduled visits the scheduler dimension of the domain: the attempt with scheduler objects, and the scheduler's report
// about a driver. Executors and half of the restart policies make no difference and are left out.
func EachScheduled(state lifecycle.State, visit func(*Element)) {
	drivers, views := drivers(), views(state)
	for _, rec := range held(state) {
		e := Element{Record: rec.value, Env: lifecycle.Env{Now: Now}, where: [4]string{strings.TrimSpace(string(state) + " " + rec.name)}}
		for _, w := range desiredStates() {
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

// views are all that a scheduler can report; it is asked about drivers that may run.
func views(state lifecycle.State) []named[scheduler.Observation] {
	none := named[scheduler.Observation]{name: "silent"}
	if !state.HasDriver() {
		return []named[scheduler.Observation]{none}
	}
	const reason, message = "QueueFull", "the queue is full of those with higher priority"
	return []named[scheduler.Observation]{
		none,
		{"waits", scheduler.Observation{Stage: scheduler.StageQueued, Reason: "QueueFull", Message: "the queue is full", RetryAfter: 3 * time.Second}},
		{"has evicted", scheduler.Observation{Stage: scheduler.StageEvicted, Eviction: &scheduler.Eviction{}, Reason: reason, Message: message}},
		{"has withdrawn", scheduler.Observation{StopApp: true, Reason: reason, Message: message}},
		{"refuses", scheduler.Observation{Stage: scheduler.StageRefused, Reason: reason, Message: message}},
	}
}
