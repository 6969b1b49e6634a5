// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1alpha1"
	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/testutil"
	"github.com/firesteel-dev/firesteel/internal/testutil/testrun"
)

// Some histories are about a Spark Connect server instead of an application: the same cluster and the same operators, other users, and
// clients who open sessions, execute something, leave, and sometimes cannot be heard of.

// servers is the server of a history, with what really happened to it.
type servers struct {
	h      *history
	runs   []*serverRun
	wishes map[types.UID]*serverWish
	// writes counts the statuses that were stored.
	writes int
	// busy is set while a client executes something that takes long.
	busy bool
	// broken is how the kind or the sessions of an operator are broken on purpose; nil for not.
	broken *breakage
}

// serverWish is what the user of one server has asked for.
type serverWish struct {
	// specs is what an attempt is made from, for each generation.
	specs map[int64]string
	// wanted is when the user last asked for a server that may be stopped, and rerun when for another run.
	wanted, rerun time.Time
	// service is the UID of the Service that clients connect to; "" before there is one.
	service types.UID
	stopped time.Time
}

// serverRun is what became of one server pod, and what its clients do.
type serverRun struct {
	run
	ip string
	// outdated is since when the spec is another than the pod was made from; zero while it is the same.
	outdated time.Time
	// readyAt is when it first took clients, turned when that changed last; active when somebody last began or ended to execute something, or opened a session.
	readyAt, turned, active time.Time
	opened                  []time.Time
	executing, streams      int
	// reported is active, as far as the server says it: it says nothing of the ends of streaming queries.
	reported time.Time
	// deaf servers do not answer.
	deaf bool
}

// told is what an operator was told of sessions during a reconcile; at is zero if it did not ask.
type told struct {
	at     time.Time
	open   int
	active time.Time
	busy   bool
	known  bool
}

// withServer makes a history one of a server.
func withServer(h *history) {
	h.server = &servers{h: h, wishes: map[types.UID]*serverWish{}}
}

func TestServers(t *testing.T) {
	total := simulate(t, "servers", 1_000, testrun.Pick(0, 1_500, 20_000), withServer, func(total Stats) string {
		return fmt.Sprintf("simulation: %d histories of servers (%d with two leaders), %d reconciles, %d crashes (%d within a reconcile), %d server pods, %d drains, %d stopped because idle, %d woken",
			total.Histories, total.TwoLeaders, total.Reconciles, total.Crashes, total.MidReconcile, total.Drivers, total.Drains, total.Idles, total.Wakes)
	})
	if n := total.Histories; n >= 1000 && (total.Drains < n/10 || total.Idles < n/10 || total.Wakes < n/10) {
		t.Errorf("of %d histories too few prove anything", n)
	}
}

// sessions is what a server says to the operator, which may die while it asks.
func (o *operator) sessions(_ context.Context, ip string, _ int32, _ time.Time) (said lifecycle.Sessions) {
	s := o.h.server
	err := o.attempt("ask", id{"sessions of", ip}, func() error {
		o.told.at = o.h.now
		said.Problem = "it does not answer"
		for _, r := range s.runs {
			if r.ip == ip && !r.over && !r.gone && !r.deaf && !r.readyAt.IsZero() {
				said = lifecycle.Sessions{Known: true, Open: int32(len(r.opened)), Executing: int32(r.executing), LastExecution: r.reported.Truncate(time.Second)}
				if r.executing == 0 {
					said.Streams = int32(r.streams)
				}
				o.told = told{at: o.h.now, known: true, open: len(r.opened), busy: r.executing+r.streams > 0, active: r.active}
				o.h.tell("server", "says %d sessions, %d executing", said.Open, said.Executing)
			}
		}
		return nil
	})
	if err != nil {
		said = lifecycle.Sessions{Problem: "it does not answer"}
	}
	if b := s.broken; b != nil && b.sessions != nil {
		b.sessions(&said)
	}
	return said
}

// ours reports whether a pod is that of an application or server of this history.
func (h *history) ours(p *corev1.Pod) bool {
	return h.invariants.ours(p) || h.other.owned(p) || h.server != nil && h.server.owned(p)
}

// driverName is what drivers are called.
func (h *history) driverName() string {
	if h.server != nil {
		return appName + "-server"
	}
	return appName + "-driver"
}

func (s *store) server() *v1alpha1.SparkConnect {
	o, _ := s.objects[id{kindServer, appName}].(*v1alpha1.SparkConnect)
	return o
}

func (s *servers) owned(o client.Object) bool {
	owner := metav1.GetControllerOfNoCopy(o)
	return owner != nil && s.wishes[owner.UID] != nil
}

