// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"cmp"
	"maps"

	"k8s.io/utils/ptr"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/testutil"
)

// foreignFinalizer is somebody else's, who takes his time.
const foreignFinalizer = "example.com/audit"

// newApplication is what users apply at first.
func newApplication() *v1beta2.SparkApplication {
	return testutil.Pi(testutil.New(namespace, appName), testutil.Executors(2))
}

// apply creates an application with some policy.
func (h *history) apply() {
	app := newApplication()
	s := &app.Spec
	s.RestartPolicy = h.drawPolicy()
	if h.rng.IntN(5) == 0 {
		s.TimeToLiveSeconds = new(int64(h.rng.IntN(60)))
	}
	if h.rng.IntN(8) == 0 {
		s.Suspend = new(true)
	}
	s.Deadlines, s.Retention = h.drawDeadlines(), h.drawRetention()
	if h.rng.IntN(16) == 0 {
		s.SparkVersion = unknownVersion
	}
	if h.rng.IntN(16) == 0 {
		app.Finalizers = []string{foreignFinalizer}
	}
	if h.rng.IntN(24) == 0 {
		app.Spec.ManagedBy = new("kueue.x-k8s.io/multikueue")
		h.stats.LeftAlone++
	}
	h.applied(app)
}

// unknownVersion makes a spec that cannot run.
const unknownVersion = "9.9.9"

func (h *history) applied(app *v1beta2.SparkApplication) {
	restart := cmp.Or(app.Spec.RestartPolicy.Type, v1beta2.RestartPolicyNever)
	h.tell("user", "applies %s: restart %s, suspend %t, ttl %d", app.Name, restart, ptr.Deref(app.Spec.Suspend, false), ptr.Deref(app.Spec.TimeToLiveSeconds, -1))
	if err := h.create(app); err != nil {
		panic(err)
	}
	h.invariants.applied(h.store.app())
}

// edit changes the spec.
func (h *history) edit(what string, change func(*v1beta2.SparkApplicationSpec)) {
	before := h.store.app()
	next := before.DeepCopy()
	change(&next.Spec)
	next.Generation++
	h.stats.Edits++
	h.tell("user", "edits: %s", what)
	h.store.put(next)
	h.invariants.edited(before, next)
}

// user does one of the things that users do, or applies the application again after it is gone.
func user(h *history) bool {
	if h.server != nil {
		return h.server.user()
	}
	app := h.store.app()
	switch {
	case app == nil:
		h.apply()
		return true
	case app.DeletionTimestamp != nil:
		return false
	}
	switch n := h.rng.IntN(14); {
	case n < 4:
		h.toggleSuspend()
	case n == 4:
		h.label(app)
	case n == 5:
		h.deleteApp()
	default:
		h.editSome()
	}
	return true
}

func (h *history) toggleSuspend() {
	suspend := !ptr.Deref(h.store.app().Spec.Suspend, false)
	what := "resumes"
	if suspend {
		what = "suspends"
	}
	h.edit(what, func(s *v1beta2.SparkApplicationSpec) { s.Suspend = &suspend })
}

// label changes metadata only, which is a new version and no new generation.
func (h *history) label(app *v1beta2.SparkApplication) {
	next := *app
	next.Labels = maps.Clone(app.Labels)
	if next.Labels == nil {
		next.Labels = map[string]string{}
	}
	next.Labels["team"] += "x"
	h.tell("user", "edits: a label of the application")
	h.store.put(&next)
}

func (h *history) deleteApp() { h.userDeletes(h.store.app()) }

// userDeletesDriver is a person who kills a driver by hand.
func userDeletesDriver(h *history) bool {
	p := h.pick(isDriver)
	if p == nil || !h.ours(p) || p.DeletionTimestamp != nil {
		return false
	}
	h.removePod(p, "user")
	return true
}

// decideEnd is what the user has made of it in the end: an application that would run for ever is ended, one that is
// suspended sometimes goes on.
func (h *history) decideEnd() {
	app := h.store.app()
	if app == nil || app.DeletionTimestamp != nil {
		return
	}
	if ptr.Deref(app.Spec.Suspend, false) && h.rng.IntN(2) == 0 {
		h.toggleSuspend()
	}
	if reason, _ := waitsFor(asked(&app.Spec)); reason != "" && h.rng.IntN(4) > 0 {
		h.edit("batchScheduler", func(s *v1beta2.SparkApplicationSpec) { s.BatchScheduler = nil })
	}
}

// closer ends an application that has run in fair weather and would run for ever.
func closer(h *history) bool {
	app := h.store.app()
	if app == nil || app.DeletionTimestamp != nil || h.fate != nil || app.Spec.RestartPolicy.Type != v1beta2.RestartPolicyAlways ||
		ptr.Deref(app.Spec.Suspend, false) || h.invariants.runs(app.UID) < h.invariants.enough {
		return false
	}
	switch h.rng.IntN(3) {
	case 0:
		h.deleteApp()
	case 1:
		h.toggleSuspend()
	default:
		h.edit("restart policy", func(s *v1beta2.SparkApplicationSpec) {
			s.RestartPolicy = v1beta2.RestartPolicy{Type: v1beta2.RestartPolicyNever}
		})
	}
	return true
}
