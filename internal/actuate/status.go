// SPDX-License-Identifier: Apache-2.0

package actuate

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// PatchStatus stores the status of next, unless the object has changed since before was read.
func (w Writer) PatchStatus(ctx context.Context, before, next client.Object) error {
	return w.Client.Status().Patch(ctx, next, StatusPatch{Before: before})
}

// StatusPatch is a merge patch of only the status, with the version of Before as a precondition. controller-runtime's patch compares whole objects, which is
// most of the cost of a write.
type StatusPatch struct{ Before client.Object }

var _ client.Patch = StatusPatch{}

// Type implements client.Patch.
func (StatusPatch) Type() types.PatchType { return types.MergePatchType }

// Data implements client.Patch.
func (p StatusPatch) Data(next client.Object) ([]byte, error) {
	was, err := statusOf(p.Before)
	if err != nil {
		return nil, err
	}
	is, err := statusOf(next)
	if err != nil {
		return nil, err
	}
	changes, err := jsonpatch.CreateMergePatch(was, is)
	if err != nil {
		return nil, fmt.Errorf("compare statuses: %w", err)
	}
	patch := map[string]any{"metadata": map[string]string{"resourceVersion": p.Before.GetResourceVersion()}, "status": json.RawMessage(changes)}
	data, err := json.Marshal(patch)
	if err != nil {
		return nil, fmt.Errorf("write the changes of a status: %w", err)
	}
	return data, nil
}

// statusOf returns the status of an object as JSON.
func statusOf(o client.Object) ([]byte, error) {
	status := reflect.Indirect(reflect.ValueOf(o)).FieldByName("Status")
	if !status.IsValid() {
		return nil, fmt.Errorf("%T has no status", o)
	}
	data, err := json.Marshal(status.Interface())
	if err != nil {
		return nil, fmt.Errorf("write the status of a %T: %w", o, err)
	}
	return data, nil
}
