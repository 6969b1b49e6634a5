// SPDX-License-Identifier: Apache-2.0

// Package config is the operator's configuration file: one versioned document, strictly decoded, with its defaults in
// code. The Helm chart and the kustomize tree render it; there are no flags for what it says.
package config

import (
	"bytes"
	"errors"
	"fmt"
	"net"

	yamlv3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/firesteel-dev/firesteel/internal/policy"
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
	// Namespaces whose applications are run, beside those that NamespaceSelector matches; without both, all are.
	Namespaces []string `json:"namespaces,omitempty"`
	// NamespaceSelector is a label selector of namespaces, e.g. "spark=enabled".
	NamespaceSelector string `json:"namespaceSelector,omitempty"`
	// Policies are defaults and limits of the applications in some namespaces.
	Policies policy.Set `json:"policies,omitempty"`
	// Workers is how many applications are handled at the same time; default 10.
	Workers        int            `json:"workers,omitempty"`
	LeaderElection LeaderElection `json:"leaderElection,omitempty"`
	Metrics        Metrics        `json:"metrics,omitempty"`
	Health         Endpoint       `json:"health,omitempty"`
	BatchScheduler BatchScheduler `json:"batchScheduler,omitempty"`
	Webhook        Webhook        `json:"webhook,omitempty"`
	UI             UI             `json:"ui,omitempty"`

	DriverPodDisruptionBudget DriverPodDisruptionBudget `json:"driverPodDisruptionBudget,omitempty"`
	HistoryServer             HistoryServer             `json:"historyServer,omitempty"`
	// File is where the configuration was read from; empty if it was not read from a file.
	File string `json:"-"`
}

// Endpoint is an HTTP endpoint. BindAddress "0" turns it off.
type Endpoint struct {
	BindAddress string `json:"bindAddress,omitempty"`
}

// Parse decodes a configuration file and fills in the defaults. A field that does not exist, a second document, a wrong
// version and a value out of range are errors that name the field.
func Parse(text []byte) (OperatorConfiguration, error) {
	c := OperatorConfiguration{
		Workers:        10,
		Metrics:        defaultMetrics(),
		Health:         Endpoint{BindAddress: ":8081"},
		BatchScheduler: BatchScheduler{Default: "kube", Quota: Quota{Mode: "Off"}},
		LeaderElection: defaultLeaderElection(),
		Webhook:        DefaultWebhook(),
		UI:             UI{Service: true},
	}
	var document, second yamlv3.Node
	decoder := yamlv3.NewDecoder(bytes.NewReader(text))
	if decoder.Decode(&document) == nil && decoder.Decode(&second) == nil {
		return OperatorConfiguration{}, fmt.Errorf("decode configuration: line %d begins a second document; there must be one", second.Line)
	}
	encoded, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return OperatorConfiguration{}, fmt.Errorf("decode configuration: %w", err)
	}
	unknown, err := json.UnmarshalStrict(encoded, &c) // unlike encoding/json, it minds the case of names
	if err := errors.Join(append(unknown, err)...); err != nil {
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
	errs = append(errs, c.validateNamespaces()...)
	errs = append(errs, c.Policies.Validate("policies")...)
	errs = append(errs, c.BatchScheduler.validate()...)
	errs = append(errs, c.Metrics.validate()...)
	errs = append(errs, c.Health.validate("health"), c.LeaderElection.validate(), c.Webhook.validate())
	errs = append(errs, c.validateExposure()...)
	return errors.Join(errs...)
}

func (e Endpoint) validate(field string) error {
	if _, _, err := net.SplitHostPort(e.BindAddress); err != nil && e.BindAddress != "0" {
		return fmt.Errorf("%s.bindAddress: %q: write host:port, :port, or \"0\" to turn it off", field, e.BindAddress)
	}
	return nil
}
