// SPDX-License-Identifier: Apache-2.0

// Package webhook is the optional admission webhook. It refuses an invalid application at its creation, with the operator's own messages, and writes the
// operator's defaults. Checks and defaults come from the operator's pure packages, so applications run the same without the webhook.
package webhook

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	jsonpatch "github.com/evanphx/json-patch/v5"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/firesteel-dev/firesteel/internal/config"
	"github.com/firesteel-dev/firesteel/internal/kinds"
	"github.com/firesteel-dev/firesteel/internal/resolve"
	"github.com/firesteel-dev/firesteel/internal/text"
	"github.com/firesteel-dev/firesteel/internal/validation"
)

// register registers the handlers of all kinds at kubebuilder's paths.
func register(server webhook.Server, scheme *runtime.Scheme, operator func() resolve.Operator, c config.OperatorConfiguration) {
	for _, row := range kinds.All() {
		a := &admitter{Row: row, decoder: admission.NewDecoder(scheme), operator: operator, now: time.Now, submitter: c.Submitter, selector: labels.Everything()}
		if row.Optional {
			a.selector = c.Apache.Selector()
		}
		path := strings.ReplaceAll(row.Group, ".", "-") + "-" + row.Version + "-" + row.Singular()
		server.Register("/mutate-"+path, &admission.Webhook{Handler: admission.HandlerFunc(a.mutate)})
		server.Register("/validate-"+path, &admission.Webhook{Handler: admission.HandlerFunc(a.validate)})
	}
}

// admitter answers the API server's requests about one kind.
type admitter struct {
	*kinds.Row
	decoder admission.Decoder
	// operator returns the operator's current configuration.
	operator  func() resolve.Operator
	now       func() time.Time
	submitter config.Submitter
	// selector selects the objects of this operator. Only these are checked. Submitters are recorded for all objects, because an object may get the labels
	// later.
	selector labels.Selector
}

// mutate adds the submitter and the defaults. It changes no other field, known or unknown.
func (a *admitter) mutate(_ context.Context, request admission.Request) admission.Response {
	if request.Operation != admissionv1.Create && request.Operation != admissionv1.Update {
		return admission.Allowed("")
	}
	sent, err := documentOf(request.Object.Raw)
	if err = errors.Join(err, sent.check()); err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	before, err := json.Marshal(sent)
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, err)
	}
	after, err := a.submitted(before, request)
	if err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	if a.Default != nil {
		if after, err = a.completed(after, request); err != nil {
			return admission.Errored(http.StatusBadRequest, err)
		}
	}
	if bytes.Equal(before, after) {
		return admission.Allowed("")
	}
	return admission.PatchResponseFromRaw(before, after)
}

// completed returns the document of an object with the defaults added to its spec.
func (a *admitter) completed(document []byte, request admission.Request) ([]byte, error) {
	object, asked, err := a.asked(request)
	if err != nil || !asked {
		return document, err
	}
	before, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	a.Default(object)
	after, err := json.Marshal(object)
	if err != nil || bytes.Equal(before, after) {
		return document, err
	}
	difference, err := jsonpatch.CreateMergePatch(before, after)
	if err != nil {
		return nil, err
	}
	return jsonpatch.MergePatch(document, difference)
}

// validate refuses an object because of its errors. It refuses an edit only because of new errors, so that a user can suspend an application that an older
// operator accepted.
func (a *admitter) validate(_ context.Context, request admission.Request) admission.Response {
	object, asked, err := a.asked(request)
	switch {
	case err != nil:
		return admission.Errored(http.StatusBadRequest, err)
	case !asked || !a.selector.Matches(labels.Set(object.GetLabels())):
		return admission.Allowed("")
	}
	errs, warnings := a.refusals(object)
	if request.Operation == admissionv1.Update {
		stored := a.New()
		before, err := documentOf(request.OldObject.Raw)
		if before.check() != nil {
			before.Metadata = document{}.Metadata // an edit that shrinks the metadata must pass
		}
		if err = errors.Join(err, a.decode(before, stored)); err != nil {
			return admission.Errored(http.StatusBadRequest, err)
		}
		known, _ := a.refusals(stored)
		var old field.ErrorList
		errs, old = split(errs, known)
		for _, e := range old {
			warnings = append(warnings, "invalid before this change, too: "+validation.Sentence(e))
		}
	}
	if len(errs) == 0 {
		return admission.Allowed("").WithWarnings(bounded(warnings)...)
	}
	return a.refuse(cmp.Or(object.GetName(), request.Name), errs).WithWarnings(bounded(warnings)...)
}

// findings returns the errors of an object, and warnings about ignored fields.
func (a *admitter) findings(object client.Object) (field.ErrorList, []string) {
	forecast := a.DryRun(object, kinds.Assumed{SubmitTime: time.Unix(0, 0), Now: a.now(), Local: time.Local}, a.operator())
	return forecast.Errors, validation.Sentences(forecast.Warnings)
}

// refusals returns the errors that refuse an object, and the other errors as warnings.
func (a *admitter) refusals(object client.Object) (refused field.ErrorList, warnings []string) {
	errs, ignored := a.findings(object)
	for _, e := range errs {
		if validation.Later(e) {
			warnings = append(warnings, validation.Sentence(e)+"; otherwise the application fails")
		} else {
			refused = append(refused, e)
		}
	}
	return refused, append(warnings, ignored...)
}

// asked returns the object of a request, and whether to check it. An object that is being deleted is not checked, nor is an edit that keeps the spec.
func (a *admitter) asked(request admission.Request) (object client.Object, asked bool, err error) {
	object = a.New()
	if request.Operation != admissionv1.Create && request.Operation != admissionv1.Update {
		return object, false, nil
	}
	sent, err := documentOf(request.Object.Raw)
	if err = errors.Join(err, sent.check()); err != nil {
		return object, false, err
	}
	if err := a.decode(sent, object); err != nil {
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
	stored, err := documentOf(request.OldObject.Raw)
	return object, !bytes.Equal(sent.Spec, stored.Spec), err // the API server encodes both in the same way
}

// decode decodes a document into an object.
func (a *admitter) decode(d document, object client.Object) error {
	encoded, err := json.Marshal(d)
	if err != nil {
		return err
	}
	return a.decoder.DecodeRaw(runtime.RawExtension{Raw: encoded}, object)
}

// split separates new errors from old ones.
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

// maxWarnings bounds the warnings of a response, because the API server truncates them.
const maxWarnings = 10

func bounded(warnings []string) []string {
	if len(warnings) > maxWarnings {
		return append(slices.Clone(warnings[:maxWarnings]), "...")
	}
	return warnings
}

// refuse returns a response like the API server's for a schema error, with a cause for each field.
func (a *admitter) refuse(name string, errs field.ErrorList) admission.Response {
	details := &metav1.StatusDetails{Group: a.Group, Kind: a.Kind, Name: name}
	for _, e := range errs {
		details.Causes = append(details.Causes, metav1.StatusCause{Type: metav1.CauseType(e.Type), Field: e.Field, Message: text.Line(validation.Problem(e))})
	}
	return admission.Response{AdmissionResponse: admissionv1.AdmissionResponse{Result: &metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusUnprocessableEntity, Reason: metav1.StatusReasonInvalid,
		Message: text.Line(strings.Join(validation.Sentences(errs), "; ")), Details: details,
	}}}
}
