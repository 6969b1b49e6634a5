// SPDX-License-Identifier: Apache-2.0

package application

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/observe"
	"github.com/firesteel-dev/firesteel/internal/operator"
)

// list lists the applications of the kind.
func (e *Engine[T]) list(ctx context.Context, r client.Reader, options ...client.ListOption) ([]T, error) {
	list, _ := e.List.DeepCopyObject().(client.ObjectList)
	if err := r.List(ctx, list, options...); err != nil {
		return nil, err
	}
	var all []T
	err := meta.EachListItem(list, func(o runtime.Object) error {
		all = append(all, o.(T))
		return nil
	})
	return all, err
}

// names names the applications of a namespace, or all with "", in the cache.
func (e *Engine[T]) names(ctx context.Context, namespace string) ([]types.NamespacedName, error) {
	all, err := e.list(ctx, e.Cache, client.InNamespace(namespace), client.UnsafeDisableDeepCopy)
	names := make([]types.NamespacedName, 0, len(all))
	for _, a := range all {
		names = append(names, client.ObjectKeyFromObject(a))
	}
	return names, err
}

// podHandler wakes the application of a pod, and notes when a pod gives its room back. Executors are the driver's, not
// ours, but carry the label too.
func podHandler(m *operator.Schedulers, family lifecycle.Family) handler.EventHandler {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	wake := func(q queue, pod client.Object) {
		if app := pod.GetLabels()[family.Labels.App]; app != "" {
			q.Add(reconcile.Request{NamespacedName: types.NamespacedName{Namespace: pod.GetNamespace(), Name: app}})
		}
	}
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q queue) { wake(q, e.Object) },
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) {
			before, _ := e.ObjectOld.(*corev1.Pod)
			after, _ := e.ObjectNew.(*corev1.Pod)
			if before != nil && after != nil && !observe.Ended(before) && observe.Ended(after) {
				m.MadeRoom()
			}
			wake(q, e.ObjectNew)
		},
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q queue) {
			m.MadeRoom()
			wake(q, e.Object)
		},
	}
}
