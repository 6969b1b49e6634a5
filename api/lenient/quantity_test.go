// SPDX-License-Identifier: Apache-2.0

package lenient

import (
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/firesteel-dev/firesteel/internal/testutil/heaptest"
)

func TestEndless(t *testing.T) {
	for _, tc := range []struct {
		reason string
		want   bool
		texts  []string
	}{
		{"added and printed in minutes", true, []string{"1e99999999", "1E999999999", "1e+12345678", "-1e2147483647", "+9E9999999", "1e25"}},
		{"read in hours", true, []string{"1e-100000000", "-.5E-1000", "1e-25"}},
		{"beyond what Kubernetes has room for", true, []string{"1e2147483648", "1e+4294967295999", "1e-99999999999999999999", "1e99999999999999999999"}},
		{"blanks around it", true, []string{" 1e99999999", "1e99999999\t", "\u00a01e99999999\u3000"}},
		{"zeros before the exponent", true, []string{"1e00099999999", "1e+0000000000025", "1e-00000000000000000099"}},
		{"long mantissas", true, []string{strings.Repeat("9", 30) + "e99999999", "0." + strings.Repeat("1", 30) + "E99999999"}},
		{"nothing, as often as one likes", true, []string{"0e99999999", "-0.0e99999999", ".e99999999", "e99999999", "-E99999999"}},
		{"a power of 10 that may be meant", false, []string{"1e24", "1E-24", "1e0000000003", "1e+3", "5e3"}},
		{"suffixes", false, []string{"1E", "1Ei", "1n", "9223372036854775807Ei", "5", "1.5Gi", "0", ""}},
		{"what Kubernetes does not read", false, []string{"0x1e99999999", "0x1p99999999", "1 e99999999", "1e 99999999", "1e99999999Gi", "1ee99999999", "1e+-99999999", "1e9_999_999", "1e99.9"}},
		{"what only looks like one", false, []string{"3f2a1b9e-4123-4cde-9e-9999", "tol=1e-10000", "1e-10000 iterations", "a1e99999999"}},
	} {
		for _, text := range tc.texts {
			if got := Endless(text); got != tc.want {
				t.Errorf("%q: %t, want %t: %s", text, got, tc.want, tc.reason)
			}
			if !suspicious([]byte(`{"a": "`+text+`"}`)) && tc.want {
				t.Errorf("%q would not be looked at", text)
			}
			if tc.want {
				continue
			}
			if q, err := resource.ParseQuantity(text); err == nil {
				check := heaptest.Bound(t, len(text))
				computed(q)
				check()
			}
		}
	}
}

// computed does with a quantity what is done with those of users.
func computed(q resource.Quantity) {
	other := resource.MustParse("1500m")
	sum := q.DeepCopy()
	sum.Add(other)
	sum.Sub(q)
	_, _, _, _, _ = sum.String(), q.String(), q.Cmp(other), q.Value(), q.MilliValue()
}

// What is no quantity may look like one, and most objects are not decoded twice to find out.
func TestIDsAreNotSuspicious(t *testing.T) {
	for text, want := range map[string]bool{
		`{"uid": "3f2a1b9e-4123-4cde-8e99-99999e12abcd", "sparkVersion": "4.1.4", "a": "5e3", "b": "release99"}`: false,
		`{"a": "12e45678"}`: true, `{"a": 1e+30}`: true, `{"a": 1e`: false, `e99999999`: false,
	} {
		if got := suspicious([]byte(text)); got != want {
			t.Errorf("%s: %t, want %t", text, got, want)
		}
	}
}

func TestCheckQuantities(t *testing.T) {
	type object struct {
		Limits    corev1.ResourceList   `json:"limits"`
		Pods      []corev1.PodSpec      `json:"pods"`
		Least     *resource.Quantity    `json:"least"`
		Labels    map[string]string     `json:"labels"`
		Free      any                   `json:"free"`
		Overheads []corev1.ResourceList `json:"overheads"`
	}
	const end = ": a quantity with a too large exponent; write a number between 1n and 1E"
	for name, tc := range map[string]struct {
		reason string
		object map[string]any
		want   string
	}{
		"Field":   {"by its name", map[string]any{"least": "1e99999999"}, `spec.least: "1e99999999"` + end},
		"Value":   {"by its key", map[string]any{"limits": map[string]any{"a.b/c": " -1E99999999"}}, `spec.limits["a.b/c"]: " -1E99999999"` + end},
		"Element": {"by its index", map[string]any{"overheads": []any{nil, map[string]any{"cpu": "e99"}}}, `spec.overheads[1]["cpu"]: "e99"` + end},
		"Number":  {"without quotes", map[string]any{"least": 1e30}, `spec.least: "1e+30"` + end},
		"Deep": {"in a type of Kubernetes", map[string]any{"pods": []any{map[string]any{"volumes": []any{map[string]any{"emptyDir": map[string]any{"sizeLimit": "1e99999999"}}}}}},
			`spec.pods[0].volumes[0].emptyDir.sizeLimit: "1e99999999"` + end},
		"Label":    {"a short commit is a text", map[string]any{"labels": map[string]any{"commit": "12e45678"}, "free": []any{"12e45678"}}, ""},
		"Unknown":  {"what is not decoded is not computed with", map[string]any{"unknown": map[string]any{"least": "1e99999999"}}, ""},
		"Small":    {"what can be computed with", map[string]any{"least": "1e24", "limits": map[string]any{"cpu": int64(3), "memory": 1.5}}, ""},
		"Mistyped": {"the decoder says it", map[string]any{"least": map[string]any{"a": "1e99999999"}, "pods": map[string]any{"a": []any{"1e99"}}, "limits": []any{"1"}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			if err := CheckQuantities(tc.object, reflect.TypeFor[object](), "spec"); err != nil {
				got = err.Error()
			}
			if got != tc.want {
				t.Errorf("%s: %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}
