// SPDX-License-Identifier: Apache-2.0

package quota

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// role is a number of equal pods of an attempt.
type role struct {
	name     string
	class    string
	requests corev1.ResourceList
	limits   corev1.ResourceList
	count    int64
}

// roles returns the pods of an attempt that no quota counts yet.
func roles(shapes spark.PodSets, class string, drivers, executors int64) []role {
	own := func(t spark.PodAttributes) string {
		if t.PriorityClassName != "" {
			return t.PriorityClassName
		}
		return class
	}
	return []role{
		{spark.RoleDriver, own(shapes.DriverAttributes), shapes.Driver.Requests, shapes.Driver.Limits, drivers},
		{spark.RoleExecutor, own(shapes.ExecutorAttributes), shapes.Executor.Requests, shapes.Executor.Limits, max(0, executors)},
	}
}

// notCreated returns the pods of a reservation that do not exist yet. The API server counts a pod at its creation.
func notCreated(r scheduler.Reservation) []role {
	drivers := int64(1)
	if r.Progress.DriverCreated {
		drivers = 0
	}
	return roles(r.PodSets, r.PriorityClass, drivers, int64(r.PodSets.Initial)-int64(r.Progress.ExecutorsCreated))
}

// resourceQuotas checks the namespace's ResourceQuotas that count the attempt's pods. See
// https://kubernetes.io/docs/concepts/policy/resource-quotas/
func resourceQuotas(a scheduler.Attempt, s scheduler.Snapshot) ([]finding, error) {
	given, err := defaultsOf(a, s)
	if err != nil {
		return nil, err
	}
	charges := chargesOf(roles(a.PodSets, a.PriorityClass, 1, int64(a.PodSets.Initial)), given)
	most := chargesOf(roles(a.PodSets, a.PriorityClass, 1, int64(a.PodSets.Max)), given)
	placeholders := placeholdersOf(a.Placeholders, given)
	others := reservedIn(a, given)
	var found []finding
	for _, item := range s.List(scheduler.Read{GroupVersionKind: resourceQuotaKind, Namespace: a.App.Namespace}) {
		q, err := scheduler.As[corev1.ResourceQuota](item)
		if err != nil {
			return nil, err
		}
		if p, ok := missingLimit(a, q, charges); ok {
			found = append(found, p)
			continue
		}
		own := sumOf(q, charges)
		asked := demand{initial: own, peak: scheduler.Sum(own, placeholders.most(q)), most: sumOf(q, most)}
		if counts(q, asked.peak) {
			left := room{namespace: q.Namespace, used: q.Status.Used, reserved: others(q), limit: q.Spec.Hard, guaranteed: q.Spec.Hard}
			found = append(found, compare(a, nameOf(q), asked, left))
		}
	}
	return found, nil
}

func nameOf(q *corev1.ResourceQuota) string { return "ResourceQuota " + q.Name }

// counts reports whether a quota limits a requested resource.
func counts(q *corev1.ResourceQuota, demand corev1.ResourceList) bool {
	for name := range q.Spec.Hard {
		if asked := demand[name]; !asked.IsZero() {
			return true
		}
	}
	return false
}

// charge is the cost of one pod of a role, by the resource names of quotas.
type charge struct {
	role
	cost corev1.ResourceList
}

// chargesOf returns the costs of the pods, with the namespace's defaults filled in.
func chargesOf(pods []role, d defaults) []charge {
	out := make([]charge, 0, len(pods))
	for _, r := range pods {
		if r.count > 0 {
			r.requests, r.limits = withDefaults(r.requests, d.requests), withDefaults(r.limits, d.limits)
			out = append(out, charge{r, costOf(r)})
		}
	}
	return out
}

// sumOf returns the total cost of the pods that are in the quota's scopes.
func sumOf(q *corev1.ResourceQuota, charges []charge) corev1.ResourceList {
	total := corev1.ResourceList{}
	for _, c := range charges {
		if inScope(q, c.role) {
			scheduler.AddTo(total, c.cost, c.count)
		}
	}
	return total
}

