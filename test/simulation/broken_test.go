// SPDX-License-Identifier: Apache-2.0

//go:build mutation

package simulation

import (
	"context"
	"encoding/json"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sparkv1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
)

// wrapped breaks the client that writes, and reads from the cache.
func wrapped(wrap func(client.Client) client.Client) func(*history) {
	return func(h *history) {
		h.mutation = func(c client.Client, l client.Reader) (client.Client, client.Reader) { return wrap(c), l }
	}
}

// looking breaks the reader that asks the API server.
func looking(wrap func(*history, client.Client, client.Reader) client.Reader) func(*history) {
	return func(h *history) {
		h.mutation = func(c client.Client, l client.Reader) (client.Client, client.Reader) { return c, wrap(h, c, l) }
	}
}

// staleLook asks the cache about the application.
type staleLook struct {
	client.Reader
	cache client.Reader
}

func (r staleLook) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	if kindOf(obj) == kindApp {
		return r.cache.Get(ctx, key, obj, opts...)
	}
	return r.Reader.Get(ctx, key, obj, opts...)
}

// nameOnly takes whatever has the driver's name for the application's own.
type nameOnly struct {
	client.Reader
	h *history
}

func (r nameOnly) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	err := r.Reader.Get(ctx, key, obj, opts...)
	if app := r.h.store.app(); err == nil && app != nil && kindOf(obj) == kindPod {
		obj.SetOwnerReferences([]metav1.OwnerReference{kubeflow.SparkApplications{}.Family().Owner(app, "").Reference})
	}
	return err
}

// takesNamesakes takes what belongs to the other family's application of the same name for its own.
type takesNamesakes struct {
	client.Reader
	h *history
}

func (r takesNamesakes) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	err := r.Reader.Get(ctx, key, obj, opts...)
	pod, isPod := obj.(*corev1.Pod)
	if app := r.h.store.app(); err == nil && isPod && app != nil && r.h.other.owned(pod) && r.Reader.(live).o.of == kindApp {
		obj.SetOwnerReferences([]metav1.OwnerReference{kubeflow.SparkApplications{}.Family().Owner(app, "").Reference})
	}
	return err
}

// noLists finds no drivers by their mark.
type noLists struct{ client.Reader }

func (r noLists) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if kindOf(list) == kindPod {
		return nil
	}
	return r.Reader.List(ctx, list, opts...)
}

// heedlessOfSuspend never sees that an application is suspended.
type heedlessOfSuspend struct{ client.Client }

func (c heedlessOfSuspend) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	err := c.Client.Get(ctx, key, obj, opts...)
	if app, ok := obj.(*v1beta2.SparkApplication); ok {
		app.Spec.Suspend = nil
	}
	return err
}

// heedlessOfSecond is that of the second family.
type heedlessOfSecond struct{ client.Client }

func (c heedlessOfSecond) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	err := c.Client.Get(ctx, key, obj, opts...)
	if app, ok := obj.(*sparkv1.SparkApplication); ok {
		app.Spec.Suspend = false
	}
	return err
}

// forgetful stores no retries.
type forgetful struct{ client.Client }

func (c forgetful) Status() client.SubResourceWriter { return forgetfulWriter{c.Client.Status()} }

type forgetfulWriter struct{ client.SubResourceWriter }

func (w forgetfulWriter) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
	obj.(*v1beta2.SparkApplication).Status.Retries = nil
	return w.SubResourceWriter.Patch(ctx, obj, patch, opts...)
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
		pod.Labels[v1beta2.LabelSubmissionID] += string(rune('a' + *c.count%26))
	}
	return c.Client.Create(ctx, obj, opts...)
}

// forgetsBeside deletes nothing that is beside a driver.
type forgetsBeside struct{ client.Client }

func (c forgetsBeside) Delete(ctx context.Context, obj client.Object, opts ...client.DeleteOption) error {
	if idOf(obj) == uiService {
		return nil
	}
	return c.Client.Delete(ctx, obj, opts...)
}

// hurries gives up the rest of what belongs to a driver when one of it fails.
type hurries struct{ client.Client }

func (c hurries) Create(ctx context.Context, obj client.Object, opts ...client.CreateOption) error {
	if err := c.Client.Create(ctx, obj, opts...); err != nil && idOf(obj).kind == kindPod {
		return err
	}
	return nil
}

// keepsOneState tells the present state only.
type keepsOneState struct{ client.Client }

func (c keepsOneState) Status() client.SubResourceWriter { return oneState{c.Client.Status()} }

