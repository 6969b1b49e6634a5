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

// Read names one object that a plugin wants to see, or a list of objects if Name is "". Namespace is "" for
// cluster-scoped kinds, and in a list for all namespaces.
type Read struct {
	schema.GroupVersionKind
	Namespace string
	Name      string
	// Labels and Fields narrow a list, in the syntax of kubectl's --selector and --field-selector.
	Labels string
	Fields string
	// Optional says that the plugin can do without: what the operator may not read is then an object without contents.
	Optional bool
}

// Snapshot holds the API server's answer to each Read: an object, or a list with its items. A nil object was looked up
// and does not exist. A kind that is not installed has no objects. What is in a snapshot must not be changed: it is
// shared with the cache and with other attempts.
type Snapshot map[Read]*unstructured.Unstructured

// partial marks a list in a snapshot that may lack items.
const partial = "partial"

// NewPartialList returns a list over all namespaces of which only some can be seen, or one that was too long.
func NewPartialList(items ...*unstructured.Unstructured) *unstructured.Unstructured {
	list := NewList(items...)
	list.Object[partial] = true
	return list
}

// NewList returns a list as it is kept in a snapshot.
func NewList(items ...*unstructured.Unstructured) *unstructured.Unstructured {
	contents := make([]any, 0, len(items))
	for _, item := range items {
		contents = append(contents, item.Object)
	}
	return &unstructured.Unstructured{Object: map[string]any{"items": contents}}
}

// List returns the items of a list. What was not read is empty.
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

// Complete reports whether a list was read and holds all that there are: an operator for some namespaces does not see
// the objects of the others, and of very many events some are left out.
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

// As decodes an object of a snapshot into its vendor's type. It returns nil for nil.
func As[T any](u *unstructured.Unstructured) (*T, error) {
	if u == nil {
		return nil, nil
	}
	if err := lenient.CheckQuantities(u.Object, reflect.TypeFor[T](), ""); err != nil { // tenants may write some of those that are read
		return nil, fmt.Errorf("decode %s %s: %w", u.GetKind(), u.GetName(), err)
	}
	out := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, out); err != nil {
		return nil, fmt.Errorf("decode %s %s: %w", u.GetKind(), u.GetName(), err)
	}
	return out, nil
}

// Applied turns a typed object into what server-side apply takes: without a status and without the creation time, both
// of which a typed object always has. ref says what it is and how it is called.
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
