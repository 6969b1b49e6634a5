// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/internal/admission"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// askedTwice : asking the plugin again changes nothing, neither while the application waits nor while it runs, nor by an
// operator that remembers nothing.
func askedTwice(w *Harness) {
	w.startWithRoomFor(1)
	first := w.create("first")
	w.runs(first, 1)
	w.quiet("while it runs", first, 2*time.Second)
	second := w.create("second")
	w.waits(second, w.Full...)
	w.operator.restart()
	w.quiet("after a restart", second, 3*time.Second)
	groups := w.hasGroups(first, true)
	if again := w.hasGroups(first, true); !slices.Equal(groups, again) {
		w.Errorf("the objects changed from %v to %v", groups, again)
	}
}

// restarts : an operator that is restarted between every two steps loses nothing and does nothing twice.
func restarts(w *Harness) {
	w.startWithRoomFor(1)
	first := w.create("first")
	w.operator.restart()
	w.runs(first, 1)
	uid := w.driver(first).UID
	second := w.create("second")
	w.waits(second, w.Full...)
	w.operator.restart()
	w.waits(second, w.Full...)
	groups := w.groups(second)
	w.end(first, 0)
	w.operator.restart()
	w.eventually("it completes", w.inState(first, "COMPLETED"))
	w.runs(second, 1)
	w.operator.restart()
	w.runs(second, 1)
	for _, a := range []*app{first, second} {
		current, err := w.get(a)
		must(w, "read it", err)
		if current.Status.SubmissionAttempts != 1 || current.Status.Attempt > 1 {
			w.Errorf("%s was submitted %d times in %d attempts", a.Name, current.Status.SubmissionAttempts, current.Status.Attempt)
		}
	}
	if again := w.driver(first).UID; again != uid {
		w.Error("the driver is another one")
	}
	if after := w.hasGroups(second, true); len(groups) > 0 && !slices.Equal(groups, after) {
		w.Errorf("the objects changed from %v to %v", groups, after)
	}
	w.completes(second)
}

// names : names as long as they may be, and the same name in two namespaces.
func names(w *Harness) {
	w.makePlace(2)
	here := w.place
	other := w.newNamespace()
	there, err := w.Environment.Place(w.Context(), other, room(2))
	must(w, "make a place", err)
	w.start()
	name := "a" + strings.Repeat("-long", 12) // 61 characters
	mine := w.create(name)
	w.Namespace, w.place = other, there
	theirs := w.create(name)
	w.Namespace, w.place = w.namespaces[0], here
	w.runs(mine, 1)
	w.runs(theirs, 1)
	if a, b := w.hasGroups(mine, true), w.hasGroups(theirs, true); len(a) > 0 && a[0] == b[0] {
		w.Errorf("both have the object %s", a[0])
	}
	if a, b := w.claimed(w.driver(mine)), w.claimed(w.driver(theirs)); len(a) > 0 && slices.Equal(a, b) && len(w.DoesNotApply[13]) == 0 {
		w.Errorf("the scheduler cannot distinguish their pods: %v", a)
	}
	w.completes(mine)
	w.completes(theirs)
}

// claimed returns the plugin's own marks on a pod.
func (w *Harness) claimed(pod *corev1.Pod) []string {
	var found []string
	for _, key := range w.plugin(w).Describe().ManagedKeys {
		switch key.Part {
		case scheduler.PodLabel:
			found = append(found, key.Key+"="+pod.Labels[key.Key])
		case scheduler.PodAnnotation:
			found = append(found, key.Key+"="+pod.Annotations[key.Key])
		case scheduler.PodPriorityClass:
		}
	}
	return found
}

// suspended creates an application that does not start before it is resumed, so that its objects' names are known.
func (w *Harness) suspended(name string) (*app, string) {
	w.Helper()
	a := w.create(name, func(a *app) { a.Spec.Suspend = ptr.To(true) })
	current, err := w.get(a)
	must(w, "read it", err)
	return current, admission.AttemptID(spark.NewIdentity(current.UID, 1, time.Now()), 1)
}

