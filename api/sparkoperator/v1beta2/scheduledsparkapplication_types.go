// SPDX-License-Identifier: Apache-2.0

package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// ConcurrencyPolicy says what happens when a run is due while an earlier one has not finished.
type ConcurrencyPolicy string

// Concurrency policies. An empty one is Allow.
const (
	// ConcurrencyAllow starts the run beside the earlier one.
	ConcurrencyAllow ConcurrencyPolicy = "Allow"
	// ConcurrencyForbid starts the run after the earlier one has finished.
	ConcurrencyForbid ConcurrencyPolicy = "Forbid"
	// ConcurrencyReplace deletes the earlier run, and starts the new one when it is gone.
	ConcurrencyReplace ConcurrencyPolicy = "Replace"
)

// MissedRunPolicy says what happens to runs that were due while none could start: the schedule was suspended, the operator
// was away, or an earlier run had not finished.
//
// +kubebuilder:validation:Enum=RunLatest;RunAll;Skip
type MissedRunPolicy string

// Missed run policies. An empty one is RunLatest.
const (
	// MissedRunLatest starts the latest of them.
	MissedRunLatest MissedRunPolicy = "RunLatest"
	// MissedRunAll starts all of them, one after the other.
	MissedRunAll MissedRunPolicy = "RunAll"
	// MissedRunSkip starts none of them.
	MissedRunSkip MissedRunPolicy = "Skip"
)

// ScheduleState is the state of a schedule.
type ScheduleState string

// Schedule states. Validating is never set.
const (
	ScheduleStateNew              ScheduleState = ""
	ScheduleStateValidating       ScheduleState = "Validating"
	ScheduleStateScheduled        ScheduleState = "Scheduled"
	ScheduleStateFailedValidation ScheduleState = "FailedValidation"
)

// Names that tie a run to its schedule.
const (
	// LabelScheduledAppName holds the name of a run's schedule.
	LabelScheduledAppName = "sparkoperator.k8s.io/scheduled-app-name"
	// AnnotationScheduledTime holds the time that a run was due, in RFC 3339.
	AnnotationScheduledTime = "sparkoperator.k8s.io/scheduled-time"
	// AnnotationRunReason says why a run was started: Schedule, Trigger or Backfill.
	AnnotationRunReason = "sparkoperator.k8s.io/run-reason"
	// AnnotationTriggerAt on a schedule starts one run. Its value is a time in RFC 3339; a later one starts another run.
	AnnotationTriggerAt = "sparkoperator.k8s.io/trigger-at"
	// AnnotationRerunAt on an application runs it again. Its value is a time in RFC 3339; a later one runs it again.
	AnnotationRerunAt = "sparkoperator.k8s.io/rerun-at"
	// AnnotationAdopts on an application that has had no driver holds the name of a driver pod that others started. No driver is created
	// until that pod has the application's owner reference and labels, and then it is followed as the application's first.
	AnnotationAdopts = "sparkoperator.k8s.io/adopts"
)

