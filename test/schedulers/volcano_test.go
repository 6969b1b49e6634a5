// SPDX-License-Identifier: Apache-2.0

package schedulers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	busv1alpha1 "volcano.sh/apis/pkg/apis/bus/v1alpha1"
	"volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/testutil/ports"
	"github.com/firesteel-dev/firesteel/test/schedulers/conformance"
)

// volcano is Volcano's scheduler and the two of its controllers that matter. A place is a queue with a capability.
type volcano struct {
	*cluster
	stand           *standIn
	live, caretaker *process
	// lent is set between Lend and Remove.
	lent bool
}

var volcanoGroups = []string{"scheduling.volcano.sh", "bus.volcano.sh", "batch.volcano.sh", "nodeinfo.volcano.sh", "topology.volcano.sh", "shard.volcano.sh", "flow.volcano.sh", "datadependency.volcano.sh", "config.volcano.sh"}

func (v *volcano) Install(ctx context.Context) error {
	dir, err := moduleDir(ctx, "volcano", "volcano.sh/volcano")
	if err != nil {
		return err
	}
	crds := filepath.Join(dir, "config", "crd", "volcano", "bases")
	if v.stand != nil {
		return v.install(ctx, filepath.Join(crds, "scheduling.volcano.sh_podgroups.yaml"), filepath.Join(crds, "scheduling.volcano.sh_queues.yaml"))
	}
	return v.install(ctx, crds)
}

func (v *volcano) Uninstall(ctx context.Context) error { return v.uninstall(ctx, volcanoGroups...) }

func (v *volcano) Start(ctx context.Context) error {
	if v.stand != nil {
		return v.stand.start(ctx)
	}
	if v.live != nil {
		return nil
	}
	dir, err := tool(ctx, "volcano")
	if err != nil {
		return err
	}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "volcano-system"}}
	if err := v.client.Create(ctx, ns); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create Volcano's namespace: %w", err)
	}
	listen, err := freeAddress(ctx)
	if err != nil {
		return err
	}
	healthz, err := freeAddress(ctx)
	if err != nil {
		return err
	}
	if v.caretaker, err = v.run(ctx, "volcano-controllers", filepath.Join(dir, "controller-manager"), nil, "--kubeconfig="+v.kubeconfig,
		"--leader-elect=false", "--controllers=pg-controller,queue-controller", "--listen-address="+listen, "--healthz-address="+healthz); err != nil {
		return err
	}
	return v.schedule(ctx, "volcano.yaml")
}

// schedule starts the scheduler with a configuration.
func (v *volcano) schedule(ctx context.Context, configuration string) error {
	dir, err := tool(ctx, "volcano")
	if err != nil {
		return err
	}
	listen, err := freeAddress(ctx)
	if err != nil {
		return err
	}
	v.live, err = v.run(ctx, "volcano-scheduler", filepath.Join(dir, "scheduler"), nil, "--kubeconfig="+v.kubeconfig,
		"--leader-elect=false", "--scheduler-conf="+filepath.Join("testdata", configuration), "--schedule-period=500ms",
		"--listen-address="+listen, "--cache-dumper=false", "--priority-class=true", "--kube-api-qps=500", "--kube-api-burst=1000")
	return err
}

func freeAddress(ctx context.Context) (string, error) {
	port, err := ports.Free(ctx)
	return "127.0.0.1:" + strconv.Itoa(port), err
}

func (v *volcano) Stop() {
	v.stand.stop()
	v.live.stop()
	v.caretaker.stop()
	v.live, v.caretaker = nil, nil
}

func (v *volcano) Place(ctx context.Context, namespace string, room corev1.ResourceList) (conformance.Place, error) {
	return conformance.Place{Queue: namespace}, v.CreateQueue(ctx, namespace, room)
}

