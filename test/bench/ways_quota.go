// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/firesteel-dev/firesteel/test/bench/internal/cluster"
)

var elasticQuotas = schema.GroupVersionResource{Group: "scheduling.x-k8s.io", Version: "v1alpha1", Resource: "elasticquotas"}

// fillQuotas creates ResourceQuotas without room. No controller runs that would compute their usage.
func fillQuotas(ctx context.Context, w *environment) error {
	hard := corev1.ResourceList{corev1.ResourceRequestsCPU: *resource.NewQuantity(full, resource.DecimalSI)}
	return cluster.Each(ctx, w.tenants(), func(ctx context.Context, namespace string) error {
		quotas := w.client.CoreV1().ResourceQuotas(namespace)
		quota, err := quotas.Create(ctx, &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: quotaName}, Spec: corev1.ResourceQuotaSpec{Hard: hard}},
			metav1.CreateOptions{})
		if err != nil {
			return fmt.Errorf("create a quota: %w", err)
		}
		quota.Status = corev1.ResourceQuotaStatus{Hard: hard, Used: hard}
		if _, err := quotas.UpdateStatus(ctx, quota, metav1.UpdateOptions{}); err != nil {
			return fmt.Errorf("fill a quota: %w", err)
		}
		return nil
	})
}

// raiseQuotas makes room in all of them. Without a controller, started applications do not count as used.
func raiseQuotas(ctx context.Context, w *environment, some int) error {
	tenants := w.tenants()
	return cluster.Each(ctx, tenants, func(ctx context.Context, namespace string) error {
		hard := corev1.ResourceList{corev1.ResourceRequestsCPU: *resource.NewQuantity(int64(full+cpusOfAnApplication*some/len(tenants)), resource.DecimalSI)}
		quotas := w.client.CoreV1().ResourceQuotas(namespace)
		quota, err := quotas.Get(ctx, quotaName, metav1.GetOptions{})
		if err != nil {
			return fmt.Errorf("get a quota: %w", err)
		}
		quota.Spec.Hard = hard
		if quota, err = quotas.Update(ctx, quota, metav1.UpdateOptions{}); err != nil {
			return fmt.Errorf("raise a quota: %w", err)
		}
		quota.Status.Hard = hard
		if _, err := quotas.UpdateStatus(ctx, quota, metav1.UpdateOptions{}); err != nil {
			return fmt.Errorf("raise a quota: %w", err)
		}
		return nil
	})
}

// createElasticQuotas creates one for each tenant, whose min is used up. Its max is in cores.
func (w *environment) createElasticQuotas(ctx context.Context, most int) error {
	return cluster.Each(ctx, w.tenants(), func(ctx context.Context, namespace string) error {
		return w.createElasticQuota(ctx, namespace, full, most, full)
	})
}

func (w *environment) createElasticQuota(ctx context.Context, namespace string, least, most, used int) error {
	amounts := func(cpus int) map[string]any { return map[string]any{"cpu": strconv.Itoa(cpus), "memory": "1Ti"} }
	quota := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": quotaName},
		"spec":     map[string]any{"min": amounts(least), "max": amounts(most)},
		"status":   map[string]any{"used": map[string]any{"cpu": strconv.Itoa(used), "memory": "1Gi"}},
	}}
	quota.SetGroupVersionKind(elasticQuotas.GroupVersion().WithKind("ElasticQuota"))
	quotas := w.dynamic.Resource(elasticQuotas).Namespace(namespace)
	made, err := quotas.Create(ctx, quota, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("create an ElasticQuota: %w", err)
	}
	made.Object["status"] = quota.Object["status"]
	if _, err := quotas.UpdateStatus(ctx, made, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("fill an ElasticQuota: %w", err)
	}
	return nil
}

func limitByMax(ctx context.Context, w *environment) error { return w.createElasticQuotas(ctx, full) }

func raiseMax(ctx context.Context, w *environment, some int) error {
	tenants := w.tenants()
	patch := fmt.Appendf(nil, `{"spec": {"max": {"cpu": "%d"}, "min": {"cpu": "%[1]d"}}}`, full+cpusOfAnApplication*some/len(tenants))
	return cluster.Each(ctx, tenants, func(ctx context.Context, namespace string) error {
		if _, err := w.dynamic.Resource(elasticQuotas).Namespace(namespace).Patch(ctx, quotaName, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			return fmt.Errorf("raise an ElasticQuota: %w", err)
		}
		return nil
	})
}

// limitByMin lets tenants use more than their min, as long as others leave something of theirs.
func limitByMin(ctx context.Context, w *environment) error {
	return w.createElasticQuotas(ctx, 100*full)
}

// lend adds the min of a namespace that uses nothing.
func lend(ctx context.Context, w *environment, some int) error {
	if err := w.createNamespace(ctx, "lender"); err != nil {
		return err
	}
	return w.createElasticQuota(ctx, "lender", cpusOfAnApplication*some, cpusOfAnApplication*some, 0)
}
