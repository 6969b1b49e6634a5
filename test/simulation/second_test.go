// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/testutil"
	"github.com/firesteel-dev/firesteel/internal/testutil/testrun"
	"github.com/firesteel-dev/firesteel/test/family"
)

// In some histories an application of a second family lives beside the first: the same name in the same namespace, in the
// same cluster, under controllers of the same process, and mostly with the same driver name.

// second is the application of the second family, with what really happened to it.
type second struct {
	h       *history
	drivers []*run
	jobs    map[types.UID]*jobWish
	// apart is set when its driver has a name of its own.
	apart bool
}

// jobWish is what its user has asked for.
type jobWish struct {
	specs                   map[int64]string
	edits, resumes, retries int
}

// withSecond adds the second family to a history.
func withSecond(h *history) {
	h.other = &second{h: h, jobs: map[types.UID]*jobWish{}, apart: h.rng.IntN(4) == 0}
}

func TestTwoFamilies(t *testing.T) {
	total := simulate(t, "families", 300, testrun.Pick(0, 300, 5_000), withSecond, func(total Stats) string {
		return fmt.Sprintf("simulation: %d histories of two families (%d with two leaders), %d reconciles, %d crashes (%d within a reconcile), %d drivers of the second, which %d times found its name taken",
			total.Histories, total.TwoLeaders, total.Reconciles, total.Crashes, total.MidReconcile, total.SecondDrivers, total.Conflicts)
	})
	if n := total.Histories; n >= 300 && (total.SecondDrivers < n/2 || total.Conflicts < n/10) {
		t.Errorf("of %d histories too few prove anything", n)
	}
}

// judge is what an operator's writes are judged by: who may touch what.
func (h *history) judge(o *operator) interface {
	created(*operator, client.Object)
	deleted(*operator, client.Object)
	owned(client.Object) bool
} {
	switch o.of {
	case kindJob:
		return h.other
	case kindServer:
		return h.server
	}
	return h.invariants
}

// over reports whether the application of a driver is at its end or suspended, so that nobody but the operator ends it.
func (h *history) over(p *corev1.Pod) bool {
	if h.other.ours(p) {
		job := h.store.job()
		return job != nil && (jobOver(job) || job.Status.Phase == family.PhasePaused)
	}
	return h.invariants.over()
}

func (s *store) job() *family.Job {
	job, _ := s.objects[id{kindJob, appName}].(*family.Job)
	return job
}

func jobOver(j *family.Job) bool {
	return j.Status.Phase == family.PhaseDone || j.Status.Phase == family.PhaseBroken
}

// ours reports whether a pod belongs to an application of the second family.
func (s *second) ours(p *corev1.Pod) bool { return s != nil && s.owned(p) }

func (s *second) owned(o client.Object) bool {
	owner := metav1.GetControllerOfNoCopy(o)
	return owner != nil && s.jobs[owner.UID] != nil
}

func (s *second) runOf(p *corev1.Pod) *run {
	for _, r := range s.drivers {
		if r.uid == p.UID {
			return r
		}
	}
	return nil
}

// apply creates the job.
func (s *second) apply() {
	j := &family.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: appName},
		Spec: family.JobSpec{
			Main: "local:///x.jar", Class: "X", Image: "spark", Spark: testutil.SparkVersion, Workers: 2, Retries: s.h.rng.Int32N(3), Paused: s.h.rng.IntN(8) == 0,
		},
	}
	if s.apart {
		j.Spec.Pod = "pi-of-the-job"
	}
	s.h.tell("user", "applies the job: %d retries, paused %t", j.Spec.Retries, j.Spec.Paused)
	if err := s.h.create(j); err != nil {
		panic(err)
	}
	s.jobs[j.UID] = &jobWish{specs: map[int64]string{1: j.Spec.Class}, retries: int(j.Spec.Retries)}
}

// edit changes the spec.
func (s *second) edit(what string, change func(*family.JobSpec)) {
	before := s.h.store.job()
	next := before.DeepCopy()
	change(&next.Spec)
	next.Generation++
	w := s.jobs[next.UID]
	w.specs[next.Generation] = next.Spec.Class
	if before.Spec.Class != next.Spec.Class {
		w.edits++
	}
	if before.Spec.Paused && !next.Spec.Paused {
		w.resumes++
	}
	s.h.tell("user", "edits the job: %s", what)
	s.h.store.put(next)
}

