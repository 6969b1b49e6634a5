// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"fmt"

	"github.com/firesteel-dev/firesteel/internal/spark"
)

// UserReader is a plugin whose scheduler reads the user from the pod. Users can set that value on their pods, too.
type UserReader interface {
	// OtherUser returns a key of a pod that names a user other than the given one, or a group without this user; found is false if there is none. If the given
	// user is unknown, any named user counts as another one.
	OtherUser(pod spark.PodAttributes, user User) (key PodKey, found bool)
}

// ApplicationReader is a plugin whose scheduler reads the application from the pod. Users can set that value on their pods, too. A pod that names an
// application of any namespace uses the queue, guarantees and limits of that application.
type ApplicationReader interface {
	// OtherApplication returns a key of a pod that names an application other than the attempt's; found is false if there is none.
	OtherApplication(pod spark.PodAttributes, a Attempt) (key PodKey, found bool)
}

// MarkConflict is a pod that its scheduler would attribute to another user or application.
type MarkConflict struct {
	// role and application are the words for the pod's role and for the application in messages.
	role, application, scheduler, value string
	key                                 PodKey
	// user is the creator of the application if the pod names another user; nil if the pod names another application.
	user *User
}

// ForeignMark finds pods of an attempt that name another user than the application's creator, or another application. It applies the rules of the scheduler
// that places the pods, which may not be the scheduler of p.
func (r *Registry) ForeignMark(p Plugin, a Attempt) (MarkConflict, bool) {
	for _, pod := range podsOf(a) {
		if name := p.Describe().SchedulerName; name != "" {
			pod.SchedulerName = name
		}
		placing := r.plugins[r.placing(pod.SchedulerName)].plugin
		if reader, ok := placing.(UserReader); ok {
			if key, found := reader.OtherUser(pod.PodAttributes, a.User); found {
				return pod.conflict(a, key, &a.User), true
			}
		}
		if reader, ok := placing.(ApplicationReader); ok && r.policy.OwnApplications {
			if key, found := reader.OtherApplication(pod.PodAttributes, a); found {
				return pod.conflict(a, key, nil), true
			}
		}
	}
	return MarkConflict{}, false
}

func (p rolePod) conflict(a Attempt, key PodKey, user *User) MarkConflict {
	value := p.Labels[key.Key]
	if key.Part == PodAnnotation {
		value = p.Annotations[key.Key]
	}
	return MarkConflict{a.Word(p.role), a.Word(spark.WordApplication), p.SchedulerName, value, key, user}
}

// Uncertain reports whether the conflict exists only because the creator is unknown.
func (c MarkConflict) Uncertain() bool { return c.user != nil && c.user.Name == "" }

func (c MarkConflict) what() string {
	whose := "that user's"
	if c.user == nil {
		whose = "a part of that application"
	}
	return fmt.Sprintf("the %s pod has the %s %s: %q, and the scheduler %s therefore counts it as %s", c.role, c.key.Part, c.key.Key, c.value, c.scheduler, whose)
}

// Problem describes the conflict and its correction.
func (c MarkConflict) Problem() string {
	switch {
	case c.user == nil:
		return c.what() + ", in any queue and namespace; remove it: each attempt is a separate application " +
			"(batchScheduler.applicationIDs of the operator's configuration)"
	case c.Uncertain():
		return c.what() + fmt.Sprintf(", but the creator of the %s is not recorded (recordSubmitter); remove it", c.application)
	}
	return c.what() + fmt.Sprintf(", not the creator of the %s (%s); remove it", c.application, c.user.Name)
}

// Assumption states which user must create the application, for an application whose creator is not known yet.
func (c MarkConflict) Assumption() string {
	return c.what() + fmt.Sprintf(": that user must create the %s, and must be recorded (recordSubmitter)", c.application)
}

// Admission returns the answer for an attempt with the conflict.
func (c MarkConflict) Admission() Admission {
	return Admission{Verdict: Reject, Reason: ReasonPodKeyConflict, Message: c.Problem()}
}
