// SPDX-License-Identifier: Apache-2.0

package namespaced

import (
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/firesteel-dev/firesteel/internal/testutil/apiserver"
)

const patience = 20 * time.Second

// seen is what the cache has told.
type seen struct {
	mu      sync.Mutex
	changed []string
	failed  map[string]string
	ended   int // how often trouble was told to be over
	pods    []string
}

func (s *seen) read(f func() bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return f()
}

func (s *seen) note(o any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if pod, ok := o.(*corev1.Pod); ok {
		s.pods = append(s.pods, pod.Namespace+"/"+pod.Name)
	}
}

func (s *seen) handler() toolscache.ResourceEventHandler {
	return toolscache.ResourceEventHandlerFuncs{AddFunc: s.note}
}

func pod(namespace, name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"app": name}}}
}

// newCache returns a cache over an API server with a pod in each of a, b and c, which refuses what is in b.
func newCache(t *testing.T) (*Cache, *apiserver.Server, *seen) {
	t.Helper()
	kinds := []schema.GroupVersionKind{corev1.SchemeGroupVersion.WithKind("Pod"), corev1.SchemeGroupVersion.WithKind("ConfigMap"), corev1.SchemeGroupVersion.WithKind("Node")}
	a := apiserver.New(t, kinds, pod("a", "one"), pod("b", "two"), pod("c", "three"))
	a.Deny(apiserver.Request{Namespace: "b"})
	mapper := meta.NewDefaultRESTMapper(nil)
	for kind, level := range map[string]meta.RESTScope{"Pod": meta.RESTScopeNamespace, "ConfigMap": meta.RESTScopeNamespace, "Node": meta.RESTScopeRoot} {
		mapper.Add(corev1.SchemeGroupVersion.WithKind(kind), level)
		mapper.Add(corev1.SchemeGroupVersion.WithKind(kind+"List"), level) // as discovery does
	}
	c, err := New(&rest.Config{Host: a.URL}, cache.Options{Scheme: clientgoscheme.Scheme, Mapper: mapper, HTTPClient: a.Client()})
	if err != nil {
		t.Fatal(err)
	}
	s := &seen{failed: map[string]string{}}
	c.Notify(func(namespace string) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.changed = append(s.changed, namespace)
	}, func(namespace string, err error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if err == nil {
			s.ended++
			delete(s.failed, namespace)
			return
		}
		s.failed[namespace] = err.Error()
	})
	return c, a, s
}

// run starts the cache, and stops it with the test.
func run(t *testing.T, c *Cache) {
	t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- c.Start(t.Context()) }()
	t.Cleanup(func() {
		if err := <-ended; err != nil {
			t.Errorf("the cache ended: %v", err)
		}
	})
	if !c.WaitForCacheSync(t.Context()) {
		t.Fatal("the cache has not begun")
	}
}

// eventually waits until something holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatalf("not within %s: %s", patience, what)
		}
	}
}

func (s *seen) has(pod string) func() bool {
	return func() bool { return s.read(func() bool { return slices.Contains(s.pods, pod) }) }
}
