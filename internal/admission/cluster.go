// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/resolve"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/spark"
	"github.com/firesteel-dev/firesteel/internal/standalone"
	"github.com/firesteel-dev/firesteel/internal/validation"
)

// Cluster is a start of a standalone cluster as its scheduler sees it: the master has the role of a driver, and the workers have the role of executors.
type Cluster struct {
	Built spark.Standalone
	// App identifies the cluster.
	App scheduler.App
	// Start counts the starts of the cluster from 1. QueuedAt is when this start began to wait.
	Start    int32
	QueuedAt time.Time
	// Now is the time of this check.
	Now time.Time
	// Recorded is the earlier choice for this start; empty for none.
	Recorded  scheduler.Choice
	Submitter lifecycle.Submitter
}

// ClusterOf returns the start of a loaded cluster. An earlier choice of scheduler is kept while the spec waits or runs.
func ClusterOf(family lifecycle.Family, o metav1.Object, c standalone.Loaded, recorded lifecycle.Submitters, now time.Time) Cluster {
	start := Cluster{
		Built: c.Built, Start: c.Record.Scheduling.Start, QueuedAt: c.QueuedAt, Now: now,
		App:       scheduler.App{Kind: family.GroupKind(), Namespace: o.GetNamespace(), Name: o.GetName(), UID: o.GetUID(), Labels: o.GetLabels()},
		Submitter: recorded.Of(o, family.Submitter),
	}
	if c.Record.State == standalone.Running || c.Record.Generation == o.GetGeneration() {
		start.Recorded = c.Record.Scheduling.Choice
	}
	return start
}

// CheckCluster returns the check of the standalone clusters of a namespace: general rules and the policies' limits.
func CheckCluster(operator resolve.Operator, namespace string) func(spark.Standalone) []*spark.ConfError {
	policies := operator.Policies.For(namespace)
	return func(built spark.Standalone) []*spark.ConfError {
		return slices.Concat(validation.CheckCluster(built), policies.CheckCluster(built))
	}
}

// Attempt returns the start without the sizes of its pods, which a release does not need.
func (c Cluster) Attempt() scheduler.Attempt {
	start := max(1, c.Start)
	return scheduler.Attempt{
		App: c.App, Number: start, ID: AttemptID(spark.NewIdentity(c.App.UID, start, time.Time{}), start),
		Fields: c.Built.Fields, Words: c.Built.Words, QueuedAt: c.QueuedAt, Now: c.Now,
		User: scheduler.User{Name: c.Submitter.User, Groups: c.Submitter.Groups},
	}
}

// Candidate chooses the scheduler as for applications. The result of an admitted cluster has no submission: Decoration returns the marks of the pods.
func (c Cluster) Candidate(operator resolve.Operator, annotations map[string]string) (*Candidate, Result) {
	checked := c.checked(operator)
	return c.candidate(checked).prepared(operator.Registry.Prepare(c.request(checked.App, annotations), c.attempt(), checked.made()))
}

// Running returns the candidate of an admitted cluster, even if its scheduler or queue is no longer allowed. It is nil if this operator does not have the
// plugin.
func (c Cluster) Running(operator resolve.Operator) *Candidate {
	plugin, known := operator.Registry.Compiled(c.Recorded.Scheduler)
	if !known {
		return nil
	}
	chosen := c.Recorded
	chosen.Group = ""
	candidate := c.candidate(c.checked(operator))
	candidate.plugin, candidate.attempt = plugin, scheduler.Resolution{Choice: chosen}.Complete(c.attempt())
	return candidate
}

// ForeignMark finds pods of a running cluster that, after an edit, name another user or application.
func (c *Candidate) ForeignMark(registry *scheduler.Registry) (scheduler.Admission, bool) {
	wrong, found := registry.ForeignMark(c.plugin, c.attempt)
	if !found {
		return scheduler.Admission{}, false
	}
	return c.signed(wrong.Admission()), true
}

func (c Cluster) candidate(checked Checked) *Candidate {
	return &Candidate{
		checked:  checked,
		complete: func(answer scheduler.Admission) Result { return Result{Admission: answer} },
	}
}

// DryRunCluster checks a cluster as the operator would, as if its scheduler had capacity.
func DryRunCluster(c Cluster, operator resolve.Operator) DryRunResult {
	f := DryRunResult{checked: c.checked(operator)}
	f.schedule(operator.Registry, c.request(f.checked.App, nil), c.attempt())
	app := f.checked.App
	app.Direct = &spark.Direct{} // no field replaces a property
	for _, e := range validation.UnknownProperties(app) {
		f.Warnings = append(f.Warnings, e.Invalid(app.PathOf(e)))
	}
	return f
}

// Decoration returns the scheduler's decoration of a cluster's pods; empty if no scheduler is available.
func (f DryRunResult) Decoration() scheduler.Decoration {
	if f.candidate == nil {
		return scheduler.Decoration{}
	}
	d, err := f.candidate.Decoration()
	if err != nil {
		return scheduler.Decoration{} // the reconcile reports the error
	}
	return d
}

// checked returns the cluster in the form of an application, for schedulers and policies.
func (c Cluster) checked(operator resolve.Operator) Checked {
	policies := operator.Policies.For(c.App.Namespace)
	app := spark.Application{
		Namespace: c.App.Namespace, Name: c.App.Name, UID: c.App.UID, Labels: c.App.Labels, Conf: c.Built.Conf, Fields: c.Built.Fields,
		Scheduling: spark.Scheduling{PodScheduler: c.Built.Conf[spark.ConfSchedulerName]},
	}
	loaded := lifecycle.Loaded{App: policies.Apply(resolve.WithScheduler(app, operator.Registry))}
	return Checked{Application: resolve.Application{Loaded: loaded, Policies: policies}}
}

// request returns the input for the choice of a scheduler. An earlier choice for this start is kept.
func (c Cluster) request(app spark.Application, annotations map[string]string) scheduler.SelectionRequest {
	r := scheduler.SelectionRequest{Scheduling: app.Scheduling, Namespace: app.Namespace, NamespaceAnnotations: annotations, Fields: app.Fields}
	if app.Scheduling.PodScheduler != "" {
		attributes := c.Built.PodSets().DriverAttributes
		r.Driver = &attributes
	}
	if c.Recorded.Scheduler != "" {
		recorded := c.Recorded
		recorded.Group = ""
		r.Recorded = &recorded
	}
	return r
}

// attempt returns the scheduler's view of the start, before a scheduler is chosen.
func (c Cluster) attempt() scheduler.Attempt {
	a := c.Attempt()
	a.PodSets = c.Built.PodSets()
	return a
}

// Decoration returns the scheduler's decoration of the pods of both roles.
func (c *Candidate) Decoration() (scheduler.Decoration, error) {
	app, err := scheduler.Decorate(c.plugin, c.attempt, spark.Application{})
	return scheduler.Decoration{Driver: app.Driver.Overlay, Executor: app.Executor.Overlay}, err
}
