// SPDX-License-Identifier: Apache-2.0

package namespaced

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/firesteel-dev/firesteel/internal/testutil/apiserver"
)

// says is what the cache has told last about a namespace; "" if nothing is wrong.
func (s *seen) says(namespace string) (failures string) {
	s.read(func() bool { failures = s.failed[namespace]; return true })
	return failures
}

// deny takes a right away and ends all watches, as an API server does from time to time.
func deny(a *apiserver.Server, pattern apiserver.Request) {
	a.Deny(pattern)
	a.EndWatches()
}

// A right that is taken away while the operator runs is noticed when a watch ends, and so is that it is back. What was
// listed can be read meanwhile.
func TestTroubleComesAndGoes(t *testing.T) {
	c, a, s := begin(t, "a", "c")
	if !c.Watching("a") || !c.Watching("c") || c.Watching("b") {
		t.Fatalf("watching: a %v, c %v, b %v; want a and c", c.Watching("a"), c.Watching("c"), c.Watching("b"))
	}
	deny(a, apiserver.Request{Namespace: "a"})
	eventually(t, "a is not watched", func() bool { return !c.Watching("a") })
	eventually(t, "it is reported", func() bool { return strings.Contains(s.says("a"), "forbidden") })
	if !c.Ready("a") || get(t, c, "a", "one") != nil || !c.Watching("c") {
		t.Errorf("ready %v, %v; c is watched: %v", c.Ready("a"), get(t, c, "a", "one"), c.Watching("c"))
	}
	a.Deny()
	eventually(t, "a is watched again", func() bool { return c.Watching("a") })
	eventually(t, "it is reported", func() bool { return s.says("a") == "" })
	if says := s.says("c"); says != "" {
		t.Errorf("reported of c: %s", says)
	}
}

// One kind that is watched again does not hide another one that is not.
func TestTroubleIsOfOneKind(t *testing.T) {
	c, a, s := begin(t, "a")
	if _, err := c.GetInformer(t.Context(), &corev1.ConfigMap{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a is watched with both", func() bool { return c.Watching("a") })
	deny(a, apiserver.Request{Namespace: "a"})
	eventually(t, "both kinds are failing", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return len(c.members["a"].failed) == 2
	})
	a.Deny(apiserver.Request{Namespace: "a", Resource: "configmaps"})
	eventually(t, "one is watched again", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return len(c.members["a"].failed) == 1
	})
	if c.Watching("a") || s.says("a") == "" || s.read(func() bool { return s.ended > 0 }) {
		t.Error("a is said to be watched without its ConfigMaps")
	}
	if err := c.RemoveInformer(t.Context(), &corev1.ConfigMap{}); err != nil {
		t.Fatal(err)
	}
	if !c.Watching("a") {
		t.Error("a kind that no one watches any more is still missing")
	}
	gvk := corev1.SchemeGroupVersion.WithKind("ConfigMap")
	c.noteFailed(c.members["a"], kind{GroupVersionKind: gvk}, apierrors.NewForbidden(schema.GroupResource{}, "", nil))
	if !c.Watching("a") {
		t.Error("an error that comes after the removal counts")
	}
}

// Who watches all namespaces needs what has none, too: without the labels of namespaces none matches a selector.
func TestTroubleWithoutNamespace(t *testing.T) {
	c, a, s := begin(t, All)
	if _, err := c.GetInformer(t.Context(), &corev1.Node{}, cache.BlockUntilSynced(false)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "all are watched", func() bool { return c.Watching(All) && c.Serves(&corev1.Node{}, "") })
	deny(a, apiserver.Request{Resource: "nodes"})
	eventually(t, "nodes are not watched", func() bool { return !c.Watching(All) && strings.Contains(s.says(All), "forbidden") })
	a.Deny()
	eventually(t, "they are again", func() bool { return c.Watching(All) && s.says(All) == "" })
}

// The right to list is not that to watch.
func TestListedIsNotWatched(t *testing.T) {
	c, a, s := begin(t, "a")
	lists := func() (n int) {
		for _, r := range a.Requests() {
			if r.Verb == "list" {
				n++
			}
		}
		return n
	}
	deny(a, apiserver.Request{Verb: "watch", Resource: "pods", Namespace: "a"})
	before := lists()
	eventually(t, "it is listed again", func() bool { return lists() > before+1 })
	if c.Watching("a") || s.read(func() bool { return s.ended > 0 }) {
		t.Error("a list is taken for a watch")
	}
}
