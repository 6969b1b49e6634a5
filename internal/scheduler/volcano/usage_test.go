// SPDX-License-Identifier: Apache-2.0

package volcano

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/test/schedulers/schedulertest"
)

// queueWith is a Queue with a specification and what is allocated of it.
func queueWith(tb testing.TB, name, spec, allocated string) *unstructured.Unstructured {
	tb.Helper()
	return schedulertest.Object(tb, fmt.Sprintf("apiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\nmetadata: {name: %s}\nspec: {%s}\nstatus: {allocated: {%s}}", name, spec, allocated))
}

func TestQueueUsage(t *testing.T) {
	all := func(queues ...*unstructured.Unstructured) []*unstructured.Unstructured { return queues }
	// Volcano writes what the root deserves and guarantees itself.
	root := queueWith(t, "root", "deserved: {cpu: 0, memory: 0}, guarantee: {resource: {cpu: 0, memory: 0}}", "cpu: 9")
	cases := map[string]struct {
		reason string
		change func(*scheduler.Attempt)
		queues []*unstructured.Unstructured
		want   []string
		err    string
	}{
		"Capability": {
			reason: "what it limits, and what is asked for", queues: all(root, queueWith(t, "team-a", "capability: {cpu: 8, pods: 10}", "cpu: 4, memory: 2Gi, pods: 3, ephemeral-storage: 1")),
			want: []string{"team-a cpu: used 4, guaranteed 0, borrowed 0, limit 8", "team-a memory: used 2Gi, guaranteed 0, borrowed 0, limit -", "team-a pods: used 3, guaranteed 0, borrowed 0, limit 10"},
		},
		"Unlimited": {
			reason: "it has no numbers of its own, and none is allocated", queues: all(queueWith(t, "team-a", "weight: 1", "")),
			want: []string{"team-a cpu: used 0, guaranteed 0, borrowed 0, limit -", "team-a memory: used 0, guaranteed 0, borrowed 0, limit -"},
		},
		"Guarantee": {
			reason: "what it has beyond the guarantee can be taken back", queues: all(queueWith(t, "team-a", "guarantee: {resource: {cpu: 3, nvidia.com/gpu: 1}}", "cpu: 5500m")),
			want: []string{"team-a cpu: used 5500m, guaranteed 3, borrowed 2500m, limit -", "team-a memory: used 0, guaranteed 0, borrowed 0, limit -", "team-a nvidia.com/gpu: used 0, guaranteed 1, borrowed 0, limit -"},
		},
		"Deserved": {
			reason: "it borrows beyond what it deserves, each resource for itself", queues: all(queueWith(t, "team-a", "deserved: {cpu: 4, example.com/fpga: 2}, guarantee: {resource: {cpu: 2, memory: 1Gi}}, capability: {memory: 20Gi}", "cpu: 5, memory: 3Gi, example.com/fpga: 1")),
			want: []string{"team-a cpu: used 5, guaranteed 2, borrowed 1, limit -", "team-a example.com/fpga: used 1, guaranteed 0, borrowed 0, limit -", "team-a memory: used 3Gi, guaranteed 1Gi, borrowed 2Gi, limit 20Gi"},
		},
		"Parents": {
			reason: "any of those above may be full, and the root if it has a limit",
			queues: all(queueWith(t, "root", "deserved: {cpu: 0, memory: 0}, capability: {cpu: 90}", "cpu: 80"), queueWith(t, "dept", "parent: root, capability: {cpu: 20}", "cpu: 20, memory: 1Gi"), queueWith(t, "team-a", "parent: dept", "cpu: 1"), queueWith(t, "team-b", "parent: dept", "cpu: 19")),
			want: []string{
				"team-a cpu: used 1, guaranteed 0, borrowed 0, limit -", "team-a memory: used 0, guaranteed 0, borrowed 0, limit -",
				"dept cpu: used 20, guaranteed 0, borrowed 0, limit 20", "dept memory: used 1Gi, guaranteed 0, borrowed 0, limit -",
				"root cpu: used 80, guaranteed 0, borrowed 0, limit 90",
			},
		},
		"Override": {
			reason: "the user's own numbers and the pods' are asked for", change: func(a *scheduler.Attempt) {
				a.Resources = schedulertest.PodResources("9", "1Gi").Requests
				delete(a.Resources, "memory")
			},
			queues: all(queueWith(t, "team-a", "", "cpu: 2")), want: []string{"team-a cpu: used 2, guaranteed 0, borrowed 0, limit -", "team-a memory: used 0, guaranteed 0, borrowed 0, limit -"},
		},
		"Missing": {reason: "a queue that does not exist has no numbers", queues: all(root, queueWith(t, "default", "", ""))},
		"Loop": {
			reason: "queues that are above each other end the walk", queues: all(queueWith(t, "team-a", "parent: b", "cpu: 1"), queueWith(t, "b", "parent: team-a", "cpu: 2")),
			want: []string{
				"team-a cpu: used 1, guaranteed 0, borrowed 0, limit -", "team-a memory: used 0, guaranteed 0, borrowed 0, limit -",
				"b cpu: used 2, guaranteed 0, borrowed 0, limit -", "b memory: used 0, guaranteed 0, borrowed 0, limit -",
			},
		},
		"UsersGroup": {
			reason: "pods in a group of the user's own wait where that is", queues: all(queueWith(t, "team-a", "capability: {cpu: 8}", "cpu: 4")),
			change: func(a *scheduler.Attempt) {
				scheduler.SetIn(&a.PodSets.DriverAttributes.Annotations, groupAnnotation.Key, "mine")
			},
		},
		"Broken": {reason: "what cannot be read is an error", queues: all(queueWith(t, "team-a", "capability: {cpu: much}", "")), err: "decode Queue team-a"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a := attempt()
			if tc.change != nil {
				tc.change(&a)
			}
			reads, err := scheduler.QueueReads(New(""), a)
			if err != nil || (name == "UsersGroup") != (len(reads) == 0) {
				t.Errorf("%s: it reads %v, %v", tc.reason, reads, err)
			}
			usage, err := scheduler.QueueUsage(New(""), a, scheduler.Snapshot{allQueues: scheduler.NewList(tc.queues...)})
			if (tc.err == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Fatalf("%s: %v", tc.reason, err)
			}
			if diff := cmp.Diff(tc.want, usageLines(usage)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func usageLines(usage []scheduler.Usage) []string {
	var out []string
	for _, u := range usage {
		limit := scheduler.Amount(u.Limit)
		if u.Unlimited {
			limit = "-"
		}
		out = append(out, fmt.Sprintf("%s%s %s: used %s, guaranteed %s, borrowed %s, limit %s",
			u.Namespace, strings.TrimPrefix(u.Quota, "Queue "), u.Resource, scheduler.Amount(u.Used), scheduler.Amount(u.Guaranteed), scheduler.Amount(u.Borrowed), limit))
	}
	return out
}
