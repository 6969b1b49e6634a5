// SPDX-License-Identifier: Apache-2.0

package apache

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/policy"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/spark"
	"github.com/firesteel-dev/firesteel/internal/standalone"
)

// Everything that a decision needs to know of a cluster is taken from its object, from what was loaded, and from its scheduler's plugin.
func TestDesiredClusters(t *testing.T) {
	ref := func(kind, name string) standalone.Ref { return standalone.Ref{Kind: kind, Name: name} }
	optional := []standalone.Ref{ref("HorizontalPodAutoscaler", "c-worker-hpa"), ref("PodDisruptionBudget", "c-worker-pdb")}
	services := []standalone.Part{{Ref: ref("Service", "c-master-svc")}, {Ref: ref("Service", "c-worker-svc")}}
	sets := func(master, worker standalone.Part) []standalone.Part {
		master.Ref, worker.Ref, master.Runs, worker.Runs = ref("StatefulSet", "c-master"), ref("StatefulSet", "c-worker"), true, true
		return append(append([]standalone.Part{}, services...), master, worker, standalone.Part{Ref: ref("NetworkPolicy", "c-worker")})
	}
	gang := scheduler.Descriptor{SchedulerName: "volcano", ManagedKeys: []scheduler.PodKey{
		{Part: scheduler.PodLabel, Key: "group"}, {Part: scheduler.PodAnnotation, Key: "group"}, {Part: scheduler.PodLabel, Key: "queue"}, {Part: scheduler.PodPriorityClass},
	}}
	all := standalone.Fixed{Scheduler: true, Labels: []string{"group", "queue"}, Annotations: []string{"group"}}
	cases := map[string]struct {
		reason, spec string
		edit         func(*v1.SparkCluster)
		loaded       standalone.Loaded
		plugin       scheduler.Descriptor
		want         standalone.Cluster
	}{
		"Plain": {reason: "a fixed number of workers needs nothing beside them", want: standalone.Cluster{Parts: sets(standalone.Part{}, standalone.Part{})}},
		"Scaled": {
			reason: "the autoscaler's number of workers is not corrected", spec: "clusterTolerations: {instanceConfig: {initWorkers: 2, minWorkers: 1, maxWorkers: 3}}",
			want: standalone.Cluster{Parts: append(sets(standalone.Part{}, standalone.Part{Scaled: true, Min: 1, Max: 3}), standalone.Part{Ref: optional[0], Runs: true}, standalone.Part{Ref: optional[1], Runs: true})},
		},
		"Fixed": {
			reason: "as many at least as at most: evictions leave one", spec: "clusterTolerations: {instanceConfig: {initWorkers: 2, minWorkers: 2, maxWorkers: 2}}",
			want: standalone.Cluster{Parts: append(sets(standalone.Part{}, standalone.Part{Min: 2, Max: 2}), standalone.Part{Ref: optional[1], Runs: true})},
		},
		"Gang": {
			reason: "what the plugin lays over the pods stays until the next start, but for what their user has written", plugin: gang,
			spec: `masterSpec: {statefulSetSpec: {template: {metadata: {labels: {queue: mine}}}}}
workerSpec: {statefulSetSpec: {template: {metadata: {labels: {group: mine}, annotations: {group: mine}}}}}`,
			want: standalone.Cluster{Parts: sets(
				standalone.Part{Fixed: standalone.Fixed{Scheduler: true, Labels: []string{"group"}, Annotations: []string{"group"}}},
				standalone.Part{Fixed: standalone.Fixed{Scheduler: true, Labels: []string{"queue"}}})},
		},
		"GangOfAll": {reason: "their user has written nothing", plugin: gang, want: standalone.Cluster{Parts: sets(standalone.Part{Fixed: all}, standalone.Part{Fixed: all})}},
		"Defaults": {
			reason: "what policies set is as if the user had written it", plugin: gang, loaded: standalone.Loaded{Defaults: map[string]string{"spark.kubernetes.driver.label.queue": "team"}},
			want: standalone.Cluster{
				Defaults: map[string]string{"spark.kubernetes.driver.label.queue": "team"},
				Parts:    sets(standalone.Part{Fixed: standalone.Fixed{Scheduler: true, Labels: []string{"group"}, Annotations: []string{"group"}}}, standalone.Part{Fixed: all}),
			},
		},
		"Leaving": {
			reason: "the finalizer of Apache's operator goes, and no other", want: standalone.Cluster{Generation: 7, Suspend: true, Deleting: true, Finalizer: true, Parts: sets(standalone.Part{}, standalone.Part{})},
			edit: func(o *v1.SparkCluster) {
				o.Generation, o.Spec.Suspend, o.DeletionTimestamp, o.Finalizers = 7, true, &metav1.Time{Time: noon}, []string{"a", "sparkclusters.spark.apache.org/finalizer"}
			},
		},
		"Others": {
			reason: "a finalizer of others is theirs", want: standalone.Cluster{Probe: true, Parts: sets(standalone.Part{}, standalone.Part{})}, loaded: standalone.Loaded{Probe: true},
			edit: func(o *v1.SparkCluster) { o.Finalizers = []string{"a"} },
		},
		"Problems": {
			reason: "the user reads all of them", loaded: standalone.Loaded{Objections: []*spark.ConfError{{Field: "worker.cores", Value: "9", Problem: "too many"}, {Field: "master.labels", Problem: "no"}}},
			want: standalone.Cluster{
				Parts: sets(standalone.Part{}, standalone.Part{}),
				Problem: lifecycle.Cause{
					Reason:  lifecycle.ReasonInvalidSpec,
					Message: `spec.workerSpec.statefulSetSpec.template.spec.containers: "9": too many; spec.masterSpec.statefulSetSpec.template.metadata.labels: no`,
				},
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o := clusterFrom(t, tc.spec)
			if tc.edit != nil {
				tc.edit(o)
			}
			tc.want.Optional, tc.want.SuspendField = optional, "spec.suspend"
			got, objects := Clusters{}.Desired(o, tc.loaded, tc.plugin, scheduler.Decoration{})
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			var parts, made []string
			for _, p := range got.Parts {
				parts = append(parts, p.String())
			}
			for _, object := range objects {
				made = append(made, object.GetObjectKind().GroupVersionKind().Kind+" "+object.GetName())
			}
			if diff := cmp.Diff(parts, made); diff != "" {
				t.Errorf("%s: the objects are not the parts:\n%s", tc.reason, diff)
			}
		})
	}
}