// user does what users do with the job.
func (s *second) user() {
	job := s.h.store.job()
	switch n := s.h.rng.IntN(6); {
	case job == nil:
		s.apply()
	case job.DeletionTimestamp != nil:
	case n < 3:
		s.edit("paused", func(j *family.JobSpec) { j.Paused = !j.Paused })
	case n < 5:
		s.edit("class", func(j *family.JobSpec) { j.Class += "X" })
	default:
		s.deleteJob()
	}
}

func (s *second) deleteJob() {
	policy := metav1.DeletePropagationBackground
	if s.h.rng.IntN(3) == 0 {
		policy = metav1.DeletePropagationForeground
	}
	s.h.tell("user", "deletes the job, %s", policy)
	s.h.delete(s.h.store.job(), client.PropagationPolicy(policy))
}

func (s *second) decideEnd() {
	if job := s.h.store.job(); job != nil && job.DeletionTimestamp == nil && job.Spec.Paused && s.h.rng.IntN(2) == 0 {
		s.edit("paused", func(j *family.JobSpec) { j.Paused = false })
	}
}

// created judges what the second family's controller has created: for its own application, and one driver at a time.
func (s *second) created(o *operator, obj client.Object) {
	owner, job := metav1.GetControllerOfNoCopy(obj), o.decidesJob
	if job == nil || owner == nil || owner.UID != job.UID || owner.Kind != kindJob || job.DeletionTimestamp != nil {
		s.h.fail("%s was created for no job", idOf(obj))
		return
	}
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return
	}
	s.h.stats.SecondDrivers++
	w := s.jobs[job.UID]
	record := family.Jobs{}.FromStatus(job)
	switch {
	case job.Spec.Paused:
		s.h.fail("driver %s was created for a paused job", pod.Name)
	case record.State.Final() && record.Generation == job.Generation && record.Executions > 0:
		s.h.fail("driver %s was created after the end %s", pod.Name, job.Status.Phase)
	}
	made := &run{uid: pod.UID, app: job.UID, submission: pod.Labels[family.LabelAttempt], labels: pod.Labels, spec: w.specs[job.Generation]}
	for _, r := range s.drivers {
		if r.app != job.UID {
			continue
		}
		switch same := r.submission == made.submission; {
		case same && r.unknown(o):
			made.excused = made.excused || r.recorded > 0
		case same:
			s.h.fail("attempt %q of the job has two drivers", made.submission)
		case !r.over && !r.gone:
			s.h.fail("driver %s was created while another one of the job lives", pod.Name)
		}
	}
	s.drivers = append(s.drivers, made)
	n := 0
	for _, r := range s.drivers {
		if r.app == job.UID && !r.excused && (r.recorded > 0 || !r.gone) {
			n++
		}
	}
	if most := (1+w.edits)*(1+w.retries) + w.resumes; n > most {
		s.h.fail("the job has %d drivers, but %d are allowed", n, most)
	}
}

// deleted judges what the second family's controller has deleted: its own, and never the job.
func (s *second) deleted(o *operator, target client.Object) {
	owner := metav1.GetControllerOfNoCopy(target)
	if owner == nil || o.decidesJob == nil || owner.UID != o.decidesJob.UID {
		s.h.fail("%s, which is not the job's, was deleted", idOf(target))
	}
	if pod, ok := target.(*corev1.Pod); ok && s.h.store.objects[idOf(target)] == nil {
		s.h.invariants.gone(pod)
	}
}

// patchStatus is PATCH of the job's subresource status, and the judgment of what was written.
func (s *second) patchStatus(_ *operator, o *family.Job, patch client.Patch) error {
	stored := s.h.store.job()
	if stored == nil {
		return apierrors.NewNotFound(resource(kindJob), o.Name)
	}
	if version, ok := lockedVersion(patch); !ok || version != stored.ResourceVersion {
		return apierrors.NewConflict(resource(kindJob), o.Name, errors.New("the object has been modified"))
	}
	if equality.Semantic.DeepEqual(&stored.Status, &o.Status) {
		s.h.fail("a status of the job was written that changes nothing")
	}
	next := stored.DeepCopy()
	next.Status = *o.Status.DeepCopy()
	s.h.store.put(next)
	copyInto(o, next)
	s.reported(stored, next)
	return nil
}

