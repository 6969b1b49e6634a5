// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"context"
	"fmt"

	"github.com/firesteel-dev/firesteel/internal/config"
	"github.com/firesteel-dev/firesteel/internal/resolve"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

// NotConsidered is the note for a result without the operator's configuration.
const NotConsidered = "the operator's policies and default scheduler are not considered"

// Plugins builds registries of the program's scheduler plugins.
type Plugins struct {
	// Every enables all plugins, and Configured enables the plugins that a configuration names.
	Every      func() (*scheduler.Registry, error)
	Configured func(config.BatchScheduler) (*scheduler.Registry, error)
}

// Configuration is the path of the operator's configuration file; "" for none.
type Configuration struct {
	File    string
	Plugins Plugins
}

// Operator reads the configuration file. Without a file it returns defaults with all schedulers enabled; known is then false, and err is nil.
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

// operatorOf applies a configuration as the operator does.
func (p Plugins) operatorOf(c config.OperatorConfiguration) (resolve.Operator, error) {
	registry, err := p.Configured(c.BatchScheduler)
	if err != nil {
		return resolve.Operator{}, fmt.Errorf("configuration: %w", err)
	}
	return resolve.Operator{Registry: registry, Policies: c.Policies, Exposure: c.Exposure(), Submitters: c.Submitter.Recorded()}, nil
}

// operator reads the configuration from the file, or else from the operator's ConfigMap. It reports an unreadable ConfigMap in doubt and not as an error,
// because most users may not read the operator's namespace.
func (i Installation) operator(ctx context.Context, c *Cluster) (operator resolve.Operator, doubt string, err error) {
	operator, known, err := i.Operator()
	if err != nil || known {
		return operator, "", err
	}
	found, err := i.find(ctx, c)
	if err != nil {
		return operator, fmt.Sprintf("configuration of %s: %v; %s", i.named(), ForPeople(err), NotConsidered), nil
	}
	return found, "", nil
}

// find reads the operator's ConfigMap.
func (i Installation) find(ctx context.Context, c *Cluster) (resolve.Operator, error) {
	found, err := i.configuration(ctx, c)
	if err != nil {
		return resolve.Operator{}, err
	}
	return i.Plugins.operatorOf(found)
}

// named returns the operator's name for messages.
func (i Installation) named() string {
	if i.Deployment == "" {
		return "the operator"
	}
	return "the operator " + i.Deployment
}
