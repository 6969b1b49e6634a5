// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"

	"github.com/firesteel-dev/firesteel/internal/config"
	"github.com/firesteel-dev/firesteel/internal/policy"
)

// tenancy is what the operator takes over from its configuration while it runs: namespaces and policies.
type tenancy struct {
	namespaces *Namespaces
	watched    *schedulerKinds
	policies   atomic.Pointer[policy.Set]
}

// newTenancy returns the tenancy of a configuration, and adds to the manager what keeps it up to date.
func newTenancy(ctx context.Context, s *shared, aux *auxiliary) (*tenancy, error) {
	namespaces, err := newNamespaces(s.mgr, s.metrics, s.watched.cache, aux.Cache)
	if err != nil {
		return nil, err
	}
	namespaces.arrived = s.schedulers.rebuildAgain
	t := &tenancy{namespaces: namespaces, watched: s.watched}
	t.apply(ctx, s.config)
	if err := s.mgr.Add(namespaces); err != nil {
		return nil, fmt.Errorf("add watch over namespaces: %w", err)
	}
	if s.config.File == "" {
		return t, nil
	}
	look := &reloader{
		log: s.mgr.GetLogger().WithName("configuration"), started: s.config, apply: t.apply, metrics: s.metrics, recorder: s.recorder, pod: ownPod(os.Getenv),
	}
	if err := s.mgr.Add(look); err != nil {
		return nil, fmt.Errorf("add watch over the configuration: %w", err)
	}
	return t, nil
}

// apply takes over a configuration.
func (t *tenancy) apply(ctx context.Context, c config.OperatorConfiguration) {
	t.policies.Store(&c.Policies)
	t.watched.configure(c)
	t.namespaces.Configure(ctx, c)
}

// Policies are those that are in force.
func (t *tenancy) Policies() policy.Set { return *t.policies.Load() }
