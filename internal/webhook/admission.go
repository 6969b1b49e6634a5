// SPDX-License-Identifier: Apache-2.0

// Package webhook is admission, which is optional: it refuses an application when it is sent, in the words in which the
// operator would refuse it later, and writes down what the operator would assume. Both come from the pure packages that
// the operator uses itself, so that what runs is the same without it.
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

// register serves all our kinds, at the paths that kubebuilder gives them.
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

// admitter answers the API server's questions about one kind.
type admitter struct {
	*kinds.Row
	decoder admission.Decoder
	// operator returns the operator's current configuration.
	operator  func() resolve.Operator
	now       func() time.Time
	submitter config.Submitter
	// selector chooses the objects that are judged: those that this operator works on. Submitters are recorded of all, since an object that gets
	// its labels later has its submitter already.
	selector labels.Selector
}

// mutate answers with the submitter and the defaults, and touches nothing else: not even what our types do not know.
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

// completed returns the document of an object with the defaults of its spec.
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

// validate refuses an object for everything that is wrong with it. An edit is refused only for what it makes wrong:
// otherwise an application that an older operator accepted could not be suspended.
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
			before.Metadata = document{}.Metadata // an edit that makes it smaller has to pass
		}
		if err = errors.Join(err, a.decode(before, stored)); err != nil {
			return admission.Errored(http.StatusBadRequest, err)
		}
		known, _ := a.refusals(stored)
		var old field.ErrorList
		errs, old = split(errs, known)
		for _, e := range old {
			warnings = append(warnings, "invalid already before this change: "+validation.Sentence(e))
		}
	}
	if len(errs) == 0 {
		return admission.Allowed("").WithWarnings(bounded(warnings)...)
	}
	return a.refuse(cmp.Or(object.GetName(), request.Name), errs).WithWarnings(bounded(warnings)...)
}

// findings says what is wrong with an object, and in sentences what is accepted and ignored.
func (a *admitter) findings(object client.Object) (field.ErrorList, []string) {
	forecast := a.DryRun(object, kinds.Assumed{SubmitTime: time.Unix(0, 0), Now: a.now(), Local: time.Local}, a.operator())
	return forecast.Errors, validation.Sentences(forecast.Warnings)
}

// refusals are the findings that refuse an object, and the sentences about the others.
func (a *admitter) refusals(object client.Object) (refused field.ErrorList, warnings []string) {
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
	return object, !bytes.Equal(sent.Spec, stored.Spec), err // the API server writes both in the same way
}

// decode decodes a document into an object.
func (a *admitter) decode(d document, object client.Object) error {
	encoded, err := json.Marshal(d)
	if err != nil {
		return err
	}
	return a.decoder.DecodeRaw(runtime.RawExtension{Raw: encoded}, object)
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

// maxWarnings bounds the warnings of one answer: the API server cuts them off.
const maxWarnings = 10

func bounded(warnings []string) []string {
	if len(warnings) > maxWarnings {
		return append(slices.Clone(warnings[:maxWarnings]), "...")
	}
	return warnings
}

// refuse answers as the API server does for a schema: with each field as a cause of its own.
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
