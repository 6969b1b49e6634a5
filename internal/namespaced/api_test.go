// SPDX-License-Identifier: Apache-2.0

package namespaced

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
)

const patience = 20 * time.Second

// api is an API server that has pods, and refuses what is in a forbidden namespace. It tells of no changes.
type api struct {
	mu   sync.Mutex
	pods map[string][]string // by namespace
	// forbidden has namespaces, and resources in one such as a/configmaps, a/pods?watch or /nodes.
	forbidden map[string]bool
	lists     int
	over      chan struct{} // closed, and replaced, when the watches end
}

// place is the namespace and the resource of a request.
func place(r *http.Request) (namespace, resource string) {
	parts := strings.Split(strings.TrimPrefix(r.URL.Path, "/api/v1/"), "/")
	if len(parts) == 3 && parts[0] == "namespaces" {
		return parts[1], parts[2]
	}
	return "", parts[0]
}

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	namespace, resource := place(r)
	kind := map[string]string{"pods": "PodList", "nodes": "NodeList", "configmaps": "ConfigMapList"}[resource]
	a.mu.Lock()
	over, forbidden := a.over, a.forbidden[namespace] || a.forbidden[namespace+"/"+resource]
	if watch := r.URL.Query().Get("watch") != ""; !watch {
		a.lists++
	} else {
		forbidden = forbidden || a.forbidden[namespace+"/"+resource+"?watch"]
	}
	pods := corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: kind}, ListMeta: metav1.ListMeta{ResourceVersion: "1"}}
	for in, names := range a.pods {
		if resource != "pods" {
			break
		}
		for _, name := range names {
			if namespace == "" || namespace == in {
				pods.Items = append(pods.Items, corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: in, Name: name, ResourceVersion: "1", Labels: map[string]string{"app": name}}})
			}
		}
	}
	a.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	switch {
	case forbidden:
		answer(w, apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", nil).Status())
	case r.URL.Query().Get("sendInitialEvents") != "":
		answer(w, apierrors.NewInvalid(schema.GroupKind{Kind: "ListOptions"}, "", nil).Status())
	case r.URL.Query().Get("watch") != "":
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		select {
		case <-r.Context().Done():
		case <-over:
		}
	default:
		_ = json.NewEncoder(w).Encode(pods)
	}
}

func answer(w http.ResponseWriter, status metav1.Status) {
	status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	w.WriteHeader(int(status.Code))
	_ = json.NewEncoder(w).Encode(status)
}

func (a *api) set(change func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	change()
}

// restart changes something and ends all watches, as an API server does from time to time.
func (a *api) restart(change func()) {
	a.set(func() {
		change()
		close(a.over)
		a.over = make(chan struct{})
	})
}

// seen is what the cache has told.
type seen struct {
	mu      sync.Mutex
	changed []string
	trouble map[string]string
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

// newCache returns a cache over an API server with a pod in each of a, b and c, which refuses what is in b.
func newCache(t *testing.T) (*Cache, *api, *seen) {
	t.Helper()
	a := &api{pods: map[string][]string{"a": {"one"}, "b": {"two"}, "c": {"three"}}, forbidden: map[string]bool{"b": true}, over: make(chan struct{})}
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	t.Cleanup(func() { a.restart(func() {}) })
	mapper := meta.NewDefaultRESTMapper(nil)
	for kind, level := range map[string]meta.RESTScope{"Pod": meta.RESTScopeNamespace, "ConfigMap": meta.RESTScopeNamespace, "Node": meta.RESTScopeRoot} {
		mapper.Add(corev1.SchemeGroupVersion.WithKind(kind), level)
		mapper.Add(corev1.SchemeGroupVersion.WithKind(kind+"List"), level) // as discovery does
	}
	c, err := New(&rest.Config{Host: server.URL}, cache.Options{Scheme: clientgoscheme.Scheme, Mapper: mapper, HTTPClient: server.Client()})
	if err != nil {
		t.Fatal(err)
	}
	s := &seen{trouble: map[string]string{}}
	c.Notify(func(namespace string) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.changed = append(s.changed, namespace)
	}, func(namespace string, err error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if err == nil {
			s.ended++
			delete(s.trouble, namespace)
			return
		}
		s.trouble[namespace] = err.Error()
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
