// SPDX-License-Identifier: Apache-2.0

package kubeflow

import (
	"encoding/json"
	"os"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/testutil"
)

// everyField is the application that sets every field of the API.
func everyField(t *testing.T) *v1beta2.SparkApplication {
	t.Helper()
	text, err := os.ReadFile("../../../api/sparkoperator/v1beta2/testdata/every-field.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var o v1beta2.SparkApplication
	if err := yaml.UnmarshalStrict(text, &o); err != nil || o.MalformedSpec != "" {
		t.Fatal(err, o.MalformedSpec)
	}
	return &o
}

// The hash is stored with every application and on every driver pod. A release that computes another one for the same
// spec would, at the next edit of anything that acts live, stop and restart every application of the cluster; so would
// a new version of k8s.io/api that spells an embedded type otherwise (it has done so: creationTimestamp became omitzero).
// If this test fails, make SpecHash give the old value again. Never update the value: only new fields may be added to
// the manifest, which changes it once, in the commit that adds them.
func TestSpecHashIsStable(t *testing.T) {
	const (
		ofEveryField = "60f25a709497fa62"
		ofPi         = "cb7179546007b1e1"
	)
	if got := SpecHash(everyField(t)); got != ofEveryField {
		t.Errorf("testdata/every-field.yaml has the hash %s, want %s", got, ofEveryField)
	}
	small := testutil.Pi()
	small.Spec.SparkVersion, small.Spec.Image = "4.1.0", new("apache/spark:4.1.0") // of which the hash was taken
	if got := SpecHash(small); got != ofPi {
		t.Errorf("the smallest application has the hash %s, want %s", got, ofPi)
	}
}

// That each single field restarts or not is tested, and documented, by hack/fields. These are edits of several.
func TestSpecHash(t *testing.T) {
	defaulted := func(o *v1beta2.SparkApplication) {
		s := &o.Spec
		s.Mode, s.RestartPolicy.Type = "cluster", "Never"
		s.Driver.Cores, s.Driver.Memory = new(int32(1)), new("1g")
		s.Executor.Cores, s.Executor.Memory, s.Executor.Instances = new(int32(1)), new("1g"), new(int32(1))
	}
	cases := map[string]struct {
		reason   string
		from, to func(*v1beta2.SparkApplication)
		same     bool
	}{
		"Defaults": {reason: "kubectl replace drops what the Kubeflow operator's webhook has filled in", from: defaulted, to: func(*v1beta2.SparkApplication) {}, same: true},
		"ConfCores": {reason: "the webhook leaves out what sparkConf says", from: func(o *v1beta2.SparkApplication) { o.Spec.SparkConf = props{"spark.driver.cores": "2"} }, to: func(o *v1beta2.SparkApplication) {
			o.Spec.SparkConf, o.Spec.Driver.Cores = props{"spark.driver.cores": "2"}, new(int32(1))
		}},
		"ConfInstances": {reason: "the webhook leaves out what sparkConf says", from: func(o *v1beta2.SparkApplication) {
			o.Spec.SparkConf = props{"spark.executor.instances": "2"}
		}, to: func(o *v1beta2.SparkApplication) {
			o.Spec.SparkConf, o.Spec.Executor.Instances = props{"spark.executor.instances": "2"}, new(int32(1))
		}},
		"Dynamic": {reason: "the webhook turns shuffle tracking on, and leaves the executors to Spark", from: func(o *v1beta2.SparkApplication) {
			defaulted(o)
			o.Spec.Executor.Instances = nil
			o.Spec.DynamicAllocation = &v1beta2.DynamicAllocation{Enabled: true, ShuffleTrackingEnabled: new(true)}
		}, to: func(o *v1beta2.SparkApplication) {
			o.Spec.DynamicAllocation = &v1beta2.DynamicAllocation{Enabled: true}
		}, same: true},
		"Lists": {reason: "an empty list is no list", from: func(o *v1beta2.SparkApplication) {}, to: func(o *v1beta2.SparkApplication) {
			o.Spec.Arguments, o.Spec.SparkConf, o.Spec.Volumes = []string{}, props{}, []corev1.Volume{}
		}, same: true},
		"Quantity": {reason: "one core is a thousand millicores", from: func(o *v1beta2.SparkApplication) {
			o.Spec.BatchSchedulerOptions = &v1beta2.BatchSchedulerConfiguration{Resources: corev1.ResourceList{"cpu": resource.MustParse("1000m")}}
		}, to: func(o *v1beta2.SparkApplication) {
			o.Spec.BatchSchedulerOptions = &v1beta2.BatchSchedulerConfiguration{Resources: corev1.ResourceList{"cpu": resource.MustParse("1")}}
		}, same: true},
		"Policies": {reason: "what acts on a running application as it is", from: func(o *v1beta2.SparkApplication) {}, to: func(o *v1beta2.SparkApplication) {
			o.Spec.Suspend, o.Spec.TimeToLiveSeconds = new(true), new(int64(60))
			o.Spec.RestartPolicy = v1beta2.RestartPolicy{Type: "Always", OutOfMemory: &v1beta2.OutOfMemoryRule{MemoryFactor: new("2")}}
			o.Spec.Deadlines, o.Spec.Retention = &v1beta2.Deadlines{Run: every(time.Hour)}, &v1beta2.Retention{}
		}, same: true},
		"Metadata": {reason: "not the spec", from: func(o *v1beta2.SparkApplication) {}, to: func(o *v1beta2.SparkApplication) {
			o.Labels, o.Generation, o.ResourceVersion = map[string]string{"a": "b"}, 7, "9"
			o.CreationTimestamp = metav1.NewTime(now)
		}, same: true},
		"Image":     {reason: "another program", from: func(o *v1beta2.SparkApplication) {}, to: func(o *v1beta2.SparkApplication) { o.Spec.Image = new("x") }},
		"Order":     {reason: "arguments have an order", from: func(o *v1beta2.SparkApplication) { o.Spec.Arguments = []string{"a", "b"} }, to: func(o *v1beta2.SparkApplication) { o.Spec.Arguments = []string{"b", "a"} }},
		"Template":  {reason: "a part of the pods", from: func(o *v1beta2.SparkApplication) {}, to: func(o *v1beta2.SparkApplication) { o.Spec.Driver.Template = &corev1.PodTemplateSpec{} }},
		"Kueue":     {reason: "where the pods may run", from: func(o *v1beta2.SparkApplication) {}, to: func(o *v1beta2.SparkApplication) { o.Spec.Executor.NodeSelector = props{"pool": "spot"} }},
		"Malformed": {reason: "another spec that cannot be decoded", from: func(o *v1beta2.SparkApplication) { o.MalformedSpec = "a" }, to: func(o *v1beta2.SparkApplication) { o.MalformedSpec = "b" }},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			from, to := testutil.Pi(), testutil.Pi()
			tc.from(from)
			tc.to(to)
			before := to.DeepCopy()
			a, b := SpecHash(from), SpecHash(to)
			if (a == b) != tc.same {
				t.Errorf("%s: hashes %s and %s, want the same: %t", tc.reason, a, b, tc.same)
			}
			if wrote, err := json.Marshal(to); err != nil || string(wrote) != mustJSON(t, before) {
				t.Errorf("%s: hashing changed the object: %v", tc.reason, err)
			}
		})
	}
}

