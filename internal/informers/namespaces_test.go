// SPDX-License-Identifier: Apache-2.0

package informers

import (
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/firesteel-dev/firesteel/internal/namespaced"
)

// What is in a namespace that gets its label later was created without what admission does for the namespaces of the selector.
func TestNamespacesThatJoin(t *testing.T) {
	n := &Namespaces{
		log: logr.Discard(), cache: &namespaced.Cache{}, selector: labels.SelectorFromSet(labels.Set{"spark": "yes"}), labels: map[string]labels.Set{},
	}
	changed := func(name, value string, exists bool) {
		o := namespaceKind()
		o.Name, o.Labels = name, map[string]string{"spark": value}
		n.labelsChanged(o, exists)
	}
	began := time.Now()
	changed("first", "yes", true)
	changed("later", "no", true)
	if !n.Joined("first").IsZero() || !n.Joined("later").IsZero() {
		t.Error("one that always matched, or does not match, has joined")
	}
	changed("later", "yes", true)
	joined := n.Joined("later")
	if joined.Before(began.Add(coverage)) {
		t.Errorf("it joined at %s, which began at %s", joined, began)
	}
	if changed("later", "yes", true); !n.Joined("later").Equal(joined) {
		t.Error("another change of its labels is no other join")
	}
	if changed("later", "yes", false); !n.Joined("later").IsZero() {
		t.Error("another namespace of the name begins as it is created")
	}
}

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
