// SPDX-License-Identifier: Apache-2.0

package kubeflow

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// SparkApplications translates sparkoperator.k8s.io SparkApplications (resolve.Kind).
type SparkApplications struct {
	// Template is set if the applications come from the template of a schedule. Messages then name the fields of the template.
	Template bool
}

// New returns an empty object.
func (SparkApplications) New() *v1beta2.SparkApplication { return &v1beta2.SparkApplication{} }

// sparkApplications describes the family to the core.
var sparkApplications = lifecycle.Family{
	Group: v1beta2.GroupVersion.Group, Version: v1beta2.GroupVersion.Version, Kind: "SparkApplication",
	Labels: lifecycle.Labels{
		App: v1beta2.LabelAppName, LaunchedBy: v1beta2.LabelLaunchedBy, CreatedBy: v1beta2.LabelCreatedBy,
		SpecHash: v1beta2.LabelSpecHash, Submission: v1beta2.LabelSubmissionID, Exposes: v1beta2.LabelExposes,
		Applied: v1beta2.AnnotationApplied,
	},
	RerunAt:   v1beta2.AnnotationRerunAt,
	Submitter: submitterKeys,
	Reads: []string{
		v1beta2.AnnotationAdopts, v1beta2.LabelScheduledAppName, v1beta2.AnnotationScheduledTime, v1beta2.AnnotationRunReason, v1beta2.AnnotationTriggerAt,
		AnnotationDefaulted, spark.LabelRole, spark.LabelAppSelector, spark.LabelAppName, spark.LabelVersion, spark.LabelExecID,
	},
	Fields: fieldsBelow("spec"),
	States: stateNames(),
}

// fieldsBelow returns the names of an application's fields if its spec is at the given path.
func fieldsBelow(spec string) spark.Fields {
	return spark.Fields{
		"":                             spec, // other fields have the same names
		"metadata":                     "metadata",
		"labels":                       "metadata.labels",
		"batchScheduler.queue":         spec + ".batchSchedulerOptions.queue",
		"batchScheduler.priorityClass": spec + ".batchSchedulerOptions.priorityClassName",
		"batchScheduler.resources":     spec + ".batchSchedulerOptions.resources",
		"batchScheduler.parameters":    spec + ".batchSchedulerOptions.parameters",
		"ui":                           spec + ".sparkUIOptions",
		"ports":                        spec + ".driverIngressOptions",
		"driver.volumes":               spec + ".volumes",
		"executor.volumes":             spec + ".volumes",
		"rerunAt":                      "annotation " + v1beta2.AnnotationRerunAt,
		"adopts":                       "annotation " + v1beta2.AnnotationAdopts,
	}
}

// templateFields are the names of an application's fields in a schedule.
var templateFields = fieldsBelow("spec.template")

// Family describes the kind to the core.
func (SparkApplications) Family() lifecycle.Family { return sparkApplications }

func stateNames() map[lifecycle.State]string {
	names := map[lifecycle.State]string{}
	for s, name := range states {
		names[s] = string(name)
	}
	return names
}

// Identity returns the ids of an attempt.
func (SparkApplications) Identity(o *v1beta2.SparkApplication, attempt int32, submitTime time.Time) spark.Identity {
	return spark.NewIdentity(o.UID, attempt, submitTime)
}

// FromStatus reads the record from the status.
func (SparkApplications) FromStatus(o *v1beta2.SparkApplication) lifecycle.Record {
	return FromStatus(&o.Status)
}

// Load returns the model of the object.
func (k SparkApplications) Load(o *v1beta2.SparkApplication, record lifecycle.Record) lifecycle.Loaded {
	fields := sparkApplications.Fields
	if k.Template {
		fields = templateFields
	}
	app, problems := normalized(o, fields)
	return lifecycle.Loaded{App: app, Problems: problems, Desired: Desired(o, record)}
}

// RaiseMemory returns the model with the memory that follows the given number of attempts that ran out of memory.
func (SparkApplications) RaiseMemory(app spark.Application, o *v1beta2.SparkApplication, raises int32) spark.Application {
	return WithRaisedMemory(app, o, raises)
}

