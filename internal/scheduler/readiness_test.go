// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestUnready(t *testing.T) {
	group := schema.GroupKind{Group: "batch.io", Kind: "Group"}
	quota := schema.GroupKind{Group: "quota.io", Kind: "Quota"}
	d := Descriptor{
		Name:  "batch",
		Needs: []API{{GroupKind: group, Versions: []string{"v1", "v1beta1"}, Hint: "install Batch"}, {GroupKind: quota, Versions: []string{"v1"}, Optional: true}},
		Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{"batch.io"}, Resources: []string{"groups"}, Verbs: []string{"get", "patch"}},
			{APIGroups: []string{"quota.io"}, Resources: []string{"quotas", "others"}, Verbs: []string{"list"}},
			{APIGroups: []string{""}, Resources: []string{"events"}, Verbs: []string{"list"}},
			{APIGroups: []string{"scheduling.k8s.io"}, Resources: []string{"priorityclasses"}, Verbs: []string{"get"}}, // can be spared
		},
	}
	all := []Access{{"batch.io", "groups", "get"}, {"batch.io", "groups", "patch"}, {"quota.io", "quotas", "list"}, {"quota.io", "others", "list"}, {"", "events", "list"}}
	if diff := cmp.Diff(all, d.Accesses()); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
	both := map[schema.GroupVersionKind]bool{group.WithVersion("v1"): true, quota.WithVersion("v1"): true}
	cases := map[string]struct {
		reason  string
		served  map[schema.GroupVersionKind]bool
		denied  Access
		code    Reason
		message string
	}{
		"Ready":    {reason: "all is there", served: both},
		"Older":    {reason: "one version suffices", served: map[schema.GroupVersionKind]bool{group.WithVersion("v1beta1"): true}},
		"Missing":  {reason: "the missing API, and how to get it", code: ReasonSchedulerNotInstalled, message: "batch is not installed: the API server has no Group of batch.io v1 or v1beta1; install Batch"},
		"Newer":    {reason: "a version that the plugin does not understand", served: map[schema.GroupVersionKind]bool{group.WithVersion("v2"): true}, code: ReasonSchedulerNotInstalled, message: "batch is not installed: the API server has no Group of batch.io v1 or v1beta1; install Batch"},
		"Optional": {reason: "a right to what does not exist is not needed", served: map[schema.GroupVersionKind]bool{group.WithVersion("v1"): true}, denied: all[2]},
		"Beside":   {reason: "its neighbours exist", served: map[schema.GroupVersionKind]bool{group.WithVersion("v1"): true}, denied: all[3], code: ReasonSchedulerForbidden, message: "the operator may not list others.quota.io; grant it that permission to use batch"},
		"Denied":   {reason: "the missing right", served: both, denied: all[1], code: ReasonSchedulerForbidden, message: "the operator may not patch groups.batch.io; grant it that permission to use batch"},
		"Core":     {reason: "the core group has no name", served: both, denied: all[4], code: ReasonSchedulerForbidden, message: "the operator may not list events; grant it that permission to use batch"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, unready := d.Unready(
				func(k schema.GroupVersionKind) bool { return tc.served[k] }, func(a Access) bool { return a != tc.denied })
			if unready != (tc.code != "") || got.Reason != tc.code || got.Message != tc.message {
				t.Errorf("%s: %+v; want %s and %q", tc.reason, got, tc.code, tc.message)
			}
			if unready && (got.Verdict != Unavailable || got.RetryAfter <= 0) {
				t.Errorf("%s: %+v: a scheduler may be installed later", tc.reason, got)
			}
		})
	}
}
