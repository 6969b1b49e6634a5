/*
Copyright 2026 The Firesteel Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package simulation

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
)

// enoughForMutations is how many histories a broken operator may survive.
const enoughForMutations = 20_000

// A test that cannot fail proves nothing: each way of breaking the operator must be found.
func TestMutationsAreFound(t *testing.T) {
	tests := map[string]struct {
		reason string
		change func(*history)
	}{
		"deletes ignore the UID": {
			"the pod that has the name by now may be somebody else's",
			wrapped(func(c client.Client) client.Client { return heedlessDelete{c} }),
		},
		"status patches ignore the resourceVersion": {
			"a decision from an old status overwrites a newer one",
			wrapped(func(c client.Client) client.Client { return heedlessPatch{c} }),
		},
		"what the cache misses is absent": {
			"a driver that was just created is not in the cache",
			func(h *history) {
				h.mutation = func(c client.Client, _ client.Reader) (client.Client, client.Reader) { return c, c }
			},
		},
		"creates replace what is there": {
			"it may be the driver, or somebody else's",
			wrapped(func(c client.Client) client.Client { return overwritingCreate{c} }),
		},
		"creates that fail are taken for done": {
			"the application then has no driver",
			wrapped(func(c client.Client) client.Client { return trustingCreate{c} }),
		},
		"every submission has an id of its own": {
			"a driver is not recognised after a crash, as with today's operators",
			wrapped(func(c client.Client) client.Client { return randomSubmission{c, new(int)} }),
		},
		"status patches that fail are taken for done": {
			"what was decided is forgotten",
			wrapped(func(c client.Client) client.Client { return trustingPatch{c} }),
		},
		"no timers": {
			"a state waits for something that no watch tells",
			func(h *history) { h.dropTimers = true },
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			stats, found := many(1, enoughForMutations, 1, tc.change)
			if len(found) == 0 {
				t.Fatalf("survived %d histories although %s", stats.Histories, tc.reason)
			}
			t.Logf("found after %d histories, by seed %d: %s", stats.Histories, found[0], lived(found[0], false, tc.change).broken)
		})
	}
}

func wrapped(wrap func(client.Client) client.Client) func(*history) {
	return func(h *history) {
		h.mutation = func(c client.Client, l client.Reader) (client.Client, client.Reader) { return wrap(c), l }
	}
}

type heedlessDelete struct{ client.Client }

func (c heedlessDelete) Delete(ctx context.Context, obj client.Object, opts ...client.DeleteOption) error {
	kept := slices.DeleteFunc(slices.Clone(opts), func(o client.DeleteOption) bool {
		_, precondition := o.(client.Preconditions)
		return precondition
	})
	return c.Client.Delete(ctx, obj, kept...)
}

type heedlessPatch struct{ client.Client }

func (c heedlessPatch) Status() client.SubResourceWriter {
	return patchWriter{c.Client.Status(), func(p client.Patch) client.Patch { return unlocked{p} }, false}
}

type trustingPatch struct{ client.Client }

func (c trustingPatch) Status() client.SubResourceWriter {
	return patchWriter{c.Client.Status(), func(p client.Patch) client.Patch { return p }, true}
}

type patchWriter struct {
	client.SubResourceWriter
	change  func(client.Patch) client.Patch
	trusted bool
}

func (w patchWriter) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
	err := w.SubResourceWriter.Patch(ctx, obj, w.change(patch), opts...)
	if w.trusted {
		return nil
	}
	return err
}

// unlocked is a patch without a resourceVersion.
type unlocked struct{ client.Patch }

func (u unlocked) Data(obj client.Object) ([]byte, error) {
	data, err := u.Patch.Data(obj)
	if err != nil {
		return nil, err
	}
	var tree map[string]any
	if err := json.Unmarshal(data, &tree); err != nil {
		return nil, err
	}
	delete(tree, "metadata")
	return json.Marshal(tree)
}

type overwritingCreate struct{ client.Client }

func (c overwritingCreate) Create(ctx context.Context, obj client.Object, opts ...client.CreateOption) error {
	err := c.Client.Create(ctx, obj, opts...)
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	if err := c.Delete(ctx, obj, client.GracePeriodSeconds(0)); err != nil {
		return err
	}
	return c.Client.Create(ctx, obj, opts...)
}

type trustingCreate struct{ client.Client }

func (c trustingCreate) Create(ctx context.Context, obj client.Object, opts ...client.CreateOption) error {
	if err := c.Client.Create(ctx, obj, opts...); apierrors.IsAlreadyExists(err) {
		return err
	}
	return nil
}

type randomSubmission struct {
	client.Client
	count *int
}

func (c randomSubmission) Create(ctx context.Context, obj client.Object, opts ...client.CreateOption) error {
	if pod, ok := obj.(*corev1.Pod); ok {
		*c.count++
		pod.Labels[lifecycle.LabelSubmission] += string(rune('a' + *c.count%26))
	}
	return c.Client.Create(ctx, obj, opts...)
}
