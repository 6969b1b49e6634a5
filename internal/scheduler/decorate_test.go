// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/firesteel-dev/firesteel/internal/spark"
)

func decorated() spark.Application {
	return spark.Application{
		Name: "pi",
		Driver: spark.Role{Overlay: spark.PodOverlay{
			SchedulerName: "mine", NodeSelector: map[string]string{"zone": "a"}, Tolerations: []corev1.Toleration{{Key: "a"}},
			Labels: map[string]string{"team": "a"},
		}},
		Executor: spark.Role{Overlay: spark.PodOverlay{PriorityClassName: "low"}},
	}
}

// claims of the group on both roles.
var claims = Descriptor{ManagedKeys: []PodKey{{PodLabel, "group"}, {PodAnnotation, "group"}, {Part: PodPriorityClass}}}

func TestDecorate(t *testing.T) {
	p := stub{name: "x", schedulerName: "x-scheduler", descriptor: claims, decorate: func(a Attempt, d *Decoration) {
		SetIn(&d.Driver.Labels, "group", a.ID)
		SetIn(&d.Executor.Annotations, "group", a.ID)
		DecoratePriorityClass(a, d)
	}}
	app := decorated()
	got, err := Decorate(p, Attempt{ID: "g1", PriorityClass: "high"}, app)
	if err != nil {
		t.Fatal(err)
	}
	want := decorated()
	want.OperatorConf = map[string]string{}
	want.Driver.Overlay.SchedulerName, want.Executor.Overlay.SchedulerName = "x-scheduler", "x-scheduler"
	want.Driver.Overlay.Labels["group"] = "g1"
	want.Driver.Overlay.PriorityClassName = "high"
	want.Executor.Overlay.Annotations = map[string]string{"group": "g1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("decorated application (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(decorated(), app); diff != "" {
		t.Errorf("the application given was changed (-want +got):\n%s", diff)
	}
}

// A plugin without a scheduler of its own leaves the user's choice alone.
func TestDecorateKeepsSchedulerName(t *testing.T) {
	got, err := Decorate(stub{name: "kube"}, Attempt{}, decorated())
	if err != nil || got.Driver.Overlay.SchedulerName != "mine" || got.Executor.Overlay.SchedulerName != "" {
		t.Errorf("scheduler names %q and %q, %v; want the user's", got.Driver.Overlay.SchedulerName, got.Executor.Overlay.SchedulerName, err)
	}
}

// Spark's configuration takes precedence over the executors' template for the driver.
func TestDecorateWinsOverConfiguration(t *testing.T) {
	app := decorated()
	app.Conf = map[string]string{spark.ConfExecutorSchedulerName: "mine", spark.ConfSchedulerName: "mine"}
	app.OperatorConf = map[string]string{"spark.master": "k8s"}
	got, err := Decorate(stub{schedulerName: "x"}, Attempt{}, app)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"spark.master": "k8s", spark.ConfExecutorSchedulerName: "x", spark.ConfSchedulerName: "x"}
	if diff := cmp.Diff(want, got.OperatorConf); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(app.OperatorConf) != 1 {
		t.Error("the application given was changed")
	}
}

func TestDecorateRefusesUnclaimed(t *testing.T) {
	cases := map[string]struct {
		reason   string
		decorate func(*Decoration)
		says     string
	}{
		"Label":      {reason: "no one knows of it", decorate: func(d *Decoration) { SetIn(&d.Driver.Labels, "other", "x") }, says: `label "other" on the driver`},
		"Annotation": {reason: "the key is claimed as another part", decorate: func(d *Decoration) { SetIn(&d.Executor.Annotations, "other", "x") }, says: `annotation "other" on executors`},
		"Overwrite":  {reason: "the user's own label", decorate: func(d *Decoration) { d.Driver.Labels["team"] = "b" }, says: `label "team"`},
		"Removal":    {reason: "the user's own label", decorate: func(d *Decoration) { delete(d.Driver.Labels, "team") }, says: `label "team" to nothing`},
		"Class":      {reason: "the role's own class stays", decorate: func(d *Decoration) { d.Executor.PriorityClassName = "high" }, says: "priority class high"},
		"Field":      {reason: "the rest of the pod is the user's", decorate: func(d *Decoration) { d.Driver.NodeSelector["pool"] = "b" }, says: "not a label"},
		"Scheduler":  {reason: "the core writes the name", decorate: func(d *Decoration) { d.Driver.SchedulerName = "b" }, says: "not a label"},
		"Toleration": {reason: "an element of a list", decorate: func(d *Decoration) { d.Driver.Tolerations[0].Key = "b" }, says: "not a label"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := stub{name: "x", descriptor: claims, decorate: func(_ Attempt, d *Decoration) { tc.decorate(d) }}
			app := decorated()
			_, err := Decorate(p, Attempt{}, app)
			if err == nil || !strings.Contains(err.Error(), tc.says) || !strings.Contains(err.Error(), "plugin x") {
				t.Errorf("%s: got %v, want %q", tc.reason, err, tc.says)
			}
			if diff := cmp.Diff(decorated(), app); diff != "" {
				t.Errorf("the application given was changed (-want +got):\n%s", diff)
			}
		})
	}
}

