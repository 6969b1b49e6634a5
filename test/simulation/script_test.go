// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
)

// script is a history that a test directs instead of a seed: nothing happens that it does not ask for.
type script struct {
	*history
	t *testing.T
	// answers are given to the next calls that they match.
	answers map[string]fault
	// blind operators get no news.
	blind map[*operator]bool
}

func newScript(t *testing.T) *script {
	t.Helper()
	s := &script{history: newHistory(1), t: t, answers: map[string]fault{}, blind: map[*operator]bool{}}
	s.told = newStory()
	s.fair = true
	s.scripted = func(verb string, i id) (fault, bool) {
		key := verb + " " + i.String()
		f, ok := s.answers[key]
		delete(s.answers, key)
		return f, ok
	}
	return s
}

// app applies an application and starts an operator.
func (s *script) app(change func(*v1beta2.SparkApplicationSpec)) *operator {
	s.t.Helper()
	app := newApplication()
	if change != nil {
		change(&app.Spec)
	}
	s.applied(app)
	return s.start()
}

func (s *script) start() *operator {
	s.launch()
	return s.operators[len(s.operators)-1]
}

// until lets an operator go on until a call was made, and stops it before the next.
func (s *script) until(o *operator, call string) {
	s.t.Helper()
	for range 200 {
		s.arrive(o)
		if !o.due() {
			break
		}
		o.step()
		if o.called == call {
			o.called = ""
			return
		}
	}
	s.t.Fatalf("%s never came to %q:\n%s", o.name, call, s.told)
}

func (s *script) arrive(o *operator) {
	if s.blind[o] {
		return
	}
	if !o.watches {
		o.watch()
	}
	for _, kind := range watched {
		o.deliver(kind, o.cache.behind(kind))
	}
}

// work lets the operators do what there is to do now.
func (s *script) work() {
	for acted := true; acted; {
		acted = false
		for _, o := range s.operators {
			for _, c := range o.controllers() {
				for s.arrive(o); c.due(); s.arrive(o) {
					c.step()
					acted = true
				}
			}
		}
	}
}

// pass lets time pass, with the operators' timers going off in it.
func (s *script) pass(d time.Duration) {
	end := s.now.Add(d)
	for s.work(); s.now.Before(end); s.work() {
		next := end
		for _, o := range s.operators {
			for _, c := range o.controllers() {
				if !c.timer.IsZero() && c.timer.Before(next) {
					next = c.timer
				}
			}
		}
		s.now = next
	}
}

// crash kills an operator where it is, and starts another one.
func (s *script) crash() *operator {
	s.kill(0)
	return s.start()
}

func (s *script) driver() *corev1.Pod {
	s.t.Helper()
	p := s.store.pod(appName + "-driver")
	if p == nil {
		s.t.Fatalf("there is no driver:\n%s", s.told)
	}
	return p
}

// runs brings the driver to a running container.
func (s *script) runs() {
	s.t.Helper()
	s.schedule(s.driver())
	s.history.start(s.driver())
	s.work()
}

func (s *script) exits(code int32) {
	s.t.Helper()
	reason := "Completed"
	if code != 0 {
		reason = "Error"
	}
	s.finish(s.driver(), code, reason, "")
	s.work()
}

// vanishes lets the kubelet confirm that a deleted driver is gone.
func (s *script) vanishes() {
	s.t.Helper()
	p := s.driver()
	s.tell("kubelet", "pod %s is gone", p.Name)
	s.invariants.gone(p)
	s.store.remove(idOf(p))
	s.work()
}

func (s *script) suspend(wish bool) {
	if ptr.Deref(s.store.app().Spec.Suspend, false) != wish {
		s.toggleSuspend()
	}
}

// cleanUp lets the garbage collector finish.
func (s *script) cleanUp() {
	for collect(s.history) {
		s.work()
	}
}

// ends closes the story with what there is in the end.
func (s *script) ends() string {
	s.t.Helper()
	s.tell("end", "%s", s.invariants.summary())
	for _, o := range s.operators {
		o.halt()
	}
	if s.broken != "" {
		s.t.Errorf("%s\n%s", s.broken, s.told)
	}
	return s.told.String()
}

func onFailure(retries int32) func(*v1beta2.SparkApplicationSpec) {
	return func(s *v1beta2.SparkApplicationSpec) {
		s.RestartPolicy = v1beta2.RestartPolicy{Type: v1beta2.RestartPolicyOnFailure, OnFailureRetries: &retries}
	}
}
