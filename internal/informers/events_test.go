// SPDX-License-Identifier: Apache-2.0

package informers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/firesteel-dev/firesteel/internal/testutil/apiserver"
)

// asking is a reader of schedulers' kinds at an API server that counts the questions, and refuses them if told so.
func asking(t *testing.T, now clock.PassiveClock) (k *kindCache, questions *int, refuse *error) {
	t.Helper()
	questions, refuse = new(int), new(error)
	live := fake.NewClientBuilder().WithScheme(apiserver.Scheme()).
		WithIndex(&corev1.Event{}, "involvedObject.name", func(o client.Object) []string {
			content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
			if err != nil {
				t.Error(err)
			}
			name, _, _ := unstructured.NestedString(content, "involvedObject", "name")
			return []string{name}
		}).
		WithInterceptorFuncs(interceptor.Funcs{
			List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
				*questions++
				if *refuse != nil {
					return *refuse
				}
				return c.List(ctx, list, options...)
			},
		}).Build()
	return newKindCache(kindCacheOptions{Live: live, Clock: now}), questions, refuse
}

// say lets a scheduler say something about a group.
func say(t *testing.T, k *kindCache, namespace, group, words string) {
	t.Helper()
	o := &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: namespace, GenerateName: "e-"},
		InvolvedObject: corev1.ObjectReference{Kind: "PodGroup", Name: group}, Message: words,
	}
	if err := k.options.Live.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
}

// eventsOf asks what was said about a group.
func eventsOf(t *testing.T, k *kindCache, namespace, group string) ([]string, error) {
	t.Helper()
	var list unstructured.UnstructuredList
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("EventList"))
	err := k.List(t.Context(), &list, client.InNamespace(namespace), client.MatchingFieldsSelector{Selector: fields.OneTermEqualSelector("involvedObject.name", group)})
	words := []string{}
	for _, item := range list.Items {
		text, _, _ := unstructured.NestedString(item.Object, "message")
		words = append(words, text)
	}
	slices.Sort(words)
	return words, err
}

// What a scheduler says about a group is asked for every ten seconds, however often the group's application is enqueued.
func TestEventsAreRememberedForAWhile(t *testing.T) {
	now := clocktesting.NewFakePassiveClock(start)
	k, questions, _ := asking(t, now)
	say(t, k, "jobs", "g", "overused cpu")
	steps := []struct {
		reason           string
		after            time.Duration
		namespace, group string
		want             string
		questions        int
	}{
		{reason: "no one has asked yet", namespace: "jobs", group: "g", want: "[overused cpu]", questions: 1},
		{reason: "it was asked a moment ago", after: 9 * time.Second, namespace: "jobs", group: "g", want: "[overused cpu]", questions: 1},
		{reason: "another group is another question", namespace: "jobs", group: "h", want: "[]", questions: 2},
		{reason: "and so is another namespace", namespace: "other", group: "g", want: "[]", questions: 3},
		{reason: "silence is an answer", namespace: "jobs", group: "h", want: "[]", questions: 3},
		{reason: "the answer is old", after: time.Second, namespace: "jobs", group: "g", want: "[overused cpu overused memory]", questions: 4},
	}
	for i, step := range steps {
		now.SetTime(now.Now().Add(step.after))
		if i == 1 {
			say(t, k, "jobs", "g", "overused memory")
		}
		got, err := eventsOf(t, k, step.namespace, step.group)
		if err != nil {
			t.Fatal(err)
		}
		if fmt.Sprint(got) != step.want || *questions != step.questions {
			t.Errorf("step %d, %s: %v after %d questions, want %s after %d", i, step.reason, got, *questions, step.want, step.questions)
		}
	}
}

