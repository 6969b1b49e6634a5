// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sparkv1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/internal/convert/apache"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/spark"
	"github.com/firesteel-dev/firesteel/internal/testutil"
	"github.com/firesteel-dev/firesteel/internal/testutil/testrun"
)

// In some histories an application of the second family lives beside one of the first: the same kind and name in the same namespace, in the
// same cluster, under controllers of the same process, and mostly with the same driver name.

// second is the application of the second family, with what really happened to it.
type second struct {
	h       *history
	drivers []*run
	apps    map[types.UID]*secondWish
	// apart is set when its drivers have names of their own.
	apart bool
	// taken are the Services of the driver that others have deleted.
	taken map[string]bool
	// deaf are pods that never become ready.
	deaf map[types.UID]bool
}

// secondWish is what its user has asked for, and all states that it has told, by their keys.
type secondWish struct {
	resumes, restarts int
	attached          bool
	told              map[int64]sparkv1.ApplicationStateSummary
	stands            stands
}

// withSecond adds the second family to a history.
func withSecond(h *history) {
	h.other = newSecond(h)
	h.other.apart = h.rng.IntN(4) == 0
}

func newSecond(h *history) *second {
	h.stats.States = map[sparkv1.ApplicationStateSummary]bool{}
	return &second{h: h, apps: map[types.UID]*secondWish{}, taken: map[string]bool{}, deaf: map[types.UID]bool{}}
}

func TestTwoFamilies(t *testing.T) {
	total := simulate(t, "families", testrun.Pick(300, 5_000, 5_000), testrun.Pick(0, 5_000, 20_000), withSecond, func(total Stats) string {
		return fmt.Sprintf("simulation: %d histories of two families (%d with two leaders), %d reconciles, %d crashes (%d within a reconcile), %d drivers of the second, which %d times found its name taken",
			total.Histories, total.TwoLeaders, total.Reconciles, total.Crashes, total.MidReconcile, total.SecondDrivers, total.Conflicts)
	})
	if n := total.Histories; n >= 300 && (total.SecondDrivers < n/2 || total.Conflicts < n/10) {
		t.Errorf("of %d histories too few prove anything", n)
	}
	for _, state := range apache.States() {
		if name := sparkv1.ApplicationStateSummary(state); total.Histories >= 10_000 && !total.States[name] {
			t.Errorf("no application of the second family came to %s", name)
		}
	}
}

// judge is what an operator's writes are judged by: who may touch what.
func (h *history) judge(o *operator) interface {
	created(*operator, client.Object)
	deleted(*operator, client.Object)
	owned(client.Object) bool
} {
	switch o.of {
	case kindSecond:
		return h.other
	case kindServer:
		return h.server
	}
	return h.invariants
}

// over reports whether the application of a driver is at its end or suspended, so that only the operator ends it.
func (h *history) over(p *corev1.Pod) bool {
	if h.other.owned(p) {
		o := h.store.second()
		return o != nil && (secondOver(o) || stateOf(o) == sparkv1.StateSuspended)
	}
	return h.invariants.over()
}

func (s *store) second() *sparkv1.SparkApplication {
	o, _ := s.objects[id{kindSecond, appName}].(*sparkv1.SparkApplication)
	return o
}

// stateOf is the state that is told; "" for none.
func stateOf(o *sparkv1.SparkApplication) sparkv1.ApplicationStateSummary {
	if o.Status.CurrentState == nil {
		return ""
	}
	return o.Status.CurrentState.CurrentStateSummary
}

func secondOver(o *sparkv1.SparkApplication) bool {
	return stateOf(o) == sparkv1.StateResourceReleased || stateOf(o) == sparkv1.StateTerminatedWithoutReleaseResources
}

// secondSaid is the status in the words of a story.
func secondSaid(o *sparkv1.SparkApplication) string {
	if o.Status.CurrentState == nil {
		return "no state"
	}
	return fmt.Sprintf("%s (%s)", stateOf(o), o.Status.CurrentState.Message)
}

// owned reports whether a pod belongs to an application of the second family. Its owner is no controller.
func (s *second) owned(o client.Object) bool {
	return s != nil && slices.ContainsFunc(o.GetOwnerReferences(), func(r metav1.OwnerReference) bool { return s.apps[r.UID] != nil })
}

// has reports whether an object belongs to an application of the second family or to a driver of one.
func (s *second) has(o client.Object) bool {
	return s != nil && (s.owned(o) || slices.ContainsFunc(o.GetOwnerReferences(), func(r metav1.OwnerReference) bool {
		return slices.ContainsFunc(s.drivers, func(d *run) bool { return d.uid == r.UID })
	}))
}

func (s *second) runOf(p *corev1.Pod) *run {
	for _, r := range s.drivers {
		if r.uid == p.UID {
			return r
		}
	}
	return nil
}

