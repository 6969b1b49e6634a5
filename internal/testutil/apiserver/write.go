// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	jsonpatch "github.com/evanphx/json-patch/v5"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// writingVerbs maps HTTP methods that write to their verbs.
var writingVerbs = map[string]string{http.MethodPatch: "patch", http.MethodDelete: "delete"}

// write patches or deletes an object. A patch with another UID or version is a conflict. A dry run has the same response and changes nothing.
func (s *Server) write(w http.ResponseWriter, r *http.Request, asked Request, stored *unstructured.Unstructured) {
	dry := r.URL.Query().Get("dryRun") != "" || strings.Contains(asked.Body, `"dryRun":["All"]`)
	if asked.Verb == "delete" {
		if !dry {
			s.Remove(stored)
		}
		reply(w, http.StatusOK, metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusSuccess})
		return
	}
	if got := types.PatchType(r.Header.Get("Content-Type")); got != types.MergePatchType {
		s.t.Errorf("a patch of type %q: only merge patches are known here", got)
	}
	before, err := json.Marshal(stored)
	if err != nil {
		s.t.Error(err)
	}
	after, err := jsonpatch.MergePatch(before, []byte(asked.Body))
	if err != nil {
		s.t.Error(err)
	}
	changed := &unstructured.Unstructured{}
	if err := json.Unmarshal(after, changed); err != nil {
		s.t.Error(err)
	}
	if changed.GetUID() != stored.GetUID() || changed.GetResourceVersion() != stored.GetResourceVersion() {
		fail(w, apierrors.NewConflict(schema.GroupResource{Resource: asked.Resource}, asked.Name, errors.New("the precondition is not met")))
		return
	}
	if !dry {
		s.Put(changed)
	}
	reply(w, http.StatusOK, changed)
}

// create stores a new object. Its UID is derived from its name.
func (s *Server) create(w http.ResponseWriter, r *http.Request, asked Request) {
	switch asked.Resource {
	case reviews:
		s.review(w, asked)
		return
	case selfReviews:
		s.selfReview(w, asked)
		return
	}
	o := &unstructured.Unstructured{}
	if err := json.Unmarshal([]byte(asked.Body), o); err != nil {
		s.t.Error(err)
	}
	o.SetNamespace(asked.Namespace)
	o.SetUID(types.UID("uid-" + asked.Name))
	o.SetGeneration(1)
	if r.URL.Query().Get("dryRun") == "" {
		s.Put(o)
	}
	reply(w, http.StatusCreated, o)
}

// nameIn returns the name in a sent object.
func nameIn(body []byte) string {
	var o metav1.PartialObjectMetadata
	_ = json.Unmarshal(body, &o) // a missing name is refused later
	return o.Name
}
