// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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

// What is created for an attempt has the application as its owner, by all that Kubernetes asks for.
func TestOwnerReference(t *testing.T) {
	app := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "pi", UID: "app"}}
	want := Owner{
		Reference:    metav1.OwnerReference{APIVersion: "example.org/v1", Kind: "Job", Name: "pi", UID: "app", Controller: new(true), BlockOwnerDeletion: new(true)},
		SubmissionID: "s-1", Labels: family.Labels,
	}
	if diff := cmp.Diff(want, family.Owner(app, "s-1")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	other := family
	other.DriverOwns, other.Labels.PlainOwner = true, true
	want.DriverOwns, want.Labels.PlainOwner, want.Reference.Controller = true, true, nil
	if diff := cmp.Diff(want, other.Owner(app, "s-1")); diff != "" {
		t.Errorf("of a family whose applications are no controllers (-want +got):\n%s", diff)
	}
	want.Reference = metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: "pi-driver", UID: "uid-1"}
	if diff := cmp.Diff(want, other.Owner(app, "s-1").Driver(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "pi-driver", UID: "uid-1"}})); diff != "" {
		t.Errorf("the driver's, which blocks no deletion (-want +got):\n%s", diff)
	}
}

// What is created is marked, so that it is found again. What outlives attempts has no attempt's mark.
func TestOwnerMarks(t *testing.T) {
	created, submission := family.Labels.CreatedBy, family.Labels.Submission
	cases := map[string]struct {
		reason       string
		attempt      string
		labels, want map[string]string
	}{
		"Plain":    {reason: "it had no labels", attempt: "s-1", want: map[string]string{created: "true", submission: "s-1"}},
		"Labeled":  {reason: "a user's own labels stay", attempt: "s-1", labels: map[string]string{"a": "b"}, want: map[string]string{"a": "b", created: "true", submission: "s-1"}},
		"Outlives": {reason: "it is not deleted with an attempt", labels: map[string]string{submission: "s-1"}, want: map[string]string{created: "true"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			owner, object := family.Owner(&corev1.Pod{}, tc.attempt), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Labels: tc.labels}}
			before := maps.Clone(tc.labels)
			owner.Own(object)
			owner.Mark(object)
			if diff := cmp.Diff(tc.want, object.Labels); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff([]metav1.OwnerReference{owner.Reference}, object.OwnerReferences); diff != "" {
				t.Errorf("%s: owners (-want +got):\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(before, tc.labels); diff != "" {
				t.Errorf("%s: the labels may be shared, and were changed (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// The same is not applied again, unless somebody took its labels away.
func TestSameApplied(t *testing.T) {
	of := func(data string, change func(*unstructured.Unstructured)) *unstructured.Unstructured {
		o := &unstructured.Unstructured{Object: map[string]any{"data": data, "metadata": map[string]any{"labels": map[string]any{"a": "b"}}}}
		if err := family.Labels.MarkApplied(o); err != nil {
			t.Fatal(err)
		}
		change(o)
		return o
	}
	unchanged := func(*unstructured.Unstructured) {}
	annotated := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"annotations": map[string]any{"x": "y"}}}}
	if err := family.Labels.MarkApplied(annotated); err != nil || annotated.GetAnnotations()["x"] != "y" || len(annotated.GetAnnotations()) != 2 {
		t.Errorf("annotations are %v: %v", annotated.GetAnnotations(), err)
	}
	if err := family.Labels.MarkApplied(&unstructured.Unstructured{Object: map[string]any{"data": func() {}}}); err == nil {
		t.Error("what is no JSON has a hash")
	}
	wanted := of("x", unchanged)
	for name, tc := range map[string]struct {
		found *unstructured.Unstructured
		want  bool
	}{
		"same":      {of("x", unchanged), true},
		"other":     {of("y", unchanged), false},
		"unlabeled": {of("x", func(o *unstructured.Unstructured) { o.SetLabels(nil) }), false},
		"relabeled": {of("x", func(o *unstructured.Unstructured) { o.SetLabels(map[string]string{"a": "c"}) }), false},
		"more":      {of("x", func(o *unstructured.Unstructured) { o.SetLabels(map[string]string{"a": "b", "c": "d"}) }), true},
	} {
		if got := family.Labels.SameApplied(tc.found, wanted); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// All labels of a family are read, and fields are named as its users write them.
func TestFamilyKeys(t *testing.T) {
	f := Family{Labels: Labels{App: "a", LaunchedBy: "b", CreatedBy: "c", SpecHash: "d", Submission: "e", Exposes: "f"}, Fields: spark.Fields{"": "spec"}}
	if diff := cmp.Diff([]string{"a", "b", "c", "d", "e", "f"}, f.Labels.Keys()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	all := []Family{
		{Submitter: SubmitterKeys{User: "user", Groups: "groups"}, Labels: Labels{App: "a", Applied: "applied"}, RerunAt: "rerun", WakeAt: "wake", Reads: []string{"read"}},
		{Submitter: SubmitterKeys{User: "other", Groups: "groups"}, Labels: Labels{App: "a", SpecHash: "hash"}},
	}
	if diff := cmp.Diff([]string{"user", "groups", "other", "a", "applied", "rerun", "wake", "read", "hash"}, KeysRead(all)); diff != "" {
		t.Errorf("each is read once, submitters first (-want +got):\n%s", diff)
	}
	if got := family.GroupKind().String() + ", " + family.GroupVersionKind().String(); got != "Job.example.org, example.org/v1, Kind=Job" {
		t.Errorf("the kinds are %s", got)
	}
	if got := f.Field("driver.pod"); got != "spec.driver.pod" {
		t.Errorf("the field is %q", got)
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
		"Zero":    {reason: "a pod may fail although its container did not", exit: Exit{Reason: "Completed"}, want: "driver container failed with ExitCode: 0, Reason: Completed"},
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
