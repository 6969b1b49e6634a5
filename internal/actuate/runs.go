// SPDX-License-Identifier: Apache-2.0

package actuate

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// CreateRun creates a run of a schedule under the name that its time gives it. If there is an object of that name, that is
// returned: it may be the run, created by an operator that crashed before it wrote the status.
func (w Writer) CreateRun(ctx context.Context, run client.Object) (existing client.Object, err error) {
	err = w.Client.Create(ctx, run)
	if !apierrors.IsAlreadyExists(err) {
		return nil, err
	}
	found, err := w.Existing(ctx, run)
	if err != nil {
		return nil, err
	}
	if found == nil {
		return nil, fmt.Errorf("run %s existed and was deleted meanwhile", run.GetName())
	}
	return found, nil
}

// DeleteRun deletes a run of a schedule, with what belongs to it, if it still is the one with the UID and, unless that is
// empty, the version: a conflict is returned then.
func (w Writer) DeleteRun(ctx context.Context, run client.Object, uid, version string) error {
	condition := client.Preconditions{UID: (*types.UID)(&uid)}
	if version != "" {
		condition.ResourceVersion = &version
	}
	err := w.Client.Delete(ctx, run, condition, client.PropagationPolicy(metav1.DeletePropagationBackground))
	if apierrors.IsNotFound(err) || version == "" && apierrors.IsConflict(err) {
		return nil // it is gone
	}
	return err
}
