// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"strings"
	"testing"
	"time"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/admission"
	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/resolve"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/scheduler/kube"
	"github.com/firesteel-dev/firesteel/internal/scheduler/volcano"
	"github.com/firesteel-dev/firesteel/internal/scheduler/yunikorn"
	"github.com/firesteel-dev/firesteel/internal/testutil"
)

// The rules about queues hold by the scheduler that takes the pods, whether or not the operator's plugin has put them there. The
// operator, the webhook and the command line say the same.
func TestQueuesByEffectiveScheduler(t *testing.T) {
	const step = "org.apache.spark.deploy.k8s.features.VolcanoFeatureStep"
	named := func(name string, labels, annotations map[string]string) func(*v1beta2.SparkApplication) {
		return func(o *v1beta2.SparkApplication) {
			o.Spec.BatchScheduler = new("none")
			for _, p := range []*v1beta2.SparkPodSpec{&o.Spec.Driver.SparkPodSpec, &o.Spec.Executor.SparkPodSpec} {
				p.SchedulerName, p.Labels, p.Annotations = &name, labels, annotations
			}
		}
	}
	group := func(spec string) func(*v1beta2.SparkApplication) {
		return func(o *v1beta2.SparkApplication) {
			o.Spec.SparkVersion = "4.2.0"
			o.Spec.SparkConf = map[string]string{"spark.kubernetes.driver.pod.featureSteps": step, "spark.kubernetes.scheduler.volcano.podGroupTemplateJson": spec}
		}
	}
	queue := func(key, value string) map[string]string { return map[string]string{key: value} }
	cases := map[string]struct {
		reason string
		change func(*v1beta2.SparkApplication)
		want   string
	}{
		"Plain":           {"nobody queues it", func(*v1beta2.SparkApplication) {}, ""},
		"OtherScheduler":  {"nothing is known of its queues", named("mine", nil, nil), ""},
		"YuniKornOwn":     {"a queue that it may use", named("yunikorn", queue("yunikorn.apache.org/queue", "root.jobs"), nil), ""},
		"YuniKornLabel":   {"the label", named("yunikorn", queue("yunikorn.apache.org/queue", "root.bank"), nil), `spec.driver.schedulerName: the driver pod enters queue "root.bank" of the scheduler yunikorn`},
		"YuniKornOld":     {"the label of old", named("yunikorn", queue("queue", "root.bank"), nil), `the driver pod enters queue "root.bank" of the scheduler yunikorn`},
		"YuniKornNote":    {"the annotation", named("yunikorn", nil, queue("yunikorn.apache.org/queue", "root.bank")), `the driver pod enters queue "root.bank" of the scheduler yunikorn`},
		"YuniKornNothing": {"its placement rules choose", named("yunikorn", nil, nil), "the driver pod names no queue for the scheduler yunikorn"},
		"VolcanoNote":     {"the annotation", named("volcano", nil, queue("scheduling.volcano.sh/queue-name", "bank")), `the driver pod enters queue "bank" of the scheduler volcano`},
		"VolcanoOwn":      {"a queue that it may use", named("volcano", nil, queue("scheduling.volcano.sh/queue-name", "root.jobs")), ""},
		"VolcanoDefault":  {"the queue of those that name none", named("volcano", nil, nil), `the driver pod enters queue "default" of the scheduler volcano`},
		"VolcanoGroup":    {"a group of which nothing is known", named("volcano", nil, queue("scheduling.k8s.io/group-name", "theirs")), "the queue of the driver pod in the scheduler volcano is unknown before the pod is created; write spec.batchScheduler: volcano instead"},
		"Step":            {"Spark's step makes the group", group(`{"spec": {"queue": "bank"}}`), `spec.sparkConf: PodGroup `},
		"StepDefault":     {"the queue of groups that name none", group(`{}`), `is in queue "default"`},
		"StepRoot":        {"a queue that is no leaf would stop Volcano", group(`{"spec": {"queue": "root"}}`), `is in queue "root"`},
		"StepOwn":         {"a queue that it may use", group(`{"spec": {"queue": "root.jobs"}}`), ""},
		"LongQueue": {"the plugin's mark is an annotation, over which YuniKorn's label wins", func(o *v1beta2.SparkApplication) {
			o.Spec.BatchScheduler = new("yunikorn")
			o.Spec.BatchSchedulerOptions = &v1beta2.BatchSchedulerConfiguration{Queue: new("root.long." + strings.Repeat("x", 60))}
			o.Spec.Driver.Labels = queue("yunikorn.apache.org/queue", "root.bank")
		}, `the driver pod enters queue "root.bank" of the scheduler yunikorn`},
		"ExecutorOnly": {"executors, by a property", func(o *v1beta2.SparkApplication) {
			o.Spec.SparkConf = map[string]string{"spark.kubernetes.executor.scheduler.name": "yunikorn", "spark.kubernetes.executor.label.queue": "root.bank"}
		}, `spec.executor.schedulerName: the executor pod enters queue "root.bank" of the scheduler yunikorn`},
	}
	registry, err := scheduler.NewRegistryFor(scheduler.Policy{
		Default: kube.Name, Enabled: []string{kube.Name, yunikorn.Name},
		AllowedQueues: []scheduler.QueueRule{{Namespaces: []string{"jobs"}, Queues: []string{"root.jobs", "root.long.*"}}},
	}, kube.Plugin{}, volcano.New(""), yunikorn.Plugin{})
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o := testutil.Pi()
			tc.change(o)
			a := resolve.Load(kubeflow.SparkApplications{}, o, lifecycle.Record{}, resolve.Operator{Registry: registry}, time.Unix(0, 0))
			candidate, answer := admission.NewCandidate(a, registry, nil)
			dry := admission.DryRun(a, registry)
			if tc.want == "" {
				if candidate == nil || len(dry.Errors) > 0 {
					t.Errorf("%s: %+v, %v", tc.reason, answer, dry.Errors)
				}
				return
			}
			if candidate != nil || answer.Reason != scheduler.ReasonQueueForbidden || !strings.Contains(answer.Message, tc.want) {
				t.Errorf("%s: %+v, want %q", tc.reason, answer.Admission, tc.want)
			}
			if len(dry.Errors) != 1 || !strings.Contains(dry.Errors[0].Field+": "+dry.Errors[0].Detail, tc.want) {
				t.Errorf("%s: the webhook says %v, want %q", tc.reason, dry.Errors, tc.want)
			}
		})
	}
}
