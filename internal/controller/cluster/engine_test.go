// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/convert/apache"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/observe"
	"github.com/firesteel-dev/firesteel/internal/policy"
	"github.com/firesteel-dev/firesteel/internal/reservations"
	"github.com/firesteel-dev/firesteel/internal/resolve"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/spark"
	"github.com/firesteel-dev/firesteel/internal/standalone"
)

// gang is a scheduler that writes on pods: a group, how many there are, and who they are of.
type gang struct {
	counts
	name, schedulerName string
}

func (p gang) Describe() scheduler.Descriptor {
	key := func(part scheduler.PodPart, key string) scheduler.PodKey {
		return scheduler.PodKey{Part: part, Key: key}
	}
	return scheduler.Descriptor{Name: p.name, SchedulerName: p.schedulerName, Owns: []schema.GroupVersionKind{{Version: "v1", Kind: "ConfigMap"}}, ManagedKeys: []scheduler.PodKey{
		key(scheduler.PodLabel, "group"), key(scheduler.PodAnnotation, "members"), key(scheduler.PodAnnotation, "user"),
	}}
}

// OtherApplication implements scheduler.ApplicationReader.
func (gang) OtherApplication(pod spark.PodAttributes, a scheduler.Attempt) (scheduler.PodKey, bool) {
	group := pod.Labels["group"]
	return scheduler.PodKey{Part: scheduler.PodLabel, Key: "group"}, group != "" && group != a.ID
}

func (gang) Decorate(a scheduler.Attempt, d *scheduler.Decoration) error {
	scheduler.SetIn(&d.Driver.Labels, "group", a.ID)
	scheduler.SetIn(&d.Executor.Labels, "group", a.ID)
	scheduler.SetIn(&d.Driver.Annotations, "members", strconv.Itoa(int(a.PodSets.Initial)))
	if a.User.Name != "" {
		scheduler.SetIn(&d.Driver.Annotations, "user", a.User.Name)
	}
	return nil
}

