// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ending is how a driver ends, and how long after its start. One that never ends has to be deleted.
type ending struct {
	after   time.Duration
	code    int32
	evicted bool
	never   bool
	// ready says that its pod accepts clients as soon as it runs.
	ready bool
}

// nodeAgent is scheduler and kubelet of a node: it binds pods, lets them run and end as a script says, and lets those
// that are deleted go after a while.
type nodeAgent struct {
	client client.Client
	ctx    context.Context
	// script says how the n-th driver of an application ends.
	script func(pod *corev1.Pod, n int) ending
	// goes is how long a deleted pod takes to stop.
	goes time.Duration
	mu   sync.Mutex
	// stops ends a pod that is deleted.
	stops map[types.UID]context.CancelFunc
	going map[types.UID]bool
}

// follow is for history.
func (k *nodeAgent) follow(kind apiwatch.EventType, pod *corev1.Pod, n int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.stops == nil {
		k.stops, k.going = map[types.UID]context.CancelFunc{}, map[types.UID]bool{}
	}
	switch {
	case kind == apiwatch.Added:
		ctx, stop := context.WithCancel(k.ctx)
		k.stops[pod.UID] = stop
		go k.live(ctx, pod.DeepCopy(), k.script(pod, n))
	case kind == apiwatch.Deleted:
		if stop := k.stops[pod.UID]; stop != nil {
			stop()
		}
	case pod.DeletionTimestamp != nil && !k.going[pod.UID]:
		k.going[pod.UID] = true
		k.stops[pod.UID]()
		go k.let(pod.DeepCopy())
	}
}

// live is a pod's way from its node to its end.
func (k *nodeAgent) live(ctx context.Context, pod *corev1.Pod, end ending) {
	const pulled = 20 * time.Millisecond
	binding := &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: pod.Namespace, UID: pod.UID}, Target: corev1.ObjectReference{Kind: "Node", Name: "node-1"}}
	if k.client.SubResource("binding").Create(ctx, pod, binding) != nil || !pause(ctx, pulled) {
		return
	}
	started := metav1.Now()
	up := corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: started}}
	if !k.report(ctx, pod, corev1.PodRunning, up, end) || end.never || !pause(ctx, end.after) {
		return
	}
	phase := corev1.PodSucceeded
	if end.code != 0 {
		phase = corev1.PodFailed
	}
	k.report(ctx, pod, phase, corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: end.code, StartedAt: started, FinishedAt: metav1.Now()}}, end)
}

// report writes a pod's status, unless the pod is deleted or another one.
func (k *nodeAgent) report(ctx context.Context, pod *corev1.Pod, phase corev1.PodPhase, state corev1.ContainerState, end ending) bool {
	for ctx.Err() == nil {
		var now corev1.Pod
		if k.client.Get(ctx, client.ObjectKeyFromObject(pod), &now) != nil || now.UID != pod.UID || now.DeletionTimestamp != nil {
			return false
		}
		now.Status.Phase = phase
		now.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: driverContainer, State: state}}
		if end.ready {
			now.Status.PodIP, now.Status.PodIPs = "192.0.2.254", []corev1.PodIP{{IP: "192.0.2.254"}} // no UI is there
			ready := corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionFalse, LastTransitionTime: metav1.Now()}
			if state.Running != nil {
				ready.Status = corev1.ConditionTrue
			}
			now.Status.Conditions = []corev1.PodCondition{ready}
		}
		if end.evicted && state.Terminated != nil {
			now.Status.Conditions = append(now.Status.Conditions, corev1.PodCondition{
				Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "TerminationByKubelet", Message: "The node was low on resource: memory.", LastTransitionTime: metav1.Now(),
			})
		}
		err := k.client.Status().Update(ctx, &now)
		if err == nil {
			return true
		}
		if !apierrors.IsConflict(err) {
			return false
		}
	}
	return false
}

// let lets a deleted pod go, as a kubelet does when its containers have stopped.
func (k *nodeAgent) let(pod *corev1.Pod) {
	if pause(k.ctx, k.goes) {
		_ = k.client.Delete(k.ctx, pod, client.GracePeriodSeconds(0), client.Preconditions{UID: &pod.UID}) // the history tells if it stays
	}
}

// pause reports whether the time passed before the context ended.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
