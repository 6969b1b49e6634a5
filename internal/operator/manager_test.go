// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/config"
	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

func TestCacheOptions(t *testing.T) {
	own := kubeflow.SparkApplications{}.Family()
	other := lifecycle.Family{Labels: lifecycle.Labels{LaunchedBy: "example.org/launched"}}
	ours, theirs, users := labels.Set{v1beta2.LabelLaunchedBy: "true"}, labels.Set{"example.org/launched": "true", "spark-role": "driver"}, labels.Set{"app": "web"}
	cases := map[string]struct {
		reason   string
		families []lifecycle.Family
		has      []labels.Set
		hasNot   []labels.Set
	}{
		"One": {"the pod cache holds our own pods only", []lifecycle.Family{own}, []labels.Set{ours}, []labels.Set{theirs, users}},
		"Two": {"what they have in common is Spark's label", []lifecycle.Family{own, other}, []labels.Set{theirs}, []labels.Set{users}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			all, err := cacheOptions(tc.families, nil)
			if err != nil || all.DefaultNamespaces != nil || len(all.ByObject) != 1 {
				t.Fatalf("%v, %v, %v: a rule for pods, and none for namespaces, which come and go", all.ByObject, all.DefaultNamespaces, err)
			}
			for obj, options := range all.ByObject {
				if _, isPod := obj.(*corev1.Pod); !isPod || options.Transform == nil {
					t.Errorf("%s: a rule for %T", tc.reason, obj)
				}
				for _, set := range tc.has {
					if !options.Label.Matches(set) {
						t.Errorf("%s: not %v", tc.reason, set)
					}
				}
				for _, set := range tc.hasNot {
					if options.Label.Matches(set) {
						t.Errorf("%s: %v", tc.reason, set)
					}
				}
			}
		})
	}
}

func TestOrderIsAsConfigured(t *testing.T) {
	bound := metav1.Duration{Duration: time.Hour}
	for order, strict := range map[config.QuotaOrder]bool{config.BestEffortFIFO: false, config.StrictFIFO: true} {
		want := scheduler.Order{Strict: strict, AgingBound: time.Hour}
		if got := orderOf(config.Quota{Order: order, AgingBound: bound}); got != want {
			t.Errorf("%s: %+v, want %+v", order, got, want)
		}
	}
}
