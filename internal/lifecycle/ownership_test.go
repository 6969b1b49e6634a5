// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

func ownedPod(owner types.UID, controller bool, submission string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name:            "pi-driver",
		Labels:          map[string]string{v1beta2.LabelSubmissionID: submission, v1beta2.LabelAppName: "pi"},
		OwnerReferences: []metav1.OwnerReference{{Name: "pi", UID: owner, Controller: &controller}},
	}}
}

// family is what an API family may hand in.
var family = Family{
	Group: "example.org", Version: "v1", Kind: "Job", Fields: spark.Fields{"": "spec"},
	Labels: Labels{App: v1beta2.LabelAppName, CreatedBy: "example.org/created", Submission: v1beta2.LabelSubmissionID, Applied: "example.org/applied"},
}

func TestOwner(t *testing.T) {
	cases := map[string]struct {
		reason string
		pod    *corev1.Pod
		want   Ownership
	}{
		"Current":       {reason: "owner and attempt are right", pod: ownedPod("app", true, "s-1"), want: Current},
		"Previous":      {reason: "another attempt of the same application", pod: ownedPod("app", true, "s-0"), want: Previous},
		"OtherUID":      {reason: "an application of the same name, before or after ours", pod: ownedPod("other", true, "s-1"), want: NotOwned},
		"NoController":  {reason: "an owner that is no controller proves nothing", pod: ownedPod("app", false, "s-1"), want: NotOwned},
		"LabelsOnly":    {reason: "labels can be copied by anyone", pod: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "pi-driver", Labels: map[string]string{v1beta2.LabelSubmissionID: "s-1"}}}, want: NotOwned},
		"NameOnly":      {reason: "identity is never the name alone", pod: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "pi-driver"}}, want: NotOwned},
		"LabelStripped": {reason: "without its label a pod is ours, but of no known attempt", pod: ownedPod("app", true, ""), want: Previous},
	}
	owner := family.Owner(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "pi", UID: "app"}}, "s-1")
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := owner.Of(tc.pod); got != tc.want {
				t.Errorf("%s: Of = %s, want %s", tc.reason, got, tc.want)
			}
		})
	}
}

func TestStatesAreClosed(t *testing.T) {
	final := map[State]bool{Succeeded: true, Failed: true}
	seen := map[State]bool{}
	for _, s := range States() {
		if seen[s] {
			t.Errorf("state %q is listed twice", s)
		}
		seen[s] = true
		if s.Final() != final[s] {
			t.Errorf("state %q: Final() = %v, want %v", s, s.Final(), final[s])
		}
	}
	for s := range final {
		if !seen[s] {
			t.Errorf("state %q is not listed", s)
		}
	}
}

func TestPresenceIsNeverAssumed(t *testing.T) {
	for _, p := range []Presence{Unknown, Absent} {
		d := Driver{Presence: p, Ownership: Current}
		if d.Is(Current) {
			t.Errorf("a driver that is %s is nobody's", p)
		}
	}
	if d := driver(Previous, DriverRunning); d.Is(Current) || !d.Is(Previous) {
		t.Error("a driver of a previous attempt is not the current one")
	}
}

func TestExitString(t *testing.T) {
	cases := map[string]struct {
		reason string
		exit   Exit
		want   string
	}{
		"Code":    {reason: "the Kubeflow operator's words, which tools look for", exit: Exit{Code: 1, Reason: "Error"}, want: "driver container failed with ExitCode: 1, Reason: Error"},
		"OOM":     {reason: "the kubelet's reason", exit: Exit{Code: 137, Reason: "OOMKilled"}, want: "driver container failed with ExitCode: 137, Reason: OOMKilled"},
		"Message": {reason: "a termination message is worth reading", exit: Exit{Code: 2, Reason: "Error", Message: "no such class"}, want: "driver container failed with ExitCode: 2, Reason: Error, Message: no such class"},
		"Missing": {reason: "the pod failed and no container reported why", exit: Exit{Code: -1}, want: "driver container status missing"},
		"Evicted": {reason: "the pod's own words stand in", exit: Exit{Code: -1, Reason: "Evicted", Message: "The node was low on resource: memory."}, want: "driver container status missing: Evicted: The node was low on resource: memory."},
		"NoWord":  {reason: "a reason that is missing leaves no gap", exit: Exit{Code: -1, Message: "node lost"}, want: "driver container status missing: node lost"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := tc.exit.String(); got != tc.want {
				t.Errorf("%s: %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}
