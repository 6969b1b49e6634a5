// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/firesteel-dev/firesteel/test/bench/internal/cluster"
	"github.com/firesteel-dev/firesteel/test/bench/internal/report"
)

const (
	neighbor = "neighbor"
	// pace is how often the neighbor creates an application, which is then edited and deleted: three requests.
	pace = 50 * time.Millisecond
	// mostDelay bounds how much later a bystander's driver may be because of its neighbor, as a factor, in the worst of 100
	// cases.
	mostDelay = 2
)

// tenants measures the cost of a neighbor that keeps the operator busy.
func tenants(ctx context.Context, w *environment) error {
	if err := w.createNamespace(ctx, neighbor); err != nil {
		return err
	}
	if _, err := w.startOperator(ctx); err != nil {
		return err
	}
	if err := w.warmUp(ctx); err != nil {
		return err
	}
	calm, err := w.bystander(ctx, "calm")
	if err != nil {
		return err
	}
	storming, stop := context.WithCancel(ctx)
	storm := make(chan int, 1)
	go func() { storm <- w.storm(storming) }()
	stormy, err := w.bystander(ctx, "stormy")
	stop()
	w.section.Add("applications that the neighbor created, edited and deleted", "", float64(<-storm))
	if err != nil {
		return err
	}
	ratio := stormy / calm
	w.section.AddChart("created → driver pod, 99 of 100 within, with the neighbor ÷ without", "", ratio)
	if ratio >= mostDelay {
		w.section.Faults = append(w.section.Faults, fmt.Sprintf("with the neighbor drivers are %.2f times as late, and must not be %d times", ratio, mostDelay))
	}
	return nil
}

// bystander submits one application after the other, and returns the 99th percentile of the time to their drivers, in seconds.
func (w *environment) bystander(ctx context.Context, prefix string) (float64, error) {
	all := names(prefix, w.size)
	for _, name := range all {
		if err := w.create(ctx, name); err != nil {
			return 0, err
		}
		if err := w.wait(ctx, "have a driver", []string{name}, (*cluster.Seen).HasDriver); err != nil {
			return 0, err
		}
	}
	took := cluster.Between(w.load.Watcher.Of(all), func(a *cluster.Seen) time.Time { return a.Created }, (*cluster.Seen).Driver)
	if err := w.wait(ctx, "have ended", all, (*cluster.Seen).Over); err != nil {
		return 0, err
	}
	worst := report.Percentile(took, 99)
	w.section.Add("created → driver pod, median, "+prefix, "ms", 1000*report.Percentile(took, 50))
	w.section.Add("created → driver pod, 99 of 100 within, "+prefix, "ms", 1000*worst)
	return worst, nil
}

// storm creates, edits and deletes applications of the neighbor until the context ends, and returns their number. Refusals by
// the API server are expected.
func (w *environment) storm(ctx context.Context) int {
	ticker := time.NewTicker(pace)
	defer ticker.Stop()
	edit := []byte(`{"spec":{"sparkConf":{"spark.x":"y"}}}`)
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return n
		case <-ticker.C:
		}
		name := fmt.Sprintf("storm-%05d", n)
		apps := w.load.Apps
		if apps.Post().Namespace(neighbor).Resource(cluster.Resource).Body(bytes.ReplaceAll(application, []byte("NAME"), []byte(name))).Do(ctx).Error() == nil {
			_ = apps.Patch(types.MergePatchType).Namespace(neighbor).Resource(cluster.Resource).Name(name).Body(edit).Do(ctx).Error()
			_ = apps.Delete().Namespace(neighbor).Resource(cluster.Resource).Name(name).Do(ctx).Error()
		}
	}
}
