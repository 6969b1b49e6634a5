// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// PlaceholderUser is a plugin whose scheduler creates pods of its own that keep room for the pods of an attempt until these
// replace them one by one. Quotas count both kinds.
type PlaceholderUser interface {
	// Placeholders are those that the scheduler creates once there is a driver pod.
	Placeholders(Attempt) []Placeholder
}

// Placeholder is a set of equal placeholder pods.
type Placeholder struct {
	// Role is that of the pods that replace them. The driver has replaced its own before there are executors.
	Role string
	// PodResources are what each of them requests, and its limits.
	spark.PodResources
	PriorityClass string
	Count         int32
}

// Placeholders asks the plugin for the placeholder pods of an attempt.
func Placeholders(p Plugin, a Attempt) ([]Placeholder, error) {
	user, ok := p.(PlaceholderUser)
	if !ok {
		return nil, nil
	}
	return call(p, "Placeholders", func() ([]Placeholder, error) { return user.Placeholders(a), nil })
}