func registryOf(t *testing.T, chosen scheduler.Policy, plugins ...scheduler.Plugin) *scheduler.Registry {
	t.Helper()
	r, err := scheduler.NewRegistryFor(chosen, plugins...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Whatever becomes of its scheduler, no pod of a cluster that runs is restarted for it: what runs on the cluster would be lost.
func TestRunningPodsStay(t *testing.T) {
	with, other := gang{name: "gang", schedulerName: "gangs"}, gang{name: "other"}
	usual := scheduler.Policy{Default: "gang", Enabled: []string{"gang", "other"}}
	cases := map[string]struct {
		reason   string
		registry *scheduler.Registry
		policies policy.Set
		from     lifecycle.SubmitterSource
		edit     func(*v1.SparkCluster)
		says     lifecycle.Reason
		workers  int32
	}{
		"Same":     {reason: "nothing has changed", registry: registryOf(t, usual, with, other), from: lifecycle.SubmitterFromPolicy, says: standalone.ReasonApplied, workers: 2},
		"Default":  {reason: "another default is for those that start", registry: registryOf(t, scheduler.Policy{Default: "other", Enabled: usual.Enabled}, with, other), from: lifecycle.SubmitterFromPolicy, says: standalone.ReasonApplied, workers: 2},
		"Disabled": {reason: "so is what is enabled", registry: registryOf(t, scheduler.Policy{Default: "other"}, with, other), from: lifecycle.SubmitterFromPolicy, says: standalone.ReasonApplied, workers: 2},
		"Removed":  {reason: "nothing is known of its marks any more", registry: registryOf(t, scheduler.Policy{Default: "other"}, other), from: lifecycle.SubmitterFromPolicy, says: scheduler.ReasonSchedulerUnknown, workers: 2},
		"Renamed":  {reason: "its scheduler has another name", registry: registryOf(t, usual, gang{name: "gang", schedulerName: "new"}, other), from: lifecycle.SubmitterFromPolicy, says: standalone.ReasonApplied, workers: 2},
		"Nameless": {reason: "submitters are not recorded any more", registry: registryOf(t, usual, with, other), says: standalone.ReasonApplied, workers: 2},
		"Foreign": {
			reason: "an edit names another application, which would take that one's queue", from: lifecycle.SubmitterFromPolicy, says: scheduler.ReasonPodKeyConflict, workers: 2,
			registry: registryOf(t, scheduler.Policy{Default: "gang", Enabled: usual.Enabled, OwnApplications: true}, with, other),
			edit: func(o *v1.SparkCluster) {
				o.Spec.WorkerSpec = &v1.WorkerSpec{RoleObjects: v1.RoleObjects{StatefulSetSpec: &appsv1.StatefulSetSpec{Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"group": "theirs"}}}}}}
			},
		},
		"Queue": {
			reason: "its queue is another namespace's now", from: lifecycle.SubmitterFromPolicy, says: standalone.ReasonApplied, workers: 2,
			registry: registryOf(t, scheduler.Policy{Default: "gang", Enabled: usual.Enabled, AllowedQueues: []scheduler.QueueRule{{Namespaces: []string{"x"}, Queues: []string{"y"}}}}, with, other),
		},
		"Defaults": {
			reason: "policies have other defaults now", registry: registryOf(t, usual, with, other), from: lifecycle.SubmitterFromPolicy, says: standalone.ReasonApplied, workers: 2,
			policies: policy.Set{{Name: "new", Namespaces: []string{"*"}, Defaults: policy.Defaults{Image: "new", Labels: map[string]string{"team": "b"}}}},
		},
		"Resized": {
			reason: "an edit of the number of workers", registry: registryOf(t, usual, with, other), from: lifecycle.SubmitterFromPolicy, says: standalone.ReasonApplied, workers: 3,
			edit: func(o *v1.SparkCluster) { o.Spec.ClusterTolerations.InstanceConfig.InitWorkers = 3 },
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o := &v1.SparkCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "jobs", Name: "lab", UID: "uid", Generation: 1, Annotations: map[string]string{v1beta2.AnnotationSubmitter: "ann"}}}
			o.Spec.RuntimeVersions.SparkVersion = "4.1.4"
			o.Spec.ClusterTolerations.InstanceConfig.InitWorkers = 2
			scheme := runtime.NewScheme()
			_, _ = clientgoscheme.AddToScheme(scheme), v1.AddToScheme(scheme)
			c := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(o).WithObjects(o).Build()
			run := func(registry *scheduler.Registry, policies policy.Set, from lifecycle.SubmitterSource) map[string]corev1.PodTemplateSpec {
				now := clocktesting.NewFakePassiveClock(time.Date(2026, 11, 27, 9, 0, 0, 0, time.UTC))
				reader := observe.Reader{Cache: c, Live: c}
				e := NewEngine(apache.Clusters{}, &v1.SparkClusterList{}, reader, c, events.NewFakeRecorder(100), now, reservations.New(now, nil, scheduler.Order{}), func() resolve.Operator {
					return resolve.Operator{Registry: registry, Policies: policies, Submitters: lifecycle.Submitters{Source: from}}
				})
				for range 3 {
					if _, err := e.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(o)}); err != nil {
						t.Fatal(err)
					}
				}
				all := map[string]corev1.PodTemplateSpec{}
				var sets appsv1.StatefulSetList
				if err := c.List(t.Context(), &sets); err != nil {
					t.Fatal(err)
				}
				for _, set := range sets.Items {
					all[set.Name] = set.Spec.Template
				}
				return all
			}
			old := policy.Set{{Name: "old", Namespaces: []string{"*"}, Defaults: policy.Defaults{Image: "old", Labels: map[string]string{"team": "a"}}}}
			before := run(registryOf(t, usual, with, other), old, lifecycle.SubmitterFromPolicy)
			if master := before["lab-master"]; master.Labels["group"] == "" || master.Annotations["members"] != "2" || master.Annotations["user"] != "ann" || master.Spec.SchedulerName != "gangs" ||
				master.Spec.Containers[0].Image != "old" || master.Labels["team"] != "a" {
				t.Fatalf("the master is not decorated: %+v", master)
			}
			if tc.edit != nil {
				if err := c.Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
					t.Fatal(err)
				}
				tc.edit(o)
				o.Generation++
				if err := c.Update(t.Context(), o); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(before, run(tc.registry, tc.policies, tc.from)); diff != "" {
				t.Errorf("%s (-before +after):\n%s", tc.reason, diff)
			}
			var workers appsv1.StatefulSet
			if err := c.Get(t.Context(), client.ObjectKey{Namespace: "jobs", Name: "lab-worker"}, &workers); err != nil || *workers.Spec.Replicas != tc.workers {
				t.Errorf("%s: %d workers, %v", tc.reason, *workers.Spec.Replicas, err)
			}
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
				t.Fatal(err)
			}
			if is := meta.FindStatusCondition(o.Status.Conditions, standalone.ConditionApplied); is == nil || is.Reason != string(tc.says) {
				t.Errorf("%s: %+v, want %s", tc.reason, is, tc.says)
			}
		})
	}
}
