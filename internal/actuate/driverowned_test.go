// SPDX-License-Identifier: Apache-2.0

package actuate

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// driverOwns is the owner of an attempt in a family whose drivers own what is created for them.
var driverOwns = lifecycle.Family{
	Group: "example.org", Version: "v1", Kind: "Job", DriverOwns: true, Labels: lifecycle.Labels{App: "app", Submission: "id", PlainOwner: true},
}.Owner(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "pi", UID: "app"}}, "pi-0")

// ownedSubmission is a driver, a Service that a user names, and the ConfigMap that the driver waits for.
func ownedSubmission() spark.Submission {
	labels := map[string]string{"app": "pi", "id": "pi-0"}
	return spark.Submission{
		Driver: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "jobs", Name: "pi-0-driver", Labels: labels}},
		Resources: []spark.Object{
			&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "jobs", Name: "ui", Labels: labels}},
			&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "jobs", Name: "pi-0-conf", Labels: labels}},
		},
	}
}

var allOwned = []string{"ConfigMap pi-0-conf", "pod pi-0-driver", "service ui"}

func TestSubmitDriverThatOwns(t *testing.T) {
	s := newServer()
	if got := s.writer().Submit(t.Context(), driverOwns, ownedSubmission()); got.Class != lifecycle.ClassDone || got.DriverUID != "uid-1" {
		t.Fatalf("%+v", got)
	}
	if diff := cmp.Diff([]string{"create pod pi-0-driver", "create service ui", "create ConfigMap pi-0-conf"}, s.log); diff != "" {
		t.Errorf("what the driver waits for comes last (-want +got):\n%s", diff)
	}
	references := map[client.Object]metav1.OwnerReference{
		&corev1.Pod{ObjectMeta: metaOf("pi-0-driver")}: {APIVersion: "example.org/v1", Kind: "Job", Name: "pi", UID: "app", BlockOwnerDeletion: new(true)},
	}
	driver := metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: "pi-0-driver", UID: "uid-1"} // blocking its deletion would need a right to the finalizers of all pods
	references[&corev1.Service{ObjectMeta: metaOf("ui")}] = driver
	references[&corev1.ConfigMap{ObjectMeta: metaOf("pi-0-conf")}] = driver
	for obj, want := range references {
		if err := s.Get(t.Context(), client.ObjectKeyFromObject(obj), obj); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]metav1.OwnerReference{want}, obj.GetOwnerReferences()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", nameOf(obj), diff)
		}
	}
	if before := len(s.log); s.writer().DeleteResources(t.Context(), "jobs", driverOwns).Class != lifecycle.ClassDone || len(s.log) != before {
		t.Errorf("the garbage collector takes them: %v", s.log[before:])
	}
}

