// SPDX-License-Identifier: Apache-2.0

package apache

import (
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	v1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/spark"
	"github.com/firesteel-dev/firesteel/internal/standalone"
)

// ClusterFamily is what the core knows of clusters.
var ClusterFamily = lifecycle.Family{
	Group: v1.SchemeGroupVersion.Group, Version: v1.SchemeGroupVersion.Version, Kind: "SparkCluster",
	Labels: lifecycle.Labels{
		App: v1.LabelClusterName, LaunchedBy: v1.LabelOperator, Submission: v1.LabelClusterName, PlainOwner: true,
		CreatedBy: v1beta2.LabelCreatedBy, SpecHash: v1beta2.LabelSpecHash, Exposes: v1beta2.LabelExposes, Applied: v1beta2.AnnotationApplied,
	},
	Finalizer: v1.ClusterFinalizer,
	Submitter: lifecycle.SubmitterKeys{User: v1beta2.AnnotationSubmitter, Groups: v1beta2.AnnotationSubmitterGroups},
	Fields:    clusterFields,
}

// ClusterSets are the names of the StatefulSets of a cluster.
func ClusterSets(name string) (master, workers string) { return masterName(name), workerName(name) }

// DesiredCluster returns what standalone.Decide needs to know of the object itself.
func DesiredCluster(o *v1.SparkCluster) standalone.Cluster {
	c := standalone.Cluster{
		Generation: o.Generation, Suspend: o.Spec.Suspend, Deleting: !o.DeletionTimestamp.IsZero(), Finalizer: slices.Contains(o.Finalizers, v1.ClusterFinalizer),
		SuspendField: "spec.suspend", Problem: clusterProblem(o),
		Optional: []standalone.Ref{{Kind: "HorizontalPodAutoscaler", Name: workerName(o.Name) + "-hpa"}, {Kind: "PodDisruptionBudget", Name: workerName(o.Name) + "-pdb"}},
	}
	c.Probe = strings.EqualFold(o.Labels[v1.LabelSentinel], "true")
	size := o.Spec.ClusterTolerations.InstanceConfig
	for _, object := range ClusterObjects(o) {
		part := standalone.Part{Ref: standalone.Ref{Kind: object.GetObjectKind().GroupVersionKind().Kind, Name: object.GetName()}}
		part.Runs = part.Kind == "StatefulSet" || slices.Contains(c.Optional, part.Ref)
		if part.Kind == "StatefulSet" && part.Name == workerName(o.Name) && size.MinWorkers < size.MaxWorkers {
			part.Scaled, part.Min, part.Max = true, size.MinWorkers, size.MaxWorkers
		}
		c.Parts = append(c.Parts, part)
	}
	return c
}

// clusterProblem is what is wrong with a spec; empty if nothing is known to be.
func clusterProblem(o *v1.SparkCluster) lifecycle.Cause {
	problem := func(message string) lifecycle.Cause {
		return lifecycle.Cause{Reason: lifecycle.ReasonInvalidSpec, Message: message}
	}
	const size = "spec.clusterTolerations.instanceConfig."
	n := o.Spec.ClusterTolerations.InstanceConfig
	number := func(value int32) string { return strconv.FormatInt(int64(value), 10) }
	switch service := masterService(o.Name); {
	case o.MalformedSpec != "":
		return problem("spec: cannot be decoded: " + o.MalformedSpec)
	case len(validation.IsDNS1035Label(service)) > 0:
		return problem("metadata.name: " + strconv.Quote(o.Name) + " does not make the name of a Service, " + service +
			"; use lower case letters, digits and -, begin with a letter, and at most " + number(int32(validation.DNS1035LabelMaxLength-len(service)+len(o.Name))) + " characters")
	case n.InitWorkers < 0:
		return problem(size + "initWorkers: " + number(n.InitWorkers) + " is not a number of workers; use 0 or more")
	case n.MinWorkers < n.MaxWorkers && n.MinWorkers < 1:
		return problem(size + "minWorkers: " + number(n.MinWorkers) + " is too small for an autoscaler, which there is because maxWorkers is more; use 1 or more, or the same as maxWorkers")
	}
	return lifecycle.Cause{}
}

// clusterFields name the fields of both roles in messages.
var clusterFields = fieldsOfRoles()

func fieldsOfRoles() spark.Fields {
	fields := spark.Fields{"": "spec", RoleWorker + ".most": "spec.clusterTolerations.instanceConfig.maxWorkers"}
	for name, spec := range map[string]string{RoleMaster: "spec.masterSpec.", RoleWorker: "spec.workerSpec."} {
		template := spec + "statefulSetSpec.template"
		for field, path := range map[string]string{
			"": template, ".labels": template + ".metadata.labels", ".annotations": template + ".metadata.annotations", ".setMetadata": spec + "statefulSetMetadata",
			".service": spec + "serviceSpec", ".serviceMetadata": spec + "serviceMetadata", ".claims": spec + "statefulSetSpec.volumeClaimTemplates",
			".serviceAccount": template + ".spec.serviceAccountName", ".podSecurityContext": template + ".spec.securityContext",
			".cores": template + ".spec.containers", ".memory": template + ".spec.containers", ".ports": template + ".spec.containers", ".securityContext": template + ".spec.containers",
		} {
			fields[name+field] = path
		}
		for _, field := range []string{"volumes", "tolerations", "nodeSelector", "affinity", "priorityClassName", "schedulerName", "hostNetwork"} {
			fields[name+"."+field] = template + ".spec." + field
		}
	}
	return fields
}

// ClusterBuilt is what is built of a cluster, as far as it is limited.
func ClusterBuilt(o *v1.SparkCluster) spark.Standalone {
	c := clusterOf(o)
	built := spark.Standalone{Namespace: o.Namespace, Conf: o.Spec.SparkConf, Fields: clusterFields}
	for _, r := range []role{c.master, c.worker} {
		set := c.statefulSet(r)
		pod := &corev1.Pod{ObjectMeta: set.Spec.Template.ObjectMeta, Spec: set.Spec.Template.Spec}
		delete(pod.Labels, v1.LabelClusterName) // the operator's own
		if c.conf[spark.ConfSchedulerName] == "" {
			pod.Spec.SchedulerName = "" // the usual one, which the user has not chosen
		}
		most := r.replicas
		if size := o.Spec.ClusterTolerations.InstanceConfig; r.name == RoleWorker && size.MinWorkers < size.MaxWorkers {
			most = max(most, size.MaxWorkers)
		}
		built.Roles = append(built.Roles, spark.StandaloneRole{Name: r.name, Pod: pod, Most: most, Set: set, Service: c.service(r), Claims: set.Spec.VolumeClaimTemplates})
	}
	return built
}
