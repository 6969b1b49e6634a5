// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sparkv1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1alpha1"
	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/observe"
)

// cached is what manager.GetClient returns: it reads from the cache and writes to the API server. What the operator does
// not use is left nil and would panic.
type cached struct {
	client.Client
	o *operator
}

func (c cached) Get(_ context.Context, key client.ObjectKey, out client.Object, _ ...client.GetOption) error {
	i := id{kindOf(out), key.Name}
	if i.kind == kindService { // which this cache does not hold
		return c.o.h.get(out, key.Name)
	}
	o := c.o.cache.objects[i]
	switch app := o.(type) {
	case *v1beta2.SparkApplication:
		c.o.decides = app
	case *sparkv1.SparkApplication:
		c.o.decidesSecond = app
	case *v1alpha1.SparkConnect:
		c.o.decidesServer = app
	}
	if o == nil {
		return apierrors.NewNotFound(resource(i.kind), i.name)
	}
	copyInto(out, o)
	return nil
}

func (c cached) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) error {
	return listFrom(c.o.cache.objects, list, opts)
}

func (c cached) Create(_ context.Context, obj client.Object, opts ...client.CreateOption) error {
	h := c.o.h
	var options client.CreateOptions
	if options.ApplyOptions(opts); len(options.DryRun) > 0 {
		return c.o.call("try", obj, func() error { return nil })
	}
	return c.o.call("create", obj, func() error {
		err := h.create(obj)
		if err == nil {
			h.judge(c.o).created(c.o, obj)
		}
		return err
	})
}

func (c cached) Delete(_ context.Context, obj client.Object, opts ...client.DeleteOption) error {
	h := c.o.h
	var options client.DeleteOptions
	options.ApplyOptions(opts)
	return c.o.call("delete", obj, func() error {
		target := h.store.objects[idOf(obj)]
		err := h.remove(obj, options)
		if err == nil {
			h.judge(c.o).deleted(c.o, target)
		}
		return err
	})
}

// Patch is PATCH of an application, which only the second family's is, or of the template that a driver makes its executors from.
func (c cached) Patch(_ context.Context, obj client.Object, patch client.Patch, _ ...client.PatchOption) error {
	if next, is := obj.(*corev1.ConfigMap); is {
		return c.o.call("patch", obj, func() error {
			err := c.o.h.patchTemplate(next)
			if last := lastOf(c.o.h.invariants.drivers, "", next.Labels[v1beta2.LabelSubmissionID]); err == nil && last != nil {
				last.placed = c.o.decides.Spec.Executor.NodeSelector
			}
			return err
		})
	}
	return c.o.call("patch", obj, func() error { return c.o.h.other.patch(c.o, obj.(*sparkv1.SparkApplication), patch) })
}

func (c cached) Status() client.SubResourceWriter { return statusWriter{o: c.o} }

func (c cached) Scheme() *runtime.Scheme { return scheme }

type statusWriter struct {
	client.SubResourceWriter
	o *operator
}

func (w statusWriter) Patch(_ context.Context, obj client.Object, patch client.Patch, _ ...client.SubResourcePatchOption) error {
	h := w.o.h
	return w.o.call(patches, obj, func() error {
		switch obj := obj.(type) {
		case *sparkv1.SparkApplication:
			return h.other.patchStatus(w.o, obj, patch)
		case *v1alpha1.SparkConnect:
			return h.server.patchStatus(w.o, obj, patch)
		}
		before := h.store.app()
		changed, err := h.patchStatus(obj, patch)
		if err == nil {
			h.invariants.reported(w.o, before, h.store.app(), changed)
		}
		return err
	})
}

// live is what manager.GetAPIReader returns.
type live struct{ o *operator }

func (l live) Get(_ context.Context, key client.ObjectKey, out client.Object, _ ...client.GetOption) error {
	named := out.DeepCopyObject().(client.Object)
	named.SetName(key.Name)
	return l.o.call("get", named, func() error {
		if kindOf(out) == l.o.of {
			l.o.looked = l.o.h.store.version
		}
		return l.o.h.get(out, key.Name)
	})
}

func (l live) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) error {
	return l.o.callList(list, func() error { return listFrom(l.o.h.store.objects, list, opts) })
}

// listFrom is LIST by labels, or by the index of objects by their application, in the order of names.
func listFrom(objects map[id]client.Object, list client.ObjectList, opts []client.ListOption) error {
	var options client.ListOptions
	options.ApplyOptions(opts)
	kind := kindOf(list)
	var names []string
	for i, o := range objects {
		if i.kind != kind || options.LabelSelector != nil && !options.LabelSelector.Matches(labelsOf(o)) {
			continue
		}
		if options.FieldSelector != nil && !options.FieldSelector.Matches(fieldsOf(o)) {
			continue
		}
		names = append(names, i.name)
	}
	slices.Sort(names)
	shared := options.UnsafeDisableDeepCopy != nil && *options.UnsafeDisableDeepCopy
	if pods, ok := list.(*corev1.PodList); ok {
		pods.Items = make([]corev1.Pod, len(names))
		for n, name := range names {
			stored := objects[id{kind, name}].(*corev1.Pod)
			if shared {
				pods.Items[n] = *stored
			} else {
				stored.DeepCopyInto(&pods.Items[n])
			}
		}
		return nil
	}
	if metadata, ok := list.(*metav1.PartialObjectMetadataList); ok {
		metadata.Items = nil
		for _, name := range names {
			metadata.Items = append(metadata.Items, metadataOf(objects[id{kind, name}]))
		}
		return nil
	}
	all := make([]runtime.Object, 0, len(names))
	for _, name := range names {
		all = append(all, objects[id{kind, name}].DeepCopyObject())
	}
	return meta.SetList(list, all)
}

// attributes are the labels, or the selectable fields, of an object.
type attributes map[string]string

func (a attributes) Has(key string) bool   { _, ok := a[key]; return ok }
func (a attributes) Get(key string) string { return a[key] }
func (a attributes) Lookup(key string) (string, bool) {
	v, ok := a[key]
	return v, ok
}

func labelsOf(o client.Object) attributes { return o.GetLabels() }

// byApp is the operator's index.
var byApp = observe.IndexByApp(v1beta2.LabelAppName, sparkv1.LabelAppName, v1alpha1.LabelConnectName)

// fieldsOf are the fields that the operator may select by.
func fieldsOf(o client.Object) attributes {
	f := attributes{"metadata.name": o.GetName(), "metadata.namespace": o.GetNamespace()}
	if apps := byApp(o); len(apps) > 0 {
		f[observe.IndexApp] = apps[0] // nothing here belongs to two
	}
	if e, ok := o.(*corev1.Event); ok {
		f["involvedObject.name"], f["involvedObject.uid"] = e.InvolvedObject.Name, string(e.InvolvedObject.UID)
		f["involvedObject.kind"], f["type"] = e.InvolvedObject.Kind, e.Type
	}
	return f
}

// answerOf is an error in the words of a story.
func answerOf(err error) string {
	switch {
	case err == nil:
		return "ok"
	case apierrors.ReasonForError(err) != "" && !apierrors.IsForbidden(err):
		return string(apierrors.ReasonForError(err))
	}
	_, text, found := strings.Cut(err.Error(), "is forbidden: ")
	if !found {
		return err.Error()
	}
	return fmt.Sprintf("Forbidden (%s)", text)
}
