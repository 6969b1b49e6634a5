// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"errors"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/testutil"
)

const (
	createDriver = "create Pod pi-driver"
	patchStatus  = patches + " SparkApplication pi"
)

var errLost = errors.New("http2: client connection lost")

// stories are what a person would ask about. Each is compared line by line with its file.
var stories = map[string]func(*script){
	"killed-after-creating-the-driver": func(s *script) {
		o := s.app(nil)
		s.until(o, createDriver)
		s.crash()
		s.runs()
		s.exits(0)
		s.pass(time.Minute)
	},
	"answer-of-the-create-lost": func(s *script) {
		s.answers[createDriver] = fault{after: errLost}
		s.app(nil)
		s.pass(time.Second)
		s.runs()
		s.exits(0)
		s.pass(time.Minute)
	},
	"answer-of-the-status-write-lost": func(s *script) {
		s.answers[patchStatus] = fault{after: errLost}
		s.app(nil)
		s.pass(time.Second)
		s.runs()
		s.exits(0)
		s.pass(time.Minute)
	},
	"quota-full-then-free": func(s *script) {
		s.quotaFull = true
		s.app(nil)
		s.pass(15 * time.Second)
		s.tell("weather", "the quota has room")
		s.quotaFull = false
		s.pass(10 * time.Second)
		s.runs()
		s.exits(0)
		s.pass(time.Minute)
	},
	"two-leaders": func(s *script) {
		one := s.app(nil)
		two := s.start()
		s.blind[two] = true
		s.until(one, "create ConfigMap spark-drv-6bd7925b57496137-conf-map")
		s.until(two, "create Service pi-0634c1260555d322-driver-svc")
		s.until(one, createDriver)
		s.until(two, patchStatus)
		s.blind[two] = false
		s.work()
		s.runs()
		s.exits(0)
		s.pass(time.Minute)
	},
	"evicted-then-retried": func(s *script) {
		s.app(onFailure(1))
		s.work()
		s.runs()
		s.evict(s.driver())
		s.pass(20 * time.Second)
		s.runs()
		s.exits(0)
		s.pass(time.Minute)
	},
	"drained-then-retried": func(s *script) {
		s.app(onFailure(1))
		s.work()
		s.runs()
		s.drain(s.driver())
		s.work()
		s.exits(143)
		s.vanishes()
		s.pass(20 * time.Second)
		s.runs()
		s.exits(0)
		s.pass(time.Minute)
	},
	"retries-used-up": func(s *script) {
		s.app(onFailure(1))
		s.work()
		s.runs()
		s.exits(1)
		s.pass(20 * time.Second)
		s.runs()
		s.exits(1)
		s.pass(time.Minute)
	},
	"suspended-while-running": func(s *script) {
		s.app(nil)
		s.work()
		s.runs()
		s.suspend(true)
		s.work()
		s.vanishes()
		s.pass(time.Minute)
		s.suspend(false)
		s.pass(10 * time.Second)
		s.runs()
		s.exits(0)
		s.pass(time.Minute)
	},
	"killed-while-suspending": func(s *script) {
		o := s.app(nil)
		s.work()
		s.runs()
		s.suspend(true)
		s.until(o, "delete Pod pi-driver")
		s.crash()
		s.work()
		s.vanishes()
		s.pass(time.Minute)
	},
	"spec-changed-while-running": func(s *script) {
		s.app(nil)
		s.work()
		s.runs()
		s.edit("arguments", func(spec *v1beta2.SparkApplicationSpec) { spec.Arguments = []string{"1000"} })
		s.pass(5 * time.Second)
		s.vanishes()
		s.pass(10 * time.Second)
		s.runs()
		s.exits(0)
		s.pass(time.Minute)
	},
	"spec-changed-while-creating": func(s *script) {
		o := s.app(nil)
		s.until(o, createDriver)
		s.edit("arguments", func(spec *v1beta2.SparkApplicationSpec) { spec.Arguments = []string{"1000"} })
		s.pass(10 * time.Second)
		s.runs()
		s.exits(0)
		s.pass(time.Minute)
	},
	"time-to-live": func(s *script) {
		s.app(func(spec *v1beta2.SparkApplicationSpec) { spec.TimeToLiveSeconds = new(int64(60)) })
		s.work()
		s.runs()
		s.exits(0)
		s.pass(2 * time.Minute)
		s.cleanUp()
	},
	"node-lost": func(s *script) {
		s.app(onFailure(1))
		s.work()
		s.runs()
		s.tell("node", "does not answer any more")
		s.pass(time.Minute)
		s.removePod(s.driver(), "node")
		s.pass(5 * time.Minute)
		s.tell("node", "answers again")
		s.vanishes()
		s.pass(time.Minute)
		s.runs()
		s.exits(0)
		s.pass(time.Minute)
	},
	"deleted-during-a-crash": func(s *script) {
		s.applied(withFinalizer())
		o := s.start()
		s.until(o, createDriver)
		s.kill(0)
		s.deleteNow()
		s.start()
		s.work()
		s.tell("auditor", "lets the application go")
		s.dropFinalizer(s.store.app(), foreignFinalizer)
		s.work()
		s.cleanUp()
	},
	"name-taken": func(s *script) {
		s.store.create(foreignPod(), s.second())
		s.tell("meddler", "creates pod pi-driver")
		s.app(nil)
		s.pass(15 * time.Second)
		s.removePod(s.driver(), "meddler")
		s.pass(15 * time.Second)
		s.runs()
		s.exits(0)
		s.pass(time.Minute)
	},
	"stale-cache-after-a-crash": func(s *script) {
		o := s.app(nil)
		s.until(o, patchStatus)
		s.removePod(s.driver(), "user")
		s.kill(0)
		s.startStale()
		late := s.operators[0]
		for late.due() {
			late.step()
		}
		s.pass(time.Minute)
	},
	"stale-pods-after-a-crash": func(s *script) {
		s.app(onFailure(1))
		s.work()
		s.runs()
		s.exits(1)
		s.pass(20 * time.Second)
		s.runs()
		s.kill(0)
		s.startStale()
		o := s.operators[0]
		o.deliver(kindApp, o.cache.behind(kindApp))
		o.deliver(kindPod, 1)
		for o.due() {
			o.step()
		}
		s.exits(0)
		s.pass(time.Minute)
	},
	"refused-by-a-policy": func(s *script) {
		s.app(func(spec *v1beta2.SparkApplicationSpec) {
			spec.RestartPolicy = v1beta2.RestartPolicy{Type: v1beta2.RestartPolicyOnFailure, OnSubmissionFailureRetries: new(int32(1))}
		})
		always := s.scripted
		s.scripted = func(verb string, i id) (fault, bool) {
			if verb+" "+i.String() == createDriver {
				return fault{before: refusal(i)}, true
			}
			return always(verb, i)
		}
		s.pass(3 * time.Minute)
	},
}

func withFinalizer() *v1beta2.SparkApplication {
	app := newApplication()
	app.Finalizers = []string{foreignFinalizer}
	return app
}

// deleteNow is kubectl delete of the application.
func (h *history) deleteNow() {
	h.tell("user", "deletes the application")
	h.delete(h.store.app(), client.PropagationPolicy(metav1.DeletePropagationBackground))
}

// startStale starts an operator whose first list is from before everything that was done to the application.
func (h *history) startStale() {
	h.started++
	o := h.startOperator("operator-"+string(rune('0'+h.started)), 0)
	o.cache = newCache(h.store)
	o.cache.next(kindApp)
	h.operators = append(h.operators, o)
}

func TestStories(t *testing.T) {
	for name, direct := range stories {
		t.Run(name, func(t *testing.T) {
			s := newScript(t)
			direct(s)
			testutil.Golden(t, "testdata/"+name+".txt", s.ends())
		})
	}
}

// Every file has its story.
func TestNoOldStories(t *testing.T) { testutil.NoStaleGolden(t, "testdata/*.txt", stories) }
