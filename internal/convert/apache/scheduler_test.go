// SPDX-License-Identifier: Apache-2.0

package apache_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	v1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/internal/admission"
	"github.com/firesteel-dev/firesteel/internal/convert/apache"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/policy"
	"github.com/firesteel-dev/firesteel/internal/resolve"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/scheduler/coscheduling"
	"github.com/firesteel-dev/firesteel/internal/scheduler/kube"
	"github.com/firesteel-dev/firesteel/internal/scheduler/volcano"
	"github.com/firesteel-dev/firesteel/internal/scheduler/yunikorn"
	"github.com/firesteel-dev/firesteel/internal/validation"
	"github.com/firesteel-dev/firesteel/test/schedulers/schedulertest"
)

// The applications of a family that has no field for a scheduler choose one by the name that is on their pods.
func TestSchedulerOfThePods(t *testing.T) {
	const byConf = "sparkConf: {spark.kubernetes.scheduler.name: volcano"
	byTemplate := func(driver, executor string) string {
		return "driverSpec: {podTemplateSpec: {spec: {schedulerName: " + driver + "}}}\nexecutorSpec: {podTemplateSpec: {spec: {schedulerName: " + executor + "}}}"
	}
	all := scheduler.Policy{Default: kube.Name, Enabled: []string{kube.Name, volcano.Name, yunikorn.Name, coscheduling.Name}}
	plain, gangs := scheduler.Policy{Default: kube.Name}, scheduler.Policy{Default: volcano.Name, Enabled: []string{volcano.Name, kube.Name}}
	limited := policy.Set{{Name: "team", Namespaces: []string{"*"}, Limits: policy.Limits{SchedulerNames: []string{"default-scheduler"}}}}
	cases := map[string]struct {
		reason, spec string
		offers       scheduler.Policy
		policies     policy.Set
		want         scheduler.Choice
		pods         string // the schedulerName of the driver
		refused      string
	}{
		"Plugin":   {reason: "the plugin that serves it", spec: byConf + "}", offers: all, want: scheduler.Choice{Scheduler: volcano.Name, Source: scheduler.SourceApplication, Queue: "default"}, pods: "volcano"},
		"Template": {reason: "the templates say the same", spec: byTemplate("volcano", "volcano"), offers: all, want: scheduler.Choice{Scheduler: volcano.Name, Source: scheduler.SourceApplication, Queue: "default"}, pods: "volcano"},
		"OtherName": {
			reason: "a plugin need not have the name of its scheduler", spec: "sparkConf: {spark.kubernetes.scheduler.name: scheduler-plugins-scheduler}", offers: all,
			want: scheduler.Choice{Scheduler: coscheduling.Name, Source: scheduler.SourceApplication}, pods: "scheduler-plugins-scheduler",
		},
		"NotEnabled": {reason: "the pods are placed one by one, as they were", spec: byConf + "}", offers: plain, want: scheduler.Choice{Scheduler: kube.Name, Source: scheduler.SourceApplication}, pods: "volcano"},
		"Queue": {
			reason: "pods name the queue in the scheduler's own way", offers: all,
			spec: byConf + ", spark.kubernetes.driver.annotation.scheduling.volcano.sh/queue-name: team}",
			want: scheduler.Choice{Scheduler: volcano.Name, Source: scheduler.SourceApplication, Queue: "team"}, pods: "volcano",
		},
		"OldLabel": {
			reason: "the example of Apache's operator", offers: all, pods: "yunikorn",
			spec: `sparkConf: {spark.kubernetes.scheduler.name: yunikorn, spark.kubernetes.driver.label.queue: root.default, spark.kubernetes.executor.label.queue: root.default,
  spark.kubernetes.driver.annotation.yunikorn.apache.org/app-id: "{{APP_ID}}", spark.kubernetes.executor.annotation.yunikorn.apache.org/app-id: "{{APP_ID}}"}`,
			want: scheduler.Choice{Scheduler: yunikorn.Name, Source: scheduler.SourceApplication, Queue: "root.default"},
		},
		"Default":  {reason: "pods that name none get what all others get", spec: "{}", offers: gangs, want: scheduler.Choice{Scheduler: volcano.Name, Source: scheduler.SourceCluster, Queue: "default"}, pods: "volcano"},
		"Usual":    {reason: "the usual scheduler is a choice, too", spec: "sparkConf: {spark.kubernetes.scheduler.name: default-scheduler}", offers: gangs, want: scheduler.Choice{Scheduler: kube.Name, Source: scheduler.SourceApplication}, pods: "default-scheduler"},
		"TwoNames": {reason: "no plugin serves both", spec: byTemplate("volcano", "yunikorn"), offers: gangs, want: scheduler.Choice{Scheduler: kube.Name, Source: scheduler.SourceApplication}, pods: "volcano"},
		"OneRole":  {reason: "one role alone is not the application", spec: "sparkConf: {spark.kubernetes.driver.scheduler.name: volcano}", offers: gangs, want: scheduler.Choice{Scheduler: kube.Name, Source: scheduler.SourceApplication}, pods: "volcano"},
		"OnlyGangs": {
			reason: "an administrator who enables no plain pods means it", spec: "sparkConf: {spark.kubernetes.scheduler.name: mine}", offers: scheduler.Policy{Default: volcano.Name, Enabled: []string{volcano.Name}},
			refused: `spec.sparkConf["spark.kubernetes.scheduler.name"]: "mine" is not known to this operator; known: volcano`,
		},
		"Limits":    {reason: "the limits of names are about those that no plugin serves", spec: byConf + "}", offers: all, policies: limited, want: scheduler.Choice{Scheduler: volcano.Name, Source: scheduler.SourceApplication, Queue: "default"}, pods: "volcano"},
		"Forbidden": {reason: "it is the tenant's name of a scheduler", spec: byConf + "}", offers: plain, policies: limited, refused: `spec.sparkConf["spark.kubernetes.scheduler.name"]: "volcano": namespace jobs allows the scheduler names default-scheduler`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			registry, err := scheduler.NewRegistryFor(tc.offers, kube.Plugin{}, volcano.New(""), yunikorn.Plugin{}, coscheduling.New(""))
			if err != nil {
				t.Fatal(err)
			}
			o := &v1.SparkApplication{ObjectMeta: metav1.ObjectMeta{Namespace: "jobs", Name: "demo", UID: "uid"}}
			if err := yaml.UnmarshalStrict([]byte(tc.spec), &o.Spec); err != nil {
				t.Fatal(err)
			}
			o.Spec.RuntimeVersions.SparkVersion, o.Spec.MainClass, o.Spec.Jars = "4.1.4", "org.example.Job", "local:///job.jar"
			if o.Spec.SparkConf == nil {
				o.Spec.SparkConf = map[string]string{}
			}
			o.Spec.SparkConf["spark.kubernetes.container.image"] = "spark:4.1.4"
			loaded := resolve.Load(apache.SparkApplications{}, o, lifecycle.Record{}, resolve.Operator{Registry: registry, Policies: tc.policies}, schedulertest.Start)
			candidate, answer := admission.NewCandidate(loaded, registry, nil)
			if tc.refused != "" {
				if candidate != nil || !strings.Contains(answer.Message, tc.refused) {
					t.Errorf("%s: %+v", tc.reason, answer.Admission)
				}
				return
			}
			if candidate == nil {
				t.Fatalf("%s: %+v", tc.reason, answer.Admission)
			}
			if diff := cmp.Diff(tc.want, candidate.Attempt().Choice); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			forecast := admission.DryRun(loaded, registry)
			objects, err := forecast.Objects()
			if err != nil || len(forecast.Errors) > 0 {
				t.Fatalf("%s: %v, %v", tc.reason, err, validation.Sentences(forecast.Errors))
			}
			for _, object := range objects {
				if pod, ok := object.(*corev1.Pod); ok && pod.Spec.SchedulerName != tc.pods {
					t.Errorf("%s: the driver has the scheduler %q", tc.reason, pod.Spec.SchedulerName)
				}
			}
		})
	}
}
