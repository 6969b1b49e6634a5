// SPDX-License-Identifier: Apache-2.0

package domain

import (
	"strings"
	"time"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// wait is the time between a failure and the next attempt in all policies of the domain.
const wait = time.Minute

// Retries is the budget of each class in all policies of the domain.
const Retries = 2

// restarts are all kinds of restart policies.
func restarts() []named[lifecycle.Restart] {
	rule := lifecycle.RetryPolicy{Retries: Retries, Initial: wait, Max: wait, Linear: true}
	own := map[lifecycle.FailureClass]lifecycle.RetryPolicy{}
	for _, c := range lifecycle.FailureClasses() {
		own[c] = lifecycle.RetryPolicy{Retries: Retries, Initial: wait, Max: wait}
	}
	return []named[lifecycle.Restart]{
		{"Never", lifecycle.Restart{Type: lifecycle.Never, Failures: rule, Submissions: rule, Evictions: rule}},
		{"OnFailure", lifecycle.Restart{Type: lifecycle.OnFailure, Failures: rule, Submissions: rule, FailExitCodes: []int32{42}}},
		{"OnFailure by class", lifecycle.Restart{Type: lifecycle.OnFailure, Failures: rule, Submissions: rule, Classes: own, ResetAfter: time.Minute}},
		{"Always", lifecycle.Restart{Type: lifecycle.Always, Failures: rule, Submissions: rule}},
	}
}

// limits are all deadlines and retention times at once: not yet, or over.
func limits() []named[lifecycle.Policies] {
	all := func(d time.Duration) lifecycle.Policies {
		keep := lifecycle.TTLs{DriverPod: &d, Resources: &d}
		return lifecycle.Policies{
			Deadlines: lifecycle.Deadlines{Queued: d, DriverScheduled: d, DriverReady: d, FirstExecutors: d, Run: d},
			Retention: lifecycle.Retention{OnSuccess: keep, OnFailure: lifecycle.TTLs{DriverPod: &d, Resources: &d, Application: &d}},
		}
	}
	return []named[lifecycle.Policies]{{"in time", all(long)}, {"overdue", all(short)}}
}

// desiredStates are all that a user can want of an application.
func desiredStates() []named[lifecycle.Application] {
	var out []named[lifecycle.Application]
	for _, restart := range restarts() {
		for _, limit := range limits() {
			for _, spec := range []string{"", " edited"} {
				for _, suspend := range []string{"", " suspended"} {
					for _, deleting := range []string{"", " deleted"} {
						app := lifecycle.Application{
							Fields: spark.Fields{"": "spec"},
							UID:    "app", Generation: 1, SpecHash: hashOfSpec, Suspend: suspend != "", Deleting: deleting != "",
							DriverName: driverName, Executors: 2, Policies: limit.value, RaisesMemory: true,
						}
						app.Policies.Restart = restart.value
						if spec != "" {
							app.Generation, app.SpecHash = 2, "spec-2"
						}
						out = append(out, named[lifecycle.Application]{restart.name + " " + limit.name + spec + suspend + deleting, app})
					}
				}
			}
		}
	}
	return append(out, adopting(out)...)
}

// adopting are applications that follow another client's driver, for one restart policy and limit: the others make no
// difference before or after the adoption.
func adopting(all []named[lifecycle.Application]) []named[lifecycle.Application] {
	var out []named[lifecycle.Application]
	for _, wish := range all {
		if strings.HasPrefix(wish.name, "Never overdue") {
			wish.value.Adopts = driverName
			out = append(out, named[lifecycle.Application]{wish.name + " adopts", wish.value})
		}
	}
	return out
}
