// SPDX-License-Identifier: Apache-2.0

package volcano

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

// demand is the room that a group asks for.
type demand struct{ requests, limits corev1.ResourceList }

// wholeDemand is that of the driver and all initial executors.
func wholeDemand(a scheduler.Attempt) demand {
	if len(a.Resources) > 0 {
		return demand{requests: a.Total()}
	}
	s := a.Shapes
	return demand{requests: a.Total(), limits: scheduler.Sum(s.Driver.Limits, scheduler.Times(s.Executor.Limits, int64(s.Initial)))}
}

// driverDemand is that of the driver alone.
func driverDemand(a scheduler.Attempt) demand {
	return demand{requests: a.Shapes.Driver.Requests, limits: a.Shapes.Driver.Limits}
}

// minResources says everything twice: nodes and queues are compared by the plain names, and namespaces' ResourceQuotas
// (Volcano's plugin resourcequota) by theirs. Each gate ignores the names of the other.
func (d demand) minResources() corev1.ResourceList {
	out := corev1.ResourceList{}
	for name, quantity := range d.requests {
		out[name] = quantity
		out[corev1.DefaultResourceRequestsPrefix+name] = quantity
	}
	for name, quantity := range d.limits {
		if !strings.Contains(string(name), "/") { // quotas do not count limits of extended resources
			out["limits."+name] = quantity
		}
	}
	return out
}
