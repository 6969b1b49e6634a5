// SPDX-License-Identifier: Apache-2.0

package kubeflow

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/testutil"
)

func every(d time.Duration) *metav1.Duration { return &metav1.Duration{Duration: d} }

// unset are the policies of an application that says nothing.
func unset() lifecycle.Policies {
	five := lifecycle.RetryPolicy{Initial: 5 * time.Second, Max: time.Hour, Linear: true}
	return lifecycle.Policies{
		Restart: lifecycle.Restart{Type: lifecycle.Never, Failures: five, Submissions: five, Evictions: lifecycle.RetryPolicy{Retries: 3, Initial: 10 * time.Second, Max: 10 * time.Minute}},
	}
}

func TestPolicies(t *testing.T) {
	type policies = lifecycle.Policies
	cases := map[string]struct {
		reason string
		set    func(*spec)
		want   func(*policies)
	}{
		"Nothing": {reason: "never again, and bounds that stop nothing which still moves", set: func(*spec) {}, want: func(*policies) {}},
		"Incumbent": {
			reason: "the Kubeflow operator's retries and intervals",
			set: func(s *spec) {
				s.RestartPolicy = v1beta2.RestartPolicy{Type: "OnFailure", OnFailureRetries: new(int32(3)), OnFailureRetryInterval: new(int64(10)), OnSubmissionFailureRetries: new(int32(5)), OnSubmissionFailureRetryInterval: new(int64(20))}
			},
			want: func(p *policies) {
				p.Restart.Type = lifecycle.OnFailure
				p.Restart.Failures = lifecycle.RetryPolicy{Retries: 3, Initial: 10 * time.Second, Max: time.Hour, Linear: true}
				p.Restart.Submissions = lifecycle.RetryPolicy{Retries: 5, Initial: 20 * time.Second, Max: time.Hour, Linear: true}
			},
		},
		"Always": {reason: "as it says", set: func(s *spec) { s.RestartPolicy.Type = "Always" }, want: func(p *policies) { p.Restart.Type = lifecycle.Always }},
		"NoRetries": {
			reason: "nil retries are none (Kubeflow operator)", set: func(s *spec) { s.RestartPolicy.Type = "OnFailure" },
			want: func(p *policies) { p.Restart.Type = lifecycle.OnFailure },
		},
		"EvictionFails": {
			reason: "who is taken down by the scheduler may want to fail",
			set: func(s *spec) {
				s.BatchSchedulerOptions = &v1beta2.BatchSchedulerConfiguration{OnEviction: "Fail", MaxEvictions: new(int32(7))}
			},
			want: func(p *policies) { p.Restart.Evictions.Retries = 0 },
		},
		"Evictions": {
			reason: "or to be requeued more often",
			set: func(s *spec) {
				s.BatchSchedulerOptions = &v1beta2.BatchSchedulerConfiguration{MaxEvictions: new(int32(7))}
			},
			want: func(p *policies) { p.Restart.Evictions.Retries, p.Restart.RestartsEvicted = 7, true },
		},
		"EvictionsAsked": {
			reason: "the word that is the default, said, wins over Never",
			set:    func(s *spec) { s.BatchSchedulerOptions = &v1beta2.BatchSchedulerConfiguration{OnEviction: "Requeue"} },
			want:   func(p *policies) { p.Restart.RestartsEvicted = true },
		},
		"NeverInfrastructure": {
			reason: "retries after what the cluster did, with Never, count for the scheduler's doing as well",
			set: func(s *spec) {
				s.RestartPolicy = v1beta2.RestartPolicy{Type: "Never", Infrastructure: &v1beta2.RetryRule{Retries: 2}}
			},
			want: func(p *policies) {
				rule := lifecycle.RetryPolicy{Retries: 2, Initial: 10 * time.Second, Max: 10 * time.Minute}
				p.Restart.Classes = map[lifecycle.FailureClass]lifecycle.RetryPolicy{lifecycle.Infrastructure: rule}
				p.Restart.Evictions, p.Restart.RestartsEvicted = rule, true
			},
		},
		"Class": {
			reason: "a rule for a class is wish enough to run again; its back-off has defaults",
			set:    func(s *spec) { s.RestartPolicy.Infrastructure = &v1beta2.RetryRule{Retries: 2} },
			want: func(p *policies) {
				p.Restart.Type = lifecycle.OnFailure
				p.Restart.Classes = map[lifecycle.FailureClass]lifecycle.RetryPolicy{lifecycle.Infrastructure: {Retries: 2, Initial: 10 * time.Second, Max: 10 * time.Minute}}
			},
		},
		"EveryClass": {
			reason: "each has its own budget and back-off",
			set: func(s *spec) {
				rule := func(n int32) v1beta2.RetryRule {
					return v1beta2.RetryRule{Retries: n, Backoff: &v1beta2.Backoff{Initial: every(time.Duration(n) * time.Second), Max: every(time.Duration(n) * time.Minute)}}
				}
				infrastructure, submission := rule(1), rule(2)
				s.RestartPolicy = v1beta2.RestartPolicy{
					Type: "Always", Infrastructure: &infrastructure, Submission: &submission,
					OutOfMemory: &v1beta2.OutOfMemoryRule{RetryRule: rule(3)},
					Application: &v1beta2.ApplicationRule{RetryRule: rule(4), RetryExitCodes: []int32{1, 255}, FailExitCodes: []int32{3}},
					ResetAfter:  every(time.Hour),
				}
			},
			want: func(p *policies) {
				rule := func(n int32) lifecycle.RetryPolicy {
					return lifecycle.RetryPolicy{Retries: n, Initial: time.Duration(n) * time.Second, Max: time.Duration(n) * time.Minute}
				}
				p.Restart.Type, p.Restart.ResetAfter = lifecycle.Always, time.Hour
				p.Restart.RetryExitCodes, p.Restart.FailExitCodes = []int32{1, 255}, []int32{3}
				p.Restart.Classes = map[lifecycle.FailureClass]lifecycle.RetryPolicy{
					lifecycle.Infrastructure: rule(1), lifecycle.Submission: rule(2), lifecycle.OutOfMemory: rule(3), lifecycle.ApplicationExit: rule(4),
				}
			},
		},
		"LongBackoff": {
			reason: "who begins above the default's bound means it",
			set: func(s *spec) {
				s.RestartPolicy.Submission = &v1beta2.RetryRule{Retries: 1, Backoff: &v1beta2.Backoff{Initial: every(time.Hour)}}
			},
			want: func(p *policies) {
				p.Restart.Type = lifecycle.OnFailure
				p.Restart.Classes = map[lifecycle.FailureClass]lifecycle.RetryPolicy{lifecycle.Submission: {Retries: 1, Initial: time.Hour, Max: time.Hour}}
			},
		},
		"Deadlines": {
			reason: "0s is no bound whatever a policy says, and what is not named has none",
			set: func(s *spec) {
				s.Deadlines = &v1beta2.Deadlines{Queued: every(0), DriverReady: every(time.Minute), FirstExecutors: every(2 * time.Minute), Run: every(time.Hour)}
			},
			want: func(p *policies) {
				p.Deadlines = lifecycle.Deadlines{Queued: lifecycle.Unbounded, DriverReady: time.Minute, FirstExecutors: 2 * time.Minute, Run: time.Hour}
			},
		},
		"TTL": {
			reason: "for both outcomes", set: func(s *spec) { s.TimeToLiveSeconds = new(int64(60)) },
			want: func(p *policies) {
				p.Retention.OnSuccess.Application, p.Retention.OnFailure.Application = new(time.Minute), new(time.Minute)
			},
		},
		"TTLAtOnce": {
			reason: "zero and less is at once (Kubeflow operator)", set: func(s *spec) { s.TimeToLiveSeconds = new(int64(-1)) },
			want: func(p *policies) {
				p.Retention.OnSuccess.Application, p.Retention.OnFailure.Application = new(time.Duration(0)), new(time.Duration(0))
			},
		},
		"TTLForEver": {
			reason: "a number that no duration holds must not come out as at once", set: func(s *spec) { s.TimeToLiveSeconds = new(int64(9_999_999_999)) },
			want: func(p *policies) {
				p.Retention.OnSuccess.Application, p.Retention.OnFailure.Application = new(century), new(century)
			},
		},
		"IntervalForEver": {
			reason: "the same of a wait", set: func(s *spec) {
				s.RestartPolicy = v1beta2.RestartPolicy{Type: "OnFailure", OnFailureRetryInterval: new(int64(math.MaxInt64))}
			},
			want: func(p *policies) { p.Restart.Type, p.Restart.Failures.Initial = lifecycle.OnFailure, century },
		},
		"Retention": {
			reason: "goes before the TTL, which fills in for an outcome that names no application",
			set: func(s *spec) {
				s.TimeToLiveSeconds = new(int64(60))
				s.Retention = &v1beta2.Retention{
					OnSuccess: &v1beta2.RetentionTimes{DriverPod: every(0), Application: every(time.Hour)},
					OnFailure: &v1beta2.RetentionTimes{Resources: every(time.Second)},
				}
			},
			want: func(p *policies) {
				p.Retention.OnSuccess = lifecycle.TTLs{DriverPod: new(time.Duration(0)), Application: new(time.Hour)}
				p.Retention.OnFailure = lifecycle.TTLs{Resources: new(time.Second), Application: new(time.Minute)}
			},
		},
		"OneOutcome": {
			reason: "an outcome that is not named has the TTL",
			set: func(s *spec) {
				s.TimeToLiveSeconds, s.Retention = new(int64(60)), &v1beta2.Retention{OnFailure: &v1beta2.RetentionTimes{DriverPod: every(time.Hour)}}
			},
			want: func(p *policies) {
				p.Retention.OnSuccess.Application = new(time.Minute)
				p.Retention.OnFailure = lifecycle.TTLs{DriverPod: new(time.Hour), Application: new(time.Minute)}
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o, want := testutil.Pi(), unset()
			tc.set(&o.Spec)
			tc.want(&want)
			got, problems := Policies(o)
			if diff := cmp.Diff(want, got, same); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			for _, p := range problems {
				t.Errorf("%s: unexpected problem %v", tc.reason, p)
			}
		})
	}
}

