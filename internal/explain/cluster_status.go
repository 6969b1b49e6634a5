// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"fmt"
	"regexp"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/standalone"
)

// ClusterCause is why a standalone cluster is not as it is wanted, from its status alone; empty if it is, or if the status does not say.
func ClusterCause(conditions []metav1.Condition) lifecycle.Cause {
	for _, aspect := range []string{standalone.ConditionApplied, standalone.ConditionReady} {
		if c := meta.FindStatusCondition(conditions, aspect); c != nil && c.Status != metav1.ConditionTrue {
			return lifecycle.Cause{Reason: lifecycle.Reason(c.Reason), Message: c.Message}
		}
	}
	return lifecycle.Cause{}
}

// readyPods matches the beginning of the message with which standalone.Settle counts pods.
var readyPods = regexp.MustCompile(`^master: (\d+) of (\d+) ready, workers: (\d+) of (\d+) ready`)

// ClusterReady is how many pods of master and workers are ready of those that are wanted, such as "1/1" and "2/3"; empty if there are none. The
// operator writes the numbers whenever they change.
func ClusterReady(conditions []metav1.Condition) (master, workers string) {
	c := meta.FindStatusCondition(conditions, standalone.ConditionReady)
	if c == nil {
		return "", ""
	}
	n := readyPods.FindStringSubmatch(c.Message)
	if n == nil {
		return "", ""
	}
	return fmt.Sprintf("%s/%s", n[1], n[2]), fmt.Sprintf("%s/%s", n[3], n[4])
}
