// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"encoding/json"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/firesteel-dev/firesteel/internal/spark"
)

// timed is a plugin with a number and a word.
type timed struct{ stub }

func (timed) Validate(a Attempt) field.ErrorList {
	var options struct {
		Seconds int64  `json:"seconds"`
		Style   string `json:"style"`
	}
	findings := DecodeParameters(a, &options)
	if s := options.Style; s != "" && s != "Soft" && s != "Hard" && s != "None" {
		findings = append(findings, Invalid(a.Field(FieldParameters)+".style", s+": must be Soft, Hard or None"))
	}
	return findings
}

// rulesOf are rules with a number within some bounds, and one of some words.
func rulesOf(defaults string, least, most int64, words ...string) ParameterRules {
	r := ParameterRules{Bounds: map[string]Bound{}}
	if defaults != "" {
		r.Parameters = parameters(defaults)
	}
	if most > 0 {
		r.Bounds["seconds"] = Bound{Min: &least, Max: &most}
	}
	if len(words) > 0 {
		var values []json.RawMessage
		for _, w := range words {
			values = append(values, json.RawMessage(w))
		}
		r.Bounds["style"] = Bound{OneOf: values}
	}
	return r
}

// What an administrator bounds is refused with the number that is allowed; rules for a queue win over those of its plugin.
func TestBounds(t *testing.T) {
	policy := Policy{Default: "batch", Enabled: []string{"batch"}, Parameters: map[string]PluginParameters{"batch": {
		ParameterRules: rulesOf(`{"seconds":60}`, 10, 600, `"Soft"`, `"Hard"`),
		Queues:         []QueueParameters{{Queues: []string{"root.batch.*"}, ParameterRules: rulesOf(`{"style":"None"}`, 0, 0, `"None"`)}, {Queues: []string{"root.*"}, ParameterRules: rulesOf(`{"seconds":1}`, 1, 5)}},
	}}}
	plugin := timed{stub{name: "batch", descriptor: Descriptor{Supports: Support{Queues: true}}}}
	r, err := NewRegistryFor(policy, plugin, timed{stub{name: "profile", descriptor: Descriptor{AliasOf: "batch"}}})
	if err != nil {
		t.Fatal(err)
	}
	const of, whose = "spec.options.parameters.", " (batchScheduler.plugins.batch of the operator's configuration)"
	cases := map[string]struct {
		reason, scheduler, queue, given string
		recorded                        *Choice
		refused                         string // "" for none
		defaults                        string
	}{
		"Nothing":   {reason: "there is nothing to bound", defaults: `{"seconds":60}`},
		"Ends":      {reason: "the ends are allowed", given: `{"seconds":600,"style":"Hard"}`, defaults: `{"seconds":60}`},
		"More":      {reason: "beyond the largest", given: `{"seconds":601}`, refused: of + "seconds: 601: must be at most 600" + whose, defaults: `{"seconds":60}`},
		"Less":      {reason: "and the smallest", given: `{"seconds":9}`, refused: of + "seconds: 9: must be at least 10" + whose, defaults: `{"seconds":60}`},
		"Words":     {reason: "all that is wrong, by name", given: `{"seconds":1000, "style":"None"}`, refused: of + `seconds: 1000: must be at most 600` + whose + `; ` + of + `style: "None": must be "Soft" or "Hard"` + whose, defaults: `{"seconds":60}`},
		"Null":      {reason: "null is no value", given: `{"seconds":null}`, defaults: `{"seconds":60}`},
		"Malformed": {reason: "the plugin says it", given: `[`, defaults: `{"seconds":60}`},
		"Queue":     {reason: "the first rule that matches, beside the plugin's for what it does not name", queue: "root.batch.a", given: `{"seconds":700,"style":"None"}`, refused: of + "seconds: 700: must be at most 600" + whose, defaults: `{"seconds":60,"style":"None"}`},
		"OfQueue":   {reason: "the queue's own", queue: "root.a", given: `{"seconds":6}`, refused: of + "seconds: 6: must be at most 5" + whose, defaults: `{"seconds":1}`},
		"Alias":     {reason: "one plugin by two names", scheduler: "profile", given: `{"seconds":601}`, refused: of + "seconds: 601: must be at most 600" + whose, defaults: `{"seconds":60}`},
		"Recorded":  {reason: "an attempt that was let in before stays so", given: `{"seconds":601}`, recorded: &Choice{Scheduler: "batch"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, answer := r.Resolve(SelectionRequest{
				Scheduling: spark.Scheduling{Scheduler: tc.scheduler, Queue: tc.queue, Parameters: []byte(tc.given)}, Recorded: tc.recorded,
				Fields: spark.Fields{FieldParameters: "spec.options.parameters"},
			})
			if answer.Message != tc.refused || (got.Plugin == nil) != (tc.refused != "") || tc.refused != "" && (answer.Verdict != Reject || answer.Reason != ReasonInvalidParameters) {
				t.Errorf("%s: %+v, want %q", tc.reason, answer, tc.refused)
			}
			if got.Parameters != tc.defaults {
				t.Errorf("%s: the defaults are %s, want %s", tc.reason, got.Parameters, tc.defaults)
			}
		})
	}
}

// A configuration that contradicts its plugin, or itself, stops the operator with the place.
func TestBoundsErrors(t *testing.T) {
	one := func(b Bound) ParameterRules { return ParameterRules{Bounds: map[string]Bound{"seconds": b}} }
	five, six := int64(5), int64(6)
	const at = "batchScheduler.plugins.batch."
	for name, tc := range map[string]struct {
		reason string
		rules  PluginParameters
		want   string
	}{
		"Unknown":  {reason: "no such parameter", rules: PluginParameters{ParameterRules: ParameterRules{Bounds: map[string]Bound{"second": {Max: &five}}}}, want: at + "bounds.second: is not a parameter of batch"},
		"Word":     {reason: "a value that the plugin does not have", rules: PluginParameters{ParameterRules: rulesOf("", 0, 0, `"Soft"`, `"soft"`)}, want: at + "bounds.style: soft: must be Soft, Hard or None"},
		"Kind":     {reason: "a word has no largest", rules: PluginParameters{ParameterRules: ParameterRules{Bounds: map[string]Bound{"style": {Max: &five}}}}, want: at + "bounds.style: 5: must be text"},
		"Empty":    {reason: "it bounds nothing", rules: PluginParameters{ParameterRules: one(Bound{})}, want: at + "bounds.seconds: write min, max or oneOf"},
		"Reversed": {reason: "nothing is allowed", rules: PluginParameters{ParameterRules: one(Bound{Min: &six, Max: &five})}, want: at + "bounds.seconds: min 6 is more than max 5"},
		"Default":  {reason: "a default that no one may write", rules: PluginParameters{ParameterRules: rulesOf(`{"seconds":9}`, 1, 5)}, want: at + "parameters.seconds: 9: must be at most 5, as the bounds say"},
		"Queue": {
			reason: "with the bounds of a queue", want: at + "queues[0].parameters.seconds: 9: must be at most 5, as the bounds say",
			rules: PluginParameters{ParameterRules: rulesOf(`{"seconds":9}`, 1, 10), Queues: []QueueParameters{{Queues: []string{"a"}, ParameterRules: rulesOf("", 1, 5)}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := NewRegistryFor(Policy{Default: "batch", Parameters: map[string]PluginParameters{"batch": tc.rules}}, timed{stub{name: "batch"}})
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: %v, want %s", tc.reason, err, tc.want)
			}
		})
	}
}
