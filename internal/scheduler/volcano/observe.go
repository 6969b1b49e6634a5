// SPDX-License-Identifier: Apache-2.0

package volcano

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

// evictReason is what Volcano writes into the condition Ready of a pod that it evicts.
const evictReason = "Evict"

// annotationHolds marks a group whose reservation was lowered.
const annotationHolds = "firesteel.dev/holds"

// ObserveReads asks for the group, and as long as the driver waits for what Volcano says about the groups of the namespace.
func (Plugin) ObserveReads(a scheduler.Attempt, f scheduler.PodStatuses) []scheduler.Read {
	reads := []scheduler.Read{groupOf(a).Read()}
	if f.Driver.Waits() {
		reads = append(reads, groupEvents(a))
	}
	return reads
}

// Observe reads the pods, distinguishes reclaim from preemption, and keeps the group in place: pods whose group is gone
// are left alone by Volcano without a word.
func (Plugin) Observe(a scheduler.Attempt, s scheduler.Snapshot, f scheduler.PodStatuses) (scheduler.Observation, error) {
	o := scheduler.Pods(f)
	if o.Stage == scheduler.StageEvicted {
		return reclaimed(f, o), nil
	}
	if f.Driver == nil || f.Driver.Deleting || ended(f.Driver) || len(usersGroups(a)) > 0 {
		return o, nil
	}
	o = silent(a, s, f, o)
	keep, gang, lower := wholeDemand(a), int32(0), false
	options, _ := parametersOf(a)
	if options.ExecutorGang && scheduler.ProgressOf(f).DriverRunning {
		gang = scheduler.GangSize(a)
	}
	if options.AfterStart == driverOnly {
		var again time.Duration
		if lower, again = started(a, f, s); lower {
			keep, gang = driverDemand(a), 0
		}
		o.RetryAfter = scheduler.Sooner(o.RetryAfter, again)
	}
	wanted, err := group(a, keep, gang)
	if err != nil {
		return scheduler.Observation{}, err
	}
	if lower {
		wanted.SetAnnotations(map[string]string{annotationHolds: driverOnly})
	}
	o.Apply = []*unstructured.Unstructured{wanted}
	return o, nil
}

// silent refines a driver that waits for a node: Volcano wrote why, and is not heard any more. About a group whose driver runs it writes
// nothing while executors wait.
func silent(a scheduler.Attempt, s scheduler.Snapshot, f scheduler.PodStatuses, o scheduler.Observation) scheduler.Observation {
	speaks := []v1beta1.PodGroupPhase{v1beta1.PodGroupPending, v1beta1.PodGroupInqueue, v1beta1.PodGroupUnknown}
	phase := v1beta1.PodGroupPhase(phaseOf(s[groupOf(a).Read()]))
	if o.Stage != scheduler.StageQueued || o.Reason != scheduler.ReasonWaitingForCapacity || !slices.Contains(speaks, phase) {
		return o
	}
	if silence := s.Silence(voice(a), f.Driver.CreatedAt, f.Now); silence != "" {
		o.Reason, o.Message = scheduler.ReasonWaitingForScheduler, o.Message+"; "+silence
	}
	return o
}

// reclaimed refines an eviction: DisruptionTarget says preemption in any case, the condition Ready says why.
func reclaimed(f scheduler.PodStatuses, o scheduler.Observation) scheduler.Observation {
	ready := f.Driver.Condition(corev1.PodReady)
	if ready.Status != corev1.ConditionFalse || ready.Reason != evictReason {
		return o
	}
	if strings.HasSuffix(ready.Message, "because of reclaim") {
		o.Reason = scheduler.ReasonReclaimed
	}
	o.Message = "the driver was evicted: " + ready.Message
	o.Eviction = &scheduler.Eviction{Reason: o.Reason, By: "Volcano"}
	return o
}

func ended(p *scheduler.PodStatus) bool {
	return p.Phase == corev1.PodSucceeded || p.Phase == corev1.PodFailed
}

// started is whether the initial executors run, or did so before: a group that has been lowered stays so, or it would ask
// for the room of executors that ended. They need not all run at one moment: dynamic allocation deletes those that are idle. It may
// also want fewer before all of them were created, which shows in none having come for a while. The duration is how long it may take
// until that is so; 0 if it does not depend on time. Spark numbers its executors from 1.
func started(a scheduler.Attempt, f scheduler.PodStatuses, s scheduler.Snapshot) (bool, time.Duration) {
	if group := s[groupOf(a).Read()]; group != nil && group.GetAnnotations()[annotationHolds] == driverOnly {
		return true, 0
	}
	waits := slices.ContainsFunc(f.Executors, func(e scheduler.PodStatus) bool {
		return e.Phase == corev1.PodPending && e.ExecutorID <= int64(a.PodSets.Initial)
	})
	p := scheduler.ProgressOf(f)
	switch {
	case waits || !p.DriverRunning:
		return false, 0
	case p.ExecutorsCreated >= a.PodSets.Initial:
		return true, 0
	case a.PodSets.Min == a.PodSets.Max: // without dynamic allocation all of them come
		return false, 0
	}
	left := lastCreated(f).Add(scheduler.Patience).Sub(f.Now)
	return left <= 0, max(0, left)
}

// lastCreated is when the newest of the pods was created.
func lastCreated(f scheduler.PodStatuses) time.Time {
	last := f.Driver.CreatedAt
	for i := range f.Executors {
		if at := f.Executors[i].CreatedAt; at.After(last) {
			last = at
		}
	}
	return last
}

// demand is the room that a group asks for.
type demand struct{ requests, limits corev1.ResourceList }

// wholeDemand is that of the driver and all initial executors.
func wholeDemand(a scheduler.Attempt) demand {
	if len(a.Resources) > 0 {
		return demand{requests: a.Total()}
	}
	s := a.PodSets
	return demand{requests: a.Total(), limits: scheduler.Sum(s.Driver.Limits, scheduler.Times(s.Executor.Limits, int64(s.Initial)))}
}

// driverDemand is that of the driver alone.
func driverDemand(a scheduler.Attempt) demand {
	return demand{requests: a.PodSets.Driver.Requests, limits: a.PodSets.Driver.Limits}
}

// minResources says everything twice: nodes and queues are compared by the plain names, and namespaces' ResourceQuotas
// (Volcano's plugin resourcequota) by theirs. Each check ignores the names of the other.
func (d demand) minResources() corev1.ResourceList {
	out := corev1.ResourceList{}
	for name, quantity := range d.requests {
		out[name] = quantity
		out[corev1.DefaultResourceRequestsPrefix+name] = quantity
	}
	for name, quantity := range d.limits {
		if !strings.Contains(string(name), "/") { // quotas do not count limits of extended resources
			out["limits."+name] = quantity
		}
	}
	return out
}
