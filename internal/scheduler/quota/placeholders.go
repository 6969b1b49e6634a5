// SPDX-License-Identifier: Apache-2.0

package quota

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// placeholders are the charges of one attempt's placeholder pods, by the role of the pods that replace them.
type placeholders struct{ drivers, executors []charge }

func placeholdersOf(list []scheduler.Placeholder, given defaults) placeholders {
	var drivers, executors []role
	for _, p := range list {
		r := role{name: p.Role, class: p.PriorityClass, PodResources: p.PodResources, count: int64(p.Count)}
		if p.Role == spark.RoleDriver {
			drivers = append(drivers, r)
		} else {
			executors = append(executors, r)
		}
	}
	return placeholders{chargesOf(drivers, given), chargesOf(executors, given)}
}

// most returns the most that a quota counts in addition to the driver and all executors. The peak is at one of two moments: before executors exist, with all
// placeholders, or when all executors exist beside their placeholders.
func (p placeholders) most(q *corev1.ResourceQuota) corev1.ResourceList {
	more := sumOf(q, p.drivers)
	for name, quantity := range sumOf(q, p.executors) {
		if other := more[name]; quantity.Cmp(other) > 0 {
			more[name] = quantity
		}
	}
	return more
}

// reservedIn returns a function from a quota to the room in it that is reserved for others in the attempt's namespace. It counts placeholders until the
// driver pod exists: after that they exist within seconds, and the quota itself counts them.
func reservedIn(a scheduler.Attempt, given defaults) func(*corev1.ResourceQuota) corev1.ResourceList {
	var pods []charge
	var beside []placeholders
	for _, r := range a.Quota.Others {
		if r.Namespace != a.App.Namespace {
			continue
		}
		pods = append(pods, chargesOf(notCreated(r), given)...)
		if len(r.Placeholders) > 0 && !r.Progress.DriverCreated {
			beside = append(beside, placeholdersOf(r.Placeholders, given))
		}
	}
	return func(q *corev1.ResourceQuota) corev1.ResourceList {
		total := sumOf(q, pods)
		for _, p := range beside {
			scheduler.AddTo(total, p.most(q), 1)
		}
		return total
	}
}
