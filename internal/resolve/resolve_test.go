// SPDX-License-Identifier: Apache-2.0

package resolve_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1alpha1"
	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/admission"
	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/policy"
	"github.com/firesteel-dev/firesteel/internal/resolve"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/scheduler/coscheduling"
	"github.com/firesteel-dev/firesteel/internal/scheduler/kube"
	"github.com/firesteel-dev/firesteel/internal/spark"
	"github.com/firesteel-dev/firesteel/internal/testutil"
	"github.com/firesteel-dev/firesteel/internal/validation"
)

func forJobs(d policy.Defaults, l policy.Limits) policy.Set {
	return policy.Set{{Name: "team", Namespaces: []string{"jobs"}, Defaults: d, Limits: l}}
}

func load(o *v1beta2.SparkApplication, record lifecycle.Record, all policy.Set) resolve.Application {
	return resolve.Load(kubeflow.SparkApplications{}, o, record, resolve.Operator{Policies: all}, time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC))
}

// raised runs with more memory each time that it has run out of it.
func raised(o *v1beta2.SparkApplication) {
	o.Spec.RestartPolicy = v1beta2.RestartPolicy{Type: "OnFailure", OutOfMemory: &v1beta2.OutOfMemoryRule{MemoryFactor: new("2")}}
}

func TestLoad(t *testing.T) {
	small := forJobs(policy.Defaults{}, policy.Limits{Driver: policy.RoleLimits{Memory: "2Gi"}})
	elsewhere := testutil.Pi()
	elsewhere.Namespace = "other"
	cases := map[string]struct {
		reason   string
		o        *v1beta2.SparkApplication
		record   lifecycle.Record
		all      policy.Set
		memory   string
		problems []string
	}{
		"None":      {reason: "nothing is prescribed", o: testutil.Pi()},
		"Default":   {reason: "where the application says nothing", o: testutil.Pi(), all: forJobs(policy.Defaults{Driver: policy.RoleDefaults{Memory: "3g"}}, policy.Limits{}), memory: "3g"},
		"Elsewhere": {reason: "of its namespace only", o: elsewhere, all: forJobs(policy.Defaults{Driver: policy.RoleDefaults{Memory: "3g"}}, policy.Limits{Executors: new(int32)})},
		"OwnWord": {
			reason: "its own setting wins, and is checked against the limit", o: testutil.Pi(func(o *v1beta2.SparkApplication) { o.Spec.Driver.Memory = new("4g") }), all: small,
			memory: "4g", problems: []string{`at most 2Gi (operator policy "team")`},
		},
		"Raised": {
			reason: "a retry with more memory is held against the limit, too", o: testutil.Pi(raised), all: small,
			record: lifecycle.Record{State: lifecycle.Rerunning, Retries: lifecycle.Retries{MemoryRaises: 2}},
			memory: "4096m", problems: []string{`at most 2Gi (operator policy "team")`},
		},
		"RaisedDefault": {
			reason: "what is raised is the default", o: testutil.Pi(raised), all: forJobs(policy.Defaults{Driver: policy.RoleDefaults{Memory: "3g"}}, policy.Limits{}),
			record: lifecycle.Record{State: lifecycle.Rerunning, Retries: lifecycle.Retries{MemoryRaises: 1}}, memory: "6144m",
		},
		"Runs": {
			reason: "what runs was checked when it began to", o: testutil.Pi(func(o *v1beta2.SparkApplication) { o.Spec.Driver.Memory = new("4g") }), all: small,
			record: lifecycle.Record{State: lifecycle.Running}, memory: "4g",
		},
		"Meaningless": {
			reason: "what means nothing is said with what is too much, also of what runs", all: small,
			o:      testutil.Pi(func(o *v1beta2.SparkApplication) { o.Spec.Mode = v1beta2.DeployModeClient }),
			record: lifecycle.Record{State: lifecycle.Running}, problems: []string{"spec.mode"},
		},
		"Kept": {
			reason: "how long it wants to be kept", o: testutil.Pi(func(o *v1beta2.SparkApplication) { o.Spec.TimeToLiveSeconds = new(int64(7200)) }),
			all: forJobs(policy.Defaults{}, policy.Limits{TimeToLiveSeconds: new(int64(3600))}), problems: []string{"at most 3600 seconds"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a := load(tc.o, tc.record, tc.all)
			problems := admission.Validate(a).Objections
			if got := a.App.Conf[spark.ConfDriverMemory]; got != tc.memory {
				t.Errorf("%s: memory %q, want %q", tc.reason, got, tc.memory)
			}
			if len(problems) != len(tc.problems) {
				t.Fatalf("%s: %v, want %d", tc.reason, problems, len(tc.problems))
			}
			for i, want := range tc.problems {
				if !strings.Contains(validation.Explain(a.App, problems[i]), want) {
					t.Errorf("%s: %v, want %q", tc.reason, problems[i], want)
				}
			}
		})
	}
}

