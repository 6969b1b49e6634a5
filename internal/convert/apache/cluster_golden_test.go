// SPDX-License-Identifier: Apache-2.0

package apache

import (
	"encoding/json"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/spark"
	"github.com/firesteel-dev/firesteel/test/golden"
)

// clusterRecording is a recorded case of a cluster.
type clusterRecording struct {
	dir     string
	cluster *v1.SparkCluster
	writes  []write
	states  recordedStates
}

func clusterRecordings(t *testing.T) []clusterRecording {
	t.Helper()
	corpus := golden.Open(t, "GOLDEN_APACHE", "testdata/golden.zip")
	var all []clusterRecording
	for _, c := range corpus.Cases(t) {
		var input struct {
			Manifest  json.RawMessage
			Namespace string
		}
		corpus.Read(t, &input, c.Dir, "case.json")
		var kind struct{ Kind string }
		decode(t, input.Manifest, &kind)
		if kind.Kind != "SparkCluster" {
			continue
		}
		r := clusterRecording{dir: c.Dir, cluster: &v1.SparkCluster{}}
		decode(t, input.Manifest, r.cluster)
		r.cluster.Namespace = input.Namespace
		corpus.Read(t, &r.states, c.Dir, "states.json")
		if _, err := corpus.ReadFile(c.Dir, "writes.json"); err == nil {
			corpus.Read(t, &r.writes, c.Dir, "writes.json")
		}
		all = append(all, r)
	}
	return all
}

// applied are the bodies of the objects that were applied, the first of each.
func (r clusterRecording) applied() map[string]golden.Object {
	all := map[string]golden.Object{}
	for _, w := range r.writes {
		if body, ok := w.object(); ok && all[golden.NameOf(body)] == nil {
			all[golden.NameOf(body)] = body
		}
	}
	return all
}

// Every recorded manifest has a place for each of its fields, and what was applied for it is what is built. What differs on purpose is in
// clusterDifferences.
func TestGoldenClusters(t *testing.T) {
	tally, differences := golden.NewTally(), map[string]int{}
	for _, r := range clusterRecordings(t) {
		recorded := r.applied()
		if len(recorded) == 0 {
			tally.Add("cluster objects", golden.NotApplicable) // refused by the definition, or a health probe
			continue
		}
		t.Run(r.dir, func(t *testing.T) {
			outcome := golden.Matched
			if r.compare(t, recorded, differences) {
				outcome = golden.Deliberate
			}
			if t.Failed() {
				outcome = golden.Failed
			}
			tally.Add("cluster objects", outcome)
		})
	}
	page, err := os.ReadFile("../../../docs/migrate-from-apache.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range clusterDifferences {
		t.Logf("%d times: %s", differences[d.reason], d.reason)
		if differences[d.reason] == 0 && os.Getenv("GOLDEN_APACHE") == "" {
			t.Errorf("no recording differs so: %s", d.reason)
		}
		if !strings.Contains(string(page), d.reason) {
			t.Errorf("docs/migrate-from-apache.md does not say: %s", d.reason)
		}
	}
	t.Log(tally)
}

