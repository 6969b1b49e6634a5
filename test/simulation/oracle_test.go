// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sparkv1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/convert/apache"
	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
)

// An application that was edited must end as if its last spec had been there from the beginning, but for what has run. When a history has come to
// rest, the last spec and the labels are applied in a calm world: one operator that sees everything, no faults, no edits, and each driver meets the fate
// of the history's last one (see fate). Both must be told the same, and the same must be left. What may differ:
//
//   - attempts, counts, histories, times, UIDs and names of attempts: they are what has run;
//   - the end, if it was reached with another restart policy, other deadlines or before a suspension: it stands. So do a release by an earlier
//     retention and the placement that the last driver was made with. The calm world gets these as they were, and the last spec at its end;
//   - what is left of a driver that was late: it may have ended while it was stopped. So may one whose container was started again: its pod is left then;
//   - what an earlier retention had released in part: the last one says when the rest goes. In the second family, what is kept, if that was edited after
//     the end: it is decided by the next look, before which there may be more edits;
//   - executors that have ended, which their driver deletes or not;
//   - a template of executors: one of an earlier try may be left, which no driver reads;
//   - whether an edit of what waits was seen, if nobody heard of it: that comes with the next look;
//   - where a driver makes executors, if it was found after an edit and ended before its template was brought up to date: nobody knows;
//   - the scheduler, if the driver was found to be of an earlier spec, and the spec became that again: it is not chosen for a driver that has to go;
//   - SpecHash, which an edit of the placement leaves as it was. RestHash, which says whether the spec is the same but for that, must not differ;
//   - messages about drivers, in which the kubelet and the API server say what happened. Those about specs, schedulers and queues must not differ;
//   - of what waits or is suspended, or fails before its attempt has a driver: the state's name, and what an earlier attempt has left beside pods. A
//     suspended application has been asked about its scheduler or not;
//   - the driver's pod, if it is gone and no status tells that it was released: it was deleted by somebody else or before the end; and how the cluster
//     took it away;
//   - what belongs to the driver, if two operators believed to lead: a slow one may delete what the other has made under the same name. So may one that
//     would create the driver again, if it was gone before a status told of it;
//   - Services of drivers of the second family, which others delete in these histories, and all that belongs to one that is gone or never started: it
//     goes with its driver, and is created after it;
//   - trouble with what stands beside the driver, whose name others may have taken;
//   - everything of an application of the first family that has failed because it was late: it was so with earlier specs and deadlines, too. So
//     may one be in a calm world whose driver was refused with an earlier restart policy;
//   - the scheduler of an application of the second family that has ended: a driver that is found after a crash does not say which spec is its own.

// facts are what is told of an object that has come to rest, and what is left of it.
type facts map[string]string

// What an application rests as, unless it has ended.
const (
	restSuspended = "suspended"
	restWaits     = "waits"
)

// Facts about the last attempt. One that ended before it had a driver tells of an earlier one, if there was one.
const (
	factDriver     = "driver"
	factPlacement  = "placement"
	factMade       = "made"
	factScheduling = "scheduling"
)

