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