func mustJSON(t *testing.T, o any) string {
	t.Helper()
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The API server's way of storing an object changes no hash: otherwise the first look after a restart would restart it.
func TestSpecHashSurvivesStorage(t *testing.T) {
	for _, o := range []*v1beta2.SparkApplication{testutil.Pi(), everyField(t)} {
		var back v1beta2.SparkApplication
		if err := json.Unmarshal([]byte(mustJSON(t, o)), &back); err != nil {
			t.Fatal(err)
		}
		if a, b := SpecHash(o), SpecHash(&back); a != b {
			t.Errorf("%s: hash %s, after a round trip %s", o.Name, a, b)
		}
	}
}

// A hash is computed once for each generation: it must cost next to nothing.
func BenchmarkSpecHash(b *testing.B) {
	o := testutil.Pi()
	for b.Loop() {
		SpecHash(o)
	}
}

// An edit of where executors run reaches a running driver; one of what they are runs the application again.
func TestRestartHash(t *testing.T) {
	template := func(change func(*corev1.PodTemplateSpec)) func(*v1beta2.SparkApplication) {
		return func(o *v1beta2.SparkApplication) { change(o.Spec.Executor.Template) }
	}
	for name, tc := range map[string]struct {
		reason string
		change func(*v1beta2.SparkApplication)
		runs   bool
	}{
		"Field": {reason: "as with the Kubeflow operator's PartialRestart", change: func(o *v1beta2.SparkApplication) {
			e := &o.Spec.Executor
			e.NodeSelector, e.Tolerations, e.PriorityClassName, e.Affinity = props{"pool": "spot"}, []corev1.Toleration{{Key: "spot"}}, new("low"), &corev1.Affinity{}
		}},
		"Labels": {reason: "what a template marks pods with", change: template(func(p *corev1.PodTemplateSpec) { p.Labels, p.Annotations = props{"team": "a"}, props{"note": "b"} })},
		"Selector": {reason: "where a template lets pods run", change: template(func(p *corev1.PodTemplateSpec) {
			p.Spec.NodeSelector, p.Spec.Affinity = props{"pool": "spot"}, &corev1.Affinity{}
		})},
		"Tolerations": {reason: "where a template lets pods run", change: template(func(p *corev1.PodTemplateSpec) { p.Spec.Tolerations = []corev1.Toleration{{Key: "spot"}} })},
		"Spread": {reason: "where a template lets pods run", change: template(func(p *corev1.PodTemplateSpec) {
			p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{MaxSkew: 1}}
		})},
		"Priority":   {reason: "the priority decides which pods are evicted", change: template(func(p *corev1.PodTemplateSpec) { p.Spec.PriorityClassName = "low" })},
		"Container":  {reason: "half of the executors would be others", runs: true, change: template(func(p *corev1.PodTemplateSpec) { p.Spec.Containers = []corev1.Container{{Image: "x"}} })},
		"Driver":     {reason: "it runs already", runs: true, change: func(o *v1beta2.SparkApplication) { o.Spec.Driver.NodeSelector = props{"pool": "spot"} }},
		"ExecLabels": {reason: "Spark's driver has them as properties, which it reads once", runs: true, change: func(o *v1beta2.SparkApplication) { o.Spec.Executor.Labels = props{"team": "a"} }},
	} {
		t.Run(name, func(t *testing.T) {
			o := testutil.Pi(func(o *v1beta2.SparkApplication) { o.Spec.Executor.Template = &corev1.PodTemplateSpec{} })
			was, placed := RestartHash(o), hashOf(placementOf(&o.Spec.Executor))
			tc.change(o)
			if runs := RestartHash(o) != was; runs != tc.runs {
				t.Errorf("%s: runs again: %t", tc.reason, runs)
			}
			if edited := hashOf(placementOf(&o.Spec.Executor)) != placed; edited == tc.runs {
				t.Errorf("%s: reaches a running driver: %t", tc.reason, edited)
			}
		})
	}
}

