// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
)

// api is an API server with what the plugin asks of one: discovery, get, list and watch of a few kinds, and logs. The
// real one is in test/integration.
type api struct {
	t *testing.T
	*httptest.Server

	mu       sync.Mutex
	version  int
	objects  map[string]client.Object // by resource/namespace/name
	logs     map[string]string        // by pod/container
	denied   map[string]bool          // by "verb resource"
	missing  bool                     // the cluster has none of our kinds
	gangs    bool                     // it has the API of scheduler-plugins
	watches  map[chan event]string    // with their resource/namespace/
	watching chan string              // told the resource of every watch that begins
	queries  []string
}

type event struct {
	Type   string `json:"type"`
	Object any    `json:"object"`
}

// newAPI starts a server that kubectl's configuration points to.
func newAPI(t *testing.T, objects ...client.Object) *api {
	t.Helper()
	a := &api{t: t, objects: map[string]client.Object{}, logs: map[string]string{}, denied: map[string]bool{}, watches: map[chan event]string{}, watching: make(chan string, 100)}
	a.Server = httptest.NewServer(http.HandlerFunc(a.serve))
	t.Cleanup(func() { a.endWatches(); a.Close() })
	for _, o := range objects {
		a.put(o)
	}
	useServer(t, a.URL)
	return a
}

// useServer writes a kubeconfig for a server and namespace jobs.
func useServer(t *testing.T, url string) {
	t.Helper()
	config := fmt.Sprintf(`{"apiVersion": "v1", "kind": "Config", "current-context": "c",
		"clusters": [{"name": "c", "cluster": {"server": %q}}], "users": [{"name": "u", "user": {}}],
		"contexts": [{"name": "c", "context": {"cluster": "c", "user": "u", "namespace": "jobs"}}]}`, url)
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", file)
}

func resourceOf(o client.Object) string {
	switch o.(type) {
	case *v1beta2.SparkApplication:
		return "sparkapplications"
	case *corev1.Pod:
		return "pods"
	case *unstructured.Unstructured:
		return "podgroups"
	case *appsv1.Deployment:
		return "deployments"
	case *corev1.ConfigMap:
		return "configmaps"
	case *corev1.Namespace:
		return "namespaces"
	}
	return "resourcequotas"
}

// put stores an object and tells the watches.
func (a *api) put(o client.Object) { a.change(o, "MODIFIED") }

func (a *api) remove(o client.Object) { a.change(o, "DELETED") }

func (a *api) change(o client.Object, kind string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.version++
	o, _ = o.DeepCopyObject().(client.Object)
	o.SetResourceVersion(strconv.Itoa(a.version))
	where := resourceOf(o) + "/" + o.GetNamespace() + "/"
	if a.objects[where+o.GetName()] = o; kind == "DELETED" {
		delete(a.objects, where+o.GetName())
	}
	for w, watched := range a.watches {
		if watched == where+o.GetName() {
			w <- event{kind, o}
		}
	}
}

// endWatches does what an API server does to each watch now and then.
func (a *api) endWatches() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for w := range a.watches {
		close(w)
		delete(a.watches, w)
	}
}

func (a *api) serve(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch path := strings.Join(parts, "/"); {
	case r.Method != http.MethodGet:
		a.t.Errorf("the plugin writes: %s %s", r.Method, r.URL)
	case path == "api":
		reply(w, 200, metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}})
	case path == "apis":
		reply(w, 200, a.groups())
	case path == "api/v1":
		reply(w, 200, resources("v1", "pods", "Pod", "resourcequotas", "ResourceQuota", "events", "Event", "configmaps", "ConfigMap", "namespaces", "Namespace"))
	case path == "apis/apps/v1":
		reply(w, 200, resources("apps/v1", "deployments", "Deployment"))
	case path == "apis/scheduling.x-k8s.io/v1alpha1" && a.gangs:
		reply(w, 200, resources("scheduling.x-k8s.io/v1alpha1", "podgroups", "PodGroup"))
	case path == "apis/sparkoperator.k8s.io" || path == "apis/sparkoperator.k8s.io/v1beta2":
		if a.missing {
			failure(w, notFound())
			return
		}
		reply(w, 200, resources("sparkoperator.k8s.io/v1beta2", "sparkapplications", "SparkApplication"))
	case parts[0] == "apis" && len(parts) <= 3: // a group that is not installed
		failure(w, notFound())
	case parts[0] == "api":
		a.resource(w, r, "", parts[2:])
	default:
		a.resource(w, r, parts[1], parts[3:])
	}
}

func notFound() *apierrors.StatusError {
	return apierrors.NewGenericServerResponse(404, "get", schema.GroupResource{}, "", "404 page not found", 0, true)
}

func (a *api) groups() metav1.APIGroupList {
	list := metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}}
	apps := metav1.GroupVersionForDiscovery{GroupVersion: "apps/v1", Version: "v1"}
	list.Groups = []metav1.APIGroup{{Name: "apps", Versions: []metav1.GroupVersionForDiscovery{apps}, PreferredVersion: apps}}
	if version := (metav1.GroupVersionForDiscovery{GroupVersion: "sparkoperator.k8s.io/v1beta2", Version: "v1beta2"}); !a.missing {
		list.Groups = append(list.Groups, metav1.APIGroup{Name: "sparkoperator.k8s.io", Versions: []metav1.GroupVersionForDiscovery{version}, PreferredVersion: version})
	}
	if version := (metav1.GroupVersionForDiscovery{GroupVersion: "scheduling.x-k8s.io/v1alpha1", Version: "v1alpha1"}); a.gangs {
		list.Groups = append(list.Groups, metav1.APIGroup{Name: "scheduling.x-k8s.io", Versions: []metav1.GroupVersionForDiscovery{version}, PreferredVersion: version})
	}
	return list
}