func (s *second) reported(before, after *family.Job) {
	was, is := family.Jobs{}.FromStatus(before), family.Jobs{}.FromStatus(after)
	won := false
	for _, r := range s.drivers {
		if r.app != after.UID || r.submission != is.SubmissionID {
			continue
		}
		won = won || r.over && r.code == 0
	}
	if is.Executions > 0 {
		record(s.drivers, after.UID, is.SubmissionID, s.h.store.version)
	}
	if is.State == lifecycle.Succeeded && !won {
		s.h.fail("the job is done, but no driver of its attempt succeeded")
	}
	if w := s.jobs[after.UID]; was.State.Final() && was.State != is.State && was.Executions > 0 && w.specs[was.Generation] == w.specs[after.Generation] {
		s.h.fail("the job was %s and became %s, but its spec has not changed", was.State, is.State)
	}
	if is.Cause.Reason == lifecycle.ReasonNameConflict && was.Cause.Reason != is.Cause.Reason {
		s.h.stats.Conflicts++
	}
}

// rests judges a reconcile that left no error behind: a timer or an event must bring the job on, unless it is at its end.
func (s *second) rests(o *operator) {
	job := s.h.store.job()
	if !o.timer.IsZero() || o.ready || job == nil || job.DeletionTimestamp != nil || !o.current() || jobOver(job) {
		return
	}
	s.h.fail("nothing will bring the job on: %s", s.h.invariants.summary())
}

// taken reports whether an application has the driver's name that both want.
func (s *second) taken(by client.Object) bool {
	p := s.h.store.pod(appName + "-driver")
	return p != nil && metav1.IsControlledBy(p, by)
}

// freeTheName is a user who deletes a job that is over when the first application tells that its name is taken. Nothing else
// frees it, so that a history in which it is not told never comes to its end.
func freeTheName(h *history) bool {
	app, job := h.store.app(), h.store.job()
	if app == nil || job == nil || job.DeletionTimestamp != nil || !jobOver(job) || !h.other.taken(job) {
		return false
	}
	if told := meta.FindStatusCondition(app.Status.Conditions, string(lifecycle.ConditionSubmitted)); told == nil || told.Reason != string(lifecycle.ReasonNameConflict) {
		return false
	}
	h.other.deleteJob()
	return true
}

// settle lets the job come to its end when the first application is at its own. If that has the name of the driver, the job
// says so until the user deletes it.
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
		job := h.store.job()
		if job == nil || job.DeletionTimestamp == nil && s.settled(job) {
			s.end()
			return
		}
		if app := h.store.app(); app != nil && app.DeletionTimestamp == nil && job.Status.Why == string(lifecycle.ReasonNameConflict) && s.taken(app) {
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
	h.fail("the job does not come to rest: %s", h.invariants.summary())
}

func (s *second) settled(job *family.Job) bool {
	r := family.Jobs{}.FromStatus(job)
	if r.Generation != job.Generation || len(r.Exposure.Objects) > 0 {
		return false
	}
	idle := r.State == lifecycle.Suspended || r.State == lifecycle.Queued && r.Executions == 0
	return jobOver(job) || job.Spec.Paused && idle
}

func (s *second) end() {
	if live := s.h.pods(func(p *corev1.Pod) bool { return s.ours(p) && isDriver(p) && alive(p) }); len(live) > 0 {
		s.h.fail("at the end driver %s of the job lives on: %s", live[0].Name, s.h.invariants.summary())
	}
	job := s.h.store.job()
	if job == nil {
		return
	}
	if w, n := s.jobs[job.UID], len(s.drivers); job.Status.Phase == family.PhaseDone && s.drivers[n-1].spec != w.specs[job.Generation] {
		s.h.fail("the job is done from an old spec: %s", s.h.invariants.summary())
	}
}
