// SPDX-License-Identifier: Apache-2.0

package informers

import (
	"context"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/firesteel-dev/firesteel/internal/namespaced"
	"github.com/firesteel-dev/firesteel/internal/observe"
	"github.com/firesteel-dev/firesteel/internal/testutil/apiserver"
)

// A kind is read from its informer as long as it is watched, and live before and after.
func TestKindsAreReadFromInformers(t *testing.T) {
	server := apiserver.New(t, []schema.GroupVersionKind{queues}, quotaIn("jobs", func(o map[string]any) {
		_ = unstructured.SetNestedField(o, "pi", "metadata", "labels", "app")
	}))
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(queues, meta.RESTScopeNamespace)
	mapper.Add(queues.GroupVersion().WithKind(queues.Kind+"List"), meta.RESTScopeNamespace) // as discovery does
	own, err := namespaced.New(&rest.Config{Host: server.URL}, cache.Options{Scheme: apiserver.Scheme(), Mapper: mapper, HTTPClient: server.Client()})
	if err != nil {
		t.Fatal(err)
	}
	if err := own.Set(t.Context(), namespaced.All); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- own.Start(t.Context()) }()
	t.Cleanup(func() { <-ended })
	seen := make(chan any, 10)
	c := newKindCache(kindCacheOptions{
		Cache: own, Live: fake.NewClientBuilder().WithScheme(apiserver.Scheme()).Build(), // which has nothing
		Index: observe.IndexByApp("app"),
		Handler: func(schema.GroupVersionKind) toolscache.ResourceEventHandler {
			return toolscache.ResourceEventHandlerFuncs{AddFunc: func(o any) { seen <- o }}
		},
	})
	cached := func(context.Context) (bool, error) {
		return c.Get(t.Context(), client.ObjectKey{Namespace: "jobs", Name: "quota"}, objectOfKind(queues)) == nil, nil
	}
	for _, step := range []struct {
		reason              string
		may, changed, known bool
	}{
		{reason: "it may not be watched yet"},
		{reason: "it may be watched", may: true, changed: true, known: true},
		{reason: "it is watched already", may: true, known: true},
		{reason: "it may not be watched any more", changed: true},
		{reason: "it is not watched any more"},
		{reason: "it is back", may: true, changed: true, known: true},
	} {
		if changed := c.watch(t.Context(), queues, step.may); changed != step.changed {
			t.Errorf("%s: changed %v", step.reason, changed)
		}
		if step.known {
			_ = wait.PollUntilContextTimeout(t.Context(), time.Millisecond, 10*time.Second, true, cached)
		}
		if step.may && step.changed {
			<-seen // its handler is called; without one the test times out
		}
		if known, _ := cached(t.Context()); known != step.known {
			t.Errorf("%s: read from the informer: %v", step.reason, known)
		}
		if owned, err := c.Owned(t.Context(), queues, "jobs", "app=pi"); err != nil || (len(owned) == 1) != step.known {
			t.Errorf("%s: objects of an application: %d, %v", step.reason, len(owned), err)
		}
	}
	if n := len(seen); n != 0 {
		t.Errorf("%d more handlers were called than times that the kind was watched", n)
	}
}
