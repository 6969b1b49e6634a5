// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/firesteel-dev/firesteel/internal/spark"
)

// fieldExecutorGang is the parameter by which an application asks for a gang of its executors, whatever the plugin.
const fieldExecutorGang = FieldParameters + ".executorGang"

// GangSize is how many executors can start together. Dynamic allocation deletes initial executors that it does not need, also while they
// wait: a gang of more than its minimum may never be complete.
func GangSize(a Attempt) int32 { return max(0, min(a.PodSets.Min, a.PodSets.Initial)) }

// ValidateGang refuses a gang of so many executors if Spark never has them all created: it would wait for ever.
func ValidateGang(a Attempt, members int32) field.ErrorList {
	if a.PodSets.MaxPending <= 0 || a.PodSets.MaxPending >= members {
		return nil
	}
	return field.ErrorList{Invalid(a.Field(fieldExecutorGang), fmt.Sprintf(
		"%d executors must exist before the first of them starts, but spark.kubernetes.allocation.maxPendingPods allows %d; "+
			"raise it or turn the gang off", members, a.PodSets.MaxPending))}
}

// NoGang is the warning for an application that asks for a gang and has none; "" if it has one, or no executors.
func NoGang(a Attempt) string {
	if GangSize(a) > 0 || a.PodSets.Initial == 0 {
		return ""
	}
	return "executorGang has no effect: with dynamic allocation the gang is its minimum; set " + spark.ConfMinExecutors
}
