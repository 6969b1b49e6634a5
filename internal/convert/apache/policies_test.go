// SPDX-License-Identifier: Apache-2.0

package apache

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	v1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
)

// wanted changes what an application is to be.
type wanted func(*lifecycle.Application)

// usually is what an application is to be that says nothing, with some changes.
func usually(changes ...wanted) lifecycle.Application {
	a := lifecycle.Application{
		UID: "uid", Generation: 3, Fields: fields,
		Policies: lifecycle.Policies{
			Restart: lifecycle.Restart{
				Type: lifecycle.Never, Counted: &lifecycle.Counted{Restarts: 3, Wait: 30 * time.Second},
				Evictions: lifecycle.RetryPolicy{Retries: 3, Initial: 10 * time.Second, Max: 10 * time.Minute},
			},
			Retention: lifecycle.Retention{OnSuccess: lifecycle.TTLs{DriverPod: new(time.Duration)}, OnFailure: lifecycle.TTLs{DriverPod: new(time.Duration)}},
		},
		Tracking: &lifecycle.Tracking{Start: 5 * time.Minute, Ready: 5 * time.Minute, Executors: 5 * time.Minute},
	}
	for _, change := range changes {
		change(&a)
	}
	return a
}

func runsAgain(kind lifecycle.RestartType, success bool, after ...lifecycle.FailureClass) wanted {
	return func(a *lifecycle.Application) {
		r := &a.Policies.Restart
		r.Type, r.Counted.Success, r.Counted.After = kind, success, after
	}
}

