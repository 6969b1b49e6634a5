// SPDX-License-Identifier: Apache-2.0

package yunikorn

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/firesteel-dev/firesteel/internal/admission"
	"github.com/firesteel-dev/firesteel/internal/resolve"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/scheduler/kube"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

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
	for _, enabled := range []string{kube.Name, Name} {
		registry, err := scheduler.NewRegistryFor(scheduler.Policy{Default: enabled, OwnApplications: true}, kube.Plugin{}, Plugin{})
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
				c := admission.Cluster{App: scheduler.App{Namespace: "jobs"}, Built: spark.Standalone{
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
