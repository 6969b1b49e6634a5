// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"fmt"

	"github.com/firesteel-dev/firesteel/internal/spark"
)

// UserReader is a plugin whose scheduler reads from a pod which user it belongs to, whoever wrote it there.
type UserReader interface {
	// OtherUser returns a key of a pod that names another user than the given one, or a group that this user is not in; found is false if
	// there is none. A user without a name is not known: whatever is named is another one.
	OtherUser(pod spark.PodAttributes, user User) (key PodKey, found bool)
}

// UserConflict is a pod that names another user as its owner.
type UserConflict struct {
	role, scheduler, value string
	key                    PodKey
	user                   User
}

// OtherUser finds pods of an attempt that name another user than the one who created the application, by the scheduler that takes them, which need not
// be that of the plugin.
func (r *Registry) OtherUser(p Plugin, a Attempt) (UserConflict, bool) {
	for _, pod := range []rolePod{{spark.RoleDriver, a.PodSets.DriverAttributes}, {spark.RoleExecutor, a.PodSets.ExecutorAttributes}} {
		if name := p.Describe().SchedulerName; name != "" {
			pod.SchedulerName = name
		}
		reader, ok := r.plugins[r.placing(pod.SchedulerName)].plugin.(UserReader)
		if !ok {
			continue
		}
		if key, found := reader.OtherUser(pod.PodAttributes, a.User); found {
			value := pod.Labels[key.Key]
			if key.Part == PodAnnotation {
				value = pod.Annotations[key.Key]
			}
			return UserConflict{pod.role, pod.SchedulerName, value, key, a.User}, true
		}
	}
	return UserConflict{}, false
}

// Uncertain reports whether it is only not known who created the application.
func (c UserConflict) Uncertain() bool { return c.user.Name == "" }

func (c UserConflict) what() string {
	return fmt.Sprintf("the %s pod has the %s %s: %q, by which the scheduler %s counts it as that user's", c.role, c.key.Part, c.key.Key, c.value, c.scheduler)
}

// Problem says what is wrong, and what would be right.
func (c UserConflict) Problem() string {
	if c.Uncertain() {
		return c.what() + ", and who created the application is not recorded (recordSubmitter); remove it"
	}
	return c.what() + fmt.Sprintf(", which is not who created the application (%s); remove it", c.user.Name)
}

// Assumption says what must be true if it is not known who will have created the application.
func (c UserConflict) Assumption() string {
	return c.what() + ": that must be who creates the application, and it must be recorded (recordSubmitter)"
}

// Admission is the answer for an attempt with the conflict.
func (c UserConflict) Admission() Admission {
	return Admission{Verdict: Reject, Reason: ReasonPodKeyConflict, Message: c.Problem()}
}
