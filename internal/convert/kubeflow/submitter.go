// SPDX-License-Identifier: Apache-2.0

package kubeflow

import (
	"slices"
	"strings"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
)

// submitterKeys are the annotations of all kinds of this group.
var submitterKeys = lifecycle.SubmitterKeys{User: v1beta2.AnnotationSubmitter, Groups: v1beta2.AnnotationSubmitterGroups}

// projectSubmitter is nil for one that is not known.
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

// ScheduleSubmitter returns who created a schedule, as it was known when the schedule was first reconciled.
func ScheduleSubmitter(o *v1beta2.ScheduledSparkApplication, source lifecycle.SubmitterSource) *v1beta2.SubmitterStatus {
	if o.Status.ObservedGeneration != 0 || o.Status.ScheduleState != v1beta2.ScheduleStateNew {
		return o.Status.Submitter
	}
	return projectSubmitter(lifecycle.SubmitterOf(o.Annotations, submitterKeys, source))
}

// Inherit gives a run the submitter of its schedule. Admission leaves alone what the operator creates.
func Inherit(run *v1beta2.SparkApplication, submitter *v1beta2.SubmitterStatus) {
	if submitter == nil {
		return
	}
	run.Annotations[v1beta2.AnnotationSubmitter] = submitter.User
	if len(submitter.Groups) > 0 {
		run.Annotations[v1beta2.AnnotationSubmitterGroups] = strings.Join(submitter.Groups, "\n")
	}
}
