// SPDX-License-Identifier: Apache-2.0

package spark

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestTraits(t *testing.T) {
	profile, err := ProfileFor("4.1")
	if err != nil {
		t.Fatal(err)
	}
	tolerations := []corev1.Toleration{{Key: "batch", Operator: corev1.TolerationOpExists}}
	app := Application{
		MainFile: NoResource, MainClass: "Pi",
		Conf: map[string]string{
			"spark.kubernetes.driver.label.team": "conf", "spark.kubernetes.executor.annotation.note": "conf {{APP_ID}}",
			"spark.kubernetes.node.selector.zone": "a", "spark.kubernetes.executor.node.selector.pool": "batch",
			"spark.kubernetes.scheduler.name": "both", "spark.kubernetes.executor.scheduler.name": "executors",
			"spark.kubernetes.allocation.maxPendingPods": "7",
		},
		Driver: Role{
			Template: &corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"from": "template"}},
				Spec:       corev1.PodSpec{SchedulerName: "template", PriorityClassName: "high"},
			},
			Overlay: PodOverlay{Annotations: map[string]string{"from": "overlay"}, SchedulerName: "overlay"},
		},
		Executor: Role{
			Template: &corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"id": "{{APP_ID}}"}}},
			Overlay:  PodOverlay{Tolerations: tolerations, NodeSelector: map[string]string{"disk": "ssd"}},
		},
	}
	got, err := podSets(app, profile)
	if err != nil {
		t.Fatal(err)
	}
	driver := PodAttributes{
		Labels: map[string]string{
			"from": "template", "team": "conf",
			LabelAppName: "pi", LabelAppSelector: testIdentity().AppID, LabelRole: RoleDriver, LabelVersion: "",
		},
		Annotations:   map[string]string{"from": "overlay"},
		SchedulerName: "overlay", PriorityClassName: "high", NodeSelector: map[string]string{"zone": "a"},
	}
	if diff := cmp.Diff(driver, got.DriverAttributes); diff != "" {
		t.Errorf("driver: template, configuration and overlay together (-want +got):\n%s", diff)
	}
	executor := PodAttributes{
		Annotations: map[string]string{"note": "conf " + testIdentity().AppID, "id": "{{APP_ID}}"}, SchedulerName: "executors",
		NodeSelector: map[string]string{"zone": "a", "pool": "batch", "disk": "ssd"}, Tolerations: tolerations,
	}
	if diff := cmp.Diff(executor, got.ExecutorAttributes); diff != "" {
		t.Errorf("executors: their own keys win (-want +got):\n%s", diff)
	}
	if got.MaxPending != 7 {
		t.Errorf("at most %d pending executors, want 7", got.MaxPending)
	}
	if app.Driver.Template.Labels["team"] != "" {
		t.Error("the application given was changed")
	}
}

func TestMaxPending(t *testing.T) {
	cases := map[string]struct {
		reason, value string
		want          int32
	}{
		"Limit":   {reason: "a limit", value: " 3 ", want: 3},
		"Default": {reason: "Spark's way to say that there is none", value: "2147483647"},
		"Wrong":   {reason: "the driver refuses it", value: "some"},
		"Zero":    {reason: "the driver refuses it", value: "0"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := maxPending(newConf(map[string]string{confMaxPendingPods: tc.value}, nil)); got != tc.want {
				t.Errorf("%s: %d, want %d", tc.reason, got, tc.want)
			}
		})
	}
	if got := maxPending(newConf(nil, nil)); got != 0 {
		t.Errorf("unset: %d", got)
	}
}
