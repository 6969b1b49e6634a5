// SPDX-License-Identifier: Apache-2.0

// Package simulation runs the operator's engine in a simulated cluster: an API server with the semantics that matter,
// and actors around it, all driven by one seed. It proves by very many short histories what no single test can: that the
// operator may be killed between any two of its calls and nothing is lost, doubled or hidden.
package simulation

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sparkv1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1alpha1"
	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
)

const namespace = "jobs"

// The kinds that the operator watches; the third is kindService.
const (
	kindApp = "SparkApplication"
	kindPod = "Pod"
	// kindSecond is the kind of the same name of the second family, in histories that have one.
	kindSecond = "SparkApplication.spark.apache.org"
	// kindServer is that of servers, in histories that are about one.
	kindServer = "SparkConnect"
)

var watched = []string{kindApp, kindPod, kindService, kindSecond, kindServer}

// id is what the API server tells objects apart by.
type id struct{ kind, name string }

func (i id) String() string { return i.kind + " " + i.name }

// kindOf is the kind of an object, or of the items of a list.
func kindOf(o any) string {
	switch o := o.(type) {
	case *v1beta2.SparkApplication, *v1beta2.SparkApplicationList:
		return kindApp
	case *sparkv1.SparkApplication, *sparkv1.SparkApplicationList:
		return kindSecond
	case *corev1.Pod, *corev1.PodList:
		return kindPod
	case *unstructured.Unstructured:
		return o.GetKind()
	case *metav1.PartialObjectMetadata:
		return kindNamed(o.GroupVersionKind())
	case *metav1.PartialObjectMetadataList:
		return kindNamed(o.GroupVersionKind())
	}
	return strings.TrimSuffix(reflect.TypeOf(o).Elem().Name(), "List")
}

// kindNamed is the kind of metadata.
func kindNamed(gvk schema.GroupVersionKind) string {
	if gvk.Group == sparkv1.SchemeGroupVersion.Group {
		return kindSecond
	}
	return strings.TrimSuffix(gvk.Kind, "List")
}

func idOf(o client.Object) id { return id{kindOf(o), o.GetName()} }

// resource is how errors name a kind.
func resource(kind string) schema.GroupResource {
	r := schema.GroupResource{Resource: strings.ToLower(kind) + "s"}
	switch kind {
	case kindApp:
		r.Group = v1beta2.GroupVersion.Group
	case kindSecond:
		r = schema.GroupResource{Group: sparkv1.SchemeGroupVersion.Group, Resource: "sparkapplications"}
	}
	return r
}

// store is what etcd holds. Objects in it are never changed, only replaced.
type store struct {
	objects map[id]client.Object
	uids    map[types.UID]id
	version int64
	created int
	// log holds every change of the watched kinds, for caches to catch up with.
	log map[string][]change
	// orphans is set when there may be something for the garbage collector.
	orphans bool
}

// change is one event of a watch.
type change struct {
	id id
	// object as a cache holds it; nil when it was deleted.
	object client.Object
	// app is the name of the application that is to be looked at, of is its kind.
	app, of string
}

func newStore() *store {
	return &store{objects: map[id]client.Object{}, uids: map[types.UID]id{}, log: map[string][]change{}}
}

// create takes an object over.
func (s *store) create(o client.Object, now metav1.Time) {
	s.created++
	o.SetUID(types.UID("uid-" + strconv.Itoa(s.created)))
	o.SetCreationTimestamp(now)
	o.SetGeneration(1)
	s.uids[o.GetUID()] = idOf(o)
	s.put(o)
	for _, owner := range o.GetOwnerReferences() {
		if _, exists := s.uids[owner.UID]; !exists {
			s.orphans = true
		}
	}
}

// put stores the next version of an object, which it takes over.
func (s *store) put(o client.Object) {
	s.version++
	o.SetResourceVersion(strconv.FormatInt(s.version, 10))
	i := idOf(o)
	s.objects[i] = o
	s.record(i, o, false)
}

func (s *store) remove(i id) {
	o := s.objects[i]
	if o == nil {
		return
	}
	s.version++
	delete(s.objects, i)
	delete(s.uids, o.GetUID())
	s.record(i, o, true)
	s.orphans = true
}

