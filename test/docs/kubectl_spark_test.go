// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/schedule"
	"github.com/firesteel-dev/firesteel/internal/testutil"
)

const submission = "a5d8a97d-cf3f-4db2-8000-000000000001"

type change = func(o *v1beta2.SparkApplication)

func before(d time.Duration) metav1.Time {
	return metav1.NewTime(time.Now().Add(-d).Truncate(time.Second))
}

// create makes an application with two executors in the namespace jobs.
func (w *harness) create(name string, changes ...change) {
	w.Helper()
	changes = append([]change{testutil.New(jobs, name), testutil.Executors(2)}, changes...)
	must(w.T, w.admin.Create(w.Context(), testutil.Pi(changes...)))
}

// become writes the status of the first attempt, as the operator would.
func (w *harness) become(namespace, name string, state v1beta2.ApplicationStateType, changes ...change) *v1beta2.SparkApplication {
	w.Helper()
	o := &v1beta2.SparkApplication{}
	must(w.T, w.admin.Get(w.Context(), client.ObjectKey{Namespace: namespace, Name: name}, o))
	o.Status = v1beta2.SparkApplicationStatus{
		AppState: v1beta2.ApplicationState{State: state}, ObservedGeneration: o.Generation, SubmissionID: submission, Attempt: 1,
		SpecHash:           kubeflow.Desired(o, lifecycle.Record{}).SpecHash,
		SubmissionAttempts: 1, ExecutionAttempts: 1, LastSubmissionAttemptTime: before(10 * time.Minute), DriverInfo: v1beta2.DriverInfo{PodName: name + "-driver"},
		Attempts: []v1beta2.AttemptStatus{{Attempt: 1, SubmissionID: submission, StartTime: ptr.To(before(10 * time.Minute))}},
	}
	for _, c := range changes {
		c(o)
	}
	must(w.T, w.admin.Status().Update(w.Context(), o))
	return o
}

func condition(kind lifecycle.ConditionType, status metav1.ConditionStatus, reason, message string) change {
	return func(o *v1beta2.SparkApplication) {
		o.Status.Conditions = append(o.Status.Conditions, metav1.Condition{
			Type: string(kind), Status: status, Reason: reason, Message: message, LastTransitionTime: before(time.Minute),
		})
	}
}

// waits is an application that has no driver yet, and why.
func waits(reason, message string) change {
	return func(o *v1beta2.SparkApplication) {
		o.Status.ExecutionAttempts, o.Status.Attempts, o.Status.SubmissionID = 0, nil, ""
		condition(lifecycle.ConditionSubmitted, metav1.ConditionFalse, reason, message)(o)
		condition(lifecycle.ConditionSucceeded, metav1.ConditionUnknown, reason, "waiting: "+message)(o)
		o.Status.Cause = &v1beta2.CauseStatus{Reason: reason, Message: message, Time: ptr.To(before(time.Minute))}
	}
}

// inQueue is one that a queue of Volcano lets wait.
func inQueue(since time.Duration, reason, message string) change {
	return func(o *v1beta2.SparkApplication) {
		waits(reason, message)(o)
		o.Status.Scheduling = &v1beta2.SchedulingStatus{
			Scheduler: "volcano", Source: "Application", Queue: *o.Spec.BatchSchedulerOptions.Queue, QueuedAt: ptr.To(before(since)), Reason: reason, Message: message,
		}
	}
}

func volcano(queue string) change {
	return func(o *v1beta2.SparkApplication) {
		o.Spec.BatchScheduler, o.Spec.BatchSchedulerOptions = ptr.To("volcano"), &v1beta2.BatchSchedulerConfiguration{Queue: &queue}
	}
}

// failed ends the last attempt.
func failed(class, reason string, code int32, message string) change {
	return func(o *v1beta2.SparkApplication) {
		o.Status.AppState.ErrorMessage, o.Status.TerminationTime = message, before(0)
		a := &o.Status.Attempts[len(o.Status.Attempts)-1]
		a.EndTime, a.ExitCode, a.FailureClass, a.Reason, a.Message = ptr.To(before(0)), ptr.To(code), class, reason, message
		o.Status.Cause = &v1beta2.CauseStatus{Reason: reason, Message: message, Time: ptr.To(before(0))}
		condition(lifecycle.ConditionSucceeded, metav1.ConditionFalse, reason, message)(o)
	}
}

