// SPDX-License-Identifier: Apache-2.0

package application

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/policy"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/testutil"
)

// placed is an application that runs with executors in a pool; "" for one that says nothing of them.
func placed(t *testing.T, pool string) *harness {
	t.Helper()
	w := newHarness(t, testutil.Pi(func(o *v1beta2.SparkApplication) {
		o.Spec.RestartPolicy = v1beta2.RestartPolicy{Type: v1beta2.RestartPolicyOnFailure, OnFailureRetries: new(int32(1)), OnFailureRetryInterval: new(int64(1))}
		inPool(pool)(o)
	}))
	w.settle()
	w.kubelet(corev1.PodRunning, running())
	w.settle()
	w.events()
	return w
}

func inPool(pool string) func(*v1beta2.SparkApplication) {
	return func(o *v1beta2.SparkApplication) {
		o.Spec.Executor.NodeSelector = nil
		if pool != "" {
			o.Spec.Executor.NodeSelector = map[string]string{"pool": pool}
		}
	}
}

// pool is the one that the driver's template names; "none" without a template.
func (w *harness) pool() string {
	w.t.Helper()
	var all corev1.ConfigMapList
	if err := w.c.List(w.t.Context(), &all); err != nil {
		w.t.Fatal(err)
	}
	for i := range all.Items {
		if text, ok := all.Items[i].Data["podspec-configmap-key"]; ok {
			_, pool, _ := strings.Cut(text, "pool: ")
			pool, _, _ = strings.Cut(pool, "\n")
			return pool
		}
	}
	return "none"
}

// stays fails if the driver is not the one that was running before.
func (w *harness) stays(driver corev1.Pod) {
	w.t.Helper()
	if got := w.drivers(); len(got) != 1 || got[0].UID != driver.UID || w.state() != "RUNNING" {
		w.t.Fatalf("the edit restarts it: %s", w.state())
	}
}

func (w *harness) fieldEvents() []string {
	var found []string
	for _, e := range w.events() {
		if strings.Contains(e, "SparkApplicationWebhookFieldsUpdated") {
			found = append(found, e)
		}
	}
	return found
}

// The driver reads its template for each executor, so an edit reaches the next ones: also if the operator dies after any write, and if the
// edit is taken back before anybody recorded it.
func TestPlacementReachesARunningDriver(t *testing.T) {
	for _, next := range []string{"spot", "", "old"} {
		for writes := range 4 {
			t.Run(fmt.Sprintf("%s/%d", next, writes), func(t *testing.T) {
				w := placed(t, "old")
				driver := w.drivers()[0]
				w.edit(inPool("new"))
				w.diesAfter(writes)
				w.edit(inPool(next))
				w.settle()
				w.stays(driver)
				p := w.app().Status.ExecutorPlacement
				if w.pool() != next || p.Outdated || p.Problem != "" {
					t.Errorf("executors go to %q, want %q: %+v", w.pool(), next, p)
				}
				before := maps.Clone(w.writes)
				w.pass(time.Minute)
				w.reconcile()
				if !maps.Equal(before, w.writes) {
					t.Errorf("it is written again and again: %v, then %v", before, w.writes)
				}
			})
		}
	}
}

// diesAfter lets an operator do so many writes, and starts another one.
func (w *harness) diesAfter(writes int) {
	w.t.Helper()
	dead := func() error {
		if writes--; writes < 0 {
			return errCrash{}
		}
		return nil
	}
	w.engine.Writer.Client = interceptor.NewClient(w.c, interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
			if err := dead(); err != nil {
				return err
			}
			return c.Patch(ctx, o, patch, opts...)
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
			if err := dead(); err != nil {
				return err
			}
			return c.SubResource(sub).Patch(ctx, o, patch, opts...)
		},
	})
	for range 4 {
		_, _ = w.engine.Reconcile(w.t.Context(), reconcile.Request{NamespacedName: key})
		w.pass(2 * time.Second)
	}
	w.restart()
}