// The operator dies after each write. Its successor finds the driver, and creates what it lacks when it waits for it.
func TestDriverThatOwnsIsCompleted(t *testing.T) {
	for n := 1; n <= 3; n++ {
		t.Run(fmt.Sprintf("after write %d", n), func(t *testing.T) {
			s := newServer()
			s.crashesAfter = n
			s.writer().Submit(t.Context(), driverOwns, ownedSubmission())
			s.crashesAfter = 0
			for range 2 { // the second finds everything
				if got := s.writer().Restore(t.Context(), driverOwns, ownedSubmission()); got.Class != lifecycle.ClassDone {
					t.Fatalf("%+v", got)
				}
			}
			if diff := cmp.Diff(allOwned, s.inventory(t)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if len(s.log) != len(allOwned) {
				t.Errorf("each is created once: %v", s.log)
			}
		})
	}
}

// A submission that is refused leaves nothing behind: the rest goes with the driver.
func TestSubmitDriverThatOwnsRefused(t *testing.T) {
	invalid := apierrors.NewBadRequest("x")
	gone := []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "pi-0-driver", UID: "gone"}}
	cases := map[string]struct {
		reason  string
		refused string
		there   client.Object
		class   lifecycle.Class
		log     []string
	}{
		"Existing":   {reason: "an earlier try has created it", refused: "pod pi-0-driver", there: ownedSubmission().Driver, class: lifecycle.ClassDone},
		"Pod":        {reason: "nothing was created", refused: "pod pi-0-driver", class: lifecycle.ClassRefused},
		"ConfigMap":  {reason: "the driver is deleted, and with it the Service", refused: "ConfigMap pi-0-conf", class: lifecycle.ClassRefused, log: []string{"create pod pi-0-driver", "create service ui", "delete pod pi-0-driver"}},
		"TakenName":  {reason: "somebody else's is not touched, and no driver is created for nothing", there: &corev1.Service{ObjectMeta: metaOf("ui")}, class: lifecycle.ClassNameTaken},
		"EarlierOne": {reason: "that of the attempt before is about to go", there: &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "jobs", Name: "ui", Labels: map[string]string{"app": "pi"}, OwnerReferences: gone}}, class: lifecycle.ClassTransient},
		"EarlierConf": {
			reason: "a driver would start with the configuration of the application that had the name before", class: lifecycle.ClassTransient,
			there: &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "jobs", Name: "pi-0-conf", Labels: map[string]string{"app": "pi"}, OwnerReferences: gone}},
		},
		"Orphan": {
			reason: "the garbage collector does not take what has no owner any more", class: lifecycle.ClassNameTaken,
			there: &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "jobs", Name: "pi-0-conf", Labels: map[string]string{"app": "pi"}}},
		},
		"TakenDriver": {reason: "somebody else's pod", there: &corev1.Pod{ObjectMeta: metaOf("pi-0-driver")}, class: lifecycle.ClassNameTaken},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var objects []client.Object
			if pod, ok := tc.there.(*corev1.Pod); ok && pod.Labels != nil {
				driverOwns.Own(pod)
			}
			if tc.there != nil {
				objects = append(objects, tc.there)
			}
			s := newServer(objects...)
			s.refuse = func(o client.Object) error {
				if nameOf(o) == tc.refused {
					return invalid
				}
				return nil
			}
			if got := s.writer().Submit(t.Context(), driverOwns, ownedSubmission()); got.Class != tc.class || got.Kind != lifecycle.Submit {
				t.Errorf("%s: %+v", tc.reason, got)
			}
			if diff := cmp.Diff(tc.log, s.log); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// What goes with a driver that goes is waited for. What a driver that stays has is a name that is taken: people have to act.
