// SPDX-License-Identifier: Apache-2.0

// Package apiserver has a fake API server for tests. It is separate from testutil, because linking a client takes seconds.
package apiserver

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/watch"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	apache "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1alpha1"
	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
)

// patience bounds the waits of a test.
const patience = 20 * time.Second

// Server is an API server over HTTP for programs that read: discovery, get, list and watch of its kinds, and logs. A write fails the test, unless AllowWrites
// was called. Tests that need only a client use controller-runtime's fake client.
type Server struct {
	*httptest.Server
	t *testing.T

	mu     sync.Mutex
	kinds  []schema.GroupVersionKind
	logs   map[string]string // by pod/container
	denied []Request
	asked  []Request
	writes bool
	closed bool
	// documents are served at their paths. allowed are the users to whom reviews grant the rights.
	documents map[string]any
	allowed   []string
	// history has every change. The version of an object is the number of its last change.
	history []change
	// ended counts how often all watches were ended. begun counts the watches of each resource, and awaited those that AwaitWatch has returned for.
	ended          int
	begun, awaited map[string]int
	// updated is closed and replaced after each change that a test may wait for.
	updated chan struct{}
}

// Scheme returns the types of Kubernetes and of the example application.
func Scheme() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(s))
	utilruntime.Must(v1beta2.AddToScheme(s))
	return s
}

// Request is an API request. As a pattern it matches all requests with the same values in its non-empty fields.
type Request struct {
	// Verb is get, list, watch, create, patch or delete.
	Verb, Group, Resource, Namespace, Name string
	// URL is the path with the query, and Body the sent body. Patterns have neither.
	URL, Body string
}

// of returns the resource with its group.
func (p Request) of() schema.GroupResource {
	return schema.GroupResource{Group: p.Group, Resource: p.Resource}
}

func (p Request) matches(r Request) bool {
	return (p.Verb == "" || p.Verb == r.Verb) && (p.Group == "" || p.Group == r.Group) && (p.Resource == "" || p.Resource == r.Resource) &&
		(p.Namespace == "" || p.Namespace == r.Namespace) && (p.Name == "" || p.Name == r.Name)
}

// change is one event of a watch.
type change struct {
	kind     watch.EventType
	resource schema.GroupResource
	object   *unstructured.Unstructured
}

func (c change) of(resource schema.GroupResource, namespace, name string) bool {
	return c.resource == resource && c.object.GetNamespace() == namespace && c.object.GetName() == name
}

var scheme = func() *runtime.Scheme {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme, v1beta2.AddToScheme, apache.AddToScheme} {
		if err := add(s); err != nil {
			panic(err)
		}
	}
	return s
}()

// New starts an API server that serves some kinds and objects. It ends with the test.
func New(t *testing.T, kinds []schema.GroupVersionKind, objects ...client.Object) *Server {
	t.Helper()
	s := newServer(t, kinds, objects...)
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.Close)
	return s
}

func newServer(t *testing.T, kinds []schema.GroupVersionKind, objects ...client.Object) *Server {
	t.Helper()
	s := &Server{t: t, logs: map[string]string{}, documents: map[string]any{}, begun: map[string]int{}, awaited: map[string]int{}, updated: make(chan struct{})}
	s.Install(kinds...)
	for _, o := range objects {
		s.Put(o)
	}
	return s
}

// Close ends the server and all watches.
func (s *Server) Close() {
	s.set(func() { s.closed = true })
	s.Server.Close()
}

// set changes the server, and notifies the waiting watches.
func (s *Server) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
	close(s.updated)
	s.updated = make(chan struct{})
}

// Install adds kinds.
func (s *Server) Install(kinds ...schema.GroupVersionKind) {
	s.set(func() { s.kinds = append(s.kinds, kinds...) })
}

// Uninstall removes a kind.
func (s *Server) Uninstall(kind schema.GroupVersionKind) {
	s.set(func() {
		s.kinds = slices.DeleteFunc(slices.Clone(s.kinds), func(k schema.GroupVersionKind) bool { return k == kind })
	})
}

// Deny makes the server refuse the requests that match these patterns, and no others, from now on.
func (s *Server) Deny(patterns ...Request) { s.set(func() { s.denied = patterns }) }

// AllowWrites makes the server accept merge patches and deletions from now on.
func (s *Server) AllowWrites() { s.set(func() { s.writes = true }) }

// SetLog sets the log of a container.
func (s *Server) SetLog(pod, container, text string) {
	s.set(func() { s.logs[pod+"/"+container] = text })
}

// EndWatches ends all watches, as an API server does from time to time. Each watch first sends all earlier events.
func (s *Server) EndWatches() { s.set(func() { s.ended++ }) }

// AwaitWatch waits until a watch of a resource begins that no earlier call has returned for.
func (s *Server) AwaitWatch(resource string) {
	s.t.Helper()
	late := time.NewTimer(patience)
	defer late.Stop()
	for {
		s.mu.Lock()
		begun, updated := s.begun[resource] > s.awaited[resource], s.updated
		if begun {
			s.awaited[resource]++
		}
		s.mu.Unlock()
		if begun {
			return
		}
		select {
		case <-updated:
		case <-late.C:
			s.t.Fatalf("nothing watches %s within %s", resource, patience)
		}
	}
}

// Requests returns all requests since the start, without discovery.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked)
}

// Put creates or replaces an object.
func (s *Server) Put(o client.Object) { s.change(o, watch.Modified) }

// Remove deletes an object.
func (s *Server) Remove(o client.Object) { s.change(o, watch.Deleted) }

func (s *Server) change(o client.Object, kind watch.EventType) {
	s.t.Helper()
	gvk, err := apiutil.GVKForObject(o, scheme)
	if err != nil {
		s.t.Fatal(err)
	}
	text, err := json.Marshal(o)
	if err != nil {
		s.t.Fatal(err)
	}
	stored := &unstructured.Unstructured{Object: map[string]any{}}
	if err := json.Unmarshal(text, &stored.Object); err != nil {
		s.t.Fatal(err)
	}
	stored.SetGroupVersionKind(gvk)
	resource := schema.GroupResource{Group: gvk.Group, Resource: resourceOf(gvk)}
	s.set(func() {
		if kind == watch.Modified && s.find(resource, o.GetNamespace(), o.GetName()) == nil {
			kind = watch.Added
		}
		stored.SetResourceVersion(strconv.Itoa(len(s.history) + 1))
		s.history = append(s.history, change{kind, resource, stored})
	})
}

// find returns an object; nil if there is none. The caller holds the lock.
func (s *Server) find(resource schema.GroupResource, namespace, name string) *unstructured.Unstructured {
	for _, c := range slices.Backward(s.history) {
		if c.of(resource, namespace, name) {
			if c.kind == watch.Deleted {
				return nil
			}
			return c.object
		}
	}
	return nil
}

// all returns the objects of a resource in the order of their creation. The caller holds the lock.
func (s *Server) all(resource schema.GroupResource) []*unstructured.Unstructured {
	var all []*unstructured.Unstructured
	for _, c := range s.history {
		if c.kind == watch.Added && c.resource == resource {
			if o := s.find(resource, c.object.GetNamespace(), c.object.GetName()); o != nil && !slices.Contains(all, o) {
				all = append(all, o)
			}
		}
	}
	return all
}

// resourceOf returns the resource name of a kind, as in paths.
func resourceOf(kind schema.GroupVersionKind) string {
	plural, _ := meta.UnsafeGuessKindToResource(kind)
	return plural.Resource
}
