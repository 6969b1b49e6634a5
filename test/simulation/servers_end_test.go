// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1alpha1"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
)

const (
	// soonEnough is how long a server may take to be where it belongs in fair weather, besides a drain and an idle timeout: back-offs of
	// failures and of an operator's errors are over by then.
	soonEnough = 40 * time.Minute
	// still is for how many timers nothing may be written about a world that stands still.
	still = 6
)

// settle lets the server come to where it belongs, and then asks of it what is promised: that it stops when it is idle, that it comes
// when it is wanted, and that it is quiet when nothing happens.
func (s *servers) settle() {
	if s.keepsPromises(); s.h.leavesAtEnd(kindServer) && s.until("gone", func() bool { return s.h.store.server() == nil && len(s.pods()) == 0 }) {
		s.end()
	}
}

// keepsPromises asks of the server what settle says.
func (s *servers) keepsPromises() {
	if o := s.h.store.server(); o != nil && slices.Contains(o.Finalizers, foreignFinalizer) {
		s.h.dropFinalizer(o, foreignFinalizer)
	}
	if !s.until("where it belongs", s.settled) {
		return
	}
	s.h.stayed(kindServer)
	if o := s.h.store.server(); o == nil || o.DeletionTimestamp != nil {
		s.end()
		return
	}
	if ptr.Deref(s.h.store.server().Spec.Suspend, false) {
		if s.h.rng.IntN(2) == 0 {
			s.rest()
			return
		}
		s.edit("suspend", func(c *v1alpha1.SparkConnectSpec) { c.Suspend = nil })
	}
	idle := s.h.store.server().Spec.IdleTimeout != nil
	if idle && s.h.rng.IntN(4) == 0 && s.isReady() {
		s.work()
	}
	if idle && !s.until("stopped because it is idle", func() bool { return s.settled() && s.isStopped() }) {
		return
	}
	if idle {
		if s.rest(); s.h.broken != "" {
			return
		}
		s.annotate(v1alpha1.AnnotationWakeAt)
		s.edit("idle timeout", func(c *v1alpha1.SparkConnectSpec) { c.IdleTimeout = nil })
	}
	ready := func() bool { return s.settled() && s.isReady() }
	if !s.until("ready", ready) {
		return
	}
	if s.h.rng.IntN(2) == 0 {
		s.rest()
		return
	}
	s.use()
	s.edit("configuration", func(c *v1alpha1.SparkConnectSpec) {
		c.SparkConf = map[string]string{"spark.a": c.SparkConf["spark.a"] + "y"}
	})
	if s.until("rolled out", ready) {
		s.rest()
	}
}

// work lets a client execute something for longer than a server may be idle.
func (s *servers) work() {
	r, over := s.runOf(s.h.store.pod(appName+"-server").UID), s.h.now.Add(2*s.h.store.server().Spec.IdleTimeout.Duration)
	s.busy, r.active, r.reported = true, s.h.now, s.h.now
	if s.h.rng.IntN(2) == 0 {
		r.streams++
	} else {
		r.executing++
	}
	s.h.tell("client", "executes something that takes long")
	for s.h.now.Before(over) && s.h.broken == "" {
		if !s.acts() && !s.h.tick() {
			break
		}
	}
	s.busy = false
}

// use lets a client open a session, which it never closes.
func (s *servers) use() {
	r := s.runOf(s.h.store.pod(appName + "-server").UID)
	r.opened, r.active = append(r.opened, s.h.now), s.h.now
	s.h.tell("client", "opens a session")
}

// until lets everybody but the hostile ones act until the server is as it should be, in time.
func (s *servers) until(what string, done func() bool) bool {
	h, limit := s.h, s.h.now.Add(soonEnough)
	if o := h.store.server(); o != nil {
		limit = limit.Add(o.Spec.DrainTimeout.Duration)
	}
	for range restLimit {
		switch {
		case h.broken != "":
			return false
		case s.acts():
			continue
		case done():
			return true
		case h.now.After(limit):
			h.fail("in %s the server is not %s: %s", h.now.Sub(limit.Add(-soonEnough)), what, s.summary())
		case !h.tick():
			h.fail("nothing will ever happen again, and the server is not %s: %s", what, s.summary())
		}
	}
	h.fail("the server is never %s: %s", what, s.summary())
	return false
}

