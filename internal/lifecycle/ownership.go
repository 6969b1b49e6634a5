// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/firesteel-dev/firesteel/internal/spark"
)

// Family is what the core knows of one kind of an API family: values, so that the core has no constants of any.
type Family struct {
	// Group, Version and Kind of the application objects.
	Group, Version, Kind string
	Labels               Labels
	Fields               spark.Fields
	// RerunAt is the annotation by which a user asks for another run: a time in RFC 3339. "" if the family has none.
	RerunAt string
	// WakeAt is the annotation by which a user starts a driver that was stopped because it was idle: a time in RFC 3339.
	// "" if the family has none.
	WakeAt string
	// Submitter are the annotations by which admission says who created an application.
	Submitter SubmitterKeys
	// Reads are other labels and annotations of the objects that are read.
	Reads []string
	// Endures says that the drivers take clients (Application.Endures).
	Endures bool
	// DriverOwns says that what is created for an attempt belongs to its driver pod, and goes with it.
	DriverOwns bool
	// Finalizer is that of a previous operator, which is removed from an application that is deleted; "" for none. This operator sets none.
	Finalizer string
	// States are the family's names of states; one without an entry is empty in its statuses.
	States map[State]string
}

// KeysRead are the labels and annotations that are read of objects of some families, and of what is made for them: first who created one, which is
// short and the user's own least of all.
func KeysRead(families []Family) []string {
	var first, others []string
	for _, f := range families {
		first = append(first, f.Submitter.User, f.Submitter.Groups)
		others = append(append(append(others, f.Labels.Keys()...), f.Labels.Applied, f.RerunAt, f.WakeAt), f.Reads...)
	}
	var all []string
	for _, key := range append(first, others...) {
		if key != "" && !slices.Contains(all, key) {
			all = append(all, key)
		}
	}
	return all
}

// GroupKind is the kind of the application objects in any version.
func (f Family) GroupKind() schema.GroupKind { return schema.GroupKind{Group: f.Group, Kind: f.Kind} }

// GroupVersionKind is the kind of the application objects.
func (f Family) GroupVersionKind() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: f.Group, Version: f.Version, Kind: f.Kind}
}

// APIVersion is the group and version of the application objects.
func (f Family) APIVersion() string { return f.Group + "/" + f.Version }

// Field is what the family's users write for a field, for packages that know nothing of Spark.
func (f Family) Field(name string) string { return f.Fields.Path(spark.Field(name)) }

// Owner makes an attempt of an application the owner of what is created for it.
func (f Family) Owner(app metav1.Object, submissionID string) Owner {
	return Owner{
		Reference: metav1.OwnerReference{
			APIVersion: f.APIVersion(), Kind: f.Kind, Name: app.GetName(), UID: app.GetUID(),
			Controller: f.Labels.controller(), BlockOwnerDeletion: new(true),
		},
		SubmissionID: submissionID, Labels: f.Labels, DriverOwns: f.DriverOwns,
	}
}

// controller is the field of an owner reference.
func (l Labels) controller() *bool {
	if l.PlainOwner {
		return nil
	}
	return new(true)
}

// Labels are the keys by which a family marks the objects that this operator is responsible for.
type Labels struct {
	// App holds the application's name.
	App string
	// LaunchedBy is "true" on every pod of every application.
	LaunchedBy string
	// CreatedBy is "true" on everything else that is created for an application.
	CreatedBy string
	// SpecHash says on a driver pod which spec it was created from (Application.SpecHash).
	SpecHash string
	// Submission holds the attempt's submission id (spark.Identity.SubmissionID).
	Submission string
	// Exposes says what an auxiliary object of a running driver is for. All families have the same: one watch serves them.
	Exposes string
	// PlainOwner says that the application is an owner of its driver, but not as a controller.
	PlainOwner bool
	// Applied is an annotation: a hash of what was applied last to an object, so that the same is not applied again.
	Applied string
}

