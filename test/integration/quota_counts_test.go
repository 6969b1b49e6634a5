// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/scheduler/quota"
	"github.com/firesteel-dev/firesteel/internal/spark"
	"github.com/firesteel-dev/firesteel/internal/testutil/testrun"
)

// drawnPods draws a driver, its executors and the quotas of a namespace.
type drawnPods struct{ *rand.Rand }

func (d drawnPods) one(n int) bool { return d.IntN(n) == 0 }

func (d drawnPods) amounts(cpu, memory int) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: *resource.NewQuantity(int64(cpu), resource.DecimalSI), corev1.ResourceMemory: *resource.NewQuantity(int64(memory)<<30, resource.BinarySI)}
}

// resources are never contradictory, also after a LimitRange has filled them in.
func (d drawnPods) resources(must bool) corev1.ResourceRequirements {
	r := corev1.ResourceRequirements{Requests: d.amounts(1+d.IntN(2), 1+d.IntN(2)), Limits: d.amounts(2+d.IntN(2), 2+d.IntN(2))}
	for _, list := range []corev1.ResourceList{r.Requests, r.Limits} {
		for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
			if !must && d.one(3) {
				delete(list, name)
			}
		}
	}
	if d.one(4) {
		r.Limits["example.com/gpu"], r.Requests["example.com/gpu"] = resource.MustParse("1"), resource.MustParse("1")
	}
	if d.one(4) {
		r.Requests[corev1.ResourceEphemeralStorage] = resource.MustParse("1Gi")
	}
	return r
}

func (d drawnPods) pod(namespace, role string) *corev1.Pod {
	p := simplePod(namespace, role, "", nil)
	p.Spec.Containers[0].Name, p.Spec.Containers[0].Resources = "spark-kubernetes-"+role, d.resources(true)
	if d.one(2) {
		p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "side", Image: "a", Resources: d.resources(d.one(2))})
	}
	if d.one(3) {
		init := corev1.Container{Name: "init", Image: "a", Resources: d.resources(d.one(2))}
		if d.one(2) {
			init.RestartPolicy = ptr.To(corev1.ContainerRestartPolicyAlways)
		}
		p.Spec.InitContainers = []corev1.Container{init}
	}
	if d.one(5) {
		p.Spec.ActiveDeadlineSeconds = ptr.To[int64](600)
	}
	if d.one(5) {
		p.Spec.PriorityClassName = "system-node-critical" // exists everywhere
	}
	if d.one(4) {
		term := corev1.PodAffinityTerm{TopologyKey: "zone", LabelSelector: &metav1.LabelSelector{}}
		if d.one(2) {
			term.Namespaces = []string{"elsewhere"}
		}
		p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{term}}}
	}
	return p
}

// quota has limits near what a few pods take.
func (d drawnPods) quota(namespace string, i int) *corev1.ResourceQuota {
	q := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprint("quota-", i)}, Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{}}}
	scope := d.IntN(8)
	names := strings.Fields("cpu requests.cpu limits.cpu memory requests.memory limits.memory pods") // those that may have scopes
	if scope > 4 {
		names = append(names, "count/pods", "requests.ephemeral-storage", "requests.example.com/gpu")
	}
	for range 1 + d.IntN(3) {
		name, value := names[d.IntN(len(names))], fmt.Sprint(1+d.IntN(14))
		if strings.Contains(name, "memory") || strings.Contains(name, "storage") {
			value += "Gi"
		}
		q.Spec.Hard[corev1.ResourceName(name)] = resource.MustParse(value)
	}
	switch scope {
	case 0:
		q.Spec.Scopes = []corev1.ResourceQuotaScope{corev1.ResourceQuotaScopeTerminating}
	case 1:
		q.Spec.Scopes = []corev1.ResourceQuotaScope{corev1.ResourceQuotaScopeNotTerminating}
	case 2:
		q.Spec.Scopes = []corev1.ResourceQuotaScope{corev1.ResourceQuotaScopeCrossNamespacePodAffinity}
	case 3:
		q.Spec.Scopes = []corev1.ResourceQuotaScope{corev1.ResourceQuotaScopeNotBestEffort}
	case 4:
		q.Spec.ScopeSelector = &corev1.ScopeSelector{MatchExpressions: []corev1.ScopedResourceSelectorRequirement{{
			ScopeName: corev1.ResourceQuotaScopePriorityClass, Operator: []corev1.ScopeSelectorOperator{corev1.ScopeSelectorOpExists, corev1.ScopeSelectorOpDoesNotExist}[d.IntN(2)],
		}}}
	}
	return q
}