// Preempt makes a group in the same queue that asks for no room of its own: priority decides whose it gets.
func (v *volcano) Preempt(ctx context.Context, namespace string, place conformance.Place, cpus int64) (func(context.Context) error, error) {
	group := &v1beta1.PodGroup{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: fmt.Sprintf("%s-%d", namespace, cpus)},
		Spec:       v1beta1.PodGroupSpec{MinMember: 1, Queue: place.Queue, PriorityClassName: important},
	}
	if err := v.client.Create(ctx, group); err != nil {
		return nil, fmt.Errorf("create an important group: %w", err)
	}
	end, err := v.importantPod(ctx, group.Namespace, group.Name, place, cpus, func(pod *corev1.Pod) {
		pod.Spec.SchedulerName = "volcano"
		pod.Annotations = map[string]string{v1beta1.KubeGroupNameAnnotationKey: group.Name}
	})
	return func(ctx context.Context) error {
		return errors.Join(end(ctx), client.IgnoreNotFound(v.client.Delete(ctx, group)))
	}, err
}

// Lend makes two queues that deserve the same, and a node that has room for both. The scheduler goes on with a configuration by which queues take
// back what they deserve.
func (v *volcano) Lend(ctx context.Context, borrower, owner string, each corev1.ResourceList) (borrowers, owners conformance.Place, err error) {
	both, labels := scheduler.Times(each, 2), map[string]string{labelPlace: borrower}
	err = v.addNode(ctx, lentNode, both, labels)
	for _, name := range []string{borrower, owner} {
		queue := &v1beta1.Queue{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1beta1.QueueSpec{Weight: 1, Capability: both, Deserved: each}}
		err = errors.Join(err, v.client.Create(ctx, queue))
	}
	v.lent = true
	v.live.stop()
	err = errors.Join(err, v.schedule(ctx, "volcano-reclaim.yaml"))
	return conformance.Place{Queue: borrower, NodeSelector: labels}, conformance.Place{Queue: owner, NodeSelector: labels}, err
}

// lentNode is the node of Lend.
const lentNode = "node-lent"

// Remove leaves the queue: an empty one is in no one's way. It ends what Lend has begun.
func (v *volcano) Remove(ctx context.Context, _ string) error {
	if !v.lent {
		return nil
	}
	v.lent = false
	v.live.stop()
	return errors.Join(v.removeNode(ctx, lentNode), v.schedule(ctx, "volcano.yaml"))
}

func (v *volcano) CreateQueue(ctx context.Context, name string, room corev1.ResourceList) error {
	queue := &v1beta1.Queue{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1beta1.QueueSpec{Weight: 1, Capability: room}}
	if err := v.client.Create(ctx, queue); err != nil {
		return fmt.Errorf("create queue %s: %w", name, err)
	}
	return nil
}

func (v *volcano) CloseQueue(ctx context.Context, name string) error {
	return v.command(ctx, name, busv1alpha1.CloseQueueAction, v1beta1.QueueStateClosed, v1beta1.QueueStateClosing)
}

func (v *volcano) OpenQueue(ctx context.Context, name string) error {
	return v.command(ctx, name, busv1alpha1.OpenQueueAction, v1beta1.QueueStateOpen)
}

// command tells Volcano to do something with a queue, as vcctl does.
func (v *volcano) command(ctx context.Context, name string, action busv1alpha1.Action, states ...v1beta1.QueueState) error {
	var queue v1beta1.Queue
	key := client.ObjectKey{Name: name}
	if err := v.client.Get(ctx, key, &queue); err != nil {
		return fmt.Errorf("read queue %s: %w", name, err)
	}
	ref := metav1.NewControllerRef(&queue, v1beta1.SchemeGroupVersion.WithKind("Queue"))
	command := &busv1alpha1.Command{
		ObjectMeta:   metav1.ObjectMeta{Namespace: "default", GenerateName: name + "-", OwnerReferences: []metav1.OwnerReference{*ref}},
		TargetObject: ref, Action: string(action),
	}
	if v.stand == nil {
		if err := v.client.Create(ctx, command); err != nil {
			return fmt.Errorf("command %s of queue %s: %w", action, name, err)
		}
	}
	return v.eventually(ctx, string(action), func() error {
		if err := v.client.Get(ctx, key, &queue); err != nil {
			return err
		}
		if slices.Contains(states, queue.Status.State) {
			return nil
		}
		var err error
		if v.stand != nil { // its cycle writes the same status
			err = v.setState(ctx, &queue, states[0])
		}
		return errors.Join(fmt.Errorf("queue %s was %s", name, queue.Status.State), err)
	})
}

