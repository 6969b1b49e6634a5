// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
)

// user is the requesting user, in the format of the API server's authorization errors.
const user = `User "eve"`

// withoutNamespace are the cluster-scoped kinds.
var withoutNamespace = map[string]bool{
	"Namespace": true, "Node": true, "MutatingWebhookConfiguration": true, "ValidatingWebhookConfiguration": true,
	"SelfSubjectAccessReview": true,
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	s.mu.Lock()
	writes := s.writes || isReview(parts[len(parts)-1])
	document, published := s.documents[r.URL.Path]
	s.mu.Unlock()
	switch {
	case published:
		reply(w, http.StatusOK, document)
	case r.Method != http.MethodGet && !writes:
		s.t.Errorf("a read-only program writes: %s %s", r.Method, r.URL)
		w.WriteHeader(http.StatusMethodNotAllowed)
	case len(parts) == 1 && parts[0] == "api":
		reply(w, http.StatusOK, metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}})
	case len(parts) == 1:
		reply(w, http.StatusOK, s.groups())
	case parts[0] == "api" && len(parts) == 2:
		s.discover(w, schema.GroupVersion{Version: parts[1]})
	case len(parts) == 2: // no client requests a group alone
		fail(w, noSuchPath())
	case parts[0] == "apis" && len(parts) == 3:
		s.discover(w, schema.GroupVersion{Group: parts[1], Version: parts[2]})
	case parts[0] == "api":
		s.answer(w, r, schema.GroupVersion{Version: parts[1]}, parts[2:])
	default:
		s.answer(w, r, schema.GroupVersion{Group: parts[1], Version: parts[2]}, parts[3:])
	}
}

func (s *Server) groups() metav1.APIGroupList {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}}
	for _, kind := range s.kinds {
		known := slices.ContainsFunc(list.Groups, func(g metav1.APIGroup) bool { return g.Name == kind.Group })
		if kind.Group == "" || known {
			continue
		}
		version := metav1.GroupVersionForDiscovery{GroupVersion: kind.GroupVersion().String(), Version: kind.Version}
		list.Groups = append(list.Groups, metav1.APIGroup{Name: kind.Group, Versions: []metav1.GroupVersionForDiscovery{version}, PreferredVersion: version})
	}
	return list
}

// discover lists the kinds of a group. A group without kinds is not installed.
func (s *Server) discover(w http.ResponseWriter, gv schema.GroupVersion) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: gv.String()}
	for _, kind := range s.kinds {
		if kind.GroupVersion() == gv {
			list.APIResources = append(list.APIResources, metav1.APIResource{
				Name: resourceOf(kind), Kind: kind.Kind, Namespaced: !withoutNamespace[kind.Kind], Verbs: metav1.Verbs{"get", "list", "watch"},
			})
		}
	}
	if len(list.APIResources) == 0 {
		fail(w, noSuchPath())
		return
	}
	reply(w, http.StatusOK, list)
}

// answer serves the paths namespaces/NAMESPACE/RESOURCE[/NAME[/log]], and the same without a namespace.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, gv schema.GroupVersion, parts []string) {
	asked := Request{Verb: "list", URL: r.URL.String()}
	if parts[0] == "namespaces" && len(parts) > 2 {
		asked.Namespace, parts = parts[1], parts[2:]
	}
	asked.Group, asked.Resource = gv.Group, parts[0]
	query := r.URL.Query()
	switch {
	case query.Get("watch") != "":
		asked.Verb = "watch"
	case len(parts) > 1:
		asked.Verb, asked.Name = cmp.Or(writingVerbs[r.Method], "get"), parts[1]
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		s.t.Error(err)
	}
	asked.Body = string(body)
	if r.Method == http.MethodPost {
		asked.Verb, asked.Name = "create", nameIn(body)
	}
	gr := asked.of()
	s.mu.Lock()
	s.asked = append(s.asked, asked)
	served := slices.IndexFunc(s.kinds, func(k schema.GroupVersionKind) bool { return k.GroupVersion() == gv && resourceOf(k) == asked.Resource })
	denied := slices.ContainsFunc(s.denied, func(p Request) bool { return p.matches(asked) })
	object, log := s.find(gr, asked.Namespace, asked.Name), s.logs[asked.Name+"/"+query.Get("container")]
	s.mu.Unlock()
	switch {
	case served < 0:
		fail(w, noSuchPath())
	case denied:
		fail(w, apierrors.NewForbidden(gr, asked.Name, fmt.Errorf("%s cannot %s resource %q in API group %q in the namespace %q",
			user, asked.Verb, gr.Resource, gr.Group, asked.Namespace)))
	case query.Get("sendInitialEvents") != "": // older API servers refuse this, so that the client lists
		fail(w, apierrors.NewInvalid(schema.GroupKind{Kind: "ListOptions"}, "", nil))
	case asked.Verb == "watch":
		s.watch(w, r, asked)
	case asked.Verb == "list":
		s.list(w, query, asked, gv)
	case len(parts) == 3:
		_, _ = w.Write([]byte(log))
	case asked.Verb == "create" && object != nil:
		fail(w, apierrors.NewAlreadyExists(gr, asked.Name))
	case asked.Verb == "create":
		s.create(w, r, asked)
	case object == nil:
		fail(w, apierrors.NewNotFound(gr, asked.Name))
	case asked.Verb == "patch" || asked.Verb == "delete":
		s.write(w, r, asked, object)
	default:
		reply(w, http.StatusOK, object)
	}
}

