// SPDX-License-Identifier: Apache-2.0

package quota

import (
	"cmp"
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
	name  string
	class string
	spark.PodResources
	traits spark.PodAttributes
	count  int64
}

// roles returns the pods of an attempt that no quota counts yet.
func roles(shapes spark.PodSets, class string, drivers, executors int64) []role {
	own := func(name string, size spark.PodResources, traits spark.PodAttributes, count int64) role {
		return role{name: name, class: cmp.Or(traits.PriorityClassName, class), PodResources: size, traits: traits, count: max(0, count)}
	}
	return []role{
		own(spark.RoleDriver, shapes.Driver, shapes.DriverAttributes, drivers),
		own(spark.RoleExecutor, shapes.Executor, shapes.ExecutorAttributes, executors),
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
			r.PodResources = r.WithDefaults(d.requests, d.limits)
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
	for name, quantity := range r.Requests {
		out[corev1.DefaultResourceRequestsPrefix+name] = quantity
		if !strings.Contains(string(name), "/") { // extended resources are counted as requests only
			out[name] = quantity
		}
	}
	for name, quantity := range r.Limits {
		out["limits."+name] = quantity
	}
	return out
}

// inScope reports whether a quota counts the pod. Spark's pods always have requests (NotBestEffort).
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
	case corev1.ResourceQuotaScopeNotBestEffort:
		return true
	case corev1.ResourceQuotaScopeTerminating:
		return r.traits.Deadline
	case corev1.ResourceQuotaScopeNotTerminating:
		return !r.traits.Deadline
	case corev1.ResourceQuotaScopeCrossNamespacePodAffinity:
		return crossesNamespaces(r.traits.Affinity)
	case corev1.ResourceQuotaScopePriorityClass:
		return matchesClass(e, r.class)
	default: // BestEffort and future scopes: Spark's pods are not in them
		return false
	}
}

// crossesNamespaces reports whether a term of the affinity or anti-affinity names other namespaces.
func crossesNamespaces(a *corev1.Affinity) bool {
	if a == nil {
		return false
	}
	var terms []corev1.PodAffinityTerm
	var weighted []corev1.WeightedPodAffinityTerm
	if near := a.PodAffinity; near != nil {
		terms, weighted = near.RequiredDuringSchedulingIgnoredDuringExecution, near.PreferredDuringSchedulingIgnoredDuringExecution
	}
	if apart := a.PodAntiAffinity; apart != nil {
		terms = slices.Concat(terms, apart.RequiredDuringSchedulingIgnoredDuringExecution)
		weighted = slices.Concat(weighted, apart.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	terms = slices.Clone(terms)
	for i := range weighted {
		terms = append(terms, weighted[i].PodAffinityTerm)
	}
	return slices.ContainsFunc(terms, func(t corev1.PodAffinityTerm) bool { return len(t.Namespaces) > 0 || t.NamespaceSelector != nil })
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
	corev1.ResourceRequestsCPU, corev1.ResourceRequestsMemory, corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceLimitsCPU, corev1.ResourceLimitsMemory,
}

// missingLimit returns a finding if a container does not set a counted resource: the API server refuses its pod, unless the pod as a whole has resources.
func missingLimit(a scheduler.Attempt, q *corev1.ResourceQuota, charges []charge) (finding, bool) {
	for _, c := range charges {
		if !inScope(q, c.role) || c.Parts != nil && c.Parts.Resources != nil {
			continue
		}
		for _, part := range containersOf(c.PodResources) {
			given := costOf(role{PodResources: spark.PodResources{Requests: part.Resources.Requests, Limits: part.Resources.Limits}})
			for _, name := range required {
				_, counted := q.Spec.Hard[name]
				if _, set := given[name]; counted && !set {
					return finding{quota: nameOf(q), reason: scheduler.ReasonQuotaRequiresLimits, message: unset(a, q, c.role, part.Name, name)}, true
				}
			}
		}
	}
	return finding{}, false
}

// containersOf returns the containers of a pod; one without a name if only the sums are known.
func containersOf(r spark.PodResources) []corev1.Container {
	if r.Parts == nil {
		return []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: r.Requests, Limits: r.Limits}}}
	}
	return slices.Concat(r.Parts.Containers, r.Parts.InitContainers)
}

// unset returns the message about a resource that a container lacks.
func unset(a scheduler.Attempt, q *corev1.ResourceQuota, r role, container string, name corev1.ResourceName) string {
	pod := a.Word(spark.Word(r.name))
	if len(containersOf(r.PodResources)) > 1 && container != spark.DriverContainerName && container != spark.ExecutorContainerName {
		return fmt.Sprintf("ResourceQuota %s of namespace %s counts %s, but the container %s of the %s has none and would be refused; "+
			"set it in the container's resources, or ask for a LimitRange with a default", q.Name, q.Namespace, name, container, pod)
	}
	return fmt.Sprintf("ResourceQuota %s of namespace %s counts %s, but the %s has none and would be refused; "+
		"set it (for limits.cpu: %s), or ask for a LimitRange with a default", q.Name, q.Namespace, name, pod, a.Field(spark.Field(r.name+".coreLimit")))
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
