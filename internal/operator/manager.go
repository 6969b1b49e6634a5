// SPDX-License-Identifier: Apache-2.0

// Package operator has the objects that the controllers of all kinds share: the manager with its leader election, the work queue, the event recorder, the
// memory of statuses and of schedulers, and the reload of the configuration.
package operator

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"

	"github.com/firesteel-dev/firesteel/internal/actuate"
	"github.com/firesteel-dev/firesteel/internal/config"
	"github.com/firesteel-dev/firesteel/internal/informers"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/metrics"
	"github.com/firesteel-dev/firesteel/internal/namespaced"
	"github.com/firesteel-dev/firesteel/internal/observe"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

const shutdownTimeout = 10 * time.Second

// Cached lists the kinds of which the cache holds only some objects.
type Cached struct {
	// Owned are kinds with a label. The cache holds the objects that have the label.
	Owned map[client.Object]string
	// Selected are kinds with a selector. The cache holds the objects with matching labels.
	Selected map[schema.GroupVersionKind]labels.Selector
}

// NewManager returns a manager whose cache holds only the operator's own pods, without unread fields, and some objects of other kinds. The client has no rate
// limit, because the API server's priority and fairness limits it with a view of the whole cluster.
func NewManager(cfg *rest.Config, c config.OperatorConfiguration, scheme *runtime.Scheme, families []lifecycle.Family, some Cached) (ctrl.Manager, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.QPS = -1
	serveRequests := countRequests(cfg, c, clock.RealClock{})
	served, err := metrics.ServerOptions(c.Metrics)
	if err != nil {
		return nil, err
	}
	cached, err := cacheOptions(families, some.Owned)
	if err != nil {
		return nil, err
	}
	options := ctrl.Options{
		Scheme:                  scheme,
		Metrics:                 served,
		HealthProbeBindAddress:  c.Health.BindAddress,
		PprofBindAddress:        c.Pprof.BindAddress,
		GracefulShutdownTimeout: ptr.To(shutdownTimeout),
		Cache:                   cached,
		NewCache: func(cfg *rest.Config, o cache.Options) (cache.Cache, error) {
			own, err := namespaced.New(cfg, o)
			if err != nil {
				return nil, err
			}
			own.Select(some.Selected)
			return own, own.Set(context.Background(), informers.Targets(c)...)
		},
	}
	var leader *election
	if c.LeaderElection.Enabled {
		if leader, err = newElection(cfg, c.LeaderElection); err != nil {
			return nil, err
		}
		leader.configure(&options, c.LeaderElection)
	}
	mgr, err := ctrl.NewManager(cfg, options)
	if err != nil {
		return nil, fmt.Errorf("create manager: %w", err)
	}
	if err := serveRequests(mgr); err != nil {
		return nil, err
	}
	if leader != nil {
		leader.lock.LockConfig.EventRecorder = leaderEvents{mgr.GetEventRecorder(actuate.FieldOwner)}
		if err := mgr.Add(leader); err != nil {
			return nil, fmt.Errorf("add watch of the lease: %w", err)
		}
	}
	if err := addChecks(mgr, leader); err != nil {
		return nil, err
	}
	return elected{mgr, leader}, nil
}

// elected is a manager with its election; nil for none.
type elected struct {
	ctrl.Manager
	election *election
}

// leads reports whether this replica is the leader and no other one can be.
func (m elected) leads() bool {
	select {
	case <-m.Elected():
		return m.election == nil || m.election.leads()
	default:
		return false
	}
}

// addChecks adds the checks for the kubelet's probes. Only a leader can fail them.
func addChecks(mgr interface {
	AddHealthzCheck(name string, check healthz.Checker) error
	AddReadyzCheck(name string, check healthz.Checker) error
}, leader *election) error {
	alive := healthz.Ping
	if leader != nil {
		alive = leader.check
	}
	if err := mgr.AddHealthzCheck("ping", alive); err != nil {
		return fmt.Errorf("add health check: %w", err)
	}
	if err := mgr.AddReadyzCheck("ping", healthz.Ping); err != nil {
		return fmt.Errorf("add readiness check: %w", err)
	}
	return nil
}

func cacheOptions(families []lifecycle.Family, owned map[client.Object]string) (cache.Options, error) {
	ours, err := podSelector(families)
	var marks []lifecycle.Labels
	for _, f := range families {
		marks = append(marks, f.Labels)
	}
	objects := map[client.Object]cache.ByObject{&corev1.Pod{}: {Label: ours, Transform: observe.CachePod(marks...)}}
	for object, label := range owned {
		named, invalid := labels.NewRequirement(label, selection.Exists, nil)
		if invalid != nil {
			return cache.Options{}, fmt.Errorf("select %T: %w", object, invalid)
		}
		objects[object] = cache.ByObject{Label: labels.NewSelector().Add(*named)}
	}
	return cache.Options{DefaultTransform: observe.Strip(families...), ByObject: objects}, err
}

// podSelector selects the pods of all families: by their common label, or by Spark's label for the role if they have none.
func podSelector(families []lifecycle.Family) (labels.Selector, error) {
	launchedBy := families[0].Labels.LaunchedBy
	if slices.ContainsFunc(families, func(f lifecycle.Family) bool { return f.Labels.LaunchedBy != launchedBy }) {
		role, err := labels.NewRequirement(spark.LabelRole, selection.Exists, nil)
		if err != nil {
			return nil, fmt.Errorf("select pods: %w", err)
		}
		return labels.NewSelector().Add(*role), nil
	}
	return labels.SelectorFromSet(labels.Set{launchedBy: "true"}), nil
}
