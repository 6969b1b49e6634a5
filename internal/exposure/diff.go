// SPDX-License-Identifier: Apache-2.0

package exposure

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
)

// Seen is what was found of an application's objects beside its driver, by reference; nil for one that does not exist.
type Seen map[Ref]metav1.Object

// About names the objects that it is worth to look at: those that are wanted or stay as they are, and those that are recorded. What an
// operator before us recorded are names only.
func About(w Wanted, recorded lifecycle.Exposure) []Ref {
	var refs []Ref
	add := func(r Ref) {
		if !slices.Contains(refs, r) {
			refs = append(refs, r)
		}
	}
	for _, object := range w.Objects {
		add(object.Ref)
	}
	for _, p := range w.Problems {
		if p.Object.Name != "" {
			add(p.Object)
		}
	}
	for _, text := range recorded.Objects {
		if ref, err := ParseRef(text); err == nil { // what cannot be read was not written by us
			add(ref)
		}
	}
	if recorded.Service != "" {
		add(Ref{Service, recorded.Service})
	}
	if recorded.Ingress != "" {
		add(Ref{IngressKind, recorded.Ingress})
	}
	return refs
}

// Diff compares what is wanted with what was seen: what is to be written, and what is to be deleted. What has a problem is
// neither. Whether an object is
// ours is for the writer to look at.
func Diff(w Wanted, seen Seen) (write []Object, remove []Ref) {
	keep := map[Ref]bool{}
	for _, object := range w.Objects {
		keep[object.Ref] = true
		if found := seen[object.Ref]; found == nil || !w.same(found, object) {
			write = append(write, object)
		}
	}
	for ref, found := range seen {
		if found != nil && !keep[ref] && !w.keeps(ref) {
			remove = append(remove, ref)
		}
	}
	slices.SortFunc(remove, func(a, b Ref) int { return strings.Compare(a.String(), b.String()) })
	return write, remove
}

// same reports whether an object was applied as it is wanted, and is there to stay.
func (w Wanted) same(found metav1.Object, want Object) bool {
	return w.labels.SameApplied(found, want) && found.GetDeletionTimestamp().IsZero()
}
