// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What belongs to the application that had the name before goes with it (case 018).
func TestPredecessor(t *testing.T) {
	mine := Owner{Reference: metav1.OwnerReference{APIVersion: "sparkoperator.k8s.io/v1beta2", Kind: "SparkApplication", Name: "pi", UID: "new"}}
	other := func(change func(*metav1.OwnerReference)) []metav1.OwnerReference {
		r := mine.Reference
		r.UID = "old"
		change(&r)
		return []metav1.OwnerReference{r}
	}
	for name, tc := range map[string]struct {
		reason string
		refs   []metav1.OwnerReference
		want   bool
	}{
		"Predecessor":  {"the same name and kind, another UID", other(func(*metav1.OwnerReference) {}), true},
		"OtherVersion": {"a kind has several versions", other(func(r *metav1.OwnerReference) { r.APIVersion = "sparkoperator.k8s.io/v1" }), true},
		"Mine":         {"it is there", other(func(r *metav1.OwnerReference) { r.UID = "new" }), false},
		"OtherName":    {"that application may be there", other(func(r *metav1.OwnerReference) { r.Name = "e" }), false},
		"OtherKind":    {"so may a server of the name", other(func(r *metav1.OwnerReference) { r.Kind = "SparkConnect" }), false},
		"OtherGroup":   {"and one of the other family", other(func(r *metav1.OwnerReference) { r.APIVersion = "spark.apache.org/v1" }), false},
		"Nobody":       {"the user has kept it (--cascade=orphan)", nil, false},
	} {
		if got := mine.Predecessor(&metav1.ObjectMeta{OwnerReferences: tc.refs}); got != tc.want {
			t.Errorf("%s: %s: %t, want %t", name, tc.reason, got, tc.want)
		}
	}
}

// The sentence says whose pod is waited for.
func TestWhoseDriverIsWaitedFor(t *testing.T) {
	for want, is := range map[string]bool{
		"pod pi-driver of a deleted application of this name is ending; the driver starts when it is gone": true,
		"pod pi-driver is ending; the driver starts when it is gone":                                       false,
	} {
		d := predecessor(func(d *Driver) { d.Predecessor, d.Deleting, d.GoneAt = is, true, later.Add(time.Minute) })
		if got := Decide(testApp(), queuedSince(0), Observation{Driver: d}, admit, Env{Now: later}).Record.Cause.Message; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
