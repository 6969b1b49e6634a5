// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/config"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// unsaid leaves the choice of the scheduler to the operator.
func unsaid(a *app) { a.Spec.BatchScheduler = nil }

// newDefault : another default concerns attempts to come. What runs is followed by the scheduler that it was given to.
func newDefault(w *Harness) {
	w.makePlace(1)
	w.Settings.Default = w.Scheduler
	w.start()
	a := w.create("before", unsaid)
	w.runs(a, 1)
	w.operator.settings.Default = w.Other
	w.operator.settings.Enabled = []string{w.Scheduler, w.Other}
	w.operator.restart()
	w.quiet("after the change", a, 3*time.Second)
	current, err := w.get(a)
	must(w, "read it", err)
	if s := current.Status.Scheduling; s == nil || s.Scheduler != w.Scheduler {
		w.Errorf("it moved to another scheduler: %+v", s)
	}
	w.completes(a)
	w.hasGroups(a, false)
}

// disabled : running applications continue after their plugin is disabled; others wait for it.
func disabled(w *Harness) {
	w.startWithRoomFor(1)
	running := w.create("running")
	w.runs(running, 1)
	queued := w.create("queued")
	w.waits(queued, w.Full...)
	had := len(w.pods(queued, spark.RoleDriver))
	w.operator.settings.Default, w.operator.settings.Enabled = w.Other, []string{w.Other}
	w.operator.restart()
	late := w.create("late")
	w.waits(late, scheduler.ReasonSchedulerDisabled)
	if had == 0 {
		w.waits(queued, scheduler.ReasonSchedulerDisabled)
	}
	must(w, "what runs continues", w.inState(running, stateRunning)())
	w.hasGroups(running, true)
	w.completes(running)
	w.hasGroups(running, false)
	w.delete(late)
	w.gone(late)
	w.operator.settings = w.Settings
	w.operator.restart()
	w.runs(queued, 1)
	w.completes(queued)
}

// allocation : executors that dynamic allocation adds find their place, and the room is free when they go.
func allocation(w *Harness) {
	w.startWithRoomFor(2)
	a := w.create("elastic", func(a *app) {
		a.Spec.Executor.Instances = nil
		a.Spec.DynamicAllocation = &v1beta2.DynamicAllocation{Enabled: true, InitialExecutors: ptr.To[int32](1),
			MinExecutors: ptr.To[int32](1), MaxExecutors: ptr.To[int32](3)}
	})
	w.runs(a, 1)
	w.scales(a, 3)
	held := "2" // as many CPUs as it started with
	if w.Lowers {
		held = "1"
	}
	if w.Reckons != nil {
		w.eventually("the scheduler knows its size", func() error {
			reckoned, err := w.Reckons(w.Context(), w.Client, w.driver(a), w.owned(w.Context(), w.Namespace))
			if cpu := reckoned[corev1.ResourceCPU]; err == nil && cpu.Cmp(quantity(held)) != 0 {
				err = fmt.Errorf("the scheduler got %s CPUs, want %s", cpu.String(), held)
			}
			return err
		})
	}
	w.scales(a, 1)
	b := w.create("next")
	w.runs(b, 1)
	w.completes(a)
	w.completes(b)
}

// elasticity : a gang waits until dynamic allocation has left it room, and executors that are wanted then wait for the gang: each gets what
// the other leaves, and in the end nothing is held.
func elasticity(w *Harness) {
	w.startWithRoomFor(2)
	a := w.create("elastic", func(a *app) {
		a.Spec.Executor.Instances = nil
		a.Spec.DynamicAllocation = &v1beta2.DynamicAllocation{Enabled: true, InitialExecutors: ptr.To[int32](3),
			MinExecutors: ptr.To[int32](1), MaxExecutors: ptr.To[int32](3)}
	})
	w.runs(a, 3)
	gang := w.create("gang")
	w.waits(gang, w.Full...)
	w.scales(a, 1)
	w.runs(gang, 1)
	w.wants(a, 3)
	w.during("executors wait for the gang", time.Second, func() error { return w.hasRunning(a, 1) })
	w.completes(gang)
	w.runs(a, 3)
	w.completes(a)
	w.hasGroups(a, false)
	w.hasGroups(gang, false)
}

// scales changes the number of executors, as the driver does with dynamic allocation.
func (w *Harness) scales(a *app, executors int) {
	w.Helper()
	w.wants(a, executors)
	w.runs(a, executors)
}

// wants sets the driver's number of executors.
func (w *Harness) wants(a *app, executors int) {
	w.Helper()
	w.eventually("tell the driver", func() error {
		driver := w.driver(a)
		metav1.SetMetaDataAnnotation(&driver.ObjectMeta, annotationExecutors, fmt.Sprint(executors))
		return w.Client.Update(w.Context(), driver)
	})
}

