// SPDX-License-Identifier: Apache-2.0

package family

import (
	"cmp"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// Labels of this family's objects.
const (
	LabelName    = "jobs.example.org/name"
	LabelAttempt = "jobs.example.org/attempt"
	LabelJob     = "jobs.example.org/job"
)

// Names of states. Some names stand for several states, which the record distinguishes.
const (
	PhaseWaiting  = "waiting"
	PhaseStarting = "starting"
	PhaseBusy     = "busy"
	PhaseClosing  = "closing"
	PhasePaused   = "paused"
	PhaseDone     = "done"
	PhaseBroken   = "broken"
)

var family = lifecycle.Family{
	Group: GroupVersion.Group, Version: GroupVersion.Version, Kind: "Job",
	Labels: lifecycle.Labels{
		App: LabelName, LaunchedBy: LabelJob, CreatedBy: "jobs.example.org/part", SpecHash: "jobs.example.org/made-from",
		Submission: LabelAttempt, Applied: "jobs.example.org/applied",
		Exposes: v1beta2.LabelExposes, // one watch covers the auxiliary objects of all families
	},
	Fields: spark.Fields{
		"": "spec", "suspend": "spec.paused", "sparkConf": "spec", "driver.podName": "spec.pod", "driver.memory": "spec.memory",
		"executor.instances": "spec.workers", "mainApplicationFile": "spec.main", "mainClass": "spec.class", "sparkVersion": "spec.spark",
		"batchScheduler": "spec.runner", "batchScheduler.queue": "spec.line", "labels": "metadata.labels",
	},
	States: map[lifecycle.State]string{
		lifecycle.Queued: PhaseWaiting, lifecycle.Rerunning: PhaseWaiting, lifecycle.Resuming: PhaseWaiting, lifecycle.SubmissionFailed: PhaseWaiting,
		lifecycle.Submitted: PhaseStarting, lifecycle.Running: PhaseBusy,
		lifecycle.Succeeding: PhaseClosing, lifecycle.Failing: PhaseClosing, lifecycle.Invalidating: PhaseClosing, lifecycle.Suspending: PhaseClosing,
		lifecycle.Suspended: PhasePaused, lifecycle.Succeeded: PhaseDone, lifecycle.Failed: PhaseBroken,
	},
}

// Jobs translates between Job and the model (resolve.Kind).
type Jobs struct{}

// New returns an empty object.
func (Jobs) New() *Job { return &Job{} }

// Family returns what the core knows of the kind.
func (Jobs) Family() lifecycle.Family { return family }

// DriverName is the driver pod's name.
func DriverName(j *Job) string { return cmp.Or(j.Spec.Pod, j.Name+"-driver") }

// Load returns the content of the object.
func (k Jobs) Load(j *Job, record lifecycle.Record) lifecycle.Loaded {
	return lifecycle.Loaded{App: normalize(j), Desired: k.Desired(j, record)}
}

// normalize returns the model. There is no field whose value the model has no room for.
func normalize(j *Job) spark.Application {
	app := spark.Application{
		Namespace: j.Namespace, Name: j.Name, UID: j.UID, Generation: j.Generation, Labels: j.Labels,
		SparkVersion: j.Spec.Spark, MainFile: j.Spec.Main, MainClass: j.Spec.Class,
		Submitter: spark.Submitter{User: "spark"}, Suspend: j.Spec.Paused,
		Scheduling: spark.Scheduling{Scheduler: j.Spec.Runner, Queue: j.Spec.Line},
		Fields:     family.Fields,
		Conf:       map[string]string{},
		Origins:    map[string]spark.Origin{},

		OperatorConf: spark.OwnedConf(spark.DeployModeCluster, j.Namespace, j.Name, DriverName(j)),
	}
	set := func(key, value string, field spark.Field) {
		if value != "" {
			app.Conf[key], app.Origins[key] = value, spark.Origin{Field: field}
		}
	}
	set(spark.ConfImage, j.Spec.Image, "image")
	set(spark.ConfDriverMemory, j.Spec.Memory, "driver.memory")
	set(spark.ConfExecutorInstances, strconv.Itoa(int(j.Spec.Workers)), "executor.instances")
	for key, value := range map[string]string{LabelName: j.Name, LabelJob: "true"} {
		app.OperatorConf[spark.ConfDriverLabelPrefix+key] = value
		app.OperatorConf[spark.ConfExecutorLabelPrefix+key] = value
	}
	if s := j.Spec.Settings; s != nil {
		app.ConfigMaps = []spark.ConfigMap{{Name: s.Name, Data: s.Data}}
	}
	return app
}

// RaiseMemory returns the model as it is: this family has no such policy.
func (Jobs) RaiseMemory(app spark.Application, _ *Job, _ int32) spark.Application { return app }

// What users of this family cannot choose.
const (
	backoff   = 10 * time.Second
	evictions = 3
	patience  = 30 * time.Minute
	ready     = 2 * time.Minute
)

// Desired returns what lifecycle.Decide needs to know of the object itself.
func (Jobs) Desired(j *Job, _ lifecycle.Record) lifecycle.Application {
	restart := lifecycle.Never
	if j.Spec.Retries > 0 {
		restart = lifecycle.OnFailure
	}
	rule := func(retries int32) lifecycle.RetryPolicy {
		return lifecycle.RetryPolicy{Retries: retries, Initial: backoff, Max: patience}
	}
	return lifecycle.Application{
		UID: string(j.UID), Generation: j.Generation, SpecHash: specHash(j.Spec), Suspend: j.Spec.Paused,
		Policies: lifecycle.Policies{
			Restart:   lifecycle.Restart{Type: restart, Failures: rule(j.Spec.Retries), Submissions: rule(j.Spec.Retries), Evictions: rule(evictions)},
			Deadlines: lifecycle.Deadlines{DriverReady: ready},
		},
		Deleting: !j.DeletionTimestamp.IsZero(), Fields: family.Fields,
	}
}

// specHash identifies what an attempt is made from.
func specHash(s JobSpec) string {
	s.Paused, s.Retries = false, 0
	h := fnv.New64a()
	_, _ = h.Write(mustJSON(s)) // a hash never fails
	return fmt.Sprintf("%016x", h.Sum64())
}

// mustJSON is for types that have nothing that JSON cannot say.
func mustJSON(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return text
}

// Identity returns the ids of an attempt.
func (Jobs) Identity(o *Job, attempt int32, submitTime time.Time) spark.Identity {
	return spark.NewIdentity(o.UID, attempt, submitTime)
}

// FromStatus reads what ToStatus stored. An unreadable record counts as none.
func (Jobs) FromStatus(j *Job) lifecycle.Record {
	var r lifecycle.Record
	if err := json.Unmarshal([]byte(j.Status.Record), &r); err != nil {
		r = lifecycle.Record{}
	}
	r.Attempt = max(1, r.Attempt)
	return r
}

// ToStatus returns a copy of the object with the status for the outcome; changed is false if it has that already.
func (Jobs) ToStatus(j *Job, o lifecycle.Outcome, now time.Time) (next *Job, changed bool) {
	next = j.DeepCopy()
	s, r := &next.Status, o.Record
	if len(r.Executors) == 0 {
		r.Executors = nil // empty values are stored in one form
	}
	if len(r.Retries.Used) == 0 {
		r.Retries.Used = nil
	}
	s.Phase, s.Why, s.Words, s.Record = family.States[r.State], string(r.Cause.Reason), r.Cause.Message, string(mustJSON(r))
	conditions := o.Conditions
	if trouble := r.Exposure.Trouble; trouble.Reason == "" {
		meta.RemoveStatusCondition(&s.Conditions, string(lifecycle.ConditionExposed))
	} else {
		conditions = append(slices.Clone(conditions), lifecycle.Condition{
			Type: lifecycle.ConditionExposed, Status: lifecycle.False, Reason: trouble.Reason, Message: trouble.Message,
		})
	}
	for _, c := range conditions {
		meta.SetStatusCondition(&s.Conditions, metav1.Condition{
			Type: string(c.Type), Status: metav1.ConditionStatus(c.Status), Reason: string(c.Reason), Message: c.Message,
			ObservedGeneration: r.Generation, LastTransitionTime: metav1.NewTime(now.Truncate(time.Second)),
		})
	}
	return next, !equality.Semantic.DeepEqual(&j.Status, s)
}

// DriverWaits returns the reason why a submitted driver does not run yet.
func (Jobs) DriverWaits(j *Job) string {
	if c := meta.FindStatusCondition(j.Status.Conditions, string(lifecycle.ConditionDriverReady)); c != nil {
		return c.Reason
	}
	return ""
}
