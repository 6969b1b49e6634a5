// SPDX-License-Identifier: Apache-2.0

package quota

import (
	"fmt"
	"strconv"

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
	return map[string]any{prefix + string(simCPU): strconv.Itoa(a.cpu), prefix + string(simGPU): strconv.Itoa(a.gpu)}
}

// used is what pods use that were there, or ran, so many seconds ago. Placeholders were there until the pods that replace them ran.
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
			if !running && len(a.Placeholders) > 0 && a.created[0] <= when && when < a.running[i] {
				sum = sum.plus(a.pod(i))
			}
		}
	}
	return sum
}

// pod is what the i-th pod takes: the driver comes first.
func (a *simApp) pod(i int) amounts {
	if i == 0 {
		return amounts{cpu: a.driver}
	}
	return a.shape
}

// takes is the most that its pods and their placeholders will take from a second on.
func (a *simApp) takes(now int) amounts {
	if len(a.Placeholders) == 0 {
		return a.asks
	}
	driver, executors := amounts{cpu: a.driver}, amounts{}
	for i := 1; i <= int(a.PodSets.Initial); i++ {
		if a.phase == simWaits || now < a.running[i] {
			executors = executors.plus(a.shape)
		}
	}
	if a.phase != simWaits && a.running[0] <= now {
		driver = amounts{}
	}
	return a.asks.plus(driver.most(executors))
}

// mins is what all applications together may use that ElasticQuotas bind.
func (s *simulation) mins() amounts {
	sum := amounts{}
	for _, t := range s.tenants {
		if t.min != nil {
			sum = sum.plus(*t.min)
		}
	}
	return sum
}

// couldFit is whether an application fits if there is no other.
func (s *simulation) couldFit(a *simApp) bool {
	t, none := a.tenant, amounts{}
	return (t.hard == nil || a.takes(s.now).fits(none, *t.hard)) && (t.max == nil || a.asks.fits(none, *t.max)) &&
		(t.min == nil || a.asks.fits(none, s.mins())) && (s.queue == 0 || a.asks.cpu <= s.queue)
}

// view is what the operator sees for the attempts of a namespace: the quotas, and the same as numbers.
type view struct {
	scheduler.Snapshot
	exist amounts             // used of the ResourceQuota
	run   map[*tenant]amounts // used of the ElasticQuotas
}

func (s *simulation) view(t *tenant) view {
	v, known := s.seen[t.name]
	if !known {
		v = s.quotas(t)
		s.seen[t.name] = v
	}
	return v
}

// snapshot is what the operator sees for an attempt.
func (s *simulation) snapshot(a *simApp) scheduler.Snapshot {
	seen := s.view(a.tenant).Snapshot
	for _, read := range scheduler.ReadPriorityClass(a.Attempt) {
		seen[read] = class(a.PriorityClass)
	}
	if group := groupOf(a.Attempt).Read(); a.group == 0 {
		delete(seen, group)
	} else {
		seen[group] = &unstructured.Unstructured{Object: map[string]any{placed: a.placed}}
	}
	return seen
}

// quotas are those that bind the attempts of a namespace, as they are reported.
func (s *simulation) quotas(of *tenant) view {
	v := view{Snapshot: scheduler.Snapshot{}, run: map[*tenant]amounts{}}
	object := func(kind, name string, t *tenant, spec map[string]any, used amounts, prefix string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"kind": kind, "metadata": map[string]any{"name": name, "namespace": t.name}, "spec": spec, "status": map[string]any{"used": listed(used, prefix)}}}
	}
	var own, elastic []*unstructured.Unstructured
	for _, t := range s.tenants {
		if t.hard != nil && t == of {
			v.exist = s.used(t, t.lag[0], false)
			q := object("ResourceQuota", "compute", t, map[string]any{"hard": listed(*t.hard, "requests.")}, v.exist, "requests.")
			v.Snapshot[scheduler.Read{GroupVersionKind: resourceQuotaKind, Namespace: t.name}] = scheduler.NewList(q)
		}
		if t.min == nil {
			continue
		}
		spec := map[string]any{"min": listed(*t.min, "")}
		if t.max != nil {
			spec["max"] = listed(*t.max, "")
		}
		v.run[t] = s.used(t, t.lag[1], true)
		q := object("ElasticQuota", "share", t, spec, v.run[t], "")
		if elastic = append(elastic, q); t == of {
			own = append(own, q)
		}
	}
	v.Snapshot[elasticQuotasIn(of.name)], v.Snapshot[allElasticQuotas] = scheduler.NewList(own...), scheduler.NewList(elastic...)
	return v
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
