// SPDX-License-Identifier: Apache-2.0

package schedulers

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/test/schedulers/conformance"
)

// important is the class of pods that others make room for.
const important = "conformance-important"

// importantPod makes a pod with the class that asks for so many CPUs in a place. The function that it returns deletes it.
func (c *cluster) importantPod(ctx context.Context, namespace, name string, place conformance.Place, cpus int64, change func(*corev1.Pod)) (func(context.Context) error, error) {
	class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: important}, Value: 1000}
	if err := c.client.Create(ctx, class); err != nil && !apierrors.IsAlreadyExists(err) {
		return nil, fmt.Errorf("create the priority class: %w", err)
	}
	asks := corev1.ResourceList{
		corev1.ResourceCPU: *resource.NewQuantity(cpus, resource.DecimalSI), corev1.ResourceMemory: *resource.NewQuantity(cpus*896<<20, resource.BinarySI),
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: corev1.PodSpec{
			PriorityClassName: important, NodeSelector: place.NodeSelector, Tolerations: place.Tolerations,
			TerminationGracePeriodSeconds: new(int64),
			Containers:                    []corev1.Container{{Name: "c", Image: "important", Resources: corev1.ResourceRequirements{Requests: asks}}},
		},
	}
	change(pod)
	// the place's pods belong to others, so that the namespace's default account may be missing
	pod.Spec.AutomountServiceAccountToken = new(bool)
	if err := c.client.Create(ctx, pod); err != nil {
		return nil, fmt.Errorf("create an important pod: %w", err)
	}
	return func(ctx context.Context) error {
		return client.IgnoreNotFound(c.client.Delete(ctx, pod, client.GracePeriodSeconds(0)))
	}, nil
}

// priorities are the values of the priority classes.
func (c *cluster) priorities(ctx context.Context) (map[string]int32, error) {
	var classes schedulingv1.PriorityClassList
	if err := c.client.List(ctx, &classes); err != nil {
		return nil, fmt.Errorf("list priority classes: %w", err)
	}
	values := map[string]int32{}
	for _, class := range classes.Items {
		values[class.Name] = class.Value
	}
	return values, nil
}

// Preempt makes a pod outside of the namespace, which may have a quota.
func (k *kube) Preempt(ctx context.Context, namespace string, place conformance.Place, cpus int64) (func(context.Context) error, error) {
	return k.importantPod(ctx, metav1.NamespaceDefault, fmt.Sprintf("%s-%d", namespace, cpus), place, cpus, func(*corev1.Pod) {})
}

// Preempt makes a pod of no group.
func (s *coscheduling) Preempt(ctx context.Context, namespace string, place conformance.Place, cpus int64) (func(context.Context) error, error) {
	return s.importantPod(ctx, metav1.NamespaceDefault, fmt.Sprintf("%s-%d", namespace, cpus), place, cpus, func(pod *corev1.Pod) {
		pod.Spec.SchedulerName = "coscheduling"
	})
}

// Preempt makes a pod in the same namespace: inside a quota that is used up, priority decides.
func (e elastic) Preempt(ctx context.Context, namespace string, place conformance.Place, cpus int64) (func(context.Context) error, error) {
	return e.importantPod(ctx, namespace, fmt.Sprintf("important-%d", cpus), place, cpus, func(pod *corev1.Pod) {
		pod.Spec.SchedulerName = "coscheduling-quota"
	})
}
