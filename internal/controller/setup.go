// SPDX-License-Identifier: Apache-2.0

// Package controller wires the controllers: it lists the kinds and the objects that the kinds share.
package controller

import (
	"context"
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	apachev1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1alpha1"
	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/actuate"
	"github.com/firesteel-dev/firesteel/internal/config"
	"github.com/firesteel-dev/firesteel/internal/controller/application"
	"github.com/firesteel-dev/firesteel/internal/controller/cluster"
	"github.com/firesteel-dev/firesteel/internal/controller/schedule"
	"github.com/firesteel-dev/firesteel/internal/controller/sentinel"
	"github.com/firesteel-dev/firesteel/internal/convert/apache"
	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
	"github.com/firesteel-dev/firesteel/internal/exposure"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/operator"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

// +kubebuilder:rbac:groups=sparkoperator.k8s.io,resources=sparkapplications,verbs=get;list;watch;create;delete
// +kubebuilder:rbac:groups=sparkoperator.k8s.io,resources=sparkapplications/status,verbs=patch
// +kubebuilder:rbac:groups=sparkoperator.k8s.io,resources=sparkapplications/finalizers,verbs=update
// +kubebuilder:rbac:groups=sparkoperator.k8s.io,resources=scheduledsparkapplications,verbs=get;list;watch
// +kubebuilder:rbac:groups=sparkoperator.k8s.io,resources=scheduledsparkapplications/status,verbs=patch
// +kubebuilder:rbac:groups=sparkoperator.k8s.io,resources=scheduledsparkapplications/finalizers,verbs=update
// +kubebuilder:rbac:groups=sparkoperator.k8s.io,resources=sparkconnects,verbs=get;list;watch
// +kubebuilder:rbac:groups=sparkoperator.k8s.io,resources=sparkconnects/status,verbs=patch
// +kubebuilder:rbac:groups=sparkoperator.k8s.io,resources=sparkconnects/finalizers,verbs=update
// +kubebuilder:rbac:groups="",resources=secrets,verbs=create
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch;create;delete
// +kubebuilder:rbac:groups="",resources=pods/log,verbs=get
// +kubebuilder:rbac:groups="",resources=events,verbs=list
// +kubebuilder:rbac:groups="",resources=configmaps;services;persistentvolumeclaims,verbs=get;list;create;delete
// +kubebuilder:rbac:groups=networking.k8s.io,resources=networkpolicies,verbs=get;list;create;delete
// +kubebuilder:rbac:groups=networking.k8s.io,resources=ingresses,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get
// +kubebuilder:rbac:groups=scheduling.k8s.io,resources=priorityclasses,verbs=get
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Scheme returns the types that the operator reads and writes: Kubernetes' types, and the types of all kinds, enabled or not. more adds kinds here, in
// NewManager and in Setup.
func Scheme(more ...application.Kind) *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(s))
	for _, k := range kinds(config.OperatorConfiguration{Apache: config.Apache{Enabled: true}}, operator.Periods{}, more) {
		utilruntime.Must(k.AddToScheme(s))
	}
	return s
}

// NewManager returns a manager with caches for the kinds. It is an argument of Setup.
func NewManager(cfg *rest.Config, c config.OperatorConfiguration, more ...application.Kind) (ctrl.Manager, error) {
	all := kinds(c, operator.Periods{}, more)
	return operator.NewManager(cfg, c, Scheme(more...), familiesOf(all), operator.Cached{Owned: ownedBy(all), Selected: selected(c, all)})
}

// kinds returns the enabled kinds of applications, with more appended.
func kinds(c config.OperatorConfiguration, p operator.Periods, more []application.Kind) []application.Kind {
	all := []application.Kind{
		application.NewKind("sparkapplication", kubeflow.SparkApplications{}, &v1beta2.SparkApplicationList{}, v1beta2.AddToScheme),
		application.NewKind("sparkconnect", kubeflow.SparkConnects{Pause: p.Server}, &v1alpha1.SparkConnectList{}, v1alpha1.AddToScheme),
	}
	if c.Apache.Enabled {
		keep, noBudget := c.Apache.KeepStateHistory, c.Exposure().NoWorkerBudget
		all = append(all,
			application.NewKind("apache", apache.SparkApplications{KeepHistory: keep}, &apachev1.SparkApplicationList{}, apachev1.AddToScheme),
			cluster.NewKind(apache.Clusters{KeepHistory: keep, NoDisruptionBudget: noBudget}, &apachev1.SparkClusterList{}, apachev1.AddToScheme))
	}
	return append(all, more...)
}

// ownedBy returns the cached kinds of dependent objects, each with the label that selects them.
func ownedBy(kinds []application.Kind) map[client.Object]string {
	all := map[client.Object]string{}
	for _, k := range kinds {
		if owner, ok := k.(interface{ Owned() []client.Object }); ok {
			for _, object := range owner.Owned() {
				all[object] = k.Family().Labels.App
			}
		}
	}
	return all
}

