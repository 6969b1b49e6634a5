// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// readinessRetry is the interval of checks for an unavailable scheduler, in addition to the watch on its APIs.
const readinessRetry = 30 * time.Second

// Access is one permission that a plugin needs, with the fields of an access review.
type Access struct{ Group, Resource, Verb string }

// spared is the one permission that plugins may lack if the operator has no cluster-wide rights. Without it a missing PriorityClass is not detected, and the
// API server refuses the pods.
var spared = Access{Group: PriorityClassKind.Group, Resource: "priorityclasses", Verb: "get"}

// Accesses returns the required permissions of the plugin, in the order of its rules.
func (d Descriptor) Accesses() []Access {
	var out []Access
	for _, rule := range d.Rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					if access := (Access{Group: group, Resource: resource, Verb: verb}); access != spared {
						out = append(out, access)
					}
				}
			}
		}
	}
	return out
}

// Unready returns the answer of an unavailable plugin: an API is missing, or the operator lacks a permission. served reports whether the API server serves a
// kind; allowed reports whether the operator has a permission. ok is false if the plugin is available.
func (d Descriptor) Unready(served func(schema.GroupVersionKind) bool, allowed func(Access) bool) (answer Admission, ok bool) {
	absent := map[schema.GroupResource]bool{}
	for _, api := range d.Needs {
		if api.servedBy(served) {
			continue
		}
		if !api.Optional {
			return d.notReady(ReasonSchedulerNotInstalled, fmt.Sprintf("%s is not installed: the API server has no %s of %s %s; %s",
				d.Name, api.Kind, api.Group, strings.Join(api.Versions, " or "), api.Hint)), true
		}
		for _, version := range api.Versions {
			plural, singular := meta.UnsafeGuessKindToResource(api.WithVersion(version))
			absent[plural.GroupResource()], absent[singular.GroupResource()] = true, true
		}
	}
	for _, access := range d.Accesses() {
		if !absent[schema.GroupResource{Group: access.Group, Resource: access.Resource}] && !allowed(access) {
			return d.notReady(ReasonSchedulerForbidden, fmt.Sprintf("the operator may not %s %s; grant it that permission to use %s",
				access.Verb, access.qualified(), d.Name)), true
		}
	}
	return Admission{}, false
}

func (d Descriptor) notReady(reason Reason, message string) Admission {
	return Admission{Verdict: Unavailable, Reason: reason, Message: message, RetryAfter: readinessRetry}
}

// servedBy reports whether one of the versions is served.
func (a API) servedBy(served func(schema.GroupVersionKind) bool) bool {
	for _, version := range a.Versions {
		if served(a.WithVersion(version)) {
			return true
		}
	}
	return false
}

// qualified returns the resource in kubectl's notation.
func (a Access) qualified() string {
	if a.Group == "" {
		return a.Resource
	}
	return a.Resource + "." + a.Group
}
