// SPDX-License-Identifier: Apache-2.0

package apache

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	v1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/spark"
	"github.com/firesteel-dev/firesteel/internal/standalone"
)

// ClusterFamily describes clusters to the core.
var ClusterFamily = lifecycle.Family{
	Group: v1.SchemeGroupVersion.Group, Version: v1.SchemeGroupVersion.Version, Kind: "SparkCluster",
	Labels: lifecycle.Labels{
		App: v1.LabelClusterName, LaunchedBy: v1.LabelOperator, Submission: v1.LabelClusterName, PlainOwner: true,
		CreatedBy: v1beta2.LabelCreatedBy, SpecHash: v1beta2.LabelSpecHash, Exposes: v1beta2.LabelExposes, Applied: v1beta2.AnnotationApplied,
	},
	Finalizer: v1.ClusterFinalizer, Reads: []string{v1.LabelSentinel},
	Submitter: lifecycle.SubmitterKeys{User: v1beta2.AnnotationSubmitter, Groups: v1beta2.AnnotationSubmitterGroups},
	Fields:    clusterFields,
}

// Clusters translates SparkClusters.
type Clusters struct {
	// KeepHistory keeps the states of all attempts in one history (bounded by mostKept). Otherwise the states of the current and the previous attempt are kept.
	KeepHistory bool
	// NoDisruptionBudget creates no PodDisruptionBudgets of workers, and deletes existing ones.
	NoDisruptionBudget bool
}

// New returns an empty object.
func (Clusters) New() *v1.SparkCluster { return &v1.SparkCluster{} }

// Family describes the kind to the core.
func (Clusters) Family() lifecycle.Family { return ClusterFamily }

// Load returns the cluster under the current policies. apply fills in the policies' defaults, and check returns violations in the objects that are built with
// them.
func (Clusters) Load(o *v1.SparkCluster, apply func(spark.Application) spark.Application, check func(spark.Standalone) []*spark.ConfError) standalone.Loaded {
	c := standalone.Loaded{
		Record: ClusterRecord(o), Defaults: clusterDefaults(o, apply), Objections: clusterProblems(o), Suspend: o.Spec.Suspend, Probe: Sentinel(o),
		QueuedAt: clusterQueuedAt(o), Master: masterName(o.Name), Workers: workerName(o.Name),
	}
	if c.Built = clusterBuilt(o, c.Defaults); len(c.Objections) == 0 && check != nil {
		c.Objections = check(c.Built)
	}
	return c
}

// State returns the name of the cluster's state and its message; both are empty for a cluster without a status.
func (Clusters) State(o *v1.SparkCluster) (word, message string) {
	if s := o.Status.CurrentState; s != nil {
		return string(s.CurrentStateSummary), s.Message
	}
	return "", ""
}

// Desired returns the input of standalone.Decide from the object and its scheduler's plugin. It also returns the objects of the cluster with the plugin's
// decoration d.
func (k Clusters) Desired(o *v1.SparkCluster, loaded standalone.Loaded, plugin scheduler.Descriptor,
	d scheduler.Decoration) (standalone.Cluster, []spark.Object) {
	c := standalone.Cluster{
		Generation: o.Generation, Suspend: o.Spec.Suspend, Deleting: !o.DeletionTimestamp.IsZero(), Finalizer: slices.Contains(o.Finalizers, v1.ClusterFinalizer),
		Probe: loaded.Probe, Defaults: loaded.Defaults, SuspendField: clusterFields.Path("suspend"), Problem: problemOf(o, loaded.Objections),
		Optional: []standalone.Ref{{Kind: "HorizontalPodAutoscaler", Name: workerName(o.Name) + "-hpa"},
			{Kind: "PodDisruptionBudget", Name: workerName(o.Name) + "-pdb"}},
	}
	size := o.Spec.ClusterTolerations.InstanceConfig
	filled := withDefaults(o, loaded.Defaults)
	objects := ClusterObjects(filled, nil, d)
	if k.NoDisruptionBudget {
		objects = slices.DeleteFunc(objects, func(object spark.Object) bool {
			return object.GetObjectKind().GroupVersionKind().Kind == "PodDisruptionBudget"
		})
	}
	for _, object := range objects {
		part := standalone.Part{Ref: standalone.Ref{Kind: object.GetObjectKind().GroupVersionKind().Kind, Name: object.GetName()}}
		part.Runs = part.Kind == "StatefulSet" || slices.Contains(c.Optional, part.Ref)
		switch part.Ref {
		case standalone.Ref{Kind: "StatefulSet", Name: masterName(o.Name)}:
			part.Fixed = fixed(plugin, ptr.Deref(filled.Spec.MasterSpec, v1.MasterSpec{}).RoleObjects)
		case standalone.Ref{Kind: "StatefulSet", Name: workerName(o.Name)}:
			part.Fixed = fixed(plugin, ptr.Deref(filled.Spec.WorkerSpec, v1.WorkerSpec{}).RoleObjects)
			part.Scaled, part.Min, part.Max = size.MinWorkers < size.MaxWorkers, size.MinWorkers, size.MaxWorkers
		}
		c.Parts = append(c.Parts, part)
	}
	return c, objects
}

