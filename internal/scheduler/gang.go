// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/firesteel-dev/firesteel/internal/spark"
)

// fieldExecutorGang is the parameter of all plugins that requests a gang of executors.
const fieldExecutorGang = FieldParameters + ".executorGang"

// GangSize returns how many executors can start together. Dynamic allocation deletes initial executors that it does not need, even while they wait. So a gang
// larger than the minimum of executors may never be complete.
func GangSize(a Attempt) int32 { return max(0, min(a.PodSets.Min, a.PodSets.Initial)) }

// ValidateGang refuses a gang that would wait forever because Spark never creates so many executors at once.
func ValidateGang(a Attempt, members int32) field.ErrorList {
	if a.PodSets.MaxPending <= 0 || a.PodSets.MaxPending >= members {
		return nil
	}
	return field.ErrorList{Invalid(a.Field(fieldExecutorGang), fmt.Sprintf(
		"%d %s must exist before the first of them starts, but spark.kubernetes.allocation.maxPendingPods allows %d; "+
			"raise it or turn the gang off", members, a.Word(spark.WordExecutors), a.PodSets.MaxPending))}
}

// NoGang returns the warning for an application that requests a gang without effect; "" otherwise.
func NoGang(a Attempt) string {
	if GangSize(a) > 0 || a.PodSets.Initial == 0 {
		return ""
	}
	return "executorGang has no effect: with dynamic allocation the gang is its minimum; set " + spark.ConfMinExecutors
}
