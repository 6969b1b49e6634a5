// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"encoding/json"
	"fmt"
	"strings"

	jsonpatch "github.com/evanphx/json-patch/v5"
	admissionv1 "k8s.io/api/admission/v1"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
)

// document is the part of an object that the webhook reads. It lacks the status and managedFields, which may be large and do not matter to the request.
type document struct {
	APIVersion string `json:"apiVersion,omitempty"`
	Kind       string `json:"kind,omitempty"`
	Metadata   struct {
		Name              string          `json:"name,omitempty"`
		GenerateName      string          `json:"generateName,omitempty"`
		Namespace         string          `json:"namespace,omitempty"`
		UID               string          `json:"uid,omitempty"`
		CreationTimestamp json.RawMessage `json:"creationTimestamp,omitempty"`
		DeletionTimestamp json.RawMessage `json:"deletionTimestamp,omitempty"`
		OwnerReferences   json.RawMessage `json:"ownerReferences,omitempty"`
		Labels            json.RawMessage `json:"labels,omitempty"`
		Annotations       json.RawMessage `json:"annotations,omitempty"`
	} `json:"metadata"`
	Spec json.RawMessage `json:"spec,omitempty"`
}

// maxMetadata bounds each decoded part of the metadata, in bytes. The API server limits annotations to 256 KiB only after it has called webhooks.
const maxMetadata = 512 << 10

// documentOf splits an object into its parts without decoding them.
func documentOf(raw []byte) (document, error) {
	var d document
	err := json.Unmarshal(raw, &d)
	return d, err
}

// check returns an error if a part is too large to be decoded.
func (d document) check() error {
	for name, part := range map[string][]byte{
		"annotations": d.Metadata.Annotations, "labels": d.Metadata.Labels, "ownerReferences": d.Metadata.OwnerReferences,
	} {
		if len(part) > maxMetadata {
			return fmt.Errorf("metadata.%s: %d bytes; the operator takes at most %d", name, len(part), maxMetadata)
		}
	}
	return nil
}

// submitted returns a document with the submitter of its object. At creation this is the user of the request, and in an update the stored submitter. Objects
// that the operator creates have the submitter of their schedule.
func (a *admitter) submitted(document []byte, request admission.Request) ([]byte, error) {
	switch {
	case a.submitter.From != lifecycle.SubmitterFromWebhook:
		return document, nil
	case request.Operation == admissionv1.Create && request.UserInfo.Username == a.submitter.OperatorUser:
		return document, nil
	}
	annotations, err := submitterOf(document)
	if err != nil {
		return nil, err
	}
	wanted := map[string]string{
		a.Family.Submitter.User: request.UserInfo.Username, a.Family.Submitter.Groups: strings.Join(request.UserInfo.Groups, "\n"),
	}
	if request.Operation == admissionv1.Update {
		if wanted, err = submitterOf(request.OldObject.Raw); err != nil {
			return nil, err
		}
	}
	change := map[string]any{}
	for _, key := range []string{a.Family.Submitter.User, a.Family.Submitter.Groups} {
		was, is := annotations[key]
		switch value, has := wanted[key]; {
		case has && (!is || was != value):
			change[key] = value
		case !has && is:
			change[key] = nil
		}
	}
	if len(change) == 0 {
		return document, nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": change}})
	if err != nil {
		return nil, err
	}
	return jsonpatch.MergePatch(document, patch)
}

// submitterOf returns the annotations of an object, which may name its submitter.
func submitterOf(raw []byte) (map[string]string, error) {
	d, err := documentOf(raw)
	if err != nil || len(d.Metadata.Annotations) == 0 {
		return nil, err
	}
	var all map[string]string
	err = json.Unmarshal(d.Metadata.Annotations, &all)
	return all, err
}
