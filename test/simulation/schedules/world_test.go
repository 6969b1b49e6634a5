// SPDX-License-Identifier: Apache-2.0

// Package schedules runs the reconciler of schedules in a simulated cluster: an API server with the semantics that matter, operators
// that die, caches that are behind, users and runs, all driven by one seed over months and years of simulated time.
package schedules

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
)

type (
	timetable = v1beta2.ScheduledSparkApplication
	run       = v1beta2.SparkApplication
)

const namespace = "jobs"

// world is the API server and the time.
type world struct {
	rand    *rand.Rand
	now     time.Time
	version int
	uids    int
	object  *timetable
	// gone says that the schedule is.
	gone  bool
	stats stats
	runs  map[string]*run
	// drivers are the runs whose driver pods exist, also if the runs do not.
	drivers map[string]bool
	judge   *judge
	story   []string
}

func (w *world) Now() time.Time                  { return w.now }
func (w *world) Since(t time.Time) time.Duration { return w.now.Sub(t) }
func (w *world) chance(percent int) bool         { return w.rand.IntN(100) < percent }
func (w *world) tell(format string, args ...any) {
	w.story = append(w.story, w.now.UTC().Format("2006-01-02 15:04:05 ")+fmt.Sprintf(format, args...))
}
func (w *world) stamp() string          { w.version++; return strconv.Itoa(w.version) }
func pick[T any](w *world, from ...T) T { return from[w.rand.IntN(len(from))] }
func notFound(name string) error {
	return apierrors.NewNotFound(schema.GroupResource{Resource: "sparkapplications"}, name)
}
func conflict(name string) error {
	return apierrors.NewConflict(schema.GroupResource{Resource: "sparkapplications"}, name, errors.New("changed"))
}

// killed is thrown where an operator dies.
type killed struct{}

// errLost is an answer that did not arrive.
var errLost = apierrors.NewServerTimeout(schema.GroupResource{Resource: "sparkapplications"}, "any", 1)

// call is an API call of an operator: it may die before or after it, or the answer may be lost.
func (o *operator) call(write bool, do func() error) error {
	o.calls++
	if o.w.chance(o.dies) {
		o.w.stats.crashes++
		if write && o.wrote {
			o.w.stats.between++
		}
		panic(killed{})
	}
	if o.rival != nil && write && o.w.chance(10) {
		o.w.judge.raced = true
		o.rival.reconcile()
	}
	err := do()
	o.wrote = o.wrote || write && err == nil
	switch {
	case o.w.chance(o.dies):
		o.w.stats.crashes++
		panic(killed{})
	case o.w.chance(o.dies):
		return errLost
	}
	return err
}

// server is the API server as an operator sees it.
type server struct {
	client.Client
	o *operator
}

func (s server) Get(_ context.Context, key client.ObjectKey, out client.Object, _ ...client.GetOption) error {
	w := s.o.w
	return s.o.call(false, func() error {
		switch out := out.(type) {
		case *metav1.PartialObjectMetadata:
			if w.gone {
				return notFound(key.Name)
			}
			w.object.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
			return nil
		case *run:
			if found := w.runs[key.Name]; found != nil {
				found.DeepCopyInto(out)
				return nil
			}
		}
		return notFound(key.Name)
	})
}

func (s server) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) error {
	w := s.o.w
	var options client.ListOptions
	options.ApplyOptions(opts)
	return s.o.call(false, func() error {
		switch list := list.(type) {
		case *v1beta2.SparkApplicationList:
			for _, name := range slices.Sorted(maps.Keys(w.runs)) {
				if r := w.runs[name]; options.LabelSelector.Matches(labels.Set(r.Labels)) {
					list.Items = append(list.Items, *r.DeepCopy())
				}
			}
		case *corev1.PodList:
			for name := range w.drivers {
				if options.LabelSelector.Matches(labels.Set{v1beta2.LabelAppName: name, "spark-role": "driver"}) {
					list.Items = append(list.Items, corev1.Pod{})
				}
			}
		}
		return nil
	})
}

