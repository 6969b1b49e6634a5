// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/actuate"
	"github.com/firesteel-dev/firesteel/internal/config"
	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/metrics"
	"github.com/firesteel-dev/firesteel/internal/namespaced"
	"github.com/firesteel-dev/firesteel/internal/observe"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
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

// Scheme returns the types that the operator reads and writes.
func Scheme() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(s))
	utilruntime.Must(v1beta2.AddToScheme(s))
	return s
}

// NewManager returns a manager whose cache holds our own pods only, without what nobody looks at. The client is not
// rate-limited: the API server's priority and fairness does that with a view of the whole cluster.
func NewManager(cfg *rest.Config, c config.OperatorConfiguration) (ctrl.Manager, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.QPS = -1
	served, err := metrics.ServerOptions(c.Metrics)
	if err != nil {
		return nil, err
	}
	options := ctrl.Options{
		Scheme:                  Scheme(),
		Metrics:                 served,
		HealthProbeBindAddress:  c.Health.BindAddress,
		GracefulShutdownTimeout: ptr.To(shutdownTimeout),
		Cache:                   cacheOptions(),
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

func cacheOptions() cache.Options {
	ours := labels.SelectorFromSet(labels.Set{lifecycle.LabelLaunchedBy: "true"})
	return cache.Options{
		DefaultTransform: cache.TransformStripManagedFields(),
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Pod{}: {Label: ours, Transform: observe.StripPod},
		},
	}
}

// Setup adds the controllers to the manager.
func Setup(ctx context.Context, mgr ctrl.Manager, c config.OperatorConfiguration, registry *scheduler.Registry) error {
	if err := mgr.GetFieldIndexer().IndexField(ctx, &corev1.Pod{}, observe.IndexApp, observe.AppOf); err != nil {
		return fmt.Errorf("index pods: %w", err)
	}
	clientset, err := kubernetes.NewForConfig(mgr.GetConfig())
	if err != nil {
		return fmt.Errorf("create client for logs: %w", err)
	}
	watched, err := newKinds(mgr, c, registry.Plugins())
	if err != nil {
		return err
	}
	schedulers := NewSchedulers(clock.RealClock{}, watched)
	watched.waiters = schedulers.waitersFor
	beside, err := newCompanions(mgr, c, watched.wake)
	if err != nil {
		return err
	}
	reader := observe.Reader{Cache: mgr.GetClient(), Live: mgr.GetAPIReader(), Kinds: watched, Whole: watched.whole, Companions: beside, Logs: logsOf(clientset)}
	tell, err := newRecorder(mgr.GetClient(), mgr.GetScheme(), clock.RealClock{}, mgr.GetLogger().WithName("events"))
	if err != nil {
		return err
	}
	if err := mgr.Add(tell); err != nil {
		return fmt.Errorf("add sender of events: %w", err)
	}
	engine := NewKubeflowEngine(reader, client.WithFieldOwner(mgr.GetClient(), fieldOwner), registry, tell, clock.RealClock{})
	engine.Schedulers, engine.Exposure = schedulers, c.Exposure()
	if err := addMetrics(mgr, c.Metrics, engine); err != nil {
		return err
	}
	tenants, err := newTenancy(ctx, mgr, c, watched, beside, engine)
	if err != nil {
		return err
	}
	tenants.govern(engine)
	err = ctrl.NewControllerManagedBy(mgr).
		Named("sparkapplication").
		For(&v1beta2.SparkApplication{}).
		Watches(&corev1.Pod{}, podHandler(schedulers)).
		WatchesRawSource(source.Channel(watched.events, &handler.EnqueueRequestForObject{})).
		WatchesRawSource(tenants.namespaces.source()).
		// A standby watches too, so that it need not list anything when its turn comes.
		WithOptions(controller.Options{MaxConcurrentReconciles: c.Workers, EnableWarmup: ptr.To(true), NewQueue: newFairQueue}).
		Complete(engine)
	if err != nil {
		return fmt.Errorf("set up SparkApplication controller: %w", err)
	}
	return nil
}

// NewKubeflowEngine returns the reconciler of sparkoperator.k8s.io SparkApplications. It takes every scheduler's API for
// installed.
func NewKubeflowEngine(reader observe.Reader, writer client.Client, registry *scheduler.Registry, recorder events.EventRecorder, now clock.PassiveClock) *Engine[*v1beta2.SparkApplication] {
	return &Engine[*v1beta2.SparkApplication]{
		Family: kubeflow.SparkApplications{},
		Cache:  reader.Cache,
		Reader: reader,
		Writer: actuate.Writer{
			Client: writer, Existing: reader.Existing, Drivers: reader.Drivers, Resources: reader.Resources,
		},
		Registry:   registry,
		Schedulers: NewSchedulers(now, nil),
		List:       listApplications,
		Recorder:   recorder,
		Clock:      now,
	}
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
