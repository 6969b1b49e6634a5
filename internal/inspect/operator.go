// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"context"
	"errors"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/internal/config"
	"github.com/firesteel-dev/firesteel/internal/resolve"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

// NotConsidered is what is not known without the operator's configuration.
const NotConsidered = "the operator's policies and default scheduler are not considered"

// Plugins are the scheduler plugins of a program.
type Plugins struct {
	// Every has all of them enabled, and Configured those that a configuration enables.
	Every      func() (*scheduler.Registry, error)
	Configured func(config.BatchScheduler) (*scheduler.Registry, error)
}

// Configuration is the operator's configuration file; none for "".
type Configuration struct {
	File    string
	Plugins Plugins
}

// Operator is what the file says. Without one nothing is configured but that all schedulers may be chosen, which is no
// error, and known is false.
func (c Configuration) Operator() (operator resolve.Operator, known bool, err error) {
	if c.File == "" {
		registry, err := c.Plugins.Every()
		return resolve.Operator{Registry: registry}, false, err
	}
	file, err := config.Load(c.File)
	if err != nil {
		return resolve.Operator{}, false, err
	}
	operator, err = c.Plugins.operatorOf(file)
	return operator, true, err
}

// operatorOf is what the operator makes of its configuration.
func (p Plugins) operatorOf(c config.OperatorConfiguration) (resolve.Operator, error) {
	registry, err := p.Configured(c.BatchScheduler)
	if err != nil {
		return resolve.Operator{}, fmt.Errorf("configuration: %w", err)
	}
	return resolve.Operator{Registry: registry, Policies: c.Policies, Exposure: c.Exposure(), Submitters: c.Submitter.Recorded()}, nil
}

// Installation is where the operator runs in a cluster.
type Installation struct {
	Configuration
	// Deployment is namespace/name of its Deployment.
	Deployment string
}

// operator is what the file says, else what the operator's ConfigMap says. What cannot be read is reported: most users
// may not look into the operator's namespace.
func (i Installation) operator(ctx context.Context, c *Cluster) (operator resolve.Operator, doubt string, err error) {
	operator, known, err := i.Operator()
	if err != nil || known {
		return operator, "", err
	}
	found, err := i.find(ctx, c)
	if err != nil {
		return operator, fmt.Sprintf("configuration of the operator %s: %v; %s", i.Deployment, ForPeople(err), NotConsidered), nil
	}
	return found, "", nil
}

// find is what the operator's ConfigMap says.
func (i Installation) find(ctx context.Context, c *Cluster) (resolve.Operator, error) {
	found, err := i.configuration(ctx, c)
	if err != nil {
		return resolve.Operator{}, err
	}
	return i.Plugins.operatorOf(found)
}

// configuration is that of the file, else that of the operator's ConfigMap.
func (i Installation) configuration(ctx context.Context, c *Cluster) (config.OperatorConfiguration, error) {
	if i.File != "" {
		return config.Load(i.File)
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
func (i Installation) read(ctx context.Context, c *Cluster) (string, error) {
	namespace, name, ok := strings.Cut(i.Deployment, "/")
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
