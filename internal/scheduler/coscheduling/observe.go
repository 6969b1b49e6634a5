// SPDX-License-Identifier: Apache-2.0

package coscheduling

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

// Annotations of a group. They hold the times (RFC 3339) when it was lowered to the driver's room or to one member, and when it was last nudged.
const (
	annotationLowered = "firesteel.dev/lowered-at"
	annotationNudged  = "firesteel.dev/nudged-at"
)

// ObserveReads asks for the group.
func (Plugin) ObserveReads(a scheduler.Attempt, _ scheduler.PodStatuses) []scheduler.Read {
	return []scheduler.Read{groupOf(a).Read()}
}

// Observe reads the pods and maintains the group. The phase of the group does not describe the application, so it is not read.
//
// After the driver has a node, the group is lowered to the driver's room. Otherwise a late or replaced executor would need the room of the whole application.
// A complete gang of executors is lowered to one member. Otherwise a late executor would wait for as many others as at the start.
//
// The scheduler does not requeue the pods of a group when other pods end, and it evaluates a changed group by its old spec. Any later change of any group
// requeues the pods of all groups. So a group with waiting pods is nudged (an annotation changes) some time after it was lowered. After room was freed, the
// groups at the front of the line are nudged, which requeues all waiting pods. Several groups are nudged, because the first may be broken. They are nudged
// twice, because the scheduler watches groups and pods separately and may see a nudge before the end of the pods.
func (Plugin) Observe(a scheduler.Attempt, s scheduler.Snapshot, f scheduler.PodStatuses) (scheduler.Observation, error) {
	o := scheduler.Pods(a, f)
	switch o.Stage {
	case scheduler.StageQueued, scheduler.StageShort, scheduler.StagePlaced, scheduler.StageReserving:
	case scheduler.StageEvicted, scheduler.StageRefused, scheduler.StageGone:
		return o, nil
	}
	theirs := len(usersGroups(a)) > 0
	if theirs && o.Stage == scheduler.StageShort {
		o = scheduler.Executors(a, f, scheduler.ReasonWaitingForCapacity, member(f))
	}
	if f.Driver.Deleting || f.Driver.Phase == corev1.PodSucceeded || f.Driver.Phase == corev1.PodFailed || theirs {
		return o, nil
	}
	p, _ := parametersOf(a)
	care, retry := careOf(a, p, s[groupOf(a).Read()], f, o.Stage)
	if o.Stage == scheduler.StageShort && gang(a, p) > 0 && care.lowered.IsZero() {
		o = scheduler.Executors(a, f, scheduler.ReasonWaitingForGang, member(f))
	}
	wanted, err := group(a, p, care)
	if err != nil {
		return scheduler.Observation{}, err
	}
	o.Apply, o.RetryAfter = []*unstructured.Unstructured{wanted}, scheduler.Sooner(o.RetryAfter, retry)
	return o, nil
}

// member returns when the scheduler processed a pod that may be in a gang. A member that found room waits for the other members and has no condition. So once
// any pod has a condition, a pod without a condition may have been processed, too.
func member(f scheduler.PodStatuses) func(*scheduler.PodStatus) (time.Time, bool) {
	return func(p *scheduler.PodStatus) (time.Time, bool) {
		at, is := scheduler.Processed(p)
		if is && p.Waits() {
			at = f.Now
		}
		return at, is
	}
}

// care records when a group was lowered and last nudged; zero for never.
type care struct{ lowered, nudged time.Time }

func (c care) annotations() map[string]string {
	out := map[string]string{}
	for key, at := range map[string]time.Time{annotationLowered: c.lowered, annotationNudged: c.nudged} {
		if !at.IsZero() {
			out[key] = at.UTC().Format(time.RFC3339)
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// careOf returns the changes of the group, including the changes that are due now, and the time until the next change.
func careOf(a scheduler.Attempt, p parameters, group *unstructured.Unstructured, f scheduler.PodStatuses, stage scheduler.Stage) (care, time.Duration) {
	var c care
	if group != nil {
		c = care{lowered: timeOf(group, annotationLowered), nudged: timeOf(group, annotationNudged)}
	}
	if c.lowered.IsZero() && met(a, p, f) {
		c.lowered = f.Now
		return c, settle
	}
	if stage == scheduler.StagePlaced {
		return c, 0
	}
	due, wanted := nextNudge(c, f)
	switch {
	case !wanted:
	case due.After(f.Now):
		return c, due.Sub(f.Now)
	default:
		c.nudged = f.Now
	}
	if f.Ahead >= scheduler.Front {
		return c, flush // the application is observed when it reaches the front
	}
	return c, pause // no event of this application reports room freed by others
}

// met reports whether the pods got the room that the group waited for. The scheduler places the executors of a gang only when all of them have a node.
func met(a scheduler.Attempt, p parameters, f scheduler.PodStatuses) bool {
	if gang(a, p) > 0 {
		return slices.ContainsFunc(f.Executors, func(e scheduler.PodStatus) bool { return e.Node != "" })
	}
	return f.Driver.Node != "" && a.PodSets.Initial > 0
}

// nextNudge returns when waiting pods must be requeued; ok is false if they need not be.
func nextNudge(c care, f scheduler.PodStatuses) (time.Time, bool) {
	settled := c.lowered.Add(settle)
	if !c.lowered.IsZero() && c.nudged.Before(settled) {
		return settled, true
	}
	if f.Ahead < scheduler.Front && c.nudged.Before(f.RoomMadeAt.Add(overtaken)) && f.RoomMadeAt.After(waitingSince(f)) {
		return later(c.nudged.Add(pause), f.RoomMadeAt), true
	}
	return time.Time{}, false
}

// waitingSince returns when the scheduler first found no room for a pod that still waits. The scheduler already considered any room that was freed earlier.
func waitingSince(f scheduler.PodStatuses) time.Time {
	var first time.Time
	pods := append([]scheduler.PodStatus{*f.Driver}, f.Executors...)
	for i := range pods {
		c := pods[i].Condition(corev1.PodScheduled)
		if at := c.LastTransitionTime.Time; c.Status == corev1.ConditionFalse && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	return first
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// timeOf reads a time from an annotation; zero if it is missing or invalid.
func timeOf(group *unstructured.Unstructured, annotation string) time.Time {
	at, err := time.Parse(time.RFC3339, group.GetAnnotations()[annotation])
	if err != nil {
		return time.Time{}
	}
	return at
}
