// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1alpha1"
	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

const (
	// tick is what times lose when they are stored.
	storedTo = time.Second
	// leastBackoff is the first wait after a failure, but for its jitter.
	leastBackoff = 8 * time.Second
)

const kindSecret = "Secret"

// clientService is the Service that clients connect to.
var clientService = id{kindService, appName + "-server"}

// record is what a status remembers.
func (s *servers) record(o *v1alpha1.SparkConnect) lifecycle.Record {
	return kubeflow.SparkConnects{}.FromStatus(o)
}

// created judges what an operator has created.
func (s *servers) created(o *operator, obj client.Object) {
	owner, server := metav1.GetControllerOfNoCopy(obj), o.decidesServer
	if server == nil || owner == nil || owner.UID != server.UID || owner.Kind != kindServer || server.DeletionTimestamp != nil {
		s.h.fail("%s was created for no server", idOf(obj))
		return
	}
	w := s.wishes[server.UID]
	if now := s.h.store.server(); idOf(obj) == clientService && now != nil && now.UID == server.UID && now.DeletionTimestamp == nil {
		if w.service != "" {
			s.h.fail("the Service of the server was created twice")
		}
		w.service = s.h.store.objects[clientService].GetUID()
	}
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return
	}
	s.h.stats.Drivers++
	s.starts(server, w)
	s.guards(server, pod)
	r := &serverRun{run: run{
		uid: pod.UID, app: server.UID, submission: pod.Labels[v1beta2.LabelSubmissionID], labels: pod.Labels, spec: w.specs[server.Generation],
	}, ip: fmt.Sprintf("10.0.%d.%d", len(s.runs)/200, len(s.runs)%200+1)}
	for _, other := range s.runs {
		switch same := other.submission == r.submission; {
		case other.app != server.UID:
		case same && other.unknown(o):
		case same:
			s.h.fail("attempt %q of the server has two pods", r.submission)
		}
	}
	s.runs = append(s.runs, r)
	if now := s.h.store.server(); now != nil && now.UID == server.UID {
		s.outdate(now)
	}
	if others := s.h.pods(func(p *corev1.Pod) bool {
		return p.Labels[spark.LabelRole] == spark.RoleServer && metav1.IsControlledBy(p, server) && p.UID != pod.UID && alive(p)
	}); len(others) > 0 {
		s.h.fail("server pod %s was created while another one lives", pod.Name)
	}
}

// starts judges whether a server pod may be created now.
func (s *servers) starts(server *v1alpha1.SparkConnect, w *serverWish) {
	rec := s.record(server)
	switch {
	case ptr.Deref(server.Spec.Suspend, false):
		s.h.fail("a pod was created for a suspended server")
	case !w.stopped.IsZero() && !w.wanted.Truncate(storedTo).Add(storedTo).After(w.stopped):
		s.h.fail("a pod was created for a server that was stopped because it was idle, and nobody wants it")
	case rec.Cause.Reason == lifecycle.ReasonRerun && len(rec.Attempts) > 0:
		last := rec.Attempts[len(rec.Attempts)-1]
		if waited := s.h.now.Add(storedTo).Sub(last.EndedAt); last.Class != "" && waited < leastBackoff {
			s.h.fail("a server that failed was replaced after %s", waited)
		}
	}
}

func asksForToken(o *v1alpha1.SparkConnect) bool {
	return ptr.Deref(o.Spec.Authentication, v1alpha1.AuthenticationSpec{}).Token
}

// tokenOf names the Secret that a server's pod reads its token from; "" if it reads none.
func tokenOf(p *corev1.Pod) string {
	for i := range p.Spec.Containers {
		if ref := spark.TokenSecretOf(&p.Spec.Containers[i]); ref != nil {
			return ref.Name
		}
	}
	return ""
}

// guards judges where a server has the token of its clients from: as the spec says, from a Secret that is there, and that clients know.
func (s *servers) guards(server *v1alpha1.SparkConnect, pod *corev1.Pod) {
	name, known := tokenOf(pod), server.Status.Server.TokenSecretName
	now := s.h.store.server()
	stays := now != nil && now.UID == server.UID && now.DeletionTimestamp == nil // else the collector may have been faster
	switch {
	case (name != "") != asksForToken(server):
		s.h.fail("the spec asks for a token: %t, and the server reads %q", asksForToken(server), name)
	case name != "" && known != "" && name != known:
		s.h.fail("clients know the token in Secret %s, and the server reads %s", known, name)
	case name != "" && stays && s.h.store.objects[id{kindSecret, name}] == nil:
		s.h.fail("there is no Secret %s", name)
	}
}

// deleted judges what an operator has deleted: its own, and never what clients depend on.
func (s *servers) deleted(o *operator, target client.Object) {
	owner, server := metav1.GetControllerOfNoCopy(target), o.decidesServer
	if server == nil || owner == nil || owner.UID != server.UID {
		s.h.fail("%s, which is not the server's, was deleted", idOf(target))
		return
	}
	if idOf(target) == clientService && server.DeletionTimestamp == nil && s.record(server).State != lifecycle.Failed {
		s.h.fail("the Service of a server was deleted that accepts clients again one day")
	}
	if pod, ok := target.(*corev1.Pod); ok && s.h.store.objects[idOf(target)] == nil {
		s.gone(pod)
	}
}

