// SPDX-License-Identifier: Apache-2.0

package informers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/firesteel-dev/firesteel/internal/testutil/apiserver"
)

// followedCluster is one whose events are followed, and what it was asked.
type followedCluster struct {
	*kindCache
	lists, watches atomic.Int32
	stream         *watch.FakeWatcher
	refuse         error
	now            *clocktesting.FakePassiveClock
}

func follow(t *testing.T, stored ...string) *followedCluster {
	t.Helper()
	f := &followedCluster{stream: watch.NewFake(), now: clocktesting.NewFakePassiveClock(start)}
	live := fake.NewClientBuilder().WithScheme(apiserver.Scheme()).WithInterceptorFuncs(interceptor.Funcs{
		List: func(_ context.Context, _ client.WithWatch, list client.ObjectList, _ ...client.ListOption) error {
			f.lists.Add(1)
			events, _ := list.(*unstructured.UnstructuredList)
			for _, name := range stored {
				events.Items = append(events.Items, *eventNamed(name, "listed"))
			}
			list.SetResourceVersion("7")
			return nil
		},
		Watch: func(_ context.Context, _ client.WithWatch, list client.ObjectList, options ...client.ListOption) (watch.Interface, error) {
			f.watches.Add(1)
			var o client.ListOptions
			o.ApplyOptions(options)
			if o.Namespace != "jobs" || o.FieldSelector.String() != "involvedObject.kind=PodGroup" || o.Raw.ResourceVersion != "7" || list.GetObjectKind().GroupVersionKind().Kind != "EventList" {
				t.Errorf("watches with %+v", o)
			}
			return f.stream, f.refuse
		},
	}).Build()
	f.kindCache = newKindCache(kindCacheOptions{Live: live, Clock: f.now})
	ctx, stop := context.WithCancel(t.Context())
	t.Cleanup(stop)
	f.events.begin(ctx)
	return f
}

func eventNamed(name, words string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": name, "namespace": "jobs"}, "involvedObject": map[string]any{"name": "g", "fieldPath": "x"}, "message": words,
	}}
}

// words are the messages that a plugin sees now.
func (f *followedCluster) words(t *testing.T) []string {
	t.Helper()
	var list unstructured.UnstructuredList
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("EventList"))
	if err := f.List(t.Context(), &list, client.InNamespace("jobs"), client.MatchingFieldsSelector{Selector: fields.OneTermEqualSelector("involvedObject.kind", "PodGroup")}); err != nil {
		t.Fatal(err)
	}
	var words []string
	for _, item := range list.Items {
		text, _, _ := unstructured.NestedString(item.Object, "message")
		words = append(words, text)
	}
	return words
}

// becomes waits until a plugin sees so.
func (f *followedCluster) becomes(t *testing.T, reason string, want ...string) {
	t.Helper()
	var got []string
	err := wait.PollUntilContextTimeout(t.Context(), time.Millisecond, 10*time.Second, true, func(context.Context) (bool, error) {
		got = f.words(t)
		return slices.Equal(got, want), nil
	})
	if err != nil {
		t.Errorf("%s (-want +got):\n%s", reason, cmp.Diff(want, got))
	}
}

// Whoever waits for long costs no LIST request: what schedulers say comes by itself.
func TestEventsAreFollowed(t *testing.T) {
	f := follow(t, "b")
	f.becomes(t, "it is read once", "listed")
	f.now.SetTime(start.Add(time.Hour))
	f.words(t) // or no one has asked for an hour
	f.stream.Add(eventNamed("a", "added"))
	f.becomes(t, "another event", "added", "listed")
	f.stream.Modify(eventNamed("b", strings.Repeat("x", eventWords)+"y"))
	f.becomes(t, "it is said again, in too many words", "added", strings.Repeat("x", eventWords))
	f.stream.Delete(eventNamed("a", ""))
	f.becomes(t, "it is old", strings.Repeat("x", eventWords))
	if lists, watches := f.lists.Load(), f.watches.Load(); lists != 1 || watches != 1 {
		t.Errorf("%d LIST and %d WATCH requests, want one of each", lists, watches)
	}
}

// A watch that ends, as the API server ends each now and then, is begun again when someone asks, and there is no gap between list and watch.
func TestEventsAreReadAgainWhenTheWatchHasEnded(t *testing.T) {
	f := follow(t, "b")
	f.words(t)
	f.stream.Stop()
	f.stream = watch.NewFake()
	err := wait.PollUntilContextTimeout(t.Context(), time.Millisecond, 10*time.Second, true, func(context.Context) (bool, error) {
		f.words(t)
		return f.lists.Load() == 2, nil
	})
	if err != nil || f.watches.Load() != 2 {
		t.Errorf("%v: %d LIST and %d WATCH requests, want two of each", err, f.lists.Load(), f.watches.Load())
	}
}

// Who may not watch events reads them as often as before.
func TestEventsThatCannotBeFollowed(t *testing.T) {
	f := follow(t, "b")
	f.refuse = errors.New("forbidden")
	for i, after := range []time.Duration{0, eventsHold - time.Second, time.Second} {
		f.now.SetTime(f.now.Now().Add(after))
		f.words(t)
		if want := int32(1 + i/2); f.lists.Load() != want {
			t.Errorf("step %d: %d LIST requests, want %d", i, f.lists.Load(), want)
		}
	}
}

// Whoever may write events can write any number of them.
func TestFollowedEventsAreBounded(t *testing.T) {
	a := &answer{events: map[string]unstructured.Unstructured{}}
	s := &eventCache{lists: map[string]*answer{"jobs": a}}
	for i := range eventPage*eventPages + 5 {
		s.change(a, watch.Added, eventNamed(fmt.Sprint("e-", i), "x"))
	}
	if n := len(a.events); n != eventPage*eventPages || a.more == "" || s.followed != n {
		t.Errorf("%d events are kept, cut %q, %d in all", n, a.more, s.followed)
	}
	s.change(a, watch.Modified, eventNamed("e-0", "known ones go on"))
	s.change(a, watch.Deleted, eventNamed("e-1", ""))
	if text := a.events["jobs/e-0"].Object["message"]; text != "known ones go on" || s.followed != eventPage*eventPages-1 {
		t.Errorf("%v, %d in all", text, s.followed)
	}
	s.followed += eventsFollowed
	if s.change(a, watch.Added, eventNamed("more", "x")); len(a.events) != eventPage*eventPages-1 {
		t.Errorf("%d events, and there are as many elsewhere as there may be", len(a.events))
	}
	if s.idle(a, a.askedAt.Add(eventsIdle-1)) || !s.idle(a, a.askedAt.Add(eventsIdle)) {
		t.Error("who is asked for nothing is not followed for ever")
	}
}
