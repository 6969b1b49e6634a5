// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	v1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/internal/admission"
	"github.com/firesteel-dev/firesteel/internal/attempt"
	"github.com/firesteel-dev/firesteel/internal/convert/apache"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/observe"
	"github.com/firesteel-dev/firesteel/internal/resolve"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/standalone"
)

// answer is what the scheduler of a cluster says.
type answer struct {
	scheduler.Admission
	// seen is what its plugin was shown.
	seen scheduler.Snapshot
	// plugin introduces it, decoration is what it lays over the pods, and placing what it says of those that wait.
	plugin     scheduler.Descriptor
	decoration scheduler.Decoration
	placing    lifecycle.Cause
	// problem is why the objects of a cluster that runs stay as they are; empty if they need not.
	problem lifecycle.Cause
}

// ask asks the scheduler of a cluster that is to start or that runs. One that another operator has started has none.
func (e *Engine) ask(ctx context.Context, o *v1.SparkCluster, r standalone.Record) (answer, error) {
	switch {
	case r.State == standalone.Running && r.Scheduling.Scheduler != "":
		return e.observe(ctx, o, r)
	case (r.State == standalone.New || r.State == standalone.Submitted) && !o.Spec.Suspend:
		return e.admit(ctx, o, r)
	}
	return answer{}, nil
}

// start is what schedulers know of a cluster. What was chosen before holds for a spec that waits, or that runs.
func (e *Engine) start(o *v1.SparkCluster, r standalone.Record) admission.Cluster {
	config := e.Operator()
	c := admission.Cluster{
		Built: apache.ClusterBuilt(o, apache.ClusterDefaults(o, config.Policies.For(o.Namespace).Apply)), App: admission.ClusterApp(apache.ClusterFamily.GroupKind(), o), Start: r.Scheduling.Start, QueuedAt: apache.ClusterQueuedAt(o), Now: e.Clock.Now(),
		Submitter: lifecycle.SubmitterOf(o.Annotations, apache.ClusterFamily.Submitter, config.Submitters),
	}
	if r.State == standalone.Running || r.Generation == o.Generation {
		c.Recorded = r.Scheduling.Choice
	}
	return c
}

func (e *Engine) asking(config resolve.Operator) attempt.Asking {
	return attempt.Asking{Registry: config.Registry, Reader: e.Reader, Reservations: e.Schedulers}
}

// admit asks whether the cluster may start.
func (e *Engine) admit(ctx context.Context, o *v1.SparkCluster, r standalone.Record) (answer, error) {
	config := e.Operator()
	candidate, final, err := e.asking(config).Candidate(ctx, o.Namespace, func(annotations map[string]string) (*admission.Candidate, admission.Result) {
		return e.start(o, r).Candidate(config, annotations)
	})
	if err != nil || candidate == nil {
		return answer{Admission: final.Admission}, err
	}
	asked, seen, err := e.asking(config).Admit(ctx, candidate)
	if err != nil {
		return answer{}, err
	}
	if asked.Err != nil {
		ctrllog.FromContext(ctx).Error(asked.Err, "a scheduler plugin cannot answer")
	}
	return decorated(candidate, answer{Admission: asked.Admission, seen: seen}), nil
}

// decorated adds what the pods carry. A plugin that cannot say it lets the cluster wait.
func decorated(c *admission.Candidate, a answer) answer {
	var err error
	a.plugin = c.Plugin().Describe()
	if a.decoration, err = c.Decoration(); err != nil {
		a.Admission = c.Unavailable(scheduler.Failed(err)).Admission
		a.problem = lifecycle.Cause{Reason: a.Reason, Message: a.Message}
	}
	return a
}

