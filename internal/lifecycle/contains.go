// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"fmt"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/firesteel-dev/firesteel/internal/spark"
)

// Contains reports whether an object still has all applied fields, which a user may have edited. It ignores the metadata.
func Contains(existing, wanted *unstructured.Unstructured) bool {
	for field, value := range wanted.Object {
		if field != "apiVersion" && field != "kind" && field != "metadata" && !contains(existing.Object[field], value) {
			return false
		}
	}
	return true
}

// contains reports whether a value has everything in want. It ignores additional fields, such as defaults, and compares quantities by value.
func contains(have, want any) bool {
	switch w := want.(type) {
	case nil:
		return true
	case map[string]any:
		h, _ := have.(map[string]any)
		for key, value := range w {
			if !contains(h[key], value) {
				return false
			}
		}
		return true
	case []any:
		h, _ := have.([]any)
		return slices.EqualFunc(h, w, contains)
	}
	return reflect.DeepEqual(have, want) || sameQuantity(have, want)
}

func sameQuantity(have, want any) bool {
	h, err := spark.ParseQuantity(fmt.Sprint(have))
	if err != nil {
		return false
	}
	w, err := spark.ParseQuantity(fmt.Sprint(want))
	return err == nil && h.Cmp(w) == 0
}
