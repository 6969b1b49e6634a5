// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime/debug"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	sparkv1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1alpha1"
	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/controller/application"
	"github.com/firesteel-dev/firesteel/internal/convert/apache"
	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
	"github.com/firesteel-dev/firesteel/internal/exposure"
	"github.com/firesteel-dev/firesteel/internal/observe"
	"github.com/firesteel-dev/firesteel/internal/reservations"
	"github.com/firesteel-dev/firesteel/internal/resolve"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

// errCrash unwinds a reconcile of an operator that is killed.
var errCrash = errors.New("the operator is killed")

// patches is the verb of a status write.
const patches = "patch status of"

const (
	firstBackOff = 5 * time.Millisecond
	lastBackOff  = 1000 * time.Second
)

// operator is one process. Its reconciles are a coroutine that stops before every API call, so that everything else may
// happen there, its own death too.
type operator struct {
	h      *history
	name   string
	engine reconcile.Reconciler
	cache  *cache
	// second is the controller of the second family in the same process, if it has one; decidesSecond is what it has read.
	second        *operator
	decidesSecond *sparkv1.SparkApplication
	// decidesServer is the server as the present reconcile read it, told what it said of its sessions then.
	decidesServer *v1alpha1.SparkConnect
	told          told
	// began is when the present reconcile did, stale whether its cache of pods was behind then.
	began time.Time
	stale bool
	// of is the kind that it reconciles.
	of string
	// watches is set when it knows what is beside drivers.
	watches bool

	step func() (struct{}, bool)
	stop func()
	wait func(struct{}) bool

	// The work queue, which holds one key: controller-runtime keeps one entry of a key, with the earliest time.
	ready    bool
	timer    time.Time
	failures int
	// resync is when it reads everything again, because there is something that it has not heard of; zero for never.
	resync time.Time
	busy   bool
	again  bool

	// called is the last call, for scripts; asks is the verb of the next one, and wrote how many writes of the present reconcile were done.
	called, asks string
	wrote        int
	// decides is the application as the present reconcile read it.
	decides *v1beta2.SparkApplication
	// looked is the version of the store when it last asked for the application live; 0 for never.
	looked int64
}

// startOperator starts a process with empty memory. Its first list may be old: lag is by how many changes at most.
func (h *history) startOperator(name string, lag int) *operator {
	o := &operator{h: h, name: name, cache: newCache(h.store), of: kindApp}
	memory := reservations.New(h, nil, scheduler.Order{})
	o.engine = engineOf(o, kubeflow.SparkApplications{}, &v1beta2.SparkApplicationList{}, memory)
	kinds := []string{kindApp, kindPod}
	if h.server != nil {
		o.of, kinds = kindServer, []string{kindServer, kindPod}
		o.engine = h.server.engineOf(o, memory)
	}
	if h.other != nil {
		o.second = &operator{h: h, name: name + "/second", cache: o.cache, of: kindSecond}
		o.second.engine = engineOf(o.second, apache.SparkApplications{}, &sparkv1.SparkApplicationList{}, memory)
		kinds = append(kinds, kindSecond)
	}
	for _, kind := range kinds {
		old := 0
		if lag > 0 {
			old = h.rng.IntN(lag + 1)
		}
		for o.cache.behind(kind) > old {
			o.cache.next(kind)
		}
	}
	for _, c := range o.controllers() {
		c.ready = true
		c.step, c.stop = iter.Pull(c.lifecycle)
		c.step()
	}
	h.tell(name, "starts")
	return o
}

// engineOf is the engine of one kind in a process with this memory.
func engineOf[T client.Object](o *operator, kind resolve.Kind[T], list client.ObjectList, memory *reservations.Manager) reconcile.Reconciler {
	cachedClient, liveReader := client.Client(cached{o: o}), client.Reader(live{o})
	if o.h.mutation != nil {
		cachedClient, liveReader = o.h.mutation(cachedClient, liveReader)
	}
	reader := observe.Reader{Cache: cachedClient, Live: liveReader, Logs: o.log, Auxiliary: companions{o: o}}
	engine := application.NewEngine(kind, list, reader, cachedClient, registry, recorder{o}, o.h, memory)
	engine.Exposure, engine.Sessions = exposure.Config{Service: o.h.exposed}, o.sessions
	return engine
}