// A cluster is loaded whole: what it is, what policies set and have against it, and since when it waits.
func TestLoadedClusters(t *testing.T) {
	none := func(app spark.Application) spark.Application { return app }
	objection := []*spark.ConfError{{Field: "worker.cores", Problem: "too many"}}
	check := func(b spark.Standalone) []*spark.ConfError {
		if b.Namespace != "jobs" {
			return nil
		}
		return objection
	}
	o := clusterFrom(t, "suspend: true\nsparkConf: {spark.a: own}")
	o.Labels, o.CreationTimestamp = map[string]string{v1.LabelSentinel: "true"}, metav1.NewTime(noon)
	got := Clusters{}.Load(o, none, check)
	want := standalone.Loaded{Suspend: true, Probe: true, QueuedAt: noon, Master: "c-master", Workers: "c-worker", Objections: objection}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(standalone.Loaded{}, "Built")); diff != "" {
		t.Errorf("a probe (-want +got):\n%s", diff)
	}
	o = clusterFrom(t, "clusterTolerations: {instanceConfig: {initWorkers: -1}}")
	o.Status = v1.SparkClusterStatus{CurrentState: &v1.ClusterState{CurrentStateSummary: v1.ClusterSuspended}, ObservedGeneration: 3, Defaults: map[string]string{"spark.c": "old"}}
	got = Clusters{}.Load(o, func(app spark.Application) spark.Application {
		app.Conf = map[string]string{"spark.b": "1"}
		return app
	}, check)
	want = standalone.Loaded{
		Record: standalone.Record{State: standalone.Suspended, Generation: 3, Defaults: map[string]string{"spark.c": "old"}}, Defaults: map[string]string{"spark.b": "1"}, Master: "c-master", Workers: "c-worker",
		Objections: []*spark.ConfError{{Field: "clusterTolerations.instanceConfig.initWorkers", Value: "-1", Problem: "is not a number of workers; use 0 or more"}},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(standalone.Loaded{}, "Built")); diff != "" {
		t.Errorf("policies are not asked about what is wrong already (-want +got):\n%s", diff)
	}
	if got.Built.Defaults["spark.b"] != "1" {
		t.Errorf("what policies set is not in what is built: %v", got.Built.Defaults)
	}
}

