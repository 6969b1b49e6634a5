// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/firesteel-dev/firesteel/internal/resolve"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/scheduler/kube"
	"github.com/firesteel-dev/firesteel/internal/scheduler/yunikorn"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// A cluster has a master and workers, and so have the messages about it; the field is one that it has.
func TestWordsOfAScheduler(t *testing.T) {
	registry, err := scheduler.NewRegistryFor(scheduler.Policy{Default: kube.Name, AllowedQueues: []scheduler.QueueRule{{Namespaces: []string{"jobs"}, Queues: []string{"root.jobs"}}}}, kube.Plugin{}, yunikorn.Plugin{})
	if err != nil {
		t.Fatal(err)
	}
	role := spark.StandaloneRole{Pod: &corev1.Pod{Spec: corev1.PodSpec{SchedulerName: yunikorn.Name}}}
	c := Cluster{App: scheduler.App{Namespace: "jobs"}, Built: spark.Standalone{
		Conf: map[string]string{spark.ConfSchedulerName: yunikorn.Name}, Roles: []spark.StandaloneRole{role, role},
	}}
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
