// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/firesteel-dev/firesteel/internal/config"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/namespaced"
	"github.com/firesteel-dev/firesteel/internal/observe"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

// newSchedulerKinds returns the watch over the APIs of the plugins and adds it to the manager.
func newSchedulerKinds(mgr ctrl.Manager, c config.OperatorConfiguration, plugins []scheduler.Plugin, families []lifecycle.Family) (*schedulerKinds, error) {
	apis, err := discovery.NewDiscoveryClientForConfig(mgr.GetConfig())
	if err != nil {
		return nil, fmt.Errorf("create client for discovery: %w", err)
	}
	own, err := namespaced.New(mgr.GetConfig(), cache.Options{
		DefaultTransform: cache.TransformStripManagedFields(),
		Scheme:           mgr.GetScheme(), Mapper: mgr.GetRESTMapper(), HTTPClient: mgr.GetHTTPClient(),
	})
	if err != nil {
		return nil, fmt.Errorf("create cache of schedulers' kinds: %w", err)
	}
	live, err := client.New(mgr.GetConfig(), client.Options{Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(), HTTPClient: mgr.GetHTTPClient()})
	if err != nil {
		return nil, fmt.Errorf("create client of schedulers' kinds: %w", err)
	}
	k := &schedulerKinds{
		cache: own, live: live, discovery: apis, plugins: plugins, now: time.Now,
		families: families, wakers: &wakers{},
		mapper: mgr.GetRESTMapper(), known: map[schema.GroupVersionKind]*kindState{}, denied: map[scheduler.Access]bool{},
	}
	k.configure(c)
	if err := mgr.Add(k); err != nil {
		return nil, fmt.Errorf("add watch over schedulers' kinds: %w", err)
	}
	return k, nil
}

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
func podHandler(m *Schedulers, family lifecycle.Family) handler.EventHandler {
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
				m.madeRoom()
			}
			wake(q, e.ObjectNew)
		},
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q queue) {
			m.madeRoom()
			wake(q, e.Object)
		},
	}
}
