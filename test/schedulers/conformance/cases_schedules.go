// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/schedule"
)

type scheduled = v1beta2.ScheduledSparkApplication

// schedules : a run that waits for its scheduler is unfinished. Replace deletes it with its objects, Forbid starts no other
// run, and it runs when there is room.
func schedules(w *Harness) {
	w.startWithRoomFor(1)
	first := w.create("first")
	w.runs(first, 1)
	o := &scheduled{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "cron"}}
	o.Spec.Schedule, o.Spec.ConcurrencyPolicy, o.Spec.Template = "@yearly", v1beta2.ConcurrencyReplace, w.application("template").Spec
	must(w, "create the schedule", w.Client.Create(w.Context(), o))
	replaced := w.trigger(o, time.Now().Add(-time.Minute))
	w.waits(replaced, w.Full...)
	run := w.trigger(o, time.Now())
	w.gone(replaced)
	w.waits(run, w.Full...)

	w.editSchedule(o, func() { o.Spec.Schedule, o.Spec.ConcurrencyPolicy = "@every 1s", v1beta2.ConcurrencyForbid })
	w.eventually("the next run waits for the one that waits", func() error {
		must(w, "read the schedule", w.Client.Get(w.Context(), client.ObjectKeyFromObject(o), o))
		c := meta.FindStatusCondition(o.Status.Conditions, schedule.ConditionRunActive)
		if c == nil || c.Reason != string(schedule.ReasonWaitingForActive) {
			return fmt.Errorf("the schedule says %+v", c)
		}
		return nil
	})
	w.during("no other run starts", 2*time.Second, func() error {
		var all v1beta2.SparkApplicationList
		must(w, "list runs", w.Client.List(w.Context(), &all, client.InNamespace(w.Namespace), client.MatchingLabels{v1beta2.LabelScheduledAppName: o.Name}))
		if len(all.Items) != 1 || all.Items[0].Name != run.Name {
			return fmt.Errorf("%d runs, and not %s only", len(all.Items), run.Name)
		}
		return nil
	})
	w.editSchedule(o, func() { o.Spec.Suspend = ptr.To(true) })

	w.completes(first)
	w.runs(run, 1)
	w.hasGroups(run, true)
	w.completes(run)
	must(w, "delete the schedule", w.Client.Delete(w.Context(), o))
	w.gone(run)
	w.nothingOwned()
}

// trigger starts a run, and returns it when it is there.
func (w *Harness) trigger(o *scheduled, at time.Time) *app {
	w.Helper()
	w.editSchedule(o, func() {
		metav1.SetMetaDataAnnotation(&o.ObjectMeta, v1beta2.AnnotationTriggerAt, at.UTC().Format(time.RFC3339))
	})
	run := &app{ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: schedule.Name(o.Name, at.Truncate(time.Second), schedule.Nanos)}}
	w.eventually(run.Name+" is started", func() error {
		_, err := w.get(run)
		return err
	})
	return run
}

func (w *Harness) editSchedule(o *scheduled, edit func()) {
	w.Helper()
	w.eventually("change "+o.Name, func() error {
		if err := w.Client.Get(w.Context(), client.ObjectKeyFromObject(o), o); err != nil {
			return err
		}
		edit()
		return w.Client.Update(w.Context(), o)
	})
}
