// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/firesteel-dev/firesteel/internal/spark"
)

// UsersMarks are the values that users gave a label or annotation of the pods of either role, sorted: a group of their own that the
// pods belong to. A plugin that groups pods by this key leaves them there and makes no group.
func UsersMarks(a Attempt, key PodKey) []string {
	var values []string
	for _, traits := range []spark.PodAttributes{a.PodSets.DriverAttributes, a.PodSets.ExecutorAttributes} {
		marks := traits.Labels
		if key.Part == PodAnnotation {
			marks = traits.Annotations
		}
		if value := marks[key.Key]; value != "" && !slices.Contains(values, value) {
			values = append(values, value)
		}
	}
	slices.Sort(values)
	return values
}

// UsersGroups are the groups of users' own by UsersMarks, as objects.
func UsersGroups(a Attempt, key PodKey, kind schema.GroupVersionKind) []Ref {
	names := UsersMarks(a, key)
	refs := make([]Ref, 0, len(names))
	for _, name := range names {
		refs = append(refs, Ref{GroupVersionKind: kind, Namespace: a.App.Namespace, Name: name})
	}
	return refs
}

// ReadRefs asks for objects.
func ReadRefs(refs []Ref) []Read {
	reads := make([]Read, 0, len(refs))
	for _, ref := range refs {
		reads = append(reads, ref.Read())
	}
	return reads
}

// AdmitToUsersGroups is the answer for an attempt whose pods belong to groups of the user's own: it starts when they exist, and
// their scheduler decides about the rest. Those that are created with the driver need not exist. own is the group that the plugin would
// have made: it must not exist beside them.
func AdmitToUsersGroups(a Attempt, groups []Ref, own Ref, s Snapshot) Admission {
	var missing, names []string
	for _, group := range groups {
		names = append(names, group.Name)
		if !s.Exists(group) && !slices.Contains(a.Made, group) {
			missing = append(missing, group.Name)
		}
	}
	answer := Admission{
		Verdict: Admit, Reason: ReasonAdmitted, Group: &groups[0],
		Message: fmt.Sprintf("the pods belong to %s %s, which the application names itself", own.Kind, strings.Join(names, " and ")),
	}
	if s.Exists(own) {
		answer.Delete = []Ref{own}
	}
	if len(missing) > 0 {
		answer.Verdict, answer.Reason, answer.RetryAfter = Wait, ReasonPodGroupNotFound, missingRetry
		answer.Message = fmt.Sprintf("%s %s does not exist; create it, or remove its name from the labels and annotations of the pods",
			own.Kind, strings.Join(missing, " and "))
	}
	return answer
}
