// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/observe"
	"github.com/firesteel-dev/firesteel/internal/resolve"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/testutil/apiserver"
	"github.com/firesteel-dev/firesteel/test/golden"
)

// submitted is a driver that runs with its ConfigMap, as the real spark-submit of Spark 4.1 made them.
func submitted(t *testing.T) (*corev1.Pod, *corev1.ConfigMap) {
	t.Helper()
	corpus := golden.Open(t, "GOLDEN", "../../internal/spark/testdata/golden.zip")
	var pod corev1.Pod
	var properties corev1.ConfigMap
	for file, into := range map[string]any{"pod.json": &pod, "configmap-driver.json": &properties} {
		corpus.Read(t, into, "jvm-minimal", "4.1", file)
	}
	pod.Namespace, pod.UID, properties.Namespace = "jobs", "uid-driver", "jobs"
	pod.CreationTimestamp = before(time.Hour)
	pod.Status.Phase = corev1.PodRunning
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: "spark-kubernetes-driver", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: before(time.Hour)}},
	}}
	return &pod, &properties
}

const (
	sparkPiDriver = "spark-pi-bbbbbbbbbbbbbbbb-driver"
	sparkAppID    = "spark-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	appCreated    = "sparkapplication.sparkoperator.k8s.io/spark-pi created\n"
	podAdopted    = "pod/" + sparkPiDriver + " adopted\n"
	asAlice       = `not in the application: SPARK_USER: "alice": the driver gets the operator's SPARK_USER; to run as another user write spec.proxyUser` + "\n"
)

func labeled(n string) string {
	return "spark-pi: " + n + " labeled; repeat this command later to count new executors\n"
}

func executor(name, selector string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "jobs", Name: name, UID: "uid-executor", Labels: map[string]string{"spark-role": "executor", "spark-app-selector": selector}},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning},
	}
}

// look is what the operator would decide about the application now.
func look(t *testing.T, name string) (lifecycle.Observation, lifecycle.Plan) {
	t.Helper()
	c, err := addCluster(&cobra.Command{}).connect()
	if err != nil {
		t.Fatal(err)
	}
	s, err := c.FindApplication(t.Context(), name, "wait")
	if err != nil {
		t.Fatal(err)
	}
	seen, err := observe.Reader{Labels: s.Type.Family.Labels, Cache: c, Live: c}.Observe(t.Context(), observe.Target{
		Namespace: s.GetNamespace(), App: s.GetName(), UID: s.GetUID(), DriverName: s.DriverName(), SubmissionID: s.Desired.SubmissionID, Now: time.Now(),
	}, s.Record)
	if err != nil {
		t.Fatal(err)
	}
	return seen, lifecycle.Decide(s.Desired, s.Record, seen, scheduler.Admission{Verdict: scheduler.Admit}, lifecycle.Env{Now: time.Now()})
}

// The operator follows what the command leaves behind, and takes nothing of it for a changed spec.
func TestAdopt(t *testing.T) {
	pod, properties := submitted(t)
	a := newAPI(t, pod, properties, executor("pi-exec-1", sparkAppID), executor("other-exec-1", "spark-other"))
	a.AllowWrites()
	out, errOut, code := execute(t, "", "adopt", sparkPiDriver)
	if diff := cmp.Diff(appCreated+podAdopted, out) + cmp.Diff(labeled("1 executor was")+asAlice, errOut); diff != "" || code != 0 {
		t.Fatalf("exit code %d (-want +got):\n%s", code, diff)
	}
	seen, plan := look(t, "spark-pi")
	if seen.Driver.Ownership != lifecycle.Current || len(seen.Executors) != 1 {
		t.Errorf("the operator sees %+v", seen)
	}
	if r := plan.Record; r.State != lifecycle.Running || r.SpecHash != plan.App.SpecHash || r.DriverName != sparkPiDriver || r.SparkAppID != sparkAppID || len(plan.Actions) != 0 {
		t.Errorf("the operator decides %s, %+v", r.State, plan)
	}
	a.Put(executor("pi-exec-2", sparkAppID))
	unchanged := strings.TrimSpace(podAdopted) + " (no change)\n"
	if out, errOut, code = execute(t, "", "adopt", sparkPiDriver); out != unchanged || errOut != labeled("1 executor was") || code != 0 {
		t.Errorf("repeated: exit code %d, %s%s", code, out, errOut)
	}
	if seen, _ = look(t, "spark-pi"); len(seen.Executors) != 2 {
		t.Errorf("an executor that came later is not counted: %+v", seen.Executors)
	}
	const other = "is the driver of SparkApplication spark-pi already"
	if out, errOut, code = execute(t, "", "adopt", sparkPiDriver, "--name", "other"); out != "" || !strings.Contains(errOut, other) || code != 1 {
		t.Errorf("under another name: exit code %d, %s%s, want %q", code, out, errOut, other)
	}
}