func TestConflicts(t *testing.T) {
	grouping := func(a Attempt, d *Decoration) {
		SetIn(&d.Driver.Labels, "group", a.ID)
		SetIn(&d.Executor.Annotations, "group", a.ID)
	}
	mine := func(t spark.PodAttributes) spark.PodSets { return spark.PodSets{DriverAttributes: t} }
	cases := map[string]struct {
		reason string
		source Source
		shapes spark.PodSets
		code   Reason
		says   []string
	}{
		"None":            {reason: "no one wrote anything", code: ReasonAdmitted},
		"Same":            {reason: "the value that the plugin sets", shapes: mine(spark.PodAttributes{Labels: map[string]string{"group": "g1"}}), code: ReasonAdmitted},
		"Other key":       {reason: "not the plugin's affair", shapes: mine(spark.PodAttributes{Labels: map[string]string{"team": "a"}}), code: ReasonAdmitted},
		"Label":           {reason: "two groups for a pod", shapes: mine(spark.PodAttributes{Labels: map[string]string{"group": "x"}}), code: ReasonPodKeyConflict, says: []string{"driver pod", `label group: "x"`, `sets to "g1"`}},
		"Executor":        {reason: "two groups for a pod", shapes: spark.PodSets{ExecutorAttributes: spark.PodAttributes{Annotations: map[string]string{"group": "x"}}}, code: ReasonPodKeyConflict, says: []string{"executor pod", "annotation group"}},
		"Default loses":   {reason: "a default overrules no one silently", source: SourceCluster, shapes: mine(spark.PodAttributes{SchedulerName: "y"}), code: ReasonPodSchedulerNameConflict, says: []string{`"y"`, "batchScheduler: none"}},
		"Policy loses":    {reason: "a policy's default, too", source: SourcePolicy, shapes: mine(spark.PodAttributes{SchedulerName: "y"}), code: ReasonPodSchedulerNameConflict, says: []string{`"y"`, "batchScheduler: none"}},
		"Choice wins":     {reason: "the application chose the scheduler itself", source: SourceApplication, shapes: mine(spark.PodAttributes{SchedulerName: "y"}), code: ReasonAdmitted},
		"The same anyway": {reason: "no contradiction", source: SourceNamespace, shapes: mine(spark.PodAttributes{SchedulerName: "x-scheduler"}), code: ReasonAdmitted},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := stub{name: "x", schedulerName: "x-scheduler", descriptor: claims, decorate: grouping, admission: Admission{Verdict: Admit, Reason: ReasonAdmitted}}
			got, err := AdmitAttempt(p, Attempt{ID: "g1", Choice: Choice{Scheduler: "x", Source: tc.source}, PodSets: tc.shapes}, nil)
			if err != nil || got.Reason != tc.code {
				t.Fatalf("%s: %+v, %v; want %s", tc.reason, got, err, tc.code)
			}
			if tc.code != ReasonAdmitted && got.Verdict != Reject {
				t.Errorf("%s: %s: only an edit helps", tc.reason, got.Verdict)
			}
			for _, text := range tc.says {
				if !strings.Contains(got.Message, text) {
					t.Errorf("%s: the sentence does not say %q: %s", tc.reason, text, got.Message)
				}
			}
		})
	}
}
