// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/admission"
	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/spark"
	"github.com/firesteel-dev/firesteel/internal/testutil"
)

// inQueue is an application that its scheduler lets wait.
func inQueue(scheduler, queue string, since time.Duration, reason, message string) func(*v1beta2.SparkApplication) {
	return func(o *v1beta2.SparkApplication) {
		queued(o)
		o.Spec.BatchScheduler, o.Spec.BatchSchedulerOptions = ptr.To(scheduler), &v1beta2.BatchSchedulerConfiguration{Queue: &queue}
		o.Status.Scheduling = &v1beta2.SchedulingStatus{
			Scheduler: scheduler, Source: "Application", Queue: queue, QueuedAt: ptr.To(before(since)), Reason: reason, Message: message,
		}
		o.Status.Conditions = []metav1.Condition{
			{Type: "Submitted", Status: "False", Reason: reason, Message: message},
			{Type: "Succeeded", Status: "Unknown", Reason: reason, Message: "waiting: " + message},
		}
		o.Status.Cause = &v1beta2.CauseStatus{Reason: reason, Message: message}
	}
}

// prints compares what a command prints with what it printed before, whatever the ages and the widths of columns are.
func prints(t *testing.T, golden string, args ...string) {
	t.Helper()
	out, errOut, code := execute(t, "", args...)
	if code != 0 {
		t.Error(errOut)
	}
	testutil.Golden(t, "testdata/"+golden+".golden", "# stdout\n"+columns.ReplaceAllString(ages.ReplaceAllString(out, "AGE"), "  ")+"# stderr\n"+errOut)
}

func TestQueue(t *testing.T) {
	elsewhere := inState("elsewhere", v1beta2.ApplicationStateSubmitted, inQueue("volcano", "team-a", 10*time.Minute, "QueueClosed", "queue team-a is Closed: it accepts no applications until it is opened again (volcano)"))
	elsewhere.Namespace = "etl"
	newAPI(t, elsewhere,
		inState("a-second", v1beta2.ApplicationStateSubmitted, inQueue("volcano", "team-a", 4*time.Minute, "WaitingForQuota", "waiting for quota in queue team-a: cpu asked 12, free 4 of 40 (volcano)")),
		inState("first", v1beta2.ApplicationStateSubmitted, inQueue("volcano", "team-a", 5*time.Minute, "BehindOthers", "two\nlines")),
		inState("new", v1beta2.ApplicationStateNew, func(o *v1beta2.SparkApplication) { o.Spec.BatchScheduler = ptr.To("yunikorn") }),
		inState("plain", v1beta2.ApplicationStateSubmitted, queued), inState("running", v1beta2.ApplicationStateRunning))
	for name, args := range map[string][]string{
		"queue": {"queue"}, "queue-all": {"queue", "-A", "--queue", "team-a"}, "queue-none": {"queue", "--queue", "team-b"},
	} {
		t.Run(name, func(t *testing.T) { prints(t, name, args...) })
	}
}

// What only the operator knows is believed; what can be seen is checked.
func TestExplainTheSchedulersSide(t *testing.T) {
	const full = "waiting for quota in namespace jobs: requests.cpu asked 3, free 1 of 8 (ResourceQuota team) (kube)"
	quota := inState("quota", v1beta2.ApplicationStateSubmitted, inQueue("kube", "", time.Minute, "WaitingForQuota", full), recorded)
	missing := inState("missing", v1beta2.ApplicationStateSubmitted, inQueue("volcano", "team-a", time.Minute, "WaitingForScheduler", "no look yet"), recorded)
	gang := inState("gang", v1beta2.ApplicationStateSubmitted, func(o *v1beta2.SparkApplication) {
		o.Spec.BatchScheduler = ptr.To("coscheduling")
		o.Status.Scheduling = &v1beta2.SchedulingStatus{Scheduler: "coscheduling", Source: "Application", QueuedAt: ptr.To(before(5 * time.Minute)), AdmittedAt: ptr.To(before(4 * time.Minute)), Evictions: 2}
	}, recorded)
	driver := podOf(gang, 0, corev1.ContainerState{})
	driver.Spec.SchedulerName, driver.Status = "scheduler-plugins-scheduler", corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{
		{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/3 nodes are available: resource gap"},
	}}
	group := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"phase": "Scheduling"}}}
	group.SetGroupVersionKind(podGroupKind)
	group.SetNamespace("jobs")
	group.SetName(admission.AttemptID(spark.NewIdentity(gang.UID, 1, time.Now()), 1))
	group.SetOwnerReferences([]metav1.OwnerReference{kubeflow.SparkApplications{}.Family().Owner(gang, "").Reference})
	clash := inState("clash", v1beta2.ApplicationStateSubmitted, inQueue("coscheduling", "", time.Minute, "NameConflict", "taken"), recorded)
	theirs := group.DeepCopy()
	theirs.SetName(admission.AttemptID(spark.NewIdentity(clash.UID, 1, time.Now()), 1))
	theirs.SetOwnerReferences(nil)
	deployment, stored := operatorWith(configHead + "batchScheduler: {enabled: [kube, volcano, coscheduling]}\n")
	newAPI(t, quota, missing, gang, driver, group, clash, theirs, deployment, stored).Install(podGroupKind)
	for name, texts := range map[string][]string{
		"quota":   {"Decision   wait: " + full, "Scheduler  kube", "Verdict    Wait: WaitingForQuota", "Asks for   cpu 3, memory 4224Mi"},
		"missing": {"Decision   wait: volcano is not installed: the API server has no", "Scheduler  volcano, queue team-a (the application's own choice)"},
		"clash":   {"Decision   wait: taken", "Verdict    Wait: NameConflict"},
		"gang":    {"Scheduler  coscheduling (the application's own choice)", "Verdict    Wait: ", "Group      PodGroup " + group.GetName() + ": Scheduling", "Evictions  2", "Queued     for 60s, admitted 4m"},
	} {
		out, errOut, code := execute(t, "", "explain", name)
		if code != 0 {
			t.Error(errOut)
		}
		for _, text := range texts {
			if !strings.Contains(out, text) {
				t.Errorf("%s: it does not say %q:\n%s", name, text, out)
			}
		}
		if strings.Contains(out, "Could not be read") {
			t.Errorf("%s: something could not be read:\n%s", name, out)
		}
	}
}

// recorded is a status that was written for this spec.
func recorded(o *v1beta2.SparkApplication) {
	o.Status.SpecHash = kubeflow.Desired(o, lifecycle.Record{}).SpecHash
}
