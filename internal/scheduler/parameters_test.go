// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/firesteel-dev/firesteel/internal/spark"
)

func TestWithDefaults(t *testing.T) {
	cases := map[string]struct{ reason, given, defaults, want string }{
		"None":     {reason: "nothing is configured", given: `{"a":1}`, want: `{"a":1}`},
		"Nothing":  {reason: "the application says nothing", defaults: `{"a":2}`, want: `{"a":2}`},
		"Null":     {reason: "null is nothing", given: "null", defaults: `{"a":2}`, want: `{"a":2}`},
		"Both":     {reason: "what the application says wins, the rest is added", given: `{"a":1}`, defaults: `{"a":2,"b":3}`, want: `{"a":1,"b":3}`},
		"NullOne":  {reason: "null is no value", given: `{"a":null}`, defaults: `{"a":2}`, want: `{"a":2}`},
		"Foreign":  {reason: "what no plugin knows is for the plugin to find", given: `{"x":null}`, defaults: `{"a":2}`, want: `{"a":2,"x":null}`},
		"False":    {reason: "false is a value", given: `{"a":false}`, defaults: `{"a":true}`, want: `{"a":false}`},
		"NoObject": {reason: "a mistake is not hidden", given: `[1]`, defaults: `{"a":2}`, want: `[1]`},
		"Twice":    {reason: "a mistake is not hidden", given: `{"a":1,"a":2}`, defaults: `{"a":2}`, want: `{"a":1,"a":2}`},
		"Recorded": {reason: "a status that was spoilt", given: `{"a":1}`, defaults: `{`, want: `{"a":1}`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := string(WithDefaults(json.RawMessage(tc.given), tc.defaults)); got != tc.want {
				t.Errorf("%s: %s, want %s", tc.reason, got, tc.want)
			}
		})
	}
}

// strict has one parameter, and needs more than parameters.
type strict struct{ stub }

func (strict) Validate(a Attempt) field.ErrorList {
	var options struct {
		Gang bool `json:"gang"`
	}
	findings := DecodeParameters(a, &options)
	if a.PodSets.Initial == 0 {
		findings = append(findings, Invalid(a.Field(FieldQueue), "no executors"))
	}
	return findings
}

func parameters(text string) map[string]json.RawMessage {
	var all map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		panic(err)
	}
	return all
}

func TestConfiguredParameters(t *testing.T) {
	policy := Policy{Default: "batch", Enabled: []string{"batch", "other"}, Parameters: map[string]PluginParameters{"batch": {ParameterRules: ParameterRules{Parameters: parameters(`{"gang":true}`)}}, "other": {}}}
	r, err := NewRegistryFor(policy, strict{stub{name: "batch"}}, stub{name: "other"}, stub{name: "profile", descriptor: Descriptor{AliasOf: "batch"}})
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		reason string
		wish   SelectionRequest
		want   string
	}{
		"Default":  {reason: "the plugin's own", want: `{"gang":true}`},
		"Other":    {reason: "another plugin", wish: SelectionRequest{Scheduling: spark.Scheduling{Scheduler: "other"}}},
		"Alias":    {reason: "one plugin by two names", wish: SelectionRequest{Scheduling: spark.Scheduling{Scheduler: "profile"}}, want: `{"gang":true}`},
		"Recorded": {reason: "an attempt keeps what it had", wish: SelectionRequest{Recorded: &Choice{Scheduler: "batch", Parameters: `{"gang":false}`}}, want: `{"gang":false}`},
		"Before":   {reason: "an attempt that had none keeps that", wish: SelectionRequest{Recorded: &Choice{Scheduler: "batch"}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got, _ := r.Resolve(tc.wish); got.Parameters != tc.want {
				t.Errorf("%s: %q, want %q", tc.reason, got.Parameters, tc.want)
			}
		})
	}
}

func TestConfiguredParametersErrors(t *testing.T) {
	for name, tc := range map[string]struct{ reason, plugin, given, want string }{
		"Unknown": {reason: "in the plugin's words", plugin: "batch", given: `{"gan":true}`, want: "batchScheduler.plugins.batch.parameters.gan: is not a parameter of batch"},
		"Kind":    {reason: "in the plugin's words", plugin: "batch", given: `{"gang":"yes"}`, want: `batchScheduler.plugins.batch.parameters.gang: "yes": must be true or false`},
		"Plugin":  {reason: "no such plugin", plugin: "btach", given: `{}`, want: `batchScheduler.plugins: "btach" is not a known scheduler; known: batch`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := NewRegistryFor(Policy{Default: "batch", Parameters: map[string]PluginParameters{tc.plugin: {ParameterRules: ParameterRules{Parameters: parameters(tc.given)}}}}, strict{stub{name: "batch"}})
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: %v, want %s", tc.reason, err, tc.want)
			}
		})
	}
}

// What the chosen scheduler does not read is said (case 016); a policy's default is not the user's to remove.
func TestIgnored(t *testing.T) {
	all := spark.Scheduling{Queue: "nightly", Resources: corev1.ResourceList{"cpu": resource.MustParse("8")}}
	for name, tc := range map[string]struct {
		reason   string
		supports Support
		asked    spark.Scheduling
		want     []string
	}{
		"Plain":   {"neither is read", Support{}, all, []string{`batchScheduler.queue: has no effect: the scheduler "s" has no queues`, `batchScheduler.resources: has no effect: the scheduler "s" takes what the pods ask for`}},
		"Queues":  {"the size is the pods'", Support{Queues: true}, all, []string{`batchScheduler.resources: has no effect: the scheduler "s" takes what the pods ask for`}},
		"Both":    {"all is read", Support{Queues: true, Resources: true}, all, nil},
		"Policy":  {"the admin's", Support{}, spark.Scheduling{Queue: "nightly", QueueFrom: "batch"}, nil},
		"Nothing": {"nothing is written", Support{}, spark.Scheduling{}, nil},
	} {
		var got []string
		for _, e := range ignored(Descriptor{Name: "s", Supports: tc.supports}, tc.asked, nil) {
			got = append(got, e.Field+": "+e.Detail)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", name, tc.reason, diff)
		}
	}
}
