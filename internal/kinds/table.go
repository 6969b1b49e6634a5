// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	v1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1alpha1"
	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/admission"
	"github.com/firesteel-dev/firesteel/internal/convert/apache"
	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/resolve"
	"github.com/firesteel-dev/firesteel/internal/schedule"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/standalone"
)

// The fields of each kind, without its lenient decoder.
type (
	sparkApplication          v1beta2.SparkApplication
	scheduledSparkApplication v1beta2.ScheduledSparkApplication
	sparkConnect              v1alpha1.SparkConnect
	apacheSparkApplication    v1.SparkApplication
	apacheSparkCluster        v1.SparkCluster
)

// The rows of sparkoperator.k8s.io.
var (
	SparkApplication = &Row{
		GroupVersionKind: v1beta2.SchemeGroupVersion.WithKind("SparkApplication"), Plural: "sparkapplications", Short: "sparkapp",
		One: "an application", Many: "applications", Family: kubeflow.SparkApplications{}.Family(), AddToScheme: v1beta2.AddToScheme,
		New:    func() Object { return &v1beta2.SparkApplication{} },
		Fields: func() any { return &sparkApplication{} },
		Decode: func(content []byte) (Object, string, error) {
			o := &v1beta2.SparkApplication{}
			err := json.Unmarshal(content, o)
			o.UnknownFields = nil
			return o, o.MalformedSpec, err
		},
		Default: func(o Object) { kubeflow.Default(o.(*v1beta2.SparkApplication)) },
		DryRun:  dryRun(kubeflow.SparkApplications{}),
		States:  slices.Sorted(maps.Values(kubeflow.SparkApplications{}.Family().States)),
		Read: reading(kubeflow.SparkApplications{}, func(o *v1beta2.SparkApplication) Reading {
			s := &o.Status
			return Reading{Conditions: s.Conditions, State: string(s.AppState.State), Message: s.AppState.ErrorMessage, ObservedGeneration: s.ObservedGeneration}
		}),
	}
	ScheduledSparkApplication = &Row{
		GroupVersionKind: v1beta2.SchemeGroupVersion.WithKind(kubeflow.ScheduleKind), Plural: "scheduledsparkapplications", Short: "scheduledsparkapp",
		One: "a schedule", Many: "schedules", Family: kubeflow.SparkApplications{}.Family(), AddToScheme: v1beta2.AddToScheme,
		New:    func() Object { return &v1beta2.ScheduledSparkApplication{} },
		Fields: func() any { return &scheduledSparkApplication{} },
		Decode: func(content []byte) (Object, string, error) {
			o := &v1beta2.ScheduledSparkApplication{}
			err := json.Unmarshal(content, o)
			o.UnknownFields = nil
			return o, o.MalformedSpec, err
		},
		DryRun: func(o Object, a Assumed, operator resolve.Operator) Forecast {
			return dryRunSchedule(o.(*v1beta2.ScheduledSparkApplication), a, operator)
		},
		ReadSchedule: readSchedule, TriggerAt: v1beta2.AnnotationTriggerAt,
	}
	SparkConnect = &Row{
		GroupVersionKind: v1alpha1.SchemeGroupVersion.WithKind(kubeflow.ConnectKind), Plural: "sparkconnects", Short: "sparkconn",
		One: "a server", Many: "servers", Family: kubeflow.SparkConnects{}.Family(), AddToScheme: v1alpha1.AddToScheme,
		New:    func() Object { return &v1alpha1.SparkConnect{} },
		Fields: func() any { return &sparkConnect{} },
		Decode: func(content []byte) (Object, string, error) {
			o := &v1alpha1.SparkConnect{}
			err := json.Unmarshal(content, o)
			o.UnknownFields = nil
			return o, o.MalformedSpec, err
		},
		DryRun: dryRun(kubeflow.SparkConnects{}),
		States: []string{
			string(v1alpha1.SparkConnectStateProvisioning), string(v1alpha1.SparkConnectStateReady), string(v1alpha1.SparkConnectStateNotReady),
			string(v1alpha1.SparkConnectStateFailed),
		},
		Read: reading(kubeflow.SparkConnects{}, func(o *v1alpha1.SparkConnect) Reading {
			s := &o.Status
			return Reading{
				Conditions: s.Conditions, State: string(s.State), ObservedGeneration: s.ObservedGeneration,
				Endpoint: Endpoint{Pod: s.Server.PodName, Service: s.Server.ServiceName, TokenSecret: s.Server.TokenSecretName},
			}
		}),
	}
)

