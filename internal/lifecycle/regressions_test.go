/*
Copyright 2026 The Firesteel Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package lifecycle

import (
	"strings"
	"testing"
)

// When a foreign ConfigMap or Service has the name, the sentence names that, not a pod.
func TestNameTakenSentenceNamesTheObject(t *testing.T) {
	p := Plan{Record: Record{Attempt: 1}, Driver: absent, Gate: admit, Actions: []Action{{Kind: Submit}}}
	said := "ConfigMap spark-drv-1-conf-map exists already and does not belong to this application; delete or rename it"
	o := Settle(p, []Result{{Kind: Submit, Class: ClassNameTaken, Message: said}}, Env{Now: later})
	if got := o.Record.Cause.Message; !strings.Contains(got, "ConfigMap spark-drv-1-conf-map") {
		t.Errorf("the sentence tells people to delete what does not exist: %q", got)
	}
}

// A driver deletion that is refused is reported and repeated.
func TestRefusedDeletionIsRepeated(t *testing.T) {
	p := Decide(with(isDeleted), ran(Running), Observation{Driver: driver(Current, DriverRunning)}, Gate{}, Env{Now: later})
	for _, class := range []Class{ClassOperatorForbidden, ClassRefused, ClassTerminating} {
		o := Settle(p, []Result{{Kind: DeleteDriver, Class: class, Message: "no"}}, Env{Now: later})
		if o.Err == nil && o.Requeue == 0 {
			t.Errorf("%s: the driver lives on, and nothing will try again or say so", class)
		}
	}
}

func TestDeletionInDoubtHasATimer(t *testing.T) {
	p := Decide(with(isDeleted), ran(Running), Observation{Driver: unsure()}, Gate{}, Env{Now: later})
	if p.Requeue == 0 {
		t.Error("the driver was not seen because the API server is in trouble, and nobody will look again")
	}
}

// Hundreds of lost executors do not push those that run out of the sample.
func TestLostExecutorsPushOutRunningOnes(t *testing.T) {
	running := numbered(1, 10, ExecutorRunning)
	rec := ran(Running)
	rec.Executors = numbered(11, 400, ExecutorRunning)
	got := observed(rec, driver(Current, DriverRunning), executorPods(running)...).Executors
	for name := range running {
		if got[name] != ExecutorRunning {
			t.Fatalf("executor %s runs, but the status does not show it: of %d recorded executors all are lost ones", name, len(got))
		}
	}
}

// events.k8s.io allows 1024 bytes of note; client-go does not cut, the API server refuses the event.
func TestEventsFitTheAPI(t *testing.T) {
	long := strings.Repeat("x", 4096) // a termination message may be that long
	from, to := ran(Failing), ran(Failed)
	to.Cause.Message = long
	for _, e := range Events("pi", from, to) {
		if len(e.Message) > 1024 {
			t.Errorf("%s has a message of %d bytes: the API server takes 1024", e.Reason, len(e.Message))
		}
	}
}

// A driver that is recognised after a crash while it already runs was submitted, too.
func TestRecognisedDriverTellsItsSubmission(t *testing.T) {
	p := Decide(theApp(), Record{}, Observation{Driver: driver(Current, DriverRunning)}, Gate{}, Env{Now: later})
	to := Settle(p, nil, Env{Now: later}).Record
	var told []string
	for _, e := range Events("pi", Record{}, to) {
		told = append(told, e.Reason)
	}
	if !strings.Contains(strings.Join(told, " "), "SparkApplicationSubmitted") {
		t.Errorf("told %v: whoever waits for SparkApplicationSubmitted waits for ever", told)
	}
}

// A policy's refusal that happens to use two words of RBAC's sentence is not taken for missing rights of the operator.
func TestWebhookRefusalIsNotRBAC(t *testing.T) {
	err := forbidden(`admission webhook "policy.example" denied the request: containers cannot use the resource nvidia.com/gpu here`)
	err2 := forbidden(`admission webhook "policy.example" denied the request: pods cannot ask for the resource type gpu`)
	for _, e := range []error{err, err2} {
		if got := Classify(Submit, e); got != ClassPolicy {
			t.Errorf("%v: %s, want Policy", e, got)
		}
	}
}