func costOf(r role) corev1.ResourceList {
	one := *resource.NewQuantity(1, resource.DecimalSI)
	out := corev1.ResourceList{corev1.ResourcePods: one, "count/pods": one}
	for name, quantity := range r.requests {
		out[corev1.DefaultResourceRequestsPrefix+name] = quantity
		if !strings.Contains(string(name), "/") { // extended resources are counted as requests only
			out[name] = quantity
		}
	}
	for name, quantity := range r.limits {
		out["limits."+name] = quantity
	}
	return out
}

// inScope reports whether a quota counts the pod. Spark's pods always have requests (NotBestEffort) and no active deadline (NotTerminating).
func inScope(q *corev1.ResourceQuota, r role) bool {
	for _, scope := range q.Spec.Scopes {
		if !matches(corev1.ScopedResourceSelectorRequirement{ScopeName: scope, Operator: corev1.ScopeSelectorOpExists}, r) {
			return false
		}
	}
	if q.Spec.ScopeSelector == nil {
		return true
	}
	return !slices.ContainsFunc(q.Spec.ScopeSelector.MatchExpressions, func(e corev1.ScopedResourceSelectorRequirement) bool {
		return !matches(e, r)
	})
}

func matches(e corev1.ScopedResourceSelectorRequirement, r role) bool {
	switch e.ScopeName {
	case corev1.ResourceQuotaScopeNotBestEffort, corev1.ResourceQuotaScopeNotTerminating:
		return true
	case corev1.ResourceQuotaScopePriorityClass:
		return matchesClass(e, r.class)
	default: // BestEffort, Terminating, CrossNamespacePodAffinity and future scopes: Spark's pods are not in them
		return false
	}
}

func matchesClass(e corev1.ScopedResourceSelectorRequirement, class string) bool {
	switch e.Operator {
	case corev1.ScopeSelectorOpIn:
		return slices.Contains(e.Values, class)
	case corev1.ScopeSelectorOpNotIn:
		return !slices.Contains(e.Values, class)
	case corev1.ScopeSelectorOpExists:
		return class != ""
	case corev1.ScopeSelectorOpDoesNotExist:
		return class == ""
	default:
		return false
	}
}

// required are the resources that every container must set if a quota counts the resource.
var required = []corev1.ResourceName{
	corev1.ResourceRequestsCPU, corev1.ResourceRequestsMemory, corev1.ResourceLimitsCPU, corev1.ResourceLimitsMemory,
}

// missingLimit returns a finding if a pod does not set a counted resource: the API server refuses such a pod.
func missingLimit(a scheduler.Attempt, q *corev1.ResourceQuota, charges []charge) (finding, bool) {
	for _, c := range charges {
		if !inScope(q, c.role) {
			continue
		}
		for _, name := range required {
			_, counted := q.Spec.Hard[name]
			if _, given := c.cost[name]; counted && !given {
				return finding{quota: nameOf(q), reason: scheduler.ReasonQuotaRequiresLimits, message: fmt.Sprintf(
					"ResourceQuota %s of namespace %s counts %s, but the %s has none and would be refused; "+
						"set it (for limits.cpu: %s), or ask for a LimitRange with a default",
					q.Name, q.Namespace, name, a.Word(spark.Word(c.name)), a.Field(spark.Field(c.name+".coreLimit")))}, true
			}
		}
	}
	return finding{}, false
}

// defaults are the namespace's default requests and limits for containers.
type defaults struct{ requests, limits corev1.ResourceList }

// defaultsOf reads the defaults from the LimitRanges. The first default of a resource counts, as in the API server.
func defaultsOf(a scheduler.Attempt, s scheduler.Snapshot) (defaults, error) {
	var d defaults
	for _, item := range s.List(scheduler.Read{GroupVersionKind: limitRangeKind, Namespace: a.App.Namespace}) {
		ranges, err := scheduler.As[corev1.LimitRange](item)
		if err != nil {
			return defaults{}, err
		}
		for _, limit := range ranges.Spec.Limits {
			if limit.Type == corev1.LimitTypeContainer {
				d.requests, d.limits = withDefaults(d.requests, limit.DefaultRequest), withDefaults(d.limits, limit.Default)
			}
		}
	}
	return d, nil
}

// withDefaults returns the list with missing resources filled in.
func withDefaults(list, defaults corev1.ResourceList) corev1.ResourceList {
	out := corev1.ResourceList{}
	for _, source := range []corev1.ResourceList{defaults, list} {
		for name, quantity := range source {
			out[name] = quantity
		}
	}
	return out
}
