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

// ClusterTarget is what to look for of a standalone cluster.
type ClusterTarget struct {
	Owner lifecycle.Owner
	// Wanted are the objects that the cluster is to have, marked with what they say (lifecycle.Labels.MarkApplied), beside their parts.
	Parts  []standalone.Part
	Wanted []*unstructured.Unstructured
	// Optional are those that it may have besides.
	Optional []standalone.Ref
	// Empty returns an empty object of the type in which the cache holds a kind.
	Empty func(kind string) client.Object
	// Namespace and Name are the cluster's, and Master and Workers the names of the StatefulSets.
	Namespace, Name string
	Master, Workers string
}

// Cluster returns what there is of a standalone cluster in the cache. What is wanted gets what must stay of what is there.
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

// clusterObject reads one object as it is compared; nil if there is none.
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

// roles reads the sets and the pods of both roles.
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

// clusterPods visits the pods of a cluster, each with the name of its StatefulSet.
func (r Reader) clusterPods(ctx context.Context, t ClusterTarget, visit func(set string, pod *Pod)) error {
	pods, err := r.cached().OfApp(ctx, t.Namespace, t.Owner.Labels.App, t.Name)
	if err != nil {
		return fmt.Errorf("list pods of %s/%s: %w", t.Namespace, t.Name, err)
	}
	for _, pod := range pods {
		owner := metav1.GetControllerOf(pod)
		if owner == nil || owner.Kind != "StatefulSet" || owner.Name != t.Master && owner.Name != t.Workers || pod.driver == nil {
			continue // it has the label, and is not of the cluster
		}
		visit(owner.Name, pod)
	}
	return nil
}

// ClusterPods returns the pods of a cluster by name, each as far as it is known of a driver pod: what it waits for, or how it ended.
func (r Reader) ClusterPods(ctx context.Context, t ClusterTarget) ([]lifecycle.Driver, error) {
	var all []lifecycle.Driver
	err := r.clusterPods(ctx, t, func(_ string, pod *Pod) { all = append(all, *pod.driver) })
	slices.SortFunc(all, func(a, b lifecycle.Driver) int { return strings.Compare(a.Name, b.Name) })
	return all, err
}

// ClusterPodStatuses returns what schedulers want to know of a cluster's pods: the master is its driver, and the workers are its executors, the
// first of which has the number 1.
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
