// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/firesteel-dev/firesteel/internal/spark"
)

// UsersMarks returns the users' values of a label or annotation on the pods of either role, sorted. The values name groups that the users create themselves.
// A plugin that groups pods by this key keeps the values and creates no group.
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

// UsersGroups returns the groups named by UsersMarks, as objects.
func UsersGroups(a Attempt, key PodKey, kind schema.GroupVersionKind) []Ref {
	names := UsersMarks(a, key)
	refs := make([]Ref, 0, len(names))
	for _, name := range names {
		refs = append(refs, Ref{GroupVersionKind: kind, Namespace: a.App.Namespace, Name: name})
	}
	return refs
}

// ReadRefs returns a read of each object.
func ReadRefs(refs []Ref) []Read {
	reads := make([]Read, 0, len(refs))
	for _, ref := range refs {
		reads = append(reads, ref.Read())
	}
	return reads
}

// AdmitToUsersGroups answers for an attempt whose pods are in the user's own groups. It starts when the groups exist, and their scheduler decides the rest.
// Groups that are created together with the driver need not exist yet. own is the group that the plugin would have created; it must not exist.
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
		Message: fmt.Sprintf("the pods belong to %s %s, which the %s names itself", own.Kind, strings.Join(names, " and "), a.Word(spark.WordApplication)),
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
