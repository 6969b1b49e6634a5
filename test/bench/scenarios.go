// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/firesteel-dev/firesteel/test/bench/internal/cluster"
	"github.com/firesteel-dev/firesteel/test/bench/internal/report"
)

// defaultRun is the default list of scenarios.
const defaultRun = "latency:40,burst:100,apache:100,burst:1000,rate:5000,churn:1000,big:5000,restart:10000,memory:10000,crash:200," +
	"waiting:1000,waiting-max:1000,waiting-min:1000,waiting-volcano:1000,waiting-yunikorn:1000,waiting-coscheduling:1000,schedules:10000,tenants:100"

// shortRun is the list of scenarios with --short.
const shortRun = "latency:10,burst:100,apache:100,burst:300,rate:500,churn:20,big:500,restart:1000,memory:1000,crash:100,waiting:100"

// scenario is one way to measure. A new one is a function, and a line in scenarios.
type scenario struct {
	// title has %s in place of the number of applications.
	title string
	// usual is the default of that number.
	usual int
	run   func(ctx context.Context, w *environment) error
	// limitSize is the number with which the limit can be measured; nil if it cannot.
	limitSize func(int) int
	// rate is set if applications come faster than they can be handled.
	rate bool
	// memory is GOMEMLIMIT of the operator, which sets it to 70 % of its container's limit; none if it is empty.
	memory string
	// apache is set for applications of spark.apache.org.
	apache bool
	// way is the cause of the wait; nil for none.
	way *way
}

var scenarios = map[string]scenario{
	"latency": {title: "%s applications, one after the other", usual: 40, run: latency, limitSize: func(n int) int { return min(n, 20) }},
	"burst":   {title: "%s applications at once", usual: 100, run: burst, rate: true, limitSize: func(n int) int { return n }},
	"apache":  {title: "%s applications of spark.apache.org at once", usual: 100, run: burst, rate: true, apache: true},
	"rate":    {title: "%s applications, 1,000 a minute", usual: 5000, run: steady},
	"churn":   {title: "%s applications at once, with 100 executors each", usual: 1000, run: churn},
	"big":     {title: "one application with %s executors", usual: 5000, run: big},
	"restart": {title: "a new start with %s finished applications", usual: 10000, run: restart},
	"memory": {title: "a new start with %s finished applications, each with 10 executor pods that are left of it, in a container of 450 MiB",
		usual: 10000, run: memory, memory: "315MiB"},
	"crash": {title: "the operator is killed (SIGKILL) when a quarter of %s applications have a driver, and started again", usual: 200, run: crash},

	"waiting": {title: "%s suspended applications, and as many of 100 tenants that wait for room in ResourceQuotas",
		usual: 1000, run: waiting, way: byResourceQuota},
	"waiting-max": {title: "%s applications of 100 tenants that wait for the max of ElasticQuotas", usual: 1000, run: waiting, way: byMax},
	"waiting-min": {title: "%s applications of 100 tenants that wait for the sum of min of ElasticQuotas, with FairShare",
		usual: 1000, run: waiting, way: bySumOfMins},
	"waiting-volcano":  {title: "%s applications of 100 tenants that wait for Volcano", usual: 1000, run: waiting, way: byVolcano},
	"waiting-yunikorn": {title: "%s applications of 100 tenants that wait for YuniKorn, with their drivers", usual: 1000, run: waiting, way: byYuniKorn},
	"waiting-coscheduling": {title: "%s applications of 100 tenants that wait for nodes with Coscheduling, with their drivers",
		usual: 1000, run: waiting, way: byCoscheduling},

	"tenants": {title: "%s applications, one after the other, with a quiet neighbor and with one who creates, edits and deletes all the time",
		usual: 100, run: tenants},

	"schedules": {title: "%s schedules of which none is due", usual: 10000, run: schedules},
}

// asked is a goal of a scenario with at least so many applications.
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
	"waiting": waitingGoals, "waiting-max": waitingGoals, "waiting-min": waitingGoals, "waiting-volcano": waitingGoals,
	"waiting-yunikorn": waitingGoals, "waiting-coscheduling": waitingGoals,
	"restart": {from: 10000, goals: []report.Goal{{What: "started → the next driver", Value: 2}}},
	"memory": {from: 10000, goals: []report.Goal{
		{What: "memory of the operator at rest, with the finished applications", Value: 300},
		{What: "memory of the operator, most", Value: 450},
		{What: "started → the next driver", Value: 2},
	}},
}

