// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/actuate"
	"github.com/firesteel-dev/firesteel/internal/admission"
	"github.com/firesteel-dev/firesteel/internal/convert/apache"
	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/observe"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/spark"
	"github.com/firesteel-dev/firesteel/internal/testutil/testrun"
)

// attempts : nothing is left of many attempts that asked for a start and gave it back, and the next one runs. They
// go through the plugin and the operator's writer; what operators do between the two the other cases try with pods.
func attempts(w *Harness) {
	many := testrun.Pick[int32](100, 100, 1000)
	w.startWithRoomFor(1)
	owner, _ := w.suspended("many")
	before := time.Now()
	const hands = 4
	var group sync.WaitGroup
	var errs [hands]error
	for i := range errs {
		group.Go(func() {
			for number := int32(i + 1); number <= many && errs[i] == nil; number += hands {
				errs[i] = w.askAndGiveBack(w.Context(), owner, number)
			}
		})
	}
	group.Wait()
	must(w, "ask and give back", errors.Join(errs[:]...))
	w.Logf("%d attempts in %s", many, time.Since(before).Round(time.Millisecond))
	w.nothingOwned()
	w.change(owner, func(o *app) { o.Spec.Suspend = nil })
	w.runs(owner, 1)
	w.completes(owner)
	w.nothingOwned()
}

// user : the scheduler knows the creator of an application, also after another user has edited it and it runs again. A user
// that the creator writes on the pods does not count.
func user(w *Harness) {
	w.apache = true
	w.startWithRoomFor(1)
	const forged = `{"user":"root","groups":["admins"]}`
	a := w.create("who", func(o *app) {
		o.Annotations = map[string]string{v1beta2.AnnotationSubmitter: "ann", v1beta2.AnnotationSubmitterGroups: "dev"}
	})
	w.runs(a, 1)
	is := func() {
		w.Helper()
		w.eventually("the user of "+a.Name, func() error {
			name, err := w.User(w.Context(), w.driver(a))
			if err == nil && name != "ann" {
				err = fmt.Errorf("it is %q", name)
			}
			return err
		})
	}
	is()
	w.change(a, func(o *app) {
		o.Annotations = map[string]string{v1beta2.AnnotationSubmitter: "bob", v1beta2.AnnotationSubmitterGroups: "ops"}
		o.Spec.Arguments = append(o.Spec.Arguments, "edited")
	})
	w.eventually("it runs as it was edited", func() error {
		pods := w.pods(a, spark.RoleDriver)
		if len(pods) != 1 || !slices.Contains(pods[0].Spec.Containers[0].Args, "edited") {
			return fmt.Errorf("%d drivers, and not with the edited arguments", len(pods))
		}
		return nil
	})
	w.runs(a, 1)
	is()
	w.completes(a)
	w.userOfCluster()

	for name, recorded := range map[string]map[string]string{"forged": {v1beta2.AnnotationSubmitter: "ann"}, "unrecorded": nil} {
		b := w.create(name, func(o *app) {
			o.Annotations = recorded
			o.Spec.Driver.Annotations = map[string]string{"yunikorn.apache.org/user.info": forged}
		})
		w.eventually("what is forged is refused: "+name, w.inState(b, v1beta2.ApplicationStateFailed))
	}
}

// userOfCluster : the same for a cluster, whose pods Kubernetes creates. Each of them may be the first.
func (w *Harness) userOfCluster() {
	w.Helper()
	o := w.cluster("cluster")
	o.Annotations = map[string]string{v1beta2.AnnotationSubmitter: "ann"}
	must(w, "create the cluster", w.Client.Create(w.Context(), o))
	w.clusterRuns(o, apache.RoleMaster, apache.RoleWorker)
	for _, pod := range w.apachePods(o) {
		if name, err := w.User(w.Context(), &pod); err != nil || name != "ann" {
			w.Errorf("the user of %s is %q, not ann (%v)", pod.Name, name, err)
		}
	}
	must(w, "delete the cluster", w.Client.Delete(w.Context(), o))
	w.apacheHoldsNothing(o)
}

