// SPDX-License-Identifier: Apache-2.0

package schedules

import (
	"context"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	schedulecontroller "github.com/firesteel-dev/firesteel/internal/controller/schedule"
	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
	"github.com/firesteel-dev/firesteel/internal/observe"
	"github.com/firesteel-dev/firesteel/internal/schedule"
)

// operator is a process with its caches.
type operator struct {
	w         *world
	name      string
	engine    *schedulecontroller.Engine[*timetable, *run]
	precision schedule.Precision
	object    *timetable
	runs      map[string]*run
	// dies is the chance in percent that it dies at a call.
	dies, calls int
	// deaf is the chance in percent that news do not wake it; wrote says that a write of the present reconcile was done.
	deaf  int
	wrote bool
	// timer is when it reconciles next, unless it is enqueued before.
	timer    time.Time
	enqueued bool
	rival    *operator
	mutation mutation
}

// mutation breaks an operator.
type mutation func(client.Client, client.Reader, client.Reader) (client.Client, client.Reader, client.Reader)

// silent records no events: what is sent is the difference of what is stored.
type silent struct{}

func (silent) Eventf(runtime.Object, runtime.Object, string, string, string, string, ...any) {}

func (o *operator) start() {
	var writer client.Client = server{o: o}
	var cached, live client.Reader = cache{o: o}, server{o: o}
	if o.mutation != nil {
		writer, cached, live = o.mutation(writer, cached, live)
	}
	reader := observe.Reader{Cache: cached, Live: live}
	o.engine = schedulecontroller.NewEngine(kubeflow.Schedules{}, &v1beta2.ScheduledSparkApplicationList{}, &v1beta2.SparkApplicationList{}, reader, writer, silent{}, o.w, time.UTC, o.precision)
	o.object, o.runs, o.enqueued, o.timer = nil, map[string]*run{}, true, time.Time{}
	o.catchUp(100)
}

// catchUp brings news to the caches, each with a chance, and enqueues the schedule as its watches would.
func (o *operator) catchUp(percent int) {
	w := o.w
	switch {
	case w.gone && o.object == nil:
	case w.gone:
		o.object, o.enqueued = nil, true
	case (o.object == nil || o.object.ResourceVersion != w.object.ResourceVersion) && w.chance(percent):
		o.object, o.enqueued = w.object.DeepCopy(), o.enqueued || o.hears()
	}
	for _, name := range slices.Sorted(maps.Keys(w.runs)) {
		r, known := w.runs[name], o.runs[name]
		if known != nil && known.ResourceVersion == r.ResourceVersion || !w.chance(percent) {
			continue
		}
		if known == nil || known.UID != r.UID || kubeflow.RunOf(known).Phase != kubeflow.RunOf(r).Phase || known.DeletionTimestamp.IsZero() != r.DeletionTimestamp.IsZero() {
			o.enqueued = o.enqueued || o.hears()
		}
		o.runs[name] = r.DeepCopy()
	}
	for _, name := range slices.Sorted(maps.Keys(o.runs)) {
		if w.runs[name] == nil && w.chance(percent) {
			delete(o.runs, name)
			o.enqueued = o.enqueued || o.hears()
		}
	}
}

// due is whether it has a reason to reconcile.
func (o *operator) due() bool { return o.enqueued || !o.timer.IsZero() && !o.timer.After(o.w.now) }

// reconcile reconciles once, and returns its timer. An operator that dies starts again.
func (o *operator) reconcile() (timer time.Time) {
	defer func() {
		if dead := recover(); dead != nil {
			if _, is := dead.(killed); !is {
				panic(dead)
			}
			o.w.tell("%s dies", o.name)
			o.start()
		}
	}()
	if o.enqueued, o.wrote = false, false; o.behind() {
		o.w.stats.behind++
	}
	name := client.ObjectKey{Namespace: namespace, Name: o.w.object.Name}
	result, err := o.engine.Reconcile(context.Background(), reconcile.Request{NamespacedName: name})
	switch {
	case err != nil:
		o.timer = o.w.now.Add(time.Second) // the work queue's back-off
	case result.RequeueAfter > 0:
		o.timer = o.w.now.Add(result.RequeueAfter)
	case o.object == nil || !o.object.DeletionTimestamp.IsZero():
		o.timer = time.Time{}
	default:
		o.w.judge.fail("a reconcile ends without a timer")
	}
	return o.timer
}