// acts lets one of those act who can, operators that both believe to lead as well: while one of them is slow, nothing stands still.
func (s *servers) acts() bool {
	if s.h.broken != "" || s.h.fairStep() {
		return s.h.broken == ""
	}
	for _, o := range s.h.operators {
		if o.due() {
			o.step()
			return true
		}
	}
	return false
}

// rest checks that nothing is written while nothing happens, and judges what is there.
func (s *servers) rest() {
	s.h.hearAll()
	// Until then what was not worth a write or failed in bad weather is made good, and executors that are missing were asked for.
	before, since := s.writes, s.h.now.Add(2*time.Minute)
	for range still {
		for s.acts() {
			continue
		}
		if s.h.now.Before(since) {
			before = s.writes
		}
		if s.h.broken != "" || !s.h.tick() {
			break
		}
	}
	if s.writes != before {
		s.h.fail("%d statuses were written of a server of which nothing is new: %s", s.writes-before, s.summary())
	}
	s.end()
}

// pods are the pods of the server, executors included.
func (s *servers) pods() []*corev1.Pod {
	return s.h.pods(func(p *corev1.Pod) bool {
		return p.Labels[v1alpha1.LabelConnectName] == appName && len(p.OwnerReferences) > 0
	})
}

func (s *servers) isStopped() bool {
	return !s.record(s.h.store.server()).Idle.StoppedAt.IsZero()
}

func (s *servers) isReady() bool {
	p := s.h.store.pod(appName + "-server")
	return p != nil && isReady(p) && s.h.store.server().Status.State == v1alpha1.SparkConnectStateReady
}

// settled reports whether the server is where it may stay: gone, suspended, stopped because it was idle, or ready as the spec has it.
func (s *servers) settled() bool {
	o := s.h.store.server()
	if o == nil {
		return len(s.pods()) == 0
	}
	rec := s.record(o)
	switch {
	case o.DeletionTimestamp != nil || rec.Generation != o.Generation:
		return false
	case ptr.Deref(o.Spec.Suspend, false), !rec.Idle.StoppedAt.IsZero():
		return len(s.pods()) == 0 && (rec.State == lifecycle.Suspended || rec.State == lifecycle.Queued && rec.NeverRan())
	}
	p := s.h.store.pod(appName + "-server")
	if p == nil || !s.isReady() || !alive(p) || p.DeletionTimestamp != nil {
		return false
	}
	r := s.runOf(p.UID)
	return r != nil && r.spec == serverSpec(o) && rec.DrainSince.IsZero() && tokenOf(p) == o.Status.Server.TokenSecretName
}

// end judges what is there in the end.
func (s *servers) end() {
	o := s.h.store.server()
	for _, i := range sortedIDs(s.h.store.objects) {
		if found := s.h.store.objects[i]; o == nil && s.owned(found) {
			s.h.fail("%s is left of a server that is gone", i)
		}
	}
	for _, p := range s.pods() {
		if isDriver(p) && alive(p) && (o == nil || !metav1.IsControlledBy(p, o)) {
			s.h.fail("server pod %s has no owner", p.Name)
		}
	}
	service := s.h.store.objects[clientService]
	switch {
	case o == nil || o.DeletionTimestamp != nil:
	case service == nil:
		s.h.fail("there is no Service: %s", s.summary())
	case service.GetUID() != s.wishes[o.UID].service:
		s.h.fail("the Service is another one than before: %s", s.summary())
	}
}

// summary is the server's state in a sentence.
func (s *servers) summary() string {
	o := s.h.store.server()
	var text strings.Builder
	if o == nil {
		text.WriteString("no server")
	} else {
		r := s.record(o)
		fmt.Fprintf(&text, "%s (%s, %s: %s), generation %d of %d, attempt %d, suspend %t, drains since %s, stopped at %s", o.Status.State, r.State, r.Cause.Reason, r.Cause.Message,
			r.Generation, o.Generation, r.Attempt, ptr.Deref(o.Spec.Suspend, false), r.DrainSince, r.Idle.StoppedAt)
	}
	for _, i := range sortedIDs(s.h.store.objects) {
		if i.kind != kindServer {
			fmt.Fprintf(&text, "; %s", i)
		}
	}
	return text.String()
}