func (s *servers) runOf(uid types.UID) *serverRun {
	for _, r := range s.runs {
		if r.uid == uid {
			return r
		}
	}
	return nil
}

// ended and gone are told by kubelets and the API server.
func (s *servers) ended(p *corev1.Pod) {
	if s == nil {
		return
	}
	if r := s.runOf(p.UID); r != nil {
		r.over = true
	}
}

func (s *servers) gone(p *corev1.Pod) {
	if s == nil {
		return
	}
	if r := s.runOf(p.UID); r != nil {
		r.gone, r.over = true, true
	}
}

// apply creates the server.
func (s *servers) apply() {
	rng := s.h.rng
	o := &v1alpha1.SparkConnect{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: appName}, Spec: v1alpha1.SparkConnectSpec{
		SparkVersion: testutil.SparkVersion, Image: new("spark"), DrainTimeout: duration(seconds(int64(20 + rng.IntN(60)))),
	}}
	if rng.IntN(2) == 0 {
		o.Spec.IdleTimeout = s.drawIdle()
	}
	if rng.IntN(8) == 0 {
		o.Spec.Suspend = new(true)
	}
	if rng.IntN(2) == 0 {
		o.Spec.Authentication = &v1alpha1.AuthenticationSpec{Token: true}
	}
	if rng.IntN(16) == 0 {
		o.Finalizers = []string{foreignFinalizer}
	}
	s.h.tell("user", "applies the server: drain %s, idle %v, suspend %t", o.Spec.DrainTimeout.Duration, o.Spec.IdleTimeout, ptr.Deref(o.Spec.Suspend, false))
	if err := s.h.create(o); err != nil {
		panic(err)
	}
	s.wishes[o.UID] = &serverWish{specs: map[int64]string{1: serverSpec(o)}, wanted: s.h.now}
}

func (s *servers) drawIdle() *metav1.Duration { return duration(seconds(int64(40 + s.h.rng.IntN(80)))) }

// serverSpec is what of a spec a server is made from, as far as the user of these histories changes it.
func serverSpec(o *v1alpha1.SparkConnect) string {
	return fmt.Sprintf("%s, token %t", o.Spec.SparkConf["spark.a"], asksForToken(o))
}

// edit changes the spec.
func (s *servers) edit(what string, change func(*v1alpha1.SparkConnectSpec)) {
	before := s.h.store.server()
	next := before.DeepCopy()
	change(&next.Spec)
	next.Generation++
	s.h.stats.Edits++
	s.h.tell("user", "edits the server: %s", what)
	s.h.store.put(next)
	w := s.wishes[next.UID]
	w.specs[next.Generation] = serverSpec(next)
	if ptr.Deref(before.Spec.Suspend, false) && !ptr.Deref(next.Spec.Suspend, false) {
		w.wanted = s.h.now
	}
	s.outdate(next)
}

// outdate notes which servers are made from another spec than the present one.
func (s *servers) outdate(o *v1alpha1.SparkConnect) {
	for _, r := range s.runs {
		switch {
		case r.app != o.UID:
		case r.spec == serverSpec(o):
			r.outdated = time.Time{}
		case r.outdated.IsZero():
			r.outdated = s.h.now
		}
	}
}

// annotate asks for something at a time.
func (s *servers) annotate(key string) {
	next := s.h.store.server().DeepCopy()
	if next.Annotations == nil {
		next.Annotations = map[string]string{}
	}
	next.Annotations[key] = s.h.second().UTC().Format(time.RFC3339)
	s.h.tell("user", "annotates the server: %s=%s", key, next.Annotations[key])
	w := s.wishes[next.UID]
	w.wanted = s.h.now
	if key == v1beta2.AnnotationRerunAt {
		w.rerun = s.h.now
	}
	s.h.store.put(next)
}

