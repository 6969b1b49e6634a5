// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// alias : an application that chooses the plugin by the name of another scheduler runs by that one.
func alias(w *Harness) {
	w.startWithRoomFor(1)
	a := w.create("other", func(a *app) { a.Spec.BatchScheduler = &w.Alias })
	w.runs(a, 1)
	for _, pod := range append(w.pods(a, spark.RoleDriver), w.pods(a, spark.RoleExecutor)...) {
		if pod.Spec.SchedulerName != w.Alias {
			w.Errorf("%s has the scheduler %q, and not %q", pod.Name, pod.Spec.SchedulerName, w.Alias)
		}
	}
	w.hasGroups(a, true)
	current, err := w.get(a)
	must(w, "read it", err)
	if s := current.Status.Scheduling; s == nil || s.Scheduler != w.Alias {
		w.Errorf("the status says %+v", s)
	}
	w.completes(a)
}

// ownGroup : pods that the user put into a group stay in it. The application waits for the group, makes none beside it, and leaves
// it as it is.
func ownGroup(w *Harness) {
	const mine = "users-own"
	w.startWithRoomFor(1)
	a := w.create("grouped", func(a *app) {
		for _, p := range []*v1beta2.SparkPodSpec{&a.Spec.Driver.SparkPodSpec, &a.Spec.Executor.SparkPodSpec} {
			marks := map[string]string{w.OwnGroup.Key: mine}
			if w.OwnGroup.Part == scheduler.PodLabel {
				p.Labels = marks
			} else {
				p.Annotations = marks
			}
		}
	})
	var group *unstructured.Unstructured
	if kinds := w.plugin(w).Describe().Owns; len(kinds) > 0 {
		w.waits(a, scheduler.ReasonPodGroupNotFound)
		group = &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"minMember": int64(1)}}}
		if w.place.Queue != "" {
			group.Object["spec"].(map[string]any)["queue"] = w.place.Queue
		}
		group.SetGroupVersionKind(kinds[0])
		group.SetNamespace(w.Namespace)
		group.SetName(mine)
		must(w, "create the user's group", w.Client.Create(w.Context(), group))
	}
	w.runs(a, 1)
	for _, pod := range append(w.pods(a, spark.RoleDriver), w.pods(a, spark.RoleExecutor)...) {
		if got := w.markOf(&pod); got != mine {
			w.Errorf("%s is in %q", pod.Name, got)
		}
	}
	if groups := w.groups(a); len(groups) > 0 {
		w.Errorf("the operator made %v beside the user's", groups)
	}
	w.completes(a)
	if group != nil {
		must(w, "see the user's group again", w.Client.Get(w.Context(), client.ObjectKeyFromObject(group), group))
		if n, _, _ := unstructured.NestedInt64(group.Object, "spec", "minMember"); n != 1 ||
			group.GetDeletionTimestamp() != nil || len(group.GetOwnerReferences()) > 0 {
			w.Errorf("the user's group was changed: %v", group.Object)
		}
		must(w, "delete the user's group", w.Client.Delete(w.Context(), group))
	}
}

func (w *Harness) markOf(pod *corev1.Pod) string {
	if w.OwnGroup.Part == scheduler.PodLabel {
		return pod.Labels[w.OwnGroup.Key]
	}
	return pod.Annotations[w.OwnGroup.Key]
}
