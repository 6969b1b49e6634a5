// SPDX-License-Identifier: Apache-2.0

package quota

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/spark"
	"github.com/firesteel-dev/firesteel/test/schedulers/schedulertest"
)

// What namespaces use is compared with what they are guaranteed: with what those take that were admitted, and without those of which nothing is known.
func TestShares(t *testing.T) {
	eq := func(namespace, spec, used string) *unstructured.Unstructured {
		return elasticQuota(t, namespace, "share", spec, used)
	}
	seen := scheduler.Snapshot{allElasticQuotas: scheduler.NewList(
		eq("team-a", "{min: {cpu: 4, nvidia.com/gpu: 0}}", "{cpu: 6}"), eq("team-b", "{min: {cpu: 8}}", "{cpu: 1}"), eq("team-c", "{min: {memory: 1Gi}}", "{cpu: 1}"))}
	a := named(1)
	a.Scheduler = "batch"
	taken := spark.PodSets{Driver: spark.PodResources{Requests: corev1.ResourceList{"cpu": resource.MustParse("3")}}}
	a.Quota.Others = []scheduler.Reservation{{ID: "other", Namespace: "team-b", PodSets: taken}}
	const sum = "the min of all ElasticQuotas together"
	want := scheduler.Shares{{Quota: sum, Resource: "cpu"}: {"team-a": 1.5, "team-b": 0.5}, {Quota: sum, Resource: "memory"}: {"team-c": 0}}
	if diff := cmp.Diff(want, scheduler.SharesOf(scheduler.Chain(New("Enforce", []string{"batch"}), placement{}), a, seen)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if shares := scheduler.SharesOf(New("Warn", []string{"batch"}), a, seen); len(shares) > 0 {
		t.Errorf("none waits in a line: %v", shares)
	}
}

// An attempt that waits says of each of its lines what the quota has given away, guarantees, and has lent.
func TestUsage(t *testing.T) {
	const sum = "the min of all ElasticQuotas together"
	eq := func(namespace, spec, used string) *unstructured.Unstructured {
		return elasticQuota(t, namespace, "share", spec, used)
	}
	cases := map[string]struct {
		reason string
		quotas []*unstructured.Unstructured
		want   map[scheduler.Line][4]string // used, limit, guaranteed, borrowed
	}{
		"ResourceQuota": {
			reason: "all of it is the namespace's own", quotas: []*unstructured.Unstructured{resourceQuota(t, "compute", "{requests.cpu: 10}", "{requests.cpu: 9}", "")},
			want: map[scheduler.Line][4]string{{Namespace: "team-a", Quota: "ResourceQuota compute", Resource: "requests.cpu"}: {"9", "10", "10", "0"}},
		},
		"Max": {
			reason: "what is used beyond the min is borrowed",
			quotas: []*unstructured.Unstructured{eq("team-a", "{min: {cpu: 4, memory: 1Ti}, max: {cpu: 10, memory: 1Ti}}", "{cpu: 9}"), eq("team-b", "{min: {cpu: 100, memory: 1Ti}}", "{cpu: 0}")},
			want:   map[scheduler.Line][4]string{{Namespace: "team-a", Quota: "ElasticQuota share", Resource: "cpu"}: {"9", "10", "4", "5"}},
		},
		"Sum": {
			reason: "what one namespace leaves does not make up for what another one has borrowed",
			quotas: []*unstructured.Unstructured{eq("team-a", "{min: {cpu: 4, memory: 1Ti}}", "{cpu: 6}"), eq("team-b", "{min: {cpu: 6, memory: 1Ti}}", "{cpu: 1}"), eq("team-c", "{min: {memory: 1Ti}}", "{cpu: 1}")},
			want:   map[scheduler.Line][4]string{{Quota: sum, Resource: "cpu"}: {"8", "10", "10", "3"}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := schedulertest.NewCluster(t, scheduler.Chain(New("Enforce", []string{"batch"}), placement{}), tc.quotas...)
			got := map[scheduler.Line][4]string{}
			for _, u := range c.Admit(named(1)).Usage {
				got[u.Line] = [4]string{u.Used.String(), u.Limit.String(), u.Guaranteed.String(), u.Borrowed.String()}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
