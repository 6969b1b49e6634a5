// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
)

// The drivers of other attempts are told apart from the one that is followed, whatever becomes of it.
func TestObserveStrays(t *testing.T) {
	other := func(attempt string, phase corev1.PodPhase) *corev1.Pod {
		return ours(pod(phase), "pi-0-driver", "driver", attempt)
	}
	notOwned := other("s-0", corev1.PodRunning)
	notOwned.OwnerReferences[0].UID = "another"
	cases := map[string]struct {
		reason    string
		pod       *corev1.Pod
		followed  *corev1.Pod
		liveFails error
		want      bool
	}{
		"Beside":   {reason: "a slow second leader has created it", pod: other("s-0", corev1.PodRunning), followed: driverPod(), want: true},
		"Alone":    {reason: "the current one is not there yet, or any more", pod: other("s-0", corev1.PodPending), want: true},
		"Ended":    {reason: "nobody follows it: it goes, too", pod: other("s-0", corev1.PodSucceeded), followed: driverPod(), want: true},
		"Doubt":    {reason: "which one is followed is not known", pod: other("s-0", corev1.PodRunning), liveFails: errors.New("etcd leader changed")},
		"Unmarked": {reason: "a previous operator marked no attempts", pod: other("", corev1.PodRunning), followed: driverPod()},
		"Renamed":  {reason: "it is the current one", pod: other("s-1", corev1.PodRunning)},
		"Executor": {reason: "executors go with their driver", pod: ours(pod(corev1.PodRunning), "pi-0-exec-1", "executor", "s-0"), followed: driverPod()},
		"NotOwned": {reason: "it has another owner", pod: notOwned, followed: driverPod()},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			cached := []client.Object{tc.pod}
			if tc.followed != nil {
				cached = append(cached, tc.followed)
			}
			r := Reader{Labels: family.Labels, Cache: cluster(nil, nil, cached...), Live: cluster(nil, tc.liveFails)}
			got, err := r.Observe(t.Context(), target, lifecycle.Record{State: lifecycle.Running})
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, d := range got.Strays {
				names = append(names, d.Name)
			}
			if (len(names) == 1 && names[0] == "pi-0-driver") != tc.want {
				t.Errorf("%s: %v, want %t", tc.reason, names, tc.want)
			}
		})
	}
}

// What the application that had the name before has left is known by its owner (case 018).
func TestDriverOfAPredecessor(t *testing.T) {
	mine := metav1.OwnerReference{APIVersion: "sparkoperator.k8s.io/v1beta2", Kind: "SparkApplication", Name: "pi", UID: "app", Controller: new(true)}
	for uid, want := range map[types.UID]bool{"app": false, "old": true} {
		p, owner := driverPod(), mine
		owner.UID = uid
		p.OwnerReferences = []metav1.OwnerReference{owner}
		at := target
		at.Owner = mine
		r := Reader{Labels: family.Labels, Cache: cluster(nil, nil), Live: cluster(nil, nil, p)}
		o, err := r.Observe(t.Context(), at, lifecycle.Record{State: lifecycle.Queued})
		if err != nil || o.Driver.Presence != lifecycle.Present || o.Driver.Predecessor != want {
			t.Errorf("owner %s: driver %+v, error %v, want predecessor %t", uid, o.Driver, err, want)
		}
	}
}
