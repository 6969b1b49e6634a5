// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// Labels of the pods that this operator is responsible for.
const (
	// LabelApp holds the application's name.
	LabelApp = "sparkoperator.k8s.io/app-name"
	// LabelLaunchedBy is "true" on every pod of every application; the pod cache is restricted to it.
	LabelLaunchedBy = "sparkoperator.k8s.io/launched-by-spark-operator"
	// LabelCreatedBy is "true" on everything else that is created for an application.
	LabelCreatedBy = "sparkoperator.k8s.io/created-by-spark-operator"
	// LabelSpecHash tells on a driver pod which spec it was made from (Application.SpecHash).
	LabelSpecHash = "sparkoperator.k8s.io/spec-hash"
	// LabelSubmission holds the attempt's submission id (spark.Identity.SubmissionID).
	LabelSubmission = "sparkoperator.k8s.io/submission-id"
	// LabelExposes tells what an object beside a running driver is for; the cache of such objects is restricted to it.
	LabelExposes = "sparkoperator.k8s.io/exposes"
)

// AnnotationApplied holds a hash of what was applied last to an object, so that the same is not applied again.
const AnnotationApplied = "sparkoperator.k8s.io/applied"

// OwnerOf says whose object it is: the controller's UID tells the application, the submission label the attempt.
func OwnerOf(o metav1.Object, app types.UID, submissionID string) Ownership {
	owner := metav1.GetControllerOfNoCopy(o)
	switch {
	case owner == nil || owner.UID != app:
		return Foreign
	case o.GetLabels()[LabelSubmission] == submissionID:
		return Current
	}
	return Former
}

// OwnerReference makes an application the controller of what is created for it.
func OwnerReference(app metav1.Object, apiVersion, kind string) metav1.OwnerReference {
	return metav1.OwnerReference{
		APIVersion: apiVersion, Kind: kind, Name: app.GetName(), UID: app.GetUID(),
		Controller: new(true), BlockOwnerDeletion: new(true),
	}
}

// Own sets the one owner of an object that the operator creates.
func Own(object metav1.Object, owner metav1.OwnerReference) {
	object.SetOwnerReferences([]metav1.OwnerReference{owner})
}

// Mark labels what is created beside a driver pod as the attempt's, so that it can be found again whatever the spec
// calls it by then.
func Mark(object metav1.Object, submissionID string) {
	labels := maps.Clone(object.GetLabels())
	if labels == nil {
		labels = map[string]string{}
	}
	labels[LabelSubmission], labels[LabelCreatedBy] = submissionID, "true"
	object.SetLabels(labels)
}

// MarkApplied puts a hash of what an object says onto it.
func MarkApplied(object *unstructured.Unstructured) error {
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
	annotations[AnnotationApplied] = fmt.Sprintf("%016x", h.Sum64())
	object.SetAnnotations(annotations)
	return nil
}

// SameApplied reports whether what was applied last to an object is what is wanted, and still labeled so.
func SameApplied(found, wanted metav1.Object) bool {
	if found.GetAnnotations()[AnnotationApplied] != wanted.GetAnnotations()[AnnotationApplied] {
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