// fixed returns the part of a role's pods that the plugin sets, without what the user also sets.
func fixed(plugin scheduler.Descriptor, wanted v1.RoleObjects) standalone.Fixed {
	f := standalone.Fixed{Scheduler: plugin.SchedulerName != ""}
	own := ptr.Deref(wanted.StatefulSetSpec, appsv1.StatefulSetSpec{}).Template
	for _, key := range plugin.ManagedKeys {
		_, label := own.Labels[key.Key]
		_, annotation := own.Annotations[key.Key]
		switch {
		case key.Part == scheduler.PodLabel && !label:
			f.Labels = append(f.Labels, key.Key)
		case key.Part == scheduler.PodAnnotation && !annotation:
			f.Annotations = append(f.Annotations, key.Key)
		}
	}
	return f
}

func problemOf(o *v1.SparkCluster, objections []*spark.ConfError) lifecycle.Cause {
	var sentences []string
	for _, e := range objections {
		sentences = append(sentences, e.About(ClusterNames(o).PathOf(e)))
	}
	if len(sentences) == 0 {
		return lifecycle.Cause{}
	}
	return lifecycle.Cause{Reason: lifecycle.ReasonInvalidSpec, Message: strings.Join(sentences, "; ")}
}

const (
	// mostRevisions bounds ControllerRevisions, each of which contains the whole template.
	mostRevisions = 100
	// mostMetrics bounds the metrics that an autoscaler reads every 15 seconds.
	mostMetrics = 20
)

// excesses returns an error for each number in the spec that is too large and that the definition does not bound.
func excesses(o *v1.SparkCluster) []*spark.ConfError {
	var problems []*spark.ConfError
	workers := ptr.Deref(o.Spec.WorkerSpec, v1.WorkerSpec{})
	for _, r := range []struct {
		name   spark.Field
		wanted v1.RoleObjects
	}{{RoleMaster, ptr.Deref(o.Spec.MasterSpec, v1.MasterSpec{}).RoleObjects}, {RoleWorker, workers.RoleObjects}} {
		if n := ptr.Deref(ptr.Deref(r.wanted.StatefulSetSpec, appsv1.StatefulSetSpec{}).RevisionHistoryLimit, 0); n > mostRevisions {
			e := &spark.ConfError{Field: r.name + "Spec.statefulSetSpec.revisionHistoryLimit", Value: strconv.Itoa(int(n))}
			e.Problem = fmt.Sprintf("is above the operator's limit; use at most %d", mostRevisions)
			problems = append(problems, e)
		}
	}
	if s := workers.HorizontalPodAutoscalerSpec; s != nil && len(s.Metrics) > mostMetrics {
		e := &spark.ConfError{Field: "workerSpec.horizontalPodAutoscalerSpec.metrics", Value: strconv.Itoa(len(s.Metrics))}
		e.Problem = fmt.Sprintf("are above the limit for an autoscaler; use at most %d", mostMetrics)
		problems = append(problems, e)
	}
	return problems
}