// Wherever the command is interrupted, no second driver starts, and the same command goes on.
func TestAdoptGoesOn(t *testing.T) {
	for name, denied := range map[string]apiserver.Request{
		"before the driver is marked":  {Verb: "patch", Resource: "pods", Name: sparkPiDriver},
		"before an executor is marked": {Verb: "patch", Resource: "pods", Name: "pi-exec-1"},
		"before the application":       {Verb: "create", Resource: "sparkapplications"},
	} {
		t.Run(name, func(t *testing.T) {
			pod, properties := submitted(t)
			a := newAPI(t, pod, properties, executor("pi-exec-1", sparkAppID))
			a.AllowWrites()
			a.Deny(denied)
			if out, errOut, code := execute(t, "", "adopt", sparkPiDriver); code != 1 || out != "" || !strings.Contains(errOut, "you may not "+denied.Verb) {
				t.Fatalf("exit code %d, %s%s", code, out, errOut)
			}
			if denied.Verb != "create" {
				if _, plan := look(t, "spark-pi"); len(plan.Actions) != 0 {
					t.Errorf("the operator does %+v beside the driver", plan.Actions)
				}
			}
			a.Deny()
			if out, errOut, code := execute(t, "", "adopt", sparkPiDriver); code != 0 || !strings.HasSuffix(out, podAdopted) {
				t.Fatalf("exit code %d, %s%s", code, out, errOut)
			}
			if seen, plan := look(t, "spark-pi"); plan.Record.State != lifecycle.Running || len(seen.Executors) != 1 {
				t.Errorf("%s, %+v", plan.Record.State, seen)
			}
		})
	}
}

// A pod that changes while it is marked is read again; another pod of its name is left alone.
func TestAdoptMarksOnlyWhatItHasRead(t *testing.T) {
	pod, properties := submitted(t)
	app := inState("pi", "")
	loaded := resolve.Load(kubeflow.SparkApplications{}, app, lifecycle.Record{}, resolve.Operator{}, time.Now())
	for name, tc := range map[string]struct {
		reason string
		change func(*corev1.Pod)
		want   string
	}{
		"status":   {"its kubelet was faster", func(p *corev1.Pod) { p.Status.PodIP = "10.0.0.1" }, ""},
		"replaced": {"another driver by that name", func(p *corev1.Pod) { p.UID = "uid-other" }, "it has been replaced by another pod"},
		"ended":    {"there is nothing to follow", func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }, "the driver ended during the adoption"},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAPI(t, pod, properties)
			a.AllowWrites()
			c, err := addCluster(&cobra.Command{}).connect()
			if err != nil {
				t.Fatal(err)
			}
			read, err := c.driverPod(t.Context(), sparkPiDriver)
			if err != nil {
				t.Fatal(err)
			}
			changed := pod.DeepCopy()
			tc.change(changed)
			a.Put(changed)
			err = c.markDriver(t.Context(), read, loaded, dryRunNone)
			if fmt.Sprint(err) == "<nil>" != (tc.want == "") || !strings.Contains(fmt.Sprint(err), tc.want) {
				t.Errorf("%s: %v, want %q", tc.reason, err, tc.want)
			}
			var now corev1.Pod
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(pod), &now); err != nil || metav1.IsControlledBy(&now, app) != (tc.want == "") {
				t.Errorf("%s: %v, owners %+v", tc.reason, err, now.OwnerReferences)
			}
		})
	}
}

func TestAdoptDryRun(t *testing.T) {
	pod, properties := submitted(t)
	a := newAPI(t, pod, properties)
	a.AllowWrites()
	suffixed := func(suffix string) string { return strings.ReplaceAll(appCreated+podAdopted, "\n", suffix+"\n") }
	if out, errOut, code := execute(t, "", "adopt", sparkPiDriver, "--dry-run=client"); out != suffixed(" (dry run)") || errOut != asAlice || code != 0 {
		t.Errorf("client: exit code %d, %s%s", code, out, errOut)
	}
	if out, errOut, code := execute(t, "", "adopt", sparkPiDriver, "--dry-run=client", "-o", "json", "--name", "pi"); code != 0 {
		t.Errorf("manifest: exit code %d, %s", code, errOut)
	} else {
		var app v1beta2.SparkApplication
		if err := json.Unmarshal([]byte(out), &app); err != nil || app.Name != "pi" || app.Kind != "SparkApplication" || app.Annotations[v1beta2.AnnotationAdopts] != sparkPiDriver {
			t.Errorf("manifest: %v, %s", err, out)
		}
	}
	if wrote := written(a); len(wrote) > 0 {
		t.Errorf("a dry run sends %q", wrote)
	}
	if out, errOut, code := execute(t, "", "adopt", sparkPiDriver, "--dry-run=server"); out != suffixed(" (server dry run)") || errOut != asAlice || code != 0 {
		t.Errorf("server: exit code %d, %s%s", code, out, errOut)
	}
	if _, errOut, code := execute(t, "", "explain", "spark-pi"); code != 1 {
		t.Errorf("a dry run creates an application: %s", errOut)
	}
}

