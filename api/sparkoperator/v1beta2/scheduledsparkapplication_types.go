// SPDX-License-Identifier: Apache-2.0

package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// ConcurrencyPolicy controls a run that becomes due while an earlier run is unfinished.
type ConcurrencyPolicy string

// Concurrency policies. The empty string means Allow.
const (
	// ConcurrencyAllow starts both runs at the same time.
	ConcurrencyAllow ConcurrencyPolicy = "Allow"
	// ConcurrencyForbid starts the run after the earlier one has finished.
	ConcurrencyForbid ConcurrencyPolicy = "Forbid"
	// ConcurrencyReplace deletes the earlier run, and then starts the new one.
	ConcurrencyReplace ConcurrencyPolicy = "Replace"
)

// MissedRunPolicy controls runs that were due while none could start: the schedule was suspended, the operator was down, or an
// earlier run was unfinished.
//
// +kubebuilder:validation:Enum=RunLatest;RunAll;Skip
type MissedRunPolicy string

// Missed run policies. The empty string means RunLatest.
const (
	// MissedRunLatest starts the latest missed run.
	MissedRunLatest MissedRunPolicy = "RunLatest"
	// MissedRunAll starts all missed runs, one after the other.
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

// Names that link a run to its schedule.
const (
	// LabelScheduledAppName is the name of a run's schedule.
	LabelScheduledAppName = "sparkoperator.k8s.io/scheduled-app-name"
	// AnnotationScheduledTime is the time at which a run was due, in RFC 3339.
	AnnotationScheduledTime = "sparkoperator.k8s.io/scheduled-time"
	// AnnotationRunReason is the cause of a run: Schedule, Trigger or Backfill.
	AnnotationRunReason = "sparkoperator.k8s.io/run-reason"
	// AnnotationTriggerAt on a schedule starts one run. Its value is a time in RFC 3339; a later time starts another run.
	AnnotationTriggerAt = "sparkoperator.k8s.io/trigger-at"
	// AnnotationRerunAt on an application runs it again. Its value is a time in RFC 3339; a later time runs it once more.
	AnnotationRerunAt = "sparkoperator.k8s.io/rerun-at"
	// AnnotationAdopts on a new application names a driver pod that another client started. The operator creates no driver: it
	// waits until that pod has the application's owner reference and labels, and follows it as the first driver.
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

	// Spec is the desired schedule.
	// +required
	Spec ScheduledSparkApplicationSpec `json:"spec"`
	// Status is the observed state.
	// +optional
	Status ScheduledSparkApplicationStatus `json:"status,omitzero"`

	// MalformedSpec explains why the stored spec could not be decoded; Spec is empty then.
	MalformedSpec string `json:"-"`
	// UnknownFields are the paths of unknown fields in the stored spec, e.g. of a misspelled toleration. A long list is truncated and ends with "...".
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

// ScheduledSparkApplicationSpec is the desired schedule.
type ScheduledSparkApplicationSpec struct {
	// Schedule is a cron expression of five fields, or @yearly, @monthly, @weekly, @daily, @hourly, "@every 2h30m".
	// +required
	Schedule string `json:"schedule"`
	// TimeZone of the schedule, such as Europe/Berlin. The default is the operator's: UTC in its image.
	// +optional
	TimeZone string `json:"timeZone,omitempty"`
	// Template is the spec of each run.
	// +required
	Template SparkApplicationSpec `json:"template"`
	// Suspend starts no runs while it is true. Running runs continue.
	// +optional
	Suspend *bool `json:"suspend,omitempty"`
	// ConcurrencyPolicy controls a run that is due while an earlier one is unfinished: Allow (the default), Forbid or Replace.
	// +optional
	ConcurrencyPolicy ConcurrencyPolicy `json:"concurrencyPolicy,omitempty"`
	// SuccessfulRunHistoryLimit is the number of completed runs to keep; 1 by default.
	// +optional
	SuccessfulRunHistoryLimit *int32 `json:"successfulRunHistoryLimit,omitempty"`
	// FailedRunHistoryLimit is the number of failed runs to keep; 1 by default.
	// +optional
	FailedRunHistoryLimit *int32 `json:"failedRunHistoryLimit,omitempty"`

	// StartingDeadlineSeconds is the longest delay of a run's start; a later run is skipped. Without it a run is never too late.
	// +kubebuilder:validation:Minimum=0
	// +optional
	StartingDeadlineSeconds *int64 `json:"startingDeadlineSeconds,omitempty"`
	// MissedRunPolicy controls runs that were due while none could start: RunLatest (the default), RunAll or Skip.
	// +optional
	MissedRunPolicy MissedRunPolicy `json:"missedRunPolicy,omitempty"`
	// JitterSeconds delays each run by at most this long; the delay of a schedule is constant. Names and data intervals do not
	// change.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=86400
	// +optional
	JitterSeconds *int64 `json:"jitterSeconds,omitempty"`
	// Backfill starts one run for each scheduled time of a past range.
	// +optional
	Backfill *ScheduleBackfill `json:"backfill,omitempty"`
}

// ScheduleBackfill is a range of at most 1000 scheduled times. A changed range is a new backfill.
type ScheduleBackfill struct {
	// From is the start of the range; a run due at that time is included.
	// +required
	From metav1.Time `json:"from"`
	// To is the end of the range; a run due at that time is excluded.
	// +required
	To metav1.Time `json:"to"`
	// MaxActive limits the runs of the backfill at the same time; 1 by default.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	// +optional
	MaxActive *int32 `json:"maxActive,omitempty"`
}

// ScheduledSparkApplicationStatus is the observed state of a schedule.
type ScheduledSparkApplicationStatus struct {
	// LastRun is the start time of the last run.
	// +optional
	// +nullable
	LastRun metav1.Time `json:"lastRun,omitzero"`
	// NextRun is the start time of the next run; absent while the schedule is suspended.
	// +optional
	// +nullable
	NextRun metav1.Time `json:"nextRun,omitzero"`
	// LastRunName is the name of the last run.
	// +optional
	LastRunName string `json:"lastRunName,omitempty"`
	// PastSuccessfulRunNames are the kept completed runs, the newest first.
	// +optional
	PastSuccessfulRunNames []string `json:"pastSuccessfulRunNames,omitempty"`
	// PastFailedRunNames are the kept failed runs, the newest first.
	// +optional
	PastFailedRunNames []string `json:"pastFailedRunNames,omitempty"`
	// ScheduleState is Scheduled or FailedValidation.
	// +optional
	ScheduleState ScheduleState `json:"scheduleState,omitempty"`
	// Reason describes the error in the state FailedValidation.
	// +optional
	Reason string `json:"reason,omitempty"`

	// ObservedGeneration is the generation of the spec that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Submitter is the user who created the schedule, as recorded by admission. Its runs have the same submitter.
	// +optional
	Submitter *SubmitterStatus `json:"submitter,omitempty"`
	// Active are the unfinished runs.
	// +optional
	Active []string `json:"active,omitempty"`
	// LastScheduledTime is the last scheduled time that was handled: its run was started or skipped.
	// +optional
	LastScheduledTime *metav1.Time `json:"lastScheduledTime,omitempty"`
	// ReplacingFor is the scheduled time for which concurrencyPolicy Replace is stopping runs. Its run starts after that,
	// however late.
	// +optional
	ReplacingFor *metav1.Time `json:"replacingFor,omitempty"`
	// ScheduledSince is when the present schedule and time zone took effect. The field scheduled has both.
	// +optional
	ScheduledSince *metav1.Time `json:"scheduledSince,omitempty"`
	// Scheduled is the schedule and time zone of scheduledSince.
	// +optional
	Scheduled string `json:"scheduled,omitempty"`
	// SkippedRuns counts runs that were due and not started.
	// +optional
	SkippedRuns int64 `json:"skippedRuns,omitempty"`
	// LastSkipped is the last scheduled time whose run was skipped; lastSkippedReason has the reason.
	// +optional
	LastSkipped *metav1.Time `json:"lastSkipped,omitempty"`
	// LastSkippedReason is the reason for the skipped run of lastSkipped.
	// +optional
	LastSkippedReason string `json:"lastSkippedReason,omitempty"`
	// LastTrigger is the value of the annotation trigger-at of the last triggered run.
	// +optional
	LastTrigger *metav1.Time `json:"lastTrigger,omitempty"`
	// Backfill is the progress of the backfill.
	// +optional
	Backfill *ScheduleBackfillStatus `json:"backfill,omitempty"`
	// Conditions explain the state.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// ScheduleBackfillStatus is the progress of a backfill.
type ScheduleBackfillStatus struct {
	// From is the start of the range.
	// +required
	From metav1.Time `json:"from"`
	// To is the end of the range.
	// +required
	To metav1.Time `json:"to"`
	// Next is the next time whose run must start; absent when all have started.
	// +optional
	Next *metav1.Time `json:"next,omitempty"`
	// Started counts the started runs.
	// +optional
	Started int32 `json:"started,omitempty"`
	// Failed are its failed runs, including deleted ones; at most 100.
	// +optional
	Failed []string `json:"failed,omitempty"`
}

func init() {
	SchemeBuilder.Register(func(scheme *runtime.Scheme) error {
		scheme.AddKnownTypes(SchemeGroupVersion, &ScheduledSparkApplication{}, &ScheduledSparkApplicationList{})
		return nil
	})
}