type oneState struct{ client.SubResourceWriter }

func (w oneState) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
	if o, ok := obj.(*sparkv1.SparkApplication); ok && o.Status.CurrentState != nil {
		o.Status.StateTransitionHistory = map[string]sparkv1.ApplicationState{"0": *o.Status.CurrentState}
	}
	return w.SubResourceWriter.Patch(ctx, obj, patch, opts...)
}

// claimsBeside takes whatever has the Service's name for the application's own.
type claimsBeside struct {
	client.Reader
	h *history
}

func (r claimsBeside) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	err := r.Reader.Get(ctx, key, obj, opts...)
	if app := r.h.store.app(); err == nil && app != nil && idOf(obj) == uiService {
		obj.SetOwnerReferences([]metav1.OwnerReference{kubeflow.SparkApplications{}.Family().Owner(app, "").Reference})
	}
	return err
}

// blamesDriver makes an error of the application of what is told in the condition Exposed.
type blamesDriver struct{ client.Client }

func (c blamesDriver) Status() client.SubResourceWriter { return blamingWriter{c.Client.Status()} }

type blamingWriter struct{ client.SubResourceWriter }

func (w blamingWriter) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
	s := &obj.(*v1beta2.SparkApplication).Status
	if told := conditionOf(s, string(lifecycle.ConditionExposed)); told != nil {
		s.AppState.ErrorMessage = told.Message
	}
	return w.SubResourceWriter.Patch(ctx, obj, patch, opts...)
}

// undying keeps the last end that was told, whatever comes after it.
type undying struct {
	client.Client
	last *metav1.Time
}

func (c undying) Status() client.SubResourceWriter { return undyingWriter{c.Client.Status(), c.last} }

type undyingWriter struct {
	client.SubResourceWriter
	last *metav1.Time
}

func (w undyingWriter) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
	s := &obj.(*v1beta2.SparkApplication).Status
	if s.TerminationTime.IsZero() {
		s.TerminationTime = *w.last
	}
	*w.last = s.TerminationTime
	return w.SubResourceWriter.Patch(ctx, obj, patch, opts...)
}

// keepsFinalizer believes that the finalizer is gone.
type keepsFinalizer struct{ client.Client }

func (c keepsFinalizer) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
	if kindOf(obj) == kindSecond {
		return nil
	}
	return c.Client.Patch(ctx, obj, patch, opts...)
}

// runsProbes takes health probes for applications.
type runsProbes struct{ client.Client }

func (c runsProbes) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	err := c.Client.Get(ctx, key, obj, opts...)
	if kindOf(obj) == kindSecond {
		obj.SetLabels(nil)
	}
	return err
}

// oldPolicy sees the first restart policy of an application for ever.
type oldPolicy struct {
	client.Client
	first map[types.UID]*sparkv1.RestartConfig
}

func (c oldPolicy) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	err := c.Client.Get(ctx, key, obj, opts...)
	if app, ok := obj.(*sparkv1.SparkApplication); ok && err == nil && app.Spec.ApplicationTolerations != nil {
		if c.first[app.UID] == nil {
			c.first[app.UID] = app.Spec.ApplicationTolerations.RestartConfig
		}
		app.Spec.ApplicationTolerations.RestartConfig = c.first[app.UID]
	}
	return err
}

// firstChoice tells for ever which scheduler was chosen first.
type firstChoice struct {
	client.Client
	first map[types.UID]*v1beta2.SchedulingStatus
}

func (c firstChoice) Status() client.SubResourceWriter {
	return firstChoiceWriter{c.Client.Status(), c.first}
}

type firstChoiceWriter struct {
	client.SubResourceWriter
	first map[types.UID]*v1beta2.SchedulingStatus
}

func (w firstChoiceWriter) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
	if app, is := obj.(*v1beta2.SparkApplication); is && app.Status.Scheduling != nil {
		if w.first[app.UID] == nil {
			w.first[app.UID] = app.Status.Scheduling.DeepCopy()
		}
		app.Status.Scheduling.Scheduler, app.Status.Scheduling.Source = w.first[app.UID].Scheduler, w.first[app.UID].Source
	}
	return w.SubResourceWriter.Patch(ctx, obj, patch, opts...)
}

// undead never sees that an application is being deleted.
type undead struct{ client.Client }

func (c undead) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	err := c.Client.Get(ctx, key, obj, opts...)
	if kindOf(obj) == kindSecond || kindOf(obj) == kindApp {
		obj.SetDeletionTimestamp(nil)
	}
	return err
}
