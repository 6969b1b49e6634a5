// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"golang.org/x/time/rate"

	"github.com/firesteel-dev/firesteel/test/bench/internal/audit"
	"github.com/firesteel-dev/firesteel/test/bench/internal/cluster"
	"github.com/firesteel-dev/firesteel/test/bench/internal/ground"
)

// aMinute is the number of applications that the scenario rate creates in a minute.
const aMinute = 1000

// steady measures an operator to which applications come as fast as a large cluster has them.
func steady(ctx context.Context, w *environment) error {
	return lifecycles(ctx, w, func(all []string) error {
		w.load.Pace = rate.NewLimiter(rate.Every(time.Minute/aMinute), 1)
		if err := w.create(ctx, all...); err != nil {
			return err
		}
		return w.wait(ctx, "have ended", all, (*cluster.Seen).Over)
	})
}

// with returns the application with a number of executors and a duration of its driver.
func with(executors int, lasts time.Duration) []byte {
	settings := fmt.Sprintf(`"labels": {%q: "%d"}, "annotations": {%q: %q}, "cores"`, ground.LabelExecutors, executors, ground.AnnotationLasts, lasts)
	out := bytes.Replace(application, []byte(`"driver": {"cores"`), []byte(`"driver": {`+settings), 1)
	return bytes.Replace(out, []byte(`"instances": 2`), fmt.Appendf(nil, `"instances": %d`, executors), 1)
}

// churn measures the cost of executors that come and go.
func churn(ctx context.Context, w *environment) error {
	return lifecycles(ctx, w, func(all []string) error {
		if err := w.load.Create(ctx, with(100, time.Minute), all); err != nil {
			return err
		}
		return w.wait(ctx, "have ended", all, (*cluster.Seen).Over)
	})
}

// big measures the cost of an application's many executors, from the first start to the last end.
func big(ctx context.Context, w *environment) error {
	if _, err := w.startOperator(ctx); err != nil {
		return err
	}
	if err := w.warmUp(ctx); err != nil {
		return err
	}
	one := []string{"big"}
	lasts := 10*time.Second + time.Duration(w.size)*24*time.Millisecond // longer than it takes to create all executors
	if err := w.load.Create(ctx, with(w.size, lasts), one); err != nil {
		return err
	}
	if err := w.wait(ctx, "run", one, func(a *cluster.Seen) bool { return !a.Running.IsZero() }); err != nil {
		return err
	}
	if _, err := w.ground.Calls.Next(); err != nil {
		return err
	}
	before := w.used()
	if err := w.wait(ctx, "have executors that have all ended", one, func(a *cluster.Seen) bool { return len(a.Ended) == w.size }); err != nil {
		return err
	}
	calls, err := w.ground.Calls.Next()
	if err != nil {
		return err
	}
	took := time.Since(before.at)
	w.section.Add("executors created and ended in a second", "", float64(w.size)/took.Seconds())
	w.section.AddChart("status writes a second", "", float64(calls.Sent[audit.Call{Verb: "patch", Resource: cluster.Resource + "/status"}])/took.Seconds())
	w.addShares(before)
	w.addCallsByName(calls)
	w.addMemory("memory of the operator, most", w.meter.Memory().Peak)
	if err := w.wait(ctx, "have ended", one, (*cluster.Seen).Over); err != nil {
		return err
	}
	apps := w.load.Watcher.Of(one)
	w.check("applications that did not complete", cluster.Count(apps, func(a *cluster.Seen) bool { return a.State() != "COMPLETED" }))
	w.check("applications that ended before their executors", cluster.Count(apps, func(a *cluster.Seen) bool { return a.Succeeded.Before(before.at.Add(took)) }))
	return nil
}
