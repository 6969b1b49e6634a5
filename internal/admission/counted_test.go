// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/policy"
	"github.com/firesteel-dev/firesteel/internal/resolve"
	"github.com/firesteel-dev/firesteel/internal/spark"
	"github.com/firesteel-dev/firesteel/internal/testutil"
	"github.com/firesteel-dev/firesteel/internal/validation"
)

// ofQueue returns the usual application in a queue of Kueue. fields are parts of its spec, as YAML.
func ofQueue(t *testing.T, fields string) *v1beta2.SparkApplication {
	t.Helper()
	o := testutil.Pi()
	o.Spec.Executor.Instances = nil
	o.Labels = map[string]string{"kueue.x-k8s.io/queue-name": "jobs"}
	if err := yaml.Unmarshal([]byte("spec: {"+fields+"}"), o); err != nil {
		t.Fatal(err)
	}
	return o
}

// Finding 2 of the review of the schedulers: Kueue counts executor.instances, and an application could run more by other settings.
func TestExecutorsThatKueueDoesNotCount(t *testing.T) {
	const label = " (label kueue.x-k8s.io/queue-name)"
	const fixed = ", from spec.executor.instances" + label + "; use a fixed number of executors, and write it to spec.executor.instances"
	preset := func(conf map[string]string) policy.Set {
		return policy.Set{{Name: "scale", Namespaces: []string{"*"}, Defaults: policy.Defaults{SparkConf: conf}}}
	}
	unlabeled := func(o *v1beta2.SparkApplication) { o.Labels = nil }
	cases := map[string]struct {
		reason   string
		fields   string
		change   func(*v1beta2.SparkApplication)
		policies policy.Set
		record   lifecycle.Record
		want     []string
	}{
		"Counted": {reason: "finding 2: what Kueue counts runs", fields: `executor: {instances: 2}`},
		"Property": {
			reason: "finding 2: sparkConf sets a number that Kueue does not read", fields: `sparkConf: {spark.executor.instances: "5"}`,
			want: []string{`spec.sparkConf["spark.executor.instances"]: "5": up to 5 executors may run, and Kueue counts 0` + fixed},
		},
		"Field": {reason: "finding 2: the field wins over sparkConf", fields: `executor: {instances: 2}, sparkConf: {spark.executor.instances: "5"}`},
		"Maximum": {
			reason: "finding 2: the reproduction of the review",
			fields: `executor: {instances: 1}, sparkConf: {spark.dynamicAllocation.enabled: "true", spark.dynamicAllocation.maxExecutors: "50"}`,
			want:   []string{`spec.sparkConf["spark.dynamicAllocation.maxExecutors"]: "50": up to 50 executors may run, and Kueue counts 1` + fixed},
		},
		"Unlimited": {
			reason: "finding 2: no maximum is the largest", fields: `executor: {instances: 1}, sparkConf: {spark.dynamicAllocation.enabled: "TRUE "}`,
			want: []string{`spec.sparkConf["spark.dynamicAllocation.enabled"]: "TRUE ": any number of executors may run, and Kueue counts 1` + fixed},
		},
		"Reference": {
			reason: "finding 2: the value that Spark reads counts",
			fields: `executor: {instances: 1}, sparkConf: {spark.dynamicAllocation.enabled: "${spark.on}", spark.on: "true", spark.dynamicAllocation.maxExecutors: "${spark.most}", spark.most: "7"}`,
			want:   []string{`spec.sparkConf["spark.dynamicAllocation.maxExecutors"]: "7": up to 7 executors may run, and Kueue counts 1` + fixed},
		},
		"Initial": {
			reason: "finding 2: Spark starts with more than the maximum if told so",
			fields: `executor: {instances: 1}, sparkConf: {spark.dynamicAllocation.enabled: "true", spark.dynamicAllocation.initialExecutors: "9", spark.dynamicAllocation.maxExecutors: "1"}`,
			want:   []string{`spec.sparkConf["spark.dynamicAllocation.initialExecutors"]: "9": up to 9 executors may run, and Kueue counts 1` + fixed},
		},
		"Within": {
			reason: "finding 2: nothing is stepped around", fields: `executor: {instances: 5}, sparkConf: {spark.dynamicAllocation.enabled: "true", spark.dynamicAllocation.maxExecutors: "5"}`,
		},
		"TypedMaximum": {
			reason: "finding 2: Kueue's webhook, which refuses this, may be away", fields: `executor: {instances: 2}, dynamicAllocation: {enabled: true, maxExecutors: 8}`,
			want: []string{`spec.dynamicAllocation.maxExecutors: "8": up to 8 executors may run, and Kueue counts 2` + fixed},
		},
		"TypedUnlimited": {
			reason: "finding 2: Kueue's webhook may be away", fields: `dynamicAllocation: {enabled: true}`,
			want: []string{`spec.dynamicAllocation.enabled: "true": any number of executors may run, and Kueue counts 0` + fixed},
		},
		"Streaming": {
			reason: "finding 2: Spark Streaming has a dynamic allocation of its own",
			fields: `executor: {instances: 2}, sparkConf: {spark.streaming.dynamicAllocation.enabled: "true", spark.streaming.dynamicAllocation.maxExecutors: "40"}`,
			want:   []string{`spec.sparkConf["spark.streaming.dynamicAllocation.maxExecutors"]: "40": up to 40 executors may run, and Kueue counts 2` + fixed},
		},
		"StreamingUnlimited": {
			reason: "finding 2: no maximum is the largest",
			fields: `executor: {instances: 2}, sparkConf: {spark.streaming.dynamicAllocation.enabled: "true"}`,
			want:   []string{`spec.sparkConf["spark.streaming.dynamicAllocation.enabled"]: "true": any number of executors may run, and Kueue counts 2` + fixed},
		},
		"LeftOut": {
			reason: "finding 2: Kueue counts none, one runs",
			want:   []string{`spec.executor.instances: missing: 1 would run, and Kueue counts 0` + label + `; write 1`},
		},
		"Defaulted": {reason: "finding 2: Kueue reads what the webhook has written", change: kubeflow.Default},
		"Policy": {
			reason: "finding 2: an administrator's default changes the number", fields: `executor: {instances: 2}`,
			policies: preset(map[string]string{"spark.dynamicAllocation.enabled": "true", "spark.dynamicAllocation.maxExecutors": "30"}),
			want:     []string{`defaults.sparkConf of the operator's policy "scale": "30": up to 30 executors may run, and Kueue counts 2` + fixed},
		},
		"PolicyWithin": {
			reason: "finding 2: the default changes nothing, the field is set", fields: `executor: {instances: 2}`,
			policies: preset(map[string]string{"spark.executor.instances": "30"}),
		},
		"NoQueue": {
			reason: "Kueue does not count it", change: unlabeled,
			fields: `sparkConf: {spark.dynamicAllocation.enabled: "true"}`,
		},
		"EmptyQueue": {
			reason: "an empty name is none, for Kueue, too", change: func(o *v1beta2.SparkApplication) { o.Labels["kueue.x-k8s.io/queue-name"] = "" },
			fields: `sparkConf: {spark.dynamicAllocation.enabled: "true"}`,
		},
		"Running": {
			reason: "the label came after the start", record: lifecycle.Record{State: lifecycle.Running, Attempt: 1},
			fields: `sparkConf: {spark.dynamicAllocation.enabled: "true"}`,
		},
		"Resumed": {
			reason: "finding 2: each start is judged", record: lifecycle.Record{State: lifecycle.Resuming, Attempt: 2},
			fields: `executor: {instances: 1}, sparkConf: {spark.dynamicAllocation.enabled: "true", spark.dynamicAllocation.maxExecutors: "3"}`,
			want:   []string{`spec.sparkConf["spark.dynamicAllocation.maxExecutors"]: "3": up to 3 executors may run, and Kueue counts 1` + fixed},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o := ofQueue(t, tc.fields)
			if tc.change != nil {
				tc.change(o)
			}
			c := Validate(resolve.Load(kubeflow.SparkApplications{}, o, tc.record, resolve.Operator{Policies: tc.policies}, start))
			if diff := cmp.Diff(tc.want, sentences(c.App, c.Objections), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// Finding 2 of the review of the schedulers: Spark reads what nobody has written from options of the JVM, which the operator does not read.
func TestNumbersOfExecutorsAreWrittenDown(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, fields string
		want           map[string]string
	}{
		"Fixed": {
			"nothing turns dynamic allocation on", `executor: {instances: 2}, driver: {javaOptions: -Dspark.dynamicAllocation.enabled=true}`,
			map[string]string{
				spark.ConfExecutorInstances: "2", spark.ConfDynamicAllocation: "false", spark.ConfStreamingAllocation: "false",
				spark.ConfMinExecutors: "0", spark.ConfInitialExecutors: "0", spark.ConfMaxExecutors: "",
			},
		},
		"Dynamic": {
			"it starts with no more", `executor: {instances: 5}, sparkConf: {spark.dynamicAllocation.enabled: "true", spark.dynamicAllocation.minExecutors: "2", spark.dynamicAllocation.maxExecutors: "5"}`,
			map[string]string{
				spark.ConfExecutorInstances: "5", spark.ConfDynamicAllocation: "true", spark.ConfStreamingAllocation: "false",
				spark.ConfMinExecutors: "2", spark.ConfInitialExecutors: "2", spark.ConfMaxExecutors: "5",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			built := Validate(load(ofQueue(t, tc.fields), lifecycle.Record{})).Built
			for key, want := range tc.want {
				if got := built.Properties[key]; got != want {
					t.Errorf("%s: %s is %q, want %q", tc.reason, key, got, want)
				}
			}
		})
	}
	o := ofQueue(t, "executor: {instances: 2}")
	o.Labels = nil
	if properties := Validate(load(o, lifecycle.Record{})).Built.Properties; properties[spark.ConfDynamicAllocation] != "" {
		t.Errorf("without a queue, Spark's defaults stay: %v", properties)
	}
}

// Finding 2 of the review of the schedulers: pods can be larger than what Kueue counts of them.
func TestSizesThatKueueDoesNotCount(t *testing.T) {
	const reads = " (label kueue.x-k8s.io/queue-name); it reads coreRequest, coreLimit, memory, memoryLimit, gpu, sidecars and initContainers and nothing else"
	const driver = `executor: {instances: 1, coreRequest: "1", memory: 1g}, sparkConf: {spark.executor.memoryOverhead: "0"}, driver: `
	const exact = `sparkConf: {spark.driver.memoryOverhead: "0", spark.executor.memoryOverhead: "0"}, driver: {coreRequest: "1", memory: 1g}, `
	cases := map[string]struct {
		reason, fields string
		want           []string
	}{
		"Equal": {"nothing more runs", exact + `executor: {instances: 1, coreRequest: "1", memory: 1g}`, nil},
		"Cores": {
			"finding 2: cores, and Kueue reads coreRequest", exact + `executor: {instances: 1, cores: 4, memory: 1g}`,
			[]string{"spec.executor: a pod requests cpu 4, and Kueue counts cpu 0" + reads},
		},
		"Limit": {
			"a limit stands for the request", exact + `executor: {instances: 1, coreLimit: "4", coreRequest: "2", memory: 1g}`, nil,
		},
		"Overhead": {
			"finding 2: the overhead", driver + `{coreRequest: "1", memory: 1g}`,
			[]string{"spec.driver: a pod requests memory 1408Mi, and Kueue counts memory 1Gi" + reads},
		},
		"Memory": {
			"finding 2: memory by sparkConf", `sparkConf: {spark.executor.memory: 8g, spark.executor.memoryOverhead: "0", spark.driver.memoryOverhead: "0"}, ` +
				`driver: {coreRequest: "1", memory: 1g}, executor: {instances: 1, coreRequest: "1"}`,
			[]string{"spec.executor: a pod requests memory 8Gi, and Kueue counts memory 0" + reads},
		},
		"Template": {
			"finding 2: containers of a template", exact + `executor: {instances: 1, coreRequest: "1", memory: 1g, ` +
				`template: {spec: {containers: [{name: spark-kubernetes-executor}, {name: side, image: side, resources: {requests: {cpu: 500m, example.org/gpu: "1"}, limits: {example.org/gpu: "1"}}}]}}}`,
			[]string{"spec.executor: a pod requests cpu 1500m and example.org/gpu 1, and Kueue counts cpu 1 and example.org/gpu 0" + reads},
		},
		"Sidecar": {
			"Kueue counts sidecars and GPUs", exact + `executor: {instances: 1, coreRequest: "1", memory: 1g, gpu: {name: example.org/gpu, quantity: 1}, ` +
				`sidecars: [{name: side, image: side, resources: {requests: {cpu: 500m}}}], initContainers: [{name: init, image: init, resources: {limits: {memory: 4Gi}}}]}`, nil,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := Validate(load(ofQueue(t, tc.fields), lifecycle.Record{}))
			if len(c.Objections) > 0 {
				t.Fatal(sentences(c.App, c.Objections))
			}
			if diff := cmp.Diff(tc.want, validation.Sentences(c.Warnings()), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// Finding 7 of the review of the schedulers: one field let an application pass others in a full queue, or kept a queue idle.
func TestRequestsForTheGroup(t *testing.T) {
	const at = `spec.batchSchedulerOptions.resources`
	limit := policy.Set{{Name: "room", Namespaces: []string{"*"}, Limits: policy.Limits{Group: policy.RoleLimits{Cores: "40"}}}}
	cases := map[string]struct {
		reason, resources string
		policies          policy.Set
		want              string // of cpu
		warns             string
		refused           bool
	}{
		"None":    {reason: "nothing is written", resources: `{}`, want: "3"},
		"Less":    {reason: "it asks for what its pods request", resources: `{cpu: 1m}`, want: "3", warns: at + `["cpu"]: "1m": is less than the pods request: 3 is asked for`},
		"Same":    {reason: "it says what its pods request", resources: `{cpu: 3}`, want: "3"},
		"More":    {reason: "no policy allows it", resources: `{cpu: 40}`, want: "3", warns: at + `["cpu"]: "40": is more than the pods request: 3 is asked for, unless a policy of the operator allows more (limits.group)`},
		"Allowed": {reason: "a policy allows it", resources: `{cpu: 40}`, policies: limit, want: "40", warns: at + `["cpu"]: "40": is more than the pods request, 3: the scheduler keeps the rest idle`},
		"Beyond":  {reason: "a policy allows less", resources: `{cpu: 41}`, policies: limit, refused: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o := testutil.Pi()
			if err := yaml.Unmarshal([]byte(`spec: {executor: {instances: 2}, batchSchedulerOptions: {resources: `+tc.resources+`}}`), o); err != nil {
				t.Fatal(err)
			}
			c := Validate(resolve.Load(kubeflow.SparkApplications{}, o, lifecycle.Record{}, resolve.Operator{Policies: tc.policies}, start))
			if got := len(c.Objections) > 0; got != tc.refused {
				t.Fatalf("%s: %v", tc.reason, sentences(c.App, c.Objections))
			}
			if tc.refused {
				return
			}
			var warns []string
			for _, w := range c.Warnings() {
				warns = append(warns, validation.Sentences(field.ErrorList{w})...)
			}
			if total := c.attempt().Total(); total.Cpu().String() != tc.want || tc.warns != "" && !slices.Contains(warns, tc.warns) || tc.warns == "" && len(warns) > 0 {
				t.Errorf("%s: %s of cpu and %q, want %s and %q", tc.reason, total.Cpu(), warns, tc.want, tc.warns)
			}
		})
	}
}