func (s server) Create(_ context.Context, obj client.Object, _ ...client.CreateOption) error {
	w, r := s.o.w, obj.(*run)
	return s.o.call(true, func() error {
		if w.runs[r.Name] != nil {
			return apierrors.NewAlreadyExists(schema.GroupResource{Resource: "sparkapplications"}, r.Name)
		}
		if w.judge.refusing {
			return apierrors.NewInvalid(schema.GroupKind{Kind: "SparkApplication"}, r.Name, nil)
		}
		w.uids++
		r.UID, r.ResourceVersion, r.CreationTimestamp = types.UID(fmt.Sprint("r", w.uids)), w.stamp(), metav1.NewTime(w.now.Truncate(time.Second))
		w.judge.created(r)
		w.runs[r.Name], w.drivers[r.Name] = r.DeepCopy(), true
		w.tell("%s creates %s for %s (%s)", s.o.name, r.Name, r.Annotations[v1beta2.AnnotationScheduledTime], r.Annotations[v1beta2.AnnotationRunReason])
		return nil
	})
}

func (s server) Delete(_ context.Context, obj client.Object, opts ...client.DeleteOption) error {
	w := s.o.w
	var options client.DeleteOptions
	options.ApplyOptions(opts)
	return s.o.call(true, func() error {
		found := w.runs[obj.GetName()]
		if found == nil {
			return notFound(obj.GetName())
		}
		if p := options.Preconditions; p == nil || p.UID == nil || *p.UID != found.UID || p.ResourceVersion != nil && *p.ResourceVersion != found.ResourceVersion {
			return conflict(obj.GetName())
		}
		w.judge.deleted(found)
		w.tell("%s deletes %s", s.o.name, found.Name)
		w.remove(found)
		return nil
	})
}

// remove deletes a run, sometimes only after a while.
func (w *world) remove(r *run) {
	if w.chance(20) && r.DeletionTimestamp.IsZero() {
		r.DeletionTimestamp, r.ResourceVersion = &metav1.Time{Time: w.now}, w.stamp()
		return
	}
	delete(w.runs, r.Name)
	w.stamp()
	if kubeflow.RunOf(r).Phase != 0 || w.chance(70) {
		delete(w.drivers, r.Name)
	}
}

func (s server) Status() client.SubResourceWriter { return statusWriter{o: s.o} }
func (s server) Scheme() *runtime.Scheme          { return nil }

type statusWriter struct {
	client.SubResourceWriter
	o *operator
}

func (s statusWriter) Patch(_ context.Context, obj client.Object, _ client.Patch, _ ...client.SubResourcePatchOption) error {
	w, next := s.o.w, obj.(*timetable)
	return s.o.call(true, func() error {
		switch {
		case w.gone:
			return notFound(next.Name)
		case next.ResourceVersion != w.object.ResourceVersion:
			return conflict(next.Name)
		}
		w.judge.stored(&w.object.Status, &next.Status)
		next.Status.DeepCopyInto(&w.object.Status)
		w.object.ResourceVersion = w.stamp()
		next.ResourceVersion = w.object.ResourceVersion
		return nil
	})
}

// cache is what an operator's informers know.
type cache struct {
	client.Reader
	o *operator
}

func (c cache) Get(_ context.Context, _ client.ObjectKey, out client.Object, _ ...client.GetOption) error {
	if c.o.object == nil {
		return notFound("schedule")
	}
	if out, is := out.(*metav1.PartialObjectMetadata); is { // of a mutation, which reads live objects here
		c.o.object.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
		return nil
	}
	c.o.object.DeepCopyInto(out.(*timetable))
	return nil
}

func (c cache) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	all := list.(*v1beta2.SparkApplicationList)
	for _, name := range slices.Sorted(maps.Keys(c.o.runs)) {
		if _, _, is := (kubeflow.Schedules{}).ScheduleOf(c.o.runs[name]); is {
			all.Items = append(all.Items, *c.o.runs[name])
		}
	}
	return nil
}
