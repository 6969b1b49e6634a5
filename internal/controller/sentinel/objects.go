// SPDX-License-Identifier: Apache-2.0

package sentinel

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/internal/observe"
)

// is reports whether an object is a sentinel that can be edited.
func is(o client.Object) bool {
	return strings.EqualFold(o.GetLabels()[v1.LabelSentinel], "true") && o.GetDeletionTimestamp().IsZero()
}

// sentinels are those of a kind in the cache. One whose spec is too large for the cache is left out: its number is not known.
func (p *Probe) sentinels(ctx context.Context, empty client.ObjectList) ([]client.Object, error) {
	list, _ := empty.DeepCopyObject().(client.ObjectList)
	if err := p.Cache.List(ctx, list, client.HasLabels{v1.LabelSentinel}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list %T: %w", list, err)
	}
	var all []client.Object
	err := meta.EachListItem(list, func(item runtime.Object) error {
		if o, ok := item.(client.Object); ok && is(o) && !observe.IsStub(o) && p.Watches(o.GetNamespace()) {
			all = append(all, o)
		}
		return nil
	})
	return all, err
}

// confOf are the properties of an object.
func confOf(o client.Object) map[string]string {
	switch o := o.(type) {
	case *v1.SparkApplication:
		return o.Spec.SparkConf
	case *v1.SparkCluster:
		return o.Spec.SparkConf
	}
	return nil
}
