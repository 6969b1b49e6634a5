// SPDX-License-Identifier: Apache-2.0

package main

import (
	"reflect"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/internal/convert/apache"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/spark"
	"github.com/firesteel-dev/firesteel/internal/standalone"
)

const clusterHead = `
## Fields of SparkCluster (spark.apache.org/v1)

The kind is [off by default](migrate-from-apache.md), and has the same fields in ` + "`v1beta1`" + `, but for
` + "`suspend`" + ` and ` + "`workerSpec.networkPolicy`" + `. Edits are applied to a cluster that runs. They are *live*, restart the *master*, with
which the applications that run in the cluster end, or replace the *workers*, one after the other unless their update strategy says
something else. What the API server refuses of a StatefulSet that is there, such as other claims for volumes, is said by the condition
` + "`Applied`" + `, and the cluster runs on as it was.

` + columns

// inCluster describes the fields whose effects the names of changed objects do not show.
var inCluster = map[string]string{
	"suspend": "nothing is created while it is true; of a cluster that runs, " +
		"StatefulSets, autoscaler and disruption budget are deleted",
	"sparkConf": "`SPARK_MASTER_OPTS` (without `spark.worker.*`) and `SPARK_WORKER_OPTS`; " +
		"`spark.kubernetes.container.image`: the image; `spark.kubernetes.scheduler.name`: the scheduler of the next start",
	"runtimeVersions.sparkVersion":                  "label `spark-version` of all objects and pods; replaces `{{SPARK_VERSION}}` in the image",
	"runtimeVersions.scalaVersion":                  "*ignored*, as there: the image decides",
	"runtimeVersions.jdkVersion":                    "*ignored*, as there: the image decides",
	"clusterTolerations.instanceConfig.initWorkers": "StatefulSet `<cluster>-worker`: `replicas`, which an autoscaler changes later",
	"clusterTolerations.instanceConfig.minWorkers": "HorizontalPodAutoscaler `<cluster>-worker-hpa`; " +
		"PodDisruptionBudget `<cluster>-worker-pdb` if it is 1 or more",
}

// clusterSample returns a cluster with every struct of the API, so that each of its fields can be changed.
func clusterSample() *v1.SparkCluster {
	o := &v1.SparkCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "jobs", Name: "<cluster>"}}
	o.Spec.RuntimeVersions.SparkVersion = "4.1.4"
	o.Spec.ClusterTolerations.InstanceConfig = v1.WorkerInstanceConfig{InitWorkers: 2, MinWorkers: 1, MaxWorkers: 5}
	o.Spec.MasterSpec, o.Spec.WorkerSpec = &v1.MasterSpec{}, &v1.WorkerSpec{}
	o.Spec.WorkerSpec.NetworkPolicy = &v1.WorkerNetworkPolicy{MetricsPort: 9404, MetricsIngress: []networkingv1.NetworkPolicyPeer{{}}}
	return o
}

// changePart changes a field that holds a part of an object. It changes any other field as change does.
func changePart(v reflect.Value, path string) {
	var part any
	switch v.Interface().(type) {
	case *appsv1.StatefulSetSpec:
		part = &appsv1.StatefulSetSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{ServiceAccountName: "spark"}}}
	case *corev1.ServiceSpec:
		part = &corev1.ServiceSpec{PublishNotReadyAddresses: true}
	case *metav1.ObjectMeta:
		part = &metav1.ObjectMeta{Labels: map[string]string{"team": "a"}}
	case *autoscalingv2.HorizontalPodAutoscalerSpec:
		part = &autoscalingv2.HorizontalPodAutoscalerSpec{}
	case []networkingv1.NetworkPolicyPeer:
		part = []networkingv1.NetworkPolicyPeer{{PodSelector: &metav1.LabelSelector{}}}
	default:
		change(v, path)
		return
	}
	v.Set(reflect.ValueOf(part))
}

// clusterFields returns the fields of the spec of a cluster.
func clusterFields() []apiField {
	var all []apiField
	visit(reflect.ValueOf(clusterSample()).Elem().FieldByName("Spec"), "", func(f apiField, _ reflect.Value) { all = append(all, f) })
	for i := range all {
		all[i].Effects, all[i].Edit = clusterEffects(all[i].Path)
	}
	return all
}

// clusterEffects changes the field, and returns the changed objects and the effect of an edit on running pods.
func clusterEffects(path string) (effects []string, edit string) {
	changed := clusterSample()
	visit(reflect.ValueOf(changed).Elem().FieldByName("Spec"), "", func(f apiField, v reflect.Value) {
		if f.Path == path {
			changePart(v, path)
		}
	})
	before, made := apache.Clusters{}.Desired(clusterSample(), standalone.Loaded{}, scheduler.Descriptor{}, scheduler.Decoration{})
	after, remade := apache.Clusters{}.Desired(changed, standalone.Loaded{}, scheduler.Descriptor{}, scheduler.Decoration{})
	effects, edit = objectEffects(made, remade)
	acts := len(effects) > 0 || before.Suspend != after.Suspend
	words, said := inCluster[path]
	switch ignored := strings.HasPrefix(words, "*ignored*"); {
	case said && ignored == acts:
		return []string{"inCluster names " + path + ", which is not so"}, edit
	case ignored:
		return []string{words}, "nothing"
	case said:
		return []string{words}, edit
	}
	return effects, edit
}

// objectEffects returns the objects that differ, and the roles whose pods differ. An object that only one side has counts as different.
func objectEffects(before, after []spark.Object) (effects []string, edit string) {
	replaced := []string{}
	named := map[string]spark.Object{}
	nameOf := func(o spark.Object) string {
		return o.GetObjectKind().GroupVersionKind().Kind + " `" + o.GetName() + "`"
	}
	for _, o := range after {
		named[nameOf(o)] = o
	}
	for _, o := range before {
		name := nameOf(o)
		if equality.Semantic.DeepEqual(o, named[name]) {
			continue
		}
		effects = append(effects, name)
		was, set := o.(*appsv1.StatefulSet)
		if is, there := named[name].(*appsv1.StatefulSet); set && there && !equality.Semantic.DeepEqual(was.Spec.Template, is.Spec.Template) {
			replaced = append(replaced, strings.TrimPrefix(o.GetName(), "<cluster>-"))
		}
	}
	slices.Sort(effects)
	switch strings.Join(replaced, " ") {
	case apache.RoleMaster:
		return effects, "master"
	case apache.RoleWorker:
		return effects, "workers"
	case "":
		return effects, "live"
	}
	return effects, "master, workers"
}

// clusterTable lists the fields of a cluster.
func clusterTable(comments map[string]string) (string, error) {
	return table(clusterHead, "cluster.", "", clusterFields(), comments)
}