// order : with lines, a small application overtakes an earlier large one only if that is configured.
func order(w *Harness) {
	w.startWithRoomFor(2)
	first := w.create("first")
	w.runs(first, 1)
	large := w.create("large", func(a *app) { a.Spec.Executor.Instances = ptr.To[int32](3) })
	w.waits(large, w.Full...)
	w.nextSecond()
	small := w.create("small")
	if w.Settings.Quota.Order == config.BestEffortFIFO {
		w.runs(small, 1)
		w.completes(first)
		w.waits(large, w.Full...)
		w.completes(small)
		w.runs(large, 3)
		w.completes(large)
		return
	}
	w.waits(small, scheduler.ReasonBehindOthers)
	w.completes(first)
	w.runs(large, 3)
	w.waits(small, append([]scheduler.Reason{scheduler.ReasonBehindOthers}, w.Full...)...)
	w.completes(large)
	w.runs(small, 1)
	w.completes(small)
}

// as starts the operator as someone with these rights only.
func (w *Harness) as(name string, rules []rbacv1.PolicyRule) {
	w.Helper()
	name = w.Namespace + "-" + name
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: name}},
	}
	must(w, "create the role", errors.Join(w.Client.Create(w.Context(), role), w.Client.Create(w.Context(), binding)))
	cfg := rest.CopyConfig(w.Admin)
	cfg.Impersonate = rest.ImpersonationConfig{UserName: name}
	w.operator = newOperator(w, cfg)
	w.operator.start()
	w.Cleanup(w.operator.stop)
}

// rules are the rights that the subject's plugins declare.
func (w *Harness) rules() []rbacv1.PolicyRule {
	w.Helper()
	registry, err := w.Registry(w.Settings)
	must(w, "make the registry", err)
	var all []rbacv1.PolicyRule
	for _, p := range registry.Plugins() {
		if d := p.Describe(); d.Name == w.Scheduler || !slices.Contains(registry.Names(), d.Name) {
			all = append(all, d.Rules...)
		}
	}
	return all
}

// reviewed waits until the operator has checked its rights: until then it believes to have them.
func (w *Harness) reviewed() {
	w.Helper()
	registry, err := w.Registry(w.Settings)
	must(w, "make the registry", err)
	rights := 0
	for _, p := range registry.Plugins() {
		rights += len(p.Describe().Accesses())
	}
	w.eventually("the operator checks its rights", func() error {
		if n := w.operator.writes.reviews(); n < rights {
			return fmt.Errorf("%d of %d rights", n, rights)
		}
		return nil
	})
}

// rights : the operator's own rights and the rights that the plugins declare suffice for a whole lifecycle.
func rights(w *Harness) {
	w.makePlace(1)
	w.as("enough", slices.Concat(w.Role, w.rules()))
	first := w.create("first")
	w.runs(first, 1)
	second := w.create("second")
	w.waits(second, w.Full...)
	w.delete(second)
	w.gone(second)
	third := w.create("third", func(a *app) {
		a.Spec.RestartPolicy = v1beta2.RestartPolicy{Type: v1beta2.RestartPolicyOnFailure,
			OnFailureRetries: ptr.To[int32](1), OnFailureRetryInterval: ptr.To[int64](1)}
	})
	w.completes(first)
	w.runs(third, 1)
	w.end(third, 1)
	w.submittedTwice(third)
	w.runs(third, 1)
	w.completes(third)
}

// forbidden : for each right that the plugin declares, an application without it reports the missing right, and continues with
// it.
func forbidden(w *Harness) {
	w.makePlace(1)
	for i, rule := range w.plugin(w).Describe().Rules {
		if len(rule.Resources) != 1 {
			w.Fatalf("a rule must be about one resource, so that it can be told which is missing: %+v", rule)
		}
		if len(scheduler.Descriptor{Rules: []rbacv1.PolicyRule{rule}}.Accesses()) == 0 {
			continue // the plugin does without
		}
		others := slices.DeleteFunc(slices.Concat(w.Role, w.rules()), func(r rbacv1.PolicyRule) bool {
			return slices.Equal(r.APIGroups, rule.APIGroups) && slices.Contains(r.Resources, rule.Resources[0])
		})
		w.as(fmt.Sprintf("lacks-%d", i), others)
		w.reviewed()
		a := w.create(fmt.Sprintf("lacks-%d", i))
		if message := w.waits(a, scheduler.ReasonSchedulerForbidden); !strings.Contains(message, rule.Resources[0]) {
			w.Errorf("the message does not name %s: %s", rule.Resources[0], message)
		}
		w.operator.stop()
		w.as(fmt.Sprintf("has-%d", i), slices.Concat(w.Role, w.rules()))
		w.runs(a, 1)
		w.completes(a)
		w.operator.stop()
	}
}

