// SPDX-License-Identifier: Apache-2.0

// Package resolve is the only loader: it builds the input of every decision from an object, its record and the operator's configuration. The controllers,
// admission and the command line use it. It is pure.
package resolve

import (
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/firesteel-dev/firesteel/internal/exposure"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/policy"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/spark"
	"github.com/firesteel-dev/firesteel/internal/validation"
)

// Operator is the part of the operator's configuration that affects decisions.
type Operator struct {
	Registry *scheduler.Registry
	// Policies are the policies of all namespaces.
	Policies policy.Set
	Exposure exposure.Config
	// Submitters configures the source of submitters.
	Submitters lifecycle.Submitters
}

// Kind translates between one kind of objects and the model. The results of its methods depend only on the arguments.
type Kind[T metav1.Object] interface {
	// New returns an empty object.
	New() T
	// Family describes the kind to the core.
	Family() lifecycle.Family
	// Identity returns the IDs of an attempt. Attempts are counted from 1.
	Identity(o T, attempt int32, submitTime time.Time) spark.Identity
	// FromStatus returns the record that ToStatus stored.
	FromStatus(T) lifecycle.Record
	// Load returns the content of the object.
	Load(T, lifecycle.Record) lifecycle.Loaded
	// Desired returns the field Desired of Load at a lower cost, because most applications have ended.
	Desired(T, lifecycle.Record) lifecycle.Application
	// RaiseMemory returns the model with more memory. raises counts the attempts that ran out of memory.
	RaiseMemory(app spark.Application, o T, raises int32) spark.Application
	// ToStatus returns a copy of the object with the status of the outcome. changed is false if the status stays the same.
	ToStatus(o T, outcome lifecycle.Outcome, now time.Time) (next T, changed bool)
	// DriverWaits returns the reason why a submitted driver is not running yet; "" if its start is normal.
	DriverWaits(T) string
}

// Application is one application at its current attempt, under the operator's configuration.
type Application struct {
	// Loaded has the model of the attempt. The model includes the policies' defaults, the properties for exposure, and the labels.
	lifecycle.Loaded
	Record   lifecycle.Record
	Identity spark.Identity
	Family   lifecycle.Family
	// Owner owns all objects of the attempt.
	Owner lifecycle.Owner
	// Policies are the policies of the application's namespace.
	Policies policy.Set
	// Now is when an unrecorded attempt begins to wait.
	Now time.Time
	// Retention is the user's setting, without the policies' bounds.
	Retention lifecycle.Retention
}

// Rest returns an object's input for lifecycle.NothingDue, at a lower cost than Load, because most applications have ended.
func Rest[T metav1.Object](k Kind[T], o T, record lifecycle.Record, operator Operator, now time.Time) lifecycle.Application {
	desired := requested(k.Desired(o, record), o, k.Family(), record, now)
	desired.Policies.Retention = retention(operator.Policies.For(o.GetNamespace()), desired)
	return desired
}

// retention returns the user's setting within the policies' bounds. The bounds do not apply to a server, because it never ends: a server that cannot run waits
// for an edit.
func retention(policies policy.Set, desired lifecycle.Application) lifecycle.Retention {
	if desired.Endures {
		return desired.Policies.Retention
	}
	return policies.Retention(desired.Policies.Retention)
}

// requested adds the requests in annotations: to run again, and to wake.
func requested(desired lifecycle.Application, o metav1.Object, family lifecycle.Family, record lifecycle.Record, now time.Time) lifecycle.Application {
	requests := o.GetAnnotations()
	return desired.WithRerun(requests[family.RerunAt], record, now).WithWake(requests[family.WakeAt], now)
}

// Spark's properties for the redaction of output.
const (
	confRedactKeys  = "spark.redaction.regex"
	confRedactTexts = "spark.redaction.string.regex"
)

