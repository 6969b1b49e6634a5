// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/firesteel-dev/firesteel/test/bench/internal/audit"
	"github.com/firesteel-dev/firesteel/test/bench/internal/cluster"
	"github.com/firesteel-dev/firesteel/test/bench/internal/report"
)

const (
	// observed is how long the operator is watched while nothing changes for it.
	observed = time.Minute
	// roomFor is the maximum number of waiting applications that get room.
	roomFor = 100

	callsAtRest = "API calls a minute, without those for the lease"
	listsAtRest = "lists a minute"
)

// waiting measures the cost of waiting applications, and their delay once there is room.
func waiting(ctx context.Context, w *environment) error {
	if err := w.scenario.way.furnish(ctx, w); err != nil {
		return err
	}
	w.load.Namespaces = w.tenants()
	if _, err := w.startOperator(ctx); err != nil {
		return err
	}
	queued, err := w.createWaiting(ctx)
	if err != nil {
		return err
	}
	if err := w.observe(ctx, ""); err != nil {
		return err
	}
	if !w.scenario.way.pods {
		w.check("applications with a driver", cluster.Count(w.load.Watcher.Of(queued), (*cluster.Seen).HasDriver))
	}
	w.check("applications that ended", cluster.Count(w.load.Watcher.Of(queued), (*cluster.Seen).Over))
	return w.makeRoom(ctx, queued)
}

// createWaiting creates the applications, and waits until the operator has come to rest. With ResourceQuotas as many are suspended.
func (w *environment) createWaiting(ctx context.Context) (queued []string, err error) {
	way, suspended := w.scenario.way, []string(nil)
	queued = names("queued", w.size)
	if way == byResourceQuota {
		suspended = names("suspended", w.size)
	}
	template := bytes.Replace(application, []byte(`"spec": {`), []byte(`"spec": {"suspend": true,`), 1)
	if err := w.load.Create(ctx, template, suspended); err != nil {
		return nil, err
	}
	if err := w.load.Create(ctx, way.template(), queued); err != nil {
		return nil, err
	}
	all := slices.Concat(suspended, queued)
	shown := func(a *cluster.Seen) bool { return a.State() != "" && (!way.pods || a.HasDriver()) }
	if err := w.wait(ctx, "show a state", all, shown); err != nil {
		return nil, err
	}
	if way.answer != nil {
		if err := way.answer(ctx, w); err != nil {
			return nil, err
		}
	}
	select {
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-time.After(way.settles):
	}
	calls, err := w.rest(ctx)
	if err != nil {
		return nil, err
	}
	w.addEvents(calls, w.load.Watcher.Of(all))
	return queued, nil
}

// makeRoom lets some waiting applications start, and measures their delay.
func (w *environment) makeRoom(ctx context.Context, queued []string) error {
	way, made := w.scenario.way, time.Now()
	some := min(roomFor, max(len(w.tenants()), w.size/10))
	if err := way.room(ctx, w, some); err != nil {
		return err
	}
	what, from, to := "room for %d → their drivers", func(*cluster.Seen) time.Time { return made }, (*cluster.Seen).Driver
	if way.pods {
		what, from, to = "%d drivers run → RUNNING shown", func(a *cluster.Seen) time.Time { return a.Running },
			func(a *cluster.Seen) time.Time { return a.At("RUNNING") }
	}
	there := func(a *cluster.Seen) bool { return !to(a).IsZero() }
	if err := w.load.Watcher.Wait(ctx, "have their turn", queued, some, there, w.failed); err != nil {
		return err
	}
	took := cluster.Between(w.load.Watcher.Of(queued), from, to)
	slices.Sort(took)
	took = took[:some]
	w.section.Add(fmt.Sprintf(what+", median", some), "ms", 1000*report.Percentile(took, 50))
	w.section.AddChart(fmt.Sprintf(what+", 99 of 100 within", some), "ms", 1000*report.Percentile(took, 99))
	if !way.pods {
		return nil
	}
	// Their pods have ended: whoever waits for a node may have to be told.
	if _, err := w.ground.Calls.Next(); err != nil {
		return err
	}
	return w.observe(ctx, ", after some have ended")
}

// observe measures an operator that has nothing to do, for a minute.
func (w *environment) observe(ctx context.Context, when string) error {
	busy, stop := context.WithCancel(ctx)
	defer stop()
	if way := w.scenario.way; way != nil && way.repeat != nil {
		go way.repeat(busy, w)
	}
	before := w.used()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(observed):
	}
	calls, err := w.ground.Calls.Next()
	if err != nil {
		return err
	}
	w.addMemory("memory of the operator at rest"+when, w.meter.Memory().Now)
	if when == "" {
		w.addCPUPerMinute(before)
	}
	w.section.AddChart(callsAtRest+when, "", float64(calls.All())/observed.Minutes())
	w.section.Add(listsAtRest+when, "", float64(calls.Of(audit.List))/observed.Minutes())
	w.addCallsByName(calls)
	return w.failed()
}
