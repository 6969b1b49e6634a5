// SPDX-License-Identifier: Apache-2.0

// Package window is an example of a scheduler plugin: applications start while the ConfigMap batch-window of their
// namespace says open: "true". Write spec.batchScheduler: window.
package window

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

// Plugin lets applications start in a window of time.
type Plugin struct{}

var _ scheduler.Plugin = Plugin{}

var configMapKind = corev1.SchemeGroupVersion.WithKind("ConfigMap")

// label marks the pods that came through the window.
const label = "example.com/window"

// parameters are spec.batchSchedulerOptions.parameters.
type parameters struct {
	// Urgent does not wait for the window.
	Urgent bool `json:"urgent"`
}

// Describe names the plugin, what it reads, which rights that takes and what we write on pods.
func (Plugin) Describe() scheduler.Descriptor {
	return scheduler.Descriptor{
		Name:        "window",
		Reads:       []schema.GroupVersionKind{configMapKind},
		Rules:       []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get"}}},
		ManagedKeys: []scheduler.PodKey{{Part: scheduler.PodLabel, Key: label}},
		Supports:    scheduler.Support{WaitsBeforePods: true},
	}
}

// Validate checks the application alone.
func (Plugin) Validate(a scheduler.Attempt) field.ErrorList {
	return scheduler.DecodeParameters(a, &parameters{})
}

// Reads names what Admit wants to see.
func (Plugin) Reads(a scheduler.Attempt) []scheduler.Read {
	return []scheduler.Read{windowOf(a)}
}

// Admit says whether the application may start.
func (Plugin) Admit(a scheduler.Attempt, s scheduler.Snapshot) (scheduler.Admission, error) {
	var p parameters
	scheduler.DecodeParameters(a, &p) // Validate has found nothing
	window, err := scheduler.As[corev1.ConfigMap](s[windowOf(a)])
	if err != nil {
		return scheduler.Admission{}, err
	}
	switch {
	case p.Urgent:
		return answer(scheduler.Admit, scheduler.ReasonAdmitted, "urgent: the window does not matter"), nil
	case window == nil || window.Data["open"] != "true":
		message := fmt.Sprintf("waiting for the batch window of namespace %s to open", a.App.Namespace)
		return answer(scheduler.Wait, scheduler.ReasonQueueClosed, message), nil
	}
	return answer(scheduler.Admit, scheduler.ReasonAdmitted, "the batch window is open"), nil
}

// Decorate marks the pods.
func (Plugin) Decorate(a scheduler.Attempt, d *scheduler.Decoration) error {
	scheduler.SetIn(&d.Driver.Labels, label, a.ID)
	scheduler.SetIn(&d.Executor.Labels, label, a.ID)
	return nil
}

func windowOf(a scheduler.Attempt) scheduler.Read {
	return scheduler.Read{GroupVersionKind: configMapKind, Namespace: a.App.Namespace, Name: "batch-window"}
}

func answer(v scheduler.Verdict, r scheduler.Reason, message string) scheduler.Admission {
	plan := scheduler.Admission{Verdict: v, Reason: r, Message: message}
	if v == scheduler.Wait {
		plan.RetryAfter = time.Minute // a wait never relies on a watch alone
	}
	return plan
}
