// SPDX-License-Identifier: Apache-2.0

package informers

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/namespaced"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/testutil/apiserver"
)

// pending are the applications on their way to a controller. Those of these tests have no kind.
func (c crowd) pending() <-chan event.GenericEvent { return c.Events(schema.GroupKind{}) }

// enqueued returns who was enqueued since it was called last.
func (c crowd) enqueued() (names []string) {
	for len(c.pending()) > 0 {
		o := (<-c.pending()).Object
		names = append(names, o.GetNamespace()+"/"+o.GetName())
	}
	return names
}

// quotaIn is an object that applications wait for.
func quotaIn(namespace string, change func(map[string]any)) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"resourceVersion": "1"}, "status": map[string]any{"used": "4"},
	}}
	u.SetGroupVersionKind(queues)
	u.SetNamespace(namespace)
	u.SetName("quota")
	if change != nil {
		change(u.Object)
	}
	return u
}

// What happens in one namespace is nothing to those who wait in another, unless the kind is read in all of them.
func TestAChangeWakesItsNamespace(t *testing.T) {
	cases := map[string]struct {
		reason string
		// read is for which namespaces the kind was read.
		read      []string
		namespace string
		want      []string
	}{
		"Namespace": {reason: "a ResourceQuota is read in its namespace", read: []string{"a", "b"}, namespace: "b", want: []string{"b/late"}},
		"All":       {reason: "the sum over all ElasticQuotas is everybody's", read: []string{""}, namespace: "b", want: []string{"a/early", "b/late"}},
		"Both":      {reason: "one who reads all is enough", read: []string{"a", "", "b"}, namespace: "b", want: []string{"a/early", "b/late"}},
		"Cluster":   {reason: "a queue is in no namespace", read: []string{"a"}, namespace: "", want: []string{"a/early", "b/late"}},
		"Nobody":    {reason: "nobody waits there", read: []string{"a"}, namespace: "c"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			k := crowdOf(nil, scheduler.Key{Namespace: "a", Name: "early"}, scheduler.Key{Namespace: "b", Name: "late"})
			nothing, err := namespaced.New(&rest.Config{}, cache.Options{Scheme: apiserver.Scheme(), Mapper: meta.NewDefaultRESTMapper(nil)})
			if err != nil {
				t.Fatal(err)
			}
			reader := newKindCache(kindCacheOptions{Cache: nothing, Live: fake.NewClientBuilder().WithScheme(apiserver.Scheme()).Build(), Listed: k.noteRead})
			for _, namespace := range tc.read {
				var list unstructured.UnstructuredList
				list.SetGroupVersionKind(queues.GroupVersion().WithKind(queues.Kind + "List"))
				if err := reader.List(t.Context(), &list, client.InNamespace(namespace)); err != nil {
					t.Fatal(err)
				}
			}
			k.handler(queues).OnAdd(quotaIn(tc.namespace, nil), false)
			if diff := cmp.Diff(tc.want, k.enqueued()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// However many wait elsewhere before: those whose namespace has room now hear of it, and all of them in time.
func TestEachNamespaceHasItsOwnLine(t *testing.T) {
	var all []scheduler.Key
	for _, namespace := range []string{"a", "b"} {
		for i := range FirstInLine + 5 {
			all = append(all, scheduler.Key{Namespace: namespace, Name: fmt.Sprintf("app-%02d", i)})
		}
	}
	k := crowdOf(nil, all...)
	steps := []struct {
		reason    string
		after     time.Duration
		namespace string
		all       bool
	}{
		{reason: "no one was enqueued yet", namespace: "a", all: true},
		{reason: "the other namespace's were not", namespace: "b", all: true},
		{reason: "the others are on their way", after: time.Second, namespace: "b"},
		{reason: "that is long ago", after: enqueuePeriod, namespace: "b", all: true},
	}
	for _, step := range steps {
		k.now.SetTime(k.now.Now().Add(step.after))
		was, on := k.enqueuedAt[kindIn{queues, step.namespace}]
		k.enqueueWaiters(queues, step.namespace)
		if enqueued := k.enqueued(); len(enqueued) < FirstInLine || enqueued[0] != step.namespace+"/app-00" || enqueued[FirstInLine-1] != fmt.Sprintf("%s/app-%02d", step.namespace, FirstInLine-1) {
			t.Errorf("%s: enqueued are %v", step.reason, enqueued)
		}
		if news := !on || !was.Equal(k.enqueuedAt[kindIn{queues, step.namespace}]); news != step.all {
			t.Errorf("%s: all enqueued %v, want %v", step.reason, news, step.all)
		}
	}
	if n := len(k.enqueuedAt); n != 1 {
		t.Errorf("%d namespaces are remembered, want the one of the last period", n)
	}
}

// reading is a plugin that reads the kind.
type reading struct {
	scheduler.Plugin
	ignores [][]string
}

func (r reading) Describe() scheduler.Descriptor {
	return scheduler.Descriptor{Reads: []schema.GroupVersionKind{queues}, Ignores: map[schema.GroupVersionKind][][]string{queues: r.ignores}}
}

// A write that changes nothing enqueues nothing.
func TestOnlyChangesWake(t *testing.T) {
	cases := map[string]struct {
		reason string
		change func(map[string]any)
		app    string
		want   []string
	}{
		"Version": {reason: "the same was written again", change: func(o map[string]any) { o["metadata"].(map[string]any)["resourceVersion"] = "2" }},
		"Writer":  {reason: "who writes is no news", change: func(o map[string]any) { o["metadata"].(map[string]any)["managedFields"] = []any{"x"} }},
		"Status":  {reason: "there is room", change: func(o map[string]any) { o["status"] = map[string]any{"used": "3"} }, want: []string{"a/waits"}},
		"Ignored": {reason: "a number that decides nothing", change: func(o map[string]any) { o["status"] = map[string]any{"state": "Open", "allocated": "9"} }},
		"ForOne": {reason: "a number by which another plugin decides", change: func(o map[string]any) {
			o["status"] = map[string]any{"state": "Open", "allocated": "1", "running": "9"}
		}, want: []string{"a/waits"}},
		"Other":       {reason: "the queue is closed", change: func(o map[string]any) { o["status"] = map[string]any{"state": "Closed", "allocated": "1"} }, want: []string{"a/waits"}},
		"Spec":        {reason: "there is more in all", change: func(o map[string]any) { o["spec"] = map[string]any{"hard": "9"} }, want: []string{"a/waits"}},
		"Deletion":    {reason: "it is about to go", change: func(o map[string]any) { o["metadata"].(map[string]any)["deletionTimestamp"] = "2026-11-21T09:00:00Z" }, want: []string{"a/waits"}},
		"Owned":       {reason: "the same was written again", app: "pi", change: func(o map[string]any) { o["metadata"].(map[string]any)["resourceVersion"] = "2" }},
		"OwnedStatus": {reason: "its own group was let in", app: "pi", change: func(o map[string]any) { o["status"] = map[string]any{"phase": "Inqueue"} }, want: []string{"a/pi"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			plugins := []scheduler.Plugin{reading{ignores: [][]string{{"status", "allocated"}, {"status", "running"}}}, reading{ignores: [][]string{{"status", "allocated"}}}}
			k := crowdOf(plugins, scheduler.Key{Namespace: "a", Name: "waits"})
			open := func(o map[string]any) { o["status"] = map[string]any{"state": "Open", "allocated": "1"} }
			before, after := quotaIn("a", open), quotaIn("a", func(o map[string]any) { open(o); tc.change(o) })
			if tc.app != "" {
				before.SetLabels(map[string]string{v1beta2.LabelAppName: tc.app})
				after.SetLabels(before.GetLabels())
			}
			untouched := after.DeepCopy()
			k.handler(queues).OnUpdate(before, after)
			if diff := cmp.Diff(tc.want, k.enqueued()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(untouched, after); diff != "" {
				t.Errorf("the cache's object was changed (-before +after):\n%s", diff)
			}
		})
	}
}

// That an object is gone is always news, also if no one saw it go.
func TestDeletionsWake(t *testing.T) {
	for name, gone := range map[string]any{
		"Seen": quotaIn("a", nil), "Missed": toolscache.DeletedFinalStateUnknown{Key: "a/quota", Obj: quotaIn("a", nil)},
	} {
		k := crowdOf(nil, scheduler.Key{Namespace: "a", Name: "waits"})
		k.handler(queues).OnDelete(gone)
		if diff := cmp.Diff([]string{"a/waits"}, k.enqueued()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestAppsOf(t *testing.T) {
	other := lifecycle.Family{Group: "example.org", Kind: "Job", Labels: lifecycle.Labels{App: "example.org/name"}}
	families := []lifecycle.Family{kubeflow.SparkApplications{}.Family(), other}
	p := &corev1.Pod{}
	p.Namespace, p.Name = "jobs", "pi-exec-1"
	if got := appsOf(families, p); got != nil {
		t.Errorf("a pod of no one enqueues %v", got)
	}
	p.Labels = map[string]string{v1beta2.LabelAppName: "pi"}
	want := []scheduler.Key{{Kind: families[0].GroupKind(), Namespace: "jobs", Name: "pi"}}
	if diff := cmp.Diff(want, appsOf(families, p)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	p.Labels["example.org/name"] = "pi"
	want = append(want, scheduler.Key{Kind: other.GroupKind(), Namespace: "jobs", Name: "pi"})
	if diff := cmp.Diff(want, appsOf(families, p)); diff != "" {
		t.Errorf("a label of each family, which anyone can set (-want +got):\n%s", diff)
	}
}