// factsOf are those that both families have.
func factsOf(r lifecycle.Record, o client.Object, suspended bool, conditions []metav1.Condition) facts {
	f := facts{
		"rest": r.Placement.Rest, "observed": fmt.Sprint(r.Generation == o.GetGeneration()),
		"drain": r.DrainSince.String(), "finalizers": fmt.Sprint(o.GetFinalizers()),
	}
	scripted := fateOf(r).scripted()
	scheduling := fmt.Sprintf("%+v %q", r.Scheduling.Choice, r.Scheduling.Warning)
	switch {
	case r.State.Final():
		f["state"], f["released"] = string(r.State), fmt.Sprintf("%+v", r.Released)
		if r.SpecHash != "" {
			f[factScheduling] = scheduling
		}
		r.Exposure.Trouble = lifecycle.Cause{}
		f["exposure"], f["held"] = fmt.Sprintf("%+v", r.Exposure), fmt.Sprint(r.Scheduling.HeldAttempt, r.Scheduling.HeldBy)
		if r.Current() != nil || r.NeverRan() {
			f[factMade] = r.Placement.Made
			f[factPlacement], f[factDriver] = fmt.Sprint(r.Placement.Outdated, r.Placement.Problem), attemptMark.ReplaceAllString(r.DriverName, attemptWord)
		}
	case suspended:
		f["state"], scripted = restSuspended, true // it has run or not
	default:
		f["state"], f[factScheduling] = restWaits, scheduling
	}
	f["cause"] = causeOf(r, r.Cause.Reason)
	if !scripted {
		f["cause"] += ": " + r.Cause.Message
	}
	for _, c := range conditions {
		if c.Type == string(lifecycle.ConditionExposed) {
			continue
		}
		f["condition "+c.Type] = fmt.Sprint(c.Status, " ", causeOf(r, lifecycle.Reason(c.Reason)))
		if !scripted && c.Reason == string(r.Cause.Reason) {
			f["condition "+c.Type] += ": " + c.Message
		}
	}
	return f
}

// causeOf is a reason, but for that of how the cluster took the driver away.
func causeOf(r lifecycle.Record, reason lifecycle.Reason) string {
	if a := r.Current(); a != nil && r.State == lifecycle.Failed && a.Class == lifecycle.Infrastructure && reason == r.Cause.Reason {
		return string(lifecycle.Infrastructure)
	}
	return string(reason)
}

// attemptMark is what names of objects have of an attempt, and attemptWord stands for it.
var attemptMark = regexp.MustCompile(`[0-9a-f]{16}|` + appName + `-[0-9]-`)

const attemptWord = "<attempt>"

// left adds the objects that are left: all of an attempt that has come to its driver, and living pods of any other.
func (h *history) left(f facts, r lifecycle.Record, fate *fate, mine func(client.Object) bool) facts {
	var all []string
	whole := r.State.Final() && r.Current() != nil && !fate.contested && !fate.partly
	for _, i := range sortedIDs(h.store.objects) {
		pod, isPod := h.store.objects[i].(*corev1.Pod)
		if strings.HasSuffix(i.name, "-driver-podspec-conf-map") {
			continue
		}
		wanted := whole && !fate.late()
		if isPod {
			wanted = !fate.removed && !fate.stopped() && (whole && isDriver(pod) || alive(pod))
		}
		if wanted && mine(h.store.objects[i]) {
			all = append(all, attemptMark.ReplaceAllString(i.String(), attemptWord))
		}
	}
	if fate.partly {
		delete(f, "released")
	}
	if fate.earlier {
		delete(f, factScheduling)
	}
	if fate.contested {
		delete(f, factMade) // the template may be the other's
	}
	f["objects"] = strings.Join(all, ", ")
	return f
}

// differs says in what the facts differ from those of a calm world; "" for in nothing.
func (f facts) differs(from facts) string {
	var all []string
	keys := maps.Clone(f)
	maps.Copy(keys, from)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if slices.Contains([]string{factDriver, factPlacement, factMade}, key) && (f[key] == "" || from[key] == "") {
			continue
		}
		if f[key] != from[key] {
			all = append(all, fmt.Sprintf("%s is %q, and would be %q", key, f[key], from[key]))
		}
	}
	return strings.Join(all, "\n    ")
}

// calmWorld is a cluster in which nobody is hostile and drivers meet a fate.
func (h *history) calmWorld(f *fate) *history {
	c := newHistory(uint64(h.store.version))
	if h.change != nil {
		h.change(c)
	}
	c.other, c.fair, c.exposed, c.sealed, c.fate, c.told = nil, true, h.exposed, h.sealed, f, h.told
	c.tell("calm", "a world begins in which the last spec is there from the beginning")
	return c
}

// calmed ends a calm world, and reports whether it has come to its end.
func (h *history) calmed(c *history) bool {
	for _, o := range c.operators {
		o.halt()
	}
	if c.broken != "" {
		h.fail("in a calm world: %s", c.broken)
	}
	return c.broken == ""
}

