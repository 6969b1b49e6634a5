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
	// FirstInLine is how many of those that wait are enqueued at once by a change that may concern all of them. The others
	// follow, at most every enqueuePeriod and spread over spreadOver.
	FirstInLine   = 20
	enqueuePeriod = 10 * time.Second
	spreadOver    = 20 * time.Second
)

// enqueuer decides which applications an object that changes concerns.
type enqueuer struct {
	options enqueuerOptions

	mu sync.Mutex
	// everywhere has the kinds of which a plugin has read the objects of all namespaces.
	everywhere map[schema.GroupVersionKind]bool
	// enqueuedAt is when all who wait were enqueued last.
	enqueuedAt map[kindIn]time.Time
}

type enqueuerOptions struct {
	Plugins  []scheduler.Plugin
	Families []lifecycle.Family
	// Waiters are those of SchedulerOptions.
	Waiters func(kind schema.GroupVersionKind, namespace string, everywhere bool, most int) []scheduler.Key
	Enqueue func([]scheduler.Key)
	Clock   clock.PassiveClock
}

// kindIn is a kind in a namespace; "" is for all of them.
type kindIn struct {
	kind      schema.GroupVersionKind
	namespace string
}

func newEnqueuer(o enqueuerOptions) *enqueuer {
	return &enqueuer{options: o, everywhere: map[schema.GroupVersionKind]bool{}, enqueuedAt: map[kindIn]time.Time{}}
}

// handler enqueues the application that an object belongs to, or those that wait for a change of its kind.
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

// ignored are the fields of a kind that no plugin decides by which reads it.
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

// same is whether an update changed nothing that a plugin could decide by: some controllers write what is there already.
func same(before, after any, ignored [][]string) bool {
	a, _ := before.(*unstructured.Unstructured)
	b, _ := after.(*unstructured.Unstructured)
	return a != nil && b != nil && equality.Semantic.DeepEqual(meaning(a, ignored), meaning(b, ignored))
}

// meaning is an object without the marks of its writes and without some fields.
func meaning(u *unstructured.Unstructured, ignored [][]string) map[string]any {
	content := u.Object
	for _, path := range append([][]string{{"metadata", "resourceVersion"}, {"metadata", "managedFields"}}, ignored...) {
		content = without(content, path)
	}
	return content
}

// without is content without the field at a path. What it leaves is shared.
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

// noteRead records that a plugin has read the objects of all namespaces: from then on a change of one concerns all who
// wait for the kind.
func (e *enqueuer) noteRead(kind schema.GroupVersionKind, namespace string) {
	if namespace != "" {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.everywhere[kind] = true
}

// enqueueWaiters enqueues those that wait for a change of the kind: the first in line at once, the others spread over some
// time and at most every enqueuePeriod. What happens in one namespace concerns those in it alone, as long as no reconcile has read
// the kind in all of them, and the lines in it first in any case; "" stands for all.
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
	rest = rest[min(len(rest), FirstInLine):] // others may have begun or ceased to wait meanwhile
	for i := range rest {
		time.AfterFunc(spreadOver*time.Duration(i+1)/time.Duration(len(rest)), func() { e.options.Enqueue(rest[i : i+1]) })
	}
}

// mayEnqueueAll is whether those who are not first in line are to be enqueued again, and notes that they are.
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

// appsOf names the applications of an object, by its labels.
func appsOf(families []lifecycle.Family, o client.Object) []scheduler.Key {
	var apps []scheduler.Key
	for _, f := range families {
		if app := o.GetLabels()[f.Labels.App]; app != "" {
			apps = append(apps, scheduler.Key{Kind: f.GroupKind(), Namespace: o.GetNamespace(), Name: app})
		}
	}
	return apps
}

// maxPending is how many applications of a kind may wait to be enqueued; more of them lose nothing, for every wait has a timer.
const maxPending = 10000

// triggers reach the controller of each kind.
type triggers struct {
	mu       sync.Mutex
	channels map[schema.GroupKind]chan event.GenericEvent
}

func newTriggers() *triggers {
	return &triggers{channels: map[schema.GroupKind]chan event.GenericEvent{}}
}

// Events are the applications of a kind that are to be reconciled.
func (t *triggers) Events(kind schema.GroupKind) <-chan event.GenericEvent { return t.channel(kind) }

func (t *triggers) channel(kind schema.GroupKind) chan event.GenericEvent {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.channels[kind] == nil {
		t.channels[kind] = make(chan event.GenericEvent, maxPending)
	}
	return t.channels[kind]
}

// Enqueue sends applications to their controllers. A full channel is harmless: every wait has a timer.
func (t *triggers) Enqueue(apps []scheduler.Key) {
	for _, app := range apps {
		named := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: app.Namespace, Name: app.Name}}
		select {
		case t.channel(app.Kind) <- event.GenericEvent{Object: named}:
		default:
		}
	}
}
