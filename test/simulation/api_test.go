// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/actuate"
)

// podGrace is the default of terminationGracePeriodSeconds.
const podGrace = 30

// create is POST. The object given gets what the server fills in.
func (h *history) create(o client.Object) error {
	if o.GetName() == "" {
		o.SetName(fmt.Sprintf("%s%05d", o.GetGenerateName(), h.store.version))
	}
	i := idOf(o)
	if h.store.objects[i] != nil {
		return apierrors.NewAlreadyExists(resource(i.kind), i.name)
	}
	if u, ok := o.(*unstructured.Unstructured); ok {
		addressed(u)
	}
	mine := o.DeepCopyObject().(client.Object)
	h.store.create(mine, h.second())
	o.SetUID(mine.GetUID())
	o.SetResourceVersion(mine.GetResourceVersion())
	o.SetCreationTimestamp(mine.GetCreationTimestamp())
	o.SetGeneration(1)
	return nil
}

// get is GET.
func (h *history) get(out client.Object, name string) error {
	i := id{kindOf(out), name}
	o := h.store.objects[i]
	if o == nil {
		return apierrors.NewNotFound(resource(i.kind), name)
	}
	copyInto(out, o)
	return nil
}

// remove is DELETE.
func (h *history) remove(o client.Object, options client.DeleteOptions) error {
	i := idOf(o)
	stored := h.store.objects[i]
	if stored == nil {
		return apierrors.NewNotFound(resource(i.kind), i.name)
	}
	if p := options.Preconditions; p != nil {
		if p.UID != nil && *p.UID != stored.GetUID() {
			return apierrors.NewConflict(resource(i.kind), i.name, fmt.Errorf("Precondition failed: UID in precondition: %v, UID in object meta: %v", *p.UID, stored.GetUID())) //nolint:staticcheck // the API server's words
		}
		if p.ResourceVersion != nil && *p.ResourceVersion != stored.GetResourceVersion() {
			return apierrors.NewConflict(resource(i.kind), i.name, errors.New("Precondition failed: ResourceVersion")) //nolint:staticcheck // the API server's words
		}
	}
	finalizers := stored.GetFinalizers()
	if options.PropagationPolicy != nil && *options.PropagationPolicy == metav1.DeletePropagationForeground {
		finalizers = append(finalizers[:len(finalizers):len(finalizers)], metav1.FinalizerDeleteDependents)
	}
	grace := h.grace(stored, options)
	if grace == 0 && len(finalizers) == 0 {
		h.store.remove(i)
		return nil
	}
	if stored.GetDeletionTimestamp() != nil {
		return nil
	}
	next := stored.DeepCopyObject().(client.Object)
	next.SetDeletionTimestamp(&metav1.Time{Time: h.now.Add(seconds(grace)).Truncate(time.Second)})
	next.SetDeletionGracePeriodSeconds(&grace)
	next.SetFinalizers(finalizers)
	h.store.put(next)
	h.store.orphans = true
	return nil
}

// grace is how long a pod is given to end: one that never was on a node or has ended needs no time.
func (h *history) grace(o client.Object, options client.DeleteOptions) int64 {
	pod, ok := o.(*corev1.Pod)
	if !ok || pod.Spec.NodeName == "" || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return 0
	}
	return ptr.Deref(options.GracePeriodSeconds, podGrace)
}

// patchStatus is PATCH of the subresource status. It says whether the patch changed anything.
func (h *history) patchStatus(o client.Object, patch client.Patch) (changed bool, err error) {
	stored, ok := h.store.objects[idOf(o)].(*v1beta2.SparkApplication)
	if !ok {
		return false, apierrors.NewNotFound(resource(kindOf(o)), o.GetName())
	}
	wish, version, err := h.patched(o.(*v1beta2.SparkApplication), stored, patch)
	if err != nil {
		return false, err
	}
	if version != "" && version != stored.ResourceVersion {
		return false, apierrors.NewConflict(resource(kindApp), o.GetName(), errors.New("the object has been modified; please apply your changes to the latest version and try again"))
	}
	changed = !equality.Semantic.DeepEqual(&stored.Status, &wish)
	if changed {
		next := *stored
		next.Status = wish
		h.store.put(&next)
		stored = &next
	}
	copyInto(o, stored)
	return changed, nil
}

// patchTemplate is PATCH of a ConfigMap, which insists on its version.
func (h *history) patchTemplate(next *corev1.ConfigMap) error {
	stored := h.store.objects[idOf(next)]
	switch {
	case stored == nil:
		return apierrors.NewNotFound(resource("ConfigMap"), next.Name)
	case stored.GetResourceVersion() != next.ResourceVersion:
		return apierrors.NewConflict(resource("ConfigMap"), next.Name, errors.New("the object has been modified"))
	}
	h.store.put(next.DeepCopy())
	return nil
}

// patched is the status that a patch asks for, and the resourceVersion that it insists on. One history in some really
// goes through JSON; for the others the typed object, which the patch was made from, says the same much faster.
func (h *history) patched(o, stored *v1beta2.SparkApplication, patch client.Patch) (v1beta2.SparkApplicationStatus, string, error) {
	if version, ok := lockedVersion(patch); ok && !h.faithful {
		return *o.Status.DeepCopy(), version, nil
	}
	data, err := patch.Data(o)
	if err != nil {
		return v1beta2.SparkApplicationStatus{}, "", err
	}
	var change struct {
		Metadata struct {
			ResourceVersion string `json:"resourceVersion"`
		} `json:"metadata"`
		Status map[string]any `json:"status"`
	}
	if err := json.Unmarshal(data, &change); err != nil {
		return v1beta2.SparkApplicationStatus{}, "", apierrors.NewBadRequest(err.Error())
	}
	status, err := merged(stored.Status, change.Status)
	return status, change.Metadata.ResourceVersion, err
}

// lockedVersion reads from a patch of a status the resourceVersion that it insists on, without making JSON of it.
func lockedVersion(patch client.Patch) (string, bool) {
	p, ok := patch.(actuate.StatusPatch)
	if !ok {
		return "", false
	}
	return p.Before.GetResourceVersion(), true
}

// merged applies a merge patch (RFC 7386) to a status.
func merged(status v1beta2.SparkApplicationStatus, change map[string]any) (v1beta2.SparkApplicationStatus, error) {
	text, err := json.Marshal(status)
	if err != nil {
		return status, err
	}
	var tree map[string]any
	if err := json.Unmarshal(text, &tree); err != nil {
		return status, err
	}
	if text, err = json.Marshal(mergeTree(tree, change)); err != nil {
		return status, err
	}
	var out v1beta2.SparkApplicationStatus
	err = json.Unmarshal(text, &out)
	return out, err
}

func mergeTree(tree, change map[string]any) map[string]any {
	out := maps.Clone(tree)
	if out == nil {
		out = map[string]any{}
	}
	for key, value := range change {
		switch value := value.(type) {
		case nil:
			delete(out, key)
		case map[string]any:
			below, _ := out[key].(map[string]any)
			out[key] = mergeTree(below, value)
		default:
			out[key] = value
		}
	}
	return out
}
