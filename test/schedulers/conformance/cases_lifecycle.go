// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

func quantity(text string) resource.Quantity { return resource.MustParse(text) }

func requests(pod *corev1.Pod) corev1.ResourceList {
	total := corev1.ResourceList{}
	for i := range pod.Spec.Containers {
		total = scheduler.Sum(total, pod.Spec.Containers[i].Resources.Requests)
	}
	return total
}

// retry : the next attempt is another one to the scheduler, and nothing of the previous is left when the pause between them
// begins.
func retry(w *Harness) {
	w.startWithRoomFor(1)
	const pause = 8
	a := w.create("fails", func(a *app) {
		a.Spec.RestartPolicy = v1beta2.RestartPolicy{
			Type: v1beta2.RestartPolicyOnFailure, OnFailureRetries: ptr.To[int32](1), OnFailureRetryInterval: ptr.To[int64](pause),
		}
	})
	w.runs(a, 1)
	groups, marks := w.hasGroups(a, true), w.claimed(w.driver(a))
	w.end(a, 1)
	w.eventually("it fails", w.inState(a, stateFailing, stateRerun))
	w.hasGroups(a, false)
	if current, err := w.get(a); err != nil || current.Status.ExecutionAttempts != 1 {
		w.Errorf("the objects of the first attempt outlived the pause: %v, %d attempts", err, current.Status.ExecutionAttempts)
	}
	w.submittedTwice(a)
	w.runs(a, 1)
	if after := w.hasGroups(a, true); len(after) > 0 && after[0] == groups[0] {
		w.Errorf("both attempts have the object %s", after[0])
	}
	if after := w.claimed(w.driver(a)); slices.Equal(marks, after) {
		w.Errorf("the scheduler cannot distinguish the attempts: %v", after)
	}
	w.completes(a)
}

// suspend : a suspended application holds nothing, whether it waited or ran, and takes part again when it is resumed.
func suspend(w *Harness) {
	w.startWithRoomFor(1)
	on, off := func(a *app) { a.Spec.Suspend = ptr.To(true) }, func(a *app) { a.Spec.Suspend = nil }
	first := w.create("first")
	w.runs(first, 1)
	second := w.create("second")
	w.waits(second, w.Full...)
	w.change(second, on)
	w.hasGroups(second, false)
	w.eventually("its driver is gone", func() error {
		if pods := w.pods(second, spark.RoleDriver); len(pods) > 0 {
			return fmt.Errorf("it has a driver")
		}
		return nil
	})
	w.change(first, on)
	w.eventually("it is suspended", w.inState(first, stateSuspended))
	w.hasGroups(first, false)
	third := w.create("third") // third waits first in every line
	w.runs(third, 1)
	w.completes(third)
	w.change(second, off)
	w.runs(second, 1)
	w.change(first, off)
	w.waits(first, w.Full...)
	w.completes(second)
	w.runs(first, 1)
	w.completes(first)
	respecified(w)
}

// deletion : nothing is left, and what was held is free.
func deletion(w *Harness) {
	w.startWithRoomFor(1)
	first := w.create("first")
	w.runs(first, 1)
	second := w.create("second")
	w.waits(second, w.Full...)
	w.nextSecond()
	third := w.create("third")
	w.waits(third, append([]scheduler.Reason{scheduler.ReasonBehindOthers}, w.Full...)...)
	w.delete(second)
	w.gone(second)
	w.delete(first)
	w.gone(first)
	w.runs(third, 1)
	w.completes(third)
}

// eviction : a driver that the cluster takes down is no failure of the application, which queues up again on another
// budget; an executor that goes is Spark's affair.
func eviction(w *Harness) {
	w.startWithRoomFor(1)
	a := w.create("evicted", patient)
	w.runs(a, 1)
	executor := w.pods(a, spark.RoleExecutor)[0]
	w.evict(&executor)
	w.eventually("another executor", func() error {
		pods := w.pods(a, spark.RoleExecutor)
		if len(pods) != 1 || pods[0].UID == executor.UID {
			return fmt.Errorf("it is not replaced yet")
		}
		return nil
	})
	w.runs(a, 1)
	current, err := w.get(a)
	must(w, "read it", err)
	if s := current.Status.Scheduling; s != nil && s.Evictions != 0 || current.Status.ExecutionAttempts != 1 {
		w.Errorf("an executor's eviction was counted as the driver's: %+v", s)
	}
	w.evict(w.driver(a))
	w.eventually("it is counted", func() error {
		current, err := w.get(a)
		if err != nil {
			return err
		}
		retries, evictions := v1beta2.RetryStatus{}, int32(0)
		if current.Status.Retries != nil {
			retries = *current.Status.Retries
		}
		if current.Status.Scheduling != nil {
			evictions = current.Status.Scheduling.Evictions
		}
		// without a plugin that observes it is the cluster's doing, like the loss of a node
		if _, observes := w.plugin(w).(scheduler.Observer); !observes {
			evictions, retries.Infrastructure = retries.Infrastructure, 0
		}
		if evictions != 1 || retries != (v1beta2.RetryStatus{}) {
			return fmt.Errorf("%d evictions, retries %+v", evictions, retries)
		}
		return nil
	})
	w.submittedTwice(a)
	w.runs(a, 1)
	w.completes(a)
	if p, ok := w.Environment.(Preemptor); ok && w.Tier == Real {
		w.preemption(p)
	}
}