// Load resolves an object. now is the submission time.
func Load[T metav1.Object](k Kind[T], o T, record lifecycle.Record, operator Operator, now time.Time) Application {
	a := Application{Loaded: k.Load(o, record), Record: record, Now: now, Policies: operator.Policies.For(o.GetNamespace()), Family: k.Family()}
	a.Desired = requested(a.Desired, o, a.Family, record, now)
	a.Identity = k.Identity(o, max(1, record.Attempt), now)
	if record.SubmissionID != "" {
		a.Identity.SubmissionID = record.SubmissionID
	}
	a.Desired.Submitter = record.Submitter
	if record.State == lifecycle.New {
		a.Desired.Submitter = operator.Submitters.Of(o, a.Family.Submitter)
	}
	tails := &a.Desired.LogTails
	tails.Hidden = tails.Hidden || a.Policies.ForbidLogTails()
	a.Owner = a.Family.Owner(o, a.Identity.SubmissionID)
	a.App = k.RaiseMemory(a.Policies.Apply(WithScheduler(a.App, operator.Registry)), o, record.Retries.MemoryRaises)
	tails.Keys, tails.Texts = a.App.Conf[confRedactKeys], a.App.Conf[confRedactTexts]
	a.App = exposure.Configure(a.App, a.Identity.AppID, operator.Exposure)
	a.Problems = slices.Concat(a.Problems, exposure.CheckAttached(a.App))
	a.App.Warnings = slices.Concat(a.App.Warnings, exposure.Warnings(a.App))
	a.App = labeled(a.App, a.Family.Labels, a.Identity.SubmissionID, a.Desired.SpecHash)

	a.Retention = a.Desired.Policies.Retention
	a.Desired.Policies.Retention = retention(a.Policies, a.Desired)
	if !a.Desired.FollowsOthers(record) {
		a.Desired.Policies.Deadlines = a.Policies.Deadlines(a.Desired.Policies.Deadlines)
	}
	a.Desired.Policies.Restart.PerHour = a.Policies.RetriesPerHour()
	a.Desired.SparkAppID, a.Desired.SubmissionID = a.Identity.AppID, a.Identity.SubmissionID
	a.Desired.DriverName = spark.DriverName(a.App, a.Identity)
	a.Desired.Executors, a.Desired.LeastExecutors = spark.InitialExecutors(a.App)
	a.Desired.Notes = validation.Notes(a.App)
	if ignored := operator.Registry.Ignored(record.Scheduling.Scheduler, a.App.Scheduling, a.App.Fields); len(ignored) > 0 {
		a.Desired.Notes = scheduler.Warnings(append([]string{a.Desired.Notes}, validation.Sentences(ignored)...)...)
	}
	model := a.App
	a.Desired.Model = &model
	return a
}

// WithScheduler returns the application with the scheduler of its pods, if no other field names a scheduler.
func WithScheduler(app spark.Application, registry *scheduler.Registry) spark.Application {
	return plainScheduler(servingScheduler(app, registry), registry)
}

// servingScheduler chooses the plugin that is responsible for the pods' scheduler name. Without such a plugin the name stays only on the pods, where the
// policies' limits apply to it.
func servingScheduler(app spark.Application, registry *scheduler.Registry) spark.Application {
	s, served := &app.Scheduling, false
	if registry != nil && s.PodScheduler != "" {
		s.Scheduler, served = registry.Serving(s.PodScheduler)
	}
	if !served {
		s.PodScheduler = ""
	}
	return app
}

// plainScheduler sets a scheduler name without a plugin as the schedulerName of the pods, if the operator allows that. The name remains the user's choice, so
// the policies' limits apply to it.
func plainScheduler(app spark.Application, registry *scheduler.Registry) spark.Application {
	name := app.Scheduling.Scheduler
	if registry == nil {
		return app
	}
	plugin, plain := registry.Plain(name)
	if !plain {
		return app
	}
	app = scheduler.ScheduledBy(app, name)
	app.Scheduling.Scheduler = plugin
	app.Warnings = append(slices.Clip(app.Warnings), &spark.ConfError{
		Field: scheduler.FieldScheduler, Value: name,
		Problem: "is not one of the enabled scheduler plugins: it becomes the schedulerName of the pods, without a gang or a queue",
	})
	return app
}

// DriverName returns the name of the recorded driver, or else of the next one.
func (a Application) DriverName() string {
	if !a.Record.NeverRan() && a.Record.DriverName != "" {
		return a.Record.DriverName
	}
	return a.Desired.DriverName
}

// labeled adds the attempt's labels to the pods of both roles. The driver sets the labels of its executors. Labels that Spark itself sets are omitted.
func labeled(app spark.Application, labels lifecycle.Labels, submissionID, specHash string) spark.Application {
	conf := maps.Clone(app.OperatorConf)
	if !spark.IsReservedLabel(labels.Submission) {
		conf[spark.ConfDriverLabelPrefix+labels.Submission] = submissionID
		conf[spark.ConfExecutorLabelPrefix+labels.Submission] = submissionID
	}
	if specHash != "" {
		conf[spark.ConfDriverLabelPrefix+labels.SpecHash] = specHash
	}
	app.OperatorConf, app.OwnLabels = conf, labels.Keys()
	return app
}
