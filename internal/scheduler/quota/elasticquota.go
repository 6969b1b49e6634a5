// SPDX-License-Identifier: Apache-2.0

package quota

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/scheduler-plugins/apis/scheduling/v1alpha1"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

var (
	elasticQuotaKind = v1alpha1.SchemeGroupVersion.WithKind("ElasticQuota")
	elasticQuotaAPI  = scheduler.API{
		GroupKind: elasticQuotaKind.GroupKind(), Versions: []string{elasticQuotaKind.Version}, Optional: true,
		Hint: "install the CRDs and the controller of kubernetes-sigs/scheduler-plugins, " +
			"or remove batchScheduler.quota.elasticQuotaSchedulers from the operator's configuration",
	}
	// allElasticQuotas are the ElasticQuotas of all namespaces, which together may use at most the sum of their mins. An operator for some namespaces may not
	// see all of them.
	allElasticQuotas = scheduler.Read{GroupVersionKind: elasticQuotaKind, Optional: true}
)

// sumOfMins is the name of the line for the mins of all namespaces.
const sumOfMins = "the min of all ElasticQuotas together"

// minOf begins the name of the line for the min of one namespace; the quota's name follows.
const minOf = "the min of ElasticQuota "

// elasticQuotasIn returns the read of the quotas of one namespace.
func elasticQuotasIn(namespace string) scheduler.Read {
	return scheduler.Read{GroupVersionKind: elasticQuotaKind, Namespace: namespace}
}

// elasticQuotas checks the room in the namespace's ElasticQuota and in the sum of all ElasticQuotas. The rules come from the scheduler's CapacityScheduling
// plugin, which needs no placeholders. The returned note names quotas that cannot be evaluated.
func elasticQuotas(a scheduler.Attempt, s scheduler.Snapshot) ([]finding, string, error) {
	own, err := elasticQuotasOf(s, elasticQuotasIn(a.App.Namespace))
	switch {
	case err != nil || len(own) == 0: // a namespace without an ElasticQuota is neither limited nor counted
		return nil, "", err
	case len(own) > 1:
		return nil, fmt.Sprintf("namespace %s has %d ElasticQuotas, but the scheduler uses only one: keep one", a.App.Namespace, len(own)), nil
	}
	initial := requests(roles(a.PodSets, "", 1, int64(a.PodSets.Initial)))
	asked := demand{initial: initial, peak: initial, most: requests(roles(a.PodSets, "", 1, int64(a.PodSets.Max)))}
	var found []finding
	if q := own[0]; q.Spec.Max != nil {
		left := room{
			namespace: q.Namespace, used: q.Status.Used, reserved: notRunning(a.Quota.Others, map[string]bool{q.Namespace: true}), limit: maxOf(q),
			guaranteed: q.Spec.Min, borrowed: beyondMin(q),
		}
		found = append(found, compare(a, "ElasticQuota "+q.Name, asked, left))
	}
	if !s.Complete(allElasticQuotas) { // a partial sum is less than the scheduler can grant
		return found, "", nil
	}
	all, err := elasticQuotasOf(s, allElasticQuotas)
	if err != nil {
		return nil, "", err
	}
	sum := compare(a, sumOfMins, asked, minsOf(all, asked.initial, a.Quota.Others))
	least := ownMin(a, own[0], asked.initial)
	if guaranteed(least.asks, a.Quota) {
		return append(found, finding{growth: sum.growth, takes: slices.Concat(sum.asks, least.asks)}), "", nil // no line: only attempts that borrow wait for the sum
	}
	return append(found, sum, least), "", nil
}

// Shares implements scheduler.Sharer. A share is a namespace's usage, including admitted attempts, relative to its min.
func (p Plugin) Shares(a scheduler.Attempt, s scheduler.Snapshot) (scheduler.Shares, error) {
	if p.mode != Enforce || !p.bound(a) || !s.Complete(allElasticQuotas) {
		return nil, nil
	}
	all, err := elasticQuotasOf(s, allElasticQuotas)
	if err != nil {
		return nil, err
	}
	shares := scheduler.Shares{}
	for _, q := range all {
		used := notRunning(a.Quota.Others, map[string]bool{q.Namespace: true})
		scheduler.AddTo(used, q.Status.Used, 1)
		for name, least := range q.Spec.Min {
			if least.Sign() <= 0 {
				continue
			}
			line := scheduler.Line{Quota: sumOfMins, Resource: name}
			if shares[line] == nil {
				shares[line] = map[string]float64{}
			}
			took := used[name]
			shares[line][q.Namespace] = took.AsApproximateFloat64() / least.AsApproximateFloat64()
		}
	}
	return shares, nil
}

