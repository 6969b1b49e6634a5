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

// Package scheduler is the seam between the operator and batch schedulers.
//
// A plugin is a set of pure functions over values. It says what it needs to see of the cluster (Reads); the core reads
// that and hands it over as a Snapshot; the plugin answers whether the attempt may start (Plan) and what its pods must
// carry (Decorate). It has no client and no clock, never sleeps, and never learns the name of a lifecycle state or of
// an application kind. The core, in turn, never learns the name of a scheduler.
package scheduler

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/firesteel-dev/firesteel/internal/spark"
)

// Attempt is everything that a scheduler may want to know of one run of an application, already sized by the core.
type Attempt struct {
	App App
	// Number counts from 1 and grows with every submission.
	Number int32
	// ID is unique among all attempts of all applications and a valid DNS label.
	ID string
	// Queue and PriorityClass are as the user wrote them; "" for none.
	Queue         string
	PriorityClass string
	// Shapes are the exact requests of the driver and of one executor, and the number of executors.
	Shapes spark.Shapes
}

// App identifies the application whose attempt is scheduled.
type App struct {
	Namespace string
	Name      string
	UID       types.UID
	Labels    map[string]string
}

// Plugin connects one batch scheduler.
type Plugin interface {
	Describe() Descriptor
	// Validate judges the attempt alone, without any look at the cluster.
	Validate(Attempt) []Finding
	// Reads names the objects that Plan wants to see.
	Reads(Attempt) []Read
	// Plan says whether the attempt may start. It is asked again until the answer is Go or Never.
	Plan(Attempt, Snapshot) Admission
	// Decorate adds to both roles' pods what the scheduler needs to find on them.
	Decorate(Attempt, *Decoration)
}

// Descriptor introduces a plugin.
type Descriptor struct {
	// Name is what users write in spec.batchScheduler.
	Name string
	// SchedulerName is written to the pods of both roles; "" leaves it alone.
	SchedulerName string
}

// Finding is something in the attempt that the scheduler cannot work with.
type Finding struct {
	// Field is the path in the user's object, e.g. "spec.batchSchedulerOptions.queue".
	Field string
	// Problem says what is wrong and what would be right.
	Problem string
}

// Read names one object that a plugin wants to see. Namespace is "" for cluster-scoped kinds.
type Read struct {
	schema.GroupVersionKind
	Namespace string
	Name      string
}

// Snapshot holds the objects that a plugin asked for. A nil object was looked up and does not exist.
type Snapshot map[Read]*unstructured.Unstructured

// Verdict is a scheduler's answer to "may it start?".
type Verdict string

const (
	// Go lets the attempt start.
	Go Verdict = "Go"
	// Wait holds it back until something in the cluster changes.
	Wait Verdict = "Wait"
	// Never refuses it for good.
	Never Verdict = "Never"
	// NotReady says that the scheduler itself cannot be asked.
	NotReady Verdict = "NotReady"
)

// Reason is one word of the closed list that documentation, metrics and alerts rely on.
type Reason string

const (
	// ReasonAdmitted accompanies Go.
	ReasonAdmitted Reason = "Admitted"
	// ReasonInvalidParameters : Never; the plugin's Validate found something.
	ReasonInvalidParameters Reason = "InvalidParameters"
	// ReasonPriorityClassNotFound : Wait; the named PriorityClass does not exist (yet).
	ReasonPriorityClassNotFound Reason = "PriorityClassNotFound"
	// ReasonSchedulerUnknown : NotReady; no plugin has the name that the application asks for.
	ReasonSchedulerUnknown Reason = "SchedulerUnknown"
)

// Admission is a verdict with its explanation.
type Admission struct {
	Verdict Verdict
	Reason  Reason
	// Message is one stable sentence for people: no ages, no timestamps.
	Message string
	// RetryAfter is when to ask again if no watched object changes before.
	RetryAfter time.Duration
}

// Decoration is laid over the pods of both roles before they are built.
type Decoration struct {
	Driver   spark.PodOverlay
	Executor spark.PodOverlay
}