// Keys are the labels.
func (l Labels) Keys() []string {
	return []string{l.App, l.LaunchedBy, l.CreatedBy, l.SpecHash, l.Submission, l.Exposes}
}

// Owner is the attempt of an application that an object is created for.
type Owner struct {
	Reference metav1.OwnerReference
	// SubmissionID is the attempt's; "" for what belongs to no attempt.
	SubmissionID string
	Labels       Labels
	// DriverOwns is the family's (Family.DriverOwns).
	DriverOwns bool
}

// Of returns who owns an object: the UID of the owner, which is its controller if the family has it so, identifies the application, the
// submission label the attempt.
func (w Owner) Of(o metav1.Object) Ownership {
	owned := slices.ContainsFunc(o.GetOwnerReferences(), func(r metav1.OwnerReference) bool {
		return r.UID == w.Reference.UID && (w.Labels.PlainOwner || r.Controller != nil && *r.Controller)
	})
	switch {
	case !owned:
		return NotOwned
	case o.GetLabels()[w.Labels.Submission] == w.SubmissionID:
		return Current
	}
	return Previous
}

// Predecessor reports whether an object belongs to the application that had the name before: it was deleted, since two of a kind cannot have one name,
// and the object goes with it.
func (w Owner) Predecessor(o metav1.Object) bool {
	return slices.ContainsFunc(o.GetOwnerReferences(), func(r metav1.OwnerReference) bool { return w.Named(r) && r.UID != w.Reference.UID })
}

// Named reports whether a reference is to the application, or to one that had its name before and so is deleted. Any version of its kind may be
// written.
func (w Owner) Named(r metav1.OwnerReference) bool {
	group, _, _ := strings.Cut(w.Reference.APIVersion, "/")
	return strings.HasPrefix(r.APIVersion, group+"/") && r.Kind == w.Reference.Kind && r.Name == w.Reference.Name
}

// Driver makes the attempt's driver pod the owner of what is created for it. It does not block the deletion of the pod, which would need a right to
// the finalizers of all pods (OwnerReferencesPermissionEnforcement).
func (w Owner) Driver(pod metav1.Object) Owner {
	w.Reference = metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: pod.GetName(), UID: pod.GetUID()}
	return w
}

// Own sets the one owner of an object that the operator creates.
func (w Owner) Own(object metav1.Object) {
	object.SetOwnerReferences([]metav1.OwnerReference{w.Reference})
}

// Mark labels an auxiliary object as the attempt's, so that it can be found even if the spec gives it another name
// later. What outlives attempts has an owner without a SubmissionID, and no such label: it is not deleted with one of them.
func (w Owner) Mark(object metav1.Object) {
	labels := maps.Clone(object.GetLabels())
	if labels == nil {
		labels = map[string]string{}
	}
	labels[w.Labels.CreatedBy] = "true"
	delete(labels, w.Labels.Submission)
	if w.SubmissionID != "" {
		labels[w.Labels.Submission] = w.SubmissionID
	}
	object.SetLabels(labels)
}

// MarkApplied puts a hash of what an object says onto it.
func (l Labels) MarkApplied(object *unstructured.Unstructured) error {
	text, err := json.Marshal(object.Object)
	if err != nil {
		return err
	}
	h := fnv.New64a()
	_, _ = h.Write(text) // a hash never fails
	annotations := maps.Clone(object.GetAnnotations())
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[l.Applied] = fmt.Sprintf("%016x", h.Sum64())
	object.SetAnnotations(annotations)
	return nil
}

// SameApplied reports whether what was applied last to an object is what is wanted, and still labeled so.
func (l Labels) SameApplied(found, wanted metav1.Object) bool {
	if found.GetAnnotations()[l.Applied] != wanted.GetAnnotations()[l.Applied] {
		return false
	}
	labels := found.GetLabels()
	for key, value := range wanted.GetLabels() {
		if labels[key] != value {
			return false
		}
	}
	return true
}