// ApacheSparkCluster is the row of standalone clusters.
var ApacheSparkCluster = &Row{
	GroupVersionKind: apache.ClusterFamily.GroupVersionKind(), Older: []string{"v1beta1"},
	Plural: "sparkclusters", Short: "sparkcluster", One: "a cluster", Many: "clusters",
	Family: apache.ClusterFamily, Optional: true, AddToScheme: v1.AddToScheme,
	New:    func() Object { return &v1.SparkCluster{} },
	Fields: func() any { return &apacheSparkCluster{} },
	Decode: func(content []byte) (Object, string, error) {
		o := &v1.SparkCluster{}
		err := json.Unmarshal(content, o)
		o.UnknownFields = nil
		return o, o.MalformedSpec, err
	},
	DryRun: func(o Object, a Assumed, operator resolve.Operator) Forecast {
		a.complete(o)
		cluster, f := o.(*v1.SparkCluster), Forecast{}
		c := apache.Clusters{}.Load(cluster, operator.Policies.For(o.GetNamespace()).Apply, admission.CheckCluster(operator, o.GetNamespace()))
		for _, e := range c.Objections {
			f.Errors = append(f.Errors, e.Invalid(apache.ClusterNames(cluster).PathOf(e)))
		}
		if f.Errors == nil && operator.Registry != nil {
			first := admission.ClusterOf(apache.ClusterFamily, cluster, standalone.Loaded{Built: c.Built}, operator.Submitters, time.Time{})
			f.DryRunResult = admission.DryRunCluster(first, operator)
		}
		for _, e := range apache.ClusterWarnings(cluster) {
			f.Warnings = append(f.Warnings, e.Invalid(apache.ClusterNames(cluster).PathOf(e)))
		}
		_, f.Makes = clustersOf(operator).Desired(cluster, c, scheduler.Descriptor{}, f.Decoration())
		return f
	},
	States: []string{
		string(v1.ClusterSubmitted), string(v1.ClusterRunningHealthy), string(v1.ClusterSuspended), string(v1.ClusterSchedulingFailure),
		string(v1.ClusterFailed), string(v1.ClusterResourceReleased),
	},
	ReadCluster: readCluster,
}

// ApacheSparkApplication is the row of applications of spark.apache.org.
var ApacheSparkApplication = &Row{
	GroupVersionKind: v1.SchemeGroupVersion.WithKind("SparkApplication"), Older: []string{"v1beta1"},
	Plural: "sparkapplications", Short: "sparkapp", One: "an application", Many: "applications of spark.apache.org",
	Family: apache.SparkApplications{}.Family(), Optional: true, AddToScheme: v1.AddToScheme,
	New:    func() Object { return &v1.SparkApplication{} },
	Fields: func() any { return &apacheSparkApplication{} },
	Decode: func(content []byte) (Object, string, error) {
		o := &v1.SparkApplication{}
		err := json.Unmarshal(content, o)
		o.UnknownFields = nil
		return o, o.MalformedSpec, err
	},
	DryRun: dryRun(apache.SparkApplications{}),
	States: apache.States(),
	Read: reading(apache.SparkApplications{}, func(o *v1.SparkApplication) Reading {
		r := Reading{Conditions: o.Status.Conditions, ObservedGeneration: o.Status.ObservedGeneration}
		if s := o.Status.CurrentState; s != nil {
			r.State, r.Message = string(s.CurrentStateSummary), s.Message
		}
		return r
	}),
}

// reading returns the function that interprets objects of a kind of application. of reads the parts of the status that are not in the record.
func reading[T Object](k resolve.Kind[T], of func(T) Reading) func(Object, resolve.Operator, time.Time) Reading {
	return func(o Object, operator resolve.Operator, now time.Time) Reading {
		typed := o.(T)
		r := of(typed)
		r.Application = resolve.Load(k, typed, k.FromStatus(typed), operator, now)
		return r
	}
}

