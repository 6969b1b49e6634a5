// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"math/rand/v2"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/internal/spark"
)

// actor does one thing, if it can.
type actor func(*history) bool

// climate says how hostile a history is: how often each actor acts, and how likely trouble is at each call. Each
// history leaves some kinds of trouble out, since a cluster where everything happens at once hides what one alone does.
type climate struct {
	weights                             []int
	total                               int
	trouble, lostAnswer, refusal, crash float64
	// unheard is how likely an event wakes no operator.
	unheard float64
}

// hostile are all actors, with their usual weights. Those that are not always there can be left out.
var hostile = [...]struct {
	act      actor
	weight   int
	optional bool
}{
	{operate, 40, false},
	{deliver, 14, false},
	{kubelet, 10, false},
	{driver, 4, false},
	{collect, 5, false},
	{(*history).tick, 6, false},
	{user, 3, true},
	{userDeletesDriver, 1, true},
	{meddler, 2, true},
	{evictor, 2, true},
	{node, 2, true},
	{weather, 2, true},
	{killer, 3, true},
	{usurper, 2, true},
	{tamper, 2, true},
}

// fairActors are those that are left in fair weather.
var fairActors = []actor{operate, deliver, kubelet, driver, collect, node, closer}

func (h *history) drawClimate() climate {
	c := climate{weights: make([]int, len(hostile))}
	for i := range hostile {
		if !hostile[i].optional || h.rng.IntN(2) == 0 {
			c.weights[i] = hostile[i].weight
		}
		c.total += c.weights[i]
	}
	for _, p := range []*float64{&c.trouble, &c.lostAnswer, &c.crash} {
		if h.rng.IntN(2) == 0 {
			*p = 0.02 + 0.1*h.rng.Float64()
		}
	}
	if h.rng.IntN(8) == 0 {
		c.refusal = 0.1
	}
	if h.rng.IntN(4) == 0 {
		c.unheard = 0.2
	}
	return c
}

func (c *climate) draw(rng *rand.Rand) int {
	n := rng.IntN(c.total)
	for i, w := range c.weights {
		if n -= w; n < 0 {
			return i
		}
	}
	return 0
}

func byName(pods []*corev1.Pod) {
	slices.SortFunc(pods, func(a, b *corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
}

// operate lets an operator go on to its next API call, or begin its next reconcile. It may die there.
func operate(h *history) bool {
	if len(h.operators) == 0 {
		if h.rng.IntN(4) > 0 {
			return false
		}
		h.launch()
		return true
	}
	n := 0
	if len(h.operators) > 1 {
		n = h.rng.IntN(len(h.operators))
	}
	o := h.operators[n]
	if o.second != nil && o.second.due() && (!o.due() || h.rng.IntN(2) == 0) {
		o = o.second
	}
	if !o.due() {
		return false
	}
	if !h.fair && h.chance(h.climate.crash) {
		h.kill(n)
		return true
	}
	o.step()
	return true
}

func (h *history) kill(n int) {
	o := h.operators[n]
	h.stats.Crashes++
	if slices.ContainsFunc(o.controllers(), func(c *operator) bool { return c.busy }) {
		h.stats.MidReconcile++
	}
	if slices.ContainsFunc(o.controllers(), func(c *operator) bool { return c.busy && c.wrote > 0 && writes(c.asks) }) {
		h.stats.Between++
	}
	o.kill()
	h.operators = slices.Delete(h.operators, n, n+1)
}

// killer kills an operator whatever it does.
func killer(h *history) bool {
	if len(h.operators) == 0 {
		return false
	}
	h.kill(h.rng.IntN(len(h.operators)))
	return true
}

// usurper starts a second operator that believes to lead.
func usurper(h *history) bool {
	if len(h.operators) != 1 || h.invariants.renamed() {
		return false
	}
	h.launch()
	h.stats.TwoLeaders = 1
	return true
}

// deliver lets some changes of one kind reach one operator.
func deliver(h *history) bool {
	acted := false
	for _, o := range h.operators {
		if !o.watches && (h.fair || h.rng.IntN(2) == 0) {
			o.watch()
			acted = true
		}
		for _, kind := range watched {
			if kind == kindService && !o.watches {
				continue
			}
			n := o.cache.behind(kind)
			switch {
			case n == 0 || !h.fair && h.rng.IntN(3) == 0:
				continue
			case !h.fair:
				n = 1 + h.rng.IntN(n)
			}
			acted = o.deliver(kind, n) || acted
		}
	}
	return acted
}

// collect is the garbage collector: it deletes one object whose owners are gone, or whose owner waits for it to go.
func collect(h *history) bool {
	if !h.store.orphans {
		return false
	}
	for _, i := range sortedIDs(h.store.objects) {
		o := h.store.objects[i]
		if slices.Contains(o.GetFinalizers(), metav1.FinalizerDeleteDependents) && !h.hasDependents(o.GetUID()) {
			h.tell("collector", "%s has no dependents left", i)
			h.dropFinalizer(o, metav1.FinalizerDeleteDependents)
			return true
		}
		if o.GetDeletionTimestamp() == nil && h.abandoned(o) {
			h.tell("collector", "deletes %s", i)
			h.delete(o, client.PropagationPolicy(metav1.DeletePropagationBackground))
			return true
		}
	}
	h.store.orphans = slices.ContainsFunc(sortedIDs(h.store.objects), func(i id) bool { return h.store.objects[i].GetDeletionTimestamp() != nil })
	return false
}

func sortedIDs(objects map[id]client.Object) []id {
	all := make([]id, 0, len(objects))
	for i := range objects {
		all = append(all, i)
	}
	slices.SortFunc(all, func(a, b id) int { return strings.Compare(a.kind+a.name, b.kind+b.name) })
	return all
}

func (h *history) hasDependents(uid types.UID) bool {
	for _, o := range h.store.objects {
		for _, ref := range o.GetOwnerReferences() {
			if ref.UID == uid && ref.BlockOwnerDeletion != nil && *ref.BlockOwnerDeletion {
				return true
			}
		}
	}
	return false
}

// abandoned reports whether none of an object's owners is there to stay.
func (h *history) abandoned(o client.Object) bool {
	refs := o.GetOwnerReferences()
	for _, ref := range refs {
		i, exists := h.store.uids[ref.UID]
		if exists && !slices.Contains(h.store.objects[i].GetFinalizers(), metav1.FinalizerDeleteDependents) {
			return false
		}
	}
	return len(refs) > 0
}

func (h *history) dropFinalizer(o client.Object, name string) {
	next := o.DeepCopyObject().(client.Object)
	next.SetFinalizers(slices.DeleteFunc(slices.Clone(next.GetFinalizers()), func(f string) bool { return f == name }))
	h.store.put(next)
	if len(next.GetFinalizers()) == 0 && next.GetDeletionTimestamp() != nil {
		h.store.remove(idOf(next))
	}
}

// evictor takes pods off their nodes by the eviction API, as a drain or a preemption does.
func evictor(h *history) bool {
	p := h.pick(func(p *corev1.Pod) bool { return p.Spec.NodeName != "" && p.DeletionTimestamp == nil && !ended(p) })
	if p == nil {
		return false
	}
	switch h.rng.IntN(3) {
	case 0:
		h.evict(p)
	case 1:
		h.drain(p)
	default:
		h.removePod(p, "drain")
	}
	return true
}

// drain is the eviction API: it says so in a condition and deletes the pod.
func (h *history) drain(p *corev1.Pod) {
	status := *p.Status.DeepCopy()
	status.Conditions = []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "EvictionByEvictionAPI", Message: "Eviction API: evicting"}}
	h.setStatus(p, p.Spec.NodeName, status)
	h.removePod(h.store.pod(p.Name), "drain")
}