// ownMin returns the room in the namespace's min. An attempt that must borrow in any case does not ask for it, but takes it.
func ownMin(a scheduler.Attempt, own *v1alpha1.ElasticQuota, demand corev1.ResourceList) finding {
	found := finding{quota: minOf + own.Name, instead: true}
	left := minsOf([]*v1alpha1.ElasticQuota{own}, demand, a.Quota.Others)
	left.namespace = own.Namespace
	asks := left.asks(found.quota, demand)
	if len(scheduler.Shortages(demand, nil, left.limit)) == 0 {
		found.asks = asks
	} else {
		found.takes = asks
	}
	return found
}

// guaranteed reports whether the namespace's min has room for the whole request, and no other attempt of the namespace comes first. While other namespaces
// borrow that min, the sum of all mins is used up, but the scheduler preempts the borrowers' pods for pods of this namespace. It preempts only for pods that
// exist, so an application that waits without pods would never get its guarantee.
func guaranteed(asks []ask, o scheduler.Outstanding) bool {
	return len(asks) > 0 && !o.Expected && !slices.ContainsFunc(asks, func(k ask) bool { return k.short() || o.Ahead[k.Line].Blocks(k.Asked, k.Left) })
}

// minsOf returns the room in the sum of the mins.
func minsOf(all []*v1alpha1.ElasticQuota, demand corev1.ResourceList, others []scheduler.Reservation) room {
	bound, used, floor, borrowed := map[string]bool{}, corev1.ResourceList{}, corev1.ResourceList{}, corev1.ResourceList{}
	for _, q := range all {
		bound[q.Namespace] = true
		scheduler.AddTo(used, q.Status.Used, 1)
		scheduler.AddTo(floor, q.Spec.Min, 1)
		scheduler.AddTo(borrowed, beyondMin(q), 1)
	}
	for name := range demand { // a resource without a min is not granted
		if _, given := floor[name]; !given {
			floor[name] = resource.Quantity{}
		}
	}
	return room{used: used, reserved: notRunning(others, bound), limit: floor, guaranteed: floor, borrowed: borrowed}
}

// beyondMin returns the usage of a namespace beyond its min, which it has borrowed.
func beyondMin(q *v1alpha1.ElasticQuota) corev1.ResourceList {
	borrowed := corev1.ResourceList{}
	for name, used := range q.Status.Used {
		more := used.DeepCopy()
		if more.Sub(q.Spec.Min[name]); more.Sign() > 0 {
			borrowed[name] = more
		}
	}
	return borrowed
}

func elasticQuotasOf(s scheduler.Snapshot, r scheduler.Read) ([]*v1alpha1.ElasticQuota, error) {
	var quotas []*v1alpha1.ElasticQuota
	for _, item := range s.List(r) {
		q, err := scheduler.As[v1alpha1.ElasticQuota](item)
		if err != nil {
			return nil, err
		}
		quotas = append(quotas, q)
	}
	return quotas, nil
}

// maxOf returns a quota's max. A resource that max does not name counts as zero if it is native, and as unlimited otherwise.
func maxOf(q *v1alpha1.ElasticQuota) corev1.ResourceList {
	limit := corev1.ResourceList{corev1.ResourceCPU: {}, corev1.ResourceMemory: {}, corev1.ResourceEphemeralStorage: {}}
	for name, quantity := range q.Spec.Max {
		limit[name] = quantity
	}
	return limit
}

// notRunning returns the room that reservations in the namespaces will still take, because a quota's status counts running pods only.
func notRunning(others []scheduler.Reservation, namespaces map[string]bool) corev1.ResourceList {
	total := corev1.ResourceList{}
	for _, r := range others {
		if !namespaces[r.Namespace] {
			continue
		}
		drivers := int64(1)
		if r.Progress.DriverRunning {
			drivers = 0
		}
		for _, pods := range roles(r.PodSets, "", drivers, int64(r.PodSets.Initial)-int64(r.Progress.ExecutorsRunning)) {
			scheduler.AddTo(total, pods.Requests, pods.count)
		}
	}
	return total
}

func requests(pods []role) corev1.ResourceList {
	total := corev1.ResourceList{}
	for _, r := range pods {
		scheduler.AddTo(total, r.Requests, r.count)
	}
	return total
}