// compared counts a comparison and judges it.
func (h *history) compared(is, calm facts) {
	h.stats.Compared++
	if d := is.differs(calm); d != "" {
		h.fail("it is not as if the last spec had been there from the beginning:\n    %s", d)
	}
}

// lastFixed bounds the seeds that are the same in each run. Fresh ones are compared when they are replayed with -seed: of 10,000 about one shows what
// is no fault, and no rule above excuses it yet.
const lastFixed = 1 << 20

// comparable reports whether an object that has come to rest is to be compared: it was edited, which was seen, and is there.
func (h *history) comparable(o client.Object, r lifecycle.Record) bool {
	if h.seed > lastFixed && *seed == 0 {
		return false
	}
	seen := r.State.Final() || r.Generation == o.GetGeneration()
	return h.fate == nil && h.broken == "" && o.GetDeletionTimestamp() == nil && o.GetGeneration() > 1 && seen
}

func fromFirst(o *v1beta2.SparkApplication) lifecycle.Record {
	return kubeflow.SparkApplications{}.FromStatus(o)
}

// compare compares the application of the first family.
func (l *invariants) compare() {
	app := l.h.store.app()
	if app == nil {
		return
	}
	r := fromFirst(app)
	if !l.h.comparable(app, r) || r.Cause.Reason == lifecycle.ReasonQueueTimeout || fateOf(r).late() {
		return
	}
	met := l.h.fateOf(r, l.drivers)
	if was, is := l.apps[app.UID].stands.released.(*v1beta2.SparkApplication); is {
		met.partly = (r.Released.DriverPod != r.Released.Resources) && !equality.Semantic.DeepEqual(was.Spec.Retention, app.Spec.Retention)
	}
	met.earlier = r.Current() != nil && l.apps[app.UID].stands.found == r.SubmissionID
	c := l.h.calmWorld(met)
	first := &v1beta2.SparkApplication{ObjectMeta: afresh(app), Spec: *app.Spec.DeepCopy()}
	l.stood(r, &first.Spec)
	c.applied(first)
	c.launch()
	c.settle()
	if now := c.store.app(); c.broken == "" && now != nil && !equality.Semantic.DeepEqual(&now.Spec, &app.Spec) {
		c.edit("as it is at last", func(s *v1beta2.SparkApplicationSpec) { *s = *app.Spec.DeepCopy() })
		c.settle()
	}
	if !l.h.calmed(c) {
		return
	}
	if now := c.store.app(); now != nil && fromFirst(now).Cause.Reason == lifecycle.ReasonQueueTimeout && met.refuses("create", id{kind: kindPod}) != nil {
		return
	}
	l.h.compared(l.facts(c.fate), c.invariants.facts(c.fate))
}

// stood gives a spec what of an earlier one stands.
func (l *invariants) stood(r lifecycle.Record, spec *v1beta2.SparkApplicationSpec) {
	app := l.h.store.app()
	w := &l.apps[app.UID].stands
	if was, is := w.ended.(*v1beta2.SparkApplication); is && r.State.Final() {
		spec.RestartPolicy, spec.Deadlines, spec.Suspend = was.Spec.RestartPolicy, was.Spec.Deadlines, nil
	}
	if was, is := w.released.(*v1beta2.SparkApplication); is && r.Released != (lifecycle.Released{}) {
		spec.Retention = was.Spec.Retention
	}
	if last := lastOf(l.drivers, app.UID, r.SubmissionID); last != nil && r.State.Final() && r.Current() != nil {
		spec.Executor.NodeSelector = last.placed
	}
}

func (l *invariants) facts(met *fate) facts {
	app := l.h.store.app()
	if app == nil {
		return facts{"state": "gone"}
	}
	r := fromFirst(app)
	f := factsOf(r, app, ptr.Deref(app.Spec.Suspend, false), app.Status.Conditions)
	return l.h.left(f, r, met, func(o client.Object) bool { return metav1.IsControlledBy(o, app) })
}

