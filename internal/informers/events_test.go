// SPDX-License-Identifier: Apache-2.0

package informers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/firesteel-dev/firesteel/internal/testutil"
)

// asking is a watch over schedulers' kinds at an API server that counts the questions, and refuses them if told so.
func asking(t *testing.T, now *time.Time) (k *SchedulerKinds, questions *int, refuse *error) {
	t.Helper()
	questions, refuse = new(int), new(error)
	live := fake.NewClientBuilder().WithScheme(testutil.Scheme()).
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
	return &SchedulerKinds{live: live, now: func() time.Time { return *now }}, questions, refuse
}

// say lets a scheduler say something about a group.
func say(t *testing.T, k *SchedulerKinds, namespace, group, words string) {
	t.Helper()
	o := &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: namespace, GenerateName: "e-"},
		InvolvedObject: corev1.ObjectReference{Kind: "PodGroup", Name: group}, Message: words,
	}
	if err := k.live.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
}

// eventsOf asks what was said about a group.
func eventsOf(t *testing.T, k *SchedulerKinds, namespace, group string) ([]string, error) {
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
	now := start
	k, questions, _ := asking(t, &now)
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
		now = now.Add(step.after)
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

// No answer is not remembered: the next one to ask may get one.
func TestTroubleWithEventsIsNotRemembered(t *testing.T) {
	now := start
	k, questions, refuse := asking(t, &now)
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
	now := start
	k, questions, _ := asking(t, &now)
	ask := func(from, to int) {
		for i := from; i < to; i++ {
			if _, err := eventsOf(t, k, "jobs", fmt.Sprint("g-", i)); err != nil {
				t.Fatal(err)
			}
		}
	}
	ask(0, eventLists+10)
	if n := len(k.eventCache.lists); n != eventLists {
		t.Errorf("%d answers are remembered, want %d", n, eventLists)
	}
	ask(0, eventLists)
	if want := eventLists + 10; *questions != want {
		t.Errorf("%d questions, want %d: the first ones are remembered", *questions, want)
	}
	now = now.Add(eventsHold)
	ask(eventLists, eventLists+1)
	if n := len(k.eventCache.lists); n != 1 {
		t.Errorf("%d answers are remembered once all others are old, want 1", n)
	}
}
