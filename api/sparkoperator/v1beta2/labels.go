// SPDX-License-Identifier: Apache-2.0

package v1beta2

// Labels of the objects that run for an application. Changing them loses sight of what runs.
const (
	// LabelAppName holds the application's name.
	LabelAppName = "sparkoperator.k8s.io/app-name"
	// LabelLaunchedBy is "true" on every pod of every application.
	LabelLaunchedBy = "sparkoperator.k8s.io/launched-by-spark-operator"
	// LabelCreatedBy is "true" on everything else that is created for an application, but for what Spark creates.
	LabelCreatedBy = "sparkoperator.k8s.io/created-by-spark-operator"
	// LabelSubmissionID holds status.submissionID.
	LabelSubmissionID = "sparkoperator.k8s.io/submission-id"
	// LabelSpecHash tells on a driver pod which specification it was made from.
	LabelSpecHash = "sparkoperator.k8s.io/spec-hash"
	// LabelExposes tells what an auxiliary object of a running driver is for.
	LabelExposes = "sparkoperator.k8s.io/exposes"
)

// AnnotationApplied holds a hash of what was applied last to an object.
const AnnotationApplied = "sparkoperator.k8s.io/applied"
