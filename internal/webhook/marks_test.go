// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"cmp"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/admission"
	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/resolve"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/scheduler/kube"
	"github.com/firesteel-dev/firesteel/internal/scheduler/yunikorn"
	"github.com/firesteel-dev/firesteel/internal/testutil"
	"github.com/firesteel-dev/firesteel/internal/validation"
)

// YuniKorn counts the pods of an application as those of the user that they name, and believes the operator. So they name who created the
// application or nobody, whoever has chosen the scheduler.
func TestPodsNameNobodyElse(t *testing.T) {
	const info, label = "yunikorn.apache.org/user.info", "yunikorn.apache.org/username"
	ann := lifecycle.Submitter{User: "ann", Groups: []string{"dev", "qa"}}
	cases := map[string]struct {
		reason       string
		user         lifecycle.Submitter
		batch, named string
		annotation   string
		label        string
		want         string
	}{
		"Nothing":        {reason: "the usual case", user: ann, batch: "yunikorn"},
		"Unrecorded":     {reason: "nobody knows whether it is true", batch: "yunikorn", annotation: `{"user":"root"}`, want: `annotation ` + info + `: "{\"user\":\"root\"}"`},
		"UnrecordedName": {reason: "the label of old is read, too", batch: "yunikorn", label: "root", want: `label ` + label + `: "root"`},
		"OtherLabel":     {reason: "it would count where YuniKorn drops the annotation", user: ann, batch: "yunikorn", label: "root", want: `label ` + label + `: "root"`},
		"Own":            {reason: "it is true", user: ann, named: "yunikorn", annotation: `{"user":"ann","groups":["qa"]}`, label: "ann"},
		"ByName":         {reason: "the scheduler is the same", named: "yunikorn", annotation: `{"user":"root"}`, want: info},
		"OtherByName":    {reason: "another user", user: ann, named: "yunikorn", annotation: `{"user":"bob"}`, want: "not the creator of the application"},
		"OtherGroup":     {reason: "limits are per group, too", user: ann, named: "yunikorn", annotation: `{"user":"ann","groups":["ops"]}`, want: info},
		"Unreadable":     {reason: "YuniKorn may read it in another way", user: ann, named: "yunikorn", annotation: `{"user":"ann"`, want: info},
		"OtherScheduler": {reason: "nobody reads it", named: "mine", annotation: `{"user":"root"}`},
	}
	registry, err := scheduler.NewRegistryFor(scheduler.Policy{Default: kube.Name, Enabled: []string{kube.Name, yunikorn.Name}}, kube.Plugin{}, yunikorn.Plugin{})
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range cases {
		for _, role := range []string{"driver", "executor"} {
			t.Run(name+"/"+role, func(t *testing.T) {
				annotations, labels := map[string]string{}, map[string]string{}
				if tc.annotation != "" {
					annotations[info] = tc.annotation
				}
				if tc.label != "" {
					labels[label] = tc.label
				}
				o := marked(role, tc.batch, tc.named, labels, annotations)
				a := resolve.Load(kubeflow.SparkApplications{}, o, lifecycle.Record{State: lifecycle.Queued, Submitter: tc.user}, resolve.Operator{Registry: registry}, time.Unix(0, 0))
				candidate, answer := admission.NewCandidate(a, registry, nil)
				dry := admission.DryRun(a, registry)
				assumed := strings.Join(validation.Sentences(dry.Assumptions), "; ")
				switch {
				case tc.want == "" && (candidate == nil || len(dry.Errors) > 0 || strings.Contains(assumed, "user")):
					t.Errorf("%s: %+v, %v, %s", tc.reason, answer, dry.Errors, assumed)
				case tc.want == "":
				case candidate != nil || answer.Reason != scheduler.ReasonPodKeyConflict || !strings.Contains(answer.Message, tc.want) || !strings.Contains(answer.Message, role+" pod"):
					t.Errorf("%s: %+v, want %q of the %s", tc.reason, answer.Admission, tc.want, role)
				case tc.user.User == "" && !strings.Contains(assumed, tc.want): // who will have created it is not known yet
					t.Errorf("%s: assumed is %q, want %q", tc.reason, assumed, tc.want)
				case tc.user.User != "" && (len(dry.Errors) != 1 || !strings.Contains(dry.Errors[0].Detail, tc.want)):
					t.Errorf("%s: the webhook says %v, want %q", tc.reason, dry.Errors, tc.want)
				}
			})
		}
	}
}