// What bounds an application's life is handed on from the policies of its namespace to the core.
// An application may stay New for as long as it is suspended: what it was created with is not admission's word.
func TestSubmitterOfAnOlderApplication(t *testing.T) {
	since := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	operator := resolve.Operator{Submitters: lifecycle.Submitters{Source: lifecycle.SubmitterFromPolicy, Since: since}}
	for want, created := range map[string]time.Time{"": since.Add(-time.Hour), "ann": since.Add(time.Hour)} {
		o := testutil.Pi(func(o *v1beta2.SparkApplication) {
			o.CreationTimestamp, o.Annotations = metav1.NewTime(created), map[string]string{v1beta2.AnnotationSubmitter: "ann"}
		})
		if got := resolve.Load(kubeflow.SparkApplications{}, o, lifecycle.Record{}, operator, created).Desired.Submitter.User; got != want {
			t.Errorf("created at %s by %q, want %q", created, got, want)
		}
	}
}

func TestPoliciesBoundLives(t *testing.T) {
	all := forJobs(policy.Defaults{TimeToLiveSeconds: new(int64(3600)), Deadlines: policy.Deadlines{Run: "2h"}}, policy.Limits{RetriesPerHour: new(int32(3))})
	got := load(testutil.Pi(), lifecycle.Record{}, all).Desired.Policies
	want := kubeflow.SparkApplications{}.Desired(testutil.Pi(), lifecycle.Record{}).Policies
	want.Restart.PerHour, want.Deadlines.Run = new(int32(3)), 2*time.Hour
	want.Retention.OnSuccess.Application, want.Retention.OnFailure.Application = new(time.Hour), new(time.Hour)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A driver that others started is not ended because a policy bounds what starts in its namespace. Its successor is bounded.
func TestPoliciesDoNotBoundWhatIsAdopted(t *testing.T) {
	all := forJobs(policy.Defaults{Deadlines: policy.Deadlines{Run: "2h", FirstExecutors: "5m"}}, policy.Limits{})
	own := testutil.Pi()
	own.Spec.Deadlines = &v1beta2.Deadlines{Run: &metav1.Duration{Duration: time.Hour}}
	for name, tc := range map[string]struct {
		reason  string
		app     *v1beta2.SparkApplication
		attempt int32
		want    lifecycle.Deadlines
	}{
		"first": {"it has started long ago", testutil.Pi(), 1, lifecycle.Deadlines{}},
		"own":   {"what the spec says holds", own, 1, lifecycle.Deadlines{Run: time.Hour}},
		"next":  {"the operator starts it", testutil.Pi(), 2, lifecycle.Deadlines{Run: 2 * time.Hour, FirstExecutors: 5 * time.Minute}},
	} {
		t.Run(name, func(t *testing.T) {
			tc.app.Annotations = map[string]string{v1beta2.AnnotationAdopts: "spark-driver"}
			if diff := cmp.Diff(tc.want, load(tc.app, lifecycle.Record{Attempt: tc.attempt}, all).Desired.Policies.Deadlines); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestRest(t *testing.T) {
	hour := time.Hour
	o := testutil.Pi()
	f := kubeflow.SparkApplications{}
	rest := func(all policy.Set) lifecycle.Application {
		return resolve.Rest(f, o, lifecycle.Record{}, resolve.Operator{Policies: all}, time.Time{})
	}
	plain := f.Desired(o, lifecycle.Record{})
	if diff := cmp.Diff(plain, rest(nil)); diff != "" {
		t.Errorf("without policies (-want +got):\n%s", diff)
	}
	want := plain
	want.Policies.Retention.OnSuccess.Application, want.Policies.Retention.OnFailure.Application = &hour, &hour
	got := rest(forJobs(policy.Defaults{TimeToLiveSeconds: new(int64(3600))}, policy.Limits{}))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("a policy says how long it is kept, and its specification is the same (-want +got):\n%s", diff)
	}
	o.Namespace = "other"
	got = rest(forJobs(policy.Defaults{TimeToLiveSeconds: new(int64(3600))}, policy.Limits{}))
	if diff := cmp.Diff(plain.Policies, got.Policies); diff != "" {
		t.Errorf("in another namespace (-want +got):\n%s", diff)
	}
}

// A server is never over: no policy deletes one, or ends it after a time. Its defaults and limits are those of applications.
func TestPoliciesOfServers(t *testing.T) {
	all := forJobs(policy.Defaults{
		TimeToLiveSeconds: new(int64(3600)), Deadlines: policy.Deadlines{Run: "1h", Queued: "1h"}, Image: "team/spark", ServiceAccount: "team", Driver: policy.RoleDefaults{Memory: "3g"},
	}, policy.Limits{TimeToLiveSeconds: new(int64(60)), Driver: policy.RoleLimits{Memory: "2Gi"}})
	o := &v1alpha1.SparkConnect{Spec: v1alpha1.SparkConnectSpec{SparkVersion: "4.1.4"}}
	o.Namespace, o.Name, o.UID = "jobs", "lab", "u"
	operator, kind := resolve.Operator{Policies: all}, kubeflow.SparkConnects{}
	a := resolve.Load(kind, o, lifecycle.Record{}, operator, time.Time{})
	if diff := cmp.Diff(kind.Desired(o, lifecycle.Record{}).Policies, a.Desired.Policies); diff != "" {
		t.Errorf("its policies (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(a.Desired.Policies, resolve.Rest(kind, o, lifecycle.Record{}, operator, time.Time{}).Policies); diff != "" {
		t.Errorf("at rest (-want +got):\n%s", diff)
	}
	for key, want := range map[string]string{spark.ConfImage: "team/spark", spark.ConfDriverServiceAccount: "team", spark.ConfDriverMemory: "3g"} {
		if got := a.App.Conf[key]; got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
	var says []string
	for _, p := range admission.Validate(a).Objections {
		says = append(says, p.Error())
	}
	if len(says) != 1 || !strings.Contains(says[0], `at most 2Gi (operator policy "team")`) {
		t.Errorf("%q", says)
	}
	o.Spec.Server.Template = &corev1.PodTemplateSpec{Spec: corev1.PodSpec{DeprecatedServiceAccount: "own"}}
	if got := resolve.Load(kind, o, lifecycle.Record{}, operator, time.Time{}).App.Conf[spark.ConfDriverServiceAccount]; got != "" {
		t.Errorf("the policy's account %q replaces that of the template", got)
	}
}

// The marks of an attempt are the operator's.
func TestLabeled(t *testing.T) {
	o := testutil.Pi()
	o.Spec.Driver.Labels = map[string]string{v1beta2.LabelSubmissionID: "hijacked"}
	a := load(o, lifecycle.Record{}, nil)
	got, id := a.App, a.Identity
	for _, prefix := range []string{spark.ConfDriverLabelPrefix, spark.ConfExecutorLabelPrefix} {
		if got.OperatorConf[prefix+v1beta2.LabelSubmissionID] != id.SubmissionID {
			t.Errorf("%s: submission label %q", prefix, got.OperatorConf[prefix+v1beta2.LabelSubmissionID])
		}
	}
	if hash := got.OperatorConf[spark.ConfDriverLabelPrefix+v1beta2.LabelSpecHash]; hash != kubeflow.SpecHash(o) {
		t.Errorf("the driver tells that it was made from %q, want the spec's hash", hash)
	}
	if hash, ok := got.OperatorConf[spark.ConfExecutorLabelPrefix+v1beta2.LabelSpecHash]; ok {
		t.Errorf("executors tell %q; nobody asks them", hash)
	}
}

// A request to wake is read wherever a request to run again is.
func TestRequestsToWake(t *testing.T) {
	now := time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)
	o := &v1alpha1.SparkConnect{Spec: v1alpha1.SparkConnectSpec{SparkVersion: "4.1.4"}}
	o.Annotations = map[string]string{v1alpha1.AnnotationWakeAt: now.Format(time.RFC3339)}
	kind := kubeflow.SparkConnects{}
	loaded := resolve.Load(kind, o, lifecycle.Record{}, resolve.Operator{}, now).Desired
	resting := resolve.Rest(kind, o, lifecycle.Record{}, resolve.Operator{}, now)
	if !loaded.WakeAt.Equal(now) || !resting.WakeAt.Equal(now) {
		t.Errorf("loaded %s, at rest %s", loaded.WakeAt, resting.WakeAt)
	}
	app := testutil.Pi()
	app.Annotations = o.Annotations
	if at := resolve.Load(kubeflow.SparkApplications{}, app, lifecycle.Record{}, resolve.Operator{}, now).Desired.WakeAt; !at.IsZero() {
		t.Errorf("an application, which nobody wakes, was woken at %s", at)
	}
}

// Kubeflow's operator, with batch scheduling switched off, puts whatever name it finds on the pods.
func TestPlainSchedulerNames(t *testing.T) {
	names := func(p *v1beta2.SparkApplication) { p.Spec.BatchScheduler = new("volcano") }
	limited := forJobs(policy.Defaults{}, policy.Limits{SchedulerNames: []string{"default-scheduler"}})
	for name, c := range map[string]struct {
		reason         string
		plain          bool
		all            policy.Set
		fallback       string
		warned, refuse string
	}{
		"Plain":   {"findings 3 and 22: it runs where such a scheduler is, and no plugin is missed", true, nil, kube.Name, `spec.batchScheduler: "volcano": is not one of the enabled scheduler plugins`, ""},
		"Limited": {"it is the tenant's name of a scheduler", true, limited, kube.Name, "spec.batchScheduler", `"volcano": namespace jobs allows the scheduler names default-scheduler`},
		"Strict":  {"it waits for the plugin", false, limited, kube.Name, "", ""},
		"Cluster": {"the default is for applications that name none", true, nil, coscheduling.Name, "spec.batchScheduler", ""},
		"Policy":  {"so is that of a policy", true, forJobs(policy.Defaults{BatchScheduler: coscheduling.Name}, policy.Limits{}), kube.Name, "spec.batchScheduler", ""},
	} {
		t.Run(name, func(t *testing.T) {
			registry, err := scheduler.NewRegistryFor(scheduler.Policy{Default: c.fallback, Enabled: []string{kube.Name, coscheduling.Name}, PlainNames: c.plain}, kube.Plugin{}, coscheduling.New(""))
			if err != nil {
				t.Fatal(err)
			}
			a := resolve.Load(kubeflow.SparkApplications{}, testutil.Pi(names), lifecycle.Record{}, resolve.Operator{Registry: registry, Policies: c.all}, time.Unix(0, 0))
			forecast := admission.DryRun(a, registry)
			problems := strings.Join(validation.Sentences(forecast.Errors), "\n")
			if !strings.Contains(problems, c.refuse) || (problems == "") != (c.refuse == "") {
				t.Errorf("%s: refused: %s", c.reason, problems)
			}
			if said := strings.Join(validation.Sentences(forecast.Warnings), "\n"); !strings.Contains(said, c.warned) {
				t.Errorf("%s: warned: %s", c.reason, said)
			}
			if !c.plain || c.refuse != "" {
				return
			}
			objects, err := forecast.Objects()
			if err != nil {
				t.Fatal(err)
			}
			var driver, executors string
			for _, o := range objects {
				switch o := o.(type) {
				case *corev1.Pod:
					driver = o.Spec.SchedulerName
				case *corev1.ConfigMap:
					executors += o.Data["podspec-configmap-key"]
				}
			}
			if driver != "volcano" || !strings.Contains(executors, "schedulerName: volcano") {
				t.Errorf("the driver has the scheduler %q, the executors' template is %q", driver, executors)
			}
		})
	}
}
