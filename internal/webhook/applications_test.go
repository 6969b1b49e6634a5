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
	"github.com/firesteel-dev/firesteel/internal/scheduler/yunikorn"
	"github.com/firesteel-dev/firesteel/internal/testutil"
)

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
		want         string
	}{
		"Nothing":    {reason: "the usual case", batch: "yunikorn"},
		"Label":      {reason: "of another team's application", batch: "yunikorn", labels: map[string]string{label: "theirs"}, want: "label " + label + `: "theirs"`},
		"Annotation": {reason: "is read where there is no label", batch: "yunikorn", annotations: map[string]string{label: "theirs"}, want: "annotation " + label + `: "theirs"`},
		"Old":        {reason: "is read, too", batch: "yunikorn", labels: map[string]string{old: "theirs"}, want: "label " + old + `: "theirs"`},
		"ByName":     {reason: "the scheduler is the same", named: "yunikorn", labels: map[string]string{old: "theirs"}, want: "label " + old},
		"Own":        {reason: "the example of Apache's operator", named: "yunikorn", annotations: map[string]string{label: "{{APP_ID}}"}},
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
				o := testutil.Pi()
				pod := map[string]*v1beta2.SparkPodSpec{"driver": &o.Spec.Driver.SparkPodSpec, "executor": &o.Spec.Executor.SparkPodSpec}[role]
				if o.Spec.BatchScheduler = new("none"); tc.batch != "" {
					o.Spec.BatchScheduler = &tc.batch
				}
				if tc.named != "" {
					pod.SchedulerName = &tc.named
				}
				pod.Annotations, pod.Labels = tc.annotations, tc.labels
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
