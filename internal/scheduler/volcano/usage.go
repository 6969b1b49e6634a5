// SPDX-License-Identifier: Apache-2.0

package volcano

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

// QueueReads returns the read of the queues. It returns none for an attempt in a user's own group, which waits for that group and not in a queue.
func (Plugin) QueueReads(a scheduler.Attempt) []scheduler.Read {
	if len(usersGroups(a)) > 0 {
		return nil
	}
	return []scheduler.Read{allQueues}
}

// QueueUsage returns the reported usage of the attempt's queue and its ancestors. Volcano adds each allocation to the queue and to all ancestors.
func (Plugin) QueueUsage(a scheduler.Attempt, s scheduler.Snapshot) ([]scheduler.Usage, error) {
	if len(usersGroups(a)) > 0 {
		return nil, nil
	}
	line, err := queuesOf(s).line(a.Queue)
	if err != nil {
		return nil, err
	}
	var all []scheduler.Usage
	for _, queue := range line {
		for _, name := range resourcesOf(queue, a.Total()) {
			all = append(all, usageOf(queue, name))
		}
	}
	return all, nil
}

// resourcesOf returns the resources that a queue configures or the attempt requests, sorted. Volcano computes deserved and guarantee of the root itself, so
// only the root's capability can be exhausted.
func resourcesOf(queue *v1beta1.Queue, asked corev1.ResourceList) []corev1.ResourceName {
	lists := []corev1.ResourceList{queue.Spec.Capability}
	if queue.Name != rootQueue {
		lists = append(lists, queue.Spec.Guarantee.Resource, queue.Spec.Deserved, asked)
	}
	names := map[corev1.ResourceName]bool{}
	for _, list := range lists {
		for name := range list {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

func usageOf(queue *v1beta1.Queue, name corev1.ResourceName) scheduler.Usage {
	limit, limited := queue.Spec.Capability[name]
	used := queue.Status.Allocated[name]
	u := scheduler.Usage{Line: scheduler.Line{Quota: "Queue " + queue.Name, Resource: name}, Used: used, Limit: limit, Unlimited: !limited}
	if queue.Name == rootQueue { // the root is the whole cluster and borrows from no other queue
		return u
	}
	u.Guaranteed = queue.Spec.Guarantee.Resource[name]
	own, known := queue.Spec.Deserved[name]
	if !known {
		own, known = queue.Spec.Guarantee.Resource[name]
	}
	if known {
		u.Borrowed = beyond(used, own)
	}
	return u
}

// beyond returns the usage above an amount; zero if it is below.
func beyond(used, amount resource.Quantity) resource.Quantity {
	rest := used.DeepCopy()
	if rest.Sub(amount); rest.Sign() < 0 {
		return resource.Quantity{Format: used.Format}
	}
	return rest
}
