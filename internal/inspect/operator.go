// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"context"
	"fmt"

	"github.com/firesteel-dev/firesteel/internal/config"
	"github.com/firesteel-dev/firesteel/internal/resolve"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

// NotConsidered lists what is unknown without the operator's configuration.
const NotConsidered = "the operator's policies and default scheduler are not considered"

// Plugins are the scheduler plugins of a program.
type Plugins struct {
	// Every enables all of them, and Configured those of a configuration.
	Every      func() (*scheduler.Registry, error)
	Configured func(config.BatchScheduler) (*scheduler.Registry, error)
}

// Configuration is the path of the operator's configuration file; "" for none.
type Configuration struct {
	File    string
	Plugins Plugins
}

// Operator reads the file. Without one it returns defaults with all schedulers enabled and known false, without an error.
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

// operator reads the file, else the operator's ConfigMap. It reports an unreadable configuration without an error: most users
// may not read the operator's namespace.
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

// named returns the operator's name in messages.
func (i Installation) named() string {
	if i.Deployment == "" {
		return "the operator"
	}
	return "the operator " + i.Deployment
}
