// SPDX-License-Identifier: Apache-2.0

package actuate

import (
	"context"
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
)

// What keeps a driver's template as it is.
const (
	noTemplate    = "the driver was created without a template of its executors that the operator could edit"
	fixedTemplate = "the template of the driver's executors cannot be changed: another release of the operator created it"
)

// UpdateTemplate writes the ConfigMap that a driver reads its executors' template from. It creates none: a driver without one reads none. A nil
// template is that of a driver without Spark's step for it.
func (w Writer) UpdateTemplate(ctx context.Context, owner lifecycle.Owner, template *corev1.ConfigMap) lifecycle.Result {
	var found client.Object
	if template != nil {
		var err error
		if found, err = w.Existing(ctx, template); err != nil {
			return lifecycle.Result{Kind: lifecycle.UpdateTemplate, Class: lifecycle.ClassTransient, Message: err.Error()}
		}
	}
	existing, ok := found.(*corev1.ConfigMap)
	switch {
	case !ok, owner.Of(existing) != lifecycle.Current:
		return lifecycle.Result{Kind: lifecycle.UpdateTemplate, Class: lifecycle.ClassRefused, Message: noTemplate}
	case ptr.Deref(existing.Immutable, false):
		return lifecycle.Result{Kind: lifecycle.UpdateTemplate, Class: lifecycle.ClassRefused, Message: fixedTemplate}
	case maps.Equal(existing.Data, template.Data):
		return resultOf(lifecycle.UpdateTemplate, nil)
	}
	next := existing.DeepCopy()
	next.Data = template.Data
	return resultOf(lifecycle.UpdateTemplate, w.Client.Patch(ctx, next, client.MergeFromWithOptions(existing, client.MergeFromWithOptimisticLock{})))
}
