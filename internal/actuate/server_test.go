// SPDX-License-Identifier: Apache-2.0

package actuate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

var errCrash = errors.New("the operator is dead")

// server is an API server that gives out UIDs, honors UID preconditions (which the fake client does not), keeps a log
// of the writes, and can refuse creates or let the operator die.
type server struct {
	client.WithWatch
	log []string
	// refuse answers creates of an object; nil lets them through.
	refuse func(client.Object) error
	// crashesAfter lets every call after the given number of writes fail; 0 for never.
	crashesAfter int
	uids         int
	// deletes are the options of all deletes.
	deletes []client.DeleteOptions
}

func newServer(objects ...client.Object) *server {
	s := &server{}
	s.WithWatch = fake.NewClientBuilder().WithObjects(objects...).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			if s.crashed() {
				return errCrash
			}
			return c.Get(ctx, key, obj, opts...)
		},
		Create: s.create,
		Delete: s.delete,
	}).Build()
	return s
}

func (s *server) crashed() bool { return s.crashesAfter > 0 && len(s.log) >= s.crashesAfter }

func (s *server) create(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
	if s.crashed() {
		return errCrash
	}
	if s.refuse != nil {
		if err := s.refuse(obj); err != nil {
			return err
		}
	}
	s.uids++
	obj.SetUID(types.UID(fmt.Sprintf("uid-%d", s.uids)))
	if err := c.Create(ctx, obj, opts...); err != nil {
		return err
	}
	s.log = append(s.log, "create "+nameOf(obj))
	return nil
}

func (s *server) delete(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.DeleteOption) error {
	if s.crashed() {
		return errCrash
	}
	var o client.DeleteOptions
	o.ApplyOptions(opts)
	s.deletes = append(s.deletes, o)
	current, ok := obj.DeepCopyObject().(client.Object)
	if !ok {
		return errors.New("no object")
	}
	if err := c.Get(ctx, client.ObjectKeyFromObject(obj), current); err != nil {
		return err
	}
	if p := o.Preconditions; p != nil && p.UID != nil && *p.UID != current.GetUID() {
		return apierrors.NewConflict(schema.GroupResource{Resource: "x"}, obj.GetName(), errors.New("precondition failed: UID"))
	}
	if p := o.Preconditions; p != nil && p.ResourceVersion != nil && *p.ResourceVersion != current.GetResourceVersion() {
		return apierrors.NewConflict(schema.GroupResource{Resource: "x"}, obj.GetName(), errors.New("precondition failed: ResourceVersion"))
	}
	if err := c.Delete(ctx, obj, opts...); err != nil {
		return err
	}
	s.log = append(s.log, "delete "+nameOf(obj))
	return nil
}

func nameOf(obj client.Object) string {
	return fmt.Sprintf("%s %s", kindOf(obj), obj.GetName())
}

// writer is an operator that has just been started.
func (s *server) writer() Writer {
	return Writer{Client: s, Existing: func(ctx context.Context, obj client.Object) (client.Object, error) {
		found, ok := obj.DeepCopyObject().(client.Object)
		if !ok {
			return nil, errors.New("no object")
		}
		err := s.Get(ctx, client.ObjectKeyFromObject(obj), found)
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		return found, err
	}, Drivers: func(ctx context.Context, namespace, submissionID string) ([]client.Object, error) {
		var list corev1.PodList
		err := s.List(ctx, &list, client.InNamespace(namespace), client.MatchingLabels{v1beta2.LabelSubmissionID: submissionID})
		pods := make([]client.Object, 0, len(list.Items))
		for i := range list.Items {
			pods = append(pods, &list.Items[i])
		}
		return pods, err
	}, Resources: s.resources}
}

// resources lists what carries the mark of an attempt, regardless of its owner.
func (s *server) resources(ctx context.Context, namespace, submissionID string) ([]client.Object, error) {
	if s.crashed() {
		return nil, errCrash
	}
	var all []client.Object
	var services corev1.ServiceList
	var maps corev1.ConfigMapList
	for _, list := range []client.ObjectList{&services, &maps} {
		if err := s.List(ctx, list, client.InNamespace(namespace), client.MatchingLabels{v1beta2.LabelSubmissionID: submissionID}); err != nil {
			return nil, err
		}
	}
	for i := range services.Items {
		all = append(all, &services.Items[i])
	}
	for i := range maps.Items {
		all = append(all, &maps.Items[i])
	}
	return all, nil
}

// inventory lists what there is, by kind and name.
func (s *server) inventory(t *testing.T) []string {
	t.Helper()
	s.crashesAfter = 0
	var all []string
	var pods corev1.PodList
	var services corev1.ServiceList
	var maps corev1.ConfigMapList
	for _, list := range []client.ObjectList{&pods, &services, &maps} {
		if err := s.List(t.Context(), list); err != nil {
			t.Fatal(err)
		}
	}
	for i := range pods.Items {
		all = append(all, nameOf(&pods.Items[i]))
	}
	for i := range services.Items {
		all = append(all, nameOf(&services.Items[i]))
	}
	for i := range maps.Items {
		all = append(all, nameOf(&maps.Items[i]))
	}
	slices.Sort(all)
	return all
}

// whole is the inventory after a submission that went well.
var whole = []string{"ConfigMap pi-conf", "pod pi-driver", "service pi-svc"}

func metaOf(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "jobs", Name: name} }

var owner = kubeflow.SparkApplications{}.Family().Owner(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "pi", UID: "app"}}, "s-1")

// submission is a Service, a ConfigMap with the given content, and a driver.
func submission(content string) spark.Submission {
	pod := &corev1.Pod{ObjectMeta: metaOf("pi-driver")}
	pod.Labels = map[string]string{v1beta2.LabelSubmissionID: "s-1"}
	return spark.Submission{
		Resources: []spark.Object{
			&corev1.Service{ObjectMeta: metaOf("pi-svc")},
			&corev1.ConfigMap{ObjectMeta: metaOf("pi-conf"), Immutable: new(true), Data: map[string]string{"spark.properties": content}},
		},
		Driver: pod,
	}
}

func (s *server) content(t *testing.T) string {
	t.Helper()
	var cm corev1.ConfigMap
	if err := s.Get(t.Context(), client.ObjectKey{Namespace: "jobs", Name: "pi-conf"}, &cm); err != nil {
		t.Fatal(err)
	}
	return cm.Data["spark.properties"]
}

// refusing refuses creates of pods.
func refusing(err error) func(client.Object) error {
	return func(obj client.Object) error {
		if _, isPod := obj.(*corev1.Pod); isPod {
			return err
		}
		return nil
	}
}