// askAndGiveBack is an attempt as the engine makes it, without pods.
func (w *Harness) askAndGiveBack(ctx context.Context, owner *app, number int32) error {
	p := w.plugin(w)
	half := corev1.ResourceList{corev1.ResourceCPU: quantity("1"), corev1.ResourceMemory: quantity("896Mi")}
	id := admission.AttemptID(spark.NewIdentity(owner.UID, number, time.Now()), number)
	a := scheduler.Attempt{
		App:    scheduler.App{Namespace: owner.Namespace, Name: owner.Name, UID: owner.UID},
		Number: number, ID: id, QueuedAt: time.Now(), Choice: scheduler.Choice{Scheduler: w.Scheduler, Source: scheduler.SourceApplication, Queue: w.place.Queue},
		PodSets: spark.PodSets{
			Driver: spark.PodResources{Requests: half}, Executor: spark.PodResources{Requests: half}, Initial: 1, Max: 1,
		},
	}
	reader := observe.Reader{Cache: w.Client, Live: w.Client}
	reads, err := scheduler.Reads(p, a)
	if err != nil {
		return err
	}
	seen, err := reader.Snapshot(ctx, reads)
	if err != nil {
		return err
	}
	plan, err := scheduler.AdmitAttempt(p, a, seen)
	if err != nil {
		return err
	}
	if len(plan.Apply) == 0 {
		return fmt.Errorf("the plugin makes nothing: %+v", plan)
	}
	writer := actuate.Writer{Client: client.WithFieldOwner(w.Client, "conformance"), Existing: reader.Existing}
	mark := kubeflow.SparkApplications{}.Family().Owner(owner, spark.NewIdentity(owner.UID, number, time.Now()).SubmissionID)
	if r := writer.Schedule(ctx, mark, owner.Name, plan, seen); r.Class != lifecycle.ClassDone {
		return fmt.Errorf("schedule: %s %s", r.Class, r.Message)
	}
	refs, err := scheduler.Release(p, a)
	if err != nil {
		return err
	}
	if r := writer.Release(ctx, mark, refs); r.Class != lifecycle.ClassDone {
		return fmt.Errorf("release: %s %s", r.Class, r.Message)
	}
	return nil
}

// nothingOwned waits until there is no object of the plugin in the namespace.
func (w *Harness) nothingOwned() {
	w.Helper()
	w.eventually("no object of the scheduler is left", func() error {
		if left := w.owned(w.Context(), w.Namespace); len(left) > 0 {
			return fmt.Errorf("%d objects are left, for one %s %s", len(left), left[0].GetKind(), left[0].GetName())
		}
		return nil
	})
}

// respecified : an application that is edited while it waits continues to wait, with its new size.
func respecified(w *Harness) {
	first := w.create("occupies")
	w.runs(first, 1)
	a := w.create("changes")
	w.waits(a, w.Full...)
	w.change(a, func(o *app) { o.Spec.Executor.CoreRequest = ptr.To("500m") })
	w.eventually("the change is applied", func() error {
		current, err := w.get(a)
		if err == nil && current.Status.ObservedGeneration < current.Generation {
			err = fmt.Errorf("observed generation %d of %d", current.Status.ObservedGeneration, current.Generation)
		}
		return err
	})
	w.waits(a, w.Full...)
	w.completes(first)
	w.runs(a, 1)
	if got := requests(&w.pods(a, spark.RoleExecutor)[0])[corev1.ResourceCPU]; got.Cmp(quantity("500m")) != 0 {
		w.Errorf("its executor asks for %s, and the change said 500m", got.String())
	}
	w.hasGroups(a, true)
	if w.Reckons != nil {
		reckoned, err := w.Reckons(w.Context(), w.Client, w.driver(a), w.ownedBy(a))
		must(w, "read what the scheduler got", err)
		if cpu := reckoned[corev1.ResourceCPU]; cpu.Cmp(quantity("1500m")) != 0 {
			w.Errorf("the scheduler got %s CPUs, and the application asks for 1500m", cpu.String())
		}
	}
	w.completes(a)
}

// edited : what someone edits in an object of the scheduler's is put right, whether the application waits or runs.
func (w *Harness) edited(a *app) {
	w.Helper()
	all := w.ownedBy(a)
	if len(all) == 0 {
		return // a quota holds it back, and it has nothing yet
	}
	o := all[0]
	want, found, err := nestedNumber(&o)
	if err != nil || !found {
		w.Fatalf("%s has no spec.minMember: %v", o.GetKind(), err)
	}
	patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"spec":{"minMember":%d}}`, want+6))
	must(w, "edit the object", w.Client.Patch(w.Context(), &o, patch, client.FieldOwner("somebody")))
	w.eventually("the edit is undone", func() error {
		must(w, "read the object", w.Client.Get(w.Context(), client.ObjectKeyFromObject(&o), &o))
		if got, _, _ := nestedNumber(&o); got != want {
			return fmt.Errorf("minMember is %d, and was %d", got, want)
		}
		return nil
	})
}
