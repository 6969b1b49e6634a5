// SPDX-License-Identifier: Apache-2.0

package informers

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/config"
	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
	"github.com/firesteel-dev/firesteel/internal/exposure"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

// objectOf is the metadata of a Service of an application.
func objectOf(app, applied string) *metav1.PartialObjectMetadata {
	o := &metav1.PartialObjectMetadata{}
	o.Namespace, o.Name = "jobs", app+"-ui-svc"
	o.Labels = map[string]string{v1beta2.LabelExposes: "ui"}
	if app != "" {
		o.Labels[v1beta2.LabelAppName] = app
	}
	o.Annotations = map[string]string{v1beta2.AnnotationApplied: applied}
	return o
}

func TestAuxiliaryObjectsWake(t *testing.T) {
	tests := map[string]struct {
		reason string
		event  func(toolscache.ResourceEventHandler)
		want   []string
		// found are enqueued later, when all of them are known.
		found []string
	}{
		"New":     {"it may belong to an application that is over", func(h toolscache.ResourceEventHandler) { h.OnAdd(objectOf("pi", "1"), false) }, []string{"pi"}, nil},
		"There":   {"a look before everything is known would not see it", func(h toolscache.ResourceEventHandler) { h.OnAdd(objectOf("pi", "1"), true) }, nil, []string{"pi"}},
		"Deleted": {"it is to come back", func(h toolscache.ResourceEventHandler) { h.OnDelete(objectOf("pi", "1")) }, []string{"pi"}, nil},
		"Missed": {"a deletion that no one saw is one, too", func(h toolscache.ResourceEventHandler) {
			h.OnDelete(toolscache.DeletedFinalStateUnknown{Obj: objectOf("pi", "1")})
		}, []string{"pi"}, nil},
		"Tampered":  {"it is to be what was applied", func(h toolscache.ResourceEventHandler) { h.OnUpdate(objectOf("pi", "1"), objectOf("pi", "2")) }, []string{"pi"}, nil},
		"Relabeled": {"it would not be found any more", func(h toolscache.ResourceEventHandler) { h.OnUpdate(objectOf("pi", "1"), objectOf("other", "1")) }, []string{"other"}, nil},
		"Same":      {"a resync is no news", func(h toolscache.ResourceEventHandler) { h.OnUpdate(objectOf("pi", "1"), objectOf("pi", "1")) }, nil, nil},
		"Nobody's":  {"there is no application to wake", func(h toolscache.ResourceEventHandler) { h.OnAdd(objectOf("", "1"), false) }, nil, nil},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var enqueued, found []string
			w := &Auxiliary{families: []lifecycle.Family{kubeflow.SparkApplications{}.Family()}, found: map[auxiliaryOf]bool{}, enqueue: func(apps []scheduler.Key) {
				for _, app := range apps {
					enqueued = append(enqueued, app.Name)
				}
			}}
			tc.event(w.handler(exposure.Service))
			w.enqueueFound() // no kind can be read yet
			for c := range w.found {
				found = append(found, c.app.Name)
			}
			if diff := cmp.Diff([][]string{tc.want, tc.found}, [][]string{enqueued, found}); diff != "" {
				t.Errorf("%s: enqueued and found (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// A watch selects by one label: a kind that marks what is beside its drivers by another one would never hear of it.
func TestKindsShareTheLabelOfAuxiliaryObjects(t *testing.T) {
	ours := kubeflow.SparkApplications{}.Family()
	other := ours
	other.Kind, other.Labels.Exposes = "Job", "example.org/exposes"
	const want = "Job.sparkoperator.k8s.io marks auxiliary objects by the label example.org/exposes; all kinds need the same one, sparkoperator.k8s.io/exposes"
	if _, err := NewAuxiliary(nil, config.OperatorConfiguration{}, []lifecycle.Family{ours, other}, 0, nil); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