// compare compares what is built with what was applied, and counts the deliberate differences.
func (r clusterRecording) compare(t *testing.T, recorded map[string]golden.Object, differences map[string]int) (differs bool) {
	t.Helper()
	if unknown := r.cluster.UnknownFields; len(unknown) > 0 || r.cluster.MalformedSpec != "" {
		t.Errorf("unknown fields %v, %s", unknown, r.cluster.MalformedSpec)
	}
	built := map[string]bool{}
	for _, got := range ClusterObjects(r.cluster, nil, scheduler.Decoration{}) {
		name := golden.NameOf(golden.Stored(t, got))
		built[name] = true
		body, ok := recorded[name]
		if !ok {
			continue // the one before it was refused
		}
		want := reflect.New(reflect.TypeOf(got).Elem()).Interface().(spark.Object)
		decode(t, encode(t, body), want)
		want.SetOwnerReferences(nil)
		for _, d := range clusterDifferences {
			if d.apply(got, want) {
				differences[d.reason]++
				differs = true
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-recorded +built):\n%s", name, diff)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(recorded)) {
		if !built[name] {
			t.Errorf("%s is not built", name)
		}
	}
	return differs
}

// clusterDifferences are what differs from the recordings: release 1.1.0 (the README of the recordings), or on purpose. A reason is a part of the
// page for those who come from Apache's operator. apply makes the
// recorded object and the built one equal in what they differ.
var clusterDifferences = []struct {
	reason string
	apply  func(got, want spark.Object) bool
}{
	{"release 1.1.0 has another image where none is named", onPods(func(_, want *appsv1.StatefulSet) bool {
		return eachContainer(want, func(c *corev1.Container) bool {
			old := c.Image == "apache/spark:4.2.0"
			if old {
				c.Image = clusterImage
			}
			return old
		})
	})},
	{"release 1.1.0 keeps that of a template", onPods(func(got, want *appsv1.StatefulSet) bool {
		g, w := &got.Spec.Template.Spec, &want.Spec.Template.Spec
		kept := *g.TerminationGracePeriodSeconds != 0
		w.TerminationGracePeriodSeconds = g.TerminationGracePeriodSeconds
		return kept
	})},
	{"They name the cluster, too.", onPods(func(_, want *appsv1.StatefulSet) bool {
		want.Spec.Selector.MatchLabels[v1.LabelClusterName] = want.Labels[v1.LabelClusterName]
		return true
	})},
	{"master and workers start by `spark-class`", onPods(func(got, want *appsv1.StatefulSet) bool {
		return eachContainer(want, func(c *corev1.Container) bool {
			return slices.ContainsFunc(got.Spec.Template.Spec.Containers, func(g corev1.Container) bool {
				last := len(c.Args) - 1
				same := g.Name == c.Name && last >= 0 && strings.Contains(g.Args[last], "then "+c.Args[last]+"; else exec ")
				if same {
					c.Args[last] = g.Args[last]
				}
				return same
			})
		})
	})},
	{"They arrive as they are written", onPods(func(got, want *appsv1.StatefulSet) bool {
		eachContainer(got, func(c *corev1.Container) bool {
			for i := range c.Env {
				c.Env[i].Value = sortedOptions(c.Env[i].Value)
			}
			return false
		})
		return eachContainer(want, func(c *corev1.Container) bool {
			found := false
			for i := range c.Env {
				text := withQuotes(c.Env[i].Value)
				found = found || text != c.Env[i].Value
				c.Env[i].Value = sortedOptions(text) // they have the order of a hash map
			}
			return found
		})
	})},
	{"other than `spark.worker.*`", onPods(func(got, want *appsv1.StatefulSet) bool {
		return got.Name == masterName(got.Labels[v1.LabelClusterName]) && eachContainer(want, func(c *corev1.Container) bool {
			found := false
			for i := range c.Env {
				text := workersOption.ReplaceAllString(c.Env[i].Value, "")
				found = found || text != c.Env[i].Value
				c.Env[i].Value = text
			}
			return found
		})
	})},
	{"It is written as the API server fills it in", func(_, want spark.Object) bool {
		service, _ := want.(*corev1.Service)
		found := false
		for i := 0; service != nil && i < len(service.Spec.Ports); i++ {
			if p := &service.Spec.Ports[i]; p.TargetPort == (intstr.IntOrString{}) {
				p.TargetPort, found = intstr.FromInt32(p.Port), true
			}
		}
		return found
	}},
	{"Its options stay beside those of the cluster", onPods(func(_, want *appsv1.StatefulSet) bool {
		return eachContainer(want, func(c *corev1.Container) bool {
			merged := len(c.Env) == 2 && c.Env[0].Name == c.Env[1].Name
			if merged {
				c.Env = []corev1.EnvVar{{Name: c.Env[0].Name, Value: strings.TrimSpace(c.Env[0].Value + " " + c.Env[1].Value)}}
			}
			return merged
		})
	})},
}

func onPods(apply func(got, want *appsv1.StatefulSet) bool) func(got, want spark.Object) bool {
	return func(got, want spark.Object) bool {
		g, ok := got.(*appsv1.StatefulSet)
		return ok && apply(g, want.(*appsv1.StatefulSet))
	}
}

func eachContainer(s *appsv1.StatefulSet, apply func(*corev1.Container) bool) bool {
	found := false
	for i := range s.Spec.Template.Spec.Containers {
		found = apply(&s.Spec.Template.Spec.Containers[i]) || found
	}
	return found
}

var option = regexp.MustCompile(`-D[^=]+="(\\.|[^"\\])*" `)

// withQuotes escapes the quotes in the values of a daemon's options.
func withQuotes(text string) string {
	options := strings.Split(text, `" -D`)
	for i, option := range options {
		if key, value, quoted := strings.Cut(option, `="`); quoted {
			value, last := strings.CutSuffix(value, `" `)
			if options[i] = key + `="` + strings.ReplaceAll(value, `"`, `\"`); last {
				options[i] += `" `
			}
		}
	}
	return strings.Join(options, `" -D`)
}

var workersOption = regexp.MustCompile(`-Dspark\.worker\.[^=]+="[^"]*" `)

// sortedOptions sorts the options of a daemon.
func sortedOptions(text string) string {
	all := option.FindAllString(text, -1)
	if strings.Join(all, "") != text {
		return text
	}
	slices.Sort(all)
	return strings.Join(all, "")
}

// What a shell or Kubernetes would read otherwise in an option arrives as it was written.
func TestDaemonOptions(t *testing.T) {
	got := daemonOptions(map[string]string{"spark.a": `x "y" \z`, "spark.b": "$(HOME) $z", "spark.c": ""})
	if want := `-Dspark.a="x \"y\" \\z" -Dspark.b="$$(HOME) $z" -Dspark.c="" `; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// A port without a target is written as the API server stores it: another number would be applied again in each step.
func TestTargetsOfPorts(t *testing.T) {
	o := &v1.SparkCluster{ObjectMeta: metav1.ObjectMeta{Name: "pi"}}
	o.Spec.WorkerSpec = &v1.WorkerSpec{RoleObjects: v1.RoleObjects{ServiceSpec: &corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "more", Port: 9000}, {Name: "named", Port: 9001, TargetPort: intstr.FromString("web")}}}}}
	c := clusterOf(o)
	var got []string
	for _, p := range c.service(c.worker).Spec.Ports {
		got = append(got, p.Name+" "+p.TargetPort.String())
	}
	if diff := cmp.Diff([]string{"more 9000", "named web", "web web"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Who reads metrics of the workers may reach their port and no other, beside those who may reach all. A list of nobody opens nothing.
func TestMetricsOfWorkers(t *testing.T) {
	o := &v1.SparkCluster{ObjectMeta: metav1.ObjectMeta{Name: "pi"}}
	usual := clusterOf(o).networkPolicy().Spec.Ingress
	monitoring := networkingv1.NetworkPolicyPeer{NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": "monitoring"}}}
	o.Spec.WorkerSpec = &v1.WorkerSpec{NetworkPolicy: &v1.WorkerNetworkPolicy{MetricsPort: 9404}}
	if diff := cmp.Diff(usual, clusterOf(o).networkPolicy().Spec.Ingress); diff != "" {
		t.Errorf("nobody (-want +got):\n%s", diff)
	}
	o.Spec.WorkerSpec.NetworkPolicy.MetricsIngress = []networkingv1.NetworkPolicyPeer{monitoring}
	want := append(usual, networkingv1.NetworkPolicyIngressRule{
		From: []networkingv1.NetworkPolicyPeer{monitoring}, Ports: []networkingv1.NetworkPolicyPort{{Protocol: new(corev1.ProtocolTCP), Port: new(intstr.FromInt32(9404))}},
	})
	if diff := cmp.Diff(want, clusterOf(o).networkPolicy().Spec.Ingress); diff != "" {
		t.Errorf("monitoring (-want +got):\n%s", diff)
	}
}
