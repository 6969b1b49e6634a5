// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/testutil/apiserver"
)

var elasticQuotaKind = schema.GroupVersionKind{Group: "scheduling.x-k8s.io", Version: "v1alpha1", Kind: "ElasticQuota"}

func share(namespace, least, most, used string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{
		"spec":   map[string]any{"min": map[string]any{"cpu": least, "memory": "1Ti"}, "max": map[string]any{"cpu": most, "memory": "1Ti"}},
		"status": map[string]any{"used": map[string]any{"cpu": used}},
	}}
	u.SetGroupVersionKind(elasticQuotaKind)
	u.SetNamespace(namespace)
	u.SetName("share")
	return u
}

// inLineFor waits for a quota for so long.
func inLineFor(name, namespace, plugin string, since time.Duration) *v1beta2.SparkApplication {
	o := inState(name, v1beta2.ApplicationStateSubmitted, inQueue(plugin, "", since, "WaitingForQuota", "waiting for quota"), recorded)
	o.Namespace = namespace
	return o
}

// twoCores is what the master and each worker of a cluster ask for.
func twoCores(o *v1.SparkCluster) {
	set := func(role string) *appsv1.StatefulSetSpec {
		c := corev1.Container{Name: role, Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")}}}
		return &appsv1.StatefulSetSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{c}}}}
	}
	o.Spec.MasterSpec, o.Spec.WorkerSpec = &v1.MasterSpec{}, &v1.WorkerSpec{}
	o.Spec.MasterSpec.StatefulSetSpec, o.Spec.WorkerSpec.StatefulSetSpec = set("master"), set("worker")
}

// linesToSee is a cluster in which applications wait for a ResourceQuota, and others for what namespaces share.
func linesToSee(t *testing.T, settings string) *apiserver.Server {
	t.Helper()
	cores := func(n string) corev1.ResourceList { return corev1.ResourceList{"requests.cpu": resource.MustParse(n)} }
	deployment, stored := operatorWith(configHead + "batchScheduler: {enabled: [kube, coscheduling, volcano], quota: {" + settings + "}}\n")
	objects := []client.Object{deployment, stored,
		&corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: "jobs", Name: "team"}, Spec: corev1.ResourceQuotaSpec{Hard: cores("8")}, Status: corev1.ResourceQuotaStatus{Used: cores("7")}},
		inLineFor("first", "jobs", "kube", 5*time.Minute), inLineFor("second", "jobs", "kube", 4*time.Minute),
		inLineFor("aged", "jobs", "kube", 20*time.Minute), ofCluster("lab", twoCores, queuedCluster),
		inLineFor("borrower", "etl", "coscheduling", 3*time.Minute), inLineFor("other", "lab", "coscheduling", 6*time.Minute),
		inState("running", v1beta2.ApplicationStateRunning),
	}
	a := newAPI(t, objects...)
	a.Install(elasticQuotaKind)
	for _, o := range []client.Object{share("etl", "2", "20", "5"), share("lab", "4", "20", "4")} {
		a.Put(o)
	}
	return a
}

const enforced = "mode: Enforce, elasticQuotaSchedulers: [coscheduling]"

// Positions are those that the operator's own rules make of what waits, and of a line that namespaces share the others count, too.
func TestQueueShowsPositions(t *testing.T) {
	const sum = "* the min of all ElasticQuotas together cpu"
	cases := map[string]struct {
		reason   string
		settings string
		args     []string
		prepare  func(*apiserver.Server)
		want     map[string]map[string]int
		errOut   string
	}{
		"Namespace": {
			reason: "who has waited longest", settings: enforced,
			want: map[string]map[string]int{
				"aged": {"jobs ResourceQuota team requests.cpu": 2}, "first": {"jobs ResourceQuota team requests.cpu": 3}, "second": {"jobs ResourceQuota team requests.cpu": 4},
				"lab": {"jobs ResourceQuota team requests.cpu": 1},
			},
		},
		"Shared": {
			reason: "the one ahead is in a namespace that is not listed", settings: enforced, args: []string{"-n", "etl"},
			want: map[string]map[string]int{"borrower": {sum: 2}},
		},
		"Fair": {
			reason: "the other namespace uses less of its min, although its application has waited for less", settings: enforced + ", order: FairShare", args: []string{"-n", "lab"},
			prepare: func(a *apiserver.Server) { a.Put(share("etl", "4", "20", "3500m")) },
			want:    map[string]map[string]int{"other": {sum: 2, "lab the min of ElasticQuota share cpu": 1}},
		},
		"Unseen": {
			reason: "who may not see the others learns no wrong position", settings: enforced, args: []string{"-n", "etl"},
			prepare: func(a *apiserver.Server) { a.Deny(apiserver.Request{Verb: "list", Resource: "elasticquotas"}) },
			want:    map[string]map[string]int{"borrower": nil}, errOut: "positions in the lines of quotas are unknown",
		},
		"Off": {reason: "there are no lines", settings: "mode: Off", args: []string{"-n", "etl"}, want: map[string]map[string]int{"borrower": nil}},
		"Unconfigured": {
			reason: "what is not known is said", settings: "mode: Wrong", args: []string{"-n", "etl"},
			want: map[string]map[string]int{"borrower": nil}, errOut: "positions in the lines of quotas are unknown: configuration of the operator",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a := linesToSee(t, tc.settings)
			if tc.prepare != nil {
				tc.prepare(a)
			}
			out, errOut, code := execute(t, "", append([]string{"queue", "-o", "json"}, tc.args...)...)
			var report queueReport
			if err := json.Unmarshal([]byte(out), &report); err != nil || code != 0 {
				t.Fatal(err, code, errOut, out)
			}
			got := map[string]map[string]int{}
			for _, item := range report.Items {
				got[item.Name] = nil
				for _, p := range item.Positions {
					if got[item.Name] == nil {
						got[item.Name] = map[string]int{}
					}
					got[item.Name][p.Namespace+" "+p.Quota+" "+p.Resource] = p.Position
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s%s", tc.reason, diff, errOut)
			}
			if (tc.errOut == "") != (errOut == "") || !strings.Contains(errOut, tc.errOut) {
				t.Errorf("%s: it says %q", tc.reason, errOut)
			}
		})
	}
}

