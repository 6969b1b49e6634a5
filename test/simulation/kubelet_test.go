// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sparkv1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1alpha1"
	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// pods lists the pods in the order of their names.
func (h *history) pods(want func(*corev1.Pod) bool) []*corev1.Pod {
	var all []*corev1.Pod
	for i, o := range h.store.objects {
		if i.kind == kindPod && want(o.(*corev1.Pod)) {
			all = append(all, o.(*corev1.Pod))
		}
	}
	if len(all) > 1 {
		byName(all)
	}
	return all
}

// pick returns one of the pods that are wanted, or nil.
func (h *history) pick(want func(*corev1.Pod) bool) *corev1.Pod {
	all := h.pods(want)
	switch len(all) {
	case 0:
		return nil
	case 1:
		return all[0]
	}
	return all[h.rng.IntN(len(all))]
}

func isDriver(p *corev1.Pod) bool { return spark.RunsDriver(p.Labels) }

func ended(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
}

func running(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodRunning }

// alive says whether Spark's process runs or may yet run.
func alive(p *corev1.Pod) bool {
	if ended(p) {
		return false
	}
	for _, s := range p.Status.ContainerStatuses {
		if s.State.Terminated != nil && s.Name == p.Spec.Containers[0].Name {
			return false
		}
	}
	return true
}

// setStatus stores the next status of a pod.
func (h *history) setStatus(p *corev1.Pod, node string, status corev1.PodStatus) {
	next := *p
	next.Spec.NodeName = node
	next.Status = status
	for _, c := range p.Status.Conditions {
		if c.Type != corev1.PodReady && (c.Type != corev1.PodScheduled || c.Status == corev1.ConditionTrue) {
			next.Status.Conditions = append(next.Status.Conditions, c)
		}
	}
	if node != p.Spec.NodeName {
		next.Status.Conditions = append(next.Status.Conditions, corev1.PodCondition{
			Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: h.second(),
		})
	}
	h.store.put(&next)
}

func containers(p *corev1.Pod, s corev1.ContainerState) []corev1.ContainerStatus {
	name := spark.DriverContainerName
	if len(p.Spec.Containers) > 0 {
		name = p.Spec.Containers[0].Name
	}
	return []corev1.ContainerStatus{{Name: name, State: s}}
}

// kubelet brings one pod a step further: it is scheduled, starts, ends, and goes when it has been deleted.
func kubelet(h *history) bool {
	p := h.pick(h.kubeletActs)
	if p == nil {
		return false
	}
	switch {
	case p.DeletionTimestamp != nil:
		h.terminate(p)
	case p.Spec.NodeName == "":
		h.schedule(p)
	case !running(p):
		h.start(p)
	case h.unready(p):
		h.becomesReady(p)
	case !alive(p):
		h.endSidecar(p)
	case h.scripted == nil && !h.fair && isDriver(p) && h.rng.IntN(5) == 0:
		h.restart(p)
	default:
		h.end(p)
	}
	return true
}

// kubeletActs says whether a pod's kubelet has something to do. In hostile times a driver may run for a while.
func (h *history) kubeletActs(p *corev1.Pod) bool {
	switch {
	case h.lost[string(p.UID)]:
		return false
	case p.DeletionTimestamp != nil:
		return true
	case running(p) && h.fair && isDriver(p) && alive(p) && h.server != nil:
		return false // a server runs on
	case h.unready(p):
		return true
	case h.fate.hangs(p):
		return false
	case running(p) && h.fair && restarted(p) && alive(p):
		return false // nothing but the operator ends what would run for ever
	case running(p) && h.other.owned(p) && alive(p) && h.fate == nil && h.rng.IntN(8) > 0:
		return false // it runs for as long as it takes to be late, and to get executors
	case running(p) && h.fair && isDriver(p) && alive(p) && h.over(p):
		return false // nobody but the operator ends it
	case running(p):
		return h.fair || !isDriver(p) || h.rng.IntN(3) == 0
	case p.Spec.NodeName != "" && p.Status.Message != "" && h.missing(p) == p.Status.Message:
		return false
	}
	return !ended(p)
}

func (h *history) terminate(p *corev1.Pod) {
	if alive(p) && running(p) && h.rng.IntN(2) == 0 {
		code := int32(143)
		if h.rng.IntN(8) == 0 {
			code = 0 // it was just about to end
		}
		h.finish(p, code, "Error", "")
		return
	}
	h.invariants.gone(p)
	h.tell("kubelet", "pod %s is gone", p.Name)
	h.store.remove(idOf(p))
}

func (h *history) schedule(p *corev1.Pod) {
	if !h.fair && h.rng.IntN(6) == 0 {
		h.tell("scheduler", "pod %s: no node is free", p.Name)
		h.setStatus(p, "", corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/3 nodes are available: 3 Insufficient cpu.",
		}}})
		return
	}
	h.tell("scheduler", "pod %s: node a", p.Name)
	h.setStatus(p, "a", corev1.PodStatus{Phase: corev1.PodPending})
}