// notOwned : an object of the same name that is not ours is left alone, and the message names it.
func notOwned(w *Harness) {
	w.startWithRoomFor(1)
	a, id := w.suspended("late")
	kind := w.plugin(w).Describe().Owns[0]
	theirs := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"minMember": int64(7)}}}
	theirs.SetGroupVersionKind(kind)
	theirs.SetNamespace(w.Namespace)
	theirs.SetName(id)
	must(w, "create the notOwned object", w.Client.Create(w.Context(), theirs))
	w.change(a, func(o *app) { o.Spec.Suspend = nil })
	message := w.waits(a, lifecycle.ReasonNameConflict)
	if !strings.Contains(message, id) {
		w.Errorf("the message does not name the object: %s", message)
	}
	must(w, "read the notOwned object", w.Client.Get(w.Context(), client.ObjectKeyFromObject(theirs), theirs))
	if n, _, _ := unstructured.NestedInt64(theirs.Object, "spec", "minMember"); n != 7 || len(theirs.GetOwnerReferences()) > 0 {
		w.Errorf("the notOwned object was changed: %v", theirs.Object)
	}
	must(w, "delete the notOwned object", w.Client.Delete(w.Context(), theirs))
	w.runs(a, 1)
	w.completes(a)
}

// meddling : what someone else deletes is made again, under the same name, and what they edit is put right, whether the
// application waits or runs.
func meddling(w *Harness) {
	w.startWithRoomFor(1)
	first := w.create("first")
	w.runs(first, 1)
	second := w.create("second")
	w.waits(second, w.Full...)
	for _, a := range []*app{first, second} {
		before := w.groups(a)
		if a == second && len(before) == 0 {
			continue // a quota holds it back, and it has nothing yet
		}
		w.eventually("the object comes back", func() error { return w.deleteAndSee(a, before[0]) })
		w.edited(a)
	}
	must(w, "the first one still runs", w.inState(first, stateRunning)())
	w.completes(first)
	w.runs(second, 1)
	w.completes(second)
}

// deleteAndSee deletes the named object and waits for another one in its place.
func (w *Harness) deleteAndSee(a *app, name string) error {
	for _, o := range w.owned(w.Context(), a.Namespace) {
		if o.GetName() != name {
			continue
		}
		uid := o.GetUID()
		must(w, "delete the object", client.IgnoreNotFound(w.Client.Delete(w.Context(), &o)))
		return eventually(w.Context(), func() error {
			for _, o := range w.owned(w.Context(), a.Namespace) {
				if o.GetName() == name && o.GetUID() != uid && o.GetDeletionTimestamp() == nil {
					return nil
				}
			}
			return fmt.Errorf("%s is not back", name)
		})
	}
	return fmt.Errorf("there is no %s", name)
}

// sizes : the operator counts with the sizes that the pods request.
func sizes(w *Harness) {
	w.startWithRoomFor(4)
	a := w.create("odd", func(a *app) {
		a.Spec.Driver.Memory, a.Spec.Driver.Cores = ptr.To("700m"), ptr.To[int32](1)
		a.Spec.Driver.MemoryOverhead = ptr.To("100m")
		a.Spec.Executor.Memory, a.Spec.Executor.CoreRequest = ptr.To("600m"), ptr.To("500m")
		a.Spec.Executor.Instances = ptr.To[int32](3)
	})
	w.runs(a, 3)
	driver, executors := w.driver(a), w.pods(a, spark.RoleExecutor)
	asked := requests(driver)
	for i := range executors {
		asked = scheduler.Sum(asked, requests(&executors[i]))
	}
	want := corev1.ResourceList{corev1.ResourceCPU: quantity("2500m"), corev1.ResourceMemory: quantity("3752Mi")} // 800 + 3 x 984
	for name, q := range want {
		if got := asked[name]; got.Cmp(q) != 0 {
			w.Errorf("the pods ask for %s of %s, and not for %s", got.String(), name, q.String())
		}
	}
	if w.Reckons == nil {
		return
	}
	reckoned, err := w.Reckons(w.Context(), w.Client, driver, w.owned(w.Context(), w.Namespace))
	must(w, "read what the scheduler got", err)
	for name, q := range want {
		if got := reckoned[name]; got.Cmp(q) != 0 {
			w.Errorf("the scheduler got %s of %s, and not %s", got.String(), name, q.String())
		}
	}
}
