/*
Copyright 2026 The Firesteel Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package kubeflow

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
)

// ignored are the fields that Normalise does not look at. The reason says who does, or why nobody.
func ignored() map[string]fieldCase {
	return map[string]fieldCase{
		"type":              {reason: "Spark goes by the suffix of the main file", set: func(s *spec) { s.Type = v1beta2.ApplicationTypePython }},
		"failureRetries":    {reason: "without effect in the incumbent, too", set: func(s *spec) { s.FailureRetries = new(int32(3)) }},
		"retryInterval":     {reason: "without effect in the incumbent, too", set: func(s *spec) { s.RetryInterval = new(int64(3)) }},
		"restartPolicy":     {reason: "retries are a later step", set: func(s *spec) { s.RestartPolicy.Type = v1beta2.RestartPolicyAlways }},
		"timeToLiveSeconds": {reason: "retention is a later step", set: func(s *spec) { s.TimeToLiveSeconds = new(int64(3)) }},
		"monitoring":        {reason: "monitoring is a later step", set: func(s *spec) { s.Monitoring = &v1beta2.MonitoringSpec{ExposeDriverMetrics: true} }},
		"sparkUIOptions":    {reason: "exposure is a later step", set: func(s *spec) { s.SparkUIOptions = &v1beta2.SparkUIConfiguration{ServicePort: new(int32(80))} }},
		"driverIngressOptions": {reason: "exposure is a later step", set: func(s *spec) {
			s.DriverIngressOptions = []v1beta2.DriverIngressConfiguration{{ServicePort: new(int32(80))}}
		}},
		"driverPodDisruptionBudget": {reason: "disruption budgets are a later step", set: func(s *spec) { s.DriverPodDisruptionBudget = new(true) }},
	}
}

// elsewhere are fields whose meaning is a refusal, tested in TestNormaliseProblems.
var elsewhere = map[string]string{"mode": "only cluster mode runs in pods"}

// paths lists the JSON paths below a type. Structs in opened are walked into, all others are one field.
func paths(typ reflect.Type, prefix string, opened map[reflect.Type]bool) []string {
	var out []string
	for field := range typ.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		inner := field.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		switch {
		case field.Anonymous:
			out = append(out, paths(inner, prefix, opened)...)
		case opened[inner]:
			out = append(out, paths(inner, prefix+name+".", opened)...)
		default:
			out = append(out, prefix+name)
		}
	}
	return out
}

// Whoever adds a field to the API has to say what becomes of it.
func TestEveryFieldIsAccountedFor(t *testing.T) {
	opened := map[reflect.Type]bool{}
	for _, v := range []any{v1beta2.DriverSpec{}, v1beta2.ExecutorSpec{}, v1beta2.Dependencies{}, v1beta2.DynamicAllocation{}, v1beta2.BatchSchedulerConfiguration{}} {
		opened[reflect.TypeOf(v)] = true
	}
	var said []string
	said = slices.AppendSeq(said, maps.Keys(fieldCases()))
	said = slices.AppendSeq(said, maps.Keys(ignored()))
	said = slices.AppendSeq(said, maps.Keys(elsewhere))
	slices.Sort(said)
	inAPI := paths(reflect.TypeFor[spec](), "", opened)
	slices.Sort(inAPI)
	if diff := cmp.Diff(inAPI, said); diff != "" {
		t.Errorf("fields of the API (-) and of the tables (+):\n%s", diff)
	}
}

// A field that is listed as ignored by mistake would be one that differs silently.
func TestIgnoredFieldsChangeNothing(t *testing.T) {
	bare := normalise(t, pi())
	for path, tc := range ignored() {
		t.Run(path, func(t *testing.T) {
			o := pi()
			tc.set(&o.Spec)
			if cmp.Equal(pi().Spec, o.Spec) {
				t.Fatal("the case does not set the field")
			}
			if diff := cmp.Diff(bare, normalise(t, o)); diff != "" {
				t.Errorf("ignored, because %s; but the model changes:\n%s", tc.reason, diff)
			}
		})
	}
}
