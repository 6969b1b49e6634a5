// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/firesteel-dev/firesteel/internal/spark"
)

// What the chosen scheduler does not read is said (case 016); a policy's default is not the user's to remove.
func TestIgnored(t *testing.T) {
	all := spark.Scheduling{Queue: "nightly", Resources: corev1.ResourceList{"cpu": resource.MustParse("8")}}
	for name, tc := range map[string]struct {
		reason   string
		supports Support
		asked    spark.Scheduling
		want     []string
	}{
		"Plain":   {"neither is read", Support{}, all, []string{`batchScheduler.queue: has no effect: the scheduler "s" has no queues`, `batchScheduler.resources: has no effect: the scheduler "s" takes what the pods ask for`}},
		"Queues":  {"the size is the pods'", Support{Queues: true}, all, []string{`batchScheduler.resources: has no effect: the scheduler "s" takes what the pods ask for`}},
		"Both":    {"all is read", Support{Queues: true, Resources: true}, all, nil},
		"Policy":  {"the admin's", Support{}, spark.Scheduling{Queue: "nightly", QueueFrom: "batch"}, nil},
		"Nothing": {"nothing is written", Support{}, spark.Scheduling{}, nil},
	} {
		var got []string
		for _, e := range ignored(Descriptor{Name: "s", Supports: tc.supports}, tc.asked, nil) {
			got = append(got, e.Field+": "+e.Detail)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", name, tc.reason, diff)
		}
	}
}
