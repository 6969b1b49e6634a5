// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/firesteel-dev/firesteel/internal/admission"
	"github.com/firesteel-dev/firesteel/internal/attempt"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/observe"
	"github.com/firesteel-dev/firesteel/internal/resolve"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/standalone"
)

// answer is the answer of a cluster's scheduler.
type answer struct {
	scheduler.Admission
	// seen is the plugin's snapshot.
	seen scheduler.Snapshot
	// plugin is the plugin's descriptor, decoration its decoration of the pods, and placing its observation of waiting pods.
	plugin     scheduler.Descriptor
	decoration scheduler.Decoration
	placing    lifecycle.Cause
	// problem explains why the objects of a running cluster are not updated; empty if they are updated.
	problem lifecycle.Cause
}

// ask asks the scheduler of a cluster that starts or runs. A cluster that another operator started has no scheduler. A cluster needs none if it is invalid,
// being deleted or a probe.
func (e *Engine[T]) ask(ctx context.Context, o T, c standalone.Loaded) (answer, error) {
	switch r := c.Record; {
	case len(c.Objections) > 0, !o.GetDeletionTimestamp().IsZero(), c.Probe:
	case r.State == standalone.Running && r.Scheduling.Scheduler != "":
		return e.observe(ctx, o, c)
	case r.State.Starts() && !c.Suspend:
		return e.admit(ctx, o, c)
	}
	return answer{}, nil
}

// load reads a cluster under the policies of its namespace.
func (e *Engine[T]) load(o T) standalone.Loaded {
	operator := e.Operator()
	return e.Kind.Load(o, operator.Policies.For(o.GetNamespace()).Apply, admission.CheckCluster(operator, o.GetNamespace()))
}

// start returns the start of a cluster in the form for schedulers.
func (e *Engine[T]) start(o T, c standalone.Loaded) admission.Cluster {
	return admission.ClusterOf(e.Kind.Family(), o, c, e.Operator().Submitters, e.Clock.Now())
}

func (e *Engine[T]) asking(config resolve.Operator) attempt.Asking {
	return attempt.Asking{Registry: config.Registry, Reader: e.Reader, Reservations: e.Schedulers, Kinds: e.Kinds}
}

// admit asks the scheduler whether the cluster may start.
func (e *Engine[T]) admit(ctx context.Context, o T, c standalone.Loaded) (answer, error) {
	config := e.Operator()
	candidate, final, err := e.asking(config).Candidate(ctx, o.GetNamespace(), func(annotations map[string]string) (*admission.Candidate, admission.Result) {
		return e.start(o, c).Candidate(config, annotations)
	})
	if err != nil || candidate == nil {
		return answer{Admission: final.Admission}, err
	}
	asked, seen, err := e.asking(config).Admit(ctx, candidate)
	if err != nil {
		return answer{}, err
	}
	if asked.Err != nil {
		ctrllog.FromContext(ctx).Error(asked.Err, "a scheduler plugin failed")
	}
	return decorated(candidate, answer{Admission: asked.Admission, seen: seen}), nil
}

// decorated adds the decoration of the pods. If the plugin fails, the cluster waits.
func decorated(c *admission.Candidate, a answer) answer {
	var err error
	a.plugin = c.Plugin().Describe()
	if a.decoration, err = c.Decoration(); err != nil {
		a.Admission = c.Unavailable(scheduler.Failed(err)).Admission
		a.problem = lifecycle.Cause{Reason: a.Reason, Message: a.Message}
	}
	return a
}

// observe asks the scheduler about the pods of a running cluster, and records their progress in the ledger. A plugin's error changes nothing in the cluster.
func (e *Engine[T]) observe(ctx context.Context, o T, c standalone.Loaded) (answer, error) {
	config, name := e.Operator(), c.Record.Scheduling.Scheduler
	candidate := e.start(o, c).Running(config)
	if candidate == nil {
		return answer{problem: lifecycle.Cause{Reason: scheduler.ReasonSchedulerUnknown, Message: fmt.Sprintf(
			"the cluster was started with the scheduler %q, which this operator no longer has: "+
				"it keeps running; suspend and resume it to choose another one", name)}}, nil
	}
	if wrong, found := candidate.ForeignMark(config.Registry); found {
		return answer{problem: lifecycle.Cause{Reason: wrong.Reason, Message: wrong.Message}}, nil
	}
	a := decorated(candidate, answer{})
	if a.Admission = (scheduler.Admission{}); a.problem.Reason != "" {
		return a, nil
	}
	_, observes := config.Registry.Observer(name)
	if !observes && !config.Registry.Quotas() {
		return a, nil
	}
	facts, err := e.facts(ctx, o, c, candidate.Attempt())
	if err != nil {
		return a, err
	}
	e.settle(config.Registry, candidate.Attempt(), facts)
	seen, err := e.asking(config).Observe(ctx, candidate, name, facts)
	if a.seen = seen.Seen; err != nil || a.seen == nil {
		return a, err
	}
	if err := seen.Err; err != nil {
		ctrllog.FromContext(ctx).Error(err, "a scheduler plugin cannot observe the cluster")
		return a, nil
	}
	e.Schedulers.SetUnplaced(candidate.Attempt().App.Key(), name, candidate.Attempt().QueuedAt, seen.Observation)
	a.Apply, a.Delete, a.RetryAfter = seen.Apply, seen.Delete, seen.RetryAfter
	if seen.Waits() {
		a.placing = lifecycle.Cause{Reason: seen.Reason, Message: seen.Message}
	}
	return a, nil
}

