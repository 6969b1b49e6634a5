// SPDX-License-Identifier: Apache-2.0

package sentinel

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	v1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/internal/actuate"
	"github.com/firesteel-dev/firesteel/internal/convert/apache"
)

// world is an API server, and a cache that shows it when it is synchronized.
type world struct {
	*Probe
	t       *testing.T
	server  client.WithWatch
	clock   *clocktesting.FakeClock
	refuses error
	stopped map[string]bool // namespaces that are not watched
}

func newWorld(t *testing.T, objects ...client.Object) *world {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, clock: clocktesting.NewFakeClock(time.Unix(1e9, 0)), stopped: map[string]bool{}}
	w.server = fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithInterceptorFuncs(interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, options ...client.PatchOption) error {
			if w.refuses != nil {
				return w.refuses
			}
			before, _ := o.DeepCopyObject().(client.Object)
			if err := c.Get(ctx, client.ObjectKeyFromObject(o), before); err != nil {
				return err
			}
			if err := c.Patch(ctx, o, patch, options...); err != nil {
				return err
			}
			if !cmp.Equal(apache.SparkConf(before), apache.SparkConf(o)) { // as an API server counts
				o.SetGeneration(before.GetGeneration() + 1)
			}
			return c.Update(ctx, o)
		},
	}).Build()
	w.Probe = &Probe{
		Cache: fake.NewClientBuilder().WithScheme(scheme).Build(), Writer: actuate.Writer{Client: w.server}, Clock: w.clock, Log: logr.Discard(),
		Label: v1.LabelSentinel, Sentinel: apache.Sentinel, Conf: apache.SparkConf, Watches: func(namespace string) bool { return !w.stopped[namespace] },
	}
	w.Add(&v1.SparkApplicationList{})
	w.Add(&v1.SparkClusterList{})
	w.sync()
	return w
}

// sync lets the cache show what there is.
func (w *world) sync() {
	w.t.Helper()
	scheme := runtime.NewScheme()
	if err := v1.AddToScheme(scheme); err != nil {
		w.t.Fatal(err)
	}
	b := fake.NewClientBuilder().WithScheme(scheme)
	var applications v1.SparkApplicationList
	var clusters v1.SparkClusterList
	if err := errors.Join(w.server.List(w.t.Context(), &applications), w.server.List(w.t.Context(), &clusters)); err != nil {
		w.t.Fatal(err)
	}
	w.Cache = b.WithLists(&applications, &clusters).Build()
}

// pass lets a period pass, and the next round come.
func (w *world) pass() {
	w.clock.Step(usualPeriod)
	w.round(w.t.Context())
}

// numbers are those of all objects that have one, by their names.
func (w *world) numbers() map[string]string {
	w.t.Helper()
	found := map[string]string{}
	for _, list := range w.lists {
		all, _ := list.DeepCopyObject().(client.ObjectList)
		if err := w.server.List(w.t.Context(), all); err != nil {
			w.t.Fatal(err)
		}
		switch l := all.(type) {
		case *v1.SparkApplicationList:
			for i := range l.Items {
				found[l.Items[i].Name] = l.Items[i].Spec.SparkConf[confNumber]
			}
		case *v1.SparkClusterList:
			for i := range l.Items {
				found[l.Items[i].Name] = l.Items[i].Spec.SparkConf[confNumber]
			}
		}
	}
	for name, number := range found {
		if number == "" {
			delete(found, name)
		}
	}
	return found
}

func (w *world) check() error {
	return w.Check(httptest.NewRequestWithContext(w.t.Context(), http.MethodGet, "/healthz", nil))
}

func (w *world) expect(healthy bool, numbers map[string]string) {
	w.t.Helper()
	if err := w.check(); (err == nil) != healthy {
		w.t.Errorf("healthy: want %v, got %v", healthy, err)
	}
	if diff := cmp.Diff(numbers, w.numbers()); diff != "" {
		w.t.Errorf("numbers (-want +got):\n%s", diff)
	}
}

func metaOf(name, label string, age int) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: "ops", Name: name, UID: types.UID(name), Generation: 1, Labels: map[string]string{v1.LabelSentinel: label},
		CreationTimestamp: metav1.Unix(int64(1e9-age), 0),
	}
}

func application(name, label string, conf map[string]string) *v1.SparkApplication {
	return &v1.SparkApplication{ObjectMeta: metaOf(name, label, 0), Spec: v1.SparkApplicationSpec{SparkConf: conf}}
}

func TestNumbers(t *testing.T) {
	for name, tc := range map[string]struct{ reason, before, want string }{
		"None":     {"it begins with 1", "", "1"},
		"Next":     {"it is counted up", "41", "42"},
		"Word":     {"its owner wrote it", "many", "1"},
		"Negative": {"its owner wrote it", "-7", "1"},
		"Huge":     {"the next one is no number", "9223372036854775807", "1"},
	} {
		if got := next(tc.before); got != tc.want {
			t.Errorf("%s: %s: got %s, want %s", name, tc.reason, got, tc.want)
		}
	}
}