// clusterProblems returns the errors in a spec.
func clusterProblems(o *v1.SparkCluster) []*spark.ConfError {
	if o.MalformedSpec != "" {
		return []*spark.ConfError{{Field: spark.FieldSpec, Problem: "cannot be decoded: " + o.MalformedSpec}}
	}
	var problems []*spark.ConfError
	number := func(name spark.Field, n int32, wrong bool, problem string) {
		if wrong {
			problems = append(problems, &spark.ConfError{Field: "clusterTolerations.instanceConfig." + name, Value: strconv.FormatInt(int64(n), 10), Problem: problem})
		}
	}
	size := o.Spec.ClusterTolerations.InstanceConfig
	number("initWorkers", size.InitWorkers, size.InitWorkers < 0, "is not a number of workers; use 0 or more")
	number("minWorkers", size.MinWorkers, size.MinWorkers < size.MaxWorkers && size.MinWorkers < 0, "is not a number of workers; use 0 or more")
	number("minWorkers", size.MinWorkers, size.MinWorkers < size.MaxWorkers && size.MinWorkers == 0 && !scalesFromZero(o),
		"must be at least 1 for an autoscaler (maxWorkers is larger) whose metrics are those of workers; use 1 or more, make both equal, "+
			"or add a metric of the type External or Object")
	if o.Spec.RuntimeVersions.SparkVersion == "" {
		problems = append(problems, &spark.ConfError{Field: "runtimeVersions.sparkVersion", Type: field.ErrorTypeRequired,
			Problem: `is missing; write the version in the image, e.g. "4.1.4"`})
	}
	if service := masterService(o.Name); len(validation.IsDNS1123Label(service)) > 0 {
		problems = append(problems, &spark.ConfError{Field: spark.FieldName, Value: o.Name, Problem: fmt.Sprintf(
			"does not make the name of a Service, %s; use lower case letters, digits and -, and at most %d characters",
			service, validation.DNS1123LabelMaxLength-len(service)+len(o.Name))})
	}
	return append(problems, excesses(o)...)
}

// scalesFromZero reports whether the autoscaler has a metric that exists without workers. See ValidateHorizontalPodAutoscaler in Kubernetes.
func scalesFromZero(o *v1.SparkCluster) bool {
	w := o.Spec.WorkerSpec
	return w != nil && w.HorizontalPodAutoscalerSpec != nil && slices.ContainsFunc(w.HorizontalPodAutoscalerSpec.Metrics, func(m autoscalingv2.MetricSpec) bool {
		return m.Type == autoscalingv2.ExternalMetricSourceType || m.Type == autoscalingv2.ObjectMetricSourceType
	})
}

// ClusterWarnings returns warnings about fields that some versions of Kubernetes refuse.
func ClusterWarnings(o *v1.SparkCluster) (found []*spark.ConfError) {
	if problem := spark.NewServiceName(masterService(o.Name)); problem != "" {
		found = append(found, &spark.ConfError{Field: spark.FieldName, Value: o.Name, Problem: problem})
	}
	if size := o.Spec.ClusterTolerations.InstanceConfig; size.MinWorkers == 0 && size.MaxWorkers > 0 && scalesFromZero(o) {
		found = append(found, &spark.ConfError{Field: "clusterTolerations.instanceConfig.minWorkers", Value: "0",
			Problem: "Kubernetes before 1.37 refuses the autoscaler, unless it has the feature HPAScaleToZero; use 1 or more"})
	}
	return found
}

// ClusterNames provides the names of a cluster's fields for messages.
func ClusterNames(o *v1.SparkCluster) spark.Application {
	return spark.Application{Conf: o.Spec.SparkConf, Fields: clusterFields}
}

// clusterFields are the names of both roles' fields in messages.
var clusterFields = fieldsOfRoles()