func resources(groupVersion string, namesAndKinds ...string) metav1.APIResourceList {
	list := metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: groupVersion}
	for i := 0; i < len(namesAndKinds); i += 2 {
		list.APIResources = append(list.APIResources, metav1.APIResource{Name: namesAndKinds[i], Kind: namesAndKinds[i+1], Namespaced: namesAndKinds[i] != "namespaces", Verbs: metav1.Verbs{"get", "list", "watch"}})
	}
	return list
}

// resource serves what is under namespaces/NS/RESOURCE[/NAME[/log]], RESOURCE of all namespaces, or namespaces/NS.
func (a *api) resource(w http.ResponseWriter, r *http.Request, group string, parts []string) {
	namespace := ""
	if parts[0] == "namespaces" && len(parts) > 2 {
		namespace, parts = parts[1], parts[2:]
	}
	verb, query := "get", r.URL.Query()
	switch {
	case query.Get("watch") != "":
		verb = "watch"
	case len(parts) == 1:
		verb = "list"
	}
	gr := schema.GroupResource{Group: group, Resource: parts[0]}
	a.mu.Lock()
	a.queries = append(a.queries, verb+" "+r.URL.String())
	no := a.denied[verb+" "+parts[0]]
	o := a.objects[strings.Join([]string{parts[0], namespace, parts[len(parts)-1]}, "/")]
	a.mu.Unlock()
	switch {
	case no:
		failure(w, apierrors.NewForbidden(gr, "", fmt.Errorf(`User "eve" cannot %s resource "%s" in API group "%s" in the namespace "%s"`, verb, gr.Resource, group, namespace)))
	case verb == "watch":
		a.watch(w, r, parts[0], namespace)
	case verb == "list":
		a.list(w, parts[0], namespace, query.Get("labelSelector"), query.Get("fieldSelector"))
	case len(parts) == 3:
		_, _ = w.Write([]byte(a.logs[parts[1]+"/"+query.Get("container")]))
	case o == nil:
		failure(w, apierrors.NewNotFound(gr, parts[1]))
	default:
		reply(w, 200, typeMeta(o))
	}
}

func (a *api) list(w http.ResponseWriter, resource, namespace, byLabel, byField string) {
	selector, err := labels.Parse(byLabel)
	if err != nil {
		a.t.Error(err)
	}
	byName, err := fields.ParseSelector(byField)
	if err != nil {
		a.t.Error(err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	items := []any{}
	for where, o := range a.objects {
		if strings.HasPrefix(where, resource+"/"+namespace) && selector.Matches(labels.Set(o.GetLabels())) && byName.Matches(fields.Set{"metadata.name": o.GetName()}) {
			items = append(items, typeMeta(o))
		}
	}
	kind, version := "PodList", "v1"
	switch resource {
	case "sparkapplications":
		kind, version = "SparkApplicationList", "sparkoperator.k8s.io/v1beta2"
	case "resourcequotas":
		kind = "ResourceQuotaList"
	case "events":
		kind = "EventList"
	}
	reply(w, 200, map[string]any{"kind": kind, "apiVersion": version, "metadata": map[string]any{"resourceVersion": strconv.Itoa(a.version)}, "items": items})
}

func (a *api) watch(w http.ResponseWriter, r *http.Request, resource, namespace string) {
	name := strings.TrimPrefix(r.URL.Query().Get("fieldSelector"), "metadata.name=")
	events := make(chan event, 100)
	a.mu.Lock()
	where := resource + "/" + namespace + "/" + name
	a.watches[events] = where
	since, _ := strconv.Atoi(r.URL.Query().Get("resourceVersion")) // "" is the beginning
	if o := a.objects[where]; o != nil {
		if version, _ := strconv.Atoi(o.GetResourceVersion()); version > since {
			events <- event{"MODIFIED", o} // it came between the list and the watch
		}
	}
	a.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(200)
	w.(http.Flusher).Flush()
	a.watching <- resource
	for {
		select {
		case e, open := <-events:
			if !open {
				return
			}
			if o, ok := e.Object.(client.Object); ok {
				e.Object = typeMeta(o)
			}
			_ = json.NewEncoder(w).Encode(e)
			w.(http.Flusher).Flush()
		case <-r.Context().Done():
			a.mu.Lock()
			delete(a.watches, events)
			a.mu.Unlock()
			return
		}
	}
}

// typeMeta adds what typed objects leave out.
func typeMeta(o client.Object) any {
	text, _ := json.Marshal(o)
	var all map[string]any
	_ = json.Unmarshal(text, &all)
	all["apiVersion"], all["kind"] = "v1", "Pod"
	switch o.(type) {
	case *v1beta2.SparkApplication:
		all["apiVersion"], all["kind"] = "sparkoperator.k8s.io/v1beta2", "SparkApplication"
	case *corev1.ResourceQuota:
		all["kind"] = "ResourceQuota"
	case *appsv1.Deployment:
		all["apiVersion"], all["kind"] = "apps/v1", "Deployment"
	case *corev1.ConfigMap:
		all["kind"] = "ConfigMap"
	case *corev1.Namespace:
		all["kind"] = "Namespace"
	case *unstructured.Unstructured:
		all["apiVersion"], all["kind"] = "scheduling.x-k8s.io/v1alpha1", "PodGroup"
	}
	return all
}

func reply(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body)
}

func failure(w http.ResponseWriter, err *apierrors.StatusError) {
	status := err.ErrStatus
	status.Kind, status.APIVersion = "Status", "v1"
	reply(w, int(status.Code), status)
}