// What an edit cannot reach has it from the next attempt on, and whoever made it is told why, once.
func TestPlacementHoldsFromTheNextAttempt(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, from, says string
		prepare            func(*harness)
	}{
		"NoTemplate": {reason: "there was nothing to say of executors", says: "no executor template"},
		"Left": {reason: "an earlier try left a template, which the driver does not read", says: "no executor template", prepare: func(w *harness) {
			var all corev1.ServiceList
			if err := w.c.List(w.t.Context(), &all); err != nil {
				w.t.Fatal(err)
			}
			for _, s := range all.Items {
				if prefix, ok := strings.CutSuffix(s.Name, "-driver-svc"); ok {
					s.Name, s.ResourceVersion = prefix+"-driver-podspec-conf-map", ""
					if err := w.c.Create(w.t.Context(), &corev1.ConfigMap{ObjectMeta: s.ObjectMeta}); err != nil {
						w.t.Fatal(err)
					}
				}
			}
		}},
		"Immutable": {reason: "an earlier release created it", from: "old", says: "another release", prepare: func(w *harness) {
			var all corev1.ConfigMapList
			if err := w.c.List(w.t.Context(), &all); err != nil {
				w.t.Fatal(err)
			}
			for i := range all.Items {
				all.Items[i].Immutable = new(true)
				if err := w.c.Update(w.t.Context(), &all.Items[i]); err != nil {
					w.t.Fatal(err)
				}
			}
		}},
		"Policy": {reason: "nothing is made that a policy forbids", from: "old", says: `spec.image`, prepare: func(w *harness) {
			w.govern(forJobs(policy.Limits{Images: []string{"allowed/*"}}, policy.Defaults{}))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w := placed(t, tc.from)
			driver, was := w.drivers()[0], w.pool()
			if tc.prepare != nil {
				tc.prepare(w)
			}
			w.edit(inPool("new"))
			w.settle()
			w.stays(driver)
			if w.pool() != was {
				t.Errorf("%s: executors go to %q", tc.reason, w.pool())
			}
			if c := conditionOf(w, "Admitted"); !strings.Contains(c.Message, "takes effect with the next attempt: ") || !strings.Contains(c.Message, tc.says) {
				t.Errorf("%s: nobody is told: %s", tc.reason, c.Message)
			}
			if events := w.fieldEvents(); len(events) != 1 || !strings.Contains(events[0], tc.says) {
				t.Errorf("%s: told not once: %q", tc.reason, events)
			}
			w.engine.Policies = nil
			w.kubelet(corev1.PodFailed, exited(1, "Error"))
			w.settle()
			if p := w.app().Status.ExecutorPlacement; w.app().Status.Attempt != 2 || w.pool() != "new" || p.Outdated || p.Problem != "" {
				t.Errorf("%s: attempt %d has executors in %q: %+v", tc.reason, w.app().Status.Attempt, w.pool(), p)
			}
		})
	}
}

func TestPlacementAndMoreRunsAgain(t *testing.T) {
	w := placed(t, "old")
	w.edit(func(o *v1beta2.SparkApplication) { o.Spec.Executor.NodeSelector, o.Spec.Arguments = nil, []string{"1"} })
	w.reconcile()
	if w.state() != "PENDING_RERUN" {
		t.Errorf("an edit of something else restarts it, but it is %s", w.state())
	}
}

// A driver is found after a crash, and where its executors run was edited meanwhile, or not.
func TestPlacementReachesADriverThatIsFound(t *testing.T) {
	for _, tc := range []struct{ from, to string }{{"old", "new"}, {"old", "old"}, {"old", ""}, {"", ""}} {
		t.Run(tc.from+"/"+tc.to, func(t *testing.T) {
			w := newHarness(t, testutil.Pi(inPool(tc.from), func(o *v1beta2.SparkApplication) { o.Generation = 1 }))
			w.plugin = plain{scheduler.Admission{Verdict: scheduler.Wait, Reason: "QueueFull", RetryAfter: time.Minute}}
			w.restart()
			w.settle()
			w.plugin, w.patchFails = plain{goAhead}, errCrash{}
			w.restart()
			w.pass(time.Minute)
			_, _ = w.engine.Reconcile(t.Context(), reconcile.Request{NamespacedName: key})
			w.edit(inPool(tc.to))
			w.patchFails = nil
			w.restart()
			driver := w.drivers()[0]
			w.kubelet(corev1.PodRunning, running())
			w.settle()
			w.stays(driver)
			want := tc.to
			if tc.from == "" {
				want = "none"
			}
			if p := w.app().Status.ExecutorPlacement; w.pool() != want || p.Hash == "" || p.Outdated || p.Problem != "" {
				t.Errorf("executors go to %q, want %q: %+v", w.pool(), want, p)
			}
			if told := w.fieldEvents(); len(told) > 0 {
				t.Errorf("its user learns of an edit that was there before anybody knew of the driver: %q", told)
			}
		})
	}
}