// facts returns the statuses of a cluster's pods for schedulers.
func (e *Engine[T]) facts(ctx context.Context, o T, c standalone.Loaded, a scheduler.Attempt) (scheduler.PodStatuses, error) {
	facts, err := e.Reader.ClusterPodStatuses(ctx, e.pods(o, c), e.Clock.Now())
	facts.RoomMadeAt, facts.Ahead = e.Schedulers.RoomMadeAt(), e.Schedulers.UnplacedAhead(a.App.Key(), a.Scheduler, a.QueuedAt)
	return facts, err
}

// settle records the progress of the pods in the ledger.
func (e *Engine[T]) settle(registry *scheduler.Registry, a scheduler.Attempt, facts scheduler.PodStatuses) {
	if !registry.Quotas() {
		return
	}
	progress := scheduler.ProgressOf(facts)
	if !e.Schedulers.Knows(a.App.Key(), a.ID) {
		e.Schedulers.Enter(a, progress)
	}
	e.Schedulers.Settle(a.ID, progress)
}

// release deletes the scheduler's objects: the recorded ones, or leftovers without a record.
func (e *Engine[T]) release(ctx context.Context, o T, c standalone.Loaded, left []scheduler.Ref) lifecycle.Result {
	owner := e.Kind.Family().Owner(o, "")
	if c.Record.Scheduling.HeldBy == "" {
		return e.Writer.Release(ctx, owner, left)
	}
	plugin, known := e.Operator().Registry.Compiled(c.Record.Scheduling.HeldBy) // an administrator may have disabled the plugin
	if !known {
		return lifecycle.Result{Class: lifecycle.ClassDone} // the objects are deleted with the cluster
	}
	refs, err := scheduler.Release(plugin, e.start(o, c).Attempt())
	if err != nil {
		ctrllog.FromContext(ctx).Error(err, "a scheduler plugin failed in Release")
	}
	return e.Writer.Release(ctx, owner, refs)
}

// enterRunning enters running clusters in the ledger, so that a restarted operator gives no reserved room to others. It also announces waiting clusters, so
// that none loses its place.
func (e *Engine[T]) enterRunning(ctx context.Context) error {
	all, err := observe.List[T](ctx, e.Reader.Cache, e.List, client.UnsafeDisableDeepCopy)
	if err != nil {
		return fmt.Errorf("list clusters: %w", err)
	}
	for _, o := range all {
		if e.Watches != nil && !e.Watches(o.GetNamespace()) {
			continue
		}
		if err := e.enter(ctx, o); err != nil {
			return err
		}
	}
	return nil
}

// enter enters or announces one listed cluster, unless the ledger knows its start.
func (e *Engine[T]) enter(ctx context.Context, listed T) error {
	c := e.load(listed)
	a := e.start(listed, c).Attempt()
	switch r := c.Record; {
	case e.Schedulers.Knows(a.App.Key(), a.ID):
		return nil
	case r.State == standalone.Submitted && r.Cause.Reason.WaitsForRoom():
		e.Schedulers.Expect(a.ID)
		return nil
	case r.State != standalone.Running || r.Scheduling.Scheduler == "":
		return nil
	}
	o, there, err := observe.Whole(ctx, e.Reader.Cache, listed, e.Kind.New)
	if err != nil || !there {
		return err
	}
	if observe.IsStub(listed) {
		c = e.load(o)
	}
	candidate := e.start(o, c).Running(e.Operator())
	if candidate == nil {
		return nil
	}
	facts, err := e.facts(ctx, o, c, candidate.Attempt())
	if err != nil {
		return err
	}
	e.Schedulers.Enter(candidate.Attempt(), scheduler.ProgressOf(facts))
	return nil
}
