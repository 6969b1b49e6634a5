// SPDX-License-Identifier: Apache-2.0

package config

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/policy"
)

const head = "apiVersion: config.firesteel.dev/v1alpha1\nkind: OperatorConfiguration\n"

// defaults are what an empty configuration means.
func defaults() OperatorConfiguration {
	return OperatorConfiguration{
		APIVersion: APIVersion, Kind: Kind, Workers: 32,
		Metrics: defaultMetrics(), Health: Endpoint{BindAddress: ":8081"}, Pprof: Endpoint{BindAddress: "0"}, BatchScheduler: BatchScheduler{Default: "kube", ApplicationIDs: AnyApplicationIDs, Quota: Quota{Mode: "Off", Order: BestEffortFIFO, AgingBound: seconds(600)}},
		LeaderElection:            LeaderElection{Name: lock, LeaseDuration: seconds(4), RenewDeadline: seconds(2.5), RetryPeriod: seconds(0.1)},
		Webhook:                   DefaultWebhook(),
		ScheduledSparkApplication: ScheduledSparkApplication{TimestampPrecision: "nanos"},
		UI:                        UI{Service: true, Ingress: UIIngress{Enabled: true}},
		Apache:                    Apache{SentinelPeriod: seconds(60)},
	}
}

func TestParse(t *testing.T) {
	cases := map[string]struct {
		reason string
		text   string
		want   func(*OperatorConfiguration)
	}{
		"Defaults":   {reason: "everything has a default", text: head, want: func(*OperatorConfiguration) {}},
		"Workers":    {reason: "a number", text: head + "workers: 3", want: func(c *OperatorConfiguration) { c.Workers = 3 }},
		"Namespaces": {reason: "a list", text: head + "namespaces: [a, b]", want: func(c *OperatorConfiguration) { c.Namespaces = []string{"a", "b"} }},
		"Selector":   {reason: "labels", text: head + "namespaceSelector: spark=enabled", want: func(c *OperatorConfiguration) { c.NamespaceSelector = "spark=enabled" }},
		"Policies": {reason: "a number is a quantity, too", text: head + "policies: [{name: a, namespaces: ['*'], limits: {executor: {cores: 4, memory: 16Gi}}}]", want: func(c *OperatorConfiguration) {
			c.Policies = policy.Set{{Name: "a", Namespaces: []string{"*"}, Limits: policy.Limits{Executor: policy.RoleLimits{Cores: "4", Memory: "16Gi"}}}}
		}},
		"Empty":     {reason: "an empty list is all", text: head + "namespaces: []", want: func(c *OperatorConfiguration) { c.Namespaces = []string{} }},
		"Metrics":   {reason: "0 turns it off", text: head + `metrics: {bindAddress: "0"}`, want: func(c *OperatorConfiguration) { c.Metrics.BindAddress = "0" }},
		"Pprof":     {reason: "for this machine only", text: head + `pprof: {bindAddress: "127.0.0.1:6060"}`, want: func(c *OperatorConfiguration) { c.Pprof.BindAddress = "127.0.0.1:6060" }},
		"Part":      {reason: "a section that says nothing keeps its default", text: head + "health: {}\nbatchScheduler: {}", want: func(*OperatorConfiguration) {}},
		"Leader":    {reason: "a section", text: head + "leaderElection: {enabled: true, namespace: ops}", want: func(c *OperatorConfiguration) { c.LeaderElection.Enabled, c.LeaderElection.Namespace = true, "ops" }},
		"Scheduler": {reason: "another default", text: head + "batchScheduler: {default: volcano}", want: func(c *OperatorConfiguration) { c.BatchScheduler.Default = "volcano" }},
		"Recorded": {reason: "another application's user would count", text: head + "submitter: {from: AdmissionPolicy}", want: func(c *OperatorConfiguration) {
			c.Submitter.From, c.BatchScheduler.ApplicationIDs = "AdmissionPolicy", OwnApplicationIDs
		}},
		"Shared":    {reason: "an administrator may mean it", text: head + "submitter: {from: AdmissionPolicy}\nbatchScheduler: {applicationIDs: Any}", want: func(c *OperatorConfiguration) { c.Submitter.From = "AdmissionPolicy" }},
		"Schedules": {reason: "a word", text: head + "scheduledSparkApplication: {timestampPrecision: minutes}", want: func(c *OperatorConfiguration) { c.ScheduledSparkApplication.TimestampPrecision = "minutes" }},
		"Submitter": {reason: "a time", text: head + "submitter: {from: AdmissionPolicy, since: 2026-11-29T08:00:00Z}", want: func(c *OperatorConfiguration) {
			c.BatchScheduler.ApplicationIDs = OwnApplicationIDs
			c.Submitter = Submitter{From: lifecycle.SubmitterFromPolicy, Since: metav1.NewTime(time.Date(2026, 11, 29, 8, 0, 0, 0, time.UTC).Local())}
		}},
		"Apache": {reason: "a section", text: head + "apache: {enabled: true, keepStateHistory: true, labelSelector: 'team in (a, b)', sentinelPeriod: 90s, workerPodDisruptionBudget: {enabled: false}}", want: func(c *OperatorConfiguration) {
			c.Apache = Apache{Enabled: true, KeepStateHistory: true, LabelSelector: "team in (a, b)", SentinelPeriod: seconds(90), WorkerPodDisruptionBudget: WorkerPodDisruptionBudget{Enabled: new(false)}}
		}},
		"JSON":     {reason: "JSON is YAML", text: `{"apiVersion":"config.firesteel.dev/v1alpha1","kind":"OperatorConfiguration","workers":2}`, want: func(c *OperatorConfiguration) { c.Workers = 2 }},
		"Comments": {reason: "people explain themselves", text: "# ours\n" + head + "workers: 32 # the default", want: func(*OperatorConfiguration) {}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := Parse([]byte(tc.text))
			if err != nil {
				t.Fatalf("%s: %v", tc.reason, err)
			}
			want := defaults()
			tc.want(&want)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestParseErrors(t *testing.T) {
	cases := map[string]struct {
		reason string
		text   string
		says   []string
	}{
		"Unknown":       {reason: "a field that does not exist", text: head + "worker: 3", says: []string{"decode configuration", "worker"}},
		"UnknownNested": {reason: "a field that does not exist", text: head + "batchScheduler: {name: x}", says: []string{"name"}},
		"Twice":         {reason: "one of two values would be lost", text: head + "workers: 3\nworkers: 4", says: []string{"workers"}},
		"Type":          {reason: "a word is no number", text: head + "workers: many", says: []string{"decode configuration", "workers"}},
		"NotYAML":       {reason: "no document", text: "\t{", says: []string{"decode configuration"}},
		"Nothing":       {reason: "the version is required", text: "", says: []string{"apiVersion and kind", APIVersion, Kind}},
		"OtherVersion":  {reason: "fields may mean something else there", text: "apiVersion: config.firesteel.dev/v2\nkind: OperatorConfiguration", says: []string{"config.firesteel.dev/v2", APIVersion}},
		"OtherKind":     {reason: "another document", text: "apiVersion: " + APIVersion + "\nkind: ConfigMap", says: []string{"ConfigMap", Kind}},
		"NoWorkers":     {reason: "no one would work", text: head + "workers: 0", says: []string{"workers: 0", "at least 1"}},
		"Precision":     {reason: "a unit that no name has", text: head + "scheduledSparkApplication: {timestampPrecision: hours}", says: []string{"scheduledSparkApplication.timestampPrecision", "hours", "nanos micros millis seconds minutes"}},
		"Negative":      {reason: "no one would work", text: head + "workers: -1", says: []string{"workers: -1", "at least 1"}},
		"Selector":      {reason: "no selector", text: head + `namespaceSelector: "a in"`, says: []string{`namespaceSelector: "a in"`, "label selector such as"}},
		"ApacheLabels":  {reason: "no selector of objects", text: head + `apache: {labelSelector: "a in"}`, says: []string{`apache.labelSelector: "a in"`, "label selector such as"}},
		"ApachePeriod":  {reason: "each edit is a write", text: head + `apache: {sentinelPeriod: 1s}`, says: []string{"apache.sentinelPeriod: 1s", "at least 10s"}},
		"SelectorMap":   {reason: "a selector is text, as kubectl takes it", text: head + "namespaceSelector: {matchLabels: {a: b}}", says: []string{"namespaceSelector"}},
		"Policy":        {reason: "a policy without a name", text: head + "policies: [{namespaces: [a]}]", says: []string{"policies[0].name"}},
		"PolicyField":   {reason: "a limit that does not exist would not hold", text: head + "policies: [{name: a, namespaces: [a], limits: {memory: 1Gi}}]", says: []string{"memory"}},
		"PolicyAmount":  {reason: "no quantity", text: head + "policies: [{name: a, namespaces: [a], limits: {driver: {memory: [1]}}}]", says: []string{"[1]", "16Gi"}},
		"NoNamespace":   {reason: "an empty name would mean all", text: head + `namespaces: [a, ""]`, says: []string{"namespaces", "leave the list empty"}},
		"Everything":    {reason: "all mistakes at once", text: "kind: X\nworkers: 0\nnamespaces: [\"\"]", says: []string{"apiVersion and kind", "workers", "namespaces"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := Parse([]byte(tc.text))
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

func TestParseIsStrict(t *testing.T) {
	cases := map[string]string{
		"a second document is ignored":             head + "---\nworkers: 3\n",
		"case is ignored":                          head + "Workers: 3\n",
		"an empty default names no scheduler":      head + "batchScheduler: {default: \"\"}\n",
		"a namespace that cannot exist is taken":   head + "namespaces: [\"Team A\"]\n",
		"an address that cannot be bound is taken": head + "metrics: {bindAddress: \"eighty\"}\n",
	}
	for name, text := range cases {
		if c, err := Parse([]byte(text)); err == nil {
			t.Errorf("%s: %+v", name, c)
		}
	}
}