// ScheduledSparkApplication starts a SparkApplication at the times of a schedule.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,shortName=scheduledsparkapp,singular=scheduledsparkapplication,categories=spark
// +kubebuilder:metadata:annotations="api-approved.kubernetes.io=https://github.com/kubeflow/spark-operator/pull/1298"
// +kubebuilder:printcolumn:JSONPath=.spec.schedule,name=Schedule,type=string
// +kubebuilder:printcolumn:JSONPath=.spec.timeZone,name=TimeZone,type=string
// +kubebuilder:printcolumn:JSONPath=.spec.suspend,name=Suspend,type=string
// +kubebuilder:printcolumn:JSONPath=.status.lastRun,name=Last Run,type=date
// +kubebuilder:printcolumn:JSONPath=.status.lastRunName,name=Last Run Name,type=string
// +kubebuilder:printcolumn:JSONPath=.metadata.creationTimestamp,name=Age,type=date
// +kubebuilder:printcolumn:JSONPath=.status.nextRun,name=Next Run,type=string,priority=1
// +kubebuilder:printcolumn:JSONPath=`.status.conditions[?(@.type=="Scheduled")].reason`,name=Reason,type=string,priority=1
type ScheduledSparkApplication struct {
	metav1.TypeMeta `json:",inline"`
	// +required
	metav1.ObjectMeta `json:"metadata"`

	// Spec is what the user wants to run, and when.
	// +required
	Spec ScheduledSparkApplicationSpec `json:"spec"`
	// Status is what the operator knows about it.
	// +optional
	Status ScheduledSparkApplicationStatus `json:"status,omitzero"`

	// MalformedSpec says why the stored spec could not be decoded; Spec is empty then.
	MalformedSpec string `json:"-"`
	// UnknownFields are the paths of fields in the stored spec that do not exist, as in a misspelled toleration; of too many
	// the first, and "..." at the end.
	UnknownFields []string `json:"-"`
}

// ScheduledSparkApplicationList is a list of ScheduledSparkApplications.
//
// +kubebuilder:object:root=true
type ScheduledSparkApplicationList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ScheduledSparkApplication `json:"items"`
}

// ScheduledSparkApplicationSpec says what runs, and when.
type ScheduledSparkApplicationSpec struct {
	// Schedule is five fields of cron, or @yearly, @monthly, @weekly, @daily, @hourly, "@every 2h30m".
	// +required
	Schedule string `json:"schedule"`
	// TimeZone of the schedule, such as Europe/Berlin. The default is the operator's: UTC in its image.
	// +optional
	TimeZone string `json:"timeZone,omitempty"`
	// Template is the spec of each run.
	// +required
	Template SparkApplicationSpec `json:"template"`
	// Suspend starts no more runs while it is true. Those that run are left alone.
	// +optional
	Suspend *bool `json:"suspend,omitempty"`
	// ConcurrencyPolicy is Allow (the default), Forbid or Replace: what happens when an earlier run has not finished.
	// +optional
	ConcurrencyPolicy ConcurrencyPolicy `json:"concurrencyPolicy,omitempty"`
	// SuccessfulRunHistoryLimit is how many completed runs are kept; 1 by default.
	// +optional
	SuccessfulRunHistoryLimit *int32 `json:"successfulRunHistoryLimit,omitempty"`
	// FailedRunHistoryLimit is how many failed runs are kept; 1 by default.
	// +optional
	FailedRunHistoryLimit *int32 `json:"failedRunHistoryLimit,omitempty"`

	// StartingDeadlineSeconds is how late a run may start; one that is later is skipped. Without it a run is never too late.
	// +kubebuilder:validation:Minimum=0
	// +optional
	StartingDeadlineSeconds *int64 `json:"startingDeadlineSeconds,omitempty"`
	// MissedRunPolicy is RunLatest (the default), RunAll or Skip: what happens to runs that were due while none could start.
	// +optional
	MissedRunPolicy MissedRunPolicy `json:"missedRunPolicy,omitempty"`
	// JitterSeconds delays each run by up to that long, always by the same for one schedule. Names and data intervals stay.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=86400
	// +optional
	JitterSeconds *int64 `json:"jitterSeconds,omitempty"`
	// Backfill runs the schedule's times of a past range once.
	// +optional
	Backfill *ScheduleBackfill `json:"backfill,omitempty"`
}

// ScheduleBackfill is a range of times whose runs are made up for, at most 1000. A changed range is a new backfill.
type ScheduleBackfill struct {
	// From is the first time that a run may have been due.
	// +required
	From metav1.Time `json:"from"`
	// To is the time before which runs were due.
	// +required
	To metav1.Time `json:"to"`
	// MaxActive is how many of its runs there are at the same time; 1 by default.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	// +optional
	MaxActive *int32 `json:"maxActive,omitempty"`
}