func (d drawnPods) limitRange(namespace string) *corev1.LimitRange {
	item := corev1.LimitRangeItem{Type: corev1.LimitTypeContainer}
	if d.one(2) {
		item.Default = d.amounts(4, 4)
	}
	if d.one(2) {
		item.DefaultRequest = d.amounts(1, 1)
	}
	return &corev1.LimitRange{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "defaults"}, Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{item}}}
}

// attributes are what the quota check reads of a pod beside its size.
func attributes(p *corev1.Pod) spark.PodAttributes {
	return spark.PodAttributes{PriorityClassName: p.Spec.PriorityClassName, Affinity: p.Spec.Affinity, Deadline: p.Spec.ActiveDeadlineSeconds != nil}
}

// Review of the schedulers, findings 8 and 9: the operator admits what the API server creates.
var _ = Describe("The check of quotas", func() {
	// listed reads objects as the operator does.
	listed := func(ctx context.Context, namespace, kind string) (scheduler.Read, *unstructured.Unstructured) {
		var list unstructured.UnstructuredList
		list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(kind + "List"))
		Expect(admin.List(ctx, &list, client.InNamespace(namespace))).To(Succeed())
		var items []*unstructured.Unstructured
		for i := range list.Items {
			items = append(items, &list.Items[i])
		}
		return scheduler.Read{GroupVersionKind: corev1.SchemeGroupVersion.WithKind(kind), Namespace: namespace}, scheduler.NewList(items...)
	}
	create := func(ctx context.Context, q *corev1.ResourceQuota) {
		Expect(admin.Create(ctx, q)).To(Succeed())
		q.Status.Hard, q.Status.Used = q.Spec.Hard, corev1.ResourceList{} // no controller counts here
		for name := range q.Spec.Hard {
			q.Status.Used[name] = resource.Quantity{}
		}
		Expect(admin.Status().Update(ctx, q)).To(Succeed())
	}
	// known waits until the API server enforces the quotas that were created before.
	known := func(ctx context.Context, namespace string) {
		create(ctx, &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "marker"}, Spec: corev1.ResourceQuotaSpec{
			Hard: corev1.ResourceList{"count/configmaps": resource.Quantity{}},
		}})
		Eventually(func() error {
			return admin.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "any"}}, client.DryRunAll)
		}, wait, poll).Should(MatchError(ContainSubstring("quota")))
	}

	It("admits what the API server creates, and nothing else", func(ctx SpecContext) {
		cases := testrun.Pick(30, 60, 1000)
		seed := uint64(GinkgoRandomSeed())
		verdicts := map[bool]int{}
		for i := range cases {
			d := drawnPods{rand.New(rand.NewPCG(seed, uint64(i)))}
			ns := newNamespace(ctx)
			if d.one(2) {
				Expect(admin.Create(ctx, d.limitRange(ns))).To(Succeed())
			}
			for n := range 1 + d.IntN(2) {
				create(ctx, d.quota(ns, n))
			}
			known(ctx, ns)
			driver, executor, executors := d.pod(ns, "driver"), d.pod(ns, "executor"), int32(d.IntN(4))
			a := scheduler.Attempt{App: scheduler.App{Namespace: ns, Name: "pi"}, ID: "pi-1", PodSets: spark.PodSets{
				Driver: spark.StandaloneRole{Pod: driver}.Takes(), Executor: spark.StandaloneRole{Pod: executor}.Takes(),
				DriverAttributes: attributes(driver), ExecutorAttributes: attributes(executor), Initial: executors, Min: executors, Max: executors,
			}}
			seen := scheduler.Snapshot{}
			for _, kind := range []string{"ResourceQuota", "LimitRange"} {
				read, list := listed(ctx, ns, kind)
				seen[read] = list
			}
			answer, err := quota.New("Enforce", nil).Admit(a, seen)
			Expect(err).NotTo(HaveOccurred())

			refused := admin.Create(ctx, driver)
			for n := int32(0); n < executors && refused == nil; n++ {
				e := executor.DeepCopy()
				e.Name = fmt.Sprint("executor-", n)
				refused = admin.Create(ctx, e)
			}
			Expect(refused == nil || apierrors.IsForbidden(refused)).To(BeTrue(), "seed %d, case %d: %v", seed, i, refused)
			created := map[bool]scheduler.Verdict{true: scheduler.Admit}[refused == nil]
			if answer.Verdict != scheduler.Admit {
				answer.Verdict = ""
			}
			Expect(answer.Verdict).To(Equal(created), "seed %d, case %d: the operator says %s %q, the API server %v", seed, i, answer.Reason, answer.Message, refused)
			verdicts[refused == nil]++
		}
		Expect(min(verdicts[true], verdicts[false])).To(BeNumerically(">", cases/8), "both answers: %v", verdicts)
	})
})
