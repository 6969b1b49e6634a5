// SPDX-License-Identifier: Apache-2.0

// Package kube is the plugin for plain Kubernetes: whatever scheduler the cluster has places the pods one by one, and
// nothing holds an application back but a PriorityClass that does not exist.
package kube

import (
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

// Name is what users write in spec.batchScheduler to get this plugin.
const Name = "kube"

// Plugin needs no configuration.
type Plugin struct{}

var _ scheduler.Plugin = Plugin{}

// Describe introduces the plugin. It sets no scheduler name: the pods keep the one that the user chose, if any.
func (Plugin) Describe() scheduler.Descriptor {
	return scheduler.Descriptor{
		Name: Name, NoBatchScheduler: true,
		Reads:       []schema.GroupVersionKind{scheduler.PriorityClassKind},
		Rules:       []rbacv1.PolicyRule{{APIGroups: []string{scheduler.PriorityClassKind.Group}, Resources: []string{"priorityclasses"}, Verbs: []string{"get"}}},
		ManagedKeys: []scheduler.PodKey{{Part: scheduler.PodPriorityClass}},
	}
}

// Validate finds nothing that must stop an application: manifests that name a queue without a batch scheduler have always
// run. There are no parameters.
func (Plugin) Validate(a scheduler.Attempt) field.ErrorList {
	return scheduler.DecodeParameters(a, &struct{}{})
}

// Reads asks for the PriorityClass that the application names.
func (Plugin) Reads(a scheduler.Attempt) []scheduler.Read { return scheduler.ReadPriorityClass(a) }

// Admit admits the attempt unless its PriorityClass is missing.
func (Plugin) Admit(a scheduler.Attempt, s scheduler.Snapshot) (scheduler.Admission, error) {
	if missing, ok := scheduler.MissingPriorityClass(a, s); ok {
		return missing, nil
	}
	message := "plain Kubernetes scheduling: nothing holds the application back"
	if a.Queue != "" {
		message = fmt.Sprintf("plain Kubernetes scheduling has no queues: %s %q is ignored", a.QueueField(), a.Queue)
	}
	return scheduler.Admission{Verdict: scheduler.Admit, Reason: scheduler.ReasonAdmitted, Message: message}, nil
}

// Decorate puts the PriorityClass on both roles, where the role has none of its own.
func (Plugin) Decorate(a scheduler.Attempt, d *scheduler.Decoration) error {
	scheduler.DecoratePriorityClass(a, d)
	return nil
}