// ScheduledSparkApplicationStatus is what the operator knows of a schedule.
type ScheduledSparkApplicationStatus struct {
	// LastRun is when the last run was started.
	// +optional
	// +nullable
	LastRun metav1.Time `json:"lastRun,omitzero"`
	// NextRun is when the next run will be started; none while the schedule is suspended.
	// +optional
	// +nullable
	NextRun metav1.Time `json:"nextRun,omitzero"`
	// LastRunName is the name of the last run.
	// +optional
	LastRunName string `json:"lastRunName,omitempty"`
	// PastSuccessfulRunNames are the completed runs that are kept, the newest first.
	// +optional
	PastSuccessfulRunNames []string `json:"pastSuccessfulRunNames,omitempty"`
	// PastFailedRunNames are the failed runs that are kept, the newest first.
	// +optional
	PastFailedRunNames []string `json:"pastFailedRunNames,omitempty"`
	// ScheduleState is Scheduled or FailedValidation.
	// +optional
	ScheduleState ScheduleState `json:"scheduleState,omitempty"`
	// Reason says what is wrong when the state is FailedValidation.
	// +optional
	Reason string `json:"reason,omitempty"`

	// ObservedGeneration is the generation of the spec that the status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Submitter is the user who created the schedule, as admission recorded it. Its runs have the same.
	// +optional
	Submitter *SubmitterStatus `json:"submitter,omitempty"`
	// Active are the runs that have not finished.
	// +optional
	Active []string `json:"active,omitempty"`
	// LastScheduledTime is the last time of the schedule that was dealt with: its run was started or skipped.
	// +optional
	LastScheduledTime *metav1.Time `json:"lastScheduledTime,omitempty"`
	// ReplacingFor is the time of the schedule for which runs are being stopped, because concurrencyPolicy is Replace. Its run starts
	// however late that ends.
	// +optional
	ReplacingFor *metav1.Time `json:"replacingFor,omitempty"`
	// ScheduledSince is the time from which the present schedule and time zone count, and Scheduled what they are.
	// +optional
	ScheduledSince *metav1.Time `json:"scheduledSince,omitempty"`
	// Scheduled is the schedule with its time zone that scheduledSince is about.
	// +optional
	Scheduled string `json:"scheduled,omitempty"`
	// SkippedRuns is how many runs were due and not started.
	// +optional
	SkippedRuns int64 `json:"skippedRuns,omitempty"`
	// LastSkipped is the last time whose run was skipped, and LastSkippedReason why.
	// +optional
	LastSkipped *metav1.Time `json:"lastSkipped,omitempty"`
	// LastSkippedReason says why the run of lastSkipped was not started.
	// +optional
	LastSkippedReason string `json:"lastSkippedReason,omitempty"`
	// LastTrigger is the value of the annotation trigger-at whose run was started last.
	// +optional
	LastTrigger *metav1.Time `json:"lastTrigger,omitempty"`
	// Backfill is where the backfill stands.
	// +optional
	Backfill *ScheduleBackfillStatus `json:"backfill,omitempty"`
	// Conditions say where the schedule stands and why.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// ScheduleBackfillStatus is where a backfill stands.
type ScheduleBackfillStatus struct {
	// From and To are the range.
	// +required
	From metav1.Time `json:"from"`
	// To is the end of the range.
	// +required
	To metav1.Time `json:"to"`
	// Next is the next time whose run has to be started; none when all have been.
	// +optional
	Next *metav1.Time `json:"next,omitempty"`
	// Started is how many runs have been started.
	// +optional
	Started int32 `json:"started,omitempty"`
	// Failed are the names of its runs that have failed, also of those that are not kept; at most 100.
	// +optional
	Failed []string `json:"failed,omitempty"`
}

func init() {
	SchemeBuilder.Register(func(scheme *runtime.Scheme) error {
		scheme.AddKnownTypes(SchemeGroupVersion, &ScheduledSparkApplication{}, &ScheduledSparkApplicationList{})
		return nil
	})
}