const external = "\nworkerSpec: {horizontalPodAutoscalerSpec: {maxReplicas: 2, metrics: [{type: External, external: {metric: {name: jobs}, target: {type: Value, value: 1}}}]}}"

// What only some versions of Kubernetes refuse is a warning that names them.
func TestWarningsOfClusters(t *testing.T) {
	for _, tc := range []struct {
		reason, name, spec string
		want               []string
	}{
		{"nothing to say", "pool", "clusterTolerations: {instanceConfig: {initWorkers: 1, minWorkers: 1, maxWorkers: 2}}", nil},
		{"the name of a Service", "2026", "", []string{`metadata.name: "2026": Kubernetes before 1.36 refuses the Service 2026-master-svc, whose name begins with a digit; begin with a letter`}},
		{"an autoscaler that begins at 0", "pool", "clusterTolerations: {instanceConfig: {initWorkers: 0, minWorkers: 0, maxWorkers: 2}}" + external, []string{
			`spec.clusterTolerations.instanceConfig.minWorkers: "0": Kubernetes before 1.37 refuses the autoscaler, unless it has the feature HPAScaleToZero; use 1 or more`}},
		{"no autoscaler", "pool", "clusterTolerations: {instanceConfig: {initWorkers: 1, minWorkers: 0, maxWorkers: 0}}" + external, nil},
	} {
		o := clusterFrom(t, tc.spec)
		o.Name = tc.name
		var got []string
		for _, e := range ClusterWarnings(o) {
			got = append(got, e.About(ClusterNames(o).PathOf(e)))
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
		}
	}
}