// controllers are those of the process.
func (o *operator) controllers() []*operator {
	if o.second == nil {
		return []*operator{o}
	}
	return []*operator{o, o.second}
}

// halt ends the process without a word.
func (o *operator) halt() {
	for _, c := range o.controllers() {
		c.stop()
	}
}

// lifecycle is the coroutine: a step of it ends before the next API call, or when there is nothing left to do.
func (o *operator) lifecycle(yield func(struct{}) bool) {
	defer func() {
		if p := recover(); p != nil && p != errCrash { //nolint:errorlint // the very value
			o.h.fail("the operator panicked: %v\n%s", p, debug.Stack())
		}
	}()
	o.wait = yield
	for yield(struct{}{}) {
		o.reconcile()
	}
}

// due says whether the operator has something to do.
func (o *operator) due() bool {
	over := func(t time.Time) bool { return !t.IsZero() && !t.After(o.h.now) }
	return o.busy || o.ready || over(o.timer) || over(o.resync)
}

func (o *operator) reconcile() {
	o.busy, o.ready, o.again, o.timer, o.decides, o.looked = true, false, false, time.Time{}, nil, 0
	o.decidesSecond, o.decidesServer, o.told = nil, nil, told{}
	o.began, o.stale = o.h.now, o.cache.behind(kindPod) > 0
	o.resync, o.asks, o.wrote = time.Time{}, "", 0
	o.h.stats.Reconciles++
	if o.behind() {
		o.h.stats.Behind++
	}
	result, err := o.engine.Reconcile(context.Background(), reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: appName}})
	o.busy = false
	if o.h.dropTimers {
		result.RequeueAfter = 0
	}
	switch {
	case err != nil:
		o.h.tell(o.name, "reconcile fails: %v", err)
		o.timer = o.h.now.Add(min(firstBackOff<<min(o.failures, 30), lastBackOff))
		o.failures++
	case result.RequeueAfter > 0:
		o.failures = 0
		o.timer = o.h.now.Add(result.RequeueAfter)
	default:
		o.failures = 0
	}
	o.ready = o.again
	switch {
	case err != nil:
	case o.of == kindSecond:
		o.h.other.rests(o)
	case o.of == kindServer:
		o.h.server.rests(o)
	default:
		o.h.invariants.rests(o)
		o.h.invariants.shown(o)
	}
}

// woken is what a watch event does to the queue.
func (o *operator) woken() {
	if o.busy {
		o.again = true
	} else {
		o.ready = true
	}
}

// deliver lets up to n changes of a kind arrive.
func (o *operator) deliver(kind string, n int) bool {
	n = min(n, o.cache.behind(kind))
	for range n {
		c, before := o.cache.next(kind)
		for _, of := range o.controllers() {
			if of.of == c.of && o.h.news(before, c) && of.hears() {
				of.woken()
			}
		}
	}
	return n > 0
}

// current reports whether the operator knows all that there is to know.
func (o *operator) current() bool {
	return o.watches && !o.behind()
}

// kill ends the process wherever it is.
func (o *operator) kill() {
	o.h.tell(o.name, "is killed")
	o.halt()
}

// call is one API call: everything else may happen before it, the operator may die there, and the answer may be bad.
func (o *operator) call(verb string, obj client.Object, do func() error) error {
	return o.attempt(verb, idOf(obj), do)
}

func (o *operator) callList(list runtime.Object, do func() error) error {
	return o.attempt("list", id{kindOf(list), "*"}, do)
}

