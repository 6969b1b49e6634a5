// SPDX-License-Identifier: Apache-2.0

package volcano

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// waitRetry is the interval of checks for changes that neither the group nor the queue's spec shows: the queue's usage, its events, and the absence of
// events. They change messages only and admit nothing.
const waitRetry = 5 * time.Minute

// Admit applies the group, and admits the attempt when Volcano has admitted the group. A group that its queue cannot accept is deleted.
func (Plugin) Admit(a scheduler.Attempt, s scheduler.Snapshot) (scheduler.Admission, error) {
	if missing, ok := scheduler.MissingPriorityClass(a, s); ok {
		return held(a, s, missing), nil
	}
	if groups := usersGroups(a); len(groups) > 0 {
		return toUsersGroups(a, groups, s)
	}
	all := queuesOf(s)
	if wrong, ok := all.check(a); ok {
		return held(a, s, wrong), nil
	}
	whole := wholeDemand(a)
	full, roomy, err := all.fits(a, whole.requests)
	if err != nil {
		return scheduler.Admission{}, err
	}
	if full.Verdict == scheduler.Reject {
		return held(a, s, full), nil
	}
	wanted, err := group(a, whole, 0)
	if err != nil {
		return scheduler.Admission{}, err
	}
	ref := groupOf(a)
	var answer scheduler.Admission
	switch phase := phaseOf(s[ref.Read()]); {
	case phase == "":
		answer = notSeen(a)
	case phase != string(v1beta1.PodGroupPending):
		answer = scheduler.Admission{Verdict: scheduler.Admit, Reason: scheduler.ReasonAdmitted,
			Message: fmt.Sprintf("queue %s has reserved capacity for the whole %s", a.Queue, a.Word(spark.WordApplication))}
		if answer.Warning, err = all.growth(a); answer.Warning == "" {
			answer.Warning = noGang(a)
		}
	case !roomy:
		answer = full
	default:
		answer, err = pending(a, s, all[a.Queue], whole)
	}
	if answer.Verdict == scheduler.Wait {
		answer = unlessSilent(a, s, answer)
		answer.RetryAfter = waitRetry
	}
	answer.Group, answer.Apply = &ref, []*unstructured.Unstructured{wanted}
	return answer, err
}

// toUsersGroups admits the attempt to the user's groups. It refuses groups whose queues the namespace may not use.
func toUsersGroups(a scheduler.Attempt, groups []scheduler.Ref, s scheduler.Snapshot) (scheduler.Admission, error) {
	for _, ref := range groups {
		group, err := scheduler.As[v1beta1.PodGroup](s[ref.Read()])
		if err != nil {
			return scheduler.Admission{}, err
		}
		if group == nil {
			continue
		}
		if queue := cmp.Or(group.Spec.Queue, defaultQueue); !a.MayUse(queue) {
			return held(a, s, scheduler.Admission{
				Verdict: scheduler.Reject, Reason: scheduler.ReasonQueueForbidden, Reversible: true,
				Message: fmt.Sprintf("PodGroup %s is in queue %q, which may not be used from namespace %q; %s",
					ref.Name, queue, a.App.Namespace, scheduler.Usable(a.UsableQueues)),
			}), nil
		}
	}
	return scheduler.AdmitToUsersGroups(a, groups, groupOf(a), s), nil
}

// held returns the answer for an attempt that must not have a group now: it also deletes an existing group.
func held(a scheduler.Attempt, s scheduler.Snapshot, answer scheduler.Admission) scheduler.Admission {
	if ref := groupOf(a); s.Exists(ref) {
		answer.Delete = []scheduler.Ref{ref}
	}
	if answer.Verdict == scheduler.Wait && answer.RetryAfter == 0 {
		answer.RetryAfter = waitRetry
	}
	return answer
}

// noGang returns the warning for an application that requests a gang of executors without effect; "" otherwise.
func noGang(a scheduler.Attempt) string {
	if p, _ := parametersOf(a); p.ExecutorGang {
		return scheduler.NoGang(a)
	}
	return ""
}

func phaseOf(group *unstructured.Unstructured) string {
	if group == nil {
		return ""
	}
	phase, _, _ := unstructured.NestedString(group.Object, "status", "phase")
	return phase
}

// notSeen returns the answer for a group without a status, as every group is until the scheduler's next cycle.
func notSeen(a scheduler.Attempt) scheduler.Admission {
	return scheduler.Admission{
		Verdict: scheduler.Wait, Reason: scheduler.ReasonWaitingForScheduler,
		Message: fmt.Sprintf("waiting for Volcano to process PodGroup %s; if this lasts, check that its scheduler is running", a.ID),
	}
}

// pending returns the answer for a group that is not admitted although its queue seems to have room. The room may be reserved, or the nodes may be full.
// Volcano does not report reservations, so the message shows the queue's reported numbers.
func pending(a scheduler.Attempt, s scheduler.Snapshot, own *unstructured.Unstructured, whole demand) (scheduler.Admission, error) {
	queue, err := scheduler.As[v1beta1.Queue](own)
	if err != nil {
		return scheduler.Admission{}, err
	}
	message := fmt.Sprintf("waiting for capacity in queue %s: %s", a.Queue, scheduler.Asking(whole.requests))
	if len(queue.Spec.Capability) > 0 {
		message += "; the queue has " + scheduler.Allocated(queue.Status.Allocated, queue.Spec.Capability)
	}
	if words := eventMessage(s.Events(groupEvents(a), func(group string) bool { return group == a.ID })); words != "" {
		message += "; " + words
	}
	return scheduler.Admission{Verdict: scheduler.Wait, Reason: scheduler.ReasonWaitingForCapacity, Message: message}, nil
}

// unlessSilent returns the given answer for a waiting group while Volcano writes events. Once Volcano is silent, its earlier reports are outdated and are
// replaced.
func unlessSilent(a scheduler.Attempt, s scheduler.Snapshot, answer scheduler.Admission) scheduler.Admission {
	group := s[groupOf(a).Read()]
	if phaseOf(group) != string(v1beta1.PodGroupPending) {
		return answer
	}
	if silence := s.Silence(voice(a), group.GetCreationTimestamp().Time, a.Now); silence != "" {
		answer.Reason, answer.Message = scheduler.ReasonWaitingForScheduler, answer.Message+"; "+silence
	}
	return answer
}

// eventMessage returns the scheduler's last message about a group without pods. It skips warnings: every group without pods has one, admitted or not, and
// warnings contain raw Go values.
func eventMessage(events []scheduler.ObjectEvent) string {
	words := ""
	for _, e := range events {
		if !e.Warns() && e.Reason == string(v1beta1.PodGroupUnschedulableType) && !strings.Contains(e.Message, "map[") {
			words = e.Message
		}
	}
	return words
}
