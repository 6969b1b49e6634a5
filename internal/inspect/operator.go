// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"context"
	"fmt"

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

// operator is what the file says, else what the operator's ConfigMap says. What cannot be read is reported: most users
// may not look into the operator's namespace.
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

// find is what the operator's ConfigMap says.
func (i Installation) find(ctx context.Context, c *Cluster) (resolve.Operator, error) {
	found, err := i.configuration(ctx, c)
	if err != nil {
		return resolve.Operator{}, err
	}
	return i.Plugins.operatorOf(found)
}

// named is what messages call the operator.
func (i Installation) named() string {
	if i.Deployment == "" {
		return "the operator"
	}
	return "the operator " + i.Deployment
}
