// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/spark"
	"github.com/firesteel-dev/firesteel/internal/validation"
)

// Every default reaches an application that says nothing, and an application that says something else keeps its word.
func TestDefaults(t *testing.T) {
	cases := map[string]struct {
		reason   string
		policies string
		spec     string
		// want are properties, before those that every application has.
		want map[string]string
		// scheduling is the choice of a scheduler.
		scheduling spark.Scheduling
	}{
		"Everything": {
			reason: "nothing is said", policies: whole,
			want: map[string]string{
				spark.ConfImage: "registry.example/spark:4.1.0", spark.ConfImagePullPolicy: "Always", spark.ConfDriverServiceAccount: "spark",
				spark.ConfDriverCores: "2", spark.ConfDriverLimitCores: "2500m", spark.ConfDriverMemory: "2g",
				spark.ConfExecutorCores: "3", spark.ConfExecutorLimitCores: "4", spark.ConfExecutorMemory: "4g",
				"spark.eventLog.enabled":             "true",
				spark.ConfDriverLabelPrefix + "team": "a", spark.ConfExecutorLabelPrefix + "team": "a",
				spark.ConfExecutorInstances: "1",
			},
			scheduling: spark.Scheduling{Scheduler: "volcano", SchedulerFrom: `defaults.batchScheduler of the operator's policy "team-a"`, Queue: "a", QueueFrom: `defaults.queue of the operator's policy "team-a"`},
		},
		"OwnWords": {
			reason: "fields, sparkConf and labels win", policies: whole,
			spec: `
  image: other
  imagePullPolicy: Never
  sparkConf: {spark.executor.memory: 1g, spark.eventLog.enabled: "false"}
  driver: {cores: 1, coreLimit: "1", memory: 1g, serviceAccount: mine, labels: {team: mine}}
  executor: {cores: 1, coreLimit: "1", labels: {team: mine}}
  batchScheduler: yunikorn
`,
			want: map[string]string{
				spark.ConfImage: "other", spark.ConfImagePullPolicy: "Never", spark.ConfDriverServiceAccount: "mine",
				spark.ConfDriverCores: "1", spark.ConfDriverLimitCores: "1", spark.ConfDriverMemory: "1g",
				spark.ConfExecutorCores: "1", spark.ConfExecutorLimitCores: "1", spark.ConfExecutorMemory: "1g",
				"spark.eventLog.enabled":             "false",
				spark.ConfDriverLabelPrefix + "team": "mine", spark.ConfExecutorLabelPrefix + "team": "mine",
				spark.ConfExecutorInstances: "1",
			},
			scheduling: spark.Scheduling{Scheduler: "yunikorn"}, // the queue is one of the policy's scheduler
		},
		"Templates": {
			reason: "a template says something, too", policies: `[{name: x, namespaces: ["*"], defaults: {serviceAccount: spark, labels: {team: a}}}]`,
			spec: `
  driver: {template: {metadata: {labels: {team: mine}}, spec: {serviceAccountName: mine, containers: []}}}
`,
			want: map[string]string{spark.ConfExecutorLabelPrefix + "team": "a", spark.ConfExecutorInstances: "1"},
		},
		"FirstWins": {
			reason: "of several defaults", policies: `[{name: x, namespaces: [team-a], defaults: {image: first}}, {name: z, namespaces: ["*"], defaults: {image: second, imagePullPolicy: Always, queue: q}}]`,
			want:       map[string]string{spark.ConfImage: "first", spark.ConfImagePullPolicy: "Always", spark.ConfExecutorInstances: "1"},
			scheduling: spark.Scheduling{Queue: "q", QueueFrom: `defaults.queue of the operator's policy "z"`},
		},
		"Elsewhere": {
			reason: "other namespaces have their own", policies: `[{name: x, namespaces: [team-b], defaults: {image: first}}]`,
			want: map[string]string{spark.ConfExecutorInstances: "1"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o := application(t, tc.spec)
			before := o.DeepCopy()
			app, _ := governed(t, set(t, tc.policies), o)
			if diff := cmp.Diff(tc.want, app.Conf); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.scheduling, app.Scheduling); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(before, o); diff != "" || kubeflow.SpecHash(before) != kubeflow.SpecHash(o) {
				t.Errorf("a default is written into the user's spec (-want +got):\n%s", diff)
			}
		})
	}
}

// The operator's own properties win over defaults as over everything else, and a default changes no other copy.
func TestDefaultsOwnNothing(t *testing.T) {
	s := set(t, `[{name: x, namespaces: ["*"], defaults: {image: i, sparkConf: {spark.kubernetes.namespace: other, spark.master: local}}}]`)
	plain, _ := kubeflow.Normalize(application(t, ""))
	app := s.Apply(plain)
	if _, changed := plain.Conf[spark.ConfImage]; changed {
		t.Error("the application that was given has changed")
	}
	profile, err := spark.ProfileFor(app.SparkVersion)
	if err != nil {
		t.Fatal(err)
	}
	submission, err := spark.Build(app, spark.NewIdentity(app.UID, 1, time.Unix(0, 0)), profile)
	if err != nil {
		t.Fatal(err)
	}
	if submission.Driver.Namespace != "team-a" {
		t.Errorf("a default moved the driver to %s", submission.Driver.Namespace)
	}
	if got := (Set{}).Apply(plain); !cmp.Equal(got, plain, cmpopts.EquateEmpty()) {
		t.Error("no policy changes something")
	}
}

