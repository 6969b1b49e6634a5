// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"fmt"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Warnings joins what is not empty.
func Warnings(texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(text string) bool { return text == "" }), "; ")
}

// Grows is whether dynamic allocation may go beyond the initial executors, up to a number that somebody has set.
func (a Attempt) Grows() bool { return a.Shapes.Max > a.Shapes.Initial && a.Shapes.Max < math.MaxInt32 }

// CannotGrow warns of executors that will wait for ever: most is what the attempt asks for with all that dynamic allocation
// may add, and owner whose limit it is.
func CannotGrow(a Attempt, owner string, most, limit corev1.ResourceList) string {
	never := Shortages(most, nil, limit)
	if len(never) == 0 {
		return ""
	}
	return fmt.Sprintf("dynamic allocation cannot grow to %d executors: more than %s can ever give: %s", a.Shapes.Max, owner, Exceeding(never))
}

// FewPending warns of a gang whose executors are not all asked for at once.
// Property: spark.kubernetes.allocation.maxPendingPods.
func FewPending(a Attempt) string {
	if a.Shapes.MaxPending == 0 || a.Shapes.MaxPending >= a.Shapes.Initial {
		return ""
	}
	return fmt.Sprintf("spark.kubernetes.allocation.maxPendingPods is %d: only so many of the %d executors that room is held for are created at a time",
		a.Shapes.MaxPending, a.Shapes.Initial)
}