// patchStatus is PATCH of the server's subresource status, and the judgment of what was written.
func (s *servers) patchStatus(by *operator, o *v1alpha1.SparkConnect, patch client.Patch) error {
	stored := s.h.store.server()
	if stored == nil {
		return apierrors.NewNotFound(resource(kindServer), o.Name)
	}
	if version, ok := lockedVersion(patch); ok && version != stored.ResourceVersion {
		return apierrors.NewConflict(resource(kindServer), o.Name, errors.New("the object has been modified"))
	}
	if equality.Semantic.DeepEqual(&stored.Status, &o.Status) {
		s.h.fail("a status of the server was written that changes nothing")
	}
	next := stored.DeepCopy()
	next.Status = *o.Status.DeepCopy()
	s.h.store.put(next)
	s.writes++
	copyInto(o, next)
	s.reported(by, stored, next)
	return nil
}

// reported judges a status.
func (s *servers) reported(by *operator, before, after *v1alpha1.SparkConnect) {
	was, is, w := s.record(before), s.record(after), s.wishes[after.UID]
	s.h.tell(by.name, "the server is %s (%s), %s, attempt %d: %s", after.Status.State, is.State, is.Cause.Reason, is.Attempt, is.Cause.Message)
	if is.Executions > 0 {
		all := make([]*run, 0, len(s.runs))
		for _, r := range s.runs {
			all = append(all, &r.run)
		}
		record(all, after.UID, is.SubmissionID, s.h.store.version)
	}
	for _, c := range after.Status.Conditions {
		if c.Reason == "" || c.Message == "" {
			s.h.fail("condition %s has no reason or no message", c.Type)
		}
	}
	if is.Attempt < was.Attempt && was.Executions > 0 {
		s.h.fail("attempt %d is followed by attempt %d", was.Attempt, is.Attempt)
	}
	if !is.DrainSince.IsZero() && was.DrainSince.IsZero() {
		s.h.stats.Drains++
	}
	if is.State == lifecycle.Invalidating && was.State.HasDriver() {
		s.replaced(by, was)
	}
	if was.Idle.StoppedAt.IsZero() && !is.Idle.StoppedAt.IsZero() {
		s.stopped(by, was, w)
	}
	if !was.Idle.StoppedAt.IsZero() && is.Idle.StoppedAt.IsZero() && is.State == lifecycle.Resuming {
		s.h.stats.Wakes++
	}
	if is.State == lifecycle.Suspending && was.State != lifecycle.Suspending && !ptr.Deref(by.decidesServer.Spec.Suspend, false) && is.Idle.StoppedAt.IsZero() {
		s.h.fail("the server is stopped, and nobody wants that")
	}
}

// replaced judges that an edit takes a server from its clients: those that it had when this reconcile asked, if it did, have left, or had
// their time.
func (s *servers) replaced(by *operator, was lifecycle.Record) {
	for _, r := range s.runs {
		if r.app != by.decidesServer.UID || r.submission != was.SubmissionID || r.over || r.gone {
			continue
		}
		p := s.h.store.pod(appName + "-server")
		switch {
		case p == nil || p.UID != r.uid || p.DeletionTimestamp != nil:
		case was.Idle.Since.IsZero() && (by.stale || !r.turned.Before(by.began)): // nobody knows that it took clients
		case ptr.Deref(by.decidesServer.Spec.Suspend, false), !s.wishes[r.app].rerun.IsZero():
		case by.told.known && by.told.open == 0:
		case len(r.opened) == 0 && !r.deaf && !by.told.at.IsZero() && by.told.known:
		case !r.outdated.IsZero() && s.h.now.Add(storedTo).Sub(r.outdated) >= by.decidesServer.Spec.DrainTimeout.Duration:
		case was.Idle.Since.IsZero() && !isReady(p):
		default:
			s.h.fail("an edit replaces a server with %d sessions, after %s of %s", len(r.opened), s.h.now.Sub(r.outdated), by.decidesServer.Spec.DrainTimeout.Duration)
		}
	}
}

// stopped judges that a server is stopped because it is idle: nothing was executed, and nobody asked for it, for all that time.
func (s *servers) stopped(by *operator, was lifecycle.Record, w *serverWish) {
	s.h.stats.Idles++
	w.stopped = s.h.now
	spec := &by.decidesServer.Spec
	if spec.IdleTimeout == nil || spec.IdleTimeout.Duration == 0 {
		s.h.fail("a server is stopped because it is idle, and nobody wants that")
		return
	}
	long := func(since time.Time) bool { return s.h.now.Add(storedTo).Sub(since) >= spec.IdleTimeout.Duration }
	for _, r := range s.runs {
		if r.app != by.decidesServer.UID || r.submission != was.SubmissionID || r.over || r.gone {
			continue
		}
		switch t := by.told; {
		case r.readyAt.IsZero() || !long(r.readyAt):
			s.h.fail("a server is stopped that has just become ready")
		case !t.known:
			s.h.fail("a server is stopped because it is idle, and nobody has asked it")
		case t.busy:
			s.h.fail("a server is stopped that executes something")
		case !long(t.active):
			s.h.fail("a server is stopped that executed something %s before", s.h.now.Sub(t.active))
		}
	}
	if at, err := time.Parse(time.RFC3339, by.decidesServer.Annotations[v1alpha1.AnnotationWakeAt]); err == nil && !long(at) {
		s.h.fail("a server is stopped that somebody has just woken")
	}
}

// rests judges a reconcile that left no error behind: a timer or an event must bring the server on.
func (s *servers) rests(o *operator) {
	server := s.h.store.server()
	if !o.timer.IsZero() || o.ready || server == nil || server.DeletionTimestamp != nil || !o.current() || s.record(server).State.Final() {
		return
	}
	s.h.fail("nothing will bring the server on: %s", s.summary())
}
