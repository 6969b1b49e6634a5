// SPDX-License-Identifier: Apache-2.0

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
