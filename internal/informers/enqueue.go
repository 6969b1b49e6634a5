// SPDX-License-Identifier: Apache-2.0

package informers

import (
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

const (
	// FirstInLine is the number of waiting applications that a change enqueues immediately. The others are enqueued later, at most once per enqueuePeriod and
	// spread over spreadOver.
	FirstInLine   = 20
	enqueuePeriod = 10 * time.Second
	spreadOver    = 20 * time.Second
)

// enqueuer finds the applications that a changed object concerns.
type enqueuer struct {
	options enqueuerOptions

	mu sync.Mutex
	// everywhere has the kinds whose objects a plugin has read in all namespaces.
	everywhere map[schema.GroupVersionKind]bool
	// enqueuedAt is when all applications that wait for a kind were last enqueued.
	enqueuedAt map[kindIn]time.Time
}

type enqueuerOptions struct {
	Plugins  []scheduler.Plugin
	Families []lifecycle.Family
	// Waiters is SchedulerOptions.Waiters.
	Waiters func(kind schema.GroupVersionKind, namespace string, everywhere bool, most int) []scheduler.Key
	Enqueue func([]scheduler.Key)
	Clock   clock.PassiveClock
}

// kindIn is a kind in a namespace; "" means all namespaces.
type kindIn struct {
	kind      schema.GroupVersionKind
	namespace string
}

func newEnqueuer(o enqueuerOptions) *enqueuer {
	return &enqueuer{options: o, everywhere: map[schema.GroupVersionKind]bool{}, enqueuedAt: map[kindIn]time.Time{}}
}

// handler enqueues the application of an object, or else the applications that wait for its kind.
func (e *enqueuer) handler(kind schema.GroupVersionKind) toolscache.ResourceEventHandler {
	ignored := e.ignored(kind)
	changed := func(o any) {
		if gone, ok := o.(toolscache.DeletedFinalStateUnknown); ok {
			o = gone.Obj
		}
		object, ok := o.(client.Object)
		if !ok {
			return
		}
		if apps := appsOf(e.options.Families, object); len(apps) > 0 {
			e.options.Enqueue(apps)
			return
		}
		e.enqueueWaiters(kind, object.GetNamespace())
	}
	return toolscache.ResourceEventHandlerFuncs{
		AddFunc: changed,
		UpdateFunc: func(before, after any) {
			if !same(before, after, ignored) {
				changed(after)
			}
		},
		DeleteFunc: changed,
	}
}

// ignored returns the fields of a kind that no plugin's decision depends on.
func (e *enqueuer) ignored(kind schema.GroupVersionKind) [][]string {
	var all [][]string
	first := true
	for _, p := range e.options.Plugins {
		d := p.Describe()
		if !slices.Contains(d.Reads, kind) && !slices.Contains(d.Owns, kind) {
			continue
		}
		if first {
			all, first = slices.Clone(d.Ignores[kind]), false
			continue
		}
		all = slices.DeleteFunc(all, func(path []string) bool {
			return !slices.ContainsFunc(d.Ignores[kind], func(other []string) bool { return slices.Equal(path, other) })
		})
	}
	return all
}

// same reports whether an update changed nothing that a plugin uses. Some controllers write unchanged objects.
func same(before, after any, ignored [][]string) bool {
	a, _ := before.(*unstructured.Unstructured)
	b, _ := after.(*unstructured.Unstructured)
	return a != nil && b != nil && equality.Semantic.DeepEqual(meaning(a, ignored), meaning(b, ignored))
}

// meaning returns an object without managed metadata and without ignored fields.
func meaning(u *unstructured.Unstructured, ignored [][]string) map[string]any {
	content := u.Object
	for _, path := range append([][]string{{"metadata", "resourceVersion"}, {"metadata", "managedFields"}}, ignored...) {
		content = without(content, path)
	}
	return content
}

// without returns the content without the field at a path. The result shares the rest of the content.
func without(content map[string]any, path []string) map[string]any {
	below, deep := content[path[0]].(map[string]any)
	_, there := content[path[0]]
	switch {
	case !there || len(path) > 1 && !deep:
		return content
	case len(path) == 1:
		content = maps.Clone(content)
		delete(content, path[0])
	default:
		content = maps.Clone(content)
		content[path[0]] = without(below, path[1:])
	}
	return content
}

// noteRead records that a plugin has read the objects of all namespaces. From then on, a change of one object concerns all applications that wait for its
// kind.
func (e *enqueuer) noteRead(kind schema.GroupVersionKind, namespace string) {
	if namespace != "" {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.everywhere[kind] = true
}

// enqueueWaiters enqueues the applications that wait for the kind: the first ones immediately, the others spread over some time and at most once per
// enqueuePeriod. A change in a namespace concerns only applications there, unless a plugin has read the kind in all namespaces. Applications at the heads of
// the namespace's lines come first. The namespace "" means all namespaces.
func (e *enqueuer) enqueueWaiters(kind schema.GroupVersionKind, namespace string) {
	e.mu.Lock()
	everywhere := e.everywhere[kind]
	e.mu.Unlock()
	first := e.options.Waiters(kind, namespace, everywhere, FirstInLine+1)
	e.options.Enqueue(first[:min(len(first), FirstInLine)])
	place := kindIn{kind, namespace}
	if everywhere {
		place.namespace = ""
	}
	if len(first) <= FirstInLine || !e.mayEnqueueAll(place) {
		return
	}
	rest := e.options.Waiters(kind, namespace, everywhere, maxPending)
	rest = rest[min(len(rest), FirstInLine):] // by now other applications may wait
	for i := range rest {
		time.AfterFunc(spreadOver*time.Duration(i+1)/time.Duration(len(rest)), func() { e.options.Enqueue(rest[i : i+1]) })
	}
}

// mayEnqueueAll reports whether the other waiting applications may be enqueued again, and records that they are.
func (e *enqueuer) mayEnqueueAll(place kindIn) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := e.options.Clock.Now()
	maps.DeleteFunc(e.enqueuedAt, func(_ kindIn, at time.Time) bool { return now.Sub(at) >= enqueuePeriod })
	if _, again := e.enqueuedAt[place]; again {
		return false
	}
	e.enqueuedAt[place] = now
	return true
}

// appsOf returns the applications that the labels of an object name.
func appsOf(families []lifecycle.Family, o client.Object) []scheduler.Key {
	var apps []scheduler.Key
	for _, f := range families {
		if app := o.GetLabels()[f.Labels.App]; app != "" {
			apps = append(apps, scheduler.Key{Kind: f.GroupKind(), Namespace: o.GetNamespace(), Name: app})
		}
	}
	return apps
}

// maxPending bounds the applications of a kind that wait to be enqueued. Dropping more is harmless, because every wait has a timer.
const maxPending = 10000

// triggers enqueue applications in the controller of their kind.
type triggers struct {
	mu       sync.Mutex
	channels map[schema.GroupKind]chan event.GenericEvent
}

func newTriggers() *triggers {
	return &triggers{channels: map[schema.GroupKind]chan event.GenericEvent{}}
}

// Events returns the channel of applications of a kind that are to be reconciled.
func (t *triggers) Events(kind schema.GroupKind) <-chan event.GenericEvent { return t.channel(kind) }

func (t *triggers) channel(kind schema.GroupKind) chan event.GenericEvent {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.channels[kind] == nil {
		t.channels[kind] = make(chan event.GenericEvent, maxPending)
	}
	return t.channels[kind]
}

// Enqueue sends applications to their controllers. Dropping one because of a full channel is harmless, because every wait has a timer.
func (t *triggers) Enqueue(apps []scheduler.Key) {
	for _, app := range apps {
		named := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: app.Namespace, Name: app.Name}}
		select {
		case t.channel(app.Kind) <- event.GenericEvent{Object: named}:
		default:
		}
	}
}
