// SPDX-License-Identifier: Apache-2.0

package namespaced

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// Watching reports whether a namespace is ready and its watches work. Objects that were listed can be read even if not. For All, the watches of cluster-scoped
// objects must work, too.
func (c *Cache) Watching(namespace string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := c.memberLocked(namespace)
	return m != nil && m.ready && !m.failing() && (namespace != All || !c.cluster.failing())
}

// newInformer returns the constructor of a member's informers. They are the usual ones, and they record whether their watches work.
func (c *Cache) newInformer(m *member) func(toolscache.ListerWatcher, runtime.Object, time.Duration, toolscache.Indexers) toolscache.SharedIndexInformer {
	return func(source toolscache.ListerWatcher, object runtime.Object, resync time.Duration, indexers toolscache.Indexers) toolscache.SharedIndexInformer {
		gvk, err := apiutil.GVKForObject(object, c.options.Scheme)
		utilruntime.Must(err) // controller-runtime has just checked the same
		if own, err := c.own(source, m.namespace, gvk, object); err == nil {
			source = own // after an error the usual source serves
		}
		if selector, some := c.selectors[gvk]; some {
			source = selected(source, selector.String())
		}
		key := kind{gvk, formOf(object)}
		i := toolscache.NewSharedIndexInformer(c.observed(source, m, key), object, resync, indexers)
		utilruntime.Must(i.SetWatchErrorHandlerWithContext(c.watchErrors(m, key))) // it fails only for a running informer
		m.stores.Store(key, i.GetIndexer())
		return i
	}
}

// selected lists and watches objects whose labels match.
func selected(source toolscache.ListerWatcher, selector string) toolscache.ListerWatcher {
	from := toolscache.ToListerWatcherWithContext(source)
	return &toolscache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			options.LabelSelector = selector
			return from.ListWithContext(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.LabelSelector = selector
			return from.WatchWithContext(ctx, options)
		},
	}
}

// observed records the end of a failure when a watch begins. A list does not prove it, because the permissions to list and to watch differ.
func (c *Cache) observed(source toolscache.ListerWatcher, m *member, key kind) toolscache.ListerWatcher {
	from := toolscache.ToListerWatcherWithContext(source)
	return &toolscache.ListWatch{
		ListWithContextFunc: from.ListWithContext,
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			w, err := from.WatchWithContext(ctx, options)
			if err == nil {
				c.over(m, key)
			}
			return w, err
		},
	}
}

// watchErrors returns the handler of a reflector's watch errors.
func (c *Cache) watchErrors(m *member, key kind) toolscache.WatchErrorHandlerWithContext {
	return func(ctx context.Context, r *toolscache.Reflector, err error) {
		toolscache.DefaultWatchErrorHandler(ctx, r, err)
		if isWatchError(err) {
			c.noteFailed(m, key, err)
		}
	}
}

// noteFailed records that a kind cannot be watched, unless the kind was removed concurrently.
func (c *Cache) noteFailed(m *member, key kind, err error) {
	c.mu.Lock()
	if _, joined := m.informers[key]; joined || key == (kind{}) {
		m.failed[key] = true
		c.notifyLocked()
	}
	c.mu.Unlock()
	c.failing(m.namespace, err)
}

// over records that a kind is watched, and reports it if this was the member's last failing kind.
func (c *Cache) over(m *member, key kind) {
	c.mu.Lock()
	last := m.failed[key] && len(m.failed) == 1
	delete(m.failed, key)
	c.mu.Unlock()
	if last {
		c.failing(m.namespace, nil)
	}
}
