// SPDX-License-Identifier: Apache-2.0

// Package offline says without a cluster what the operator would say and create: it runs the operator's own code over a
// manifest. It is pure.
package offline

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
	"github.com/firesteel-dev/firesteel/internal/exposure"
	"github.com/firesteel-dev/firesteel/internal/governed"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/policy"
	"github.com/firesteel-dev/firesteel/internal/prepare"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// DefaultUID stands in for the UID that the API server would give the application. Names are derived from it.
const DefaultUID types.UID = "00000000-0000-4000-8000-000000000000"

// DefaultSubmitTime stands in for the time of the submission, so that the same manifest gives the same objects.
var DefaultSubmitTime = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// DefaultNamespace is where an application goes whose manifest names none.
const DefaultNamespace = "default"

// Cluster is what only a cluster would know. What is left empty gets a default.
type Cluster struct {
	Namespace  string
	UID        types.UID
	SubmitTime time.Time
}

// Operator is how the operator is configured, as far as that decides about applications.
type Operator struct {
	Registry *scheduler.Registry
	// Policies are those of all namespaces.
	Policies policy.Set
	Exposure exposure.Config
}

// Rendered are the objects of the first attempt of an application, in the order in which the operator creates them.
type Rendered struct {
	Objects []spark.Object
	// Assumptions are what the cluster must have for the objects to be created, and what else holds them back.
	Assumptions []string
}

// Refusal is why nothing is created, in the operator's words.
type Refusal struct {
	Message string
	// Waits is whether the operator would try again.
	Waits bool
}

// Error returns the operator's words.
func (r *Refusal) Error() string { return r.Message }

// priorityClass is the one kind that an application itself names.
const priorityClass = "PriorityClass"

// Render returns what the operator would create. The error is a *Refusal.
func Render(o *v1beta2.SparkApplication, c Cluster, operator Operator) (Rendered, error) {
	o, request := requestOf(o, c, operator)
	candidate, prepared := prepare.Examine(request, operator.Registry)
	var rendered Rendered
	if candidate != nil {
		snapshot := scheduler.Snapshot{}
		for _, read := range candidate.Reads() {
			if read.Kind != priorityClass {
				continue // the scheduler's own, which is assumed to let the application start
			}
			snapshot[read] = &unstructured.Unstructured{}
			rendered.Assumptions = append(rendered.Assumptions, fmt.Sprintf("%s %s must exist", read.Kind, read.Name))
		}
		if prepared = candidate.Prepare(snapshot); prepared.Gate.Verdict == lifecycle.Waiting {
			rendered.Assumptions = append(rendered.Assumptions, fmt.Sprintf("the scheduler %s must let it start; what it makes for that is not shown", prepared.Choice.Scheduler))
			prepared = candidate.Assume(prepared)
		}
	}
	if prepared.Gate.Verdict != lifecycle.Admitted {
		return Rendered{}, &Refusal{Message: prepared.Gate.Cause.Message, Waits: prepared.Gate.Verdict == lifecycle.Waiting}
	}
	if annotationsMatter(request.App.Scheduling, prepared.Choice, operator.Registry) {
		rendered.Assumptions = append(rendered.Assumptions, fmt.Sprintf("no annotation of namespace %s must choose a scheduler or a queue", o.Namespace))
	}
	if request.App.Suspend {
		rendered.Assumptions = append(rendered.Assumptions, "spec.suspend: nothing is created while it is true")
	}
	owner := lifecycle.OwnerReference(o, v1beta2.GroupVersion.String(), "SparkApplication")
	rendered.Objects = append(prepared.Submission.Resources, prepared.Submission.Driver)
	for _, object := range rendered.Objects {
		lifecycle.Own(object, owner)
	}
	for _, object := range prepared.Submission.Resources {
		lifecycle.Mark(object, request.Identity.SubmissionID)
	}
	return rendered, nil
}

// annotationsMatter is whether annotations of the namespace, which are not known here, may choose otherwise.
func annotationsMatter(asked spark.Scheduling, chosen scheduler.Choice, registry *scheduler.Registry) bool {
	if !registry.NamespaceDefaults() {
		return false
	}
	plugin, known := registry.Plugin(chosen.Scheduler)
	return chosen.Source == scheduler.SourceCluster || known && asked.Queue == "" && plugin.Describe().Supports.Queues
}

// requestOf completes an application with what the API server would fill in.
func requestOf(o *v1beta2.SparkApplication, c Cluster, operator Operator) (*v1beta2.SparkApplication, prepare.Request) {
	o = o.DeepCopy()
	if c.UID != "" {
		o.UID = c.UID
	}
	if o.UID == "" {
		o.UID = DefaultUID
	}
	if o.Namespace == "" {
		o.Namespace = c.Namespace
	}
	if o.Namespace == "" {
		o.Namespace = DefaultNamespace
	}
	if c.SubmitTime.IsZero() {
		c.SubmitTime = DefaultSubmitTime
	}
	app, problems := governed.Attempt(o, lifecycle.Record{}, operator.Policies)
	const first = 1
	identity := spark.NewIdentity(o.UID, first, c.SubmitTime)
	app = exposure.Configure(app, identity.AppID, operator.Exposure)
	return o, prepare.Request{App: app, Problems: problems, Identity: identity, Attempt: first, SpecHash: kubeflow.SpecHash(o)}
}