// Desired returns the input of lifecycle.Decide from the object.
func (SparkApplications) Desired(o *v1beta2.SparkApplication, record lifecycle.Record) lifecycle.Application {
	return Desired(o, record)
}

// ToStatus returns a copy of the object with the status for the outcome; changed is false if the status stays the same.
func (SparkApplications) ToStatus(o *v1beta2.SparkApplication, outcome lifecycle.Outcome, now time.Time) (next *v1beta2.SparkApplication, changed bool) {
	status := ToStatus(&o.Status, outcome, now)
	if equality.Semantic.DeepEqual(&o.Status, &status) {
		return o, false
	}
	next = o.DeepCopy()
	next.Status = status
	return next, true
}

// DriverWaits returns the reason of the condition for a submitted driver that does not run yet.
func (SparkApplications) DriverWaits(o *v1beta2.SparkApplication) string {
	return driverWaits(o.Status.Conditions)
}

func driverWaits(conditions []metav1.Condition) string {
	if c := meta.FindStatusCondition(conditions, string(lifecycle.ConditionDriverReady)); c != nil {
		return c.Reason
	}
	return ""
}

// Desired returns the input of lifecycle.Decide from the object.
func Desired(o *v1beta2.SparkApplication, rec lifecycle.Record) lifecycle.Application {
	policies, _ := Policies(o)
	hash, placement := rec.SpecHash, lifecycle.Placement{Rest: rec.Placement.Rest, Made: hashOf(placementOf(&o.Spec.Executor))}
	if hash == "" || placement.Rest == "" || rec.Generation != o.Generation {
		rest := RestartHash(o)
		if hash == "" || rec.Generation != o.Generation && rest != placement.Rest && firstRestartHash(o) != placement.Rest {
			hash = SpecHash(o)
		}
		placement.Rest = rest
	}
	return lifecycle.Application{
		UID: string(o.UID), Generation: o.Generation, SpecHash: hash, Placement: placement, Suspend: ptr.Deref(o.Spec.Suspend, false),
		LogTails: lifecycle.LogTails{Hidden: o.Spec.LogTails == v1beta2.LogTailsDisabled},
		Policies: policies, RaisesMemory: RaisesMemory(o), Deleting: !o.DeletionTimestamp.IsZero(),
		Fields: sparkApplications.Fields, ManagedBy: managedBy(o), Adopts: o.Annotations[v1beta2.AnnotationAdopts],
	}
}

// managedBy returns the other controller that manages the application; "" for this operator.
func managedBy(o *v1beta2.SparkApplication) string {
	if by := ptr.Deref(o.Spec.ManagedBy, ""); by != v1beta2.ManagedByThisOperator {
		return by
	}
	return ""
}

// SpecHash identifies the part of the spec that a running application is created from. If it changes, the application runs again. It excludes fields that act
// on a running application, and fields without effect. It includes the defaults of the Kubeflow operator's webhook, so that a manifest has the same hash with
// or without them. Its input is the user's spec and not the model, because a newer operator must not restart running applications.
func SpecHash(o *v1beta2.SparkApplication) string {
	s := withoutDefaults(o).Spec.DeepCopy()
	fill(s)
	if _, set := s.SparkConf[spark.ConfExecutorInstances]; s.Executor.Instances == nil && !set && (s.DynamicAllocation == nil || !s.DynamicAllocation.Enabled) {
		s.Executor.Instances = ptr.To(int32(1)) // the Kubeflow operator's webhook ignores dynamic allocation in sparkConf
	}
	s.ManagedBy = nil // the field is immutable
	s.Suspend, s.TimeToLiveSeconds, s.Retention, s.Deadlines, s.LogTails = nil, nil, nil, nil, ""
	s.RestartPolicy = v1beta2.RestartPolicy{}
	s.Type, s.FailureRetries, s.RetryInterval = "", nil, nil // Ignored has the reasons
	// An earlier release ignored the memory limit, and running applications must keep their hash. The next attempt has the new limit.
	s.Executor.MemoryLimit = nil
	s.DriverPodDisruptionBudget = nil
	s.SparkUIOptions, s.DriverIngressOptions = nil, nil
	if options := s.BatchSchedulerOptions; options != nil {
		options.OnEviction, options.MaxEvictions = "", nil
	}
	return hashOf(s, o.MalformedSpec)
}

