// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
)

// Cause is why an application is in its state, from its status alone: what it waits for, or how it failed. It is empty
// if there is nothing to say.
func Cause(rec lifecycle.Record, conditions []metav1.Condition) lifecycle.Cause {
	aspect := map[lifecycle.State]lifecycle.ConditionType{
		lifecycle.Submitted: lifecycle.ConditionDriverReady, lifecycle.Running: lifecycle.ConditionExecutorsReady,
	}
	kind, ok := aspect[rec.State]
	if !ok {
		return rec.Cause
	}
	c := meta.FindStatusCondition(conditions, string(kind))
	if c == nil || c.Status == metav1.ConditionTrue {
		return lifecycle.Cause{}
	}
	return lifecycle.Cause{Reason: lifecycle.Reason(c.Reason), Message: c.Message}
}