// Each field of the spec that acts on what runs has its effect, and what the user does not say is as Apache's operator has it.
func TestPoliciesOfApplications(t *testing.T) {
	const century = 876000 * time.Hour
	all := []lifecycle.FailureClass{
		lifecycle.Infrastructure, lifecycle.OutOfMemory, lifecycle.ApplicationExit, lifecycle.Deadline, lifecycle.StartTimeout, lifecycle.Submission,
	}
	counts := func(c lifecycle.Counted) wanted {
		return func(a *lifecycle.Application) { a.Policies.Restart.Counted = &c }
	}
	keeps := func(success, failure *time.Duration, ttl *time.Duration) wanted {
		return func(a *lifecycle.Application) {
			a.Policies.Retention = lifecycle.Retention{OnSuccess: lifecycle.TTLs{DriverPod: success, Application: ttl}, OnFailure: lifecycle.TTLs{DriverPod: failure, Application: ttl}}
		}
	}
	tracks := func(tracking lifecycle.Tracking) wanted {
		return func(a *lifecycle.Application) { a.Tracking = &tracking }
	}
	now, second := new(time.Duration), new(time.Second)
	cases := map[string]struct {
		reason, tolerations string
		edit                func(*v1.SparkApplication)
		want                lifecycle.Application
	}{
		"Nothing":        {reason: "it runs once, and nothing is kept of it", want: usually()},
		"Always":         {reason: "after a success, too", tolerations: "restartConfig: {restartPolicy: Always}", want: usually(runsAgain(lifecycle.Always, true, all...))},
		"OnFailure":      {reason: "whatever it failed of", tolerations: "restartConfig: {restartPolicy: OnFailure}", want: usually(runsAgain(lifecycle.OnFailure, false, all...))},
		"Infrastructure": {reason: "its own failures are its last", tolerations: "restartConfig: {restartPolicy: OnInfrastructureFailure}", want: usually(runsAgain(lifecycle.OnFailure, false, lifecycle.StartTimeout, lifecycle.Submission))},
		"Counts": {
			reason: "each limit and wait is its own", tolerations: `restartConfig: {maxRestartAttempts: 1, maxRestartOnFailure: 2, maxRestartOnSchedulingFailure: 4, restartBackoffMillis: 5,
 restartBackoffMillisForFailure: 6, restartBackoffMillisForSchedulingFailure: 7, restartCounterResetMillis: 8}`,
			want: usually(counts(lifecycle.Counted{
				Restarts: 1, Failures: new(int64(2)), Submissions: new(int64(4)), Wait: 5 * time.Millisecond, FailureWait: new(6 * time.Millisecond), SubmissionWait: new(7 * time.Millisecond),
				ResetAfter: new(8 * time.Millisecond),
			})),
		},
		"Negative": {
			reason: "waits of less than nothing are none, and counters never begin again", tolerations: "restartConfig: {restartBackoffMillis: -1, restartBackoffMillisForFailure: -1, restartCounterResetMillis: -1}",
			want: usually(counts(lifecycle.Counted{Restarts: 3, FailureWait: now})),
		},
		"ResetAtOnce": {reason: "0 is a number", tolerations: "restartConfig: {restartCounterResetMillis: 0}", want: usually(counts(lifecycle.Counted{Restarts: 3, Wait: 30 * time.Second, ResetAfter: now}))},
		"Forever": {
			reason: "a number that stands for ever is not at once", tolerations: "restartConfig: {restartBackoffMillis: 9223372036854775807}",
			want: usually(counts(lifecycle.Counted{Restarts: 3, Wait: century})),
		},
		"Keeps":         {reason: "until somebody deletes it", tolerations: "resourceRetainPolicy: Always", want: usually(keeps(nil, nil, nil))},
		"KeepsFailures": {reason: "for a second", tolerations: "{resourceRetainPolicy: OnFailure, resourceRetainDurationMillis: 1000}", want: usually(keeps(now, second, nil))},
		"KeepsNothing":  {reason: "the policy decides", tolerations: "resourceRetainDurationMillis: 1000", want: usually()},
		"Leaves":        {reason: "the application itself goes", tolerations: "ttlAfterStopMillis: 1000", want: usually(keeps(now, now, second))},
		"Stays":         {reason: "a negative number is none", tolerations: "{ttlAfterStopMillis: -1, resourceRetainPolicy: Always, resourceRetainDurationMillis: -1}", want: usually(keeps(nil, nil, nil))},
		"Executors": {
			reason: "each number is its own", tolerations: "instanceConfig: {initExecutors: 1, minExecutors: 2, maxExecutors: 3}",
			want: usually(tracks(lifecycle.Tracking{Initial: 1, Min: 2, Max: 3, Start: 5 * time.Minute, Ready: 5 * time.Minute, Executors: 5 * time.Minute})),
		},
		"Timeouts": {
			reason: "each is its own", tolerations: "applicationTimeoutConfig: {driverStartTimeoutMillis: 1, driverReadyTimeoutMillis: 2, executorStartTimeoutMillis: 3, forceTerminationGracePeriodMillis: 4}",
			want: usually(tracks(lifecycle.Tracking{Start: time.Millisecond, Ready: 2 * time.Millisecond, Executors: 3 * time.Millisecond}), func(a *lifecycle.Application) { a.ForceAfter = new(4 * time.Millisecond) }),
		},
		"Elastic": {
			reason: "the number of executors follows the load", edit: func(o *v1.SparkApplication) { o.Spec.SparkConf["spark.dynamicAllocation.enabled"] = "TRUE" },
			want: usually(func(a *lifecycle.Application) { a.Tracking.Elastic = true }),
		},
		"Suspended": {reason: "it is stopped", edit: func(o *v1.SparkApplication) { o.Spec.Suspend = true }, want: usually(func(a *lifecycle.Application) { a.Suspend = true })},
		"Leaving": {
			reason: "the finalizer of Apache's operator goes, and no other", want: usually(func(a *lifecycle.Application) { a.Deleting, a.Finalizer = true, true }),
			edit: func(o *v1.SparkApplication) {
				o.DeletionTimestamp, o.Finalizers = &metav1.Time{Time: noon}, []string{"a", "sparkapplications.spark.apache.org/finalizer"}
			},
		},
		"Others": {reason: "a finalizer of others is theirs", edit: func(o *v1.SparkApplication) { o.Finalizers = []string{"a"} }, want: usually()},
		"Probe":  {reason: "it is the health probe's", edit: func(o *v1.SparkApplication) { o.Labels = map[string]string{v1.LabelSentinel: "True"} }, want: usually(func(a *lifecycle.Application) { a.Probe = true })},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o := own(nil).app
			o.UID, o.Generation = "uid", 3
			o.Spec.ApplicationTolerations = &v1.ApplicationTolerations{}
			if err := yaml.UnmarshalStrict([]byte(tc.tolerations), o.Spec.ApplicationTolerations); err != nil {
				t.Fatal(err)
			}
			if tc.edit != nil {
				tc.edit(o)
			}
			if diff := cmp.Diff(tc.want, SparkApplications{}.Desired(o, lifecycle.Record{})); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