// afresh is the metadata of an object as its user would apply it again.
func afresh(o client.Object) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: o.GetNamespace(), Name: o.GetName(), Labels: o.GetLabels(), Annotations: o.GetAnnotations(), Finalizers: o.GetFinalizers()}
}

// compare compares the application of the second family. An edit is for what follows: a driver is as it was made, and so is the end.
func (s *second) compare() {
	o := s.h.store.second()
	if o == nil || isProbe(o) {
		return
	}
	r := apache.FromStatus(o)
	if !s.h.comparable(o, r) {
		return
	}
	met := s.h.fateOf(r, s.drivers)
	if a := r.Current(); a != nil {
		met.contested = met.contested || met.removed || a.StartedAt.IsZero()
	}
	if was, is := s.apps[o.UID].stands.ended.(*sparkv1.SparkApplication); is {
		is, last := was.Spec.ApplicationTolerations, o.Spec.ApplicationTolerations
		met.partly = is.ResourceRetainPolicy != last.ResourceRetainPolicy || !ptr.Equal(is.ResourceRetainDurationMillis, last.ResourceRetainDurationMillis)
	}
	c := s.h.calmWorld(met)
	c.other = newSecond(c)
	c.other.apart = s.apart
	first := &sparkv1.SparkApplication{ObjectMeta: afresh(o), Spec: *o.Spec.DeepCopy()}
	first.Labels = nil // one that was labeled as a probe later is none
	s.stood(r, &first.Spec)
	c.other.applied(first)
	c.launch()
	c.other.settle()
	if now := c.store.second(); c.broken == "" && now != nil && !equality.Semantic.DeepEqual(&now.Spec, &o.Spec) {
		c.other.edit("as it is at last", func(spec *sparkv1.SparkApplicationSpec) { *spec = *o.Spec.DeepCopy() })
		c.other.settle()
	}
	if s.h.calmed(c) {
		s.h.compared(s.facts(c.fate), c.other.facts(c.fate))
	}
}

// stood is that of the second family.
func (s *second) stood(r lifecycle.Record, spec *sparkv1.SparkApplicationSpec) {
	o := s.h.store.second()
	w := &s.apps[o.UID].stands
	was, is := w.ended.(*sparkv1.SparkApplication)
	if !is || !r.State.Final() {
		return
	}
	*spec = *was.Spec.DeepCopy()
	if last := lastOf(s.drivers, o.UID, r.SubmissionID); last != nil && r.Current() != nil {
		*spec = *last.made.(*sparkv1.SparkApplication).Spec.DeepCopy()
	}
	if refused, is := w.refused.(*sparkv1.SparkApplication); is && r.Current() == nil && fateOf(r).refuses("create", id{kind: kindPod}) != nil {
		*spec = *refused.Spec.DeepCopy()
	}
	spec.ApplicationTolerations, spec.Suspend = was.Spec.ApplicationTolerations.DeepCopy(), false
	if was, is := w.released.(*sparkv1.SparkApplication); is {
		t := was.Spec.ApplicationTolerations
		spec.ApplicationTolerations.ResourceRetainPolicy = t.ResourceRetainPolicy
		spec.ApplicationTolerations.ResourceRetainDurationMillis = t.ResourceRetainDurationMillis
	}
	spec.ApplicationTolerations.TTLAfterStopMillis = o.Spec.ApplicationTolerations.TTLAfterStopMillis
}

func (s *second) facts(met *fate) facts {
	o := s.h.store.second()
	if o == nil {
		return facts{"state": "gone"}
	}
	r := apache.FromStatus(o)
	f := s.h.left(factsOf(r, o, o.Spec.Suspend, o.Status.Conditions), r, met, func(c client.Object) bool { return s.has(c) && idOf(c).kind != kindService })
	if delete(f, "released"); r.State.Final() && !met.late() && !met.partly { // the state tells that
		f["told"] = string(stateOf(o))
	}
	return f
}