var waitingGoals = asked{from: 1, goals: []report.Goal{
	{What: callsAtRest, Value: 60},
	{What: listsAtRest},
}}

func usualSizes() map[string]int {
	sizes := map[string]int{}
	for name, s := range scenarios {
		sizes[name] = s.usual
	}
	return sizes
}

func scenarioHelp() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(scenarios)) {
		s := scenarios[name]
		fmt.Fprintf(&b, "  %s:%d\t"+s.title+"\n", name, s.usual, fmt.Sprint(s.usual))
	}
	return b.String()
}

// latency measures an idle operator.
func latency(ctx context.Context, w *environment) error {
	return lifecycles(ctx, w, func(all []string) error {
		for _, name := range all {
			if err := w.create(ctx, name); err != nil {
				return err
			}
			if err := w.wait(ctx, "have ended", []string{name}, (*cluster.Seen).Over); err != nil {
				return err
			}
		}
		return nil
	})
}

// burst measures an operator that has more to do than it can.
func burst(ctx context.Context, w *environment) error {
	return lifecycles(ctx, w, func(all []string) error {
		if err := w.create(ctx, all...); err != nil {
			return err
		}
		return w.wait(ctx, "have ended", all, (*cluster.Seen).Over)
	})
}

// lifecycles measures how applications go from their creation to their end.
func lifecycles(ctx context.Context, w *environment, live func(all []string) error) error {
	if _, err := w.startOperator(ctx); err != nil {
		return err
	}
	if err := w.warmUp(ctx); err != nil {
		return err
	}
	all, before := names("app", w.size), w.used()
	if err := live(all); err != nil {
		return err
	}
	calls, err := w.rest(ctx)
	if err != nil {
		return err
	}
	w.addLives(w.load.Watcher.Of(all))
	w.addCPU(before, w.size)
	w.addMemory("memory of the operator, most", w.meter.Memory().Peak)
	w.addCalls("API calls for each application", calls, w.size)
	w.addEvents(calls, w.load.Watcher.Of(all))
	return nil
}

// addLives adds what users see.
func (w *environment) addLives(apps []cluster.Seen) {
	shown := func(state string) func(*cluster.Seen) time.Time {
		return func(a *cluster.Seen) time.Time { return a.At(state) }
	}
	created := func(a *cluster.Seen) time.Time { return a.Created }
	running := func(a *cluster.Seen) time.Time { return a.Running }
	succeeded := func(a *cluster.Seen) time.Time { return a.Succeeded }
	if w.scenario.rate {
		took := lastOf(apps, (*cluster.Seen).Driver).Sub(apps[0].Created)
		w.section.AddChart("applications a minute, from the first created to the last driver", "", float64(len(apps))/took.Minutes())
		took = lastOf(apps, shown("COMPLETED")).Sub(apps[0].Created)
		w.section.AddChart("applications a minute, from the first created to the last shown COMPLETED", "", float64(len(apps))/took.Minutes())
	}
	w.section.AddSpread("created → driver pod", cluster.Between(apps, created, (*cluster.Seen).Driver))
	w.section.AddSpread("created → SUBMITTED shown", cluster.Between(apps, created, shown("SUBMITTED")))
	w.section.AddSpread("driver runs → RUNNING shown", cluster.Between(apps, running, shown("RUNNING")))
	w.section.AddSpread("driver succeeded → COMPLETED shown", cluster.Between(apps, succeeded, shown("COMPLETED")))
	w.section.Add("applications that never showed RUNNING", "", float64(cluster.Count(apps, func(a *cluster.Seen) bool { return a.At("RUNNING").IsZero() })))
	w.check("applications that did not complete", cluster.Count(apps, func(a *cluster.Seen) bool { return a.State() != "COMPLETED" }))
}

// lastOf is the last of the times at which something happened to applications.
func lastOf(apps []cluster.Seen, when func(*cluster.Seen) time.Time) time.Time {
	var last time.Time
	for i := range apps {
		if at := when(&apps[i]); at.After(last) {
			last = at
		}
	}
	return last
}
