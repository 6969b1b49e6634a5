// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
)

// Bounds of a cached object, in bytes of memory: of its spec, and of its labels and annotations each. A typical spec has 5 KB. The largest that is decoded has
// a megabyte, and a few hundred of these would fill the operator's memory.
const (
	maxSpec     = 32 << 10
	maxMetadata = 16 << 10
	// maxReferences bounds owners and finalizers.
	maxReferences = 16
)

// annotationStub marks an object whose spec is not cached. No other client can write it, because its key contains a character that the API server forbids.
const annotationStub = "stub!"

// annotationApplied is kubectl's last-applied annotation, which holds the whole object as text.
const annotationApplied = "kubectl.kubernetes.io/last-applied-configuration"

// Strip returns a cache transform that drops unread parts of an object and bounds the rest. It caches an object with a large spec without the spec, and
// WithStubs reads that object live. It keeps the labels and annotations that families read first. It never fails.
func Strip(families ...lifecycle.Family) toolscache.TransformFunc {
	ranks := map[string]int{}
	for i, key := range lifecycle.KeysRead(families) {
		ranks[key] = i - maxMetadata // the order of precedence
	}
	return func(o any) (any, error) { return strip(o, ranks) }
}

func strip(o any, ranks map[string]int) (any, error) {
	object, ok := o.(client.Object)
	if !ok {
		return o, nil // a tombstone
	}
	stripMetadata(object, ranks)
	v := reflect.Indirect(reflect.ValueOf(object))
	if v.Kind() != reflect.Struct {
		return o, nil
	}
	spec := v.FieldByName("Spec")
	if !spec.IsValid() || !spec.CanSet() || within(spec, maxSpec) >= 0 {
		return o, nil
	}
	spec.SetZero()
	annotations := object.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[annotationStub] = ""
	object.SetAnnotations(annotations)
	return o, nil
}

// stripMetadata bounds the metadata, which users can write.
func stripMetadata(o metav1.Object, ranks map[string]int) {
	o.SetManagedFields(nil)
	annotations := o.GetAnnotations()
	delete(annotations, annotationApplied)
	o.SetAnnotations(bounded(annotations, ranks))
	o.SetLabels(bounded(o.GetLabels(), ranks))
	if all := o.GetFinalizers(); len(all) > maxReferences {
		o.SetFinalizers(slices.Clone(all[:maxReferences]))
	}
	if all := o.GetOwnerReferences(); len(all) > maxReferences {
		kept := slices.Clone(all[:maxReferences])
		if controller := metav1.GetControllerOf(o); controller != nil {
			kept[0] = *controller
		}
		o.SetOwnerReferences(kept)
	}
}

// bounded returns as many labels or annotations as the cache may hold, keys with a low rank first.
func bounded(all map[string]string, ranks map[string]int) map[string]string {
	size := 0
	for k, v := range all {
		size += len(k) + len(v)
	}
	if size <= maxMetadata {
		return all
	}
	keys := slices.Sorted(maps.Keys(all))
	slices.SortStableFunc(keys, func(a, b string) int { return ranks[a] - ranks[b] })
	kept, room := map[string]string{}, maxMetadata
	for _, k := range keys {
		if size := len(k) + len(all[k]); size <= room {
			kept[strings.Clone(k)] = strings.Clone(all[k])
			room -= size
		}
	}
	return kept
}

// within returns the remaining room after a value, in bytes of memory; negative if the value does not fit.
func within(v reflect.Value, room int) int {
	if room -= int(v.Type().Size()); room < 0 {
		return room
	}
	return below(v, room)
}

// below is like within, for the values that a value refers to.
func below(v reflect.Value, room int) int {
	switch v.Kind() {
	case reflect.String:
		return room - v.Len()
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return room
		}
		return within(v.Elem(), room)
	case reflect.Struct:
		for i := 0; i < v.NumField() && room >= 0; i++ {
			room = below(v.Field(i), room)
		}
	case reflect.Slice:
		if room -= v.Cap() * int(v.Type().Elem().Size()); room < 0 || v.Type().Elem().Kind() == reflect.Uint8 {
			return room
		}
		for i := 0; i < v.Len() && room >= 0; i++ {
			room = below(v.Index(i), room)
		}
	case reflect.Array:
		for i := 0; i < v.Len() && room >= 0; i++ {
			room = below(v.Index(i), room)
		}
	case reflect.Map:
		for entries := v.MapRange(); room >= 0 && entries.Next(); {
			room = within(entries.Value(), within(entries.Key(), room))
		}
	default: // numbers refer to no other value
	}
	return room
}

// IsStub reports whether a cached object has no spec because its spec is too large.
func IsStub(o client.Object) bool {
	_, stub := o.GetAnnotations()[annotationStub]
	return stub
}

// Whole returns a listed object with its spec. It reads a stub with a reader of WithStubs into an empty object. The result is read-only, because the cache may
// own it. there is false if the object of a stub no longer exists.
func Whole[T client.Object](ctx context.Context, from client.Reader, listed T, empty func() T) (o T, there bool, err error) {
	if !IsStub(listed) {
		return listed, true, nil
	}
	o = empty()
	switch err := from.Get(ctx, client.ObjectKeyFromObject(listed), o, client.UnsafeDisableDeepCopy); {
	case apierrors.IsNotFound(err):
		return o, false, nil
	case err != nil:
		return o, false, fmt.Errorf("read an object with a large spec: %w", err)
	}
	return o, true, nil
}

// WithStubs returns a reader that reads stubs of a cache live. Lists contain the stubs. WithStubs calls read for each live read.
func WithStubs(cache, live client.Reader, read func()) client.Reader { return stubs{cache, live, read} }

type stubs struct {
	client.Reader
	live client.Reader
	read func()
}

// Get implements client.Reader.
func (s stubs) Get(ctx context.Context, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
	if err := s.Reader.Get(ctx, key, o, options...); err != nil || !IsStub(o) {
		return err
	}
	s.read()
	reflect.ValueOf(o).Elem().SetZero() // a decoder keeps fields that are missing in the input
	return s.live.Get(ctx, key, o, options...)
}
