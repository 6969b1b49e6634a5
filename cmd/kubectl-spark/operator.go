// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/cmd/plugins"
	"github.com/firesteel-dev/firesteel/internal/config"
	"github.com/firesteel-dev/firesteel/internal/resolve"
)

// notConsidered is what is not known without the operator's configuration.
const notConsidered = "the operator's policies and default scheduler are not considered"

// configured is the flag for the operator's configuration file.
type configured struct{ file string }

func (c *configured) addTo(command *cobra.Command) {
	command.Flags().StringVar(&c.file, "config", "", "the operator's configuration file: its policies, schedulers and URL formats")
	_ = command.MarkFlagFilename("config", "yaml", "yml")
}

// operator is what the file says. Without one nothing is configured but that all schedulers may be chosen, which is no
// error, and known is false.
func (c configured) operator() (operator resolve.Operator, known bool, err error) {
	if c.file == "" {
		registry, err := plugins.Every()
		return resolve.Operator{Registry: registry}, false, err
	}
	file, err := config.Load(c.file)
	if err != nil {
		return resolve.Operator{}, false, err
	}
	operator, err = operatorOf(file)
	return operator, true, err
}

// operatorOf is what the operator makes of its configuration.
func operatorOf(c config.OperatorConfiguration) (resolve.Operator, error) {
	registry, err := plugins.Registry(c.BatchScheduler)
	if err != nil {
		return resolve.Operator{}, fmt.Errorf("configuration: %w", err)
	}
	return resolve.Operator{Registry: registry, Policies: c.Policies, Exposure: c.Exposure(), Submitters: c.Submitter.From}, nil
}

// installed is where the operator runs in a cluster.
type installed struct {
	configured
	deployment string
}

const operatorDeployment = "spark-operator/spark-operator-controller"

func (i *installed) addTo(command *cobra.Command) {
	i.configured.addTo(command)
	command.Flags().StringVar(&i.deployment, "operator", operatorDeployment,
		"namespace/name of the operator's Deployment, whose configuration is read if --config names none")
}

// operator is what the file says, else what the operator's ConfigMap says. What cannot be read is reported: most users
// may not look into the operator's namespace.
func (i installed) operator(ctx context.Context, c *connection) (operator resolve.Operator, doubt string, err error) {
	operator, known, err := i.configured.operator()
	if err != nil || known {
		return operator, "", err
	}
	found, err := i.find(ctx, c)
	if err != nil {
		return operator, fmt.Sprintf("configuration of the operator %s: %v; %s", i.deployment, forPeople(err), notConsidered), nil
	}
	return found, "", nil
}

// find is what the operator's ConfigMap says.
func (i installed) find(ctx context.Context, c *connection) (resolve.Operator, error) {
	found, err := i.configuration(ctx, c)
	if err != nil {
		return resolve.Operator{}, err
	}
	return operatorOf(found)
}

// configuration is that of the file, else that of the operator's ConfigMap.
func (i installed) configuration(ctx context.Context, c *connection) (config.OperatorConfiguration, error) {
	if i.file != "" {
		return config.Load(i.file)
	}
	text, err := i.read(ctx, c)
	if err != nil {
		return config.OperatorConfiguration{}, err
	}
	return config.Parse([]byte(text))
}

// configMount is the volume that has the operator's configuration, and configKey the file in it.
const (
	configMount = "config"
	configKey   = "config.yaml"
)

// read returns the configuration that the operator's Deployment mounts. The ConfigMap's name may change with its content.
func (i installed) read(ctx context.Context, c *connection) (string, error) {
	namespace, name, ok := strings.Cut(i.deployment, "/")
	if !ok {
		return "", errors.New("--operator: write namespace/name")
	}
	var deployment appsv1.Deployment
	if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &deployment); err != nil {
		return "", err
	}
	for _, volume := range deployment.Spec.Template.Spec.Volumes {
		if volume.Name != configMount || volume.ConfigMap == nil {
			continue
		}
		var stored corev1.ConfigMap
		if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: volume.ConfigMap.Name}, &stored); err != nil {
			return "", err
		}
		if text, has := stored.Data[configKey]; has {
			return text, nil
		}
		return "", fmt.Errorf("ConfigMap %s has no %s", stored.Name, configKey)
	}
	return "", fmt.Errorf("it has no volume %q of a ConfigMap", configMount)
}
