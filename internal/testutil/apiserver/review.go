// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"net/http"
	"slices"

	authorizationv1 "k8s.io/api/authorization/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
)

// reviews ask for the rights of an account, and selfReviews for those of the user. The API server stores neither, so a read-only program may create them.
const (
	reviews     = "localsubjectaccessreviews"
	selfReviews = "selfsubjectaccessreviews"
)

// isReview reports whether a resource is a review of rights.
func isReview(resource string) bool { return resource == reviews || resource == selfReviews }

// Publish serves a document at a path, e.g. a schema.
func (s *Server) Publish(path string, document any) {
	s.set(func() { s.documents[path] = document })
}

// AllowUsers makes reviews grant the rights to these users, and to no others.
func (s *Server) AllowUsers(users ...string) { s.set(func() { s.allowed = users }) }

// selfReview answers a review of the user's rights. Everything that is not denied is allowed.
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

// review answers a review of an account's rights.
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