// Sentinels of both kinds are edited in each period, and nothing else is. Who has none is healthy.
func TestSentinelsAreEdited(t *testing.T) {
	deleted := application("deleted", "true", nil)
	deleted.Finalizers, deleted.DeletionTimestamp = []string{v1.Finalizer}, &metav1.Time{Time: time.Unix(1e9, 0)}
	other := application("other", "false", nil)
	newWorld(t, other).expect(true, map[string]string{})

	w := newWorld(t, application("app", "true", map[string]string{"a": "b"}), &v1.SparkCluster{ObjectMeta: metaOf("cluster", "True", 0)}, other, deleted)
	for _, number := range []string{"1", "2", "3"} {
		w.pass()
		w.expect(true, map[string]string{"app": number, "cluster": number})
		w.sync()
	}
	var o v1.SparkApplication
	if err := w.server.Get(t.Context(), client.ObjectKey{Namespace: "ops", Name: "app"}, &o); err != nil || o.Spec.SparkConf["a"] != "b" {
		t.Errorf("the rest of its properties is gone: %v, %v", o.Spec.SparkConf, err)
	}
}

// An edit that the cache does not show in time fails the check, until it does. Nothing more is edited meanwhile.
func TestCacheThatIsBehind(t *testing.T) {
	w := newWorld(t, application("app", "true", nil))
	w.pass()
	w.clock.Step(usualPeriod - time.Second)
	w.expect(true, map[string]string{"app": "1"})
	w.clock.Step(time.Second)
	w.expect(false, map[string]string{"app": "1"})
	if err := w.check(); !strings.Contains(err.Error(), "SparkApplication ops/app") {
		t.Errorf("the check does not name it: %v", err)
	}
	w.pass()
	w.expect(false, map[string]string{"app": "1"})
	w.sync()
	w.expect(true, map[string]string{"app": "1"})
	w.pass()
	w.expect(true, map[string]string{"app": "2"})
}

// What its owner or an administrator does with a sentinel is no fault of the operator: a restart would not help, or tenants could cause it.
func TestSentinelsThatAreNotJudged(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		do     func(w *world)
	}{
		"Deleted": {"the cache shows that", func(w *world) {
			if err := w.server.Delete(w.t.Context(), application("app", "", nil)); err != nil {
				w.t.Fatal(err)
			}
			w.sync()
		}},
		"Unlabeled": {"it is an application now", func(w *world) {
			var o v1.SparkApplication
			if err := w.Cache.Get(w.t.Context(), client.ObjectKey{Namespace: "ops", Name: "app"}, &o); err != nil {
				w.t.Fatal(err)
			}
			o.Labels = nil
			if err := w.Cache.(client.Client).Update(w.t.Context(), &o); err != nil {
				w.t.Fatal(err)
			}
		}},
		"Recreated": {"another object of the name", func(w *world) {
			o := application("app", "true", nil)
			o.UID = "another"
			if err := w.server.Delete(w.t.Context(), o); err != nil {
				w.t.Fatal(err)
			}
			if err := w.server.Create(w.t.Context(), o); err != nil {
				w.t.Fatal(err)
			}
			w.sync()
		}},
		"NotWatched": {"the namespace was taken off the list, or the rights in it", func(w *world) { w.stopped["ops"] = true }},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, application("app", "true", nil))
			w.round(t.Context())
			tc.do(w)
			w.clock.Step(usualPeriod)
			if err := w.check(); err != nil {
				t.Errorf("%s: %v", tc.reason, err)
			}
		})
	}
	t.Run("Refused", func(t *testing.T) {
		w := newWorld(t, application("app", "true", nil))
		w.refuses = errors.New("forbidden")
		w.pass()
		w.pass()
		w.expect(true, map[string]string{})
		w.refuses = nil
		w.pass()
		w.expect(true, map[string]string{"app": "1"})
	})
}

// A tenant with thousands of sentinels costs ten edits in a period, and those of others that are older go first.
func TestEditsAreBounded(t *testing.T) {
	var all []client.Object
	want := map[string]string{}
	for i := range 3 * mostEdits {
		name := fmt.Sprintf("s%02d", i)
		all = append(all, &v1.SparkApplication{ObjectMeta: metaOf(name, "true", i)})
		if i >= 2*mostEdits {
			want[name] = "1"
		}
	}
	w := newWorld(t, all...)
	w.pass()
	w.expect(true, want)
	w.pass()
	w.expect(false, want)
}

// Namespaces take turns, from the oldest sentinel of each: one tenant cannot have all edits.
func TestEditsAreShared(t *testing.T) {
	var all []client.Object
	want := map[string]string{}
	for i := range 3 * mostEdits {
		o := &v1.SparkApplication{ObjectMeta: metaOf(fmt.Sprintf("many%02d", i), "true", i+100)}
		if o.Namespace = "greedy"; i >= 2*mostEdits+2 {
			want[o.Name] = "1"
		}
		all = append(all, o)
	}
	for i := range 2 {
		o := &v1.SparkCluster{ObjectMeta: metaOf(fmt.Sprintf("late%d", i), "true", i)}
		want[o.Name] = "1"
		all = append(all, o)
	}
	w := newWorld(t, all...)
	w.pass()
	w.expect(true, want)
}

// It edits at once and then in each period, until the operator stops.
func TestStart(t *testing.T) {
	w := newWorld(t, application("app", "true", nil))
	w.Cache = w.server
	edited := make(chan struct{})
	w.Writer.Client = interceptor.NewClient(w.server, interceptor.Funcs{Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, options ...client.PatchOption) error {
		err := c.Patch(ctx, o, patch, options...)
		select {
		case edited <- struct{}{}:
		case <-ctx.Done():
		}
		return err
	}})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.Start(ctx) }()
	<-edited
	w.clock.Step(usualPeriod)
	<-edited
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