func (v *volcano) setState(ctx context.Context, queue *v1beta1.Queue, state v1beta1.QueueState) error {
	queue.Status.State = state
	if queue.Status.Allocated == nil {
		queue.Status.Allocated = corev1.ResourceList{}
	}
	return v.client.Status().Update(ctx, queue)
}

// volcanoRules are the stand-in's: a group is let in if its queue has room for what all groups that are in it ask for, and a pod if it
// has room beside the pods that are in it.
type volcanoRules struct {
	*volcano
	groups map[client.ObjectKey]*v1beta1.PodGroup
	queues map[string]*v1beta1.Queue
}

func (r *volcanoRules) look(ctx context.Context, s *sight) error {
	var groups v1beta1.PodGroupList
	var queues v1beta1.QueueList
	for _, list := range []client.ObjectList{&groups, &queues} {
		if err := r.client.List(ctx, list); err != nil && !meta.IsNoMatchError(err) && !apierrors.IsNotFound(err) {
			return err
		}
	}
	values, err := r.priorities(ctx)
	if err != nil {
		return err
	}
	slices.SortStableFunc(groups.Items, func(a, b v1beta1.PodGroup) int {
		return cmp.Or(cmp.Compare(values[b.Spec.PriorityClassName], values[a.Spec.PriorityClassName]), a.CreationTimestamp.Compare(b.CreationTimestamp.Time))
	})
	r.groups = map[client.ObjectKey]*v1beta1.PodGroup{}
	for i := range groups.Items {
		r.groups[client.ObjectKeyFromObject(&groups.Items[i])] = &groups.Items[i]
	}
	r.queues = map[string]*v1beta1.Queue{}
	var errs []error
	for i := range queues.Items {
		r.queues[queues.Items[i].Name] = &queues.Items[i]
		errs = append(errs, r.lookAt(ctx, s, &queues.Items[i], groups.Items))
	}
	return errors.Join(errs...)
}

func (r *volcanoRules) lookAt(ctx context.Context, s *sight, queue *v1beta1.Queue, groups []v1beta1.PodGroup) error {
	allocated, held := corev1.ResourceList{}, corev1.ResourceList{}
	var own []*v1beta1.PodGroup
	for i := range groups {
		g := &groups[i]
		if g.Spec.Queue != queue.Name {
			continue
		}
		own = append(own, g)
		phase, used := r.phaseOf(s, g)
		allocated = scheduler.Sum(allocated, used)
		if phase != g.Status.Phase {
			if err := r.setPhase(ctx, g, phase); err != nil {
				return err
			}
		}
		if phase == v1beta1.PodGroupInqueue || phase == v1beta1.PodGroupRunning {
			held = scheduler.Sum(held, plain(g))
		}
	}
	if state := queue.Status.State; state == "" || !equalResources(allocated, queue.Status.Allocated) {
		if state == "" {
			state = v1beta1.QueueStateOpen
		}
		queue.Status.Allocated = allocated
		if err := r.setState(ctx, queue, state); err != nil {
			return err
		}
	}
	for _, g := range own {
		if g.Status.Phase == v1beta1.PodGroupPending && queue.Status.State == v1beta1.QueueStateOpen && len(scheduler.Shortages(plain(g), held, queue.Spec.Capability)) == 0 {
			held = scheduler.Sum(held, plain(g))
			if err := r.setPhase(ctx, g, v1beta1.PodGroupInqueue); err != nil {
				return err
			}
		}
	}
	return nil
}

// phaseOf is what the group's pods make of it, and what they take.
func (r *volcanoRules) phaseOf(s *sight, g *v1beta1.PodGroup) (v1beta1.PodGroupPhase, corev1.ResourceList) {
	placed, over, used := 0, 0, corev1.ResourceList{}
	for i := range s.pods {
		pod := &s.pods[i]
		if pod.Namespace != g.Namespace || pod.Annotations[v1beta1.KubeGroupNameAnnotationKey] != g.Name || pod.Spec.NodeName == "" {
			continue
		}
		if placed++; ended(pod) {
			over++
		} else {
			used = scheduler.Sum(used, requests(pod))
		}
	}
	switch {
	case placed > 0 && placed == over:
		return v1beta1.PodGroupCompleted, used
	case placed > 0:
		return v1beta1.PodGroupRunning, used
	case g.Status.Phase == v1beta1.PodGroupInqueue:
		return v1beta1.PodGroupInqueue, used
	}
	return v1beta1.PodGroupPending, used
}

