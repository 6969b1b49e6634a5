// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/firesteel-dev/firesteel/internal/config"
	"github.com/firesteel-dev/firesteel/internal/eventrecorder"
	"github.com/firesteel-dev/firesteel/internal/informers"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/metrics"
	"github.com/firesteel-dev/firesteel/internal/namespaced"
	"github.com/firesteel-dev/firesteel/internal/observe"
	"github.com/firesteel-dev/firesteel/internal/policy"
	"github.com/firesteel-dev/firesteel/internal/reservations"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

// Shared has the dependencies that the controllers of all kinds share.
type Shared struct {
	Manager        ctrl.Manager
	Config         config.OperatorConfiguration
	Registry       *scheduler.Registry
	Reader         observe.Reader
	Recorder       events.EventRecorder
	Metrics        *metrics.Metrics
	Schedulers     *reservations.Manager
	SchedulerKinds *informers.SchedulerKinds
	Namespaces     *informers.Namespaces
	Periods        Periods
	// Leads reports whether this replica is the leader and no other one can be.
	Leads func() bool

	policies atomic.Pointer[policy.Set]
}

// Periods are the polling intervals for states without a watch. 0 means the default, a constant of the package that uses it.
type Periods struct {
	// Core has the periods of decisions on applications.
	Core lifecycle.Periods
	// Server is the first back-off between two Spark Connect servers (kubeflow.SparkConnects).
	Server time.Duration
	// Run is the delay before the next try of a refused run (schedule.Env).
	Run time.Duration
	// Exposure is the delay before the next try of a refused auxiliary object (application.Engine).
	Exposure time.Duration
	// Discovery is the interval for checking the APIs of schedulers and of auxiliary objects (informers.SchedulerKinds).
	Discovery time.Duration
	// Installed is the interval for checking whether definitions of the operator's kinds are installed (installedPeriod).
	Installed time.Duration
	// Definitions is the delay before a new leader compares the definitions (definitionsDelay).
	Definitions time.Duration
	// Configuration is the interval for reading the configuration file (lookPeriod).
	Configuration time.Duration
}

// NewShared adds the shared dependencies of all controllers to a manager from NewManager. If a test wraps that manager, only the manager's own election is
// known.
func NewShared(ctx context.Context, mgr ctrl.Manager, c config.OperatorConfiguration, registry *scheduler.Registry,
	families []lifecycle.Family, p Periods) (*Shared, error) {
	made, ok := mgr.(elected)
	if !ok {
		made = elected{Manager: mgr}
	}
	s := &Shared{Manager: mgr, Config: c, Registry: registry, Periods: p, Leads: made.leads}
	pods, err := cachedPods(ctx, mgr, families)
	if err != nil {
		return nil, err
	}
	clientset, err := kubernetes.NewForConfig(mgr.GetConfig())
	if err != nil {
		return nil, fmt.Errorf("create client for logs: %w", err)
	}
	if s.SchedulerKinds, err = informers.NewSchedulerKinds(mgr, informers.SchedulerOptions{
		Config: c, Plugins: registry.Plugins(), Families: families, Discovery: p.Discovery,
		Waiters: func(kind schema.GroupVersionKind, namespace string, everywhere bool, most int) []scheduler.Key {
			return s.Schedulers.WaitersFor(kind, namespace, everywhere, most)
		},
	}); err != nil {
		return nil, err
	}
	s.Schedulers = reservations.New(clock.RealClock{}, s.SchedulerKinds, orderOf(c.BatchScheduler.Quota))
	auxiliary, err := informers.NewAuxiliary(mgr, c, families, p.Discovery, s.SchedulerKinds.Enqueue)
	if err != nil {
		return nil, err
	}
	s.Reader = observe.Reader{
		Cache: observe.WithStubs(mgr.GetClient(), mgr.GetAPIReader(), func() { s.Metrics.LargeSpecRead() }), Pods: pods, Live: mgr.GetAPIReader(),
		Kinds: s.SchedulerKinds, Whole: s.SchedulerKinds.Whole, Owned: s.SchedulerKinds.Owned, Auxiliary: auxiliary, Logs: logsOf(clientset),
		Dial: mgr.GetConfig().Dial, // a custom dialer to the API server also reaches pods
	}
	if s.Metrics, err = NewMetrics(mgr, c.Metrics); err != nil {
		return nil, err
	}
	s.Metrics.ObserveLines(s.Schedulers.Lines)
	recorder, err := eventrecorder.New(mgr.GetClient(), mgr.GetScheme(), clock.RealClock{}, mgr.GetLogger().WithName("events"), s.Metrics)
	if err != nil {
		return nil, err
	}
	s.Recorder = recorder
	if err := mgr.Add(recorder); err != nil {
		return nil, fmt.Errorf("add sender of events: %w", err)
	}
	if err := addDefinitions(mgr, families, recorder, ownPod(os.Getenv), cmp.Or(p.Definitions, definitionsDelay)); err != nil {
		return nil, err
	}
	return s, s.follow(ctx, auxiliary)
}

