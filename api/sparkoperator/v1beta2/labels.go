// SPDX-License-Identifier: Apache-2.0

package v1beta2

// Labels that the operator sets.
const (
	// LabelAppName holds the name of the SparkApplication.
	LabelAppName = "sparkoperator.k8s.io/app-name"
	// LabelLaunchedBy is "true" on every pod of every application.
	LabelLaunchedBy = "sparkoperator.k8s.io/launched-by-spark-operator"
	// LabelCreatedBy is "true" on ConfigMaps that are the operator's own, not Spark's.
	LabelCreatedBy = "sparkoperator.k8s.io/created-by-spark-operator"
	// LabelSubmissionID holds status.submissionID.
	LabelSubmissionID = "sparkoperator.k8s.io/submission-id"
)
