// SPDX-License-Identifier: Apache-2.0

package volcano

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/admission"
	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/resolve"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/spark"
	"github.com/firesteel-dev/firesteel/internal/testutil"
	"github.com/firesteel-dev/firesteel/test/schedulers/schedulertest"
)

// candidateOf is an application that asks this plugin.
func candidateOf(t *testing.T, o *v1beta2.SparkApplication) *admission.Candidate {
	t.Helper()
	registry, err := scheduler.NewRegistry(Name, New(""))
	if err != nil {
		t.Fatal(err)
	}
	loaded := resolve.Load(kubeflow.SparkApplications{}, o, lifecycle.Record{}, resolve.Operator{}, schedulertest.Start)
	candidate, refused := admission.NewCandidate(loaded, registry, nil)
	if candidate == nil {
		t.Fatalf("%+v", refused.Admission)
	}
	return candidate
}

// The whole way of a manifest: what the pods of both roles look like when Volcano places them.
func TestSubmission(t *testing.T) {
	o := testutil.Pi(testutil.Executors(2))
	o.Namespace = "team-a"
	o.Spec.BatchScheduler, o.Spec.SparkConf = new(Name), map[string]string{spark.ConfExecutorSchedulerName: "mine"}
	o.Spec.Driver.SchedulerName, o.Spec.Driver.PriorityClassName = new("mine"), new("high")
	candidate := candidateOf(t, o)
	a := candidate.Attempt()
	got := candidate.Admit(snapshot(a, podGroup(t, "Inqueue"), nil, queue(t, "default", "", "Open", 0, 0)))
	if got.Submission.Driver == nil {
		t.Fatalf("%+v", got.Admission)
	}
	driver := got.Submission.Driver
	if driver.Spec.SchedulerName != "volcano" || driver.Annotations["scheduling.k8s.io/group-name"] != got.Group.Name {
		t.Errorf("driver: scheduler %q, annotations %v", driver.Spec.SchedulerName, driver.Annotations)
	}
	var template string
	for _, resource := range got.Submission.Resources {
		if m, ok := resource.(*corev1.ConfigMap); ok && strings.HasSuffix(m.Name, "-driver-podspec-conf-map") {
			template = m.Data["podspec-configmap-key"]
		}
	}
	for _, line := range []string{"scheduling.k8s.io/group-name: " + a.ID, `volcano.sh/preemptable: "true"`, "schedulerName: volcano"} {
		if !strings.Contains(template, line) {
			t.Errorf("executors' template lacks %q:\n%s", line, template)
		}
	}
	if name := got.Submission.Properties[spark.ConfExecutorSchedulerName]; name != "volcano" {
		t.Errorf("the driver gives its executors the scheduler %q", name)
	}
	whole := scheduler.Sum(driver.Spec.Containers[0].Resources.Requests, scheduler.Times(a.PodSets.Executor.Requests, 2))
	asked, err := scheduler.As[struct {
		Spec struct {
			MinResources      corev1.ResourceList `json:"minResources"`
			PriorityClassName string              `json:"priorityClassName"`
		} `json:"spec"`
	}](got.Apply[0])
	if err != nil {
		t.Fatal(err)
	}
	if asked.Spec.PriorityClassName != "high" || driver.Spec.PriorityClassName != "high" {
		t.Errorf("the group has the priority class %q, its driver %q", asked.Spec.PriorityClassName, driver.Spec.PriorityClassName)
	}
	for name, quantity := range whole {
		if have := asked.Spec.MinResources[name]; have.Cmp(quantity) != 0 {
			t.Errorf("the group asks for %s %s, the pods for %s", have.String(), name, quantity.String())
		}
	}
}

// The group that Spark's own step makes is created with the driver: waiting for it would be for ever.
func TestGroupOfSparksStep(t *testing.T) {
	o := testutil.Pi(testutil.Executors(2))
	o.Namespace = "team-a"
	o.Spec.BatchScheduler = new(Name)
	o.Spec.SparkVersion = "4.2.0" // the first that has the step
	o.Spec.SparkConf = map[string]string{"spark.kubernetes.driver.pod.featureSteps": "org.apache.spark.deploy.k8s.features.VolcanoFeatureStep"}
	candidate := candidateOf(t, o)
	got := candidate.Admit(snapshot(candidate.Attempt(), nil, nil, queue(t, "default", "", "Open", 0, 0)))
	if got.Verdict != scheduler.Admit || len(got.Apply) > 0 || !strings.HasSuffix(got.Group.Name, "-podgroup") {
		t.Errorf("%+v", got.Admission)
	}
}