// observe asks how far the scheduler has come with the pods of a cluster that runs, and records in the ledger how far they are. An error of its
// plugin changes nothing.
func (e *Engine) observe(ctx context.Context, o *v1.SparkCluster, r standalone.Record) (answer, error) {
	config := e.Operator()
	candidate := e.start(o, r).Running(config)
	if candidate == nil {
		return answer{problem: lifecycle.Cause{Reason: scheduler.ReasonSchedulerUnknown, Message: fmt.Sprintf(
			"the cluster was started with the scheduler %q, which this operator does not know any more: it runs on as it is; suspend and resume it for another one", r.Scheduling.Scheduler)}}, nil
	}
	a := decorated(candidate, answer{})
	if a.Admission = (scheduler.Admission{}); a.problem.Reason != "" {
		return a, nil
	}
	_, observes := config.Registry.Observer(r.Scheduling.Scheduler)
	if !observes && !config.Registry.Quotas() {
		return a, nil
	}
	facts, err := e.facts(ctx, o, candidate.Attempt())
	if err != nil {
		return a, err
	}
	e.settle(config.Registry, candidate.Attempt(), facts)
	seen, err := e.asking(config).Observe(ctx, candidate, r.Scheduling.Scheduler, facts)
	if a.seen = seen.Seen; err != nil || a.seen == nil {
		return a, err
	}
	if err := seen.Err; err != nil {
		ctrllog.FromContext(ctx).Error(err, "a scheduler plugin cannot observe the cluster")
		return a, nil
	}
	e.Schedulers.SetUnplaced(candidate.Attempt().App.Key(), r.Scheduling.Scheduler, candidate.Attempt().QueuedAt, seen.Observation)
	a.Apply, a.Delete, a.RetryAfter = seen.Apply, seen.Delete, seen.RetryAfter
	if seen.Waits() {
		a.placing = lifecycle.Cause{Reason: seen.Reason, Message: seen.Message}
	}
	return a, nil
}

// facts are what schedulers want to know of a cluster's pods.
func (e *Engine) facts(ctx context.Context, o *v1.SparkCluster, a scheduler.Attempt) (scheduler.PodStatuses, error) {
	t := observe.ClusterTarget{Owner: apache.ClusterFamily.Owner(o, ""), Namespace: o.Namespace, Name: o.Name}
	t.Master, t.Workers = apache.ClusterSets(o.Name)
	facts, err := e.Reader.ClusterPodStatuses(ctx, t, e.Clock.Now())
	facts.RoomMadeAt, facts.Ahead = e.Schedulers.RoomMadeAt(), e.Schedulers.UnplacedAhead(a.App.Key(), a.Scheduler, a.QueuedAt)
	return facts, err
}

// settle records in the ledger how far the pods have come.
func (e *Engine) settle(registry *scheduler.Registry, a scheduler.Attempt, facts scheduler.PodStatuses) {
	if !registry.Quotas() {
		return
	}
	progress := scheduler.ProgressOf(facts)
	if !e.Schedulers.Knows(a.App.Key(), a.ID) {
		e.Schedulers.Enter(a, progress)
	}
	e.Schedulers.Settle(a.ID, progress)
}

// release deletes the scheduler's objects.
func (e *Engine) release(ctx context.Context, o *v1.SparkCluster, r standalone.Record) lifecycle.Result {
	plugin, known := e.Operator().Registry.Compiled(r.Scheduling.HeldBy) // it may have been disabled since
	if !known {
		return lifecycle.Result{Class: lifecycle.ClassDone} // its objects go with the cluster
	}
	refs, err := scheduler.Release(plugin, e.start(o, r).Attempt())
	if err != nil {
		ctrllog.FromContext(ctx).Error(err, "a scheduler plugin cannot name its objects")
	}
	return e.Writer.Release(ctx, apache.ClusterFamily.Owner(o, ""), refs)
}

// enterRunning enters in the ledger what runs already, so that an operator that was restarted reserves nothing twice, and announces what waits, so
// that it lets none pass.
func (e *Engine) enterRunning(ctx context.Context) error {
	var all v1.SparkClusterList
	if err := e.Reader.Cache.List(ctx, &all, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list clusters: %w", err)
	}
	config := e.Operator()
	for i := range all.Items {
		o := &all.Items[i]
		r := apache.ClusterRecord(o)
		if e.Watches != nil && !e.Watches(o.Namespace) {
			continue
		}
		if r.State == standalone.Submitted && r.Cause.Reason.WaitsForRoom() {
			if a := e.start(o, r).Attempt(); !e.Schedulers.Knows(a.App.Key(), a.ID) {
				e.Schedulers.Expect(a.ID)
			}
		}
		if r.State != standalone.Running || r.Scheduling.Scheduler == "" {
			continue
		}
		candidate := e.start(o, r).Running(config)
		if candidate == nil {
			continue
		}
		facts, err := e.facts(ctx, o, candidate.Attempt())
		if err != nil {
			return err
		}
		if a := candidate.Attempt(); !e.Schedulers.Knows(a.App.Key(), a.ID) {
			e.Schedulers.Enter(a, scheduler.ProgressOf(facts))
		}
	}
	return nil
}