// selected reports whether an object is in the namespace and matches the label and field selectors.
func (s *Server) selected(o *unstructured.Unstructured, query url.Values, namespace string) bool {
	byLabel, err := labels.Parse(query.Get("labelSelector"))
	if err != nil {
		s.t.Error(err)
	}
	byField, err := fields.ParseSelector(query.Get("fieldSelector"))
	if err != nil {
		s.t.Error(err)
	}
	return err == nil && (namespace == "" || namespace == o.GetNamespace()) && byLabel.Matches(labels.Set(o.GetLabels())) && byField.Matches(paths(o.Object))
}

// paths gives access to the fields of an object by path.
type paths map[string]any

// Get implements fields.Fields.
func (p paths) Get(path string) string {
	value, _, _ := unstructured.NestedString(p, strings.Split(path, ".")...)
	return value
}

// Has implements fields.Fields.
func (p paths) Has(path string) bool {
	_, found, _ := unstructured.NestedString(p, strings.Split(path, ".")...)
	return found
}

func (s *Server) list(w http.ResponseWriter, query url.Values, asked Request, gv schema.GroupVersion) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kind := slices.IndexFunc(s.kinds, func(k schema.GroupVersionKind) bool { return k.GroupVersion() == gv && resourceOf(k) == asked.Resource })
	items := []any{}
	for _, o := range s.all(asked.of()) {
		if s.selected(o, query, asked.Namespace) {
			items = append(items, o)
		}
	}
	reply(w, http.StatusOK, map[string]any{
		"apiVersion": gv.String(), "kind": s.kinds[kind].Kind + "List", "items": items,
		"metadata": map[string]any{"resourceVersion": strconv.Itoa(len(s.history))},
	})
}

// watch sends the changes after a version. If no version is given, it first sends all objects.
func (s *Server) watch(w http.ResponseWriter, r *http.Request, asked Request) {
	query := r.URL.Query()
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	var begin []change
	next, ended := 0, 0
	s.set(func() {
		ended = s.ended
		if since, _ := strconv.Atoi(query.Get("resourceVersion")); since > 0 {
			next = min(since, len(s.history))
		} else {
			for _, o := range s.all(asked.of()) {
				begin = append(begin, change{watch.Added, asked.of(), o})
			}
			next = len(s.history)
		}
		s.begun[asked.Resource]++
	})
	for changes := begin; ; {
		for _, c := range changes {
			if c.resource == asked.of() && s.selected(c.object, query, asked.Namespace) {
				_ = json.NewEncoder(w).Encode(map[string]any{"type": c.kind, "object": c.object})
			}
		}
		_ = http.NewResponseController(w).Flush()
		s.mu.Lock()
		changes = slices.Clone(s.history[next:])
		next = len(s.history)
		over, updated := s.closed || s.ended != ended, s.updated
		s.mu.Unlock()
		if len(changes) > 0 {
			continue
		}
		if over {
			return
		}
		select {
		case <-updated:
		case <-r.Context().Done():
			return
		}
	}
}

// noSuchPath is the error for a path that is not served.
func noSuchPath() *apierrors.StatusError {
	return apierrors.NewGenericServerResponse(http.StatusNotFound, "get", schema.GroupResource{}, "", "404 page not found", 0, true)
}

func reply(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body)
}

func fail(w http.ResponseWriter, err *apierrors.StatusError) {
	status := err.ErrStatus
	status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	reply(w, int(status.Code), status)
}
