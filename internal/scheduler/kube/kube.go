// SPDX-License-Identifier: Apache-2.0

// Package kube is the plugin for plain Kubernetes. Any scheduler places the pods one by one, and only a missing PriorityClass makes an application wait.
package kube

import (
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// Name is the plugin's name in spec.batchScheduler.
const Name = "kube"

// Plugin needs no configuration.
type Plugin struct{}

var _ scheduler.Plugin = Plugin{}

// Describe introduces the plugin. It sets no scheduler name: the pods keep the name that the user set.
func (Plugin) Describe() scheduler.Descriptor {
	return scheduler.Descriptor{
		Name: Name, NoBatchScheduler: true,
		Reads:       []schema.GroupVersionKind{scheduler.PriorityClassKind},
		Rules:       []rbacv1.PolicyRule{{APIGroups: []string{scheduler.PriorityClassKind.Group}, Resources: []string{"priorityclasses"}, Verbs: []string{"get"}}},
		ManagedKeys: []scheduler.PodKey{{Part: scheduler.PodPriorityClass}},
	}
}

// Validate accepts every queue, because manifests that name a queue without a batch scheduler have always run. There are no parameters.
func (Plugin) Validate(a scheduler.Attempt) field.ErrorList {
	return scheduler.DecodeParameters(a, &struct{}{})
}

// Reads returns the read of the application's PriorityClass.
func (Plugin) Reads(a scheduler.Attempt) []scheduler.Read { return scheduler.ReadPriorityClass(a) }

// Admit admits the attempt unless its PriorityClass is missing.
func (Plugin) Admit(a scheduler.Attempt, s scheduler.Snapshot) (scheduler.Admission, error) {
	if missing, ok := scheduler.MissingPriorityClass(a, s); ok {
		return missing, nil
	}
	message := fmt.Sprintf("plain Kubernetes scheduling: nothing holds the %s back", a.Word(spark.WordApplication))
	if a.Queue != "" {
		message = fmt.Sprintf("plain Kubernetes scheduling has no queues: %s %q is ignored", a.QueueField(), a.Queue)
	}
	return scheduler.Admission{Verdict: scheduler.Admit, Reason: scheduler.ReasonAdmitted, Message: message}, nil
}

// Decorate sets the PriorityClass on each role without one.
func (Plugin) Decorate(a scheduler.Attempt, d *scheduler.Decoration) error {
	scheduler.DecoratePriorityClass(a, d)
	return nil
}