// hashOf returns the hash of a value and additional texts.
func hashOf(value any, beside ...string) string {
	text, err := json.Marshal(value)
	if err != nil {
		text = fmt.Appendf(nil, "%+v", value) // only a quantity that cannot be encoded causes this
	}
	h := fnv.New64a()
	_, _ = h.Write(text) // writing to a hash never fails
	for _, more := range beside {
		_, _ = h.Write([]byte(more))
	}
	return fmt.Sprintf("%016x", h.Sum64())
}

// placement has the fields of executors whose edit starts no new run. They are the fields of the Kubeflow operator's feature PartialRestart, and the same
// fields of the template.
type placement struct {
	NodeSelector      map[string]string
	Affinity          *corev1.Affinity
	Tolerations       []corev1.Toleration
	PriorityClassName *string
	Template          *templatePlacement `json:",omitempty"`
}

// templatePlacement has the placement, labels and annotations of a pod template.
type templatePlacement struct {
	Labels, Annotations       map[string]string
	NodeSelector              map[string]string
	Affinity                  *corev1.Affinity
	Tolerations               []corev1.Toleration
	TopologySpreadConstraints []corev1.TopologySpreadConstraint
	PriorityClassName         string
}

func placementOf(e *v1beta2.ExecutorSpec) placement {
	p := placement{NodeSelector: e.NodeSelector, Affinity: e.Affinity, Tolerations: e.Tolerations, PriorityClassName: e.PriorityClassName}
	if t := e.Template; t != nil {
		p.Template = &templatePlacement{
			Labels: t.Labels, Annotations: t.Annotations, NodeSelector: t.Spec.NodeSelector, Affinity: t.Spec.Affinity, Tolerations: t.Spec.Tolerations,
			TopologySpreadConstraints: t.Spec.TopologySpreadConstraints, PriorityClassName: t.Spec.PriorityClassName,
		}
	}
	return p
}

// RestartHash identifies the part of the spec whose edit runs the application again. It is the part that SpecHash covers, without the placement of executors.
// SpecHash keeps the placement, because stored hashes must stay valid.
func RestartHash(o *v1beta2.SparkApplication) string {
	rest := *o
	if t := o.Spec.Executor.Template; t != nil {
		t = t.DeepCopy()
		t.Labels, t.Annotations = nil, nil
		t.Spec.NodeSelector, t.Spec.Affinity, t.Spec.Tolerations = nil, nil, nil
		t.Spec.TopologySpreadConstraints, t.Spec.PriorityClassName = nil, ""
		rest.Spec.Executor.Template = t
	}
	return firstRestartHash(&rest)
}

// firstRestartHash is RestartHash as an earlier release computed it, with complete templates. Stored statuses may still have it.
func firstRestartHash(o *v1beta2.SparkApplication) string {
	rest := *o
	e := &rest.Spec.Executor
	e.NodeSelector, e.Affinity, e.Tolerations, e.PriorityClassName = nil, nil, nil, nil
	return SpecHash(&rest)
}

// submitterKeys are the submitter annotations of all kinds in this group.
var submitterKeys = lifecycle.SubmitterKeys{User: v1beta2.AnnotationSubmitter, Groups: v1beta2.AnnotationSubmitterGroups}

// projectSubmitter returns nil for an unknown submitter.
func projectSubmitter(s lifecycle.Submitter) *v1beta2.SubmitterStatus {
	if s.User == "" {
		return nil
	}
	return &v1beta2.SubmitterStatus{User: s.User, Groups: slices.Clone(s.Groups), Source: string(s.Source)}
}

func submitterOf(s *v1beta2.SubmitterStatus) lifecycle.Submitter {
	if s == nil {
		return lifecycle.Submitter{}
	}
	return lifecycle.Submitter{User: s.User, Groups: slices.Clone(s.Groups), Source: lifecycle.SubmitterSource(s.Source)}
}