// fuzz : for any attempt, the plugin does not panic and decorates only with claimed keys.
func fuzz(w *Harness) {
	p := w.plugin(w)
	random := rand.New(rand.NewPCG(1, uint64(len(w.Scheduler))))
	for range 3000 {
		a := randomAttempt(random, w.Scheduler)
		var broken *scheduler.PanicError
		snapshot := scheduler.Snapshot{}
		if reads, err := scheduler.Reads(p, a); errors.As(err, &broken) {
			w.Fatalf("Reads(%+v): %v", a, err)
		} else if random.IntN(2) == 0 {
			for _, read := range reads {
				snapshot[read] = nil
			}
		}
		plan, err := scheduler.AdmitAttempt(p, a, snapshot)
		if errors.As(err, &broken) {
			w.Fatalf("Admit(%+v): %v", a, err)
		}
		if plan.Verdict == "" || plan.Reason == "" || plan.Message == "" {
			w.Fatalf("Admit(%+v) says nothing: %+v", a, plan)
		}
		if plan.Verdict == scheduler.Admit {
			if _, err := scheduler.Decorate(p, a, spark.Application{}); err != nil {
				w.Fatalf("Decorate(%+v): %v", a, err)
			}
		}
		facts := randomFacts(random)
		if _, err := scheduler.Observe(p, a, snapshot, facts); errors.As(err, &broken) {
			w.Fatalf("Observe(%+v, %+v): %v", a, facts, err)
		}
		if _, err := scheduler.Release(p, a); err != nil {
			w.Fatalf("Release(%+v): %v", a, err)
		}
	}
}

func pick[T any](r *rand.Rand, values ...T) T { return values[r.IntN(len(values))] }

func randomAttempt(r *rand.Rand, name string) scheduler.Attempt {
	shape := func() spark.PodResources {
		s := spark.PodResources{Requests: corev1.ResourceList{}, Limits: corev1.ResourceList{}}
		for _, resourceName := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, "nvidia.com/gpu"} {
			if r.IntN(3) > 0 {
				s.Requests[resourceName] = *resource.NewMilliQuantity(r.Int64N(1<<40), resource.DecimalSI)
			}
			if r.IntN(3) > 0 {
				s.Limits[resourceName] = *resource.NewMilliQuantity(r.Int64N(1<<40), resource.DecimalSI)
			}
		}
		return s
	}
	a := scheduler.Attempt{
		App: scheduler.App{Namespace: pick(r, "a", strings.Repeat("n", 63)), Name: pick(r, "app", strings.Repeat("x", 253)),
			UID: types.UID(fmt.Sprint(r.Uint64()))},
		Number: r.Int32N(5), ID: fmt.Sprintf("spark-%016x-%d", r.Uint64(), r.IntN(1000)),
		Choice: scheduler.Choice{
			Scheduler: name, Source: pick(r, scheduler.SourceApplication, scheduler.SourceCluster, scheduler.SourceNamespace),
			Queue: pick(r, "", "default", "root.a.b", "..", "ä queue", strings.Repeat("q", 300)),
		},
		PriorityClass: pick(r, "", "high", "!"),
		User:          scheduler.User{Name: pick(r, "", "somebody", "\"\x00")},
		Parameters: []byte(pick(r, "", "null", "{}", "[]", "{", `{"x":1}`, `{"executorGang":true}`, `{"gangSchedulingStyle":"Hard"}`,
			`{"afterStart":"DriverOnly"}`, `{"scheduleTimeoutSeconds":-1}`)),
		PodSets: spark.PodSets{Driver: shape(), Executor: shape(), Initial: r.Int32N(100), Max: r.Int32(), MaxPending: r.Int32N(3)},
	}
	if r.IntN(4) == 0 {
		a.Resources = shape().Requests
	}
	return a
}

func randomFacts(r *rand.Rand) scheduler.PodStatuses {
	fact := func() scheduler.PodStatus {
		return scheduler.PodStatus{
			Name: "x", Phase: pick(r, corev1.PodPending, corev1.PodRunning, corev1.PodSucceeded, corev1.PodFailed, corev1.PodUnknown, ""),
			Reason: pick(r, "", "ApplicationRejected", "ResourceReservationTimeout", "OutOfcpu"), Node: pick(r, "", "n"),
			Deleting: r.IntN(2) == 0, Started: r.IntN(2) == 0,
			Conditions: []corev1.PodCondition{{
				Type:   pick(r, corev1.PodScheduled, corev1.DisruptionTarget, corev1.PodReady),
				Status: pick(r, corev1.ConditionTrue, corev1.ConditionFalse), Reason: pick(r, "", "Evict", corev1.PodReasonPreemptionByScheduler),
			}},
		}
	}
	f := scheduler.PodStatuses{Now: time.Unix(r.Int64N(1<<31), 0)}
	if r.IntN(4) > 0 {
		driver := fact()
		f.Driver = &driver
	}
	for range r.IntN(4) {
		f.Executors = append(f.Executors, fact())
	}
	return f
}
