// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// Preemptor is for environments whose scheduler takes running pods down for others that are more important.
type Preemptor interface {
	// Preempt makes a pod that asks for so many CPUs, each with 896 MiB, and that is more important than those in the place
	// of the namespace, so that the scheduler takes some of them down. The function that it returns takes the pod away.
	Preempt(ctx context.Context, namespace string, place Place, cpus int64) (end func(context.Context) error, err error)
}

// preemption : drivers are more important than executors, as the documentation advises. Spark replaces preempted executors; a preempted driver
// is an eviction, and its application runs again when there is room.
func (w *Harness) preemption(p Preemptor) {
	w.Helper()
	class := w.driverClass()
	a := w.create("less-important", patient, func(a *app) { a.Spec.Driver.PriorityClassName = &class })
	w.runs(a, 1)
	executor := w.pods(a, spark.RoleExecutor)[0]
	end, err := p.Preempt(w.Context(), w.Namespace, w.place, 1)
	must(w, "preempt the executor", err)
	w.eventually("the executor is taken down", func() error {
		if slices.ContainsFunc(w.pods(a, spark.RoleExecutor), func(pod corev1.Pod) bool { return pod.UID == executor.UID }) {
			return fmt.Errorf("%s is there", executor.Name)
		}
		return nil
	})
	must(w, "end the preemption", end(w.Context()))
	w.runs(a, 1)
	if n := w.evictions(a); n != 0 {
		w.Errorf("an executor's preemption counts as %d evictions of the driver", n)
	}
	driver := w.driver(a)
	if end, err = p.Preempt(w.Context(), w.Namespace, w.place, 2); err != nil {
		w.Fatalf("preempt the driver: %v", err)
	}
	if w.DriverStays {
		w.during("the driver is spared", 3*time.Second, func() error {
			if again := w.driver(a); again.UID != driver.UID || again.DeletionTimestamp != nil {
				return fmt.Errorf("it is gone")
			}
			return nil
		})
		must(w, "end the preemption", end(w.Context()))
		w.runs(a, 1)
		w.completes(a)
		return
	}
	w.evicted(a)
	must(w, "end the preemption", end(w.Context()))
	w.submittedTwice(a)
	w.runs(a, 1)
	w.completes(a)
}

// priority : of two waiting applications, the one with the higher priority of the driver starts first, also if it came later
// and has no priority of its own.
func priority(w *Harness) {
	w.startWithRoomFor(1)
	first := w.create("first")
	w.runs(first, 1)
	low := w.create("low")
	w.waits(low, w.Full...)
	w.nextSecond()
	class := w.driverClass()
	high := w.create("high", func(a *app) { a.Spec.Driver.PriorityClassName = &class })
	w.waits(high, w.Full...)
	w.completes(first)
	w.runs(high, 1)
	w.waits(low, append([]scheduler.Reason{scheduler.ReasonBehindOthers}, w.Full...)...)
	w.completes(high)
	w.runs(low, 1)
	w.completes(low)
}

// protection : for something more important the scheduler takes down the driver or the executors, whichever the application lets it take.
func protection(w *Harness) {
	w.startWithRoomFor(1)
	p := w.Environment.(Preemptor)
	a := w.create("protected", withParameters(w.Spares))
	w.runs(a, 1)
	pods := append(w.pods(a, spark.RoleDriver), w.pods(a, spark.RoleExecutor)...)
	end, err := p.Preempt(w.Context(), w.Namespace, w.place, 1)
	must(w, "ask for its room", err)
	w.during("its pods are spared", 3*time.Second, func() error {
		for _, pod := range append(w.pods(a, spark.RoleDriver), w.pods(a, spark.RoleExecutor)...) {
			if pod.DeletionTimestamp != nil || !slices.ContainsFunc(pods, func(p corev1.Pod) bool { return p.UID == pod.UID }) {
				return fmt.Errorf("%s was taken down", pod.Name)
			}
		}
		return nil
	})
	must(w, "give up", end(w.Context()))
	w.completes(a)
	b := w.create("yielding", patient, withParameters(w.Yields))
	w.runs(b, 1)
	end, err = p.Preempt(w.Context(), w.Namespace, w.place, 1)
	must(w, "preempt the driver", err)
	w.evicted(b)
	must(w, "end the preemption", end(w.Context()))
	w.submittedTwice(b)
	w.runs(b, 1)
	w.completes(b)
}

// driverClass is a priority class for drivers that are more important than executors.
func (w *Harness) driverClass() string {
	w.Helper()
	class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "conformance-driver"}, Value: 500}
	if err := w.Client.Create(w.Context(), class); err != nil && !apierrors.IsAlreadyExists(err) {
		w.Fatalf("create a priority class: %v", err)
	}
	return class.Name
}

// evicted waits until the loss of the driver is counted.
func (w *Harness) evicted(a *app) {
	w.Helper()
	w.eventually("the driver's preemption is counted", func() error {
		if n := w.evictions(a); n != 1 {
			return fmt.Errorf("%d evictions", n)
		}
		return nil
	})
}

// evictions is how often the application's driver was taken down. Without a plugin that observes it is the cluster's
// doing, like the loss of a node.
func (w *Harness) evictions(a *app) int32 {
	w.Helper()
	current, err := w.get(a)
	must(w, "read it", err)
	if _, observes := w.plugin(w).(scheduler.Observer); !observes {
		if current.Status.Retries == nil {
			return 0
		}
		return current.Status.Retries.Infrastructure
	}
	if current.Status.Scheduling == nil {
		return 0
	}
	return current.Status.Scheduling.Evictions
}
