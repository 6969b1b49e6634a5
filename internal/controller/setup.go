// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/selection"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/actuate"
	"github.com/firesteel-dev/firesteel/internal/config"
	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/metrics"
	"github.com/firesteel-dev/firesteel/internal/namespaced"
	"github.com/firesteel-dev/firesteel/internal/observe"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// +kubebuilder:rbac:groups=sparkoperator.k8s.io,resources=sparkapplications,verbs=get;list;watch;delete
// +kubebuilder:rbac:groups=sparkoperator.k8s.io,resources=sparkapplications/status,verbs=patch
// +kubebuilder:rbac:groups=sparkoperator.k8s.io,resources=sparkapplications/finalizers,verbs=update
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch;create;delete
// +kubebuilder:rbac:groups="",resources=pods/log,verbs=get
// +kubebuilder:rbac:groups="",resources=events,verbs=list
// +kubebuilder:rbac:groups="",resources=configmaps;services;persistentvolumeclaims,verbs=get;list;create;delete
// +kubebuilder:rbac:groups=networking.k8s.io,resources=networkpolicies,verbs=get;list;create;delete
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get
// +kubebuilder:rbac:groups=scheduling.k8s.io,resources=priorityclasses,verbs=get
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

const (
	fieldOwner      = actuate.FieldOwner
	shutdownTimeout = 10 * time.Second
)

// Scheme returns the types that the operator reads and writes: those of Kubernetes and of all kinds. More kinds are beside
// the operator's own, here as in NewManager and Setup.
func Scheme(more ...Kind) *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(s))
	for _, k := range kinds(more) {
		utilruntime.Must(k.AddToScheme(s))
	}
	return s
}

// NewManager returns a manager whose cache holds our own pods only, without what nobody looks at. The client is not
// rate-limited: the API server's priority and fairness does that with a view of the whole cluster.
func NewManager(cfg *rest.Config, c config.OperatorConfiguration, more ...Kind) (ctrl.Manager, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.QPS = -1
	served, err := metrics.ServerOptions(c.Metrics)
	if err != nil {
		return nil, err
	}
	cached, err := cacheOptions(familiesOf(kinds(more)))
	if err != nil {
		return nil, err
	}
	options := ctrl.Options{
		Scheme:                  Scheme(more...),
		Metrics:                 served,
		HealthProbeBindAddress:  c.Health.BindAddress,
		GracefulShutdownTimeout: ptr.To(shutdownTimeout),
		Cache:                   cached,
		NewCache: func(cfg *rest.Config, o cache.Options) (cache.Cache, error) {
			own, err := namespaced.New(cfg, o)
			if err != nil {
				return nil, err
			}
			return own, own.Set(context.Background(), targetsOf(c)...)
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
	if leader != nil {
		leader.lock.LockConfig.EventRecorder = leaderEvents{mgr.GetEventRecorder(fieldOwner)}
		if err := mgr.Add(leader); err != nil {
			return nil, fmt.Errorf("add watch of the lease: %w", err)
		}
	}
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return nil, fmt.Errorf("add health check: %w", err)
	}
	if err := mgr.AddReadyzCheck("ping", healthz.Ping); err != nil {
		return nil, fmt.Errorf("add readiness check: %w", err)
	}
	return mgr, nil
}

func cacheOptions(families []lifecycle.Family) (cache.Options, error) {
	ours, err := podSelector(families)
	return cache.Options{
		DefaultTransform: cache.TransformStripManagedFields(),
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Pod{}: {Label: ours, Transform: observe.StripPod},
		},
	}, err
}

// podSelector selects the pods of all families: by the label that they have in common, or else by the one that Spark gives
// to each of its pods.
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

// kinds are the kinds of applications that the operator runs, and more.
func kinds(more []Kind) []Kind {
	return append([]Kind{
		NewKind("sparkapplication", kubeflow.SparkApplications{}, &v1beta2.SparkApplicationList{}, v1beta2.AddToScheme),
	}, more...)
}

func familiesOf(kinds []Kind) []lifecycle.Family {
	var all []lifecycle.Family
	for _, k := range kinds {
		all = append(all, k.Family())
	}
	return all
}

// Setup adds the controllers of all kinds to a manager that NewManager has made for them.
func Setup(ctx context.Context, mgr ctrl.Manager, c config.OperatorConfiguration, registry *scheduler.Registry, more ...Kind) error {
	all := kinds(more)
	s, err := newShared(ctx, mgr, c, registry, familiesOf(all))
	if err != nil {
		return err
	}
	for _, k := range all {
		if err := k.setup(s); err != nil {
			return err
		}
	}
	return nil
}

// logsOf returns the reader of logs.
func logsOf(c kubernetes.Interface) func(ctx context.Context, namespace, pod, container string, limit int64) (string, error) {
	return func(ctx context.Context, namespace, pod, container string, limit int64) (string, error) {
		const lines, patience = 100, 2 * time.Second
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		options := &corev1.PodLogOptions{Container: container, TailLines: ptr.To(int64(lines)), LimitBytes: &limit}
		text, err := c.CoreV1().Pods(namespace).GetLogs(pod, options).DoRaw(ctx)
		if err != nil {
			return "", fmt.Errorf("read log of %s/%s: %w", namespace, pod, err)
		}
		return string(text), nil
	}
}
