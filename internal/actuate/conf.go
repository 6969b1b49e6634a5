// SPDX-License-Identifier: Apache-2.0

package actuate

import (
	"context"
	"encoding/json"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// SetConf sets a Spark property in the spec of an object, and nothing else of it. The object becomes what the API server has stored. Another
// object of the name is a conflict. The version is not compared: the edit has to succeed while the cache is behind.
func (w Writer) SetConf(ctx context.Context, o client.Object, property, value string) error {
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": o.GetUID()},
		"spec":     map[string]any{"sparkConf": map[string]string{property: value}},
	})
	if err != nil {
		return err
	}
	return w.Client.Patch(ctx, o, client.RawPatch(types.MergePatchType, patch))
}
