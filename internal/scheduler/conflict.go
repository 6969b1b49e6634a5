// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"fmt"
	"maps"
	"slices"

	"github.com/firesteel-dev/firesteel/internal/spark"
)

// conflict finds pods that contradict the choice of the scheduler: the user set a key that is the plugin's to another
// value, or named another scheduler on the pods. A scheduler that the application itself chooses wins over a name on its
// pods, as it always has; one that is only a default does not silently overrule what somebody wrote.
func conflict(p Plugin, a Attempt) (Admission, bool, error) {
	d, err := call(p, "Decorate", func() (Decoration, error) {
		var d Decoration
		return d, p.Decorate(a, &d)
	})
	if err != nil {
		return Admission{}, false, err
	}
	roles := []struct {
		role    string
		traits  spark.Traits
		overlay spark.PodOverlay
	}{
		{spark.RoleDriver, a.Shapes.DriverTraits, d.Driver}, {spark.RoleExecutor, a.Shapes.ExecutorTraits, d.Executor},
	}
	name := p.Describe().SchedulerName
	for _, r := range roles {
		if other := r.traits.SchedulerName; name != "" && a.Source != SourceApplication && other != "" && other != name {
			return schedulerConflict(a, r.role, other), true, nil
		}
		if admission, ok := keyConflict(a, r.role, PodLabel, r.traits.Labels, r.overlay.Labels); ok {
			return admission, true, nil
		}
		if admission, ok := keyConflict(a, r.role, PodAnnotation, r.traits.Annotations, r.overlay.Annotations); ok {
			return admission, true, nil
		}
	}
	return Admission{}, false, nil
}

func schedulerConflict(a Attempt, role, other string) Admission {
	return Admission{
		Verdict: Reject, Reason: ReasonPodSchedulerNameConflict,
		Message: fmt.Sprintf("the %s pod names the scheduler %q, but %s is the default here (%s); remove that name, or write %s: %s to keep it",
			role, other, a.Scheduler, a.Source, a.Field(FieldScheduler), NoScheduler),
	}
}

func keyConflict(a Attempt, role string, part PodPart, theirs, ours map[string]string) (Admission, bool) {
	for _, key := range slices.Sorted(maps.Keys(ours)) {
		if value, set := theirs[key]; set && value != ours[key] {
			return Admission{
				Verdict: Reject, Reason: ReasonPodKeyConflict,
				Message: fmt.Sprintf("the %s pod has the %s %s: %q, which the scheduler plugin %s sets to %q; remove it", role, part, key, value, a.Scheduler, ours[key]),
			}, true
		}
	}
	return Admission{}, false
}
