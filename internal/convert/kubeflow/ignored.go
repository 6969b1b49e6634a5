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

package kubeflow

// Ignored are the fields of the spec, by path, that change nothing of a submission, each with its reason. A path stands
// for everything below it. The field reference is made from it, and a test holds it to the truth.
func Ignored() map[string]string {
	return map[string]string{
		"type":                 "Spark goes by the suffix of mainApplicationFile; a type that contradicts it earns a warning",
		"failureRetries":       "without effect in the Kubeflow operator, too; restartPolicy.onFailureRetries is its successor",
		"retryInterval":        "without effect in the Kubeflow operator, too; restartPolicy.onFailureRetryInterval is its successor",
		"executor.memoryLimit": "the driver limits each executor to the memory that Spark computes, whatever the template says; raise memoryOverhead instead",
	}
}
