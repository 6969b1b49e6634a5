// SPDX-License-Identifier: Apache-2.0

package exposure

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// What is there after a plan, where, and when the rest is tried again.
func TestSettle(t *testing.T) {
	w := Of(attempt(options(spark.Exposure{DisruptionBudget: true})), Config{Service: true, DisruptionBudget: true})
	service, budget := w.Objects[0], w.Objects[1]
	made := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Labels: service.GetLabels(), Annotations: service.GetAnnotations()}}
	done := lifecycle.Result{Class: lifecycle.ClassDone}
	quota := lifecycle.Result{Class: lifecycle.ClassQuota, Message: "full"}
	busy := lifecycle.Result{Class: lifecycle.ClassTransient, Message: "busy"}
	invalid := lifecycle.Result{Class: lifecycle.ClassRefused, Message: "no", BySpec: true}
	both := []string{"poddisruptionbudget/pi-driver", "service/pi-ui-svc"}
	recorded := lifecycle.Exposure{Service: "pi-ui-svc", ServiceAddress: "10.0.0.7:80", ServicePort: 80}
	cases := map[string]struct {
		reason  string
		wanted  Wanted
		seen    Seen
		before  lifecycle.Exposure
		results map[Ref]Result
		objects []string
		address string
		trouble lifecycle.Reason
		again   time.Duration
	}{
		"made":          {"both are there", w, nil, recorded, map[Ref]Result{service.Ref: {done, "10.0.0.8"}, budget.Ref: {Result: done}}, both, "10.0.0.8:4040", "", 0},
		"headless":      {"it has no address", w, nil, recorded, map[Ref]Result{service.Ref: {Result: done}, budget.Ref: {Result: done}}, both, "", "", 0},
		"there already": {"the address is known, the port may differ", w, Seen{service.Ref: made}, recorded, map[Ref]Result{budget.Ref: {Result: done}}, both, "10.0.0.7:4040", "", 0},
		"not recorded":  {"the address is looked up", w, Seen{service.Ref: made}, lifecycle.Exposure{}, map[Ref]Result{budget.Ref: {Result: done}}, both, "10.0.0.9:4040", "", 0},
		"no room":       {"nothing else waits for it", w, nil, recorded, map[Ref]Result{service.Ref: {Result: quota}, budget.Ref: {Result: done}}, both[:1], "", lifecycle.ReasonQuotaExceeded, Retry},
		"no answer":     {"it may have been made, and soon is known", w, nil, recorded, map[Ref]Result{service.Ref: {Result: busy}, budget.Ref: {Result: done}}, both, "", "", Soon},
		"invalid":       {"it may be in the way of something that goes", w, nil, recorded, map[Ref]Result{service.Ref: {Result: invalid}, budget.Ref: {Result: done}}, both[:1], "", lifecycle.ReasonExposureRefused, Retry},
		"does not go":   {"it is recorded until it is gone", Wanted{}, Seen{service.Ref: made}, recorded, map[Ref]Result{service.Ref: {Result: busy}}, both[1:], "", "", Soon},
		"gone":          {"nothing is left", Wanted{}, Seen{service.Ref: made}, recorded, map[Ref]Result{service.Ref: {Result: done}}, nil, "", "", 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := Decide(tc.wanted, tc.seen, tc.before, nil)
			if p.Lookup.Name != "" {
				p.Address = "10.0.0.9"
			}
			got := Settle(p, tc.results, Retry)
			if diff := cmp.Diff(tc.objects, got.Objects); diff != "" {
				t.Errorf("%s: recorded (-want +got):\n%s", tc.reason, diff)
			}
			if got.ServiceAddress != tc.address || got.Trouble.Reason != tc.trouble || got.Again != tc.again {
				t.Errorf("%s: at %q, %q, again in %s, want %q, %q, %s", tc.reason, got.ServiceAddress, got.Trouble.Reason, got.Again, tc.address, tc.trouble, tc.again)
			}
		})
	}
}

// An object that is refused for what it says is sent a few times, and again when it says something else or was not wanted in between.
func TestRefusalsAreCounted(t *testing.T) {
	w := func(port int32) Wanted {
		return Of(attempt(options(spark.Exposure{Ports: []spark.ExposedPort{{Port: port}}, NoUI: true})), Config{})
	}
	var refused Refusals
	sent := func(w Wanted) (n int, again time.Duration, trouble string) {
		p := Decide(w, nil, lifecycle.Exposure{}, refused)
		results := map[Ref]Result{}
		for _, o := range p.Write {
			results[o.Ref] = Result{Result: lifecycle.Result{Class: lifecycle.ClassRefused, Message: "no", BySpec: true}}
		}
		s := Settle(p, results, Retry)
		refused = s.Refused
		return len(p.Write), s.Again, s.Trouble.Message
	}
	for i := range maxRefusals + 2 {
		n, again, trouble := sent(w(8000))
		if send, wait := i < maxRefusals, i < maxRefusals-1; n == 1 != send || again > 0 != wait || trouble != "service/pi-driver-8000: no" {
			t.Errorf("try %d: %d sent, again in %s: %q", i, n, again, trouble)
		}
	}
	if n, _, _ := sent(w(8001)); n != 1 || len(refused) != 1 {
		t.Errorf("another object: %d sent, %d refusals remembered", n, len(refused))
	}
	if n, again, _ := sent(w(8000)); n != 1 || again != Retry {
		t.Errorf("it was not wanted in between: %d sent, again in %s", n, again)
	}
}
