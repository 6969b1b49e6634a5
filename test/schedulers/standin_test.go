// SPDX-License-Identifier: Apache-2.0

package schedulers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

// standIn plays a scheduler: in each cycle it places the pods that name it, one by one, where there is room. Rules make
// one or the other scheduler of it.
type standIn struct {
	*cluster
	name  string
	alias string // a further name; "" for none
	rules rules

	cancel context.CancelFunc
	ended  chan struct{}
}

// rules are what one scheduler has beyond room on nodes.
type rules interface {
	// look prepares a cycle: it writes what the scheduler writes beside pods.
	look(ctx context.Context, s *sight) error
	// verdict says whether a pod may be placed now.
	verdict(s *sight, pod *corev1.Pod) judgement
}

// judgement is the scheduler's word on a pod. Without refusal and message the pod may be placed.
type judgement struct {
	wait    bool
	message string // of the condition; "" if the scheduler writes none
	refusal string // the reason with which the pod is failed
}

// sight is what a cycle sees.
type sight struct {
	pods  []corev1.Pod
	nodes []corev1.Node
}

// cycle is how long a scheduler takes for a look at everything.
const cycle = 200 * time.Millisecond

func (s *standIn) start(context.Context) error {
	if s.cancel != nil {
		return nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel, s.ended = cancel, make(chan struct{})
	go func() {
		defer close(s.ended)
		ticker := time.NewTicker(cycle)
		defer ticker.Stop()
		for ctx.Err() == nil {
			if err := s.once(ctx); err != nil && ctx.Err() == nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
				fmt.Fprintf(os.Stderr, "stand-in for %s: %v\n", s.name, err)
			}
			select {
			case <-ctx.Done():
			case <-ticker.C:
			}
		}
	}()
	return nil
}

func (s *standIn) stop() {
	if s == nil || s.cancel == nil {
		return
	}
	s.cancel()
	<-s.ended
	s.cancel = nil
}

func (s *standIn) once(ctx context.Context) error {
	var pods corev1.PodList
	var nodes corev1.NodeList
	if err := errors.Join(s.client.List(ctx, &pods), s.client.List(ctx, &nodes)); err != nil {
		return err
	}
	slices.SortStableFunc(pods.Items, func(a, b corev1.Pod) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
	see := &sight{pods: pods.Items, nodes: nodes.Items}
	if s.rules != nil {
		if err := s.rules.look(ctx, see); err != nil {
			return err
		}
	}
	var errs []error
	for i := range see.pods {
		pod := &see.pods[i]
		if n := pod.Spec.SchedulerName; n != s.name && (n != s.alias || s.alias == "") || pod.Spec.NodeName != "" || pod.DeletionTimestamp != nil || ended(pod) {
			continue
		}
		errs = append(errs, s.place(ctx, see, pod))
	}
	return errors.Join(errs...)
}

func (s *standIn) place(ctx context.Context, see *sight, pod *corev1.Pod) error {
	var word judgement
	if s.rules != nil {
		word = s.rules.verdict(see, pod)
	}
	switch {
	case word.refusal != "":
		pod.Status.Phase, pod.Status.Reason, pod.Status.Message = corev1.PodFailed, word.refusal, word.message
		return s.client.Status().Update(ctx, pod)
	case word.wait && word.message == "":
		return nil
	case word.wait:
		return s.unschedulable(ctx, pod, word.message)
	}
	for i := range see.nodes {
		if node := &see.nodes[i]; see.fits(node, pod) {
			pod.Spec.NodeName = node.Name
			return s.client.SubResource("binding").Create(ctx, pod, &corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: node.Name}})
		}
	}
	return s.unschedulable(ctx, pod, fmt.Sprintf("0/%d nodes are available: %d Insufficient cpu.", len(see.nodes), len(see.nodes)))
}

// unschedulable writes the condition as kube-scheduler and its relatives do, once per message.
func (s *standIn) unschedulable(ctx context.Context, pod *corev1.Pod, message string) error {
	c := corev1.PodCondition{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: message, LastTransitionTime: metav1.Now(),
	}
	for i := range pod.Status.Conditions {
		if have := &pod.Status.Conditions[i]; have.Type == c.Type {
			if have.Message == message {
				return nil
			}
			*have = c
			return s.client.Status().Update(ctx, pod)
		}
	}
	pod.Status.Conditions = append(pod.Status.Conditions, c)
	return s.client.Status().Update(ctx, pod)
}

func ended(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// fits is whether a node may have the pod and has room for it.
func (s *sight) fits(node *corev1.Node, pod *corev1.Pod) bool {
	for key, value := range pod.Spec.NodeSelector {
		if node.Labels[key] != value {
			return false
		}
	}
	for _, taint := range node.Spec.Taints {
		tolerated := slices.ContainsFunc(pod.Spec.Tolerations, func(t corev1.Toleration) bool {
			return t.Key == taint.Key && (t.Operator == corev1.TolerationOpExists || t.Value == taint.Value)
		})
		if !tolerated {
			return false
		}
	}
	return len(scheduler.Shortages(requests(pod), s.used(node.Name), node.Status.Allocatable)) == 0
}

// haveRoom is whether one node has room for all the pods.
func (s *sight) haveRoom(pods []*corev1.Pod) bool {
	if len(pods) == 0 {
		return true
	}
	all := pods[0].DeepCopy()
	for _, p := range pods[1:] {
		all.Spec.Containers = append(all.Spec.Containers, p.Spec.Containers...)
	}
	return slices.ContainsFunc(s.nodes, func(n corev1.Node) bool { return s.fits(&n, all) })
}

// used is what the pods of a node take; "" stands for all nodes.
func (s *sight) used(node string) corev1.ResourceList {
	total := corev1.ResourceList{}
	for i := range s.pods {
		if pod := &s.pods[i]; pod.Spec.NodeName != "" && (node == "" || pod.Spec.NodeName == node) && !ended(pod) {
			total = scheduler.Sum(total, requests(pod))
		}
	}
	return total
}

// free is what all nodes together have left.
func (s *sight) free() corev1.ResourceList {
	total := corev1.ResourceList{}
	for i := range s.nodes {
		total = scheduler.Sum(total, s.nodes[i].Status.Allocatable)
	}
	used := s.used("")
	for name, quantity := range total {
		quantity.Sub(used[name])
		total[name] = quantity
	}
	return total
}

func requests(pod *corev1.Pod) corev1.ResourceList {
	total := corev1.ResourceList{}
	for i := range pod.Spec.Containers {
		total = scheduler.Sum(total, pod.Spec.Containers[i].Resources.Requests)
	}
	return total
}

// patchStatus writes a status where the CRD has no status subresource.
func (c *cluster) patchStatus(ctx context.Context, o client.Object, change func()) error {
	before := o.DeepCopyObject().(client.Object)
	change()
	return client.IgnoreNotFound(c.client.Patch(ctx, o, client.MergeFrom(before)))
}
