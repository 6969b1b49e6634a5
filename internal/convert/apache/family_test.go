// SPDX-License-Identifier: Apache-2.0

package apache

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// By these names objects that exist already are found again, those of Apache's operator among them, and admission and events name the kind:
// another label would let an operator lose what runs.
func TestNamesOfBothKinds(t *testing.T) {
	submitter := lifecycle.SubmitterKeys{User: "sparkoperator.k8s.io/submitter", Groups: "sparkoperator.k8s.io/submitter-groups"}
	labels := func(app, submission string) lifecycle.Labels {
		return lifecycle.Labels{
			App: app, LaunchedBy: "spark.operator/name", Submission: submission, PlainOwner: true, CreatedBy: "sparkoperator.k8s.io/created-by-spark-operator",
			SpecHash: "sparkoperator.k8s.io/spec-hash", Exposes: "sparkoperator.k8s.io/exposes", Applied: "sparkoperator.k8s.io/applied",
		}
	}
	app := lifecycle.Family{
		Group: "spark.apache.org", Version: "v1", Kind: "SparkApplication", Labels: labels("spark.operator/spark-app-name", "spark-app-selector"), DriverOwns: true,
		Finalizer: "sparkapplications.spark.apache.org/finalizer", Reads: []string{"spark.operator/sentinel"}, Submitter: submitter,
		States: map[lifecycle.State]string{
			lifecycle.Queued: "Submitted", lifecycle.Submitted: "DriverRequested", lifecycle.Running: "RunningHealthy", lifecycle.Succeeding: "Succeeded", lifecycle.Failing: "Failed",
			lifecycle.Rerunning: "ScheduledToRestart", lifecycle.Suspending: "Suspended", lifecycle.Suspended: "Suspended", lifecycle.Resuming: "Submitted",
			lifecycle.SubmissionFailed: "SchedulingFailure", lifecycle.Succeeded: "Succeeded", lifecycle.Failed: "Failed",
		},
	}
	cluster := lifecycle.Family{
		Group: "spark.apache.org", Version: "v1", Kind: "SparkCluster", Labels: labels("spark.operator/spark-cluster-name", "spark.operator/spark-cluster-name"),
		Finalizer: "sparkclusters.spark.apache.org/finalizer", Reads: []string{"spark.operator/sentinel"}, Submitter: submitter,
	}
	for got, want := range map[*lifecycle.Family]lifecycle.Family{new(SparkApplications{}.Family()): app, new(Clusters{}.Family()): cluster} {
		if diff := cmp.Diff(want, *got, cmpopts.IgnoreFields(lifecycle.Family{}, "Fields")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", want.Kind, diff)
		}
		if got.Fields.Path("suspend") != "spec.suspend" {
			t.Errorf("messages about a %s name no fields", want.Kind)
		}
	}
	if diff := cmp.Diff(&v1.SparkApplication{}, SparkApplications{}.New()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(&v1.SparkCluster{}, Clusters{}.New()); diff != "" {
		t.Error(diff)
	}
}

// Messages name the fields that a user of the kind has, in whatever words the core has found a problem.
func TestNamesOfFieldsOfApplications(t *testing.T) {
	conf := func(key string) string { return `spec.sparkConf["` + key + `"]` }
	const timeouts = "spec.applicationTolerations.applicationTimeoutConfig."
	want := map[spark.Field]string{
		"": "spec", "metadata": "metadata", "sparkVersion": "spec.runtimeVersions.sparkVersion", "image": conf("spark.kubernetes.container.image"),
		"imagePullSecrets": conf("spark.kubernetes.container.image.pullSecrets"), "driver.podName": conf("spark.kubernetes.driver.pod.name"),
		"executor.instances": conf("spark.executor.instances"), "batchScheduler": conf("spark.kubernetes.scheduler.name"), "batchScheduler.queue": "the queue that the pods name",
		"batchScheduler.parameters": "the parameters in the operator's configuration",
		"driver.coreLimit":          conf("spark.kubernetes.driver.limit.cores"), "executor.coreLimit": conf("spark.kubernetes.executor.limit.cores"),
		"driver.memory": conf("spark.driver.memory"), "executor.memory": conf("spark.executor.memory"), "driver.cores": conf("spark.driver.cores"), "executor.cores": conf("spark.executor.cores"),
		"configMaps": "spec.configMapSpecs", "managedBy": "spec.managedBy", "retention": "spec.applicationTolerations.resourceRetainDurationMillis",
		"timeToLiveSeconds": "spec.applicationTolerations.ttlAfterStopMillis", "deadlines": "defaults.deadlines of the operator's policies",
		"deadlines.driverStart": timeouts + "driverStartTimeoutMillis", "deadlines.driverPodReady": timeouts + "driverReadyTimeoutMillis",
		"deadlines.initialExecutors": timeouts + "executorStartTimeoutMillis", "deadlines.firstExecutors": timeouts + "executorStartTimeoutMillis",
	}
	for _, role := range []string{"driver", "executor"} {
		template := "spec." + role + "Spec.podTemplateSpec"
		for name, path := range map[string]string{
			"": "", ".template": "", ".serviceAccount": ".spec.serviceAccountName", ".podSecurityContext": ".spec.securityContext", ".labels": ".metadata.labels", ".annotations": ".metadata.annotations",
		} {
			want[spark.Field(role+name)] = template + path
		}
		for _, name := range strings.Fields("volumes tolerations nodeSelector affinity priorityClassName schedulerName hostNetwork") {
			want[spark.Field(role+"."+name)] = template + ".spec." + name
		}
		for _, name := range strings.Fields("image ports lifecycle securityContext") {
			want[spark.Field(role+"."+name)] = template + ".spec.containers"
		}
	}
	got := map[spark.Field]string{}
	for field := range want {
		got[field] = fields.Path(field)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The properties of an object are those of its spec, whichever of the two kinds it is of.
func TestPropertiesOfBothKinds(t *testing.T) {
	conf := map[string]string{"spark.a": "1"}
	for name, tc := range map[string]struct {
		reason string
		object metav1.Object
		want   map[string]string
	}{
		"Application": {reason: "it has properties", object: &v1.SparkApplication{Spec: v1.SparkApplicationSpec{SparkConf: conf}}, want: conf},
		"Cluster":     {reason: "so has a cluster", object: &v1.SparkCluster{Spec: v1.SparkClusterSpec{SparkConf: conf}}, want: conf},
		"Other":       {reason: "other kinds have none", object: &metav1.ObjectMeta{}},
	} {
		if diff := cmp.Diff(tc.want, SparkConf(tc.object)); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", name, tc.reason, diff)
		}
	}
}

// Why a driver that is there does not run is what its condition says.
func TestWhyADriverWaits(t *testing.T) {
	for name, tc := range map[string]struct {
		reason     string
		conditions []metav1.Condition
		want       string
	}{
		"Waits":   {reason: "the condition of the driver", conditions: []metav1.Condition{{Type: "Admitted", Reason: "Admitted"}, {Type: "DriverReady", Reason: "Unschedulable"}}, want: "Unschedulable"},
		"Nothing": {reason: "there is no driver", conditions: []metav1.Condition{{Type: "Admitted", Reason: "Admitted"}}},
	} {
		o := &v1.SparkApplication{Status: v1.SparkApplicationStatus{Conditions: tc.conditions}}
		if got := (SparkApplications{}).DriverWaits(o); got != tc.want {
			t.Errorf("%s: %s: %q", name, tc.reason, got)
		}
	}
}

// An application is loaded whole: its model, what is wrong with it, and what a decision needs.
func TestLoadedApplications(t *testing.T) {
	o := own(func(s *v1.SparkApplicationSpec) { s.DeploymentMode, s.Suspend = v1.ClientMode, true }).app
	got := SparkApplications{}.Load(o, lifecycle.Record{})
	app, problems := Normalize(o)
	want := lifecycle.Loaded{App: app, Problems: problems, Desired: SparkApplications{}.Desired(o, lifecycle.Record{})}
	if diff := cmp.Diff(want, got); diff != "" || len(problems) != 1 || !got.Desired.Suspend {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(app, SparkApplications{}.RaiseMemory(app, o, 2)); diff != "" {
		t.Errorf("the family has no policy that raises memory (-want +got):\n%s", diff)
	}
}
