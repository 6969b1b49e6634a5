// SPDX-License-Identifier: Apache-2.0

package quota

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/test/schedulers/schedulertest"
)

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
