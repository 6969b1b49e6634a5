// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
)

// invariants knows what really happened and what must never happen.
type invariants struct {
	h *history
	// drivers in the order of their creation.
	drivers []*run
	apps    map[types.UID]*wish
	// enough is how many drivers an application that runs for ever has had when the user ends it.
	enough int
}

// run is what became of one driver pod.
type run struct {
	uid, app   types.UID
	submission string
	labels     map[string]string
	// spec is what it was made from.
	spec string
	// made is the whole object that it was made from.
	made client.Object
	// placed is where it makes executors.
	placed map[string]string
	// recorded is the version of the store in which a status first told of it; 0 for never.
	recorded int64
	// excused is set when a slower operator could not know that the attempt had had its driver.
	excused bool
	over    bool
	// code is that of the last end; again if its container was started again since.
	code int32
	gone bool
	// unheard is set when it was gone before a status told of it.
	unheard bool
}

// wish is what the user of one application has asked for.
type wish struct {
	// specs is what an attempt is made from, for each generation; edits counts its changes.
	specs   map[int64]string
	edits   int
	resumes int
	// placements counts the edits of where executors run. They make another attempt where the driver has no template.
	placements int
	// retries is how many attempts may follow the first. Each policy has its own: what one has used up for a class may not count for the next.
	retries int32
	endless bool
	renamed bool
	// stands are the objects from which was decided what cannot be taken back.
	stands stands
	// wentOn is when a status last told that the application goes on.
	wentOn metav1.Time
}

func newInvariants(h *history) *invariants {
	return &invariants{h: h, apps: map[types.UID]*wish{}}
}

func (l *invariants) applied(app *v1beta2.SparkApplication) {
	w := &wish{specs: map[int64]string{1: specOf(app)}}
	l.apps[app.UID] = w
	w.allow(app.Spec.RestartPolicy)
}

// specOf is what of a spec an attempt is made from, as far as the user of these histories changes it.
func specOf(app *v1beta2.SparkApplication) string {
	s := &app.Spec
	scheduled, queue := asked(s)
	return fmt.Sprint(len(s.Arguments), s.SparkVersion, ptr.Deref(s.Driver.PodName, ""), scheduled, queue)
}

func (w *wish) allow(p v1beta2.RestartPolicy) {
	retries := ptr.Deref(p.OnFailureRetries, 0)
	if p.Infrastructure != nil {
		retries += p.Infrastructure.Retries
	}
	if p.OutOfMemory != nil {
		retries += p.OutOfMemory.Retries
	}
	if p.Application != nil {
		retries += p.Application.Retries
	}
	restart := p.Type
	if restart == "" && retries > 0 {
		restart = v1beta2.RestartPolicyOnFailure // rules of classes are enough
	}
	switch restart {
	case v1beta2.RestartPolicyAlways:
		w.endless = true
	case v1beta2.RestartPolicyOnFailure:
		w.retries += retries
	case v1beta2.RestartPolicyNever:
	}
}

// edited learns what a new spec asks for.
func (l *invariants) edited(before, after *v1beta2.SparkApplication) {
	w := l.apps[after.UID]
	w.specs[after.Generation] = specOf(after)
	if w.specs[before.Generation] != w.specs[after.Generation] {
		w.edits++
	}
	if !maps.Equal(before.Spec.Executor.NodeSelector, after.Spec.Executor.NodeSelector) {
		w.placements++
	}
	w.renamed = w.renamed || ptr.Deref(before.Spec.Driver.PodName, "") != ptr.Deref(after.Spec.Driver.PodName, "")
	if ptr.Deref(before.Spec.Suspend, false) && !ptr.Deref(after.Spec.Suspend, false) {
		w.resumes++
	}
	if !equality.Semantic.DeepEqual(before.Spec.RestartPolicy, after.Spec.RestartPolicy) {
		w.allow(after.Spec.RestartPolicy)
	}
}

func (l *invariants) ours(p *corev1.Pod) bool {
	owner := metav1.GetControllerOfNoCopy(p)
	return owner != nil && l.apps[owner.UID] != nil
}

func (l *invariants) runOf(p *corev1.Pod) *run {
	for _, r := range l.drivers {
		if r.uid == p.UID {
			return r
		}
	}
	return nil
}

