// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/firesteel-dev/firesteel/test/bench/internal/cluster"
	"github.com/firesteel-dev/firesteel/test/bench/internal/ground"
)

// schedules measures the cost of schedules that are not due.
func schedules(ctx context.Context, w *environment) error {
	if _, err := w.startOperator(ctx); err != nil {
		return err
	}
	if err := w.warmUp(ctx); err != nil {
		return err
	}
	empty, err := w.share(ctx)
	if err != nil {
		return err
	}
	client, err := dynamic.NewForConfig(w.ground.Admin)
	if err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	all := client.Resource(schema.GroupVersionResource{Group: "sparkoperator.k8s.io", Version: "v1beta2",
		Resource: "scheduledsparkapplications"}).Namespace(ground.Namespace)
	if err := createSchedules(ctx, all, w.size); err != nil {
		return err
	}
	calls, err := w.rest(ctx)
	if err != nil {
		return err
	}
	w.addCalls("API calls for each schedule", calls, w.size)
	if _, err := w.ground.Calls.Next(); err != nil {
		return err
	}
	if err := w.observe(ctx, ""); err != nil {
		return err
	}
	idle, err := w.share(ctx)
	if err != nil {
		return err
	}
	w.section.Add("share of a core without schedules, over four minutes", "%", 100*empty)
	w.section.AddChart("share of a core with the schedules, over another four minutes", "%", 100*idle)
	list, err := all.List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list the schedules: %w", err)
	}
	waiting := 0
	for _, o := range list.Items {
		if next, _, _ := unstructured.NestedString(o.Object, "status", "nextRun"); next != "" {
			waiting++
		}
	}
	w.check("schedules without a next run", w.size-waiting)
	return nil
}

// shareWindow is a multiple of the two minutes after which Go collects garbage in any case.
const shareWindow = 4 * time.Minute

// share is the share of a core that the operator uses for a while.
func (w *environment) share(ctx context.Context) (float64, error) {
	before, began := w.meter.CPU(), time.Now()
	select {
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	case <-time.After(shareWindow):
	}
	return (w.meter.CPU() - before) / time.Since(began).Seconds(), w.failed()
}

// createSchedules creates schedules that are not due before next year.
func createSchedules(ctx context.Context, all dynamic.ResourceInterface, n int) error {
	template := map[string]any{
		"type": "Scala", "sparkVersion": "4.0.0", "image": "spark:4.0.0", "mainClass": "org.apache.spark.examples.SparkPi",
		"mainApplicationFile": "local:///opt/spark/examples/jars/spark-examples.jar", "arguments": []any{"$(DATA_INTERVAL_START)"},
		"driver": map[string]any{"cores": int64(1), "memory": "512m"}, "executor": map[string]any{"cores": int64(1), "instances": int64(1), "memory": "512m"},
	}
	zones := []string{"", "Europe/Berlin", "America/New_York", "Asia/Tokyo"}
	numbers := map[string]int{}
	list := names("schedule", n)
	for i, name := range list {
		numbers[name] = i
	}
	return cluster.Each(ctx, list, func(ctx context.Context, name string) error {
		spec := map[string]any{"schedule": fmt.Sprintf("%d %d 1 1 *", numbers[name]%60, numbers[name]/60%24), "template": template}
		if zone := zones[numbers[name]%len(zones)]; zone != "" {
			spec["timeZone"] = zone
		}
		o := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "sparkoperator.k8s.io/v1beta2", "kind": "ScheduledSparkApplication", "metadata": map[string]any{"name": name}, "spec": spec,
		}}
		if _, err := all.Create(ctx, o, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("create a schedule: %w", err)
		}
		return nil
	})
}
