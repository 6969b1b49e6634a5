// SPDX-License-Identifier: Apache-2.0

//go:build mutation

package schedules

import (
	"context"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
)

// A test that cannot fail proves nothing: each way of breaking the operator must be found.
func TestMutationsAreFound(t *testing.T) {
	type (
		w = client.Client
		r = client.Reader
	)
	for name, c := range map[string]struct {
		reason string
		broken mutation
	}{
		"names have the clock's time": {"after a crash a run is created again", func(s w, c, l r) (w, r, r) { return clockNames{s, new(int)}, c, l }},
		"the cache is enough":         {"it does not know what was started before a crash", func(s w, c, _ r) (w, r, r) { return s, c, cacheOnly{c} }},
		"patches ignore the version":  {"an old decision overwrites a newer one", func(s w, c, l r) (w, r, r) { return heedlessPatch{s}, c, l }},
		"creates that fail are done":  {"the run does not exist", func(s w, c, l r) (w, r, r) { return trustingCreate{s}, c, l }},
		"lists are empty":             {"what exists is not seen", func(s w, c, l r) (w, r, r) { return s, c, emptyList{l} }},
		"drivers are not looked for":  {"a run starts beside the driver of the previous", func(s w, c, l r) (w, r, r) { return s, c, noPods{l} }},
		"a time is deleted":           {"a run has no scheduled time", func(s w, c, l r) (w, r, r) { return noTime{s}, c, l }},
		"deletions are not seen":      {"a schedule that is deleted starts runs", func(s w, c, l r) (w, r, r) { return s, undead{c}, l }},
		"status writes get lost":      {"each is a write without effect", func(s w, c, l r) (w, r, r) { return noStatus{s}, c, l }},
	} {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			found := search(1, 20_000, c.broken, &stats{})
			if found == nil {
				t.Fatalf("not found: %s", c.reason)
			}
			t.Logf("seed %d, %s: %s", found.seed, time.Since(began), found.verdict)
		})
	}
}

// undead never sees that the schedule is being deleted.
type undead struct{ client.Reader }

func (u undead) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	err := u.Reader.Get(ctx, key, o, opts...)
	o.SetDeletionTimestamp(nil)
	return err
}

type clockNames struct {
	client.Client
	n *int
}

func (c clockNames) Create(ctx context.Context, o client.Object, opts ...client.CreateOption) error {
	*c.n++
	o.SetName(o.GetName()[:min(len(o.GetName()), 50)] + "-" + string(rune('a'+*c.n%26)) + string(rune('a'+*c.n/26%26)))
	return c.Client.Create(ctx, o, opts...)
}

// cacheOnly reads from the cache what is to be read live.
type cacheOnly struct{ client.Reader }

func (c cacheOnly) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if _, is := o.(*run); is {
		return notFound(key.Name)
	}
	return c.Reader.Get(ctx, key, o, opts...)
}

func (c cacheOnly) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if _, is := list.(*v1beta2.SparkApplicationList); !is {
		return nil
	}
	return c.Reader.List(ctx, list, opts...)
}

type emptyList struct{ client.Reader }

func (emptyList) List(context.Context, client.ObjectList, ...client.ListOption) error { return nil }

type noPods struct{ client.Reader }

func (n noPods) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if _, is := list.(*v1beta2.SparkApplicationList); !is {
		return nil
	}
	return n.Reader.List(ctx, list, opts...)
}

type trustingCreate struct{ client.Client }

func (t trustingCreate) Create(ctx context.Context, o client.Object, opts ...client.CreateOption) error {
	_ = t.Client.Create(ctx, o, opts...)
	return nil
}

type noTime struct{ client.Client }

func (n noTime) Create(ctx context.Context, o client.Object, opts ...client.CreateOption) error {
	o.SetAnnotations(nil)
	return n.Client.Create(ctx, o, opts...)
}

// patching changes how statuses are written.
type patching struct {
	client.SubResourceWriter
	patch func(ctx context.Context, o client.Object, to client.SubResourceWriter) error
}

func (p patching) Patch(ctx context.Context, o client.Object, _ client.Patch, _ ...client.SubResourcePatchOption) error {
	return p.patch(ctx, o, p.SubResourceWriter)
}

type heedlessPatch struct{ client.Client }

func (h heedlessPatch) Status() client.SubResourceWriter {
	return patching{h.Client.Status(), func(ctx context.Context, o client.Object, to client.SubResourceWriter) error {
		o.SetResourceVersion(h.Client.(server).o.w.object.ResourceVersion)
		return to.Patch(ctx, o, nil)
	}}
}

type noStatus struct{ client.Client }

func (p noStatus) Status() client.SubResourceWriter {
	return patching{p.Client.Status(), func(context.Context, client.Object, client.SubResourceWriter) error { return nil }}
}