func (l *invariants) lastDriver() *run {
	if len(l.drivers) == 0 {
		return nil
	}
	return l.drivers[len(l.drivers)-1]
}

// runs is how many drivers an application has had that somebody knew of.
func (l *invariants) runs(app types.UID) int {
	n := 0
	for _, r := range l.drivers {
		if r.app == app && !r.excused && (r.recorded > 0 || !r.gone) {
			n++
		}
	}
	return n
}

// ended is told by the kubelet. The code is -1 if the container told none.
func (l *invariants) ended(p *corev1.Pod, code int32) {
	r := l.runOf(p)
	if s := l.h.other; s != nil && r == nil {
		r = s.runOf(p)
	}
	if r != nil && (!r.over || r.code == again) {
		r.over, r.code = true, code
	}
	l.h.server.ended(p)
}

// again is the code of a run whose container was started again: it is over, and no success.
const again = -2

// restarted is told by the kubelet.
func (l *invariants) restarted(p *corev1.Pod) { l.ended(p, again) }

// gone is told when a pod leaves the API server.
func (l *invariants) gone(p *corev1.Pod) {
	r := l.runOf(p)
	if s := l.h.other; s != nil && r == nil {
		r = s.runOf(p)
	}
	l.h.server.gone(p)
	if r != nil {
		r.gone, r.unheard = true, r.recorded == 0
		if !r.over {
			r.over, r.code = true, -1
		}
	}
}

// created judges what an operator has created.
func (l *invariants) created(o *operator, obj client.Object) {
	owner := metav1.GetControllerOfNoCopy(obj)
	app := o.decides
	switch {
	case app == nil || owner == nil || owner.UID != app.UID:
		l.h.fail("%s was created for no application", idOf(obj))
		return
	case app.DeletionTimestamp != nil:
		l.h.fail("%s was created for an application that is being deleted", idOf(obj))
	}
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return
	}
	l.h.stats.Drivers++
	if ptr.Deref(app.Spec.Suspend, false) {
		l.h.fail("driver %s was created for a suspended application", pod.Name)
	}
	scheduled, queue := asked(&app.Spec)
	if scheduled != lineName {
		queue = ""
	}
	l.h.madeFrom(pod, app.Spec.Arguments, scheduled, queue)
	if app.Spec.ManagedBy != nil {
		l.h.fail("driver %s was created for an application that another controller runs", pod.Name)
	}
	w := l.apps[app.UID]
	if final(app) && w.specs[app.Generation] == w.specs[app.Status.ObservedGeneration] && app.Status.ExecutionAttempts > 0 {
		l.h.fail("driver %s was created after the end %s", pod.Name, app.Status.AppState.State)
	}
	submission := pod.Labels[v1beta2.LabelSubmissionID]
	excused := false
	for _, r := range l.drivers {
		switch {
		case r.app != app.UID || r.submission != submission:
		case r.unknown(o):
			excused = excused || r.recorded > 0
		default:
			l.h.fail("submission %q has two drivers", submission)
		}
	}
	l.drivers = append(l.drivers, &run{
		uid: pod.UID, app: app.UID, submission: submission, labels: pod.Labels, spec: w.specs[app.Generation], made: app,
		placed: app.Spec.Executor.NodeSelector, excused: excused,
	})
	if others := l.h.pods(func(p *corev1.Pod) bool {
		c := metav1.GetControllerOfNoCopy(p)
		return c != nil && c.UID == app.UID && p.UID != pod.UID && alive(p)
	}); len(others) > 0 {
		l.h.fail("driver %s was created while %s lives", pod.Name, others[0].Name)
	}
	l.left(app.UID, submission)
	if n, most := l.runs(app.UID), w.budget(); !w.endless && n > most {
		l.h.fail("%d drivers, but %d are allowed", n, most)
	}
}

