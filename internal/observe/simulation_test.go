// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
)

// What test/simulation has found.

// A reconcile that did not live to record it has created the driver under the name that the spec gives it by now. The
// cache does not have it yet.
func TestDriverUnderANewName(t *testing.T) {
	current := func() *corev1.Pod { return ours(driverPod(), "renamed", "driver", "s-1") }
	former := func() *corev1.Pod { return ours(driverPod(), "renamed", "driver", "s-0") }
	cases := map[string]struct {
		live      *corev1.Pod
		ownership lifecycle.Ownership
	}{
		"Current": {live: current(), ownership: lifecycle.Current},
		"Former":  {live: former(), ownership: lifecycle.Previous},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			next := target
			next.NextName = "renamed"
			r := Reader{Labels: family.Labels, Cache: cluster(nil, nil), Live: cluster(nil, nil, tc.live)}
			got, err := r.Observe(t.Context(), next, lifecycle.Record{State: lifecycle.Rerunning})
			if err != nil {
				t.Fatal(err)
			}
			if d := got.Driver; d.Presence != lifecycle.Present || d.Ownership != tc.ownership || d.Name != "renamed" {
				t.Errorf("%+v, want the driver under its new name", d)
			}
		})
	}
}

func TestFresh(t *testing.T) {
	stored := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "jobs", Name: "pi", UID: "app"}}
	r := Reader{Labels: family.Labels, Live: cluster(nil, nil, stored)}
	read := &corev1.ConfigMap{}
	if err := r.Live.Get(t.Context(), client.ObjectKeyFromObject(stored), read); err != nil {
		t.Fatal(err)
	}
	older, other, gone := read.DeepCopy(), read.DeepCopy(), read.DeepCopy()
	older.ResourceVersion, other.UID, gone.Name = "1", "another", "gone"
	for name, tc := range map[string]struct {
		object *corev1.ConfigMap
		want   bool
	}{
		"Same": {read, true}, "Older": {older, false}, "Recreated": {other, false}, "Gone": {gone, false},
	} {
		if got, err := r.Fresh(t.Context(), tc.object); err != nil || got != tc.want {
			t.Errorf("%s: %t, %v; want %t", name, got, err, tc.want)
		}
	}
}

// Of a finished application only a driver that still runs is worth a look.
func TestStrays(t *testing.T) {
	app := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "jobs", Name: "pi", UID: "app"}}
	leaving := driverPod()
	leaving.DeletionTimestamp, leaving.Finalizers = &metav1.Time{Time: time.Now()}, []string{"example.com/x"}
	foreign := driverPod()
	foreign.OwnerReferences[0].UID = "another"
	for name, tc := range map[string]struct {
		pod  *corev1.Pod
		want bool
	}{
		"Running":  {driverPod(), true},
		"Pending":  {ours(pod(corev1.PodPending), "pi-driver", "driver", "s-1"), true},
		"Ended":    {ours(pod(corev1.PodSucceeded, exits(driverContainer, 0, "", "")), "pi-driver", "driver", "s-1"), false},
		"Leaving":  {leaving, false},
		"Foreign":  {foreign, false},
		"Executor": {ours(pod(corev1.PodRunning), "pi-exec-1", "executor", "s-1"), false},
	} {
		r := Reader{Labels: family.Labels, Cache: cluster(nil, nil, tc.pod)}
		if got, err := r.Orphans(t.Context(), app); err != nil || got != tc.want {
			t.Errorf("%s: %t, %v; want %t", name, got, err, tc.want)
		}
	}
}

// The cache still has the driver of the attempt before, under the same name: the one of this attempt lives.
func TestFormerDriverInAStaleCache(t *testing.T) {
	former := ours(pod(corev1.PodFailed), "pi-driver", "driver", "s-0")
	for _, state := range []lifecycle.State{lifecycle.Submitted, lifecycle.Running, lifecycle.Suspending} {
		r := Reader{Labels: family.Labels, Cache: cluster(nil, nil, former), Live: cluster(nil, nil, driverPod())}
		got, err := r.Observe(t.Context(), target, lifecycle.Record{State: state})
		if err != nil || got.Driver.Ownership != lifecycle.Current || got.Driver.Phase != lifecycle.DriverRunning {
			t.Errorf("%s: %+v, %v: a healthy driver is taken for lost", state, got.Driver, err)
		}
	}
}