func (h *history) start(p *corev1.Pod) {
	if missing := h.missing(p); missing != "" {
		h.tell("kubelet", "pod %s: ContainerCreating, ConfigMap %s not found", p.Name, missing)
		h.setStatus(p, p.Spec.NodeName, corev1.PodStatus{Phase: corev1.PodPending, Message: missing})
		h.failedMount(p, missing)
		h.invariants.bereft(p)
		return
	}
	if !h.fair && h.rng.IntN(6) == 0 {
		h.backOff(p)
		return
	}
	if isDriver(p) {
		h.other.starts(p)
	}
	if h.other != nil && (h.fate.deaf() || h.fate == nil && h.rng.IntN(8) == 0) {
		h.other.deaf[p.UID] = true
	}
	h.tell("kubelet", "pod %s: Running", p.Name)
	states := containers(p, corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: h.second()}})
	states[0].Ready = true
	h.setStatus(p, p.Spec.NodeName, corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: states})
}

// unready reports whether a pod of the second family, which tells who is ready, has just started.
func (h *history) unready(p *corev1.Pod) bool {
	return p.Labels[sparkv1.LabelAppName] != "" && running(p) && alive(p) && !h.other.deaf[p.UID] && !slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady })
}

func (h *history) becomesReady(p *corev1.Pod) {
	h.tell("kubelet", "pod %s: ready", p.Name)
	status := *p.Status.DeepCopy()
	status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: h.second()}}
	h.setStatus(p, p.Spec.NodeName, status)
}

func (h *history) backOff(p *corev1.Pod) {
	h.tell("kubelet", "pod %s: ImagePullBackOff", p.Name)
	h.setStatus(p, p.Spec.NodeName, corev1.PodStatus{Phase: corev1.PodPending, ContainerStatuses: containers(p, corev1.ContainerState{
		Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "Back-off pulling image \"spark\""},
	})})
}

// failedMount is the kubelet's event, the only place where it says why a volume is missing.
func (h *history) failedMount(p *corev1.Pod, name string) {
	h.executors++
	h.store.create(&corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("%s.%d", p.Name, h.executors)},
		InvolvedObject: corev1.ObjectReference{Kind: kindPod, Name: p.Name, UID: p.UID},
		Type:           corev1.EventTypeWarning, Reason: "FailedMount", LastTimestamp: h.second(),
		Message: fmt.Sprintf("MountVolume.SetUp failed for volume \"conf\" : configmap %q not found", name),
	}, h.second())
}

// missing is a ConfigMap that the pod wants to mount and that is not there.
func (h *history) missing(p *corev1.Pod) string {
	for _, v := range p.Spec.Volumes {
		if v.ConfigMap != nil && h.store.objects[id{"ConfigMap", v.ConfigMap.Name}] == nil {
			return v.ConfigMap.Name
		}
	}
	return ""
}

// end lets a running pod's process end, one way or another.
func (h *history) end(p *corev1.Pod) {
	if h.fate != nil && isDriver(p) {
		h.fate.ends(h, p)
		return
	}
	switch n := h.rng.IntN(20); {
	case n < 11:
		h.finish(p, 0, "Completed", "")
	case n < 16:
		h.finish(p, 1, "Error", "Exception in thread main")
	case n < 18:
		h.finish(p, 137, "OOMKilled", "")
	default:
		h.evict(p)
	}
}

// restart ends Spark's container and starts it again in its pod, or is about to: a kubelet that has lost its state does that, and restart rules
// ask for it.
func (h *history) restart(p *corev1.Pod) {
	last := corev1.ContainerStateTerminated{ExitCode: int32(h.rng.IntN(2)), Reason: "Error", FinishedAt: h.second()}
	if r := p.Status.ContainerStatuses[0].State.Running; r != nil {
		last.StartedAt = r.StartedAt
	}
	state := corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: h.second()}}
	if h.rng.IntN(2) == 0 {
		state = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff", Message: "back-off 10s restarting failed container"}}
	}
	states := containers(p, state)
	states[0].Ready, states[0].RestartCount = state.Running != nil, p.Status.ContainerStatuses[0].RestartCount+1
	if h.rng.IntN(4) > 0 { // else it was collected
		states[0].LastTerminationState.Terminated = &last
	}
	h.stats.Restarts++
	h.invariants.restarted(p)
	h.tell("kubelet", "pod %s: exit code %d, and started again: %s", p.Name, last.ExitCode, stateName(state))
	h.setStatus(p, p.Spec.NodeName, corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: states})
}

func stateName(s corev1.ContainerState) string {
	if s.Running != nil {
		return "Running"
	}
	return s.Waiting.Reason
}

// restarted says whether Spark's program runs in its pod for the second time.
func restarted(p *corev1.Pod) bool {
	all := p.Status.ContainerStatuses
	return len(all) > 0 && all[0].RestartCount > 0
}