func TestAdoptRefuses(t *testing.T) {
	owned := func(version, kind, name string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.OwnerReferences = []metav1.OwnerReference{{APIVersion: version, Kind: kind, Name: name, UID: "u", Controller: ptr.To(true)}}
		}
	}
	about := func(name string) *v1beta2.SparkApplication {
		return inState("spark-pi", v1beta2.ApplicationStateRunning, func(o *v1beta2.SparkApplication) {
			o.Annotations = map[string]string{v1beta2.AnnotationAdopts: name}
		})
	}
	cases := map[string]struct {
		reason string
		args   string
		pod    func(*corev1.Pod)
		beside client.Object
		want   string
	}{
		"none":     {reason: "a typo", args: "spark-driver", want: `there is no pod "spark-driver" in namespace jobs; kubectl get pods -n jobs -l spark-role=driver shows the drivers`},
		"executor": {reason: "it belongs to a driver", pod: func(p *corev1.Pod) { p.Labels["spark-role"] = "executor" }, want: "is no driver of spark-submit with --deploy-mode cluster"},
		"client":   {reason: "a driver in client mode in a pod", pod: func(p *corev1.Pod) { p.Spec.Volumes = nil }, want: "in client mode cannot be adopted"},
		"deleted":  {reason: "it is on its way out", pod: func(p *corev1.Pod) { p.DeletionTimestamp, p.Finalizers = ptr.To(before(0)), []string{"a/b"} }, want: "is being deleted"},
		"over":     {reason: "its pod has ended", pod: func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }, want: "has ended: it cannot be adopted"},
		"sidecar": {reason: "Spark has ended, and a sidecar runs", pod: func(p *corev1.Pod) {
			p.Status.ContainerStatuses[0].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}
		}, want: "has ended: it cannot be adopted"},
		"ours":     {reason: "an operator created it", pod: owned("sparkoperator.k8s.io/v1beta2", "SparkApplication", "spark-pi"), beside: inState("spark-pi", v1beta2.ApplicationStateRunning), want: "is the driver of SparkApplication spark-pi already"},
		"job":      {reason: "a Job started spark-submit as its own pod", pod: owned("batch/v1", "Job", "nightly"), want: "belongs to Job nightly, which controls it"},
		"label":    {reason: "of Kubeflow's operator without its webhook", pod: func(p *corev1.Pod) { p.Labels[v1beta2.LabelAppName] = "etl" }, want: "was created by an operator for SparkApplication etl"},
		"name":     {reason: "no name of an object", args: sparkPiDriver + " --name Spark_Pi", want: `--name: "Spark_Pi": `},
		"taken":    {reason: "an application of the user's", beside: inState("spark-pi", ""), want: "there is a SparkApplication spark-pi for another driver than pod " + sparkPiDriver + "; choose another name with --name"},
		"another":  {reason: "an application that adopted another driver", beside: about("other-driver"), want: "for another driver than pod"},
		"before":   {reason: "an application that followed an earlier pod of the name", beside: about(sparkPiDriver), want: "for another driver than pod"},
		"unmapped": {reason: "its ConfigMap was deleted", pod: func(p *corev1.Pod) { p.Spec.Volumes[1].ConfigMap.Name = "gone" }, want: `configmaps "gone" not found`},
		"rights":   {reason: "who may not look", args: sparkPiDriver + " -n denied", want: "you may not get pods in namespace denied"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			pod, properties := submitted(t)
			if tc.pod != nil {
				tc.pod(pod)
			}
			objects := []client.Object{pod, properties}
			if tc.beside != nil {
				objects = append(objects, tc.beside)
			}
			a := newAPI(t, objects...)
			a.Deny(apiserver.Request{Namespace: "denied"})
			args := tc.args
			if args == "" {
				args = sparkPiDriver
			}
			out, errOut, code := execute(t, "", append([]string{"adopt"}, strings.Fields(args)...)...)
			if code != 1 || out != "" || !strings.Contains(errOut, tc.want) {
				t.Errorf("%s: exit code %d, %s%s, want %q", tc.reason, code, out, errOut, tc.want)
			}
		})
	}
}
