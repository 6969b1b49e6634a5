// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/internal/convert/apache"
	"github.com/firesteel-dev/firesteel/internal/observe"
	"github.com/firesteel-dev/firesteel/internal/reservations"
	"github.com/firesteel-dev/firesteel/internal/resolve"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/standalone"
)

// Fault 9: an edit of the master that the API server refuses is refused each time. The workers are repaired and edited all the same.
func TestRefusedPartStopsNoOther(t *testing.T) {
	o := &v1.SparkCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "jobs", Name: "lab", UID: "uid", Generation: 1}}
	o.Spec.RuntimeVersions.SparkVersion = "4.1.4"
	o.Spec.ClusterTolerations.InstanceConfig.InitWorkers = 2
	scheme := runtime.NewScheme()
	_, _ = clientgoscheme.AddToScheme(scheme), v1.AddToScheme(scheme)
	refuses := false
	no := apierrors.NewInvalid(schema.GroupKind{Group: "apps", Kind: "StatefulSet"}, "lab-master", nil)
	c := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(o).WithObjects(o).WithInterceptorFuncs(interceptor.Funcs{
		Apply: func(ctx context.Context, c client.WithWatch, o runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			if named, ok := o.(interface{ GetName() string }); refuses && ok && named.GetName() == "lab-master" {
				return no
			}
			return c.Apply(ctx, o, opts...)
		},
	}).Build()
	now := clocktesting.NewFakePassiveClock(time.Date(2026, 11, 27, 9, 0, 0, 0, time.UTC))
	registry := registryOf(t, scheduler.Policy{Default: "other"}, gang{name: "other"})
	e := NewEngine(apache.Clusters{}, &v1.SparkClusterList{}, observe.Reader{Cache: c, Live: c}, c, events.NewFakeRecorder(100), now, reservations.New(now, nil, scheduler.Order{}),
		func() resolve.Operator { return resolve.Operator{Registry: registry} })
	run := func() {
		t.Helper()
		for range 3 {
			if _, err := e.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(o)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	run()
	refuses = true
	if err := c.Delete(t.Context(), &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "jobs", Name: "lab-worker"}}); err != nil {
		t.Fatal(err)
	}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
		t.Fatal(err)
	}
	o.Generation = 2
	o.Spec.MasterSpec = &v1.MasterSpec{RoleObjects: v1.RoleObjects{StatefulSetSpec: &appsv1.StatefulSetSpec{PodManagementPolicy: appsv1.ParallelPodManagement, Template: corev1.PodTemplateSpec{}}}}
	o.Spec.ClusterTolerations.InstanceConfig.InitWorkers = 3
	if err := c.Update(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	run()
	var workers appsv1.StatefulSet
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: "jobs", Name: "lab-worker"}, &workers); err != nil || *workers.Spec.Replicas != 3 {
		t.Errorf("workers: %v, %v", workers.Spec.Replicas, err)
	}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
		t.Fatal(err)
	}
	if got := meta.FindStatusCondition(o.Status.Conditions, standalone.ConditionApplied); got == nil || got.Message != no.Error() {
		t.Errorf("condition %+v, want %q", got, no.Error())
	}
}

// A group that an operator was slow to create goes although the cluster is over and holds none; that of another owner stays.
func TestLateGroupGoes(t *testing.T) {
	o := &v1.SparkCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "jobs", Name: "lab", UID: "uid", Generation: 1}}
	o.Spec.RuntimeVersions.SparkVersion = "4.1.4"
	o.Status.CurrentState = &v1.ClusterState{CurrentStateSummary: v1.ClusterResourceReleased}
	group := func(name string, owner types.UID) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			Namespace: "jobs", Name: name, Labels: map[string]string{v1.LabelClusterName: "lab", apache.ClusterFamily.Labels.CreatedBy: "true"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: v1.SchemeGroupVersion.String(), Kind: "SparkCluster", Name: "lab", UID: owner, Controller: new(true)}},
		}}
	}
	scheme := runtime.NewScheme()
	_, _ = clientgoscheme.AddToScheme(scheme), v1.AddToScheme(scheme)
	c := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(o).WithObjects(o, group("late", "uid"), group("foreign", "another")).Build()
	now := clocktesting.NewFakePassiveClock(time.Date(2026, 11, 27, 9, 0, 0, 0, time.UTC))
	registry := registryOf(t, scheduler.Policy{Default: "other"}, gang{name: "other"})
	owned := func(ctx context.Context, kind schema.GroupVersionKind, namespace, _ string) ([]unstructured.Unstructured, error) {
		var list unstructured.UnstructuredList
		list.SetGroupVersionKind(kind)
		err := c.List(ctx, &list, client.InNamespace(namespace))
		return list.Items, err
	}
	e := NewEngine(apache.Clusters{}, &v1.SparkClusterList{}, observe.Reader{Cache: c, Live: c, Owned: owned}, c, events.NewFakeRecorder(100), now, reservations.New(now, nil, scheduler.Order{}),
		func() resolve.Operator { return resolve.Operator{Registry: registry} })
	if _, err := e.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(o)}); err != nil {
		t.Fatal(err)
	}
	var left corev1.ConfigMapList
	if err := c.List(t.Context(), &left); err != nil || len(left.Items) != 1 || left.Items[0].Name != "foreign" {
		t.Errorf("%d groups are left, want that of another owner: %v, %v", len(left.Items), left.Items, err)
	}
}
