// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/firesteel-dev/firesteel/test/bench/internal/cluster"
	"github.com/firesteel-dev/firesteel/test/bench/internal/ground"
	"github.com/firesteel-dev/firesteel/test/bench/internal/report"
)

// observed is how long the operator is watched while nothing happens.
const observed = time.Minute

// waiting measures what it costs that applications wait.
func waiting(ctx context.Context, w *environment) error {
	if err := w.fillQuota(ctx); err != nil {
		return err
	}
	if _, err := w.startOperator(ctx); err != nil {
		return err
	}
	suspended, queued := names("suspended", w.size), names("queued", w.size)
	template := bytes.Replace(application, []byte(`"spec": {`), []byte(`"spec": {"suspend": true,`), 1)
	if err := w.load.Create(ctx, template, suspended); err != nil {
		return err
	}
	if err := w.create(ctx, queued...); err != nil {
		return err
	}
	all := slices.Concat(suspended, queued)
	if err := w.wait(ctx, "show a state", all, func(a *cluster.Seen) bool { return a.State() != "" }); err != nil {
		return err
	}
	calls, err := w.rest(ctx)
	if err != nil {
		return err
	}
	w.addEvents(calls, w.load.Watcher.Of(all))
	if err := w.observe(ctx); err != nil {
		return err
	}
	apps := w.load.Watcher.Of(all)
	w.check("applications with a driver", cluster.Count(apps, (*cluster.Seen).HasDriver))
	w.check("applications that ended", cluster.Count(apps, (*cluster.Seen).Over))
	return w.makeRoom(ctx, queued)
}

// roomFor is how many of those that wait get room, at most.
const roomFor = 100

// makeRoom raises the quota for some of those that wait, and measures how late their drivers are. The quota does not count them, since no controller
// is there: others start after them.
func (w *environment) makeRoom(ctx context.Context, queued []string) error {
	some := min(roomFor, max(1, w.size/10))
	client, err := kubernetes.NewForConfig(w.ground.Admin)
	if err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	quotas := client.CoreV1().ResourceQuotas(ground.Namespace)
	quota, err := quotas.Get(ctx, quotaName, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("get the quota: %w", err)
	}
	limit := quota.Spec.Hard[corev1.ResourceRequestsCPU]
	limit.Add(*resource.NewQuantity(int64(some)*cpusOfAnApplication, resource.DecimalSI))
	quota.Spec.Hard[corev1.ResourceRequestsCPU], quota.Status.Hard[corev1.ResourceRequestsCPU] = limit, limit
	raised, err := quotas.Update(ctx, quota, metav1.UpdateOptions{})
	if err != nil {
		return fmt.Errorf("raise the quota: %w", err)
	}
	raised.Status.Hard = raised.Spec.Hard
	made := time.Now()
	if _, err := quotas.UpdateStatus(ctx, raised, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("raise the quota: %w", err)
	}
	if err := w.load.Watcher.Wait(ctx, "have a driver", queued, some, (*cluster.Seen).HasDriver, w.failed); err != nil {
		return err
	}
	took := cluster.Between(w.load.Watcher.Of(queued), func(*cluster.Seen) time.Time { return made }, (*cluster.Seen).Driver)
	slices.Sort(took)
	took = took[:some]
	w.section.Add(fmt.Sprintf("room for %d → their drivers, median", some), "ms", 1000*report.Percentile(took, 50))
	w.section.AddChart(fmt.Sprintf("room for %d → their drivers, 99 of 100 within", some), "ms", 1000*report.Percentile(took, 99))
	return nil
}

const (
	quotaName = "full"
	// cpusOfAnApplication is what the driver and the executors of application.json request.
	cpusOfAnApplication = 3
)

// observe measures an operator that has nothing to do, for a minute.
func (w *environment) observe(ctx context.Context) error {
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
	w.addMemory("memory of the operator at rest", w.meter.Memory().Now)
	w.addCPUPerMinute(before)
	w.section.AddChart("API calls a minute, without those for the lease", "", float64(calls.All())/observed.Minutes())
	w.addCallsByName(calls)
	return w.failed()
}

// fillQuota creates a quota without room. No controller is there to fill its status in.
func (w *environment) fillQuota(ctx context.Context) error {
	client, err := kubernetes.NewForConfig(w.ground.Admin)
	if err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	full := corev1.ResourceList{corev1.ResourceRequestsCPU: resource.MustParse("100")}
	quotas := client.CoreV1().ResourceQuotas(ground.Namespace)
	quota, err := quotas.Create(ctx, &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: quotaName}, Spec: corev1.ResourceQuotaSpec{Hard: full}}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("create the quota: %w", err)
	}
	quota.Status = corev1.ResourceQuotaStatus{Hard: full, Used: full}
	if _, err := quotas.UpdateStatus(ctx, quota, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("fill the quota: %w", err)
	}
	return nil
}