// left judges what earlier drivers lived on when the next one is created: it is gone. A second leader that is slow may put it
// back, and of a driver that no status ever told of nobody knows.
func (l *invariants) left(app types.UID, submission string) {
	if l.h.stats.TwoLeaders > 0 {
		return
	}
	for _, r := range l.drivers {
		if r.app != app || r.submission == submission || r.recorded == 0 {
			continue
		}
		for _, i := range sortedIDs(l.h.store.objects) {
			if i.kind != kindPod && i.kind != kindApp && l.h.store.objects[i].GetLabels()[v1beta2.LabelSubmissionID] == r.submission {
				l.h.fail("driver of submission %q was created, and %s of %q is still there", submission, i, r.submission)
			}
		}
	}
}

// unknown reports whether an operator cannot know of a driver: it is gone, and no status told of it when the operator
// last looked. A driver that came and went between two writes of an operator that was killed is known to nobody.
func (r *run) unknown(o *operator) bool {
	return r.gone && (r.recorded == 0 || o.looked > 0 && r.recorded > o.looked)
}

// budget is the highest number of drivers that the user's wishes explain.
func (w *wish) budget() int { return (1+w.edits+w.placements)*(1+int(w.retries)) + w.resumes }

// deleted judges what an operator has deleted.
func (l *invariants) deleted(o *operator, target client.Object) {
	app := o.decides
	if target.GetUID() == app.GetUID() {
		l.expired(app)
		return
	}
	owner := metav1.GetControllerOfNoCopy(target)
	if owner == nil || owner.UID != app.UID && !l.leftBehind(target, owner.UID) {
		l.h.fail("%s, which is not the application's, was deleted", idOf(target))
	}
	if pod, ok := target.(*corev1.Pod); ok && l.h.store.objects[idOf(target)] == nil {
		l.gone(pod)
	}
}

// leftBehind reports whether an object is the driver of a deleted application, for which the garbage collector is late.
func (l *invariants) leftBehind(target client.Object, owner types.UID) bool {
	_, known := l.apps[owner]
	now := l.h.store.app()
	return known && idOf(target).kind == kindPod && (now == nil || now.UID != owner)
}

// expired judges the deletion of an application by the operator.
func (l *invariants) expired(app *v1beta2.SparkApplication) {
	keep := keeps(app).Application
	if !final(app) || keep == nil || l.h.now.Before(app.Status.TerminationTime.Add(keep.Duration)) {
		l.h.fail("the application was deleted before its time")
	}
}

// bereft judges a driver that misses its ConfigMap. Only a second leader may have taken it, and the deadline of the
// driver's readiness ends that.
func (l *invariants) bereft(p *corev1.Pod) {
	app := l.h.store.app()
	if app != nil && app.DeletionTimestamp == nil && metav1.IsControlledBy(p, app) && p.DeletionTimestamp == nil && l.h.stats.TwoLeaders == 0 {
		l.h.fail("driver %s was left without its ConfigMap", p.Name)
	}
}

// renamed reports whether the user has ever changed the driver's name.
func (l *invariants) renamed() bool {
	for _, w := range l.apps {
		if w.renamed {
			return true
		}
	}
	return false
}

// over reports whether the application is at its end or suspended, so that it must have no running driver.
func (l *invariants) over() bool {
	app := l.h.store.app()
	return app != nil && (final(app) || app.Status.AppState.State == v1beta2.ApplicationStateSuspended)
}

func final(app *v1beta2.SparkApplication) bool {
	s := app.Status.AppState.State
	return s == v1beta2.ApplicationStateCompleted || s == v1beta2.ApplicationStateFailed
}

// summary is the application's state in a sentence.
func (l *invariants) summary() string {
	app := l.h.store.app()
	var text strings.Builder
	if app == nil {
		text.WriteString("no application")
	} else {
		s := app.Status
		fmt.Fprintf(&text, "%s (%s), generation %d of %d, attempts %d/%d, suspend %t", s.AppState.State, s.AppState.ErrorMessage,
			s.ObservedGeneration, app.Generation, s.SubmissionAttempts, s.ExecutionAttempts, ptr.Deref(app.Spec.Suspend, false))
	}
	for _, i := range sortedIDs(l.h.store.objects) {
		if i.kind != kindApp {
			fmt.Fprintf(&text, "; %s", i)
		}
	}
	if o := l.h.store.second(); o != nil {
		fmt.Fprintf(&text, "; the second is %s, suspend %t", secondSaid(o), o.Spec.Suspend)
	}
	return text.String()
}