// A status may have the restart hash of a release that left nothing out of templates. Whoever edited the placement then must not be run again by an
// edit of something else.
func TestFirstRestartHashIsTaken(t *testing.T) {
	o := testutil.Pi(func(o *v1beta2.SparkApplication) {
		o.Generation = 3
		o.Spec.Executor.NodeSelector = props{"pool": "spot"}
		o.Spec.Executor.Template = &corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: props{"team": "a"}}}
	})
	const first = "5cb1a3f6e2611ef4" // what commit 965efa75 made of it
	record := lifecycle.Record{Generation: 2, SpecHash: "of the spec before the placement was edited", Placement: lifecycle.Placement{Rest: first}}
	edits := map[string]struct {
		reason string
		edit   func(*v1beta2.SparkApplication)
		runs   bool
	}{
		"None":     {"the release alone is another", func(*v1beta2.SparkApplication) {}, false},
		"Retained": {"it acts on what runs as it is", func(o *v1beta2.SparkApplication) { o.Spec.TimeToLiveSeconds = new(int64(60)) }, false},
		"Image":    {"what runs is another program", func(o *v1beta2.SparkApplication) { o.Spec.Image = new("spark:other") }, true},
	}
	for name, tc := range edits {
		t.Run(name, func(t *testing.T) {
			edited := o.DeepCopy()
			tc.edit(edited)
			got := Desired(edited, record)
			if runs := got.SpecHash != record.SpecHash; runs != tc.runs || got.Placement.Rest != RestartHash(edited) {
				t.Errorf("%s: runs again: %t; %+v", tc.reason, runs, got.Placement)
			}
		})
	}
}