func orderOf(q config.Quota) scheduler.Order {
	return scheduler.OrderNamed(string(q.Order), q.AgingBound.Duration)
}

// cachedPods returns the pods of applications. The cache holds them in a special form.
func cachedPods(ctx context.Context, mgr ctrl.Manager, families []lifecycle.Family) (observe.Pods, error) {
	all, ok := mgr.GetCache().(*namespaced.Cache)
	if !ok {
		return nil, fmt.Errorf("cache of pods: a %T is not made by NewManager", mgr.GetCache())
	}
	informer, err := all.GetInformer(ctx, &corev1.Pod{}, cache.BlockUntilSynced(false))
	if err == nil {
		err = informer.AddIndexers(observe.IndexPods(informers.AppLabels(families)...))
	}
	if err != nil {
		return nil, fmt.Errorf("index pods: %w", err)
	}
	return observe.CachedPods(func(ctx context.Context, namespace string) (toolscache.Indexer, error) {
		return all.Indexer(ctx, &corev1.Pod{}, namespace)
	}), nil
}

// follow applies the namespaces and policies of the configuration, and their later changes.
func (s *Shared) follow(ctx context.Context, aux *informers.Auxiliary) (err error) {
	s.Namespaces, err = informers.NewNamespaces(s.Manager, s.Metrics, os.Getenv("POD_NAMESPACE"), s.Schedulers.RebuildAgain, s.SchedulerKinds.Cache, aux.Cache)
	if err != nil {
		return err
	}
	s.apply(ctx, s.Config)
	if err := s.Manager.Add(s.Namespaces); err != nil {
		return fmt.Errorf("add watch over namespaces: %w", err)
	}
	if s.Config.File == "" {
		return nil
	}
	look := &reloader{
		log: s.Manager.GetLogger().WithName("configuration"), started: s.Config, apply: s.apply, metrics: s.Metrics, recorder: s.Recorder, pod: ownPod(os.Getenv),
		period: cmp.Or(s.Periods.Configuration, lookPeriod),
	}
	if look.live, err = newLiveFile(s.Manager, os.Getenv, s.Config.File); err != nil {
		return err
	}
	if err := s.Manager.Add(look); err != nil {
		return fmt.Errorf("add watch over the configuration: %w", err)
	}
	return nil
}

// apply applies a configuration.
func (s *Shared) apply(ctx context.Context, c config.OperatorConfiguration) {
	s.policies.Store(&c.Policies)
	s.SchedulerKinds.Configure(c)
	s.Namespaces.Configure(ctx, c)
}

// Policies returns the current policies.
func (s *Shared) Policies() policy.Set { return *s.policies.Load() }

// Submitters returns the configured source of submitters.
func (s *Shared) Submitters() lifecycle.Submitters {
	recorded := s.Config.Submitter.Recorded()
	recorded.Joined = s.Namespaces.Joined
	return recorded
}

// logsOf returns a function that reads logs.
func logsOf(c kubernetes.Interface) func(context.Context, observe.Log) (string, error) {
	return func(ctx context.Context, l observe.Log) (string, error) {
		const patience = 2 * time.Second
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		text, err := c.CoreV1().Pods(l.Namespace).GetLogs(l.Pod, l.Options()).DoRaw(ctx)
		if err != nil {
			return "", fmt.Errorf("read log of %s/%s: %w", l.Namespace, l.Pod, err)
		}
		return string(text), nil
	}
}
