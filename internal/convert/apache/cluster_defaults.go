// SPDX-License-Identifier: Apache-2.0

package apache

import (
	"maps"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	v1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/internal/spark"
	"github.com/firesteel-dev/firesteel/internal/standalone"
)

// clusterDefaults returns the policies' Spark properties for a cluster. A running cluster keeps the properties of its start, because others would restart its
// pods; otherwise apply returns the current ones.
func clusterDefaults(o *v1.SparkCluster, apply func(spark.Application) spark.Application) map[string]string {
	if r := ClusterRecord(o); r.State == standalone.Running {
		return r.Defaults
	}
	app := spark.Application{Namespace: o.Namespace, Name: o.Name, Conf: maps.Clone(o.Spec.SparkConf)}
	maps.DeleteFunc(app.Conf, func(key, _ string) bool { return isField(key) }) // these properties have no effect on pods of clusters
	added := map[string]string{}
	for key, value := range apply(app).Conf {
		if _, own := app.Conf[key]; !own {
			added[key] = value
		}
	}
	if len(added) == 0 {
		return nil
	}
	return added
}

// roleDefaults are the properties that correspond to fields of a role's pods.
type roleDefaults struct{ cores, limit, memory, labels string }

var (
	masterDefaults = roleDefaults{spark.ConfDriverCores, spark.ConfDriverLimitCores, spark.ConfDriverMemory, spark.ConfDriverLabelPrefix}
	workerDefaults = roleDefaults{spark.ConfExecutorCores, spark.ConfExecutorLimitCores, spark.ConfExecutorMemory, spark.ConfExecutorLabelPrefix}
)

// isField reports whether a property corresponds to a field of a cluster's pods.
func isField(key string) bool {
	for _, r := range []roleDefaults{masterDefaults, workerDefaults} {
		if key == r.cores || key == r.limit || key == r.memory || strings.HasPrefix(key, r.labels) {
			return true
		}
	}
	return key == spark.ConfImagePullPolicy || key == spark.ConfDriverServiceAccount
}

// withDefaults returns the cluster with the policies' defaults for unset fields. The master gets a driver's defaults, and workers get an executor's. The
// service account applies to both, and memory applies to the pod's container.
func withDefaults(o *v1.SparkCluster, defaults map[string]string) *v1.SparkCluster {
	if len(defaults) == 0 {
		return o
	}
	filled := o.DeepCopy()
	s := &filled.Spec
	if s.SparkConf == nil {
		s.SparkConf = map[string]string{}
	}
	for key, value := range defaults {
		if _, own := s.SparkConf[key]; !own && !isField(key) {
			s.SparkConf[key] = value
		}
	}
	if s.MasterSpec == nil {
		s.MasterSpec = &v1.MasterSpec{}
	}
	if s.WorkerSpec == nil {
		s.WorkerSpec = &v1.WorkerSpec{}
	}
	fillRole(&s.MasterSpec.RoleObjects, RoleMaster, masterDefaults, defaults)
	fillRole(&s.WorkerSpec.RoleObjects, RoleWorker, workerDefaults, defaults)
	return filled
}

func fillRole(wanted *v1.RoleObjects, name string, keys roleDefaults, defaults map[string]string) {
	if wanted.StatefulSetSpec == nil {
		wanted.StatefulSetSpec = &appsv1.StatefulSetSpec{}
	}
	t := &wanted.StatefulSetSpec.Template
	if account := defaults[spark.ConfDriverServiceAccount]; t.Spec.ServiceAccountName == "" && t.Spec.DeprecatedServiceAccount == "" {
		t.Spec.ServiceAccountName = account
	}
	labels := map[string]string{}
	for key, value := range defaults {
		if label, is := strings.CutPrefix(key, keys.labels); is {
			labels[label] = value
		}
	}
	if len(labels) > 0 {
		t.Labels = with(labels, t.Labels)
	}
	d := daemonOf(&t.Spec, name)
	if d.ImagePullPolicy == "" {
		d.ImagePullPolicy = corev1.PullPolicy(defaults[spark.ConfImagePullPolicy])
	}
	fillResource(&d.Resources, corev1.ResourceCPU, quantityOf(defaults[keys.cores]), quantityOf(defaults[keys.limit]))
	memory := sizeOf(defaults[keys.memory])
	fillResource(&d.Resources, corev1.ResourceMemory, memory, memory)
}

// daemonOf returns the container of a role's daemon, and adds it if it is missing.
func daemonOf(s *corev1.PodSpec, name string) *corev1.Container {
	for i := range s.Containers {
		if s.Containers[i].Name == name {
			return &s.Containers[i]
		}
	}
	s.Containers = append(s.Containers, corev1.Container{Name: name})
	return &s.Containers[len(s.Containers)-1]
}

// fillResource sets request and limit of a resource if the container sets neither.
func fillResource(r *corev1.ResourceRequirements, name corev1.ResourceName, request, limit *resource.Quantity) {
	_, requests := r.Requests[name]
	_, limits := r.Limits[name]
	if requests || limits {
		return
	}
	if request != nil {
		r.Requests = withQuantity(r.Requests, name, *request)
	}
	if limit != nil {
		r.Limits = withQuantity(r.Limits, name, *limit)
	}
}

func withQuantity(list corev1.ResourceList, name corev1.ResourceName, q resource.Quantity) corev1.ResourceList {
	next := maps.Clone(list)
	if next == nil {
		next = corev1.ResourceList{}
	}
	next[name] = q
	return next
}

// quantityOf returns nil for an empty or invalid text.
func quantityOf(text string) *resource.Quantity {
	q, err := spark.ParseQuantity(text)
	if err != nil {
		return nil
	}
	return &q
}

// sizeOf reads a size in Spark's units; nil for none.
func sizeOf(text string) *resource.Quantity {
	size, ok := spark.ParseSize(text, 1<<20)
	if !ok || size <= 0 || size > 1<<40 {
		return nil
	}
	return resource.NewQuantity(size<<20, resource.BinarySI)
}