// patient lets an application continue after the loss of a driver, and after nothing else.
func patient(a *app) {
	soon := &v1beta2.Backoff{Initial: &metav1.Duration{Duration: time.Second}}
	a.Spec.RestartPolicy = v1beta2.RestartPolicy{
		Type: v1beta2.RestartPolicyOnFailure, OnFailureRetries: ptr.To[int32](0),
		Infrastructure: &v1beta2.RetryRule{Retries: 1, Backoff: soon},
	}
}

// evict takes a pod down by the API that drains use.
func (w *Harness) evict(pod *corev1.Pod) {
	w.Helper()
	e := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}}
	must(w, "evict "+pod.Name, w.Client.SubResource("eviction").Create(w.Context(), pod, e))
}

// shapes : applications without executors run, and client mode, which the operator does not run, is refused in words.
func shapes(w *Harness) {
	w.startWithRoomFor(2)
	alone := w.create("driver-only", func(a *app) {
		a.Spec.Driver.KubernetesMaster = ptr.To("local[*]")
		a.Spec.Executor.Instances = nil
	})
	none := w.create("none-at-first", func(a *app) {
		a.Spec.Executor.Instances = nil
		a.Spec.DynamicAllocation = &v1beta2.DynamicAllocation{Enabled: true, InitialExecutors: ptr.To[int32](0),
			MinExecutors: ptr.To[int32](0), MaxExecutors: ptr.To[int32](2)}
	})
	w.runs(alone, 0)
	w.runs(none, 0)
	w.completes(alone)
	w.completes(none)
	elsewhere := w.create("client", func(a *app) { a.Spec.Mode = v1beta2.DeployModeClient })
	message := w.fails(elsewhere, "InvalidSpec")
	if !strings.Contains(message, "mode") {
		w.Errorf("the message does not name the mode: %s", message)
	}
}

// marks : labels, annotations, affinity and tolerations of the user are on the pods next to the plugin's, and a mark that
// contradicts the plugin's is reported.
func marks(w *Harness) {
	w.startWithRoomFor(1)
	toleration := corev1.Toleration{Key: "users-own", Operator: corev1.TolerationOpExists}
	affinity := &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{
		Weight: 7, PodAffinityTerm: corev1.PodAffinityTerm{TopologyKey: "kubernetes.io/hostname",
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}},
	}}}}
	own := func(p *v1beta2.SparkPodSpec) {
		p.Labels, p.Annotations = map[string]string{"users-own": "label"}, map[string]string{"users-own": "annotation"}
		p.Tolerations, p.Affinity = append(p.Tolerations, toleration), affinity
	}
	a := w.create("marked", func(a *app) { own(&a.Spec.Driver.SparkPodSpec); own(&a.Spec.Executor.SparkPodSpec) })
	w.runs(a, 1)
	for _, pod := range append(w.pods(a, spark.RoleDriver), w.pods(a, spark.RoleExecutor)...) {
		switch {
		case pod.Labels["users-own"] != "label", pod.Annotations["users-own"] != "annotation":
			w.Errorf("%s lost the user's labels or annotations: %v %v", pod.Name, pod.Labels, pod.Annotations)
		case !slices.Contains(pod.Spec.Tolerations, toleration), pod.Spec.Affinity == nil || pod.Spec.Affinity.PodAntiAffinity == nil:
			w.Errorf("%s lost the user's tolerations or affinity: %+v", pod.Name, pod.Spec)
		}
	}
	w.completes(a)
	for _, key := range w.plugin(w).Describe().ManagedKeys {
		if key != w.OwnGroup && (key.Part == scheduler.PodLabel || key.Part == scheduler.PodAnnotation) {
			w.contradict(key)
			return
		}
	}
}

// contradict sets one of the plugin's keys to another value.
func (w *Harness) contradict(key scheduler.PodKey) {
	w.Helper()
	b := w.create("contradicts", func(a *app) {
		theirs := map[string]string{key.Key: "something-else"}
		if key.Part == scheduler.PodLabel {
			a.Spec.Executor.Labels = theirs
		} else {
			a.Spec.Executor.Annotations = theirs
		}
	})
	if message := w.fails(b, scheduler.ReasonPodKeyConflict); !strings.Contains(message, key.Key) {
		w.Errorf("the message does not name %s: %s", key.Key, message)
	}
}
