// SPDX-License-Identifier: Apache-2.0

package quota

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

// class is a PriorityClass by its name.
func class(name string) *unstructured.Unstructured {
	var value int64
	_, _ = fmt.Sscanf(name, "class%d", &value)
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": map[string]any{"name": name}, "value": value}}
}

// listed is a quota's amounts as they are written.
func listed(a amounts, prefix string) map[string]any {
	return map[string]any{prefix + string(simCPU): fmt.Sprint(a[simCPU]), prefix + string(simGPU): fmt.Sprint(a[simGPU])}
}

// used is what pods use that were there, or ran, so many seconds ago.
func (s *simulation) used(t *tenant, ago int, running bool) amounts {
	sum, when := amounts{}, s.now-ago
	for _, a := range s.apps {
		if a.tenant != t || a.phase == simWaits || a.ends <= when {
			continue
		}
		since := a.created
		if running {
			since = a.running
		}
		for i, second := range since {
			if second <= when {
				sum = sum.plus(a.pod(i))
			}
		}
	}
	return sum
}

// pod is what the i-th pod takes: the driver comes first.
func (a *simApp) pod(i int) amounts {
	if i == 0 {
		return amounts{simCPU: a.driver}
	}
	n := int(a.PodSets.Initial)
	return amounts{simCPU: (a.asks[simCPU] - a.driver) / n, simGPU: a.asks[simGPU] / n}
}

// snapshot is what the operator sees of the quotas for an attempt.
func (s *simulation) snapshot(a *simApp) scheduler.Snapshot {
	seen, known := s.seen[a.tenant.name]
	if !known {
		seen = s.quotas(a.tenant)
		s.seen[a.tenant.name] = seen
	}
	for _, read := range scheduler.ReadPriorityClass(a.Attempt) {
		seen[read] = class(a.PriorityClass)
	}
	return seen
}

// quotas are those that bind the attempts of a namespace, as they are reported.
func (s *simulation) quotas(of *tenant) scheduler.Snapshot {
	seen := scheduler.Snapshot{}
	object := func(kind, name string, t *tenant, spec map[string]any, used amounts, prefix string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"kind": kind, "metadata": map[string]any{"name": name, "namespace": t.name}, "spec": spec, "status": map[string]any{"used": listed(used, prefix)}}}
	}
	var own, elastic []*unstructured.Unstructured
	for _, t := range s.tenants {
		if t.hard != nil && t == of {
			q := object("ResourceQuota", "compute", t, map[string]any{"hard": listed(t.hard, "requests.")}, s.used(t, t.lag[0], false), "requests.")
			seen[scheduler.Read{GroupVersionKind: resourceQuotaKind, Namespace: t.name}] = scheduler.NewList(q)
		}
		if t.min == nil {
			continue
		}
		spec := map[string]any{"min": listed(t.min, "")}
		if t.max != nil {
			spec["max"] = listed(t.max, "")
		}
		q := object("ElasticQuota", "share", t, spec, s.used(t, t.lag[1], true), "")
		if elastic = append(elastic, q); t == of {
			own = append(own, q)
		}
	}
	seen[elasticQuotasIn(of.name)], seen[allElasticQuotas] = scheduler.NewList(own...), scheduler.NewList(elastic...)
	return seen
}

// pods are those of an application that are there.
func (s *simulation) pods(a *simApp) scheduler.PodStatuses {
	var f scheduler.PodStatuses
	for i, created := range a.created {
		if created > s.now {
			continue
		}
		pod := scheduler.PodStatus{Phase: corev1.PodPending, ExecutorID: int64(i)}
		if a.running[i] <= s.now {
			pod.Phase = corev1.PodRunning
		}
		if i == 0 {
			f.Driver = &pod
		} else {
			f.Executors = append(f.Executors, pod)
		}
	}
	return f
}
