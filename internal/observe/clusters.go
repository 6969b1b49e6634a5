// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/standalone"
)

// ClusterTarget selects the objects of a standalone cluster.
type ClusterTarget struct {
	Owner lifecycle.Owner
	// Parts are the wanted objects of the cluster. They have the hash of their content (lifecycle.Labels.MarkApplied).
	Parts  []standalone.Part
	Wanted []*unstructured.Unstructured
	// Optional are further objects that the cluster may have.
	Optional []standalone.Ref
	// Empty returns an empty object of a kind, with the type that the cache holds.
	Empty func(kind string) client.Object
	// Namespace and Name identify the cluster; Master and Workers are the names of its StatefulSets.
	Namespace, Name string
	Master, Workers string
}

// Cluster returns the cached objects of a standalone cluster. It copies fields that must stay from the existing objects to the wanted ones.
func (r Reader) Cluster(ctx context.Context, t ClusterTarget) (standalone.Observation, error) {
	o := standalone.Observation{Found: map[standalone.Ref]standalone.Found{}}
	for i, part := range t.Parts {
		there, err := r.clusterObject(ctx, t, t.Empty(part.Kind), part.Ref)
		if err != nil {
			return o, err
		}
		if there != nil {
			standalone.Keep(part, t.Wanted[i], there)
			o.Found[part.Ref] = foundOf(t.Owner, there, t.Wanted[i])
		}
	}
	for _, ref := range t.Optional {
		if _, known := o.Found[ref]; known {
			continue
		}
		there, err := r.clusterObject(ctx, t, t.Empty(ref.Kind), ref)
		if err != nil {
			return o, err
		}
		if there != nil {
			o.Found[ref] = foundOf(t.Owner, there, nil)
		}
	}
	return o, r.roles(ctx, t, &o)
}

// clusterObject reads one object for the comparison; nil if there is none.
func (r Reader) clusterObject(ctx context.Context, t ClusterTarget, into client.Object, ref standalone.Ref) (*unstructured.Unstructured, error) {
	err := r.Cache.Get(ctx, client.ObjectKey{Namespace: t.Namespace, Name: ref.Name}, into)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get %s in %s: %w", ref, t.Namespace, err)
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(into)
	if err != nil {
		return nil, fmt.Errorf("read %s in %s: %w", ref, t.Namespace, err)
	}
	return &unstructured.Unstructured{Object: content}, nil
}

func foundOf(owner lifecycle.Owner, there, wanted *unstructured.Unstructured) standalone.Found {
	f := standalone.Found{
		Presence: lifecycle.Present, UID: string(there.GetUID()), Ours: owner.Of(there) != lifecycle.NotOwned,
		Marked: there.GetAnnotations()[owner.Labels.Applied] != "", Deleting: there.GetDeletionTimestamp() != nil || owner.Predecessor(there),
	}
	f.Same = wanted != nil && owner.Labels.SameApplied(there, wanted) && lifecycle.Contains(there, wanted)
	return f
}

// roles reads the StatefulSets and the pods of both roles.
func (r Reader) roles(ctx context.Context, t ClusterTarget, o *standalone.Observation) error {
	roles := map[string]*standalone.Role{t.Master: &o.Master, t.Workers: &o.Workers}
	for name, role := range roles {
		var set appsv1.StatefulSet
		err := r.Cache.Get(ctx, client.ObjectKey{Namespace: t.Namespace, Name: name}, &set)
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("get StatefulSet %s in %s: %w", name, t.Namespace, err)
		}
		if err == nil && t.Owner.Of(&set) != lifecycle.NotOwned && set.Spec.Replicas != nil {
			role.Wanted, role.Ready, role.Updated = *set.Spec.Replicas, set.Status.ReadyReplicas, set.Status.UpdatedReplicas
		}
	}
	err := r.clusterPods(ctx, t, func(set string, pod *Pod) {
		role := roles[set]
		role.Pods = append(role.Pods, pod.Name)
		if w := pod.driver.Waiting; role.Waiting.Reason == "" && w.Reason != "" {
			role.Waiting = w
		}
	})
	slices.Sort(o.Master.Pods)
	slices.Sort(o.Workers.Pods)
	return err
}

// clusterPods visits the pods of a cluster, with the names of their StatefulSets.
func (r Reader) clusterPods(ctx context.Context, t ClusterTarget, visit func(set string, pod *Pod)) error {
	pods, err := r.cached().OfApp(ctx, t.Namespace, t.Owner.Labels.App, t.Name)
	if err != nil {
		return fmt.Errorf("list pods of %s/%s: %w", t.Namespace, t.Name, err)
	}
	for _, pod := range pods {
		owner := metav1.GetControllerOf(pod)
		if owner == nil || owner.Kind != "StatefulSet" || owner.Name != t.Master && owner.Name != t.Workers || pod.driver == nil {
			continue // the pod has the label, and another owner
		}
		visit(owner.Name, pod)
	}
	return nil
}

// ClusterPods returns the pods of a cluster, sorted by name. A Driver shows the wait or the end of its pod.
func (r Reader) ClusterPods(ctx context.Context, t ClusterTarget) ([]lifecycle.Driver, error) {
	var all []lifecycle.Driver
	err := r.clusterPods(ctx, t, func(_ string, pod *Pod) { all = append(all, *pod.driver) })
	slices.SortFunc(all, func(a, b lifecycle.Driver) int { return strings.Compare(a.Name, b.Name) })
	return all, err
}

// ClusterPodStatuses returns the statuses of a cluster's pods for schedulers: the master as the driver, and the workers as
// executors, numbered from 1.
func (r Reader) ClusterPodStatuses(ctx context.Context, t ClusterTarget, now time.Time) (scheduler.PodStatuses, error) {
	f := scheduler.PodStatuses{Now: now}
	err := r.clusterPods(ctx, t, func(set string, pod *Pod) {
		status := pod.status
		if set == t.Master {
			f.Driver = &status
			return
		}
		if ordinal, err := strconv.ParseInt(status.Name[strings.LastIndex(status.Name, "-")+1:], 10, 32); err == nil {
			status.ExecutorID = ordinal + 1
		}
		f.Executors = append(f.Executors, status)
	})
	return f, err
}
