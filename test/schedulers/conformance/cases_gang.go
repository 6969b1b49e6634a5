// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// withParameters gives the application options of the plugin, as JSON.
func withParameters(text string) func(*app) {
	return func(a *app) {
		if a.Spec.BatchSchedulerOptions == nil {
			a.Spec.BatchSchedulerOptions = &v1beta2.BatchSchedulerConfiguration{}
		}
		a.Spec.BatchSchedulerOptions.Parameters = &runtime.RawExtension{Raw: []byte(text)}
	}
}

// allOrNothing : as long as there is no room for all executors none of them starts; then all of them do. Those that dynamic allocation
// adds after it has deleted others start without waiting for as many as at the start.
func allOrNothing(w *Harness) {
	w.startWithRoomFor(2)
	first := w.create("first")
	w.runs(first, 1)
	gang := w.create("gang", withParameters(w.AllOrNothing), func(a *app) { a.Spec.Executor.Instances = ptr.To[int32](2) })
	w.eventually("it waits for the gang", func() error { return w.saysWaiting(gang, scheduler.ReasonWaitingForGang) })
	w.during("no executor starts alone", 2*time.Second, func() error {
		for _, pod := range w.pods(gang, spark.RoleExecutor) {
			if pod.Status.Phase == corev1.PodRunning {
				return fmt.Errorf("%s runs", pod.Name)
			}
		}
		return nil
	})
	w.completes(first)
	w.runs(gang, 2)
	w.completes(gang)
	elastic := w.create("elastic", withParameters(w.AllOrNothing), func(a *app) {
		a.Spec.Executor.Instances = nil
		a.Spec.DynamicAllocation = &v1beta2.DynamicAllocation{Enabled: true, InitialExecutors: ptr.To[int32](3),
			MinExecutors: ptr.To[int32](2), MaxExecutors: ptr.To[int32](3)}
	})
	w.runs(elastic, 3)
	w.scales(elastic, 0)
	w.scales(elastic, 1)
	w.completes(elastic)
}

// saysWaiting returns an error unless the driver or the executors wait for the reason.
func (w *Harness) saysWaiting(a *app, reason scheduler.Reason) error {
	current, err := w.get(a)
	if err != nil {
		return err
	}
	for _, kind := range []string{"DriverReady", "ExecutorsReady"} {
		if c := meta.FindStatusCondition(current.Status.Conditions, kind); c != nil && c.Status == metav1.ConditionFalse && c.Reason == string(reason) {
			return nil
		}
	}
	return fmt.Errorf("neither driver nor executors wait for %s", reason)
}

// givesUp : an application that would rather give up than wait for its gang is taken back by its scheduler, is no failure,
// and has its turn when there is room. There is room for a part of it: YuniKorn does not count the time before.
func givesUp(w *Harness) {
	w.startWithRoomFor(2)
	first := w.create("first")
	w.runs(first, 1)
	a := w.create("impatient", withParameters(w.GivesUp), func(a *app) {
		a.Spec.Executor.Instances, a.Spec.BatchSchedulerOptions.MaxEvictions = ptr.To[int32](2), ptr.To[int32](20)
	})
	w.eventually("its scheduler gives up", func() error {
		current, err := w.get(a)
		if err != nil {
			return err
		}
		if s := current.Status.Scheduling; s == nil || s.Evictions == 0 {
			return fmt.Errorf("no eviction so far, %+v", s)
		}
		for _, attempt := range current.Status.Attempts {
			if attempt.Reason == string(scheduler.ReasonPodsReadyTimeout) {
				return nil
			}
		}
		return fmt.Errorf("no attempt ended with %s: %+v", scheduler.ReasonPodsReadyTimeout, current.Status.Attempts)
	})
	w.completes(first)
	w.runs(a, 2)
	current, err := w.get(a)
	must(w, "read it", err)
	if r := current.Status.Retries; r != nil && *r != (v1beta2.RetryStatus{}) {
		w.Errorf("it counts as a failure: %+v", *r)
	}
	w.completes(a)
}
