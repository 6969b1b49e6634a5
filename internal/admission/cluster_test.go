// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/firesteel-dev/firesteel/internal/resolve"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/scheduler/kube"
	"github.com/firesteel-dev/firesteel/internal/scheduler/yunikorn"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// queues is a scheduler that puts pods into queues which they name nowhere.
type queues struct{ kube.Plugin }

func (queues) Describe() scheduler.Descriptor {
	return scheduler.Descriptor{Name: "lines", SchedulerName: "lines", Supports: scheduler.Support{Queues: true}}
}
func (queues) QueueOf(spark.PodAttributes, []*unstructured.Unstructured) (string, bool) {
	return "", true
}
func (queues) QueueOfObject(*unstructured.Unstructured) (string, bool) { return "", false }

// A cluster has a master and workers, and so have the messages about it; the field is one that it has.
func TestWordsOfAScheduler(t *testing.T) {
	registry, err := scheduler.NewRegistryFor(scheduler.Policy{Default: kube.Name, AllowedQueues: []scheduler.QueueRule{{Namespaces: []string{"jobs"}, Queues: []string{"root.jobs"}}}}, kube.Plugin{}, queues{})
	if err != nil {
		t.Fatal(err)
	}
	role := spark.StandaloneRole{Pod: &corev1.Pod{Spec: corev1.PodSpec{SchedulerName: "lines"}}}
	c := Cluster{App: scheduler.App{Namespace: "jobs"}, Built: spark.Standalone{
		Conf: map[string]string{spark.ConfSchedulerName: "lines"}, Words: spark.Words{spark.WordDriver: "master"}, Roles: []spark.StandaloneRole{role, role},
	}}
	c.Now = start
	if now := c.Attempt().Now; !now.Equal(start) {
		t.Errorf("its scheduler is asked at %s, want %s", now, start)
	}
	candidate, answer := c.Candidate(resolve.Operator{Registry: registry}, nil)
	dry := DryRunCluster(c, resolve.Operator{Registry: registry})
	if candidate != nil || len(dry.Errors) == 0 {
		t.Fatalf("it is not refused: %+v", answer)
	}
	for _, says := range []string{answer.Message, dry.Errors.ToAggregate().Error()} {
		if !strings.Contains(says, "master pod") || strings.Contains(says, "driver pod") {
			t.Errorf("it says %q", says)
		}
	}
}

// A cluster joins no other application of YuniKorn's, by either role and each key that YuniKorn reads, whether the plugin or the pods choose YuniKorn (core
// review, 11). No property fills in {{APP_ID}} here.
func TestClusterNamesNoOtherApplication(t *testing.T) {
	const id = "yunikorn.apache.org/app-id"
	marks := map[string]metav1.ObjectMeta{
		"label":      {Labels: map[string]string{id: "theirs"}},
		"annotation": {Annotations: map[string]string{id: "theirs"}},
		"old":        {Labels: map[string]string{"applicationId": "theirs"}},
		"spark":      {Labels: map[string]string{"spark-app-selector": "theirs"}},
		"unfilled":   {Annotations: map[string]string{id: "{{APP_ID}}"}},
		"none":       {},
	}
	for _, enabled := range []string{kube.Name, yunikorn.Name} {
		registry, err := scheduler.NewRegistryFor(scheduler.Policy{Default: enabled, OwnApplications: true}, kube.Plugin{}, yunikorn.Plugin{})
		if err != nil {
			t.Fatal(err)
		}
		for name, mark := range marks {
			for i, word := range []string{"master", "worker"} {
				pods := []*corev1.Pod{{}, {}}
				for _, pod := range pods {
					pod.Spec.SchedulerName = "yunikorn"
				}
				pods[i].ObjectMeta = mark
				c := Cluster{App: scheduler.App{Namespace: "jobs"}, Built: spark.Standalone{
					Conf: map[string]string{spark.ConfSchedulerName: "yunikorn"}, Words: spark.Words{spark.WordDriver: "master", spark.WordExecutor: "worker"},
					Roles: []spark.StandaloneRole{{Pod: pods[0]}, {Pod: pods[1]}},
				}}
				candidate, answer := c.Candidate(resolve.Operator{Registry: registry}, nil)
				if refused := candidate == nil; refused != (name != "none") || refused && (answer.Reason != scheduler.ReasonPodKeyConflict || !strings.Contains(answer.Message, word+" pod")) {
					t.Errorf("%s, %s of a %s: %+v", enabled, name, word, answer.Admission)
				}
			}
		}
	}
}