func fieldsOfRoles() spark.Fields {
	fields := spark.Fields{"": "spec", "metadata": "metadata", scheduler.FieldScheduler: confField(spark.ConfSchedulerName),
		scheduler.FieldQueue: queueField, scheduler.FieldParameters: parametersField,
		spark.RoleDriver + ".schedulerName": confField(spark.ConfSchedulerName), spark.RoleExecutor + ".schedulerName": confField(spark.ConfSchedulerName),
		spark.RoleDriver + ".coreLimit":   "spec.masterSpec.statefulSetSpec.template.spec.containers",
		spark.RoleExecutor + ".coreLimit": "spec.workerSpec.statefulSetSpec.template.spec.containers",
		RoleWorker + ".most":              "spec.clusterTolerations.instanceConfig.maxWorkers",
		RoleWorker + ".networkPolicy":     "spec.workerSpec.networkPolicy.metricsIngress"}
	for name, spec := range map[spark.Field]string{RoleMaster: "spec.masterSpec.", RoleWorker: "spec.workerSpec."} {
		template := spec + "statefulSetSpec.template"
		for part, path := range map[spark.Field]string{
			"": template, ".labels": template + ".metadata.labels", ".annotations": template + ".metadata.annotations", ".setMetadata": spec + "statefulSetMetadata",
			".service": spec + "serviceSpec", ".serviceMetadata": spec + "serviceMetadata", ".claims": spec + "statefulSetSpec.volumeClaimTemplates",
			".serviceAccount": template + ".spec.serviceAccountName", ".podSecurityContext": template + ".spec.securityContext",
			".cores": template + ".spec.containers", ".memory": template + ".spec.containers",
			".ports": template + ".spec.containers", ".securityContext": template + ".spec.containers",
		} {
			fields[name+part] = path
		}
		for _, part := range []spark.Field{"volumes", "tolerations", "nodeSelector", "affinity", "priorityClassName", "schedulerName", "hostNetwork"} {
			fields[name+"."+part] = template + ".spec." + string(part)
		}
	}
	return fields
}

// clusterWords are the words for a cluster in messages of schedulers.
var clusterWords = spark.Words{
	spark.WordApplication: "cluster", spark.WordDriver: RoleMaster, spark.WordExecutor: RoleWorker, spark.WordExecutors: "workers",
}

// clusterBuilt returns the objects of a cluster with the policies' defaults, for the check of limits.
func clusterBuilt(o *v1.SparkCluster, defaults map[string]string) spark.Standalone {
	o = withDefaults(o, defaults)
	c := clusterOf(o)
	built := spark.Standalone{Namespace: o.Namespace, Conf: o.Spec.SparkConf, Defaults: defaults, Fields: clusterFields, Words: clusterWords,
		OwnLabels: ClusterFamily.Labels.Keys(), Others: []spark.Object{c.networkPolicy()}}
	for _, r := range []role{c.master, c.worker} {
		set := c.statefulSet(r)
		pod := &corev1.Pod{ObjectMeta: set.Spec.Template.ObjectMeta, Spec: set.Spec.Template.Spec}
		pod.Labels = maps.Clone(pod.Labels)
		delete(pod.Labels, v1.LabelClusterName) // the operator sets this label
		if c.conf[spark.ConfSchedulerName] == "" {
			pod.Spec.SchedulerName = "" // the user has not chosen the default scheduler
		}
		least, most := r.replicas, r.replicas
		if size := o.Spec.ClusterTolerations.InstanceConfig; r.name == RoleWorker && size.MinWorkers < size.MaxWorkers {
			least, most = min(least, size.MinWorkers), max(most, size.MaxWorkers)
		}
		written := []spark.Written{
			{Field: spark.Field(r.name + "Spec.statefulSetSpec"), At: "spec", Value: r.wanted.StatefulSetSpec},
			{Field: spark.Field(r.name + "Spec.statefulSetMetadata"), At: "metadata", Value: r.wanted.StatefulSetMetadata},
		}
		built.Roles = append(built.Roles, spark.StandaloneRole{
			Name: r.name, Pod: pod, Written: written, Initial: r.replicas, Least: least, Most: most,
			Set: set, Service: c.service(r), Claims: set.Spec.VolumeClaimTemplates,
		})
	}
	return built
}