// plain is what the group asks for by the names that queues use.
func plain(g *v1beta1.PodGroup) corev1.ResourceList {
	asked := corev1.ResourceList{}
	if g.Spec.MinResources != nil {
		for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
			asked[name] = (*g.Spec.MinResources)[name]
		}
	}
	return asked
}

func (r *volcanoRules) setPhase(ctx context.Context, g *v1beta1.PodGroup, phase v1beta1.PodGroupPhase) error {
	return r.patchStatus(ctx, g, func() { g.Status.Phase = phase })
}

func (r *volcanoRules) groupOf(pod *corev1.Pod) *v1beta1.PodGroup {
	return r.groups[client.ObjectKey{Namespace: pod.Namespace, Name: pod.Annotations[v1beta1.KubeGroupNameAnnotationKey]}]
}

func (r *volcanoRules) verdict(s *sight, pod *corev1.Pod) judgement {
	group := r.groupOf(pod)
	if group == nil {
		return judgement{wait: true}
	}
	used := corev1.ResourceList{}
	for i := range s.pods {
		other := &s.pods[i]
		if g := r.groupOf(other); g != nil && g.Spec.Queue == group.Spec.Queue && other.Spec.NodeName != "" && !ended(other) {
			used = scheduler.Sum(used, requests(other))
		}
	}
	queue := r.queues[group.Spec.Queue]
	full := queue != nil && len(scheduler.Shortages(requests(pod), used, queue.Spec.Capability)) > 0
	if full || group.Status.Phase == v1beta1.PodGroupPending || group.Status.Phase == "" {
		return judgement{wait: true, message: "pod group is not ready, 1 Pending, 1 minAvailable; Pending: 1 Unschedulable"}
	}
	return judgement{}
}

// volcanoReckons reads the group's minResources.
func volcanoReckons(_ context.Context, _ client.Client, _ *corev1.Pod, objects []unstructured.Unstructured) (corev1.ResourceList, error) {
	if len(objects) != 1 {
		return nil, fmt.Errorf("%d groups", len(objects))
	}
	group, err := scheduler.As[v1beta1.PodGroup](&objects[0])
	if err != nil {
		return nil, err
	}
	return plain(group), nil
}

func volcanoSubject(c *cluster, tier conformance.Tier) conformance.Subject {
	e := &volcano{cluster: c}
	if tier == conformance.StandIn {
		e.stand = &standIn{cluster: c, name: "volcano", rules: &volcanoRules{volcano: e}}
	}
	s := conformance.Subject{
		Tier: tier, Scheduler: "volcano", Settings: settings("volcano"), Environment: e,
		API: "scheduling.volcano.sh", Silent: scheduler.ReasonWaitingForScheduler,
		// Says is empty: where the numbers of the queue show that it is full, the message has them and none of Volcano's words.
		Full:   []scheduler.Reason{scheduler.ReasonWaitingForQuota, scheduler.ReasonWaitingForCapacity},
		TooBig: scheduler.ReasonExceedsQueueCapacity, MissingQueue: scheduler.ReasonQueueNotFound, ClosedQueue: scheduler.ReasonQueueClosed,
		QueuesFirst: true, DriverStays: true, Reckons: volcanoReckons, Lowers: true, DoesNotApply: map[int]string{25: orderIsTheirs},
		QueueMark: scheduler.PodKey{Part: scheduler.PodAnnotation, Key: v1beta1.QueueNameAnnotationKey},
		OwnGroup:  scheduler.PodKey{Part: scheduler.PodAnnotation, Key: v1beta1.KubeGroupNameAnnotationKey},
		TakesBack: `{"executorGang":true}`, Alone: []int{42},
		Spares: `{"executorsPreemptable":false}`, Yields: `{"driverPreemptable":true,"executorsPreemptable":false}`,
	}
	if tier == conformance.StandIn {
		s.DoesNotApply[42], s.DoesNotApply[44] = takesNoPods, takesNoPods
	}
	return s
}
