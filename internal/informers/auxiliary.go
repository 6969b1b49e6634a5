// SPDX-License-Identifier: Apache-2.0

package informers

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/firesteel-dev/firesteel/internal/config"
	"github.com/firesteel-dev/firesteel/internal/exposure"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/namespaced"
	"github.com/firesteel-dev/firesteel/internal/observe"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

// Auxiliary watches the metadata of drivers' auxiliary objects, selected by the operator's label. So it notices deleted and changed objects, and reading them
// costs no request. Its cache is separate from the manager's cache: an API that is not installed must not block anything else.
type Auxiliary struct {
	*namespaced.Cache
	kinds    []schema.GroupVersionKind
	families []lifecycle.Family
	enqueue  func([]scheduler.Key)
	// every is the interval of checks for missing APIs; 0 means discoveryPeriod.
	every time.Duration

	mu        sync.Mutex
	informers map[schema.GroupVersionKind]cache.Informer
	// found has the applications of objects that existed when the watch of their kind started.
	found map[auxiliaryOf]bool
}

// auxiliaryOf is an application and the kind of one of its auxiliary objects.
type auxiliaryOf struct {
	app  scheduler.Key
	kind schema.GroupVersionKind
}

// NewAuxiliary returns the watch and adds it to the manager. every is the interval of checks for missing APIs; 0 means discoveryPeriod.
func NewAuxiliary(mgr ctrl.Manager, c config.OperatorConfiguration, families []lifecycle.Family,
	every time.Duration, enqueue func([]scheduler.Key)) (*Auxiliary, error) {
	exposes := families[0].Labels.Exposes
	for _, f := range families {
		if f.Labels.Exposes != exposes { // a watch selects by one label
			return nil, fmt.Errorf("%s marks auxiliary objects by the label %s; all kinds need the same one, %s", f.GroupKind(), f.Labels.Exposes, exposes)
		}
	}
	ours, err := labels.NewRequirement(exposes, selection.Exists, nil)
	if err != nil {
		return nil, fmt.Errorf("select auxiliary objects: %w", err)
	}
	own, err := namespaced.New(mgr.GetConfig(), cache.Options{
		DefaultTransform: observe.Strip(families...), DefaultLabelSelector: labels.NewSelector().Add(*ours),
		Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(), HTTPClient: mgr.GetHTTPClient(),
	})
	if err != nil {
		return nil, fmt.Errorf("create cache of auxiliary objects: %w", err)
	}
	w := &Auxiliary{Cache: own, kinds: exposure.Kinds(c.Exposure()), families: families, enqueue: enqueue, every: every,
		informers: map[schema.GroupVersionKind]cache.Informer{}, found: map[auxiliaryOf]bool{}}
	if err := mgr.Add(w); err != nil {
		return nil, fmt.Errorf("add watch over auxiliary objects: %w", err)
	}
	return w, nil
}

// Start watches each kind once its API is installed, until the context ends. It implements manager.Runnable.
func (w *Auxiliary) Start(ctx context.Context) error {
	return run(ctx, w.Cache, w.every, func(ctx context.Context) {
		for _, kind := range w.kinds {
			w.watch(ctx, kind)
		}
		w.enqueueFound()
	})
}

// NeedLeaderElection makes the manager start the watch together with the controllers.
func (w *Auxiliary) NeedLeaderElection() bool { return true }

func (w *Auxiliary) watch(ctx context.Context, kind schema.GroupVersionKind) {
	if w.informers[kind] != nil { // only this goroutine writes the map
		return
	}
	var object metav1.PartialObjectMetadata
	object.SetGroupVersionKind(kind)
	err := w.IndexField(ctx, &object, observe.IndexApp, observe.IndexByApp(AppLabels(w.families)...))
	if err != nil {
		ctrllog.FromContext(ctx).Info("cannot watch auxiliary objects", "kind", kind.String(), "answer", err.Error())
		return
	}
	informer, err := w.GetInformer(ctx, &object, cache.BlockUntilSynced(false))
	if err == nil {
		_, err = informer.AddEventHandler(w.handler(kind))
	}
	if err != nil {
		ctrllog.FromContext(ctx).Error(err, "cannot watch auxiliary objects", "kind", kind.String())
		return
	}
	w.mu.Lock()
	w.informers[kind] = informer
	w.mu.Unlock()
}

// handler enqueues the application of an object that is new, changed or deleted. A new object usually comes from this operator, but it may belong to an ended
// application: an operator may have created it before a crash, or after it read a stale cache. Objects that exist at the start are checked once all of them
// are known.
func (w *Auxiliary) handler(kind schema.GroupVersionKind) toolscache.ResourceEventHandler {
	enqueue := func(o any) { w.enqueue(w.appsOf(o)) }
	return toolscache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(o any, first bool) {
			if !first {
				enqueue(o)
				return
			}
			w.mu.Lock()
			defer w.mu.Unlock()
			for _, app := range w.appsOf(o) {
				w.found[auxiliaryOf{app, kind}] = true
			}
		},
		UpdateFunc: func(before, after any) {
			a, _ := before.(client.Object)
			b, _ := after.(client.Object)
			if a != nil && b != nil && maps.Equal(a.GetLabels(), b.GetLabels()) && maps.Equal(a.GetAnnotations(), b.GetAnnotations()) {
				return
			}
			enqueue(after)
		},
		DeleteFunc: enqueue,
	}
}

// appsOf returns the applications that an object belongs to.
func (w *Auxiliary) appsOf(o any) []scheduler.Key {
	if gone, ok := o.(toolscache.DeletedFinalStateUnknown); ok {
		o = gone.Obj
	}
	object, ok := o.(client.Object)
	if !ok {
		return nil
	}
	return appsOf(w.families, object)
}

// AppLabels returns the labels that name an object's application.
func AppLabels(families []lifecycle.Family) []string {
	var all []string
	for _, f := range families {
		if !slices.Contains(all, f.Labels.App) {
			all = append(all, f.Labels.App)
		}
	}
	return all
}

// enqueueFound enqueues the applications in found whose kind can now be read.
func (w *Auxiliary) enqueueFound() {
	w.mu.Lock()
	var apps []scheduler.Key
	for c := range w.found {
		if w.serves(c.kind, c.app.Namespace) {
			apps = append(apps, c.app)
			delete(w.found, c)
		}
	}
	w.mu.Unlock()
	if len(apps) > 0 {
		w.enqueue(apps)
	}
}

// serves reports whether a kind can be read. The caller must hold the lock.
func (w *Auxiliary) serves(kind schema.GroupVersionKind, namespace string) bool {
	var object metav1.PartialObjectMetadata
	object.SetGroupVersionKind(kind)
	return w.informers[kind] != nil && w.Serves(&object, namespace)
}

// Watched implements observe.Auxiliary.
func (w *Auxiliary) Watched(namespace string) []schema.GroupVersionKind {
	w.mu.Lock()
	defer w.mu.Unlock()
	var synced []schema.GroupVersionKind
	for _, kind := range w.kinds {
		if w.serves(kind, namespace) {
			synced = append(synced, kind)
		}
	}
	return synced
}
