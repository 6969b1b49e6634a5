// SPDX-License-Identifier: Apache-2.0

package informers

import (
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/firesteel-dev/firesteel/internal/namespaced"
	"github.com/firesteel-dev/firesteel/internal/observe"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

// kindCache reads the kinds of the plugins from informers if they are watched, and else live. It caches events and PriorityClasses for a while, because these
// are not watched as a whole.
type kindCache struct {
	options kindCacheOptions
	events  eventCache
	classes *classCache
	// watched has the watched kinds. Only the goroutine that calls watch uses it.
	watched map[schema.GroupVersionKind]bool
}

type kindCacheOptions struct {
	// Cache has the informers. It is separate from the manager's cache, so that a deleted API blocks nothing else.
	Cache *namespaced.Cache
	Live  client.WithWatch
	// Handler returns the handler for changes of a watched kind.
	Handler func(schema.GroupVersionKind) toolscache.ResourceEventHandler
	// Listed is called for each list, with the kind and the namespace of the list.
	Listed func(kind schema.GroupVersionKind, namespace string)
	// Index returns the applications of an object, as keys of observe.IndexByApp.
	Index client.IndexerFunc
	Clock clock.PassiveClock
}

func newKindCache(o kindCacheOptions) *kindCache {
	return &kindCache{options: o, classes: newClassCache(o.Clock), watched: map[schema.GroupVersionKind]bool{}}
}

// objectOfKind returns an empty object of a kind, as the cache's methods need it.
func objectOfKind(kind schema.GroupVersionKind) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(kind)
	return object
}

// watch starts or stops watching a kind, and reports whether this changed anything. Kinds that are not watched are read live.
func (c *kindCache) watch(ctx context.Context, kind schema.GroupVersionKind, may bool) bool {
	switch {
	case may == c.watched[kind]:
		return false
	case may:
		err := c.options.Cache.IndexField(ctx, objectOfKind(kind), observe.IndexApp, c.options.Index)
		var informer cache.Informer
		if err == nil {
			informer, err = c.options.Cache.GetInformer(ctx, objectOfKind(kind), cache.BlockUntilSynced(false))
		}
		if err == nil {
			_, err = informer.AddEventHandler(c.options.Handler(kind))
		}
		if err != nil {
			ctrllog.FromContext(ctx).Error(err, "cannot watch", "kind", kind.String())
			return false
		}
	default:
		if err := c.options.Cache.RemoveInformer(ctx, objectOfKind(kind)); err != nil {
			ctrllog.FromContext(ctx).Error(err, "cannot stop watching", "kind", kind.String())
		}
	}
	c.watched[kind] = may
	return true
}

// Get reads an object from its informer, or live if its kind is not watched. PriorityClasses are cached for a while.
func (c *kindCache) Get(ctx context.Context, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
	if class, ok := o.(*unstructured.Unstructured); ok && class.GroupVersionKind() == scheduler.PriorityClassKind {
		return c.classes.get(ctx, c.options.Live, key, class)
	}
	return c.reader(o.GetObjectKind().GroupVersionKind(), key.Namespace).Get(ctx, key, o, options...)
}

// List reads a list from its informer. A list with a field selector is read live, because informers have no index for it. Lists of events are cached, and
// followed while they are in use.
func (c *kindCache) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	kind := list.GetObjectKind().GroupVersionKind()
	kind.Kind = strings.TrimSuffix(kind.Kind, "List")
	var o client.ListOptions
	o.ApplyOptions(options)
	events, _ := list.(*unstructured.UnstructuredList)
	switch {
	case kind.Kind == eventKind && events != nil:
		return c.events.list(ctx, c.options.Live, events, o, c.options.Clock.Now)
	case o.FieldSelector != nil:
		return c.options.Live.List(ctx, list, options...)
	}
	c.options.Listed(kind, o.Namespace)
	return c.reader(kind, o.Namespace).List(ctx, list, options...)
}

// Owned returns the objects of a kind that observe.IndexByApp has under a value. It reads them from the informer, and returns none if the kind is not
// watched.
func (c *kindCache) Owned(ctx context.Context, kind schema.GroupVersionKind, namespace, value string) ([]unstructured.Unstructured, error) {
	if !c.options.Cache.Serves(objectOfKind(kind), namespace) {
		return nil, nil
	}
	var list unstructured.UnstructuredList
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	err := c.options.Cache.List(ctx, &list, client.InNamespace(namespace), client.MatchingFields{observe.IndexApp: value}, client.UnsafeDisableDeepCopy)
	return list.Items, err
}

func (c *kindCache) reader(kind schema.GroupVersionKind, namespace string) client.Reader {
	if c.options.Cache.Serves(objectOfKind(kind), namespace) {
		return c.options.Cache
	}
	return c.options.Live
}

// Whole reports whether the objects of a kind are visible in all namespaces.
func (c *kindCache) Whole(kind schema.GroupVersionKind) bool {
	return c.options.Cache.Whole(objectOfKind(kind))
}