// finish ends Spark's container. Now and then a sidecar keeps the pod running.
func (h *history) finish(p *corev1.Pod, code int32, reason, message string) {
	phase := corev1.PodSucceeded
	if code != 0 {
		phase = corev1.PodFailed
	}
	over := corev1.ContainerStateTerminated{ExitCode: code, Reason: reason, Message: message, FinishedAt: h.second()}
	if r := p.Status.ContainerStatuses; len(r) > 0 && r[0].State.Running != nil {
		over.StartedAt = r[0].State.Running.StartedAt
	}
	states := containers(p, corev1.ContainerState{Terminated: &over})
	if restarted(p) {
		states[0].RestartCount, states[0].LastTerminationState = p.Status.ContainerStatuses[0].RestartCount, p.Status.ContainerStatuses[0].LastTerminationState
	}
	if h.sidecar || h.scripted == nil && h.rng.IntN(8) == 0 {
		phase = corev1.PodRunning
		states = append(states, corev1.ContainerStatus{Name: "sidecar", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}})
		p = withSidecar(p)
	}
	h.invariants.ended(p, code)
	h.tell("kubelet", "pod %s: exit code %d, %s, %s", p.Name, code, reason, phase)
	h.setStatus(p, p.Spec.NodeName, corev1.PodStatus{Phase: phase, ContainerStatuses: states})
}

func withSidecar(p *corev1.Pod) *corev1.Pod {
	next := *p
	next.Spec.Containers = append(p.Spec.Containers[:len(p.Spec.Containers):len(p.Spec.Containers)], corev1.Container{Name: "sidecar"})
	return &next
}

// endSidecar ends the rest of a pod whose Spark container has ended.
func (h *history) endSidecar(p *corev1.Pod) {
	phase := corev1.PodSucceeded
	if p.Status.ContainerStatuses[0].State.Terminated.ExitCode != 0 {
		phase = corev1.PodFailed
	}
	h.tell("kubelet", "pod %s: its sidecar ends, %s", p.Name, phase)
	h.setStatus(p, p.Spec.NodeName, corev1.PodStatus{Phase: phase, ContainerStatuses: p.Status.ContainerStatuses[:1]})
}

// evict is what a kubelet does that runs out of memory or disk.
func (h *history) evict(p *corev1.Pod) {
	h.invariants.ended(p, -1)
	h.tell("kubelet", "pod %s: Evicted", p.Name)
	h.setStatus(p, p.Spec.NodeName, corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted", Message: "The node was low on resource: memory."})
}

// driver is Spark's driver: it makes executors, and takes them away when it ends.
func driver(h *history) bool {
	p := h.pick(func(p *corev1.Pod) bool { return isDriver(p) && h.ours(p) })
	if p == nil {
		return false
	}
	executors := h.pods(func(e *corev1.Pod) bool {
		return len(e.OwnerReferences) > 0 && e.OwnerReferences[0].UID == p.UID && e.DeletionTimestamp == nil
	})
	switch {
	case running(p) && alive(p) && p.DeletionTimestamp == nil && (!h.fair || h.other.owned(p)) && !h.fate.lonely() && len(executors) < 2 && h.rng.IntN(3) == 0:
		h.makeExecutor(p)
		return true
	case !alive(p) && len(executors) > 0:
		h.removePod(executors[0], "driver")
		return true
	}
	return false
}

func (h *history) makeExecutor(p *corev1.Pod) {
	h.executors++
	e := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("%s-exec-%s", appName, strconv.Itoa(h.executors)), Labels: map[string]string{
			v1beta2.LabelAppName: appName, v1beta2.LabelLaunchedBy: "true", spark.LabelRole: spark.RoleExecutor,
			v1beta2.LabelSubmissionID: p.Labels[v1beta2.LabelSubmissionID],
		}, OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: kindPod, Name: p.Name, UID: p.UID, Controller: new(true)}}},
		Spec:   corev1.PodSpec{Containers: []corev1.Container{{Name: spark.ExecutorContainerName}}},
		Status: corev1.PodStatus{Phase: corev1.PodPending},
	}
	if h.server != nil {
		delete(e.Labels, v1beta2.LabelAppName)
		e.Labels[v1alpha1.LabelConnectName] = appName
	}
	if h.other.owned(p) {
		e.Labels = map[string]string{spark.LabelRole: spark.RoleExecutor}
		for _, key := range []string{sparkv1.LabelAppName, sparkv1.LabelOperator, spark.LabelAppSelector} {
			e.Labels[key] = p.Labels[key]
		}
	}
	h.tell("driver", "creates pod %s", e.Name)
	h.store.create(e, h.second())
}

// removePod is a DELETE of a pod by somebody else than the operator.
func (h *history) removePod(p *corev1.Pod, who string) {
	h.tell(who, "deletes pod %s", p.Name)
	h.delete(p)
}

// delete is a DELETE that nothing stands in the way of.
func (h *history) delete(o client.Object, opts ...client.DeleteOption) {
	var options client.DeleteOptions
	options.ApplyOptions(opts)
	if err := h.remove(o, options); err != nil {
		panic(err)
	}
	if p, ok := o.(*corev1.Pod); ok && h.store.objects[idOf(o)] == nil {
		h.invariants.gone(p)
	}
}