// node loses a node with a pod on it. Its pods are deleted after a while, and go when the node is back or given up.
func node(h *history) bool {
	if p := h.pick(func(p *corev1.Pod) bool { return h.lost[string(p.UID)] }); p != nil {
		switch {
		case p.DeletionTimestamp == nil && !ended(p):
			h.removePod(p, "node")
		default:
			h.tell("node", "answers again or is given up")
			delete(h.lost, string(p.UID))
		}
		return true
	}
	p := h.pick(func(p *corev1.Pod) bool { return running(p) && !h.fair })
	if p == nil {
		return false
	}
	h.tell("node", "with pod %s does not answer any more", p.Name)
	h.lost[string(p.UID)] = true
	return true
}

// meddler puts a pod of its own where the driver's is to be, with or without the operator's labels, and takes it away.
func meddler(h *history) bool {
	name := h.driverName()
	p := h.store.pod(name)
	switch {
	case p == nil:
		notOwned := foreignPod()
		notOwned.Name = name
		if last := h.invariants.lastDriver(); last != nil && h.rng.IntN(2) == 0 {
			notOwned.Labels = last.labels
		}
		h.tell("meddler", "creates pod %s, labels %d", name, len(notOwned.Labels))
		h.store.create(notOwned, h.second())
	case !h.ours(p) && len(p.OwnerReferences) == 0 && p.DeletionTimestamp == nil:
		h.removePod(p, "meddler")
	default:
		return false
	}
	return true
}

// foreignPod is a pod under the driver's name that is somebody else's.
func foreignPod() *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: appName + "-driver"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: spark.DriverContainerName}}},
		Status:     corev1.PodStatus{Phase: corev1.PodPending},
	}
}

// weather changes what the API server allows.
func weather(h *history) bool {
	if h.rng.IntN(2) == 0 {
		h.quotaFull = !h.quotaFull
		h.tell("weather", "quota full: %t", h.quotaFull)
	} else {
		h.noRights = !h.noRights
		h.tell("weather", "operator without rights: %t", h.noRights)
	}
	return true
}

// clearUp makes fair weather: nobody is hostile any more, and what was in the way is gone.
func (h *history) clearUp() {
	h.tell("weather", "is fair from now on")
	h.fair, h.quotaFull, h.noRights = true, false, false
	if len(h.operators) == 0 {
		h.launch()
	}
	if p := h.store.pod(h.driverName()); p != nil && len(p.OwnerReferences) == 0 && p.DeletionTimestamp == nil {
		h.removePod(p, "meddler")
	}
	if app := h.store.app(); app != nil && slices.Contains(app.Finalizers, foreignFinalizer) {
		h.dropFinalizer(app, foreignFinalizer)
	}
	h.drawFarewells()
	h.thoughts = h.drawThoughts()
	h.decideEnd()
	if h.other != nil {
		h.other.decideEnd()
	}
}