// failedDriver makes the pod of an attempt whose driver ended with exit code 1.
func (w *harness) failedDriver(o *v1beta2.SparkApplication) {
	w.Helper()
	const container = "spark-kubernetes-driver"
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: o.Namespace, Name: o.Name + "-driver",
			Labels:          map[string]string{v1beta2.LabelAppName: o.Name, v1beta2.LabelSubmissionID: submission, "spark-role": "driver"},
			OwnerReferences: []metav1.OwnerReference{kubeflow.SparkApplications{}.Family().Owner(o, "").Reference},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: container, Image: "spark:4.1.4"}}},
	}
	must(w.T, w.admin.Create(w.Context(), pod))
	pod.Status = corev1.PodStatus{
		Phase: corev1.PodFailed, StartTime: ptr.To(before(0)),
		Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: before(0)}},
		ContainerStatuses: []corev1.ContainerStatus{{Name: container, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			ExitCode: 1, Reason: "Error", StartedAt: before(0), FinishedAt: before(0),
		}}}},
	}
	must(w.T, w.admin.Status().Update(w.Context(), pod))
}

// checked has an installation in which all is right, but for its pods. The Deployment is the one of the kustomize tree: by its labels it is found.
func checked(w *harness) {
	w.Helper()
	const configuration = `{apiVersion: config.firesteel.dev/v1alpha1, kind: OperatorConfiguration, policies: [{name: small, namespaces: [jobs], limits: {executors: 100}}]}`
	w.do("kubectl create namespace spark-operator --dry-run=client -o yaml | kubectl apply -f -")
	w.do("kubectl create configmap settings -n spark-operator --from-literal=config.yaml='" + configuration + "'")
	w.do("kubectl kustomize config/default -o " + w.folder + " && kubectl apply -f " + w.folder + "/apps_v1_deployment_spark-operator-controller.yaml")
	w.do(`kubectl patch deployment spark-operator-controller -n spark-operator -p '{"spec": {"template": {"spec": {"volumes": [{"name": "config", "configMap": {"name": "settings"}}]}}}}'`)
	w.do(`kubectl patch deployment spark-operator-controller -n spark-operator --subresource=status --type=merge -p '{"status": {"replicas": 1, "readyReplicas": 1}}'`)
	w.do("kubectl kustomize config/rbac/spark-driver | sed 's/namespace: default/namespace: " + jobs + "/' | kubectl apply -f -")
	w.do("kubectl create quota team -n " + jobs + " --hard=pods=10")
	w.do("kubectl patch quota team -n " + jobs + ` --subresource=status --type=merge -p '{"status": {"hard": {"pods": "10"}, "used": {"pods": "3"}}}'`)
	w.run("docs/kubectl-spark.md", "check")
	w.do("kubectl delete deployment,configmap -n spark-operator spark-operator-controller settings --ignore-not-found")
	w.do("kubectl delete quota,serviceaccount,role,rolebinding -n " + jobs + " team spark-operator-spark spark-driver --ignore-not-found")
}

// kubectlSpark has the applications that the page shows.
func kubectlSpark(w *harness) {
	w.Helper()
	const message = "driver container failed with ExitCode: 1, Reason: Error"
	w.do("kubectl config set-context --current --namespace " + jobs)
	defer w.do("kubectl config set-context --current --namespace default")
	checked(w)

	w.create("spark-pi", func(o *v1beta2.SparkApplication) {
		o.Spec.RestartPolicy = v1beta2.RestartPolicy{Type: v1beta2.RestartPolicyOnFailure, OnFailureRetries: ptr.To[int32](3), OnFailureRetryInterval: ptr.To[int64](30)}
	})
	w.failedDriver(w.become(jobs, "spark-pi", v1beta2.ApplicationStateFailing, failed("Application", "DriverFailed", 1, message), func(o *v1beta2.SparkApplication) {
		o.Status.Scheduling = &v1beta2.SchedulingStatus{Scheduler: "kube", Source: "Cluster"}
	}))
	w.run("docs/kubectl-spark.md", "explain")
	w.do("kubectl delete sparkapplications.sparkoperator.k8s.io,pod --all --grace-period 0 --force")

	w.says(w.run("docs/kubectl-spark.md", "validate and render"), "schedules checked: 1, errors: 0")

	w.create("typo", volcano("taem-a"))
	w.become(jobs, "typo", v1beta2.ApplicationStateSubmitted, inQueue(12*time.Minute, "QueueNotFound",
		`spec.batchSchedulerOptions.queue: queue "taem-a" does not exist; queues you may use: default, team-a (volcano)`))
	w.create("second", volcano("team-a"))
	w.become(jobs, "second", v1beta2.ApplicationStateSubmitted, inQueue(37*time.Second, "WaitingForQuota",
		"waiting for quota in queue team-a: cpu asked 200m, free 100m of 300m (volcano)"))
	w.do("kubectl create namespace spark-operator --dry-run=client -o yaml | kubectl apply -f -")
	w.do(`kubectl create configmap settings -n spark-operator --from-literal=config.yaml='{apiVersion: config.firesteel.dev/v1alpha1, kind: OperatorConfiguration}'`)
	w.do("kubectl create deployment spark-operator-controller -n spark-operator --image=none")
	w.do(`kubectl patch deployment spark-operator-controller -n spark-operator --type=merge -p '{"spec": {"template": {"spec": {"volumes": [{"name": "config", "configMap": {"name": "settings"}}]}}}}'`)
	w.run("docs/kubectl-spark.md", "queue")
	w.do("kubectl delete deployment,configmap -n spark-operator spark-operator-controller settings --ignore-not-found")
	w.do("kubectl delete sparkapplications.sparkoperator.k8s.io --all")

	w.create("etl")
	w.become(jobs, "etl", v1beta2.ApplicationStateFailed, failed("OutOfMemory", "DriverOutOfMemory", 137, "killed"), func(o *v1beta2.SparkApplication) {
		o.Status.Attempt, o.Status.ExecutionAttempts = 3, 3
		o.Status.Attempts[0].Attempt = 3
	})
	w.create("queued")
	w.become(jobs, "queued", v1beta2.ApplicationStateSubmitted, waits("QuotaExceeded", "exceeded quota: team"))
	w.create("report")
	w.become(jobs, "report", v1beta2.ApplicationStateRunning, condition(lifecycle.ConditionExecutorsReady, metav1.ConditionFalse, "ExecutorsPending", "not all of the 2 executors run"),
		func(o *v1beta2.SparkApplication) { o.Status.Executors = &v1beta2.ExecutorSummary{Running: 1} })
	w.run("docs/kubectl-spark.md", "list")
	w.do("kubectl delete sparkapplications.sparkoperator.k8s.io --all")
	verbs(w)
}