// readSchedule interprets a schedule.
func readSchedule(o Object, operator resolve.Operator, now time.Time) ScheduleReading {
	s := o.(*v1beta2.ScheduledSparkApplication)
	return ScheduleReading{
		Desired: kubeflow.DesiredSchedule(s), Record: kubeflow.ScheduleRecord(&s.Status), Conditions: s.Status.Conditions,
		RunLabels: kubeflow.Schedules{}.RunLabels(s.Name),
		RunOf:     func(run metav1.Object) schedule.Run { return kubeflow.RunOf(run.(*v1beta2.SparkApplication)) },
		Run: func(start schedule.Start) resolve.Application {
			return resolve.Load(kubeflow.SparkApplications{Template: true}, kubeflow.NewRun(s, start), lifecycle.Record{}, operator, now)
		},
	}
}

// clustersOf returns the translation of clusters under the operator's configuration.
func clustersOf(operator resolve.Operator) apache.Clusters {
	return apache.Clusters{NoDisruptionBudget: operator.Exposure.NoWorkerBudget}
}

// readCluster resolves a cluster.
func readCluster(o Object, operator resolve.Operator, now time.Time) ClusterReading {
	cluster := o.(*v1.SparkCluster)
	c := apache.Clusters{}.Load(cluster, operator.Policies.For(o.GetNamespace()).Apply, admission.CheckCluster(operator, o.GetNamespace()))
	desired, _ := clustersOf(operator).Desired(cluster, c, scheduler.Descriptor{}, scheduler.Decoration{})
	r := ClusterReading{
		Record: c.Record, Desired: desired, Conditions: cluster.Status.Conditions, Since: apache.ClusterSince(cluster), Pods: apache.ClusterPods(cluster),
		Word: apache.ClusterState, Master: c.Master, Workers: c.Workers,
		Start: admission.ClusterOf(apache.ClusterFamily, cluster, c, operator.Submitters, now),
	}
	r.State, r.Message = apache.Clusters{}.State(cluster)
	return r
}

// dryRun returns the function that checks objects of a kind of application.
func dryRun[T Object](k resolve.Kind[T]) func(Object, Assumed, resolve.Operator) Forecast {
	return func(o Object, a Assumed, operator resolve.Operator) Forecast {
		uid := a.UID
		a.complete(o)
		o.SetUID(cmp.Or(uid, o.GetUID(), a.UID))
		return Forecast{DryRunResult: admission.DryRun(resolve.Load(k, o.(T), lifecycle.Record{}, operator, a.SubmitTime), operator.Registry)}
	}
}

// dryRunSchedule checks a schedule at a time, and its next run. A schedule outside a cluster counts as just created.
func dryRunSchedule(o *v1beta2.ScheduledSparkApplication, a Assumed, operator resolve.Operator) Forecast {
	a.complete(o)
	o.UID = cmp.Or(o.UID, DefaultUID)
	if o.CreationTimestamp.IsZero() {
		o.CreationTimestamp = metav1.NewTime(a.Now)
	}
	var forecast Forecast
	run := func(s schedule.Start) resolve.Application {
		next := kubeflow.NewRun(o, s)
		next.SetGroupVersionKind(SparkApplication.GroupVersionKind)
		next.UID = a.UID
		forecast.Creates = next
		return resolve.Load(kubeflow.SparkApplications{Template: true}, next, lifecycle.Record{}, operator, s.Tick)
	}
	env := schedule.Env{Now: a.Now, Local: a.Local, Precision: schedule.Nanos}
	result := admission.DryRunSchedule(kubeflow.DesiredSchedule(o), run, env, operator.Registry)
	forecast.DryRunResult = result.DryRunResult
	forecast.Remarks = field.ErrorList{{Field: "spec.schedule", BadValue: field.OmitValueType{}, Detail: timesOf(result.Next)}}
	return forecast
}

// timesOf lists the times of the next runs.
func timesOf(next []schedule.Start) string {
	times := make([]string, 0, len(next))
	for _, s := range next {
		times = append(times, s.Tick.Format(time.RFC3339))
	}
	text := "the next runs are due at " + strings.Join(times, ", ")
	if len(next) > 0 {
		text += fmt.Sprintf(" (%s)", next[0].Tick.Location())
	}
	return text
}