// selected returns a label selector for each kind of which the operator runs only some objects.
func selected(c config.OperatorConfiguration, kinds []application.Kind) map[schema.GroupVersionKind]labels.Selector {
	all := map[schema.GroupVersionKind]labels.Selector{}
	for _, k := range kinds {
		if kind := k.Family().GroupVersionKind(); kind.Group == apachev1.SchemeGroupVersion.Group && c.Apache.LabelSelector != "" {
			all[kind] = c.Apache.Selector()
		}
	}
	return all
}

func familiesOf(kinds []application.Kind) []lifecycle.Family {
	var all []lifecycle.Family
	for _, k := range kinds {
		all = append(all, k.Family())
	}
	return all
}

// Setup adds the controllers of all kinds to a manager from NewManager.
func Setup(ctx context.Context, mgr ctrl.Manager, c config.OperatorConfiguration, registry *scheduler.Registry, more ...application.Kind) error {
	return SetupWith(ctx, mgr, c, registry, operator.Periods{}, more...)
}

// SetupWith is Setup with the given periods.
func SetupWith(ctx context.Context, mgr ctrl.Manager, c config.OperatorConfiguration, registry *scheduler.Registry,
	p operator.Periods, more ...application.Kind) error {
	all := kinds(c, p, more)
	s, err := operator.NewShared(ctx, mgr, c, registry, familiesOf(all), p)
	if err != nil {
		return err
	}
	setUp := func(k application.Kind) error { return k.Setup(s) }
	if c.Apache.Enabled {
		probe, err := newProbe(s)
		if err != nil {
			return err
		}
		setUp = func(k application.Kind) error { return setUpWith(s, k, probe) }
	}
	for _, k := range all {
		if err := s.WhenInstalled(k.Family().GroupVersionKind(), func() error { return setUp(k) }); err != nil {
			return err
		}
	}
	return schedule.Setup(ctx, s, kubeflow.Schedules{}, &v1beta2.ScheduledSparkApplicationList{}, &v1beta2.SparkApplicationList{})
}

// newProbe adds the sentinel probe and its health check to the manager.
func newProbe(s *operator.Shared) (*sentinel.Probe, error) {
	now := clock.RealClock{}
	writer := operator.CountWrites(client.WithFieldOwner(s.Manager.GetClient(), actuate.FieldOwner), s.Metrics, now, s.Manager.GetScheme())
	p := &sentinel.Probe{
		Cache: s.Manager.GetCache(), Writer: actuate.Writer{Client: writer}, Clock: now, Log: s.Manager.GetLogger().WithName("sentinels"),
		Period: s.Config.Apache.SentinelPeriod.Duration, Label: apachev1.LabelSentinel, Sentinel: apache.Sentinel,
		Conf: apache.SparkConf, Watches: s.Namespaces.Watches,
	}
	if err := s.Manager.AddHealthzCheck("sentinels", p.Check); err != nil {
		return nil, fmt.Errorf("add health check of sentinels: %w", err)
	}
	if err := s.Manager.Add(p); err != nil {
		return nil, fmt.Errorf("add probe of sentinels: %w", err)
	}
	return p, nil
}

// setUpWith sets up a kind, and adds it to the probe if it has sentinels.
func setUpWith(s *operator.Shared, k application.Kind, probe *sentinel.Probe) error {
	if err := k.Setup(s); err != nil {
		return err
	}
	switch k.Family().GroupVersionKind() {
	case apachev1.SchemeGroupVersion.WithKind("SparkApplication"):
		probe.Add(&apachev1.SparkApplicationList{})
	case apachev1.SchemeGroupVersion.WithKind("SparkCluster"):
		probe.Add(&apachev1.SparkClusterList{})
	}
	return nil
}

// Fragments returns the permissions of each API family that is off by default. The objects that an application attaches to its driver are neither watched nor
// deleted, because they are deleted with the driver. The objects of a cluster are watched and repaired. They are deleted when the cluster is suspended.
func Fragments() []exposure.Fragment {
	rule := func(group, resource string, verbs ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs}
	}
	group := apachev1.SchemeGroupVersion.Group
	return []exposure.Fragment{
		{Name: "apache", Rules: []rbacv1.PolicyRule{
			rule(group, "sparkapplications", "get", "list", "watch", "patch", "delete"),
			rule(group, "sparkapplications/status", "patch"),
			rule(group, "sparkapplications/finalizers", "update"),
			rule(group, "sparkclusters", "get", "list", "watch", "patch"),
			rule(group, "sparkclusters/status", "patch"),
			rule(group, "sparkclusters/finalizers", "update"),
			rule("apps", "statefulsets", "get", "list", "watch", "create", "patch", "delete"),
			rule("", "services", "watch", "patch"),
			rule("networking.k8s.io", "networkpolicies", "watch", "patch"),
			rule("autoscaling", "horizontalpodautoscalers", "get", "list", "watch", "create", "patch", "delete"),
			rule("policy", "poddisruptionbudgets", "get", "list", "watch", "create", "patch", "delete"),
		}},
		{Name: "apache-routes", Rules: []rbacv1.PolicyRule{
			rule(exposure.HTTPRoute.Group, "httproutes", "get", "create"),
			rule(exposure.GRPCRoute.Group, "grpcroutes", "get", "create"),
		}},
	}
}
