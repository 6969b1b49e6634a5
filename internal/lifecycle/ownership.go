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

// Family describes one kind of an API family. All constants of a family in the core come from these values.
type Family struct {
	// Group, Version and Kind of the application objects.
	Group, Version, Kind string
	Labels               Labels
	Fields               spark.Fields
	// RerunAt is the annotation with which a user asks for another run, a time in RFC 3339; "" if the family has none.
	RerunAt string
	// WakeAt is the annotation with which a user starts a driver that was stopped as idle, a time in RFC 3339; "" if the family has none.
	WakeAt string
	// Submitter has the annotations in which admission records an application's creator.
	Submitter SubmitterKeys
	// Reads are further labels and annotations that the operator reads.
	Reads []string
	// Endures is set for drivers that serve clients (Application.Endures).
	Endures bool
	// DriverOwns makes the driver pod own the attempt's other objects.
	DriverOwns bool
	// Finalizer is removed from deleted applications; "" for none. Another operator sets it, this one never does.
	Finalizer string
	// States are the family's names of states. A state without a name is empty in the status.
	States map[State]string
}

// KeysRead returns the labels and annotations that the operator reads from objects of these families and their dependents. The submitter comes first, because
// it is short and users do not control it.
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

// GroupKind returns the kind of the application objects, in any version.
func (f Family) GroupKind() schema.GroupKind { return schema.GroupKind{Group: f.Group, Kind: f.Kind} }

// GroupVersionKind returns the kind of the application objects.
func (f Family) GroupVersionKind() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: f.Group, Version: f.Version, Kind: f.Kind}
}

// APIVersion returns the group and version of the application objects.
func (f Family) APIVersion() string { return f.Group + "/" + f.Version }

// Field returns the user's path of a field, for packages that do not import package spark.
func (f Family) Field(name string) string { return f.Fields.Path(spark.Field(name)) }

// Owner returns the attempt of an application as the owner of its objects.
func (f Family) Owner(app metav1.Object, submissionID string) Owner {
	return Owner{
		Reference: metav1.OwnerReference{
			APIVersion: f.APIVersion(), Kind: f.Kind, Name: app.GetName(), UID: app.GetUID(),
			Controller: f.Labels.controller(), BlockOwnerDeletion: new(true),
		},
		SubmissionID: submissionID, Labels: f.Labels, DriverOwns: f.DriverOwns,
	}
}

// controller returns the field "controller" of an owner reference.
func (l Labels) controller() *bool {
	if l.PlainOwner {
		return nil
	}
	return new(true)
}

// Labels are the keys with which the operator marks a family's objects.
type Labels struct {
	// App holds the application's name.
	App string
	// LaunchedBy is "true" on every pod of every application.
	LaunchedBy string
	// CreatedBy is "true" on every other object that is created for an application.
	CreatedBy string
	// SpecHash is the hash of the spec that a driver pod was created from (Application.SpecHash).
	SpecHash string
	// Submission holds the attempt's submission id (spark.Identity.SubmissionID).
	Submission string
	// Exposes is the purpose of an auxiliary object of a running driver. All families share it, so that one watch is enough.
	Exposes string
	// PlainOwner omits the controller flag from the application's owner reference.
	PlainOwner bool
	// Applied is an annotation with the hash of the object as last applied. Equal objects are not applied again.
	Applied string
}

// Keys returns the labels.
func (l Labels) Keys() []string {
	return []string{l.App, l.LaunchedBy, l.CreatedBy, l.SpecHash, l.Submission, l.Exposes}
}

// Owner is the attempt that an object is created for.
type Owner struct {
	Reference metav1.OwnerReference
	// SubmissionID identifies the attempt; "" for objects of no attempt.
	SubmissionID string
	Labels       Labels
	// DriverOwns is the family's (Family.DriverOwns).
	DriverOwns bool
}

// Of returns the ownership of an object. The UID in its owner reference identifies the application; the submission label identifies the attempt. Without
// PlainOwner, the owner must be the controller.
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

// Predecessor reports whether the object's owner is a deleted application of the same name. The garbage collector deletes such an object.
func (w Owner) Predecessor(o metav1.Object) bool {
	return slices.ContainsFunc(o.GetOwnerReferences(), func(r metav1.OwnerReference) bool { return w.Named(r) && r.UID != w.Reference.UID })
}

// Named reports whether a reference names the application, or a deleted one of the same name, in any version of the kind.
func (w Owner) Named(r metav1.OwnerReference) bool {
	group, _, _ := strings.Cut(w.Reference.APIVersion, "/")
	return strings.HasPrefix(r.APIVersion, group+"/") && r.Kind == w.Reference.Kind && r.Name == w.Reference.Name
}

// Driver returns the attempt's driver pod as the owner of other objects. The reference does not block the pod's deletion, because that needs a right to all
// pods' finalizers (OwnerReferencesPermissionEnforcement).
func (w Owner) Driver(pod metav1.Object) Owner {
	w.Reference = metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: pod.GetName(), UID: pod.GetUID()}
	return w
}

// Own sets the only owner of an object that the operator creates.
func (w Owner) Own(object metav1.Object) {
	object.SetOwnerReferences([]metav1.OwnerReference{w.Reference})
}

// Mark adds the labels of the attempt to an auxiliary object, so that it is found after an edit of its name. Objects that outlive attempts have no SubmissionID
// and no such label, so no attempt deletes them.
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

// MarkApplied adds an annotation with the object's hash.
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

// SameApplied reports whether wanted equals the object as last applied, labels included.
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

// NotRun reports whether this operator does not run the object: another controller runs it, or it is a health probe.
func (a Application) NotRun() bool { return a.ManagedBy != "" || a.Probe }
