// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
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

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/config"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/namespaced"
	"github.com/firesteel-dev/firesteel/internal/observe"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

// maxWakes is how many applications may wait to be woken; more of them lose nothing, for every wait has a timer.
const maxWakes = 10000

// newKinds returns the watch over the APIs of the plugins and adds it to the manager.
func newKinds(mgr ctrl.Manager, c config.OperatorConfiguration, plugins []scheduler.Plugin) (*kinds, error) {
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
	k := &kinds{
		cache: own, live: live, discovery: apis, plugins: plugins, now: time.Now,
		events: make(chan event.GenericEvent, maxWakes),
		object: func(name types.NamespacedName) client.Object {
			a := &v1beta2.SparkApplication{}
			a.Namespace, a.Name = name.Namespace, name.Name
			return a
		},
		mapper: mgr.GetRESTMapper(), known: map[schema.GroupVersionKind]*kindState{}, denied: map[scheduler.Access]bool{},
	}
	k.configure(c)
	if err := mgr.Add(k); err != nil {
		return nil, fmt.Errorf("add watch over schedulers' kinds: %w", err)
	}
	return k, nil
}

// listApplications lists the applications in the cache.
func listApplications(ctx context.Context, r client.Reader, options ...client.ListOption) ([]*v1beta2.SparkApplication, error) {
	var list v1beta2.SparkApplicationList
	if err := r.List(ctx, &list, options...); err != nil {
		return nil, err
	}
	all := make([]*v1beta2.SparkApplication, 0, len(list.Items))
	for i := range list.Items {
		all = append(all, &list.Items[i])
	}
	return all, nil
}

// podHandler wakes the application of a pod, and notes when a pod gives its room back.
func podHandler(m *Schedulers) handler.EventHandler {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	wake := func(q queue, pod client.Object) {
		for _, r := range appOfPod(pod) {
			q.Add(r)
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

// appOfPod maps a pod to its application. Executors are the driver's, not ours, but carry the label too.
func appOfPod(pod client.Object) []reconcile.Request {
	app := pod.GetLabels()[lifecycle.LabelApp]
	if app == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: pod.GetNamespace(), Name: app}}}
}
