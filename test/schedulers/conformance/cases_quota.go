// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/config"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// quotaFor gives the namespace a ResourceQuota that holds as many standard applications, and lets the operator check it.
func (w *Harness) quotaFor(applications int64) {
	w.Helper()
	has := room(applications)
	q := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "checked"}}
	q.Spec.Hard = corev1.ResourceList{corev1.ResourceRequestsCPU: has[corev1.ResourceCPU], corev1.ResourceRequestsMemory: has[corev1.ResourceMemory]}
	must(w, "create the quota", w.Client.Create(w.Context(), q))
	w.eventually("the quota has a status", func() error {
		if err := w.Client.Get(w.Context(), client.ObjectKeyFromObject(q), q); err != nil {
			return err
		}
		if len(q.Status.Hard) == 0 {
			return errors.New("it has none")
		}
		return nil
	})
	w.Settings.Quota = config.Quota{Mode: "Enforce", Order: config.BestEffortFIFO, AgingBound: metav1.Duration{Duration: time.Millisecond}}
}

// lowered : a quota that is lowered for a while below what applications ask for fails none that has waited. They say the number, and start
// when it is raised again.
func lowered(w *Harness) {
	w.makePlace(3)
	if w.Placeholders { // else one is refused, and the other may stay
		w.quotaFor(2)
	} else {
		w.quotaFor(1)
	}
	w.start()
	first := w.create("first")
	w.runs(first, 1)
	others := []*app{w.create("second"), w.create("third")}
	for _, a := range others {
		w.waits(a, scheduler.ReasonWaitingForQuota, scheduler.ReasonBehindOthers)
	}
	for _, cpu := range []string{"0", "9"} {
		q := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "checked"}}
		must(w, "read the quota", w.Client.Get(w.Context(), client.ObjectKeyFromObject(q), q))
		q.Spec.Hard[corev1.ResourceRequestsCPU], q.Spec.Hard[corev1.ResourceRequestsMemory] = quantity(cpu), quantity("100Gi")
		must(w, "change the quota", w.Client.Update(w.Context(), q))
		if cpu != "0" {
			break
		}
		for _, a := range others {
			if message := w.waits(a, scheduler.ReasonExceedsQuota); !strings.Contains(message, "limit 0") {
				w.Errorf("the message does not say the limit: %s", message)
			}
		}
	}
	for _, a := range others {
		w.runs(a, 1)
	}
	for _, a := range append(others, first) {
		w.completes(a)
	}
}

// queueAndQuota : an application that waits in its scheduler's queue takes nothing of the quota of its namespace: another one of a queue with room starts in
// it. When quota and queue have room, it starts. Behind the check of quotas the plugin still sees to its objects while the application runs and when it has
// ended.
func queueAndQuota(w *Harness) {
	w.makePlace(1)
	w.quotaFor(2)
	roomy := w.QueueName("roomy")
	must(w, "create the queue", w.queues().CreateQueue(w.Context(), roomy, room(3)))
	w.start()
	first := w.create("first")
	w.runs(first, 1)
	second := w.create("second", func(a *app) {
		a.Spec.Executor.Instances = nil
		a.Spec.DynamicAllocation = &v1beta2.DynamicAllocation{Enabled: true, InitialExecutors: ptr.To[int32](1),
			MinExecutors: ptr.To[int32](1), MaxExecutors: ptr.To[int32](2)}
	})
	w.eventually("the queue has no room for it", func() error {
		reason, text, err := w.waiting(second)
		if err == nil && (!slices.Contains(w.Full, reason) || !strings.Contains(text, "queue "+w.place.Queue)) {
			err = fmt.Errorf("it waits for %q (%s)", reason, text)
		}
		return err
	})
	w.hasGroups(second, true)
	third := w.create("third", inQueue(roomy))
	w.runs(third, 1)
	w.waits(second, scheduler.ReasonWaitingForQuota, scheduler.ReasonBehindOthers)
	w.hasGroups(second, false)
	w.completes(first)
	w.runs(second, 1)
	w.hasGroups(second, true)
	w.eventually("what the scheduler holds for it follows it", func() error {
		held, err := w.Reckons(w.Context(), w.Client, w.driver(second), w.ownedBy(second))
		if cpu := held[corev1.ResourceCPU]; err == nil && cpu.Cmp(quantity("1")) != 0 {
			err = fmt.Errorf("it holds %s CPUs", cpu.String())
		}
		return err
	})
	for _, a := range []*app{second, third} {
		w.completes(a)
		w.hasGroups(a, false)
	}
}

// placeholders : a gang for which the quota has room, but not for the pods that its scheduler makes beside it, waits without a pod. When there is
// room for all of them it starts, and no executor is refused.
func placeholders(w *Harness) {
	w.makePlace(4)
	w.quotaFor(4)
	w.start()
	first := w.create("first")
	w.runs(first, 1)
	gang := w.create("gang", func(a *app) { a.Spec.Executor.Instances = ptr.To[int32](3) })
	if message := w.waits(gang, scheduler.ReasonWaitingForQuota); !strings.Contains(message, "asked 7, free") {
		w.Errorf("it does not ask for its placeholders: %s", message)
	}
	w.during("it has no driver", time.Second, func() error {
		if n := len(w.pods(gang, spark.RoleDriver)); n > 0 {
			return fmt.Errorf("%d drivers", n)
		}
		return nil
	})
	w.completes(first)
	w.runs(gang, 3)
	if w.driver(gang).Annotations[annotationRefused] != "" {
		w.Error("the quota had no room for its executors beside their placeholders")
	}
	w.completes(gang)
}
