// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/firesteel-dev/firesteel/api/lenient"
)

// Read names one object that a plugin needs, or a list of objects if Name is "". Namespace is "" for cluster-scoped kinds, and
// for a list over all namespaces.
type Read struct {
	schema.GroupVersionKind
	Namespace string
	Name      string
	// Labels and Fields filter a list, in the syntax of kubectl's --selector and --field-selector.
	Labels string
	Fields string
	// Optional is set if the plugin can work without the object. If the operator may not read it, the snapshot then has no such object.
	Optional bool
}

// Snapshot holds the API server's answer to each Read: an object, or a list with its items. A nil object does not exist. A kind
// that is not installed has no objects. Snapshots are read-only: they share objects with the cache and with other attempts.
type Snapshot map[Read]*unstructured.Unstructured

// partial marks an incomplete list in a snapshot.
const partial = "partial"

// NewPartialList returns an incomplete list: it is too long, or the operator sees only some of its namespaces.
func NewPartialList(items ...*unstructured.Unstructured) *unstructured.Unstructured {
	list := NewList(items...)
	list.Object[partial] = true
	return list
}

// NewList returns a list in the form of a snapshot.
func NewList(items ...*unstructured.Unstructured) *unstructured.Unstructured {
	contents := make([]any, 0, len(items))
	for _, item := range items {
		contents = append(contents, item.Object)
	}
	return &unstructured.Unstructured{Object: map[string]any{"items": contents}}
}

// List returns the items of a list; none if the list was not read.
func (s Snapshot) List(r Read) []*unstructured.Unstructured {
	list := s[r]
	if list == nil {
		return nil
	}
	items, _ := list.Object["items"].([]any)
	out := make([]*unstructured.Unstructured, 0, len(items))
	for _, item := range items {
		if object, ok := item.(map[string]any); ok {
			out = append(out, &unstructured.Unstructured{Object: object})
		}
	}
	return out
}

// Complete reports whether a list was read and has all items. An operator for some namespaces does not see the objects of the others, and very long lists of
// events are cut.
func (s Snapshot) Complete(r Read) bool {
	list := s[r]
	return list != nil && list.Object["items"] != nil && list.Object[partial] == nil
}

// Exists reports whether the snapshot holds the object.
func (s Snapshot) Exists(r Ref) bool { return s[r.Read()] != nil }

// Read returns the read of the object.
func (r Ref) Read() Read {
	return Read{GroupVersionKind: r.GroupVersionKind, Namespace: r.Namespace, Name: r.Name}
}

// As decodes an object of a snapshot into its typed form T; nil for nil.
func As[T any](u *unstructured.Unstructured) (*T, error) {
	if u == nil {
		return nil, nil
	}
	if err := lenient.CheckQuantities(u.Object, reflect.TypeFor[T](), ""); err != nil { // tenants may write some of these objects
		return nil, fmt.Errorf("decode %s %s: %w", u.GetKind(), u.GetName(), err)
	}
	out := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, out); err != nil {
		return nil, fmt.Errorf("decode %s %s: %w", u.GetKind(), u.GetName(), err)
	}
	return out, nil
}

// Applied converts a typed object to the form of server-side apply, with the kind and name of ref. It removes the status and the creation time, which a typed
// object always has.
func Applied(ref Ref, object runtime.Object) (*unstructured.Unstructured, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, fmt.Errorf("encode %s %s: %w", ref.Kind, ref.Name, err)
	}
	delete(content, "status")
	unstructured.RemoveNestedField(content, "metadata", "creationTimestamp")
	u := &unstructured.Unstructured{Object: content}
	u.SetGroupVersionKind(ref.GroupVersionKind)
	u.SetNamespace(ref.Namespace)
	u.SetName(ref.Name)
	return u, nil
}