// What is wrong with a cluster is said in the words of its fields, and all at once.
func TestProblemsOfClusters(t *testing.T) {
	const workers = "spec.clusterTolerations.instanceConfig."
	size := func(init, least, most string) string {
		return "clusterTolerations: {instanceConfig: {initWorkers: " + init + ", minWorkers: " + least + ", maxWorkers: " + most + "}}"
	}
	tooSmall := func(n string) string {
		return workers + `minWorkers: "` + n + `": must be at least 1 for an autoscaler (maxWorkers is larger) whose metrics are those of workers; use 1 or more, make both equal, or add a metric of the type External or Object`
	}
	for name, tc := range map[string]struct {
		reason, spec string
		edit         func(*v1.SparkCluster)
		want         []string
	}{
		"None":      {reason: "no workers are a number", spec: size("0", "0", "0")},
		"Negative":  {reason: "no set can have them", spec: size("-1", "0", "0"), want: []string{workers + `initWorkers: "-1": is not a number of workers; use 0 or more`}},
		"Scaled":    {reason: "one at least", spec: size("1", "1", "2")},
		"ScaledTo0": {reason: "an autoscaler refuses it", spec: size("1", "0", "2"), want: []string{tooSmall("0")}},
		"FromNone":  {reason: "Kubernetes 1.37 does it by a metric that is there without workers", spec: size("0", "0", "2") + external},
		"BelowNone": {reason: "no Kubernetes does it", spec: size("0", "-1", "2") + external, want: []string{workers + `minWorkers: "-1": is not a number of workers; use 0 or more`}},
		"Digit":     {reason: "Kubernetes 1.36 takes such Services", edit: func(o *v1.SparkCluster) { o.Name = "2026" }},
		"Dot":       {reason: "no Kubernetes takes such Services", edit: func(o *v1.SparkCluster) { o.Name = "pool.2" }, want: []string{`metadata.name: "pool.2": does not make the name of a Service, pool.2-master-svc; use lower case letters, digits and -, and at most 52 characters`}},
		"Version": {
			reason: "the labels of pods have it", edit: func(o *v1.SparkCluster) { o.Spec.RuntimeVersions.SparkVersion = "" },
			want: []string{`FieldValueRequired spec.runtimeVersions.sparkVersion: is missing; write the version in the image, e.g. "4.1.4"`},
		},
		"LongestName": {reason: "the Service of the master has the longest label", edit: func(o *v1.SparkCluster) { o.Name = strings.Repeat("n", 52) }},
		"LongName": {reason: "a label has 63 characters", edit: func(o *v1.SparkCluster) { o.Name = strings.Repeat("n", 53) }, want: []string{
			`metadata.name: "` + strings.Repeat("n", 53) + `": does not make the name of a Service, ` + strings.Repeat("n", 53) + "-master-svc; use lower case letters, digits and -, and at most 52 characters",
		}},
		"Malformed": {reason: "nothing more is known", edit: func(o *v1.SparkCluster) { o.MalformedSpec, o.Spec = "a string", v1.SparkClusterSpec{} }, want: []string{"spec: cannot be decoded: a string"}},
		"All": {
			reason: "one after the other would take a day", spec: size("-1", "0", "2") + "\nmasterSpec: {statefulSetSpec: {revisionHistoryLimit: 101}}",
			edit: func(o *v1.SparkCluster) { o.Spec.RuntimeVersions.SparkVersion = "" },
			want: []string{
				workers + `initWorkers: "-1": is not a number of workers; use 0 or more`, tooSmall("0"), `FieldValueRequired spec.runtimeVersions.sparkVersion: is missing; write the version in the image, e.g. "4.1.4"`,
				`spec.masterSpec.statefulSetSpec.revisionHistoryLimit: "101": is above the operator's limit; use at most 100`,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := clusterFrom(t, tc.spec)
			if tc.edit != nil {
				tc.edit(o)
			}
			var got []string
			for _, e := range (Clusters{}).Load(o, policy.Set{}.Apply, nil).Objections {
				got = append(got, strings.TrimSpace(string(e.Type)+" "+e.About(ClusterNames(o).PathOf(e))))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// Objections of others name the user's own fields: of a property the property, of a pod the place in its template.
func TestNamesOfFieldsOfClusters(t *testing.T) {
	o := clusterFrom(t, "sparkConf: {spark.kubernetes.container.image: own}")
	for e, want := range map[spark.ConfError]string{
		{}: "spec", {Field: "metadata.name"}: "metadata.name", {Key: "spark.kubernetes.container.image"}: `spec.sparkConf["spark.kubernetes.container.image"]`,
		{Field: "batchScheduler"}: `spec.sparkConf["spark.kubernetes.scheduler.name"]`, {Field: "batchScheduler.queue"}: "the queue that the pods name",
		{Field: "batchScheduler.parameters"}: "the parameters in the operator's configuration",
		{Field: "driver.schedulerName"}:      `spec.sparkConf["spark.kubernetes.scheduler.name"]`, {Field: "executor.schedulerName"}: `spec.sparkConf["spark.kubernetes.scheduler.name"]`,
		{Field: "driver.coreLimit"}: "spec.masterSpec.statefulSetSpec.template.spec.containers", {Field: "executor.coreLimit"}: "spec.workerSpec.statefulSetSpec.template.spec.containers",
		{Field: "worker.most"}: "spec.clusterTolerations.instanceConfig.maxWorkers", {Field: "worker.networkPolicy"}: "spec.workerSpec.networkPolicy.metricsIngress",
	} {
		if got := ClusterNames(o).PathOf(&e); got != want {
			t.Errorf("%+v is %s, want %s", e, got, want)
		}
	}
	for role, spec := range map[string]string{"master": "spec.masterSpec.", "worker": "spec.workerSpec."} {
		for field, want := range map[spark.Field]string{
			"": "statefulSetSpec.template", ".labels": "statefulSetSpec.template.metadata.labels", ".annotations": "statefulSetSpec.template.metadata.annotations",
			".setMetadata": "statefulSetMetadata", ".service": "serviceSpec", ".serviceMetadata": "serviceMetadata", ".claims": "statefulSetSpec.volumeClaimTemplates",
			".serviceAccount": "statefulSetSpec.template.spec.serviceAccountName", ".podSecurityContext": "statefulSetSpec.template.spec.securityContext",
			".cores": "statefulSetSpec.template.spec.containers", ".memory": "statefulSetSpec.template.spec.containers", ".ports": "statefulSetSpec.template.spec.containers",
			".securityContext": "statefulSetSpec.template.spec.containers", ".volumes": "statefulSetSpec.template.spec.volumes", ".tolerations[0]": "statefulSetSpec.template.spec.tolerations[0]",
		} {
			if got := clusterFields.Path(spark.Field(role) + field); got != spec+want {
				t.Errorf("%s%s is %s, want %s", role, field, got, spec+want)
			}
		}
	}
}
