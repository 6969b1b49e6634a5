// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/internal/convert/apache"
	"github.com/firesteel-dev/firesteel/internal/observe"
	"github.com/firesteel-dev/firesteel/internal/reservations"
	"github.com/firesteel-dev/firesteel/internal/resolve"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/standalone"
)

// counts is a scheduler that counts what quotas still have to give.
type counts struct{}

func (counts) Describe() scheduler.Descriptor {
	return scheduler.Descriptor{Name: "counts", Quota: true}
}
func (counts) Validate(scheduler.Attempt) field.ErrorList              { return nil }
func (counts) Reads(scheduler.Attempt) []scheduler.Read                { return nil }
func (counts) Decorate(scheduler.Attempt, *scheduler.Decoration) error { return nil }
func (counts) Admit(scheduler.Attempt, scheduler.Snapshot) (scheduler.Admission, error) {
	return scheduler.Admission{Verdict: scheduler.Admit}, nil
}

// After a restart of the operator what runs is reserved, and what waited in a line is asked before others.
func TestLedgerIsRebuilt(t *testing.T) {
	cluster := func(name string, state v1.ClusterStateSummary, reason scheduler.Reason) *v1.SparkCluster {
		o := &v1.SparkCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "jobs", Name: name, UID: "uid", Generation: 1}}
		o.Spec.RuntimeVersions.SparkVersion = "4.1.4"
		o.Spec.ClusterTolerations.InstanceConfig = v1.WorkerInstanceConfig{InitWorkers: 3}
		o.Status.CurrentState = &v1.ClusterState{CurrentStateSummary: state}
		o.Status.Scheduling = &v1.ClusterScheduling{Start: 1, Scheduler: counts{}.Describe().Name, Source: string(scheduler.SourceCluster)}
		o.Status.Conditions = []metav1.Condition{{Type: standalone.ConditionApplied, Status: metav1.ConditionFalse, Reason: string(reason)}}
		return o
	}
	large := cluster("large", v1.ClusterRunningHealthy, "")
	large.Spec.WorkerSpec = &v1.WorkerSpec{RoleObjects: v1.RoleObjects{StatefulSetSpec: &appsv1.StatefulSetSpec{Template: corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"notes": strings.Repeat("x", 40<<10)}},
	}}}}
	cases := map[string]struct {
		reason   string
		there    *v1.SparkCluster
		expected bool
		workers  int32
	}{
		"Runs":   {reason: "its pods may not be counted yet", there: cluster("runs", v1.ClusterRunningHealthy, ""), workers: 3},
		"Large":  {reason: "the cache has no spec of it", there: large, workers: 3},
		"Waits":  {reason: "it came first", there: cluster("waits", v1.ClusterSubmitted, scheduler.ReasonWaitingForQuota), expected: true},
		"Behind": {reason: "so did those behind others", there: cluster("behind", v1.ClusterSubmitted, scheduler.ReasonBehindOthers), expected: true},
		"Over":   {reason: "it wants nothing", there: cluster("over", v1.ClusterResourceReleased, scheduler.ReasonWaitingForQuota)},
		"Queue":  {reason: "room in the quotas may be kept for it", there: cluster("queue", v1.ClusterSubmitted, scheduler.ReasonWaitingForCapacity), expected: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			registry, err := scheduler.NewRegistry(counts{}.Describe().Name, counts{})
			if err != nil {
				t.Fatal(err)
			}
			scheme := runtime.NewScheme()
			_, _ = clientgoscheme.AddToScheme(scheme), v1.AddToScheme(scheme)
			live := fake.NewClientBuilder().WithScheme(scheme).WithObjects(tc.there.DeepCopy()).Build()
			stripped, err := observe.Strip(apache.ClusterFamily)(tc.there)
			if err != nil {
				t.Fatal(err)
			}
			cached := fake.NewClientBuilder().WithScheme(scheme).WithObjects(stripped.(client.Object)).Build()
			reads := 0
			c := observe.WithStubs(cached, live, func() { reads++ })
			now := clocktesting.NewFakePassiveClock(time.Date(2026, 11, 27, 9, 0, 0, 0, time.UTC))
			schedulers := reservations.New(now, nil, scheduler.Order{AgingBound: time.Minute})
			e := NewEngine(apache.Clusters{}, &v1.SparkClusterList{}, observe.Reader{Cache: c, Live: live}, live, events.NewFakeRecorder(10), now, schedulers, func() resolve.Operator { return resolve.Operator{Registry: registry} })
			if err := e.enterRunning(t.Context()); err != nil {
				t.Fatal(err)
			}
			o := schedulers.Outstanding(scheduler.Attempt{ID: "another", App: scheduler.App{Namespace: "jobs", Name: "another"}})
			var workers int32
			for _, r := range o.Others {
				workers += r.PodSets.Initial
			}
			if o.Expected != tc.expected || workers != tc.workers {
				t.Errorf("%s: expected %t, %d workers are reserved", tc.reason, o.Expected, workers)
			}
			if reads > 0 != observe.IsStub(tc.there) {
				t.Errorf("%s: read %d times", tc.reason, reads)
			}
		})
	}
}

// A pod concerns the cluster that its label names. An application of the same name is another matter.
func TestPodsOfApplicationsConcernNoCluster(t *testing.T) {
	pod := func(label string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "jobs", Name: "pi-0-driver", Labels: map[string]string{label: "pi"}}}
	}
	find := clusterOf(apache.ClusterFamily.Labels.App)
	if got := find(t.Context(), pod(v1.LabelAppName)); len(got) != 0 {
		t.Errorf("the driver of an application concerns %v", got)
	}
	want := []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: "jobs", Name: "pi"}}}
	if diff := cmp.Diff(want, find(t.Context(), pod(v1.LabelClusterName))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
