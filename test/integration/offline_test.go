// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/firesteel-dev/firesteel/internal/manifest"
)

// slip is what somebody has written instead of a value.
type slip struct {
	path  string
	value any
}

// slips are what may be written instead of each value in an object: nothing, and values of other types and sizes.
func slips(at string, value any) []slip {
	var all []slip
	switch value := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			all = append(all, slips(at+"/"+key, value[key])...)
		}
		all = append(all, slip{at + "/notAField", "text"}, slip{at + "/notAField", nil}, slip{at, []any{}})
	case []any:
		for i, one := range value {
			all = append(all, slips(at+"/"+strconv.Itoa(i), one)...)
		}
		all = append(all, slip{at, map[string]any{}})
	case string:
		all = append(all, slip{at, int64(7)}, slip{at, ""}, slip{at, "no such word"}, slip{at, true})
	case bool:
		all = append(all, slip{at, "true"}, slip{at, int64(1)})
	default:
		all = append(all, slip{at, int64(-1)}, slip{at, int64(99999999999999)}, slip{at, "7"}, slip{at, 1.5})
	}
	return append(all, slip{at, nil})
}

// in is the least that a manifest says, and what leads to the slip.
func (s slip) in(rules apiextensionsv1.JSONSchemaProps, full any) any {
	_, path, _ := strings.Cut(s.path, "/spec")
	return s.along(rules, full, strings.Split(path, "/")[1:])
}

func (s slip) along(rules apiextensionsv1.JSONSchemaProps, full any, steps []string) any {
	if len(steps) == 0 {
		return s.value
	}
	if list, is := full.([]any); is {
		return []any{s.along(*rules.Items.Schema, list[0], steps[1:])}
	}
	fields, below := full.(map[string]any), rules.Properties[steps[0]]
	if rules.AdditionalProperties != nil {
		below = *rules.AdditionalProperties.Schema
	}
	all, is := least(rules, fields).(map[string]any)
	Expect(is).To(BeTrue())
	all = maps.Clone(all)
	all[steps[0]] = s.along(below, fields[steps[0]], steps[1:])
	return all
}

// saidOffline are the errors of validate that are about what the API server takes.
func saidOffline(o map[string]any) []string {
	GinkgoHelper()
	text, err := yaml.Marshal(o)
	Expect(err).NotTo(HaveOccurred())
	documents, err := manifest.Read(text)
	Expect(err).NotTo(HaveOccurred())
	Expect(documents).To(HaveLen(1))
	var said []string
	for _, p := range slices.Concat(documents[0].Problems, documents[0].Refused) {
		if p.Severity == manifest.Error {
			said = append(said, p.Message)
		}
	}
	return said
}

// disagreements are the slips about which validate and the API server, strict as kubectl asks it to be, think differently.
func disagreements(ctx context.Context, c client.Client, o *unstructured.Unstructured, rules apiextensionsv1.JSONSchemaProps) (differ []string, tried int) {
	GinkgoHelper()
	strict, full := client.WithFieldValidation(c, metav1.FieldValidationStrict), sample(rules, false)
	for _, s := range append(slips("/spec", full), slip{"/spec", full}) {
		wrong := o.DeepCopy()
		wrong.Object["spec"] = s.in(rules, full)
		said := saidOffline(wrong.Object)
		err := strict.Create(ctx, wrong, client.DryRunAll)
		if err != nil {
			Expect(apierrors.IsInvalid(err) || apierrors.IsBadRequest(err)).To(BeTrue(), "%s: %v", s.path, err)
		}
		if tried++; (err != nil) != (len(said) > 0) {
			differ = append(differ, fmt.Sprintf("%s %s: %#v: validate says %q, the API server %v", o.GroupVersionKind(), s.path, s.value, said, err))
		}
	}
	return differ, tried
}