func (o *operator) attempt(verb string, i id, do func() error) error {
	if o.asks = verb; !o.wait(struct{}{}) {
		panic(errCrash)
	}
	h := o.h
	h.now = h.now.Add(2 * time.Millisecond)
	h.stats.Calls++
	o.called = verb + " " + i.String()
	f := h.faultOf(verb, i)
	err := f.before
	if err == nil {
		if err = do(); err == nil && writes(verb) {
			o.wrote++
		}
	}
	if err == nil && f.after != nil {
		err = f.after
		h.tell(o.name, "%s %s: done, but the answer is lost: %v", verb, i, err)
		return err
	}
	if h.told != nil {
		h.tell(o.name, "%s %s: %s%s", verb, i, answerOf(err), h.seen(verb, i, err))
	}
	return err
}

// log reads the log of a container.
func (o *operator) log(_ context.Context, l observe.Log) (string, error) {
	err := o.attempt("read the log of", id{kindPod, l.Pod}, func() error {
		if o.h.store.pod(l.Pod) == nil {
			return apierrors.NewNotFound(resource(kindPod), l.Pod)
		}
		return nil
	})
	return "the last words\n", err
}

// fault is trouble with one call: an error instead of it, or instead of its answer.
type fault struct{ before, after error }

// faultOf draws the trouble of a call.
func (h *history) faultOf(verb string, i id) fault {
	if h.scripted != nil {
		if f, ok := h.scripted(verb, i); ok {
			return f
		}
	}
	c := &h.climate
	if h.sealed != nil && i == uiService && (verb == "create" || verb == "apply") {
		return fault{before: h.sealed}
	}
	if verb == "create" && i.kind == kindPod && h.quotaFull {
		return fault{before: quota(i)}
	}
	if writes(verb) && h.noRights {
		return fault{before: rbac(verb, i)}
	}
	if err := h.fate.refuses(verb, i); err != nil {
		return fault{before: err}
	}
	if h.fair {
		return fault{}
	}
	switch {
	case verb == "create" && h.chance(c.refusal):
		h.stats.Faults++
		return fault{before: refusal(i)}
	case h.chance(c.trouble):
		h.stats.Faults++
		return fault{before: trouble(h.rng.IntN(4), verb, i)}
	case writes(verb) && h.chance(c.lostAnswer):
		h.stats.Faults++
		return fault{after: trouble(h.rng.IntN(4), verb, i)}
	}
	return fault{}
}

func writes(verb string) bool {
	return verb == "create" || verb == "delete" || verb == "apply" || verb == "patch" || verb == patches
}

func quota(i id) error {
	return apierrors.NewForbidden(resource(i.kind), i.name, errors.New("exceeded quota: team, requested: pods=1, used: pods=9, limited: pods=9"))
}

func rbac(verb string, i id) error {
	return apierrors.NewForbidden(resource(i.kind), i.name, fmt.Errorf("User %q cannot %s resource %q in API group %q in the namespace %q", //nolint:staticcheck // the API server's words
		"system:serviceaccount:spark-operator:spark-operator", verb, resource(i.kind).Resource, "", namespace))
}

func refusal(i id) error {
	return apierrors.NewForbidden(resource(i.kind), i.name, errors.New("violates PodSecurity \"restricted:latest\": allowPrivilegeEscalation != false"))
}

func trouble(n int, verb string, i id) error {
	switch n {
	case 0:
		return apierrors.NewInternalError(errors.New("etcdserver: leader changed"))
	case 1:
		return apierrors.NewServerTimeout(resource(i.kind), verb, 1)
	case 2:
		return apierrors.NewTooManyRequests("the server is overloaded", 1)
	}
	return errors.New("http2: client connection lost")
}

// recorder takes the operator's events into the story.
type recorder struct{ o *operator }

func (r recorder) Eventf(_, _ runtime.Object, kind, reason, _, note string, args ...any) {
	r.o.h.stats.Events++
	if r.o.h.told != nil {
		r.o.h.tell(r.o.name, "event %s %s: %s", kind, reason, fmt.Sprintf(note, args...))
	}
}
