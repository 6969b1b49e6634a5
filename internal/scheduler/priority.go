// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// PriorityClassKind is Kubernetes' PriorityClass.
var PriorityClassKind = schema.GroupVersionKind{Group: "scheduling.k8s.io", Version: "v1", Kind: "PriorityClass"}

// missingRetry is how often a missing PriorityClass is looked for: it is not watched, because one GET now and then for
// the few applications that name a wrong one is cheaper than a watch for all.
const missingRetry = 10 * time.Second

// ReadPriorityClass asks for the PriorityClass that the attempt names, if it names one. An operator without rights in the
// whole cluster may not read it; the API server then refuses the pods.
func ReadPriorityClass(a Attempt) []Read {
	if a.PriorityClass == "" {
		return nil
	}
	return []Read{{GroupVersionKind: PriorityClassKind, Name: a.PriorityClass, Optional: true}}
}

// MissingPriorityClass is the answer for an attempt whose PriorityClass does not exist: the API server would refuse its
// pods.
func MissingPriorityClass(a Attempt, s Snapshot) (Admission, bool) {
	if reads := ReadPriorityClass(a); len(reads) == 0 || s[reads[0]] != nil {
		return Admission{}, false
	}
	return Admission{
		Verdict:    Wait,
		Reason:     ReasonPriorityClassNotFound,
		Message:    fmt.Sprintf("%s: PriorityClass %q does not exist; create it or name another", a.Field(FieldPriorityClass), a.PriorityClass),
		RetryAfter: missingRetry,
	}, true
}

// DecoratePriorityClass puts the attempt's PriorityClass on both roles, where the role has none of its own. A plugin that
// calls it claims PodPriorityClass.
func DecoratePriorityClass(a Attempt, d *Decoration) {
	if d.Driver.PriorityClassName == "" {
		d.Driver.PriorityClassName = a.PriorityClass
	}
	if d.Executor.PriorityClassName == "" {
		d.Executor.PriorityClassName = a.PriorityClass
	}
}

// SetIn sets an entry of a map that may not exist yet.
func SetIn(target *map[string]string, key, value string) {
	if *target == nil {
		*target = map[string]string{}
	}
	(*target)[key] = value
}
