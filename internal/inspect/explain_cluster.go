// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"context"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/internal/explain"
	"github.com/firesteel-dev/firesteel/internal/kinds"
	"github.com/firesteel-dev/firesteel/internal/observe"
	"github.com/firesteel-dev/firesteel/internal/standalone"
)

// explainCluster reads a cluster as the operator does, and decides as the operator would.
func (c *Cluster) explainCluster(ctx context.Context, o Object, operators Installation, now time.Time) (Explanation, error) {
	operator, unread, err := operators.operator(ctx, c)
	if err != nil {
		return nil, err
	}
	cluster, err := o.LoadCluster(o.Object, operator, now)
	if err != nil {
		return nil, err
	}
	in := explain.ClusterInput{
		Object: o, Family: o.Family, Word: cluster.Word, Record: cluster.Record, Conditions: cluster.Conditions,
		State: cluster.State, StateMessage: cluster.Message, Since: cluster.Since, QueuedAt: cluster.Start.QueuedAt, Submitter: cluster.Start.Submitter, Now: now,
		Desired: cluster.Desired, // the scheduler's decoration of its pods is not compared
	}
	if unread != "" {
		in.Unreadable = append(in.Unreadable, unread)
	}
	c.observeCluster(ctx, o, cluster, &in)
	if in.Record.State.Starts() && unread == "" { // without the operator's configuration there are no lines
		lines, missed := c.blockers(ctx, operators, o, explain.ClusterCause(cluster.Conditions).Reason, now)
		in.Lines, in.Unreadable = lines, append(in.Unreadable, missed...)
	}
	return explain.Cluster(in), nil
}

// partKinds are the kinds of a cluster's objects.
var partKinds = map[string]schema.GroupVersion{
	"Service": corev1.SchemeGroupVersion, "StatefulSet": appsv1.SchemeGroupVersion, "NetworkPolicy": networkingv1.SchemeGroupVersion,
	"HorizontalPodAutoscaler": autoscalingv2.SchemeGroupVersion, "PodDisruptionBudget": policyv1.SchemeGroupVersion,
}

// observeCluster reads the objects and the pods of a cluster, and records the objects that it cannot read.
func (c *Cluster) observeCluster(ctx context.Context, o Object, cluster kinds.ClusterReading, in *explain.ClusterInput) {
	unreadable := func(what string, err error) { in.Unreadable = append(in.Unreadable, what+": "+ForPeople(err).Error()) }
	target := observe.ClusterTarget{
		Owner: o.Family.Owner(o, ""), Namespace: o.GetNamespace(), Name: o.GetName(), Parts: in.Desired.Parts, Optional: in.Desired.Optional,
		Master: cluster.Master, Workers: cluster.Workers,
		Empty: func(kind string) client.Object {
			object := &unstructured.Unstructured{}
			object.SetGroupVersionKind(partKinds[kind].WithKind(kind))
			return object
		},
	}
	for range target.Parts {
		target.Wanted = append(target.Wanted, &unstructured.Unstructured{Object: map[string]any{}})
	}
	reader := observe.Reader{Labels: o.Family.Labels, Cache: c, Live: c}
	var err error
	if in.Observed, err = reader.Cluster(ctx, target); err != nil {
		in.Observed = standalone.Observation{Unknown: true}
		unreadable("objects of the cluster", err)
	}
	// the content of the objects is not compared here: the operator derived it from the recorded spec
	for ref, seen := range in.Observed.Found {
		seen.Same = seen.Marked && in.Record.Generation == o.GetGeneration()
		in.Observed.Found[ref] = seen
	}
	if in.Pods, err = reader.ClusterPods(ctx, target); err != nil {
		unreadable("pods", err)
	}
}