// verbs has what the page changes. No operator acts on it.
func verbs(w *harness) {
	w.Helper()
	w.create("etl")
	w.create("report")
	must(w.T, w.admin.Create(w.Context(), &v1beta2.ScheduledSparkApplication{
		ObjectMeta: metav1.ObjectMeta{Namespace: jobs, Name: "nightly"},
		Spec:       v1beta2.ScheduledSparkApplicationSpec{Schedule: "30 2 * * *", TimeZone: "Europe/Berlin", Template: testutil.Pi().Spec},
	}))
	w.run("docs/kubectl-spark.md", "Verbs")
	w.says(w.do("kubectl get scheduledsparkapp nightly -o yaml"), "maxActive: 2", `from: "2026-02-28T23:00:00Z"`, v1beta2.AnnotationTriggerAt)
	w.says(w.do("kubectl get sparkapplications.sparkoperator.k8s.io etl -o yaml"), v1beta2.AnnotationRerunAt, "suspend: false")
	w.run("docs/schedules.md", "kubectl spark trigger nightly --from 2026-03-01 --to 2026-04-01")
	w.says(w.run("docs/schedules.md", "kubectl describe scheduledsparkapp nightly"), "Europe/Berlin")
	w.do("kubectl delete sparkapplications.sparkoperator.k8s.io,scheduledsparkapp --all")
	schedules(w)
}

// schedules are those of the page on schedules.
func schedules(w *harness) {
	w.Helper()
	create := func(name string, spec v1beta2.ScheduledSparkApplicationSpec, status v1beta2.ScheduledSparkApplicationStatus) {
		w.Helper()
		spec.Template = testutil.Pi().Spec
		o := &v1beta2.ScheduledSparkApplication{ObjectMeta: metav1.ObjectMeta{Namespace: jobs, Name: name}, Spec: spec}
		must(w.T, w.admin.Create(w.Context(), o))
		o.Status, o.Status.ScheduleState, o.Status.ObservedGeneration = status, v1beta2.ScheduleStateScheduled, o.Generation
		o.Status.Scheduled, o.Status.ScheduledSince = schedule.Key(spec.Schedule, spec.TimeZone), &o.CreationTimestamp
		must(w.T, w.admin.Status().Update(w.Context(), o))
	}
	create("hourly", v1beta2.ScheduledSparkApplicationSpec{Schedule: "5 * * * *"}, v1beta2.ScheduledSparkApplicationStatus{
		LastRun: before(10 * time.Minute), LastRunName: "hourly-1", NextRun: before(-51 * time.Minute), Active: []string{"hourly-1"},
	})
	create("nightly", v1beta2.ScheduledSparkApplicationSpec{
		Schedule: "30 2 * * *", TimeZone: "Europe/Berlin", Suspend: ptr.To(true), ConcurrencyPolicy: v1beta2.ConcurrencyForbid,
	}, v1beta2.ScheduledSparkApplicationStatus{
		LastRun: before(10 * time.Hour), LastRunName: "nightly-1773106200000000000", SkippedRuns: 12,
		LastSkipped: ptr.To(metav1.Date(2026, 3, 10, 1, 30, 0, 0, time.UTC)), LastSkippedReason: "DeadlineExceeded",
		Conditions: []metav1.Condition{{
			Type: "Scheduled", Status: metav1.ConditionFalse, Reason: "Suspended", Message: "spec.suspend is true", LastTransitionTime: before(time.Hour),
		}},
	})
	w.run("docs/schedules.md", "List them")
	w.do("kubectl delete scheduledsparkapp --all")
}
