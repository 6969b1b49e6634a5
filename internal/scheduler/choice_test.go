// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/firesteel-dev/firesteel/internal/spark"
)

// offered is a registry as an administrator may configure it.
func offered(t *testing.T, change func(*Policy)) *Registry {
	t.Helper()
	queues := Descriptor{Supports: Support{Queues: true}, DefaultQueue: "default"}
	policy := Policy{Default: "plain", Enabled: []string{"plain", "queued", "lined"}, NamespaceDefaults: true}
	if change != nil {
		change(&policy)
	}
	r, err := NewRegistryFor(policy,
		stub{name: "plain", descriptor: Descriptor{NoBatchScheduler: true}}, stub{name: "queued", descriptor: queues}, stub{name: "spare"},
		stub{name: "lined", descriptor: Descriptor{Supports: Support{Queues: true}, DefaultQueue: "root.default"}})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestResolve(t *testing.T) {
	annotated := map[string]string{AnnotationScheduler: "queued", AnnotationQueue: "team"}
	cases := map[string]struct {
		reason  string
		policy  func(*Policy)
		request SelectionRequest
		want    Choice
	}{
		"Cluster":     {reason: "no one chose", want: Choice{Scheduler: "plain", Source: SourceCluster}},
		"Application": {reason: "the application's word comes first", request: SelectionRequest{Scheduling: spark.Scheduling{Scheduler: "queued", Queue: "mine"}, NamespaceAnnotations: annotated}, want: Choice{Scheduler: "queued", Source: SourceApplication, Queue: "mine"}},
		"Namespace":   {reason: "then the namespace's", request: SelectionRequest{NamespaceAnnotations: annotated}, want: Choice{Scheduler: "queued", Source: SourceNamespace, Queue: "team"}},
		"NotAllowed": {
			reason: "annotations count only if the administrator says so", policy: func(p *Policy) { p.NamespaceDefaults = false },
			request: SelectionRequest{NamespaceAnnotations: annotated}, want: Choice{Scheduler: "plain", Source: SourceCluster},
		},
		"OptOut":       {reason: "none is the plain one, whatever the defaults", policy: func(p *Policy) { p.Default = "queued" }, request: SelectionRequest{Scheduling: spark.Scheduling{Scheduler: "none"}, NamespaceAnnotations: annotated}, want: Choice{Scheduler: "plain", Source: SourceApplication}},
		"OwnQueue":     {reason: "the application's queue with the namespace's scheduler", request: SelectionRequest{Scheduling: spark.Scheduling{Queue: "mine"}, NamespaceAnnotations: annotated}, want: Choice{Scheduler: "queued", Source: SourceNamespace, Queue: "mine"}},
		"QueueOnly":    {reason: "a namespace may name a queue alone", request: SelectionRequest{Scheduling: spark.Scheduling{Scheduler: "queued"}, NamespaceAnnotations: map[string]string{AnnotationQueue: "team"}}, want: Choice{Scheduler: "queued", Source: SourceApplication, Queue: "team"}},
		"PluginQueue":  {reason: "the plugin's own default", request: SelectionRequest{Scheduling: spark.Scheduling{Scheduler: "queued"}}, want: Choice{Scheduler: "queued", Source: SourceApplication, Queue: "default"}},
		"ConfigQueue":  {reason: "the configuration wins over the plugin", policy: func(p *Policy) { p.DefaultQueues = map[string]string{"queued": "batch"} }, request: SelectionRequest{Scheduling: spark.Scheduling{Scheduler: "queued"}}, want: Choice{Scheduler: "queued", Source: SourceApplication, Queue: "batch"}},
		"Policy":       {reason: "the default of a policy comes before the namespace's", request: SelectionRequest{Scheduling: spark.Scheduling{Scheduler: "queued", SchedulerFrom: "a policy", Queue: "theirs", QueueFrom: "a policy"}, NamespaceAnnotations: annotated}, want: Choice{Scheduler: "queued", Source: SourcePolicy, Queue: "theirs"}},
		"OtherQueue":   {reason: "a queue that is meant for the namespace's scheduler is none of another's", request: SelectionRequest{Scheduling: spark.Scheduling{Scheduler: "lined"}, NamespaceAnnotations: annotated}, want: Choice{Scheduler: "lined", Source: SourceApplication, Queue: "root.default"}},
		"SameQueue":    {reason: "anyone who names the namespace's scheduler gets its queue", request: SelectionRequest{Scheduling: spark.Scheduling{Scheduler: "queued"}, NamespaceAnnotations: annotated}, want: Choice{Scheduler: "queued", Source: SourceApplication, Queue: "team"}},
		"NoQueues":     {reason: "an annotation for the namespace's batch scheduler is not for the plain one", request: SelectionRequest{NamespaceAnnotations: map[string]string{AnnotationQueue: "team"}}, want: Choice{Scheduler: "plain", Source: SourceCluster}},
		"Recorded":     {reason: "an attempt keeps what was chosen for it", policy: func(p *Policy) { p.Default = "queued" }, request: SelectionRequest{NamespaceAnnotations: annotated, Recorded: &Choice{Scheduler: "plain", Source: SourceCluster}}, want: Choice{Scheduler: "plain", Source: SourceCluster}},
		"RecordedTeam": {reason: "the queue, too", request: SelectionRequest{Scheduling: spark.Scheduling{Queue: "new"}, Recorded: &Choice{Scheduler: "queued", Source: SourceNamespace, Queue: "old"}}, want: Choice{Scheduler: "queued", Source: SourceNamespace, Queue: "old"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, admission := offered(t, tc.policy).Resolve(tc.request)
			if got.Plugin == nil {
				t.Fatalf("%s: no plugin: %+v", tc.reason, admission)
			}
			if diff := cmp.Diff(tc.want, got.Choice); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if described := got.Plugin.Describe().Name; described != tc.want.Scheduler {
				t.Errorf("%s: the plugin is %q", tc.reason, described)
			}
		})
	}
}

func TestResolveRefuses(t *testing.T) {
	rules := func(p *Policy) {
		p.AllowedQueues = []QueueRule{
			{Namespaces: []string{"team-*"}, Queues: []string{"root.team.*", "shared"}}, {Namespaces: []string{"team-a"}, Queues: []string{"a"}},
		}
	}
	queued := func(queue string) spark.Scheduling { return spark.Scheduling{Scheduler: "queued", Queue: queue} }
	cases := map[string]struct {
		reason  string
		policy  func(*Policy)
		request SelectionRequest
		verdict Verdict
		code    Reason
		says    []string
	}{
		"Unknown":   {reason: "it may be configured later", request: SelectionRequest{Scheduling: spark.Scheduling{Scheduler: "vulcano"}}, verdict: Unavailable, code: ReasonSchedulerUnknown, says: []string{"batchScheduler", `"vulcano" is not known`, "known: lined, plain, queued"}},
		"Case":      {reason: "names are exact", request: SelectionRequest{Scheduling: spark.Scheduling{Scheduler: "Plain"}}, verdict: Unavailable, code: ReasonSchedulerUnknown},
		"Space":     {reason: "names are exact", request: SelectionRequest{Scheduling: spark.Scheduling{Scheduler: " plain"}}, verdict: Unavailable, code: ReasonSchedulerUnknown},
		"Disabled":  {reason: "compiled in, but not for users", request: SelectionRequest{Scheduling: spark.Scheduling{Scheduler: "spare"}}, verdict: Unavailable, code: ReasonSchedulerDisabled, says: []string{`"spare" is not enabled`, "batchScheduler.enabled"}},
		"Annotated": {reason: "the mistake is in the namespace", request: SelectionRequest{NamespaceAnnotations: map[string]string{AnnotationScheduler: "x"}}, verdict: Unavailable, code: ReasonSchedulerUnknown, says: []string{AnnotationScheduler, `"x"`}},
		"Policy": {
			reason: "the mistake is in a policy", verdict: Unavailable, code: ReasonSchedulerUnknown,
			request: SelectionRequest{Scheduling: spark.Scheduling{Scheduler: "x", SchedulerFrom: `the policy "a"`}}, says: []string{`the policy "a": "x" is not known`},
		},
		"FormerPolicy": {
			reason: "a policy that was changed since", verdict: Unavailable, code: ReasonSchedulerUnknown,
			request: SelectionRequest{Recorded: &Choice{Scheduler: "x", Source: SourcePolicy}}, says: []string{`a policy of the operator: "x" is not known`},
		},
		"PolicyQueue": {
			reason: "the queue is a policy's", verdict: Reject, code: ReasonQueueForbidden, policy: rules,
			request: SelectionRequest{Namespace: "team-b", Scheduling: spark.Scheduling{Scheduler: "queued", Queue: "a", QueueFrom: `the policy "a"`}}, says: []string{`the policy "a": queue "a" may not be used`},
		},
		"RecordedQueue": {
			reason: "the queue was not the policy's", verdict: Reject, code: ReasonQueueForbidden, policy: rules, says: []string{`batchScheduler.queue: queue "a" may not be used`},
			request: SelectionRequest{Namespace: "team-b", Scheduling: spark.Scheduling{Queue: "b", QueueFrom: `the policy "a"`}, Recorded: &Choice{Scheduler: "queued", Queue: "a"}},
		},
		"Withdrawn": {reason: "a plugin that was disabled since", request: SelectionRequest{Recorded: &Choice{Scheduler: "spare", Source: SourceApplication}}, verdict: Unavailable, code: ReasonSchedulerDisabled},
		"Forbidden": {reason: "another team's queue", policy: rules, request: SelectionRequest{Namespace: "team-b", Scheduling: queued("a")}, verdict: Reject, code: ReasonQueueForbidden, says: []string{`queue "a" may not be used from namespace "team-b"`, "queues you may use: root.team.*, shared"}},
		"NoRule":    {reason: "a namespace without a rule has no queue", policy: rules, request: SelectionRequest{Namespace: "other", Scheduling: queued("a")}, verdict: Reject, code: ReasonQueueForbidden, says: []string{"no queue that you may use"}},
		"Default":   {reason: "the default queue is no exception", policy: rules, request: SelectionRequest{Namespace: "team-a", Scheduling: queued("")}, verdict: Reject, code: ReasonQueueForbidden, says: []string{`queue "default"`}},
		"NotNamed": {
			reason: "anyone who must name a queue gets a message", request: SelectionRequest{Namespace: "team-a", Scheduling: queued(""), Recorded: &Choice{Scheduler: "queued"}},
			policy: rules, verdict: Reject, code: ReasonQueueForbidden, says: []string{"must name a queue"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, admission := offered(t, tc.policy).Resolve(tc.request)
			if got.Plugin != nil || admission.Verdict != tc.verdict || admission.Reason != tc.code {
				t.Fatalf("%s: %+v, want %s, %s and no plugin", tc.reason, admission, tc.verdict, tc.code)
			}
			if (admission.RetryAfter > 0) != (tc.verdict == Unavailable) {
				t.Errorf("%s: retry after %s: a configuration may change, a refusal stays", tc.reason, admission.RetryAfter)
			}
			for _, text := range tc.says {
				if !strings.Contains(admission.Message, text) {
					t.Errorf("%s: the sentence does not say %q: %s", tc.reason, text, admission.Message)
				}
			}
		})
	}
}

func TestAllowedQueues(t *testing.T) {
	rules := func(p *Policy) {
		p.AllowedQueues = []QueueRule{{Namespaces: []string{"*"}, Queues: []string{"root.*"}}, {Namespaces: []string{"a"}, Queues: []string{"default", "root.*"}}}
	}
	got, admission := offered(t, rules).Resolve(SelectionRequest{Namespace: "a", Scheduling: spark.Scheduling{Scheduler: "queued", Queue: "root.x.y"}})
	if got.Plugin == nil {
		t.Fatalf("a pattern crosses the levels of a queue's path: %+v", admission)
	}
	if diff := cmp.Diff([]string{"default", "root.*"}, got.UsableQueues); diff != "" {
		t.Errorf("the rules of a namespace are one list (-want +got):\n%s", diff)
	}
	for queue, want := range map[string]bool{"root.a": true, "default": true, "rooted": false, "": false} {
		if may := (Attempt{UsableQueues: got.UsableQueues}).MayUse(queue); may != want {
			t.Errorf("queue %q: %t", queue, may)
		}
	}
	if !(Attempt{}).MayUse("anything") {
		t.Error("without rules everything is allowed")
	}
	plain, _ := offered(t, rules).Resolve(SelectionRequest{Namespace: "a", Scheduling: spark.Scheduling{Queue: "ignored"}})
	if plain.Plugin == nil {
		t.Error("a scheduler without queues ignores the queue and its rules")
	}
}

func TestUsable(t *testing.T) {
	many := strings.Split("a b c d e f g h i j k l", " ")
	for want, queues := range map[string][]string{
		"there is no queue that you may use":                          {},
		"queues you may use: a":                                       {"a"},
		"queues you may use: a, b, c, d, e, f, g, h, i, j and 2 more": many,
	} {
		if got := Usable(queues); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestNewRegistryForErrors(t *testing.T) {
	cases := map[string]struct {
		reason string
		policy Policy
		says   []string
	}{
		"Default":  {reason: "no one would start", policy: Policy{Default: "x"}, says: []string{"batchScheduler.default", `"x"`, "known: a, b"}},
		"Enabled":  {reason: "a typo would disable it silently", policy: Policy{Default: "a", Enabled: []string{"a", "x"}}, says: []string{"batchScheduler.enabled", `"x"`}},
		"Plugins":  {reason: "settings for no one", policy: Policy{Default: "a", DefaultQueues: map[string]string{"x": "q"}}, says: []string{"batchScheduler.plugins", `"x"`}},
		"Excluded": {reason: "the default must be usable", policy: Policy{Default: "a", Enabled: []string{"b"}}, says: []string{"batchScheduler.default", `"a"`, "enabled: b"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := NewRegistryFor(tc.policy, stub{name: "a"}, stub{name: "b"})
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

// What is enabled without a word: the default, and the way out of it.
func TestEnabledByDefault(t *testing.T) {
	cases := map[string][]string{"b": {"b", "p"}, "p": {"p"}}
	for fallback, want := range cases {
		r, err := NewRegistryFor(Policy{Default: fallback}, stub{name: "a"}, stub{name: "b"}, stub{name: "p", descriptor: Descriptor{NoBatchScheduler: true}})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, r.Names()); diff != "" {
			t.Errorf("default %s (-want +got):\n%s", fallback, diff)
		}
	}
}

func TestAdmissionsComeFirst(t *testing.T) {
	full := stub{name: "gate", admission: Admission{Verdict: Wait, Reason: "Full"}}
	r := offered(t, func(p *Policy) { p.Admissions = []Plugin{full} })
	got, _ := r.Resolve(SelectionRequest{})
	plan, err := AdmitAttempt(got.Plugin, Attempt{}, nil)
	if err != nil || plan.Reason != "Full" {
		t.Errorf("%+v, %v: want the gate's answer", plan, err)
	}
	if n := len(r.Plugins()); n != 4 {
		t.Errorf("%d plugins to look after, want the three enabled ones and the gate", n)
	}
}

// A plugin that is asked first may have objects of its own, and may withdraw: it is asked in whatever comes after, too.
func TestAdmissionsAreAskedToTheEnd(t *testing.T) {
	cases := map[string]struct {
		reason     string
		admissions []Plugin
		placement  Plugin
		observes   bool
		stage      Stage
		released   []Ref
	}{
		"None":      {reason: "nothing more is known than the pods show", placement: stub{name: "b"}, stage: StageGone},
		"Silent":    {reason: "the admission does not observe", admissions: []Plugin{stub{name: "gate"}}, placement: stub{name: "b"}, stage: StageGone},
		"Placement": {reason: "placement observes alone", admissions: []Plugin{stub{name: "gate"}}, placement: observer{stub{name: "b"}}, observes: true, stage: StageReserving, released: []Ref{{Name: "b"}}},
		"Withdrawn": {reason: "placement does not observe, but the admission does", admissions: []Plugin{stopper{}}, placement: stub{name: "b"}, observes: true, stage: StageEvicted},
		"Objects":   {reason: "the objects of all of them go", admissions: []Plugin{observer{stub{name: "first"}}, observer{stub{name: "second"}}}, placement: observer{stub{name: "b"}}, observes: true, stage: StageReserving, released: []Ref{{Name: "b"}, {Name: "second"}, {Name: "first"}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r, err := NewRegistryFor(Policy{Default: "a", Enabled: []string{"a", "b"}, Admissions: tc.admissions}, stub{name: "a"}, tc.placement)
			if err != nil {
				t.Fatal(err)
			}
			p, observes := r.Observer("b")
			if observes != tc.observes {
				t.Errorf("%s: observes: %t", tc.reason, observes)
			}
			if got, err := Observe(p, Attempt{}, nil, PodStatuses{}); err != nil || got.Stage != tc.stage {
				t.Errorf("%s: %+v, %v; want %s", tc.reason, got, err, tc.stage)
			}
			compiled, known := r.Compiled("b")
			if !known {
				t.Fatal("it is compiled in")
			}
			refs, err := Release(compiled, Attempt{})
			if diff := cmp.Diff(tc.released, refs); diff != "" || err != nil {
				t.Errorf("%s: %v (-want +got):\n%s", tc.reason, err, diff)
			}
		})
	}
}

// Lines go by the scheduler that takes the pods, and by the class that they have, whatever field names it (finding 10).
func TestPlacement(t *testing.T) {
	plain := stub{name: "plain", decorate: DecoratePriorityClass, descriptor: Descriptor{NoBatchScheduler: true}}
	gang := stub{name: "gang", schedulerName: "gang-scheduler", decorate: DecoratePriorityClass}
	r, err := NewRegistryFor(Policy{Default: "plain", Enabled: []string{"plain", "gang"}}, plain, gang)
	if err != nil {
		t.Fatal(err)
	}
	of := func(class, driver, executor, driverScheduler string) Attempt {
		a := Attempt{PriorityClass: class}
		a.PodSets.DriverAttributes = spark.PodAttributes{PriorityClassName: driver, SchedulerName: driverScheduler}
		a.PodSets.ExecutorAttributes = spark.PodAttributes{PriorityClassName: executor}
		return a
	}
	cases := map[string]struct {
		reason           string
		plugin           Plugin
		a                Attempt
		classes, plugins []string
	}{
		"Nothing":  {reason: "no field names anything", plugin: plain, classes: []string{""}},
		"Chosen":   {reason: "the plugin's scheduler takes the pods", plugin: gang, a: of("high", "", "", ""), classes: []string{"high"}, plugins: []string{"gang"}},
		"ByPods":   {reason: "a pod names it itself", plugin: plain, a: of("", "", "", "gang-scheduler"), classes: []string{""}, plugins: []string{"gang"}},
		"Unknown":  {reason: "no plugin has such a scheduler", plugin: plain, a: of("", "", "", "other"), classes: []string{""}},
		"Driver":   {reason: "its executors have no class", plugin: plain, a: of("", "high", "", ""), classes: []string{"", "high"}},
		"Template": {reason: "a field of the pod wins over the application's, and that over a template's", plugin: plain, a: of("high", "low", "", ""), classes: []string{"high", "low"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			classes, plugins := r.placement(tc.plugin, tc.a)
			if diff := cmp.Diff([][]string{tc.classes, tc.plugins}, [][]string{classes, plugins}); diff != "" {
				t.Errorf("%s: classes, plugins (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