// record appends to the log what the operator's watches select: all applications, pods with its label, and the metadata of
// what is beside drivers.
func (s *store) record(i id, o client.Object, gone bool) {
	c := change{id: i, app: i.name, of: i.kind}
	switch o := o.(type) {
	case *v1beta2.SparkApplication, *sparkv1.SparkApplication, *v1alpha1.SparkConnect:
		c.object = o
	case *corev1.Pod:
		if o.Labels[v1beta2.LabelLaunchedBy] != "true" && o.Labels[sparkv1.LabelOperator] == "" {
			return
		}
		c.of, c.app = appOf(o.Labels)
		if !gone {
			c.object = o
		}
	case *unstructured.Unstructured:
		labels := o.GetLabels()
		if labels[v1beta2.LabelExposes] == "" {
			return
		}
		m := metadataOf(o)
		c.of, c.app = appOf(labels)
		c.object = &m
	default:
		return
	}
	if gone {
		c.object = nil
	}
	s.log[i.kind] = append(s.log[i.kind], c)
}

// appOf is the kind and the name of the application of an object, by its labels.
func appOf(labels map[string]string) (kind, name string) {
	if name := labels[sparkv1.LabelAppName]; name != "" {
		return kindSecond, name
	}
	if name := labels[v1alpha1.LabelConnectName]; name != "" {
		return kindServer, name
	}
	return kindApp, labels[v1beta2.LabelAppName]
}

func (s *store) app() *v1beta2.SparkApplication {
	app, _ := s.objects[id{kindApp, appName}].(*v1beta2.SparkApplication)
	return app
}

func (s *store) pod(name string) *corev1.Pod {
	pod, _ := s.objects[id{kindPod, name}].(*corev1.Pod)
	return pod
}

// copyInto fills out with a stored object.
func copyInto(out, stored client.Object) {
	if meta, ok := out.(*metav1.PartialObjectMetadata); ok {
		*meta = metadataOf(stored)
		return
	}
	switch stored := stored.(type) {
	case *v1beta2.SparkApplication:
		stored.DeepCopyInto(out.(*v1beta2.SparkApplication))
	case *corev1.Pod:
		stored.DeepCopyInto(out.(*corev1.Pod))
	default:
		from, to := reflect.ValueOf(stored.DeepCopyObject()), reflect.ValueOf(out)
		if from.Type() != to.Type() {
			panic(fmt.Sprintf("a %s was asked for as %s", from.Type(), to.Type()))
		}
		to.Elem().Set(from.Elem())
	}
}

// metadataOf is all that a metadata-only read tells of an object.
func metadataOf(o client.Object) metav1.PartialObjectMetadata {
	if u, ok := o.(*unstructured.Unstructured); ok {
		m := metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
			Namespace: u.GetNamespace(), Name: u.GetName(), UID: u.GetUID(), ResourceVersion: u.GetResourceVersion(), CreationTimestamp: u.GetCreationTimestamp(),
			Labels: u.GetLabels(), Annotations: u.GetAnnotations(), OwnerReferences: u.GetOwnerReferences(), DeletionTimestamp: u.GetDeletionTimestamp(),
		}}
		m.SetGroupVersionKind(u.GroupVersionKind())
		return m
	}
	m := reflect.ValueOf(o).Elem().FieldByName("ObjectMeta").Interface().(metav1.ObjectMeta)
	out := metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{Kind: kindOf(o)}, ObjectMeta: *m.DeepCopy()}
	if out.Kind == kindSecond {
		out.SetGroupVersionKind(sparkv1.SchemeGroupVersion.WithKind(kindApp))
	}
	return out
}

// cache is what one operator process knows of the cluster. Each kind lags behind on its own.
type cache struct {
	store   *store
	objects map[id]client.Object
	// seen is how many changes of each kind have arrived.
	seen map[string]int
}

func newCache(s *store) *cache {
	return &cache{store: s, objects: map[id]client.Object{}, seen: map[string]int{}}
}

// behind is the number of changes that have not arrived.
func (c *cache) behind(kind string) int { return len(c.store.log[kind]) - c.seen[kind] }

// next takes in one change, and returns it and what it replaces.
func (c *cache) next(kind string) (got change, before client.Object) {
	got = c.store.log[kind][c.seen[kind]]
	c.seen[kind]++
	before = c.objects[got.id]
	if got.object == nil {
		delete(c.objects, got.id)
	} else {
		c.objects[got.id] = got.object
	}
	return got, before
}
