// SPDX-License-Identifier: Apache-2.0

package volcano

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// evictReason is Volcano's reason in the condition Ready of an evicted pod.
const evictReason = "Evict"

// annotationHolds marks a group whose reservation was lowered.
const annotationHolds = "firesteel.dev/holds"

// ObserveReads returns the read of the group and, while the driver waits, of Volcano's events about the groups of the namespace.
func (Plugin) ObserveReads(a scheduler.Attempt, f scheduler.PodStatuses) []scheduler.Read {
	reads := []scheduler.Read{groupOf(a).Read()}
	if f.Driver.Waits() {
		reads = append(reads, groupEvents(a))
	}
	return reads
}

// Observe reads the pods, distinguishes reclaim from preemption, and keeps the group in existence: Volcano silently ignores pods whose group is missing.
func (Plugin) Observe(a scheduler.Attempt, s scheduler.Snapshot, f scheduler.PodStatuses) (scheduler.Observation, error) {
	o := scheduler.Pods(a, f)
	if o.Stage == scheduler.StageEvicted {
		return reclaimed(a, f, o), nil
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

// silent refines the wait of a driver for a node: Volcano reported a reason and then became silent. It is not used after the driver runs, because Volcano
// then writes nothing about the group while executors wait.
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

// reclaimed refines an eviction. DisruptionTarget always says preemption; only the condition Ready has the true reason.
func reclaimed(a scheduler.Attempt, f scheduler.PodStatuses, o scheduler.Observation) scheduler.Observation {
	ready := f.Driver.Condition(corev1.PodReady)
	if ready.Status != corev1.ConditionFalse || ready.Reason != evictReason {
		return o
	}
	if strings.HasSuffix(ready.Message, "because of reclaim") {
		o.Reason = scheduler.ReasonReclaimed
	}
	o.Message = fmt.Sprintf("the %s was evicted: %s", a.Word(spark.WordDriver), ready.Message)
	o.Eviction = &scheduler.Eviction{Reason: o.Reason, By: "Volcano"}
	return o
}

func ended(p *scheduler.PodStatus) bool {
	return p.Phase == corev1.PodSucceeded || p.Phase == corev1.PodFailed
}

// started reports whether the initial executors run or have run. A lowered group stays lowered: otherwise it would request room for executors that ended.
// Executors need not run at the same moment, because dynamic allocation deletes idle ones. Dynamic allocation may also need fewer executors before all were
// created; then no new executor appears for a while. The duration is the time until this is certain; 0 if time does not matter. Spark numbers its executors
// from 1.
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
	case a.PodSets.Min == a.PodSets.Max: // without dynamic allocation all executors are created
		return false, 0
	}
	left := lastCreated(f).Add(scheduler.Patience).Sub(f.Now)
	return left <= 0, max(0, left)
}

// lastCreated returns when the newest of the pods was created.
func lastCreated(f scheduler.PodStatuses) time.Time {
	last := f.Driver.CreatedAt
	for i := range f.Executors {
		if at := f.Executors[i].CreatedAt; at.After(last) {
			last = at
		}
	}
	return last
}

// demand is the room that a group requests.
type demand struct{ requests, limits corev1.ResourceList }

// wholeDemand returns the demand of the driver and all initial executors.
func wholeDemand(a scheduler.Attempt) demand {
	s := a.PodSets
	return demand{requests: a.Total(), limits: scheduler.Sum(s.Driver.Limits, scheduler.Times(s.Executor.Limits, int64(s.Initial)))}
}

// driverDemand returns the demand of the driver alone.
func driverDemand(a scheduler.Attempt) demand {
	return demand{requests: a.PodSets.Driver.Requests, limits: a.PodSets.Driver.Limits}
}

// minResources names each amount twice: with the plain name for nodes and queues, and with the name of ResourceQuotas for Volcano's plugin resourcequota.
// Each check ignores the names of the other.
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
