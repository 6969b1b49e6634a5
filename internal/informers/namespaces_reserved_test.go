// SPDX-License-Identifier: Apache-2.0

package informers

import (
	"testing"

	"k8s.io/apimachinery/pkg/labels"
)

// Nobody has pods made in a namespace of the system by creating an application there, unless an administrator has named it.
func TestReservedNamespaces(t *testing.T) {
	everywhere := labels.Set{"spark": "yes"}
	selected := &Namespaces{own: "ops", selector: labels.SelectorFromSet(everywhere), labels: map[string]labels.Set{}}
	for _, name := range []string{"kube-system", "kube-public", "kube-node-lease", "ops", "jobs"} {
		selected.labels[name] = everywhere
	}
	listed := &Namespaces{own: "ops", selector: selected.selector, labels: selected.labels, listed: []string{"kube-system", "ops"}}
	cases := map[string]struct {
		reason     string
		namespaces *Namespaces
		works, not []string
	}{
		"All":      {"all but these", &Namespaces{own: "ops", all: true}, []string{"jobs", "default", "kube-systems"}, []string{"kube-system", "kube-public", "kube-node-lease", "ops"}},
		"Unknown":  {"it does not know where it runs", &Namespaces{all: true}, []string{"ops", ""}, []string{"kube-system"}},
		"Selector": {"a label on it is not enough", selected, []string{"jobs"}, []string{"kube-system", "kube-public", "kube-node-lease", "ops", "default"}},
		"Listed":   {"by its name", listed, []string{"jobs", "kube-system", "ops"}, []string{"kube-public"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for _, namespace := range tc.works {
				if !tc.namespaces.choosesLocked(namespace) {
					t.Errorf("%s: it does not work in %q", tc.reason, namespace)
				}
			}
			for _, namespace := range tc.not {
				if tc.namespaces.choosesLocked(namespace) {
					t.Errorf("%s: it works in %q", tc.reason, namespace)
				}
			}
		})
	}
}
