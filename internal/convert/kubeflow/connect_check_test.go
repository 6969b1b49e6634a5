// SPDX-License-Identifier: Apache-2.0

package kubeflow

import (
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1alpha1"
	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/spark"
	"github.com/firesteel-dev/firesteel/internal/testutil/heaptest"
	"github.com/firesteel-dev/firesteel/internal/validation"
)

func TestConnectProblems(t *testing.T) {
	long := strings.Repeat("a", 57)
	service := func(name string) func(*v1alpha1.SparkConnect) {
		return func(o *v1alpha1.SparkConnect) {
			o.Spec.Server.Service = &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name}}
		}
	}
	cases := map[string]struct {
		reason string
		change func(*v1alpha1.SparkConnect)
		want   []string
	}{
		"Good":      {reason: "nothing is wrong", change: func(*v1alpha1.SparkConnect) {}},
		"Malformed": {reason: "nothing else is known", change: func(o *v1alpha1.SparkConnect) { o.MalformedSpec, o.Spec = "no list", connectSpec{} }, want: []string{"spec: cannot be decoded: no list"}},
		"Name":      {reason: "a Service has to be called after it", change: func(o *v1alpha1.SparkConnect) { o.Name = "1.lab" }, want: []string{`metadata.name: invalid SparkConnect name "1.lab": must not contain dots`}},
		"Long":      {reason: "names are made from it", change: func(o *v1alpha1.SparkConnect) { o.Name = long }, want: []string{`metadata.name: invalid SparkConnect name "` + long + `": must be no more than 56 characters`}},
		"Longest":   {reason: "56 characters are enough", change: func(o *v1alpha1.SparkConnect) { o.Name = long[1:] }},
		"Version":   {reason: "the definition takes an empty text", change: func(o *v1alpha1.SparkConnect) { o.Spec.SparkVersion = " " }, want: []string{`spec.sparkVersion: missing; write the version of Spark in the image, such as "4.1.4"`}},
		"Service":   {reason: "no Service can be called so", change: service("My_Books"), want: []string{`spec.server.service.metadata.name: "My_Books": not the name of a Service; write at most 63 lower-case letters, digits and '-', such as "notebooks"`}},
		"NoService": {reason: "it is called after the server", change: service("")},
		"Idle":      {reason: "no time before now", change: func(o *v1alpha1.SparkConnect) { o.Spec.IdleTimeout = &metav1.Duration{Duration: -5 * time.Minute} }, want: []string{`spec.idleTimeout: "-5m0s": must not be negative; write e.g. "30m"`}},
		"Drain":     {reason: "no time before now", change: func(o *v1alpha1.SparkConnect) { o.Spec.DrainTimeout = &metav1.Duration{Duration: -time.Second} }, want: []string{`spec.drainTimeout: "-1s": must not be negative; write e.g. "30m"`}},
		"Zero": {reason: "both mean never", change: func(o *v1alpha1.SparkConnect) {
			o.Spec.IdleTimeout, o.Spec.DrainTimeout = &metav1.Duration{}, &metav1.Duration{}
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			app, problems := normalizeConnect(server(tc.change))
			if diff := cmp.Diff(tc.want, validation.Sentences(validation.ErrorList(app, problems)), same); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestConnectWarnings(t *testing.T) {
	cases := map[string]struct {
		reason string
		change func(*v1alpha1.SparkConnect)
		want   []string
	}{
		"Good": {reason: "nothing to say", change: func(*v1alpha1.SparkConnect) {}},
		"Unknown": {reason: "the template's schema is open", change: func(o *v1alpha1.SparkConnect) {
			o.UnknownFields = []string{"spec.server.template.x", "spec.server.template.spec.containers[0].imagePullPolice", "spec.executor.template.spec.nodeSelectors"}
		}, want: []string{
			"spec.server.template.x: unknown field, which has no effect; check its spelling",
			"spec.server.template.spec.containers[0].imagePullPolice: unknown field, which has no effect; did you mean imagePullPolicy?",
			"spec.executor.template.spec.nodeSelectors: unknown field, which has no effect; did you mean nodeSelector?",
		}},
		"Containers": {reason: "Spark would take another one", change: func(o *v1alpha1.SparkConnect) {
			o.Spec.Server.Template, o.Spec.Executor.Template = templateOf("main", ""), templateOf("work", "")
		}, want: []string{
			`spec.server.template: "main": no container is named spark-kubernetes-driver; the first one becomes Spark's`,
			`spec.executor.template: "work": no container is named spark-kubernetes-executor; the first one becomes Spark's`,
		}},
		"Resources": {reason: "what the template says of a resource holds; that of executors is overwritten", change: func(o *v1alpha1.SparkConnect) {
			for _, p := range []*v1alpha1.SparkPodSpec{&o.Spec.Server.SparkPodSpec, &o.Spec.Executor.SparkPodSpec} {
				p.CoreRequest, p.CoreLimit, p.GPU = new("500m"), new("2"), &v1beta2.GPUSpec{Name: "nvidia.com/gpu", Quantity: 1}
			}
			o.Spec.Server.Template, o.Spec.Executor.Template = templateOf("spark-kubernetes-driver", ""), templateOf("spark-kubernetes-executor", "")
			list := corev1.ResourceList{"cpu": resource.MustParse("3"), "nvidia.com/gpu": resource.MustParse("4")}
			o.Spec.Server.Template.Spec.Containers[0].Resources.Limits = list
			o.Spec.Executor.Template.Spec.Containers[0].Resources.Limits = list
		}, want: []string{
			`spec.server.gpu: "nvidia.com/gpu": has no effect: Spark's container in spec.server.template says how much nvidia.com/gpu it gets; write it there, or remove it there`,
			`spec.server.coreRequest: "500m": has no effect: Spark's container in spec.server.template says how much cpu it gets; write it there, or remove it there`,
			`spec.server.coreLimit: "2": has no effect: Spark's container in spec.server.template says how much cpu it gets; write it there, or remove it there`,
			`spec.executor.gpu: "nvidia.com/gpu": has no effect: Spark's container in spec.executor.template says how much nvidia.com/gpu it gets; write it there, or remove it there`,
		}},
		"NoGPU": {reason: "as in an application", change: func(o *v1alpha1.SparkConnect) {
			o.Spec.Executor.GPU = &v1beta2.GPUSpec{Name: "nvidia.com/gpu"}
		}, want: []string{`spec.executor.gpu: "nvidia.com/gpu": no GPU is requested; write a name and a positive quantity`}},
		"Properties": {reason: "nothing reads them", change: func(o *v1alpha1.SparkConnect) {
			o.Spec.SparkConf, o.Spec.HadoopConf = props{"sql.a": "b"}, props{"spark.a": "b", "spark.hadoop.x": "y", "z": ""}
		}, want: []string{
			`spec.sparkConf: "sql.a": has no effect: Spark reads properties that begin with "spark." and no others; write a Hadoop property in spec.hadoopConf`,
			`spec.hadoopConf: "spark.a": becomes spark.hadoop.spark.a, which Spark does not read; write it to spec.sparkConf`,
		}},
		"Service": {reason: "the operator's", change: func(o *v1alpha1.SparkConnect) {
			o.Spec.Server.Service = &corev1.Service{Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 1}}, Selector: props{"a": "b"}}}
		}, want: []string{
			"spec.server.service.spec.ports: has no effect: the operator sets the ports of the server",
			"spec.server.service.spec.selector: has no effect: the operator sets the selector",
		}},
		"Idle": {reason: "nobody would know", change: func(o *v1alpha1.SparkConnect) {
			o.Spec.IdleTimeout, o.Spec.SparkConf = &metav1.Duration{Duration: time.Hour}, props{"spark.ui.enabled": "FALSE"}
		}, want: []string{
			`spec.idleTimeout: "1h0m0s": has no effect without Spark's UI, which spark.ui.enabled turns off: only the UI reports executions`,
		}},
		"HiddenStreams": {reason: "finding 2: a server with a streaming query would be taken for idle", change: func(o *v1alpha1.SparkConnect) {
			o.Spec.IdleTimeout, o.Spec.SparkConf = &metav1.Duration{Duration: time.Hour}, props{"spark.sql.streaming.ui.enabled": "false"}
		}, want: []string{
			`spec.idleTimeout: "1h0m0s": has no effect without the page of streaming queries, which spark.sql.streaming.ui.enabled turns off: a server with a streaming query would be stopped`,
		}},
		"OldIdle": {reason: "Spark 3.4 has no such page (finding 20)", change: func(o *v1alpha1.SparkConnect) {
			o.Spec.SparkVersion, o.Spec.IdleTimeout = "3.4.4", &metav1.Duration{Duration: time.Hour}
		}, want: []string{`spec.idleTimeout: "1h0m0s": has no effect before Spark 3.5: older UIs do not report executions`}},
		"NeverIdle": {reason: "there is nothing to know", change: func(o *v1alpha1.SparkConnect) {
			o.Spec.IdleTimeout, o.Spec.SparkConf = &metav1.Duration{}, props{"spark.ui.enabled": "false"}
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			app, _ := normalizeConnect(server(tc.change))
			if diff := cmp.Diff(tc.want, validation.Sentences(validation.ErrorList(app, app.Warnings)), same); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// What decides whether a running server is replaced.
func TestConnectHash(t *testing.T) {
	cases := map[string]struct {
		reason string
		change func(*connectSpec)
		same   bool
	}{
		"Nothing":       {reason: "the same server", change: func(*connectSpec) {}, same: true},
		"Suspend":       {reason: "acts as it is", change: func(s *connectSpec) { s.Suspend = new(true) }, same: true},
		"Idle":          {reason: "acts as it is", change: func(s *connectSpec) { s.IdleTimeout = &metav1.Duration{Duration: 1} }, same: true},
		"Drain":         {reason: "acts as it is", change: func(s *connectSpec) { s.DrainTimeout = &metav1.Duration{Duration: 1} }, same: true},
		"Service":       {reason: "is not a part of the pod", change: func(s *connectSpec) { s.Server.Service = &corev1.Service{} }, same: true},
		"NoAllocation":  {reason: "means the same", change: func(s *connectSpec) { s.DynamicAllocation = &v1beta2.DynamicAllocation{MaxExecutors: new(int32(3))} }, same: true},
		"NoToken":       {reason: "means the same", change: func(s *connectSpec) { s.Authentication = &v1alpha1.AuthenticationSpec{} }, same: true},
		"Version":       {reason: "another Spark", change: func(s *connectSpec) { s.SparkVersion = "4.1.5" }},
		"Image":         {reason: "another image", change: func(s *connectSpec) { s.Image = new("b") }},
		"Conf":          {reason: "read once", change: func(s *connectSpec) { s.SparkConf = props{"spark.a": "b"} }},
		"Hadoop":        {reason: "read once", change: func(s *connectSpec) { s.HadoopConf = props{"a": "b"} }},
		"Memory":        {reason: "another pod", change: func(s *connectSpec) { s.Server.Memory = new("2g") }},
		"Template":      {reason: "another pod", change: func(s *connectSpec) { s.Server.Template = templateOf("a", "b") }},
		"Executors":     {reason: "read once", change: func(s *connectSpec) { s.Executor.Instances = new(int32(2)) }},
		"Allocation":    {reason: "read once", change: func(s *connectSpec) { s.DynamicAllocation = &v1beta2.DynamicAllocation{Enabled: true} }},
		"Token":         {reason: "another variable", change: func(s *connectSpec) { s.Authentication = &v1alpha1.AuthenticationSpec{Token: true} }},
		"Scheduler":     {reason: "another scheduler", change: func(s *connectSpec) { s.BatchScheduler = new("kube") }},
		"Queue":         {reason: "another queue", change: func(s *connectSpec) { s.BatchSchedulerOptions = &v1beta2.BatchSchedulerConfiguration{Queue: new("q")} }},
		"NotMalformed":  {reason: "an empty image", change: func(s *connectSpec) { s.Image = nil }},
		"ServerVersion": {reason: "an empty template is one", change: func(s *connectSpec) { s.Executor.Template = &corev1.PodTemplateSpec{} }},
	}
	for name, tc := range cases {
		o := ofSpec(tc.change)
		before := o.DeepCopy()
		if same := ConnectHash(o) == ConnectHash(server()); same != tc.same {
			t.Errorf("%s: %s: the same server: %t", name, tc.reason, same)
		}
		if diff := cmp.Diff(before, o); diff != "" {
			t.Errorf("%s: the object was changed:\n%s", name, diff)
		}
	}
	if malformed := server(func(o *v1alpha1.SparkConnect) { o.MalformedSpec = "x" }); ConnectHash(malformed) == ConnectHash(server()) {
		t.Error("what cannot be decoded is another server")
	}
}

// The hash is stored with every server and on its pod: a release that computes another one would replace all servers of the cluster at
// the next edit. Never update the value, but in the commit that adds a new field to the manifest.
func TestConnectHashIsStable(t *testing.T) {
	var o v1alpha1.SparkConnect
	text, err := os.ReadFile("../../../api/sparkoperator/v1alpha1/testdata/every-field.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(text, &o); err != nil || o.MalformedSpec != "" {
		t.Fatal(err, o.MalformedSpec)
	}
	for want, o := range map[string]*v1alpha1.SparkConnect{"140315ba3f322a72": &o, "8631af478941a612": server()} {
		if got := ConnectHash(o); got != want {
			t.Errorf("%s has the hash %s, want %s", o.Name, got, want)
		}
	}
}

func TestConnectDesired(t *testing.T) {
	again := lifecycle.RetryPolicy{Retries: math.MaxInt32, Initial: 10 * time.Second, Max: 5 * time.Minute}
	const none = lifecycle.Unbounded
	base := lifecycle.Application{
		UID: "uid-lab", Generation: 1, SpecHash: ConnectHash(server()), Fields: sparkConnects.Fields, Endures: true, Drain: 10 * time.Minute,
		Policies: lifecycle.Policies{
			Restart:   lifecycle.Restart{Type: lifecycle.Always, Failures: again, Submissions: again, Evictions: again, ResetAfter: 10 * time.Minute},
			Deadlines: lifecycle.Deadlines{Queued: none, DriverScheduled: none, DriverReady: none, FirstExecutors: none, Run: none},
		},
	}
	cases := map[string]struct {
		reason string
		change func(*v1alpha1.SparkConnect)
		record lifecycle.Record
		want   func(*lifecycle.Application)
	}{
		"Default": {reason: "kept alive", want: func(*lifecycle.Application) {}},
		"Times": {
			reason: "the user's", change: func(o *v1alpha1.SparkConnect) {
				o.Spec.IdleTimeout, o.Spec.DrainTimeout = &metav1.Duration{Duration: time.Hour}, &metav1.Duration{}
			}, want: func(a *lifecycle.Application) { a.IdleTimeout, a.Drain = time.Hour, 0 },
		},
		"Wrong": {
			reason: "invalid times have their defaults", change: func(o *v1alpha1.SparkConnect) {
				o.Spec.IdleTimeout, o.Spec.DrainTimeout = &metav1.Duration{Duration: -1}, &metav1.Duration{Duration: -1}
			}, want: func(*lifecycle.Application) {},
		},
		"Suspend":  {reason: "the user's", change: func(o *v1alpha1.SparkConnect) { o.Spec.Suspend = new(true) }, want: func(a *lifecycle.Application) { a.Suspend = true }},
		"Deleting": {reason: "it is going", change: func(o *v1alpha1.SparkConnect) { o.DeletionTimestamp = &metav1.Time{Time: now} }, want: func(a *lifecycle.Application) { a.Deleting = true }},
		"Recorded": {reason: "a newer operator replaces nothing", record: lifecycle.Record{SpecHash: "old", Generation: 1}, want: func(a *lifecycle.Application) { a.SpecHash = "old" }},
		"Edited":   {reason: "another generation is looked at", record: lifecycle.Record{SpecHash: "old", Generation: 7}, want: func(*lifecycle.Application) {}},
		"Evicted": {
			reason: "the user's limit", change: func(o *v1alpha1.SparkConnect) {
				o.Spec.BatchSchedulerOptions = &v1beta2.BatchSchedulerConfiguration{MaxEvictions: new(int32(2))}
			}, want: func(a *lifecycle.Application) {
				a.Policies.Restart.RestartsEvicted = true
				a.Policies.Restart.Evictions = lifecycle.RetryPolicy{Retries: 2, Initial: defaultBackoff, Max: defaultMaxBackoff}
			},
		},
		"NeverAgain": {
			reason: "the user's wish", change: func(o *v1alpha1.SparkConnect) {
				o.Spec.BatchSchedulerOptions = &v1beta2.BatchSchedulerConfiguration{OnEviction: v1beta2.EvictionPolicyFail}
			}, want: func(a *lifecycle.Application) {
				a.Policies.Restart.Evictions = lifecycle.RetryPolicy{Initial: defaultBackoff, Max: defaultMaxBackoff}
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o, want := server(), base
			if tc.change != nil {
				tc.change(o)
			}
			want.SpecHash = ConnectHash(o)
			tc.want(&want)
			if diff := cmp.Diff(want, SparkConnects{}.Desired(o, tc.record)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// FuzzNormalizeConnect feeds everything that the API server can store.
func FuzzNormalizeConnect(f *testing.F) {
	for _, text := range []string{
		`{}`, `{"spec":null}`, `{"metadata":{"name":"a","labels":{"":""}},"spec":{"server":{"service":{"spec":{"ports":[{}]}}},"idleTimeout":"-1s"}}`,
		`{"spec":{"server":{"template":{"spec":{"containers":"none"}}}}}`, `{"spec":{"hadoopConf":{"a":"1","spark.hadoop.a":"2"},"sparkConf":{"spark.ui.port":"${x}"}}}`,
	} {
		f.Add([]byte(text))
	}
	for _, conf := range heaptest.Bombs() {
		text, err := json.Marshal(ofSpec(func(s *connectSpec) { s.SparkConf = conf }))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		defer heaptest.Bound(t, len(text))()
		var o v1alpha1.SparkConnect
		if json.Unmarshal(text, &o) != nil {
			return // the API server would not have stored it
		}
		before := o.DeepCopy()
		app, problems := normalizeConnect(&o)
		again, _ := normalizeConnect(&o)
		if diff := cmp.Diff(app, again); diff != "" {
			t.Fatalf("not deterministic:\n%s", diff)
		}
		for _, p := range problems {
			if p.Problem == "" || p.Field == spark.FieldSpec && p.Key == "" && app.Malformed == "" {
				t.Errorf("a problem names its field and what is wrong: %+v", p)
			}
		}
		for _, m := range []map[string]string{app.Conf, app.OperatorConf, app.Labels} {
			if m != nil {
				m["written.by.a.later.step"] = "x"
			}
		}
		if app.Origins != nil {
			app.Origins["written.by.a.later.step"] = spark.Origin{}
		}
		if diff := cmp.Diff(before, &o); diff != "" {
			t.Fatalf("the model shares a map with the input (-before +after):\n%s", diff)
		}
	})
}
