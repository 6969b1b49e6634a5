// SPDX-License-Identifier: Apache-2.0

package main

import "github.com/firesteel-dev/firesteel/test/bench/internal/report"

// asked is what is asked for in a scenario that has at least so many applications.
type asked struct {
	from  int
	goals []report.Goal
}

var goals = map[string]asked{
	"latency": {from: 1, goals: []report.Goal{
		{What: "created → driver pod, median", Value: 1.15, OfLimit: true},
		{What: "created → driver pod, 95 of 100 within", Value: 1.3, OfLimit: true},
	}},
	"burst": {from: 1000, goals: []report.Goal{
		{What: "applications a minute, from the first created to the last shown COMPLETED", Value: 0.9, AtLeast: true, OfLimit: true},
		{What: "driver succeeded → COMPLETED shown, median", Value: 1.25, OfLimit: true},
		{What: "driver succeeded → COMPLETED shown, 95 of 100 within", Value: 1.25, OfLimit: true},
		{What: "applications that never showed RUNNING"},
		{What: "CPU for each application: operator", Value: 1.2, OfLimit: true},
		{What: "API calls for each application", Value: 11},
		{What: "of these, get", Value: 1},
		{What: "of these, list"},
		{What: "events called for and not stored"},
	}},
	"rate": {from: 1, goals: []report.Goal{
		{What: "created → driver pod, 95 of 100 within", Value: 1000},
		{What: "driver succeeded → COMPLETED shown, 95 of 100 within", Value: 1000},
		{What: "applications that never showed RUNNING"},
	}},
	"churn": {from: 1, goals: []report.Goal{
		{What: "applications that never showed RUNNING"},
		{What: "API calls for each application", Value: 20},
		{What: "memory of the operator, most", Value: 256},
	}},
	"big": {from: 1, goals: []report.Goal{
		{What: "status writes a second", Value: 2},
		{What: "share of a core: operator", Value: 5},
	}},
	"memory": {from: 10000, goals: []report.Goal{
		{What: "memory of the operator at rest, with the finished applications", Value: 300},
		{What: "memory of the operator, most", Value: 450},
		{What: "started → the next driver", Value: 2},
	}},
}
