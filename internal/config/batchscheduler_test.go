// SPDX-License-Identifier: Apache-2.0

package config

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestBatchScheduler(t *testing.T) {
	c, err := Parse([]byte(head + `
batchScheduler:
  default: volcano
  enabled: [kube, volcano]
  namespaceDefaults: true
  allowedQueues:
    - {namespaces: ["team-*"], queues: [shared, "root.team.*"]}
  quota: {mode: Enforce, elasticQuotaSchedulers: [coscheduling], order: StrictFIFO, agingBound: 1h30m}
  plugins:
    volcano: {schedulerName: vc, defaultQueue: batch, parameters: {afterStart: DriverOnly}}
`))
	if err != nil {
		t.Fatal(err)
	}
	want := BatchScheduler{
		Default: "volcano", Enabled: []string{"kube", "volcano"}, NamespaceDefaults: true,
		ApplicationIDs: OwnApplicationIDs, AllowedQueues: []AllowedQueues{{Namespaces: []string{"team-*"}, Queues: []string{"shared", "root.team.*"}}},
		Quota:   Quota{Mode: "Enforce", ElasticQuotaSchedulers: []string{"coscheduling"}, Order: StrictFIFO, AgingBound: seconds(5400)},
		Plugins: map[string]SchedulerPlugin{"volcano": {SchedulerName: "vc", DefaultQueue: "batch", ParameterRules: ParameterRules{Parameters: map[string]json.RawMessage{"afterStart": []byte(`"DriverOnly"`)}}}},
	}
	if diff := cmp.Diff(want, c.BatchScheduler); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// YAML takes an unquoted Off for false.
func TestQuotaModeOff(t *testing.T) {
	for _, mode := range []string{"Off", `"Off"`, "false"} {
		c, err := Parse([]byte(head + "batchScheduler: {quota: {mode: " + mode + "}}"))
		if err != nil || c.BatchScheduler.Quota.Mode != "Off" {
			t.Errorf("%s: %q, %v", mode, c.BatchScheduler.Quota.Mode, err)
		}
	}
}

func TestBatchSchedulerErrors(t *testing.T) {
	cases := map[string]struct {
		reason, text string
		says         []string
	}{
		"Mode":         {reason: "a mode that does not exist would be Off", text: "quota: {mode: enforce}", says: []string{"batchScheduler.quota.mode", `"enforce"`, "Enforce"}},
		"On":           {reason: "YAML takes it for true", text: "quota: {mode: On}", says: []string{"batchScheduler.quota.mode", "true", "Enforce"}},
		"NoMode":       {reason: "an empty mode is none", text: `quota: {mode: ""}`, says: []string{"batchScheduler.quota.mode"}},
		"Order":        {reason: "an order that does not exist would be another one", text: "quota: {order: strictFIFO}", says: []string{"batchScheduler.quota.order", `"strictFIFO"`, "[BestEffortFIFO StrictFIFO FairShare]"}},
		"NoOrder":      {reason: "an empty order is none", text: `quota: {order: ""}`, says: []string{"batchScheduler.quota.order"}},
		"Aging":        {reason: "no time to pass in is the other order", text: "quota: {agingBound: 0s}", says: []string{"batchScheduler.quota.agingBound", "0s", "order: StrictFIFO"}},
		"Backwards":    {reason: "time does not go back", text: "quota: {agingBound: -5m}", says: []string{"batchScheduler.quota.agingBound", "-5m0s", "more than 0s"}},
		"Nobody":       {reason: "a rule for nobody", text: "allowedQueues: [{queues: [a]}]", says: []string{"batchScheduler.allowedQueues[0].namespaces", `"*"`}},
		"IDs":          {reason: "a word that is not known", text: "applicationIDs: Mine", says: []string{"batchScheduler.applicationIDs", `"Mine"`, "Own", "Any"}},
		"Nothing":      {reason: "a rule for nothing", text: "allowedQueues: [{namespaces: [a]}]", says: []string{"batchScheduler.allowedQueues[0].queues"}},
		"Pattern":      {reason: "a pattern that never matches", text: `allowedQueues: [{namespaces: [a, "[b"], queues: [a]}]`, says: []string{"allowedQueues[0].namespaces[1]", `"[b"`}},
		"OtherPattern": {reason: "only * is special, and a name has no ?", text: `allowedQueues: [{namespaces: ["team-?"], queues: [a]}]`, says: []string{"allowedQueues[0].namespaces[0]", `"team-?"`, "* matches any text"}},
		"NoPattern":    {reason: "a pattern that never matches", text: `allowedQueues: [{namespaces: [a], queues: [""]}]`, says: []string{"allowedQueues[0].queues[0]"}},
		"Unknown":      {reason: "a setting that does not exist", text: "plugins: {volcano: {queue: a}}", says: []string{"queue"}},
		"BoundText":    {reason: "a number in quotes", text: `plugins: {volcano: {bounds: {afterStart: {max: "5"}}}}`, says: []string{"batchScheduler.plugins.bounds.max: a string: must be a whole number"}},
		"Switch":       {reason: "a switch in quotes", text: `namespaceDefaults: "true"`, says: []string{"batchScheduler.namespaceDefaults: a string: must be true or false"}},
		"BoundQueues":  {reason: "a queue that has not the form of a list", text: "plugins: {volcano: {queues: [{queues: a}]}}", says: []string{"batchScheduler.plugins.queues.queues: a string: must be a list"}},
		"BoundPlace":   {reason: "bounds for no queue", text: "plugins: {volcano: {queues: [{bounds: {afterStart: {max: 5}}}]}}", says: []string{"batchScheduler.plugins.volcano.queues[0].queues: name at least one"}},
		"Everything":   {reason: "all mistakes at once", text: `{default: "", quota: {mode: x}, allowedQueues: [{}]}`, says: []string{"default", "quota.mode", "namespaces", "queues"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			text := "batchScheduler: {" + tc.text + "}"
			if strings.HasPrefix(tc.text, "{") {
				text = "batchScheduler: " + tc.text
			}
			_, err := Parse([]byte(head + text))
			if err == nil {
				t.Fatalf("%s: accepted", tc.reason)
			}
			for _, text := range tc.says {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("%s: the error does not say %q: %v", tc.reason, text, err)
				}
			}
		})
	}
}
