// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// installedPeriod is the interval for checking whether a definition is installed.
const installedPeriod = 10 * time.Second

// WhenInstalled adds the controller of a kind once its definition is installed. A cache that cannot watch a kind would block its namespaces, and with them all
// other controllers there.
func (s *Shared) WhenInstalled(kind schema.GroupVersionKind, add func() error) error {
	l := latecomer{kind: kind, mapper: s.Manager.GetRESTMapper(), add: add, period: cmp.Or(s.Periods.Installed, installedPeriod)}
	there, err := l.installed()
	if err != nil {
		return err
	}
	if there {
		return add()
	}
	s.Manager.GetLogger().Info("the definition of a kind is not installed: its objects are reconciled after its installation", "kind", kind.String())
	if err := s.Manager.Add(l); err != nil {
		return fmt.Errorf("wait for the definition of %s: %w", kind.Kind, err)
	}
	return nil
}

// latecomer adds a controller once the definition of its kind is installed.
type latecomer struct {
	kind   schema.GroupVersionKind
	mapper meta.RESTMapper
	add    func() error
	period time.Duration
}

// NeedLeaderElection implements manager.LeaderElectionRunnable. It is false, because a standby replica watches, too.
func (latecomer) NeedLeaderElection() bool { return false }

// Start implements manager.Runnable.
func (l latecomer) Start(ctx context.Context) error {
	ticker := time.NewTicker(l.period)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		if there, err := l.installed(); there && err == nil { // after an error the next tick tries again
			return l.add()
		}
	}
}

func (l latecomer) installed() (bool, error) {
	_, err := l.mapper.RESTMapping(l.kind.GroupKind(), l.kind.Version)
	if meta.IsNoMatchError(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("find the definition of %s: %w", l.kind.Kind, err)
	}
	return true, nil
}
