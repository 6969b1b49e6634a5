// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/resolve"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/spark"
	"github.com/firesteel-dev/firesteel/internal/standalone"
	"github.com/firesteel-dev/firesteel/internal/validation"
)

// Cluster is a start of a standalone cluster, as its scheduler sees it: the master in place of a driver, and the workers in place of its
// executors.
type Cluster struct {
	Built spark.Standalone
	// App identifies the cluster.
	App scheduler.App
	// Start counts the starts of the cluster, from 1, and QueuedAt is when this one began to wait.
	Start    int32
	QueuedAt time.Time
	// Now is when the scheduler is asked.
	Now time.Time
	// Recorded is what was chosen for this start before; empty if nothing was.
	Recorded  scheduler.Choice
	Submitter lifecycle.Submitter
}

// clusterWords are what schedulers call a driver and its executors.
var clusterWords = strings.NewReplacer("driver", "master", "executor", "worker", "the application", "the cluster", "the whole application", "the whole cluster")

// ClusterOf is the start of a cluster that was loaded from an object. What was chosen before holds for a spec that waits, or that runs.
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

// CheckCluster returns what checks what is built of a standalone cluster in a namespace: what no cluster may have, and what is beyond limits.
func CheckCluster(operator resolve.Operator, namespace string) func(spark.Standalone) []*spark.ConfError {
	policies := operator.Policies.For(namespace)
	return func(built spark.Standalone) []*spark.ConfError {
		return slices.Concat(validation.CheckCluster(built), policies.CheckCluster(built))
	}
}

// Attempt is the start as far as it is known without its sizes: for what is done when it is over.
func (c Cluster) Attempt() scheduler.Attempt {
	start := max(1, c.Start)
	return scheduler.Attempt{
		App: c.App, Number: start, ID: AttemptID(spark.NewIdentity(c.App.UID, start, time.Time{}), start), Fields: c.Built.Fields, QueuedAt: c.QueuedAt, Now: c.Now,
		User: scheduler.User{Name: c.Submitter.User, Groups: c.Submitter.Groups},
	}
}

// Candidate chooses the scheduler, as it is for applications. What it admits has no submission: Decoration says what the pods carry.
func (c Cluster) Candidate(operator resolve.Operator, annotations map[string]string) (*Candidate, Result) {
	checked := c.checked(operator)
	return c.candidate(checked).prepared(operator.Registry.Prepare(c.request(checked.App, annotations), c.attempt(), checked.made()))
}

// Running is the candidate that has been admitted: whether its scheduler or its queue may still be chosen does not matter any more. It is nil if
// this operator does not have the plugin.
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

// ForeignMark is what the pods of a cluster that runs name of others' since an edit.
func (c *Candidate) ForeignMark(registry *scheduler.Registry) (scheduler.Admission, bool) {
	wrong, found := registry.ForeignMark(c.plugin, c.attempt)
	if !found {
		return scheduler.Admission{}, false
	}
	return c.signed(wrong.Admission()), true
}

func (c Cluster) candidate(checked Checked) *Candidate {
	return &Candidate{
		checked: checked, words: clusterWords,
		complete: func(answer scheduler.Admission) Result { return Result{Admission: answer} },
	}
}

// DryRunCluster checks what the scheduler says of a cluster, as if it had capacity.
func DryRunCluster(c Cluster, operator resolve.Operator) DryRunResult {
	f := DryRunResult{checked: c.checked(operator)}
	f.schedule(operator.Registry, c.request(f.checked.App, nil), c.attempt())
	for _, e := range slices.Concat(f.Errors, f.Warnings, f.Assumptions) {
		e.Detail = clusterWords.Replace(e.Detail)
	}
	return f
}

// Decoration is what the scheduler lays over the pods of a cluster; nothing if it is not available.
func (f DryRunResult) Decoration() scheduler.Decoration {
	if f.candidate == nil {
		return scheduler.Decoration{}
	}
	d, err := f.candidate.Decoration()
	if err != nil {
		return scheduler.Decoration{} // trouble for a reconcile
	}
	return d
}

// checked is the cluster as far as schedulers and policies know it as an application.
func (c Cluster) checked(operator resolve.Operator) Checked {
	policies := operator.Policies.For(c.App.Namespace)
	app := spark.Application{
		Namespace: c.App.Namespace, Name: c.App.Name, UID: c.App.UID, Labels: c.App.Labels, Conf: c.Built.Conf, Fields: c.Built.Fields,
		Scheduling: spark.Scheduling{PodScheduler: c.Built.Conf[spark.ConfSchedulerName]},
	}
	loaded := lifecycle.Loaded{App: policies.Apply(resolve.WithScheduler(app, operator.Registry))}
	return Checked{Application: resolve.Application{Loaded: loaded, Policies: policies}}
}

// request is the input for choosing a scheduler. What was chosen for this start before stays.
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

// attempt is the scheduler's view of the start, before a scheduler is chosen.
func (c Cluster) attempt() scheduler.Attempt {
	a := c.Attempt()
	a.PodSets = c.Built.PodSets()
	return a
}

// Decoration is what the scheduler lays over the pods of both roles.
func (c *Candidate) Decoration() (scheduler.Decoration, error) {
	app, err := scheduler.Decorate(c.plugin, c.attempt, spark.Application{})
	return scheduler.Decoration{Driver: app.Driver.Overlay, Executor: app.Executor.Overlay}, err
}
