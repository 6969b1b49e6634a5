// SPDX-License-Identifier: Apache-2.0

package namespaced

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/internal/testutil/apiserver"
)

func byApp(o client.Object) []string { return []string{o.GetLabels()["app"]} }

// begin returns a running cache of pods in some namespaces.
func begin(t *testing.T, namespaces ...string) (*Cache, *apiserver.Server, *seen) {
	t.Helper()
	c, a, s := newCache(t)
	if err := c.Set(t.Context(), namespaces...); err != nil {
		t.Fatal(err)
	}
	if err := c.IndexField(t.Context(), &corev1.Pod{}, "app", byApp); err != nil {
		t.Fatal(err)
	}
	informer, err := c.GetInformer(t.Context(), &corev1.Pod{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := informer.AddEventHandler(s.handler()); err != nil {
		t.Fatal(err)
	}
	run(t, c)
	return c, a, s
}

func pods(t *testing.T, c *Cache, options ...client.ListOption) []string {
	t.Helper()
	var list corev1.PodList
	if err := c.List(t.Context(), &list, options...); err != nil {
		t.Fatal(err)
	}
	var names []string
	for i := range list.Items {
		names = append(names, list.Items[i].Namespace+"/"+list.Items[i].Name)
	}
	return names
}

func get(t *testing.T, c *Cache, namespace, name string) error {
	t.Helper()
	return c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, &corev1.Pod{})
}

func notWatched(err error) bool {
	var none *NotWatchedError
	return errors.As(err, &none)
}

func TestForbiddenNamespaceHoldsUpNobody(t *testing.T) {
	c, a, s := begin(t, "a", "b")
	if !c.Ready("a") || c.Ready("b") || c.Ready("c") {
		t.Errorf("ready: a %v, b %v, c %v; want a only", c.Ready("a"), c.Ready("b"), c.Ready("c"))
	}
	if err := get(t, c, "a", "one"); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"a/one"}, pods(t, c)); diff != "" {
		t.Errorf("a list leaves out what is not known yet (-want +got):\n%s", diff)
	}
	eventually(t, "the error is reported", func() bool {
		return s.read(func() bool { return strings.Contains(s.failed["b"], "forbidden") && len(s.failed) == 1 })
	})

	a.Deny()
	eventually(t, "b is ready automatically", func() bool { return c.Ready("b") })
	eventually(t, "the handler gets b", s.has("b/two"))
	eventually(t, "both are told to be ready", func() bool {
		return s.read(func() bool { return slices.Contains(s.changed, "a") && slices.Contains(s.changed, "b") })
	})
	if diff := cmp.Diff([]string{"a/one", "b/two"}, pods(t, c)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestNamespacesComeAndGo(t *testing.T) {
	c, _, s := begin(t, "a")
	if err := get(t, c, "c", "three"); !notWatched(err) || !strings.Contains(err.Error(), `"c"`) {
		t.Errorf("a namespace that is not watched: %v", err)
	}
	if err := c.List(t.Context(), &corev1.PodList{}, client.InNamespace("c")); !notWatched(err) {
		t.Errorf("a namespace that is not watched: %v", err)
	}
	if err := c.Set(t.Context(), "a", "c"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "c is ready", func() bool { return c.Ready("c") })
	eventually(t, "the handler gets c", s.has("c/three"))
	if diff := cmp.Diff([]string{"c/three"}, pods(t, c, client.InNamespace("c"), client.MatchingFields{"app": "three"})); diff != "" {
		t.Errorf("what comes later is indexed, too (-want +got):\n%s", diff)
	}
	if err := c.Set(t.Context(), "c"); err != nil {
		t.Fatal(err)
	}
	if err := get(t, c, "a", "one"); !notWatched(err) || c.Ready("a") {
		t.Errorf("a namespace that was taken away: %v, ready %v", err, c.Ready("a"))
	}
	if n := s.read(func() bool { return len(s.pods) == 2 }); !n {
		t.Errorf("the handler got %v, want each pod once", s.pods)
	}
}

// A kind of which only some objects are held is listed and watched by their labels, in every namespace.
func TestSelect(t *testing.T) {
	c, a, s := newCache(t)
	c.Select(map[schema.GroupVersionKind]labels.Selector{corev1.SchemeGroupVersion.WithKind("Pod"): labels.SelectorFromSet(labels.Set{"app": "three"})})
	if err := c.Set(t.Context(), "a", "c"); err != nil {
		t.Fatal(err)
	}
	informer, err := c.GetInformer(t.Context(), &corev1.Pod{}, cache.BlockUntilSynced(false))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := informer.AddEventHandler(s.handler()); err != nil {
		t.Fatal(err)
	}
	run(t, c)
	eventually(t, "the handler gets what was there", s.has("c/three"))
	a.Put(pod("a", "four"))
	a.Put(pod("a", "three"))
	eventually(t, "the handler gets what comes later", s.has("a/three"))
	got := pods(t, c)
	slices.Sort(got)
	if diff := cmp.Diff([]string{"a/three", "c/three"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if s.has("a/one")() || s.has("a/four")() {
		t.Errorf("the handler got %v", s.pods)
	}
}

func TestAllNamespaces(t *testing.T) {
	c, _, _ := begin(t, "a")
	if c.Whole(&corev1.Pod{}) || !c.Whole(&corev1.Node{}) {
		t.Errorf("whole: pods %v, nodes %v; want what has no namespace only", c.Whole(&corev1.Pod{}), c.Whole(&corev1.Node{}))
	}
	if err := c.Set(t.Context(), All); err != nil {
		t.Fatal(err)
	}
	if unknown := (&unstructured.Unstructured{Object: map[string]any{"apiVersion": "x.example/v1", "kind": "X"}}); !c.Whole(&corev1.Pod{}) || c.Whole(unknown) {
		t.Errorf("whole: pods %v, a kind that is not installed %v", c.Whole(&corev1.Pod{}), c.Whole(unknown))
	}
	eventually(t, "all are ready", func() bool { return c.Ready("anywhere") })
	if err := get(t, c, "c", "three"); err != nil {
		t.Error(err)
	}
	got := pods(t, c)
	slices.Sort(got)
	if diff := cmp.Diff([]string{"a/one", "b/two", "c/three"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := c.Set(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a is ready", func() bool { return c.Ready("a") })
	if c.Ready("c") || !notWatched(get(t, c, "c", "three")) {
		t.Error("a list does not end the watch over all")
	}
}

// What Serves says can be read is not hidden by another kind that is still to come.
func TestListWhileAnotherKindIsMissing(t *testing.T) {
	c, _, _ := begin(t, "a")
	c.mu.Lock()
	c.members["a"].ready = false
	c.mu.Unlock()
	if !c.Serves(&corev1.Pod{}, All) {
		t.Fatal("pods were listed")
	}
	if diff := cmp.Diff([]string{"a/one"}, pods(t, c)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for form, list := range map[string]client.ObjectList{"unstructured": &unstructured.UnstructuredList{}, "metadata": &metav1.PartialObjectMetadataList{}} {
		if got := formOf(list); got != form {
			t.Errorf("a list of the form %q is taken for %q", form, got)
		}
	}
}

func TestLimitedList(t *testing.T) {
	c, _, _ := begin(t, "a", "c")
	if got := pods(t, c, client.Limit(1)); len(got) != 1 {
		t.Errorf("%v, want one", got)
	}
}

func TestServes(t *testing.T) {
	c, _, _ := begin(t, "a", "b")
	pod := &corev1.Pod{}
	if !c.Serves(pod, "a") || c.Serves(pod, "b") || c.Serves(pod, "c") || c.Serves(pod, All) {
		t.Errorf("a %v, b %v, c %v, all %v; want a only", c.Serves(pod, "a"), c.Serves(pod, "b"), c.Serves(pod, "c"), c.Serves(pod, All))
	}
	if c.Serves(&corev1.Service{}, "a") {
		t.Error("no one watches services")
	}
	if err := c.Set(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	if !c.Serves(pod, All) {
		t.Error("all that are watched can be read")
	}
}

// What is cached in a form of its own is found by the informer's own indexes, in namespaces that come later, too.
func TestIndexer(t *testing.T) {
	c, _, _ := begin(t, "a")
	informer, err := c.GetInformer(t.Context(), &corev1.Pod{})
	if err != nil {
		t.Fatal(err)
	}
	byName := toolscache.Indexers{"name": func(o any) ([]string, error) { return []string{o.(client.Object).GetName()}, nil }}
	if err := informer.AddIndexers(byName); err != nil {
		t.Fatal(err)
	}
	if err := informer.AddIndexers(byName); err == nil {
		t.Error("the same index is added twice")
	}
	if _, err := c.Indexer(t.Context(), &corev1.Pod{}, "c"); !notWatched(err) {
		t.Errorf("a namespace that is not watched: %v", err)
	}
	if err := c.Set(t.Context(), "a", "c"); err != nil {
		t.Fatal(err)
	}
	for namespace, name := range map[string]string{"a": "one", "c": "three"} {
		store, err := c.Indexer(t.Context(), &corev1.Pod{}, namespace) // it waits for the list
		if err != nil {
			t.Fatal(err)
		}
		if found, err := store.ByIndex("name", name); err != nil || len(found) != 1 {
			t.Errorf("namespace %s: %d pods, %v; want %s", namespace, len(found), err, name)
		}
	}
}

func TestInformer(t *testing.T) {
	c, _, s := begin(t, "a", "b")
	informer, err := c.GetInformerForKind(t.Context(), corev1.SchemeGroupVersion.WithKind("Pod"))
	if err != nil {
		t.Fatal(err)
	}
	if !informer.HasSynced() || informer.IsStopped() {
		t.Error("a namespace failing is not waited for")
	}
	other := &seen{failed: map[string]string{}}
	handle, err := informer.AddEventHandlerWithResyncPeriod(other.handler(), 0)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the second handler gets a", other.has("a/one"))
	eventually(t, "the handler has synced", handle.HasSynced)
	if err := informer.RemoveEventHandler(handle); err != nil {
		t.Error(err)
	}
	if err := c.Set(t.Context(), "a", "b", "c"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the first handler gets c", s.has("c/three"))
	if other.has("c/three")() {
		t.Error("a handler that was removed is told")
	}
	stranger := &registration{}
	if err := informer.RemoveEventHandler(stranger); err == nil {
		t.Error("took away someone else's handler")
	}
}

// What is done when the waiting is over does not wait for namespaces that are taken away.
func TestCheckersEnd(t *testing.T) {
	c, _, _ := begin(t, "a", "b")
	informer, err := c.GetInformer(t.Context(), &corev1.Pod{})
	if err != nil {
		t.Fatal(err)
	}
	handle, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{})
	if err != nil {
		t.Fatal(err)
	}
	checkers := []toolscache.DoneChecker{informer.HasSyncedChecker(), handle.HasSyncedChecker()}
	if err := c.Set(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	for _, checker := range checkers {
		eventually(t, checker.Name(), func() bool { return toolscache.IsDone(checker) })
	}
}

func TestRemoveInformer(t *testing.T) {
	c, _, _ := begin(t, "a", "b")
	if err := c.RemoveInformer(t.Context(), &corev1.Pod{}); err != nil {
		t.Fatal(err)
	}
	if c.Serves(&corev1.Pod{}, "a") {
		t.Error("what is removed is still served")
	}
	eventually(t, "nothing is left to wait for in b", func() bool { return c.Ready("b") })
	if err := c.IndexField(t.Context(), &corev1.Pod{}, "app", byApp); err != nil {
		t.Fatalf("what is watched again is indexed again: %v", err)
	}
	if err := c.Set(t.Context(), "a", "c"); err != nil {
		t.Fatalf("a namespace that comes later has one index: %v", err)
	}
}

// What has no namespace is watched beside the namespaces, whatever these are.
func TestClusterScoped(t *testing.T) {
	c, _, _ := begin(t, "a")
	if _, err := c.GetInformer(t.Context(), &corev1.Node{}, cache.BlockUntilSynced(false)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "nodes are served", func() bool { return c.Serves(&corev1.Node{}, "") })
	if err := c.List(t.Context(), &corev1.NodeList{}); err != nil {
		t.Error(err)
	}
	if err := c.Get(t.Context(), client.ObjectKey{Name: "none"}, &corev1.Node{}); !apierrors.IsNotFound(err) {
		t.Errorf("a node that does not exist: %v", err)
	}
	if err := c.IndexField(t.Context(), &corev1.Node{}, "app", byApp); err != nil {
		t.Error(err)
	}
	if err := c.RemoveInformer(t.Context(), &corev1.Node{}); err != nil || c.Serves(&corev1.Node{}, "") {
		t.Errorf("nodes are still served: %v", err)
	}
}

func TestUnknownKinds(t *testing.T) {
	c, _, _ := newCache(t)
	if _, err := c.GetInformer(t.Context(), &corev1.Service{}); err == nil {
		t.Error("the API server does not have services")
	}
	if _, err := c.GetInformerForKind(t.Context(), schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "None"}); err == nil {
		t.Error("the scheme does not have it")
	}
	if err := c.List(t.Context(), &corev1.ServiceList{}); err == nil {
		t.Error("the API server does not have services")
	}
	if err := c.IndexField(t.Context(), &corev1.Service{}, "app", byApp); err == nil {
		t.Error("the API server does not have services")
	}
}

func TestWaitEnds(t *testing.T) {
	c, _, _ := newCache(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if c.WaitForCacheSync(ctx) {
		t.Error("a cache that was not started is in sync")
	}
}

func TestIsTrouble(t *testing.T) {
	for _, usual := range []error{nil, io.EOF, io.ErrUnexpectedEOF, context.Canceled, apierrors.NewResourceExpired("old"), apierrors.NewTooManyRequests("busy", 1)} {
		if isWatchError(usual) {
			t.Errorf("%v is the usual end of a watch", usual)
		}
	}
	for _, bad := range []error{errors.New("refused"), apierrors.NewForbidden(schema.GroupResource{}, "", nil)} {
		if !isWatchError(bad) {
			t.Errorf("%v is an error", bad)
		}
	}
}
