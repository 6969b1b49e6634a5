// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"net/http"
	"slices"

	authorizationv1 "k8s.io/api/authorization/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
)

// reviews are questions about rights, of an account and of the user. Nothing is stored of them, so that a read-only program may ask.
const (
	reviews     = "localsubjectaccessreviews"
	selfReviews = "selfsubjectaccessreviews"
)

// isReview reports whether a resource is a question about rights.
func isReview(resource string) bool { return resource == reviews || resource == selfReviews }

// Publish serves a document at a path, as an API server serves its schemas.
func (s *Server) Publish(path string, document any) {
	s.set(func() { s.documents[path] = document })
}

// AllowUsers answers reviews of these users with yes, and of all others with no.
func (s *Server) AllowUsers(users ...string) { s.set(func() { s.allowed = users }) }

// selfReview answers a question about the user's rights: everything that is not denied is allowed.
func (s *Server) selfReview(w http.ResponseWriter, asked Request) {
	var review authorizationv1.SelfSubjectAccessReview
	if _, _, err := clientgoscheme.Codecs.UniversalDeserializer().Decode([]byte(asked.Body), nil, &review); err != nil { // JSON or protobuf
		s.t.Error(err)
	}
	about := review.Spec.ResourceAttributes
	wanted := Request{Verb: about.Verb, Group: about.Group, Resource: about.Resource, Namespace: about.Namespace, Name: about.Name}
	review.APIVersion, review.Kind = authorizationv1.SchemeGroupVersion.String(), "SelfSubjectAccessReview"
	s.mu.Lock()
	review.Status.Allowed = !slices.ContainsFunc(s.denied, func(p Request) bool { return p.matches(wanted) })
	s.mu.Unlock()
	reply(w, http.StatusCreated, review)
}

// review answers a question about rights of an account.
func (s *Server) review(w http.ResponseWriter, asked Request) {
	var review authorizationv1.LocalSubjectAccessReview
	if _, _, err := clientgoscheme.Codecs.UniversalDeserializer().Decode([]byte(asked.Body), nil, &review); err != nil { // JSON or protobuf
		s.t.Error(err)
	}
	review.APIVersion, review.Kind = authorizationv1.SchemeGroupVersion.String(), "LocalSubjectAccessReview"
	s.mu.Lock()
	review.Status.Allowed = slices.Contains(s.allowed, review.Spec.User)
	s.mu.Unlock()
	reply(w, http.StatusCreated, review)
}
