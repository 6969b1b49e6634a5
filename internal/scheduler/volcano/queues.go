// SPDX-License-Identifier: Apache-2.0

package volcano

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// queues are all queues of the cluster, by name. Each is decoded when it is used.
type queues map[string]*unstructured.Unstructured

func queuesOf(s scheduler.Snapshot) queues {
	items := s.List(allQueues)
	q := make(queues, len(items))
	for _, item := range items {
		q[item.GetName()] = item
	}
	return q
}

// parent returns the parent queue. A queue that names no parent has the root as its parent.
func (q queues) parent(name string) string {
	if name == rootQueue || q[name] == nil {
		return ""
	}
	if parent, _, _ := unstructured.NestedString(q[name].Object, "spec", "parent"); parent != "" {
		return parent
	}
	return rootQueue
}

// children returns the names of the child queues, sorted.
func (q queues) children(name string) []string {
	var below []string
	for child := range q {
		if q.parent(child) == name {
			below = append(below, child)
		}
	}
	slices.Sort(below)
	return below
}

// line returns the queue and its ancestors, the queue first.
func (q queues) line(name string) ([]*v1beta1.Queue, error) {
	var line []*v1beta1.Queue
	seen := map[string]bool{}
	for ; name != "" && q[name] != nil && !seen[name]; name = q.parent(name) {
		seen[name] = true
		queue, err := scheduler.As[v1beta1.Queue](q[name])
		if err != nil {
			return nil, err
		}
		line = append(line, queue)
	}
	return line, nil
}

// leaves returns the queues that accept applications and that the attempt may use, sorted.
func (q queues) leaves(a scheduler.Attempt) []string {
	inner := map[string]bool{rootQueue: true}
	for name := range q {
		inner[q.parent(name)] = true
	}
	var leaves []string
	for name := range q {
		if !inner[name] && a.MayUse(name) {
			leaves = append(leaves, name)
		}
	}
	slices.Sort(leaves)
	return leaves
}

// check finds a permanent obstacle in the queue. Volcano does not report such obstacles: it never processes a group without a queue, and a group in a queue
// with children stops all scheduling in a cluster with hierarchical queues.
func (q queues) check(a scheduler.Attempt) (scheduler.Admission, bool) {
	queue := q[a.Queue]
	if queue == nil {
		return scheduler.Admission{
			Verdict: scheduler.Wait, Reason: scheduler.ReasonQueueNotFound,
			Message: fmt.Sprintf("%s: queue %q does not exist; %s", a.QueueField(), a.Queue, scheduler.Usable(q.leaves(a))),
		}, true
	}
	if a.Queue == rootQueue || len(q.children(a.Queue)) > 0 {
		return scheduler.Admission{
			Verdict: scheduler.Reject, Reason: scheduler.ReasonQueueNotLeaf, Reversible: true,
			Message: fmt.Sprintf("%s: queue %q has child queues and accepts no applications; %s", a.QueueField(), a.Queue, scheduler.Usable(q.leaves(a))),
		}, true
	}
	state, _, _ := unstructured.NestedString(queue.Object, "status", "state")
	if state == string(v1beta1.QueueStateClosed) || state == string(v1beta1.QueueStateClosing) {
		return scheduler.Admission{
			Verdict: scheduler.Wait, Reason: scheduler.ReasonQueueClosed,
			Message: fmt.Sprintf("queue %s is %s: it accepts no applications until it is opened again", a.Queue, state),
		}, true
	}
	return scheduler.Admission{}, false
}

// growth warns if dynamic allocation may add executors for which the queues can never have room.
func (q queues) growth(a scheduler.Attempt) (string, error) {
	if !a.Grows() {
		return "", nil
	}
	line, err := q.line(a.Queue)
	if err != nil {
		return "", err
	}
	most := a.PodSets.Requests(a.PodSets.Max)
	for _, queue := range line {
		if text := scheduler.CannotGrow(a, "queue "+queue.Name, most, queue.Spec.Capability); text != "" {
			return text, nil
		}
	}
	return "", nil
}

// fits compares the request with the capabilities of the queue and its ancestors. ok is false if one of them has no room; the admission then says whether it
// can ever have enough.
func (q queues) fits(a scheduler.Attempt, asked corev1.ResourceList) (scheduler.Admission, bool, error) {
	line, err := q.line(a.Queue)
	if err != nil {
		return scheduler.Admission{}, false, err
	}
	for _, queue := range line {
		if never := scheduler.Shortages(asked, nil, queue.Spec.Capability); len(never) > 0 {
			return scheduler.Admission{
				Verdict: scheduler.Reject, Reason: scheduler.ReasonExceedsQueueCapacity, Reversible: true,
				Message: fmt.Sprintf("the request exceeds queue %s: %s", queue.Name, scheduler.Exceeding(never)),
			}, false, nil
		}
	}
	for _, queue := range line {
		if now := scheduler.Shortages(asked, queue.Status.Allocated, queue.Spec.Capability); len(now) > 0 {
			return scheduler.Admission{
				Verdict: scheduler.Wait, Reason: scheduler.ReasonWaitingForQuota,
				Message: fmt.Sprintf("waiting for quota in queue %s: %s", queue.Name, scheduler.Waiting(now)),
			}, false, nil
		}
	}
	return scheduler.Admission{}, true, nil
}

// QueueOf returns the queue of a pod as Volcano reads it: the queue of the pod's group. If Volcano creates the group, the pod itself names the queue.
func (Plugin) QueueOf(pod spark.PodAttributes, made []*unstructured.Unstructured) (string, bool) {
	name := cmp.Or(pod.Annotations[v1beta1.KubeGroupNameAnnotationKey], pod.Annotations[v1beta1.VolcanoGroupNameAnnotationKey])
	if name == "" {
		return cmp.Or(pod.Annotations[v1beta1.QueueNameAnnotationKey], defaultQueue), true
	}
	for _, group := range made {
		if group.GroupVersionKind().GroupKind() == podGroupKind.GroupKind() && group.GetName() == name {
			return queueOfGroup(group), true
		}
	}
	return "", false
}

// QueueOfObject returns the queue of a PodGroup.
func (Plugin) QueueOfObject(object *unstructured.Unstructured) (string, bool) {
	if object.GroupVersionKind().GroupKind() != podGroupKind.GroupKind() {
		return "", false
	}
	return queueOfGroup(object), true
}

func queueOfGroup(group *unstructured.Unstructured) string {
	queue, _, _ := unstructured.NestedString(group.Object, "spec", "queue")
	return cmp.Or(queue, defaultQueue)
}