// apply creates the application with some policies.
func (s *second) apply() {
	rng := s.h.rng
	t := &sparkv1.ApplicationTolerations{RestartConfig: s.h.drawRestart()}
	if rng.IntN(2) == 0 {
		t.InstanceConfig = s.h.drawInstances()
	}
	if rng.IntN(3) == 0 {
		s.h.drawRetainPolicy(t)
	}
	if rng.IntN(6) == 0 {
		t.TTLAfterStopMillis = new(rng.Int64N(60_000))
	}
	if rng.IntN(4) == 0 {
		t.ApplicationTimeoutConfig = s.h.drawTimeouts()
	}
	o := s.application()
	o.Spec.ApplicationTolerations, o.Spec.Suspend = t, rng.IntN(8) == 0
	if rng.IntN(2) == 0 {
		o.Spec.DriverServiceIngressList = []sparkv1.DriverServiceIngress{{
			ServiceMetadata: metav1.ObjectMeta{Name: "ui"}, ServiceSpec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 4040}}}, IngressMetadata: metav1.ObjectMeta{Name: "ui"},
		}}
	}
	if rng.IntN(3) == 0 {
		o.Finalizers = []string{sparkv1.Finalizer}
	}
	if rng.IntN(4) == 0 {
		o.Spec.SparkConf[spark.ConfSchedulerName] = lineName
		s.h.drawQueue(&o.Spec)
	}
	if rng.IntN(16) == 0 {
		o.Labels = map[string]string{sparkv1.LabelSentinel: "true"}
		s.h.stats.LeftAlone++
	}
	s.applied(o)
}

// application is what its user applies at least.
func (s *second) application() *sparkv1.SparkApplication {
	o := &sparkv1.SparkApplication{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: appName},
		Spec: sparkv1.SparkApplicationSpec{
			RuntimeVersions: sparkv1.RuntimeVersions{SparkVersion: testutil.SparkVersion}, MainClass: "X", Jars: "local:///x.jar",
			SparkConf: map[string]string{spark.ConfImage: "spark"},
		},
	}
	if !s.apart {
		o.Spec.SparkConf[spark.ConfDriverPodName] = appName + "-driver"
	}
	return o
}

func (s *second) applied(o *sparkv1.SparkApplication) {
	t := o.Spec.ApplicationTolerations
	s.h.tell("user", "applies the second: restart %s, %d times at most, suspend %t, keeps %q", t.RestartConfig.RestartPolicy, *t.RestartConfig.MaxRestartAttempts, o.Spec.Suspend, t.ResourceRetainPolicy)
	if err := s.h.create(o); err != nil {
		panic(err)
	}
	s.apps[o.UID] = &secondWish{
		restarts: restartsOf(t), attached: len(o.Spec.DriverServiceIngressList) > 0, told: map[int64]sparkv1.ApplicationStateSummary{},
	}
}

// edit changes the spec.
func (s *second) edit(what string, change func(*sparkv1.SparkApplicationSpec)) {
	before := s.h.store.second()
	next := before.DeepCopy()
	change(&next.Spec)
	next.Generation++
	if before.Spec.Suspend && !next.Spec.Suspend {
		s.apps[next.UID].resumes++
	}
	if w := s.apps[next.UID]; next.Spec.ApplicationTolerations != nil {
		w.restarts = max(w.restarts, restartsOf(next.Spec.ApplicationTolerations))
	}
	s.h.stats.Edits++
	s.h.tell("user", "edits the second: %s", what)
	s.h.store.put(next)
}

// user does what users do with the application, and with the Services of its driver.
func (s *second) user() {
	o := s.h.store.second()
	switch n := s.h.rng.IntN(12); {
	case o == nil:
		s.apply()
	case o.DeletionTimestamp != nil:
	case n < 3:
		s.edit("suspend", func(spec *sparkv1.SparkApplicationSpec) { spec.Suspend = !spec.Suspend })
	case n < 9:
		s.editSome()
	case n < 10:
		s.toggleProbe()
	case n < 11:
		s.takeService()
	default:
		s.deleteApp()
	}
}

// toggleProbe says that the application is a health probe, or is none any more.
func (s *second) toggleProbe() {
	next := s.h.store.second().DeepCopy()
	if next.Labels[sparkv1.LabelSentinel] == "" {
		next.Labels = map[string]string{sparkv1.LabelSentinel: "true"}
		s.h.stats.LeftAlone++
	} else {
		next.Labels = nil
	}
	s.h.tell("user", "labels the second: %v", next.Labels)
	s.h.store.put(next)
}

// takeService deletes a Service of a driver.
func (s *second) takeService() {
	for _, i := range sortedIDs(s.h.store.objects) {
		if o := s.h.store.objects[i]; i.kind == kindService && s.has(o) {
			s.h.tell("meddler", "deletes %s", i)
			s.taken[i.name] = true
			s.h.delete(o)
			return
		}
	}
}

func (s *second) deleteApp() { s.h.userDeletes(s.h.store.second()) }