// All who wait in a namespace ask for the same list at the same time, for example when their queue changes: it is read once for
// all of them, page by page, and has no more of an event than schedulers' plugins read.
func TestOneListServesANamespace(t *testing.T) {
	var lists atomic.Int32
	pages := map[string]string{"": "1", "1": "2", "2": ""}
	live := fake.NewClientBuilder().WithScheme(apiserver.Scheme()).WithInterceptorFuncs(interceptor.Funcs{
		List: func(_ context.Context, _ client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			lists.Add(1)
			time.Sleep(10 * time.Millisecond) // so that the others come while it is read
			var o client.ListOptions
			o.ApplyOptions(options)
			if o.Limit != eventPage || o.FieldSelector.String() != "involvedObject.kind=PodGroup" {
				t.Errorf("options %+v", o)
			}
			events, ok := list.(*unstructured.UnstructuredList)
			if !ok {
				t.Errorf("a list of %T", list)
				return nil
			}
			events.Items = []unstructured.Unstructured{{Object: map[string]any{
				"metadata": map[string]any{"name": "e" + o.Continue, "namespace": o.Namespace}, "source": map[string]any{"component": "volcano"},
				"involvedObject": map[string]any{"name": "g"}, "message": "page " + o.Continue, "reason": "Unschedulable",
			}}}
			events.SetContinue(pages[o.Continue])
			return nil
		},
	}).Build()
	k := newKindCache(kindCacheOptions{Live: live, Clock: clocktesting.NewFakePassiveClock(start)})
	var waiters errgroup.Group
	for range 1000 {
		waiters.Go(func() error {
			var list unstructured.UnstructuredList
			list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("EventList"))
			err := k.List(t.Context(), &list, client.InNamespace("jobs"), client.MatchingFieldsSelector{Selector: fields.OneTermEqualSelector("involvedObject.kind", "PodGroup")})
			if len(list.Items) != len(pages) || list.GetContinue() != "" {
				return fmt.Errorf("%d events, continue %q", len(list.Items), list.GetContinue())
			}
			want := map[string]any{"involvedObject": map[string]any{"name": "g"}, "message": "page 2", "reason": "Unschedulable"}
			if diff := cmp.Diff(want, list.Items[2].Object); diff != "" {
				return fmt.Errorf("(-want +got):\n%s", diff)
			}
			return err
		})
	}
	if err := waiters.Wait(); err != nil {
		t.Error(err)
	}
	if n := lists.Load(); n != int32(len(pages)) {
		t.Errorf("%d LIST requests for 1000 applications that wait, want one for each of the %d pages", n, len(pages))
	}
}

// A list that never ends is cut, and says so.
func TestListOfEventsIsBounded(t *testing.T) {
	lists := 0
	live := fake.NewClientBuilder().WithScheme(apiserver.Scheme()).WithInterceptorFuncs(interceptor.Funcs{
		List: func(_ context.Context, _ client.WithWatch, list client.ObjectList, _ ...client.ListOption) error {
			lists++
			list.SetContinue("more")
			return nil
		},
	}).Build()
	k := newKindCache(kindCacheOptions{Live: live, Clock: clocktesting.NewFakePassiveClock(start)})
	for range 2 {
		var list unstructured.UnstructuredList
		list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("EventList"))
		if err := k.List(t.Context(), &list, client.InNamespace("jobs")); err != nil || list.GetContinue() == "" || lists != eventPages {
			t.Errorf("%d LIST requests, continue %q, %v; want %d, and that there are more", lists, list.GetContinue(), err, eventPages)
		}
	}
}

// No answer is not remembered: the next one to ask may get one.
func TestTroubleWithEventsIsNotRemembered(t *testing.T) {
	now := clocktesting.NewFakePassiveClock(start)
	k, questions, refuse := asking(t, now)
	*refuse = errors.New("the API server is failing")
	if _, err := eventsOf(t, k, "jobs", "g"); !errors.Is(err, *refuse) {
		t.Fatalf("error %v", err)
	}
	*refuse = nil
	if _, err := eventsOf(t, k, "jobs", "g"); err != nil || *questions != 2 {
		t.Errorf("%d questions, error %v", *questions, err)
	}
}

// However many groups there are, so many answers are kept; old ones make room.
func TestMemoryOfEventsIsBounded(t *testing.T) {
	now := clocktesting.NewFakePassiveClock(start)
	k, questions, _ := asking(t, now)
	ask := func(from, to int) {
		for i := from; i < to; i++ {
			if _, err := eventsOf(t, k, "jobs", fmt.Sprint("g-", i)); err != nil {
				t.Fatal(err)
			}
		}
	}
	ask(0, eventLists+10)
	if n := len(k.events.lists); n != eventLists {
		t.Errorf("%d answers are remembered, want %d", n, eventLists)
	}
	ask(0, eventLists)
	if want := eventLists + 10; *questions != want {
		t.Errorf("%d questions, want %d: the first ones are remembered", *questions, want)
	}
	now.SetTime(start.Add(eventsHold))
	ask(eventLists, eventLists+1)
	if n := len(k.events.lists); n != 1 {
		t.Errorf("%d answers are remembered once all others are old, want 1", n)
	}
}
