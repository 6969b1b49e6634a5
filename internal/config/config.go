// Package config is the operator's configuration file: one versioned document, strictly decoded, with its defaults in
// code. The Helm chart and the kustomize tree render it; there are no flags for what it says.
package config

import (
	"errors"
	"fmt"
	"slices"

	"sigs.k8s.io/yaml"
)

// APIVersion and Kind are what the file must say.
const (
	APIVersion = "config.firesteel.dev/v1alpha1"
	Kind       = "OperatorConfiguration"
)

// OperatorConfiguration configures the operator.
type OperatorConfiguration struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Namespaces whose applications are run; empty for all.
	Namespaces []string `json:"namespaces,omitempty"`
	// Workers is how many applications are handled at the same time; default 10.
	Workers        int            `json:"workers,omitempty"`
	LeaderElection LeaderElection `json:"leaderElection,omitempty"`
	Metrics        Endpoint       `json:"metrics,omitempty"`
	Health         Endpoint       `json:"health,omitempty"`
	BatchScheduler BatchScheduler `json:"batchScheduler,omitempty"`
}

// LeaderElection lets several replicas stand by for each other.
type LeaderElection struct {
	Enabled bool `json:"enabled,omitempty"`
	// Namespace of the lease; by default the one that the operator's pod runs in.
	Namespace string `json:"namespace,omitempty"`
}

// Endpoint is an HTTP endpoint. BindAddress "0" turns it off.
type Endpoint struct {
	BindAddress string `json:"bindAddress,omitempty"`
}

// BatchScheduler configures the scheduler plugins.
type BatchScheduler struct {
	// Default is the plugin of applications that name none; default "kube".
	Default string `json:"default,omitempty"`
}

// Parse decodes a configuration file and fills in the defaults. A field that does not exist, a wrong version and a
// value out of range are errors that name the field.
func Parse(text []byte) (OperatorConfiguration, error) {
	c := OperatorConfiguration{
		Workers:        10,
		Metrics:        Endpoint{BindAddress: ":8080"},
		Health:         Endpoint{BindAddress: ":8081"},
		BatchScheduler: BatchScheduler{Default: "kube"},
	}
	if err := yaml.UnmarshalStrict(text, &c); err != nil {
		return OperatorConfiguration{}, fmt.Errorf("decode configuration: %w", err)
	}
	return c, c.validate()
}

func (c OperatorConfiguration) validate() error {
	var errs []error
	if c.APIVersion != APIVersion || c.Kind != Kind {
		errs = append(errs, fmt.Errorf("apiVersion and kind: %q, %q: must be %q, %q", c.APIVersion, c.Kind, APIVersion, Kind))
	}
	if c.Workers < 1 {
		errs = append(errs, fmt.Errorf("workers: %d: must be at least 1", c.Workers))
	}
	if slices.Contains(c.Namespaces, "") {
		errs = append(errs, errors.New(`namespaces: "" is not a namespace; leave the list empty for all namespaces`))
	}
	return errors.Join(errs...)
}
