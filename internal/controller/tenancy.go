// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/config"
	"github.com/firesteel-dev/firesteel/internal/policy"
)

// tenancy is what the operator takes over from its configuration while it runs: namespaces and policies.
type tenancy struct {
	namespaces *Namespaces
	kinds      *kinds
	policies   atomic.Pointer[policy.Set]
}

// newTenancy returns the tenancy of a configuration, and adds to the manager what keeps it up to date.
func newTenancy(ctx context.Context, mgr ctrl.Manager, c config.OperatorConfiguration, watched *kinds, beside *companions, engine *Engine[*v1beta2.SparkApplication]) (*tenancy, error) {
	namespaces, err := newNamespaces(mgr, engine.Metrics, watched.cache, beside.Cache)
	if err != nil {
		return nil, err
	}
	t := &tenancy{namespaces: namespaces, kinds: watched}
	t.apply(ctx, c)
	if err := mgr.Add(namespaces); err != nil {
		return nil, fmt.Errorf("add watch over namespaces: %w", err)
	}
	if c.File == "" {
		return t, nil
	}
	look := &reloader{
		log: mgr.GetLogger().WithName("configuration"), started: c, apply: t.apply, metrics: engine.Metrics, recorder: engine.Recorder, pod: ownPod(os.Getenv),
	}
	if err := mgr.Add(look); err != nil {
		return nil, fmt.Errorf("add watch over the configuration: %w", err)
	}
	return t, nil
}

// apply takes over a configuration.
func (t *tenancy) apply(ctx context.Context, c config.OperatorConfiguration) {
	t.policies.Store(&c.Policies)
	t.kinds.configure(c)
	t.namespaces.Configure(ctx, c)
}

// govern makes an engine keep to it.
func (t *tenancy) govern(engine *Engine[*v1beta2.SparkApplication]) {
	engine.Policies = func() policy.Set { return *t.policies.Load() }
	engine.Watches = t.namespaces.Watches
	t.namespaces.arrived = engine.Schedulers.rebuildAgain
}