func TestQueueShowsLines(t *testing.T) {
	linesToSee(t, enforced)
	prints(t, "queue-lines", "queue", "-A")
}

// Whoever waits in a line is told who is ahead, and whose pods have the room, as far as a user may see it.
func TestExplainShowsWhoBlocks(t *testing.T) {
	pod := func(name, label, app, cpu string, phase corev1.PodPhase) *corev1.Pod {
		o := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "jobs", Name: name, Labels: map[string]string{label: app}}, Status: corev1.PodStatus{Phase: phase}}
		o.Spec.Containers = []corev1.Container{{Name: "a", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}}}}
		return o
	}
	cases := map[string]struct {
		reason, name string
		settings     string
		args         []string
		deny         apiserver.Request
		want         []string
		lacks        string
	}{
		"Namespace": {
			reason: "those ahead in their order, and who has most first", name: "second", settings: enforced, want: []string{
				"Line       ResourceQuota team: requests.cpu, position 4 of 4, asked 3, used 7 of 8", "ahead: sparkcluster/lab, aged, first", "used by: running (5), sparkcluster/other (1500m)",
			},
		},
		"First":  {reason: "nobody is ahead", name: "sparkcluster/lab", settings: enforced, want: []string{"requests.cpu, position 1 of 4", "used by: running (5)"}, lacks: "ahead:"},
		"Shared": {reason: "the one ahead is in another namespace", name: "borrower", settings: enforced, args: []string{"-n", "etl"}, want: []string{"(of all namespaces): cpu, position 2 of 2", "ahead: lab/other"}, lacks: "used by:"},
		"Unseen": {
			reason: "what may not be read is said", name: "borrower", settings: enforced, args: []string{"-n", "etl"}, deny: apiserver.Request{Verb: "list", Resource: "elasticquotas"},
			want: []string{"positions in the lines of quotas are unknown"}, lacks: "Line ",
		},
		"NoPods":  {reason: "the rest is known all the same", name: "second", settings: enforced, deny: apiserver.Request{Verb: "list", Resource: "pods"}, want: []string{"ahead: sparkcluster/lab", "users of the quotas: you may not list pods"}, lacks: "used by:"},
		"Off":     {reason: "there are no lines", name: "second", settings: "mode: Off", lacks: "Line "},
		"Running": {reason: "it does not wait", name: "running", settings: enforced, lacks: "Line "},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a := linesToSee(t, tc.settings)
			for _, p := range []*corev1.Pod{
				pod("running-driver", v1beta2.LabelAppName, "running", "5", corev1.PodRunning), pod("running-exec-1", v1beta2.LabelAppName, "running", "9", corev1.PodSucceeded),
				pod("other-worker-0", v1.LabelClusterName, "other", "1500m", corev1.PodRunning),
			} {
				a.Put(p)
			}
			a.Put(ofCluster("other", twoCores))
			if tc.deny.Verb != "" {
				a.Deny(tc.deny)
			}
			out, errOut, code := execute(t, "", append([]string{"explain", tc.name}, tc.args...)...)
			if code != 0 {
				t.Fatal(errOut)
			}
			for _, want := range tc.want {
				if !strings.Contains(out, want) {
					t.Errorf("%s: it does not say %q:\n%s", tc.reason, want, out)
				}
			}
			if tc.lacks != "" && strings.Contains(out, tc.lacks) {
				t.Errorf("%s: it says %q:\n%s", tc.reason, tc.lacks, out)
			}
		})
	}
}
