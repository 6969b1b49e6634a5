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
