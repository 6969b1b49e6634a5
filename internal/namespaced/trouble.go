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

// Watching reports whether a namespace is ready, and nothing keeps its watches from going on at present. What was listed
// before can be read in any case. For All, what has no namespace counts, too.
func (c *Cache) Watching(namespace string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := c.memberLocked(namespace)
	return m != nil && m.ready && !m.troubled() && (namespace != All || !c.cluster.troubled())
}

// newInformer returns what makes the informers of a member: usual ones, of which it is known whether they watch.
func (c *Cache) newInformer(m *member) func(toolscache.ListerWatcher, runtime.Object, time.Duration, toolscache.Indexers) toolscache.SharedIndexInformer {
	return func(source toolscache.ListerWatcher, object runtime.Object, resync time.Duration, indexers toolscache.Indexers) toolscache.SharedIndexInformer {
		gvk, err := apiutil.GVKForObject(object, c.options.Scheme)
		utilruntime.Must(err) // controller-runtime has asked the same just before
		key := kind{gvk, formOf(object)}
		i := toolscache.NewSharedIndexInformer(c.observed(source, m, key), object, resync, indexers)
		utilruntime.Must(i.SetWatchErrorHandlerWithContext(c.watchErrors(m, key))) // it fails for one that runs
		return i
	}
}

// observed notes that trouble is over when a watch begins. A list would not do: the right to list is not that to watch.
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

// watchErrors returns what a reflector calls when its watch ended.
func (c *Cache) watchErrors(m *member, key kind) toolscache.WatchErrorHandlerWithContext {
	return func(ctx context.Context, r *toolscache.Reflector, err error) {
		toolscache.DefaultWatchErrorHandler(ctx, r, err)
		if isTrouble(err) {
			c.trouble(m, key, err)
		}
	}
}

// trouble notes that a kind cannot be watched at present, unless it was removed meanwhile.
func (c *Cache) trouble(m *member, key kind, err error) {
	c.mu.Lock()
	if _, joined := m.informers[key]; joined || key == (kind{}) {
		m.trouble[key] = true
		c.tellLocked()
	}
	c.mu.Unlock()
	c.troubled(m.namespace, err)
}

// over notes that a kind is watched, and tells when that was the member's last trouble.
func (c *Cache) over(m *member, key kind) {
	c.mu.Lock()
	last := m.trouble[key] && len(m.trouble) == 1
	delete(m.trouble, key)
	c.mu.Unlock()
	if last {
		c.troubled(m.namespace, nil)
	}
}
