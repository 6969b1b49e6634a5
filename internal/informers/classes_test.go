// SPDX-License-Identifier: Apache-2.0

package informers

import (
	"context"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/testutil/apiserver"
)

// All who wait and name one PriorityClass cost one GET a minute, also if it does not exist.
func TestPriorityClassesAreRemembered(t *testing.T) {
	now := clocktesting.NewFakeClock(start)
	gets := make(chan string, 1000)
	live := fake.NewClientBuilder().WithScheme(apiserver.Scheme()).WithObjects(&schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "urgent"}, Value: 7}).
		WithInterceptorFuncs(interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
			gets <- key.Name
			return c.Get(ctx, key, o, options...)
		}}).Build()
	k := newKindCache(kindCacheOptions{Live: live, Clock: now})
	get := func(name string) (int64, error) {
		var o unstructured.Unstructured
		o.SetGroupVersionKind(scheduler.PriorityClassKind)
		err := k.Get(t.Context(), client.ObjectKey{Name: name}, &o)
		value, _, _ := unstructured.NestedInt64(o.Object, "value")
		o.Object["value"] = int64(-1) // it is the caller's own
		return value, err
	}
	for _, step := range []struct {
		reason string
		after  time.Duration
		name   string
		gets   int
	}{
		{reason: "no one has asked yet", name: "urgent", gets: 1},
		{reason: "it is known", after: classHold - time.Second, name: "urgent"},
		{reason: "one that does not exist", name: "absent", gets: 1},
		{reason: "that is known, too", after: absentHold - time.Second, name: "absent"},
		{reason: "it may have been created", after: 2 * time.Second, name: "absent", gets: 1},
		{reason: "the answer is old", name: "urgent", gets: 1},
	} {
		now.Step(step.after)
		var all errgroup.Group
		for range 100 {
			all.Go(func() error {
				value, err := get(step.name)
				if absent := step.name == "absent"; absent != apierrors.IsNotFound(err) || !absent && value != 7 {
					t.Errorf("%s: value %d, error %v", step.reason, value, err)
				}
				return nil
			})
		}
		_ = all.Wait()
		if n := len(gets); n != step.gets {
			t.Errorf("%s: %d GET requests for 100 that ask, want %d", step.reason, n, step.gets)
		}
		for len(gets) > 0 {
			<-gets
		}
	}
}