func TestRetention(t *testing.T) {
	hour := func(n int) *time.Duration { d := time.Duration(n) * time.Hour; return &d }
	cases := map[string]struct {
		reason   string
		policies string
		own      lifecycle.Retention
		want     lifecycle.Retention
	}{
		"None":    {reason: "nobody says anything", policies: `[{name: x, namespaces: ["*"]}]`},
		"Default": {reason: "it fills in", policies: `[{name: x, namespaces: ["*"], defaults: {timeToLiveSeconds: 3600}}]`, want: lifecycle.Retention{OnSuccess: lifecycle.TTLs{Application: hour(1)}, OnFailure: lifecycle.TTLs{Application: hour(1)}}},
		"First":   {reason: "the first default wins", policies: `[{name: x, namespaces: ["*"], defaults: {timeToLiveSeconds: 7200}}, {name: y, namespaces: ["*"], defaults: {timeToLiveSeconds: 3600}}]`, want: lifecycle.Retention{OnSuccess: lifecycle.TTLs{Application: hour(2)}, OnFailure: lifecycle.TTLs{Application: hour(2)}}},
		"Own": {
			reason: "its own word", policies: `[{name: x, namespaces: ["*"], defaults: {timeToLiveSeconds: 3600}}]`,
			own:  lifecycle.Retention{OnSuccess: lifecycle.TTLs{Application: hour(9), DriverPod: hour(1)}},
			want: lifecycle.Retention{OnSuccess: lifecycle.TTLs{Application: hour(9), DriverPod: hour(1)}, OnFailure: lifecycle.TTLs{Application: hour(1)}},
		},
		"Limit": {
			reason: "what has no end gets one, and the strictest holds", policies: `[{name: x, namespaces: ["*"], limits: {timeToLiveSeconds: 7200}}, {name: y, namespaces: ["*"], limits: {timeToLiveSeconds: 3600}}]`,
			own:  lifecycle.Retention{OnSuccess: lifecycle.TTLs{Application: hour(2)}},
			want: lifecycle.Retention{OnSuccess: lifecycle.TTLs{Application: hour(1)}, OnFailure: lifecycle.TTLs{Application: hour(1)}},
		},
		"Within": {reason: "less than the limit", policies: `[{name: x, namespaces: ["*"], limits: {timeToLiveSeconds: 7200}}]`, own: lifecycle.Retention{OnSuccess: lifecycle.TTLs{Application: hour(1)}, OnFailure: lifecycle.TTLs{Application: hour(0)}}, want: lifecycle.Retention{OnSuccess: lifecycle.TTLs{Application: hour(1)}, OnFailure: lifecycle.TTLs{Application: hour(0)}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, set(t, tc.policies).Retention(tc.own)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestDeadlines(t *testing.T) {
	const hour, two = time.Hour, 2 * time.Hour
	cases := map[string]struct {
		reason   string
		policies string
		spec     string
		want     lifecycle.Deadlines
	}{
		"None": {reason: "nobody has set a clock: nothing ends for one", policies: `[{name: x, namespaces: ["*"]}]`},
		"Default": {
			reason: "the first policy wins, for each field", policies: `[{name: x, namespaces: ["*"], defaults: {deadlines: {queued: 1h, run: 2h}}},
				{name: y, namespaces: ["*"], defaults: {deadlines: {queued: 2h, driverScheduled: 1h, driverReady: 1h, firstExecutors: 1h}}}]`,
			want: lifecycle.Deadlines{Queued: hour, DriverScheduled: hour, DriverReady: hour, FirstExecutors: hour, Run: two},
		},
		"Own": {
			reason: "the application's own word, which may be that there is no bound", policies: `[{name: x, namespaces: ["*"], defaults: {deadlines: {queued: 1h, run: 1h}}}]`,
			spec: "  deadlines: {queued: 2h, run: 0s}\n", want: lifecycle.Deadlines{Queued: two, Run: lifecycle.Unbounded},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			wishes, problems := kubeflow.Policies(application(t, tc.spec))
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			if diff := cmp.Diff(tc.want, set(t, tc.policies).Deadlines(wishes.Deadlines)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestCheckRetention(t *testing.T) {
	s := set(t, `[{name: x, namespaces: ["*"], limits: {timeToLiveSeconds: 3600}}]`)
	cases := map[string]struct {
		reason string
		spec   string
		want   []string
	}{
		"Nothing": {reason: "it is kept as long as it may be"},
		"Within":  {reason: "as long as it may be", spec: "  timeToLiveSeconds: 3600\n"},
		"Longer":  {reason: "one field for both ends", spec: "  timeToLiveSeconds: 3601\n", want: []string{`spec.timeToLiveSeconds: "1h0m1s": namespace team-a allows at most 3600 seconds (operator policy "x")`}},
		"OneEnd": {
			reason: "a field for each end", spec: "  retention: {onFailure: {application: 2h}, onSuccess: {application: 3h}}\n",
			want: []string{
				`spec.retention.onFailure.application: "2h0m0s": namespace team-a allows at most 3600 seconds (operator policy "x")`,
				`spec.retention.onSuccess.application: "3h0m0s": namespace team-a allows at most 3600 seconds (operator policy "x")`,
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			wishes, problems := kubeflow.Policies(application(t, tc.spec))
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			var got []string
			app := spark.Application{Fields: kubeflow.SparkApplications{}.Family().Fields}
			for _, p := range s.CheckRetention("team-a", app.Fields, wishes.Retention) {
				got = append(got, validation.Explain(app, p))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
