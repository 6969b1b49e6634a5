// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/firesteel-dev/firesteel/internal/resolve"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/scheduler/kube"
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