// A value that means nothing is named, with its field and what would be right, and keeps the application from running.
func TestPolicyProblems(t *testing.T) {
	oom := func(factor, ceiling *string) func(*spec) {
		return func(s *spec) {
			s.RestartPolicy.OutOfMemory = &v1beta2.OutOfMemoryRule{RetryRule: v1beta2.RetryRule{Retries: 1}, MemoryFactor: factor, MaxMemory: ceiling}
		}
	}
	const (
		negative = `must not be negative; write e.g. "30m"`
		never    = `has no effect with restartPolicy.type "Never"; write OnFailure, or take the rule away`
		factor   = `must be a number above 1 and not above 10, such as "1.5"`
		exit     = "is not a failure exit code; those are 1 to 255"
	)
	rule := v1beta2.RetryRule{Retries: 1}
	cases := map[string]struct {
		reason  string
		set     func(*spec)
		field   string
		value   string
		problem string
	}{
		"Queued":         {reason: "time does not run backwards", set: func(s *spec) { s.Deadlines = &v1beta2.Deadlines{Queued: every(-time.Minute)} }, field: "spec.deadlines.queued", value: "-1m0s", problem: negative},
		"Scheduled":      {reason: "time does not run backwards", set: func(s *spec) { s.Deadlines = &v1beta2.Deadlines{DriverScheduled: every(-1)} }, field: "spec.deadlines.driverScheduled", value: "-1ns", problem: negative},
		"Ready":          {reason: "time does not run backwards", set: func(s *spec) { s.Deadlines = &v1beta2.Deadlines{DriverReady: every(-1)} }, field: "spec.deadlines.driverReady", value: "-1ns", problem: negative},
		"FirstExecutors": {reason: "time does not run backwards", set: func(s *spec) { s.Deadlines = &v1beta2.Deadlines{FirstExecutors: every(-1)} }, field: "spec.deadlines.firstExecutors", value: "-1ns", problem: negative},
		"Run":            {reason: "time does not run backwards", set: func(s *spec) { s.Deadlines = &v1beta2.Deadlines{Run: every(-1)} }, field: "spec.deadlines.run", value: "-1ns", problem: negative},
		"Reset":          {reason: "time does not run backwards", set: func(s *spec) { s.RestartPolicy.ResetAfter = every(-time.Hour) }, field: "spec.restartPolicy.resetAfter", value: "-1h0m0s", problem: negative},
		"Retention": {reason: "time does not run backwards", set: func(s *spec) {
			s.Retention = &v1beta2.Retention{OnFailure: &v1beta2.RetentionTimes{Resources: every(-1)}}
		}, field: "spec.retention.onFailure.resources", value: "-1ns", problem: negative},
		"Initial": {reason: "time does not run backwards", set: func(s *spec) {
			s.RestartPolicy.Submission = &v1beta2.RetryRule{Backoff: &v1beta2.Backoff{Initial: every(-1)}}
		}, field: "spec.restartPolicy.submission.backoff.initial", value: "-1ns", problem: negative},
		"Bounds": {reason: "the longest wait is not shorter than the first", set: func(s *spec) {
			s.RestartPolicy.Infrastructure = &v1beta2.RetryRule{Backoff: &v1beta2.Backoff{Initial: every(time.Minute), Max: every(time.Second)}}
		}, field: "spec.restartPolicy.infrastructure.backoff.max", value: "1s", problem: "must not be smaller than backoff.initial, 1m0s"},
		"Never":       {reason: "a rule that never acts", set: func(s *spec) { s.RestartPolicy.Type, s.RestartPolicy.Submission = "Never", &rule }, field: "spec.restartPolicy.submission", problem: never},
		"NeverExit":   {reason: "a rule that never acts", set: func(s *spec) { s.RestartPolicy.Type, s.RestartPolicy.Application = "Never", &v1beta2.ApplicationRule{} }, field: "spec.restartPolicy.application", problem: never},
		"RetryZero":   {reason: "0 is success", set: func(s *spec) { s.RestartPolicy.Application = &v1beta2.ApplicationRule{RetryExitCodes: []int32{1, 0}} }, field: "spec.restartPolicy.application.retryExitCodes", value: "0", problem: exit},
		"FailLarge":   {reason: "a byte", set: func(s *spec) { s.RestartPolicy.Application = &v1beta2.ApplicationRule{FailExitCodes: []int32{256}} }, field: "spec.restartPolicy.application.failExitCodes", value: "256", problem: exit},
		"FactorOne":   {reason: "the same memory again", set: oom(new("1"), nil), field: "spec.restartPolicy.outOfMemory.memoryFactor", value: "1", problem: factor},
		"FactorLarge": {reason: "a slip of the keyboard", set: oom(new("150"), nil), field: "spec.restartPolicy.outOfMemory.memoryFactor", value: "150", problem: factor},
		"FactorNaN":   {reason: "not even a number", set: oom(new("NaN"), nil), field: "spec.restartPolicy.outOfMemory.memoryFactor", value: "NaN", problem: factor},
		"FactorWords": {reason: "not even a number", set: oom(new("50%"), nil), field: "spec.restartPolicy.outOfMemory.memoryFactor", value: "50%", problem: factor},
		"Ceiling":     {reason: "Kubernetes' units are not Spark's", set: oom(new("2"), new("16GiB")), field: "spec.restartPolicy.outOfMemory.maxMemory", value: "16GiB", problem: `must be an amount of memory in Spark's units, such as "16g"`},
		"CeilingOnly": {reason: "a bound of what does not grow", set: oom(nil, new("16g")), field: "spec.restartPolicy.outOfMemory.maxMemory", value: "16g", problem: "has no effect without memoryFactor"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o := testutil.Pi()
			tc.set(&o.Spec)
			_, problems := Policies(o)
			if len(problems) != 1 {
				t.Fatalf("%s: %d problems %v, want one", tc.reason, len(problems), problems)
			}
			if p := problems[0]; sparkApplications.Fields.Path(p.Field) != tc.field || p.Value != tc.value || p.Problem != tc.problem {
				t.Errorf("%s: %+v, want field %s, value %s: %s", tc.reason, p, tc.field, tc.value, tc.problem)
			}
			if _, all := Normalize(o); len(all) != 1 {
				t.Errorf("%s: the conversion reports %v: a problem that nobody sees stops nothing", tc.reason, all)
			}
		})
	}
}
