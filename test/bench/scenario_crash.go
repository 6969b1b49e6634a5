// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"time"

	"github.com/firesteel-dev/firesteel/test/bench/internal/cluster"
)

// crash kills the operator amid a burst.
func crash(ctx context.Context, w *environment) error {
	if _, err := w.startOperator(ctx); err != nil {
		return err
	}
	if err := w.warmUp(ctx); err != nil {
		return err
	}
	all := names("app", w.size)
	if err := w.create(ctx, all...); err != nil {
		return err
	}
	if err := w.load.Watcher.Wait(ctx, "have a driver", all, (w.size+3)/4, (*cluster.Seen).HasDriver, w.failed); err != nil {
		return err
	}
	w.killOperator()
	killed := time.Now()
	ready, err := w.startOperator(ctx)
	if err != nil {
		return err
	}
	if err := w.wait(ctx, "have ended", all, (*cluster.Seen).Over); err != nil {
		return err
	}
	if _, err := w.rest(ctx); err != nil {
		return err
	}
	apps := w.load.Watcher.Of(all)
	w.section.Add("applications with a driver when it was killed", "",
		float64(cluster.Count(apps, func(a *cluster.Seen) bool { return a.HasDriver() && a.Driver().Before(killed) })))
	w.section.AddChart("killed → ready", "s", ready.Seconds())
	// The watch may still tell of drivers that the killed operator created; the new one has to become the leader first.
	if next := nextDriver(apps, killed.Add(ready)); !next.IsZero() {
		w.section.AddChart("killed → the next driver", "s", next.Sub(killed).Seconds())
	}
	w.section.Add("killed → the last driver", "s", lastOf(apps, (*cluster.Seen).Driver).Sub(killed).Seconds())
	w.check("applications that did not complete", cluster.Count(apps, func(a *cluster.Seen) bool { return a.State() != "COMPLETED" }))
	w.check("applications with two drivers", cluster.Count(apps, func(a *cluster.Seen) bool { return len(a.Drivers) > 1 }))
	w.check("applications FAILED whose driver succeeded",
		cluster.Count(apps, func(a *cluster.Seen) bool { return a.State() == "FAILED" && !a.Succeeded.IsZero() }))
	return nil
}

// nextDriver is when the first driver after a moment was seen.
func nextDriver(apps []cluster.Seen, moment time.Time) time.Time {
	var next time.Time
	for i := range apps {
		if at := apps[i].Driver(); at.After(moment) && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	return next
}