func (s *second) decideEnd() {
	o := s.h.store.second()
	if o == nil || o.DeletionTimestamp != nil {
		return
	}
	if isProbe(o) && s.h.rng.IntN(2) == 0 {
		s.toggleProbe()
	}
	if o.Spec.Suspend && s.h.rng.IntN(2) == 0 {
		s.edit("suspend", func(spec *sparkv1.SparkApplicationSpec) { spec.Suspend = false })
	}
	if reason, _ := waitsFor(askedBySecond(&o.Spec)); reason != "" && s.h.rng.IntN(4) > 0 {
		s.edit("the scheduler", func(spec *sparkv1.SparkApplicationSpec) { delete(spec.SparkConf, spark.ConfSchedulerName) })
	}
}

// patch is PATCH of the application itself, with which the operator takes a finalizer away.
func (s *second) patch(by *operator, o *sparkv1.SparkApplication, patch client.Patch) error {
	stored := s.h.store.second()
	if stored == nil {
		return apierrors.NewNotFound(resource(kindSecond), o.Name)
	}
	text, err := patch.Data(o)
	if err != nil {
		return err
	}
	var sent struct{ Metadata metav1.ObjectMeta }
	if err := json.Unmarshal(text, &sent); err != nil || sent.Metadata.ResourceVersion != stored.ResourceVersion {
		return apierrors.NewConflict(resource(kindSecond), o.Name, errors.New("the object has been modified"))
	}
	left := s.h.pods(func(p *corev1.Pod) bool { return s.owned(p) && p.OwnerReferences[0].UID == stored.UID && isDriver(p) })
	if len(left) > 0 && !by.stale && s.h.stats.TwoLeaders == 0 { // the garbage collector takes one that the operator did not know of
		s.h.fail("the finalizer was taken away while there is driver %s", left[0].Name)
	}
	s.h.dropFinalizer(stored, sparkv1.Finalizer)
	return nil
}

// patchStatus is PATCH of the subresource status, and the judgment of what was written.
func (s *second) patchStatus(by *operator, o *sparkv1.SparkApplication, patch client.Patch) error {
	stored := s.h.store.second()
	if stored == nil {
		return apierrors.NewNotFound(resource(kindSecond), o.Name)
	}
	if version, ok := lockedVersion(patch); !ok || version != stored.ResourceVersion {
		return apierrors.NewConflict(resource(kindSecond), o.Name, errors.New("the object has been modified"))
	}
	if equality.Semantic.DeepEqual(&stored.Status, &o.Status) {
		s.h.fail("a status of the second was written that changes nothing")
	}
	next := stored.DeepCopy()
	next.Status = *o.Status.DeepCopy()
	s.h.store.put(next)
	copyInto(o, next)
	s.reported(stored, next)
	s.decided(by, stored, next)
	return nil
}

// rests judges a reconcile that left no error behind: a timer or an event must bring the application on, unless it is at its end.
func (s *second) rests(o *operator) {
	app := s.h.store.second()
	if !o.timer.IsZero() || o.ready || app == nil || app.DeletionTimestamp != nil || !o.current() || secondOver(app) || isProbe(app) {
		return
	}
	s.h.fail("nothing will bring the second on: %s", s.h.invariants.summary())
}

// hasName reports whether an application has the driver's name that both want.
func (s *second) hasName(uid types.UID) bool {
	p := s.h.store.pod(appName + "-driver")
	return p != nil && slices.ContainsFunc(p.OwnerReferences, func(r metav1.OwnerReference) bool { return r.UID == uid })
}

// waitsForName reports whether a status tells that the driver's name is taken.
func waitsForName(conditions []metav1.Condition) bool {
	told := meta.FindStatusCondition(conditions, string(lifecycle.ConditionSubmitted))
	return told != nil && told.Reason == string(lifecycle.ReasonNameConflict)
}

// freeTheName is a user who deletes a second application that is over when the first tells that its name is taken. Nothing else frees it, so
// that a history in which it is not told never comes to its end.
func freeTheName(h *history) bool {
	app, o := h.store.app(), h.store.second()
	if app == nil || o == nil || o.DeletionTimestamp != nil || !secondOver(o) && !isProbe(o) || !h.other.hasName(o.UID) || !waitsForName(app.Status.Conditions) {
		return false
	}
	h.other.deleteApp()
	return true
}

// settle lets the application come to its end when the first is at its own. If that has the name of the driver, the second says so until
// the user deletes it.
func (s *second) settle() {
	h := s.h
	dull, version := 0, h.store.version
	for range restLimit {
		if h.broken != "" || dull > patience {
			break
		}
		if h.fairStep() {
			continue
		}
		o := h.store.second()
		if o == nil || o.DeletionTimestamp == nil && s.settled(o) {
			h.stayed(kindSecond)
			s.stays(o)
			if s.end(); !h.leavesAtEnd(kindSecond) {
				return
			}
			continue
		}
		if app := h.store.app(); app != nil && app.DeletionTimestamp == nil && waitsForName(o.Status.Conditions) && s.hasName(app.UID) {
			h.deleteApp()
			continue
		}
		dull++
		if version != h.store.version {
			dull, version = 0, h.store.version
		}
		if !h.tick() {
			break
		}
	}
	h.fail("the second does not come to rest: %s", h.invariants.summary())
}
