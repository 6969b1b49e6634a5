// SPDX-License-Identifier: Apache-2.0

// Package webhook is admission, which is optional: it refuses an application when it is sent, in the words in which the
// operator would refuse it later, and writes down what the operator would assume. Both come from the pure packages that
// the operator uses itself, so that what runs is the same without it.
package webhook

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	jsonpatch "github.com/evanphx/json-patch/v5"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/firesteel-dev/firesteel/internal/resolve"
	"github.com/firesteel-dev/firesteel/internal/validation"
)

// kind says how the objects of one kind are admitted. Its functions are pure.
type kind[T client.Object] struct {
	// complete writes down what is assumed of a spec; nil if nothing is.
	complete func(T)
	// findings says what is wrong with an object, and in sentences what is accepted and ignored.
	findings func(T) (field.ErrorList, []string)
}

// register serves all our kinds.
func register(server webhook.Server, scheme *runtime.Scheme, operator func() resolve.Operator) error {
	return errors.Join(
		serve(server, scheme, sparkApplication(operator)),
		serve(server, scheme, sparkConnect(operator)),
		serve(server, scheme, scheduledSparkApplication(operator, time.Now)),
	)
}

// serve serves one kind, at the paths that kubebuilder gives it.
func serve[S any, T interface {
	*S
	client.Object
}](server webhook.Server, scheme *runtime.Scheme, k kind[T]) error {
	gvk, err := apiutil.GVKForObject(T(new(S)), scheme)
	if err != nil {
		return fmt.Errorf("register webhook: %w", err)
	}
	a := &admitter[T]{kind: k, gvk: gvk, decoder: admission.NewDecoder(scheme), empty: func() T { return T(new(S)) }}
	path := strings.ReplaceAll(gvk.Group, ".", "-") + "-" + gvk.Version + "-" + strings.ToLower(gvk.Kind)
	if k.complete != nil {
		server.Register("/mutate-"+path, &admission.Webhook{Handler: admission.HandlerFunc(a.mutate)})
	}
	server.Register("/validate-"+path, &admission.Webhook{Handler: admission.HandlerFunc(a.validate)})
	return nil
}

// admitter answers the API server's questions about one kind.
type admitter[T client.Object] struct {
	kind[T]
	gvk     schema.GroupVersionKind
	decoder admission.Decoder
	empty   func() T
}

// mutate answers with the defaults, and touches nothing else: not even what our types do not know.
func (a *admitter[T]) mutate(_ context.Context, request admission.Request) admission.Response {
	object, asked, err := a.asked(request)
	switch {
	case err != nil:
		return admission.Errored(http.StatusBadRequest, err)
	case !asked:
		return admission.Allowed("")
	}
	before, err := json.Marshal(object)
	if err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	a.complete(object)
	after, err := json.Marshal(object)
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, err)
	}
	difference, err := jsonpatch.CreateMergePatch(before, after)
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, err)
	}
	defaulted, err := jsonpatch.MergePatch(request.Object.Raw, difference)
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, err)
	}
	return admission.PatchResponseFromRaw(request.Object.Raw, defaulted)
}

// validate refuses an object for everything that is wrong with it. An edit is refused only for what it makes wrong:
// otherwise an application that an older operator accepted could not be suspended.
func (a *admitter[T]) validate(_ context.Context, request admission.Request) admission.Response {
	object, asked, err := a.asked(request)
	switch {
	case err != nil:
		return admission.Errored(http.StatusBadRequest, err)
	case !asked:
		return admission.Allowed("")
	}
	errs, warnings := a.refusals(object)
	if request.Operation == admissionv1.Update {
		stored := a.empty()
		if err := a.decoder.DecodeRaw(request.OldObject, stored); err != nil {
			return admission.Errored(http.StatusBadRequest, err)
		}
		before, _ := a.refusals(stored)
		var old field.ErrorList
		errs, old = split(errs, before)
		for _, e := range old {
			warnings = append(warnings, "invalid already before this change: "+validation.Sentence(e))
		}
	}
	if len(errs) == 0 {
		return admission.Allowed("").WithWarnings(bounded(warnings)...)
	}
	return a.refuse(cmp.Or(object.GetName(), request.Name), errs).WithWarnings(bounded(warnings)...)
}

// refusals are the findings that refuse an object, and the sentences about the others.
func (a *admitter[T]) refusals(object T) (refused field.ErrorList, warnings []string) {
	errs, ignored := a.findings(object)
	for _, e := range errs {
		if validation.Later(e) {
			warnings = append(warnings, validation.Sentence(e)+"; as it is, the application fails")
		} else {
			refused = append(refused, e)
		}
	}
	return refused, append(warnings, ignored...)
}

// asked returns the object of a request, and whether there is anything to say about it: not when an edit leaves the
// spec as it is, and not about an object being deleted.
func (a *admitter[T]) asked(request admission.Request) (object T, asked bool, err error) {
	object = a.empty()
	if request.Operation != admissionv1.Create && request.Operation != admissionv1.Update {
		return object, false, nil
	}
	if err := a.decoder.DecodeRaw(request.Object, object); err != nil {
		return object, false, err
	}
	if object.GetNamespace() == "" {
		object.SetNamespace(request.Namespace)
	}
	if request.Operation == admissionv1.Create {
		return object, true, nil
	}
	if object.GetDeletionTimestamp() != nil {
		return object, false, nil
	}
	same, err := sameSpec(request.OldObject.Raw, request.Object.Raw)
	return object, !same, err
}

// sameSpec compares what was written: two specs that cannot be decoded differ, too.
func sameSpec(a, b []byte) (bool, error) {
	var x, y struct {
		Spec any `json:"spec"`
	}
	if err := errors.Join(json.Unmarshal(a, &x), json.Unmarshal(b, &y)); err != nil {
		return false, err
	}
	return reflect.DeepEqual(x.Spec, y.Spec), nil
}

// split parts what is new from what was wrong before.
func split(errs, before field.ErrorList) (fresh, old field.ErrorList) {
	known := validation.Sentences(before)
	for _, e := range errs {
		if slices.Contains(known, validation.Sentence(e)) {
			old = append(old, e)
		} else {
			fresh = append(fresh, e)
		}
	}
	return fresh, old
}

// maxWarnings bounds the warnings of one answer: the API server cuts them off, and no one reads more.
const maxWarnings = 10

func bounded(warnings []string) []string {
	if len(warnings) > maxWarnings {
		return append(slices.Clone(warnings[:maxWarnings]), "...")
	}
	return warnings
}

// refuse answers as the API server does for a schema: with each field as a cause of its own.
func (a *admitter[T]) refuse(name string, errs field.ErrorList) admission.Response {
	details := &metav1.StatusDetails{Group: a.gvk.Group, Kind: a.gvk.Kind, Name: name}
	for _, e := range errs {
		details.Causes = append(details.Causes, metav1.StatusCause{Type: metav1.CauseType(e.Type), Field: e.Field, Message: validation.Problem(e)})
	}
	return admission.Response{AdmissionResponse: admissionv1.AdmissionResponse{Result: &metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusUnprocessableEntity, Reason: metav1.StatusReasonInvalid,
		Message: strings.Join(validation.Sentences(errs), "; "), Details: details,
	}}}
}