func TestWhoHasTheName(t *testing.T) {
	of := func(kind, name, uid string) metav1.OwnerReference {
		return metav1.OwnerReference{APIVersion: map[string]string{"Pod": "v1", "Job": "example.org/v1"}[kind], Kind: kind, Name: name, UID: types.UID(uid)}
	}
	now := metav1.Now()
	for name, tc := range map[string]struct {
		reason string
		owner  metav1.OwnerReference
		// pod is the owner, of is its own, and leaves whether it is being deleted.
		pod    string
		of     []metav1.OwnerReference
		leaves bool
		class  lifecycle.Class
	}{
		"Gone":      {reason: "the garbage collector is slow", owner: of("Pod", "old", "uid-old"), class: lifecycle.ClassTransient},
		"Replaced":  {reason: "its name has another pod now", owner: of("Pod", "old", "uid-old"), pod: "uid-new", class: lifecycle.ClassTransient},
		"Earlier":   {reason: "this application's driver is deleted first", owner: of("Pod", "old", "uid-old"), pod: "uid-old", of: []metav1.OwnerReference{of("Job", "pi", "app")}, class: lifecycle.ClassTransient},
		"Leaves":    {reason: "a driver that is being deleted takes it along", owner: of("Pod", "old", "uid-old"), pod: "uid-old", of: []metav1.OwnerReference{of("Job", "other", "other")}, leaves: true, class: lifecycle.ClassTransient},
		"Recreated": {reason: "its application had the name before, so that it is deleted", owner: of("Pod", "old", "uid-old"), pod: "uid-old", of: []metav1.OwnerReference{of("Job", "pi", "before")}, class: lifecycle.ClassTransient},
		"OtherGroup": {
			reason: "fault 24: another family has the same kind and name", owner: of("Pod", "old", "uid-old"), pod: "uid-old", class: lifecycle.ClassNameTaken,
			of: []metav1.OwnerReference{{APIVersion: "example.com/v1", Kind: "Job", Name: "pi", UID: "other"}},
		},
		"Living":    {reason: "fault 24: another application's driver runs", owner: of("Pod", "old", "uid-old"), pod: "uid-old", of: []metav1.OwnerReference{of("Job", "other", "other")}, class: lifecycle.ClassNameTaken},
		"Orphaned":  {reason: "fault 24: a driver that nobody owns stays", owner: of("Pod", "old", "uid-old"), pod: "uid-old", class: lifecycle.ClassNameTaken},
		"OtherKind": {reason: "fault 24: no driver has it", owner: of("Job", "other", "other"), class: lifecycle.ClassNameTaken},
	} {
		t.Run(name, func(t *testing.T) {
			objects := []client.Object{&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "jobs", Name: "ui", Labels: map[string]string{"app": "pi"}, OwnerReferences: []metav1.OwnerReference{tc.owner}}}}
			if tc.pod != "" {
				pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "jobs", Name: "old", UID: types.UID(tc.pod), OwnerReferences: tc.of, Labels: map[string]string{"app": "pi"}}}
				if tc.leaves {
					pod.DeletionTimestamp, pod.Finalizers = &now, []string{"example.org/slow"}
				}
				objects = append(objects, pod)
			}
			s := newServer(objects...)
			if got := s.writer().Submit(t.Context(), driverOwns, ownedSubmission()); got.Class != tc.class || len(s.log) > 0 {
				t.Errorf("%s: %+v, %q", tc.reason, got, s.log)
			}
		})
	}
}

// A pod that the application owns without being its controller belongs to it, but only in a family that has it so.
func TestPlainOwner(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Labels: map[string]string{"id": "pi-0"}, OwnerReferences: []metav1.OwnerReference{{Kind: "Other", UID: "other", Controller: new(true)}, {UID: "app"}},
	}}
	if got := driverOwns.Of(pod); got != lifecycle.Current {
		t.Errorf("%s", got)
	}
	strict := driverOwns
	strict.Labels.PlainOwner = false
	if got := strict.Of(pod); got != lifecycle.NotOwned {
		t.Errorf("%s", got)
	}
}

// What will not pass by itself is told, and the rest is tried again.
func TestRefusal(t *testing.T) {
	route := &unstructured.Unstructured{}
	route.SetGroupVersionKind(schema.GroupVersionKind{Group: "gateway.networking.k8s.io", Version: "v1", Kind: "HTTPRoute"})
	route.SetName("web")
	resource := schema.GroupResource{Group: "gateway.networking.k8s.io", Resource: "httproutes"}
	cases := map[string]struct {
		err   error
		class lifecycle.Class
		says  string
	}{
		"NotInstalled": {&meta.NoKindMatchError{GroupKind: route.GroupVersionKind().GroupKind()}, lifecycle.ClassRefused, "HTTPRoute web: its API gateway.networking.k8s.io/v1 is not installed in the cluster; install it"},
		"NoRight":      {apierrors.NewForbidden(resource, "web", errors.New(`User "spark-operator" cannot get resource "httproutes"`)), lifecycle.ClassOperatorForbidden, "cannot get"},
		"Trouble":      {apierrors.NewServiceUnavailable("etcd leader changed"), lifecycle.ClassTransient, "etcd"},
	}
	for name, tc := range cases {
		got := refusal(route, tc.err)
		if got.Kind != lifecycle.Submit || got.Class != tc.class || !strings.Contains(got.Message, tc.says) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
