/*
Copyright 2026 The Firesteel Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

// Package observe is the only reader of the cluster. It turns pods and other objects into the values that the pure
// packages decide on. What it cannot see for certain it calls unknown, never absent.
package observe

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// IndexApp is the field index of pods by the application's name.
const IndexApp = "app"

// Reader reads the cluster.
type Reader struct {
	// Cache holds our own pods only and may be stale.
	Cache client.Reader
	// Live asks the API server.
	Live client.Reader
}

// Target says which pods to look for.
type Target struct {
	Namespace    string
	App          string
	UID          types.UID
	DriverName   string
	SubmissionID string
}

// Observe returns what is to be known of the application's pods. Final states need no look at all. A driver that the
// cache does not have is asked for live, except before the first submission: creating it will tell.
func (r Reader) Observe(ctx context.Context, t Target, rec lifecycle.Record) (lifecycle.Observation, error) {
	pods, err := r.pods(ctx, t)
	if err != nil {
		return lifecycle.Observation{}, err
	}
	o := lifecycle.Observation{Executors: executorsOf(pods)}
	for _, pod := range pods {
		// By its label first: the spec may name the driver otherwise by now.
		if pod.Labels[spark.LabelRole] == spark.RoleDriver && lifecycle.OwnerOf(pod, t.UID, t.SubmissionID) == lifecycle.Current {
			o.Driver = driverOf(pod)
			o.Driver.Ownership = lifecycle.Current
			return o, nil
		}
	}
	o.Driver, err = r.named(ctx, t, rec.State != lifecycle.New)
	return o, err
}

// named returns the pod that has the driver's name, whoever owns it.
func (r Reader) named(ctx context.Context, t Target, live bool) (lifecycle.Driver, error) {
	key := client.ObjectKey{Namespace: t.Namespace, Name: t.DriverName}
	var pod corev1.Pod
	err := r.Cache.Get(ctx, key, &pod)
	if apierrors.IsNotFound(err) && live {
		err = r.Live.Get(ctx, key, &pod)
	}
	switch {
	case apierrors.IsNotFound(err):
		return lifecycle.Driver{Presence: lifecycle.Absent, Name: t.DriverName}, nil
	case ctx.Err() != nil:
		return lifecycle.Driver{}, fmt.Errorf("get driver pod %s: %w", key, ctx.Err())
	case err != nil:
		return lifecycle.Driver{Presence: lifecycle.Unknown, Name: t.DriverName}, nil //nolint:nilerr // an API server in trouble proves nothing about the pod
	}
	d := driverOf(&pod)
	d.Ownership = lifecycle.OwnerOf(&pod, t.UID, t.SubmissionID)
	return d, nil
}

// pods lists the cached pods of the attempt. They are the cache's own and must not be changed.
func (r Reader) pods(ctx context.Context, t Target) ([]*corev1.Pod, error) {
	var list corev1.PodList
	if err := r.Cache.List(ctx, &list, client.InNamespace(t.Namespace), client.MatchingFields{IndexApp: t.App}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list pods of %s/%s: %w", t.Namespace, t.App, err)
	}
	var pods []*corev1.Pod
	for i := range list.Items {
		if list.Items[i].Labels[lifecycle.LabelSubmission] == t.SubmissionID {
			pods = append(pods, &list.Items[i])
		}
	}
	return pods, nil
}

func executorsOf(pods []*corev1.Pod) map[string]lifecycle.ExecutorState {
	states := map[string]lifecycle.ExecutorState{}
	for _, pod := range pods {
		if pod.Labels[spark.LabelRole] == spark.RoleExecutor {
			states[pod.Name] = executorOf(pod)
		}
	}
	return states
}

// Drivers returns the live driver pods of an attempt, whatever their names.
func (r Reader) Drivers(ctx context.Context, namespace, submissionID string) ([]client.Object, error) {
	var list corev1.PodList
	ours := client.MatchingLabels{lifecycle.LabelSubmission: submissionID, spark.LabelRole: spark.RoleDriver}
	if err := r.Live.List(ctx, &list, client.InNamespace(namespace), ours); err != nil {
		return nil, fmt.Errorf("list driver pods in %s: %w", namespace, err)
	}
	pods := make([]client.Object, 0, len(list.Items))
	for i := range list.Items {
		pods = append(pods, &list.Items[i])
	}
	return pods, nil
}

// Existing returns the live object that has obj's kind, namespace and name, or nil if there is none.
func (r Reader) Existing(ctx context.Context, obj client.Object) (client.Object, error) {
	found, ok := obj.DeepCopyObject().(client.Object)
	if !ok {
		return nil, fmt.Errorf("%T is not an object with metadata", obj)
	}
	err := r.Live.Get(ctx, client.ObjectKeyFromObject(obj), found)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get %T %s: %w", obj, client.ObjectKeyFromObject(obj), err)
	}
	return found, nil
}

// Snapshot reads what a scheduler plugin wants to see.
func (r Reader) Snapshot(ctx context.Context, reads []scheduler.Read) (scheduler.Snapshot, error) {
	s := make(scheduler.Snapshot, len(reads))
	for _, read := range reads {
		var u unstructured.Unstructured
		u.SetGroupVersionKind(read.GroupVersionKind)
		err := r.Live.Get(ctx, client.ObjectKey{Namespace: read.Namespace, Name: read.Name}, &u)
		switch {
		case apierrors.IsNotFound(err):
			s[read] = nil
		case err != nil:
			return nil, fmt.Errorf("get %s %s/%s: %w", read.Kind, read.Namespace, read.Name, err)
		default:
			s[read] = &u
		}
	}
	return s, nil
}