// user does what users do.
func (s *servers) user() bool {
	o := s.h.store.server()
	switch n := s.h.rng.IntN(17); {
	case o == nil:
		s.apply()
	case o.DeletionTimestamp != nil:
		return false
	case n < 6:
		s.edit("configuration", func(c *v1alpha1.SparkConnectSpec) {
			was := c.SparkConf["spark.a"]
			c.SparkConf = map[string]string{"spark.a": was + "x"}
			if len(was) > 1 && s.h.rng.IntN(3) == 0 {
				c.SparkConf["spark.a"] = was[1:] // as it was before
			}
		})
	case n < 9:
		s.edit("suspend", func(c *v1alpha1.SparkConnectSpec) { c.Suspend = new(!ptr.Deref(c.Suspend, false)) })
	case n < 12:
		s.annotate(v1alpha1.AnnotationWakeAt)
	case n < 13:
		s.annotate(v1beta2.AnnotationRerunAt)
	case n < 14:
		s.edit("idle timeout", func(c *v1alpha1.SparkConnectSpec) { c.IdleTimeout = s.drawIdle() })
	case n < 15:
		s.edit("drain timeout", func(c *v1alpha1.SparkConnectSpec) { c.DrainTimeout = duration(seconds(int64(20 + s.h.rng.IntN(60)))) })
	case n < 16:
		s.edit("token", func(c *v1alpha1.SparkConnectSpec) {
			c.Authentication = &v1alpha1.AuthenticationSpec{Token: !asksForToken(o)}
		})
	default:
		s.h.userDeletes(o)
	}
	return true
}

// clients do something with a server that takes them.
func (s *servers) clients() bool {
	p := s.h.pick(func(p *corev1.Pod) bool { return isDriver(p) && s.owned(p) && running(p) && alive(p) })
	if p == nil {
		return false
	}
	r := s.runOf(p.UID)
	if !isReady(p) || s.h.rng.IntN(16) == 0 {
		s.ready(p, !isReady(p))
		return true
	}
	switch n := s.h.rng.IntN(9); {
	case n == 8 && r.streams > 0:
		s.endStreams(r)
	case n == 8 && len(r.opened) > 0:
		r.streams, r.active = 1, s.h.now
		r.reported = r.active
		s.h.tell("client", "starts a streaming query")
	case n == 0:
		r.deaf = !r.deaf
		s.h.tell("server", "cannot be asked: %t", r.deaf)
	case len(r.opened) == 0 || n == 1:
		r.opened, r.active = append(r.opened, s.h.now), s.h.now
		r.reported = r.active
		s.h.tell("client", "opens a session")
	case r.executing > 0 && n < 6:
		r.executing, r.active = r.executing-1, s.h.now
		r.reported = r.active
		s.h.tell("client", "has executed something")
	case n < 5:
		r.executing, r.active = r.executing+1, s.h.now
		r.reported = r.active
		s.h.tell("client", "executes something")
	default:
		r.opened, r.executing = r.opened[1:], min(r.executing, len(r.opened)-1)
		r.active = s.h.now // whatever it executed has ended
		r.reported = r.active
		s.h.tell("client", "closes a session")
	}
	return true
}

// endStreams ends the streaming queries of a server. When that was can be known only if it is stored that they ran.
func (s *servers) endStreams(r *serverRun) {
	r.streams = 0
	if server := s.h.store.server(); server != nil && server.Status.Idle != nil && server.Status.Idle.Streaming {
		r.active = s.h.now
	}
	s.h.tell("client", "has ended its streaming queries")
}

func isReady(p *corev1.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// ready is what the kubelet says of a server pod's readiness.
func (s *servers) ready(p *corev1.Pod, is bool) {
	next := p.DeepCopy()
	status := corev1.ConditionFalse
	r := s.runOf(p.UID)
	r.turned = s.h.now
	if is {
		status = corev1.ConditionTrue
		if r.readyAt.IsZero() {
			r.readyAt = s.h.now
		}
	}
	next.Status.PodIP = r.ip
	for i := range next.Status.Conditions {
		if next.Status.Conditions[i].Type == corev1.PodReady {
			next.Status.Conditions = append(next.Status.Conditions[:i], next.Status.Conditions[i+1:]...)
			break
		}
	}
	next.Status.Conditions = append(next.Status.Conditions, corev1.PodCondition{Type: corev1.PodReady, Status: status, LastTransitionTime: s.h.second()})
	s.h.tell("kubelet", "pod %s: ready %t", p.Name, is)
	s.h.store.put(next)
}

// probe makes servers ready in fair weather, and lets what is executed end.
func probe(h *history) bool {
	p := h.pick(func(p *corev1.Pod) bool {
		return isDriver(p) && running(p) && alive(p) && p.DeletionTimestamp == nil && h.server.owned(p)
	})
	if p == nil || h.lost[string(p.UID)] {
		return false
	}
	r := h.server.runOf(p.UID)
	switch {
	case !isReady(p):
		h.server.ready(p, true)
	case r.executing > 0 && !h.server.busy:
		r.executing, r.active = 0, h.now
		r.reported = r.active
		h.tell("client", "has executed everything")
	case r.streams > 0 && !h.server.busy:
		h.server.endStreams(r)
	case r.deaf:
		r.deaf = false
		h.tell("server", "can be asked again")
	default:
		return false
	}
	return true
}
