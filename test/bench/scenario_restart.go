// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"time"

	"github.com/firesteel-dev/firesteel/test/bench/internal/cluster"
)

// restart restarts the operator with many finished applications, which are copies of one that it has run.
func restart(ctx context.Context, w *environment) error { return restartWith(ctx, w, 0) }

// executorsLeft is the number of executor pods left of each application of the scenario memory.
const executorsLeft = 10

func memory(ctx context.Context, w *environment) error { return restartWith(ctx, w, executorsLeft) }

// restartWith is restart with the given number of executor pods of each application.
func restartWith(ctx context.Context, w *environment, executors int) error {
	if _, err := w.startOperator(ctx); err != nil {
		return err
	}
	if err := w.warmUp(ctx); err != nil {
		return err
	}
	w.addMemory("memory of the operator at rest, without applications", w.meter.Memory().Now)
	w.section.Add("asked to stop → stopped", "s", w.stopOperator().Seconds())
	finished := names("finished", w.size)
	if err := (cluster.Store{URL: w.ground.Etcd}).Copy(ctx, warmUpName, finished, executors); err != nil {
		return err
	}
	if err := w.wait(ctx, "are there, with their drivers", finished, func(a *cluster.Seen) bool { return a.Over() && !a.Succeeded.IsZero() }); err != nil {
		return err
	}
	if _, err := w.ground.Calls.Next(); err != nil { // those of the first operator do not count
		return err
	}
	before := w.load.Watcher.Fingerprints(finished)
	if err := w.startWithProbe(ctx); err != nil {
		return err
	}
	calls, err := w.rest(ctx)
	if err != nil {
		return err
	}
	w.addMemory("memory of the operator at rest, with the finished applications", w.meter.Memory().Now)
	w.addMemory("memory of the operator, most", w.meter.Memory().Peak)
	changed := 0
	for name, now := range w.load.Watcher.Fingerprints(finished) {
		if now != before[name] {
			changed++
		}
	}
	w.check("finished applications that changed", changed)
	w.addCalls("API calls of the new start, with those for one application", calls, 1)
	return nil
}

// startWithProbe starts the operator where an application waits that was created while it was down.
func (w *environment) startWithProbe(ctx context.Context) error {
	const probe = "probe"
	if err := w.create(ctx, probe); err != nil {
		return err
	}
	cpu, start := w.meter.CPU(), time.Now()
	ready, err := w.startOperator(ctx)
	if err != nil {
		return err
	}
	w.section.AddChart("started → ready", "s", ready.Seconds())
	if err := w.wait(ctx, "have a driver", []string{probe}, (*cluster.Seen).HasDriver); err != nil {
		return err
	}
	w.section.AddChart("started → the next driver", "s", w.load.Watcher.Of([]string{probe})[0].Driver().Sub(start).Seconds())
	w.section.Add("CPU of the operator until then", "s", w.meter.CPU()-cpu)
	return w.wait(ctx, "have ended", []string{probe}, (*cluster.Seen).Over)
}
