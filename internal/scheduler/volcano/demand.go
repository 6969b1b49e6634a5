/*
Copyright 2026 The Firesteel Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

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