// YuniKorn finds the application of a pod by an id alone, in all namespaces, and takes queue and user from its first pod. So pods name their own
// attempt where that matters, whoever has chosen the scheduler (security review, 2; core review, 11).
func TestPodsNameNoOtherApplication(t *testing.T) {
	const label, old = "yunikorn.apache.org/app-id", "applicationId"
	cases := map[string]struct {
		reason       string
		shared       bool
		batch, named string
		labels       map[string]string
		annotations  map[string]string
		template     bool
		want         string
	}{
		"Nothing":    {reason: "the usual case", batch: "yunikorn"},
		"Label":      {reason: "of another team's application", batch: "yunikorn", labels: map[string]string{label: "theirs"}, want: "label " + label + `: "theirs"`},
		"Annotation": {reason: "is read where there is no label", batch: "yunikorn", annotations: map[string]string{label: "theirs"}, want: "annotation " + label + `: "theirs"`},
		"Old":        {reason: "is read, too", batch: "yunikorn", labels: map[string]string{old: "theirs"}, want: "label " + old + `: "theirs"`},
		"ByName":     {reason: "the scheduler is the same", named: "yunikorn", labels: map[string]string{old: "theirs"}, want: "label " + old},
		"Own":        {reason: "the example of Apache's operator", named: "yunikorn", annotations: map[string]string{label: "{{APP_ID}}"}},
		"OwnHere":    {reason: "the same for the plugin", batch: "yunikorn", annotations: map[string]string{label: "{{APP_ID}}"}},
		"Template":   {reason: "Spark replaces nothing in a template, so that all who write it are one application", batch: "yunikorn", annotations: map[string]string{label: "{{APP_ID}}"}, template: true, want: "annotation " + label + `: "{{APP_ID}}"`},
		"Shared":     {reason: "an administrator lets applications share one", shared: true, batch: "yunikorn", labels: map[string]string{label: "theirs"}},
		"OtherNames": {reason: "no scheduler reads it", named: "mine", labels: map[string]string{label: "theirs"}},
	}
	for name, tc := range cases {
		registry, err := scheduler.NewRegistryFor(scheduler.Policy{Default: kube.Name, Enabled: []string{kube.Name, yunikorn.Name}, OwnApplications: !tc.shared}, kube.Plugin{}, yunikorn.Plugin{})
		if err != nil {
			t.Fatal(err)
		}
		for _, role := range []string{"driver", "executor"} {
			t.Run(name+"/"+role, func(t *testing.T) {
				o := marked(role, tc.batch, tc.named, tc.labels, tc.annotations)
				if pod := map[string]*v1beta2.SparkPodSpec{"driver": &o.Spec.Driver.SparkPodSpec, "executor": &o.Spec.Executor.SparkPodSpec}[role]; tc.template {
					pod.Template, pod.Annotations = &corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Annotations: tc.annotations}}, nil
				}
				a := resolve.Load(kubeflow.SparkApplications{}, o, lifecycle.Record{State: lifecycle.Queued}, resolve.Operator{Registry: registry}, time.Unix(0, 0))
				candidate, answer := admission.NewCandidate(a, registry, nil)
				errs := admission.DryRun(a, registry).Errors
				switch {
				case tc.want == "" && (candidate == nil || len(errs) > 0):
					t.Errorf("%s: %+v, %v", tc.reason, answer, errs)
				case tc.want == "":
				case candidate != nil || answer.Reason != scheduler.ReasonPodKeyConflict || !strings.Contains(answer.Message, tc.want) || !strings.Contains(answer.Message, role+" pod"):
					t.Errorf("%s: %+v, want %q of the %s", tc.reason, answer.Admission, tc.want, role)
				case len(errs) != 1 || !strings.Contains(errs[0].Detail, tc.want):
					t.Errorf("%s: the webhook says %v, want %q", tc.reason, errs, tc.want)
				}
			})
		}
	}
}

// marked is an application for a scheduler, by its plugin or by the name on the pods of a role, which have labels and annotations.
func marked(role, batch, named string, labels, annotations map[string]string) *v1beta2.SparkApplication {
	o := testutil.Pi()
	pod := map[string]*v1beta2.SparkPodSpec{"driver": &o.Spec.Driver.SparkPodSpec, "executor": &o.Spec.Executor.SparkPodSpec}[role]
	o.Spec.BatchScheduler = new(cmp.Or(batch, "none"))
	if named != "" {
		pod.SchedulerName = &named
	}
	pod.Labels, pod.Annotations = labels, annotations
	return o
}
