// SPDX-License-Identifier: Apache-2.0

package main

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	v1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/internal/convert/apache"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
)

const apacheHead = `
## Fields of SparkApplication (spark.apache.org/v1)

The kind is [off by default](migrate-from-apache.md). ` + "`v1beta1`" + ` offers fewer fields, keeps the others, and is read as ` + "`v1`" + `.
An edit acts *live*, or holds from the *next attempt* on: as in Apache's operator, no edit restarts what runs.

` + columns

// inApache describes the fields that are neither properties nor parts of pods. An entry applies to all fields with its prefix; the longest prefix wins.
var inApache = map[string]string{
	"suspend":                         "nothing is created while it is true; a driver that runs is stopped",
	"files":                           "*ignored*, as there: write `spark.files` in `sparkConf`",
	"runtimeVersions.sparkVersion":    "label `spark-version`; replaces `{{SPARK_VERSION}}` in images",
	"runtimeVersions.scalaVersion":    "*ignored*, as there: the image decides",
	"runtimeVersions.jdkVersion":      "*ignored*, as there: the image decides",
	"pyFiles":                         "arguments of the driver, without `jars`; `spark.submit.pyFiles`",
	"sparkRFiles":                     "arguments of the driver, without the two before",
	"deploymentMode":                  "refused unless it is `ClusterMode`",
	"configMapSpecs[].":               "a ConfigMap that belongs to the driver",
	"driverServiceIngressList[].":     "a Service and an Ingress that belong to the driver",
	"driverHttpRouteList[].":          "a Service and an HTTPRoute that belong to the driver",
	"driverGrpcRouteList[].":          "a Service and a GRPCRoute that belong to the driver",
	"applicationTolerations.resource": "policy: how long driver and objects are kept",
	"applicationTolerations.ttlAfter": "policy: when the application is deleted",
	"applicationTolerations.instance": "policy: states by the number of executors",
	"applicationTolerations.restart":  "policy: whether and when it is tried again",
	timeoutFields + "forceTermin":     "policy: when a driver that does not end is deleted by force",
	timeoutFields + "termination":     "*ignored*: changes are watched",
	timeoutFields + "driver":          "policy: when the attempt is given up",
	timeoutFields + "executor":        "policy: when the attempt is given up",
}

const timeoutFields = "applicationTolerations.applicationTimeoutConfig."

// wordsOf returns the entry of the longest prefix of a path; "" for none.
func wordsOf(path string) (words string) {
	longest := -1
	for name, text := range inApache {
		if strings.HasPrefix(path, name) && len(name) > longest {
			longest, words = len(name), text
		}
	}
	return words
}

// apacheSample returns an application with every struct of the API, so that each of its fields can be changed.
func apacheSample() *v1.SparkApplication {
	meta := func() metav1.ObjectMeta { return metav1.ObjectMeta{Name: "a"} }
	service := func() corev1.ServiceSpec { return corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 4040}}} }
	route := func() *runtime.RawExtension {
		return &runtime.RawExtension{Raw: []byte(`{"parentRefs":[{"name":"gateway"}]}`)}
	}
	return &v1.SparkApplication{
		ObjectMeta: metav1.ObjectMeta{Namespace: "jobs", Name: "app", UID: "7b0f0a52-0000-4000-8000-000000000001"},
		Spec: v1.SparkApplicationSpec{
			RuntimeVersions: v1.RuntimeVersions{SparkVersion: "4.1.4"}, MainClass: "Main", Jars: "local:///app.jar",
			DriverSpec: &v1.RoleSpec{}, ExecutorSpec: &v1.RoleSpec{},
			ConfigMapSpecs: []v1.ConfigMapSpec{{Name: "settings"}},
			DriverServiceIngressList: []v1.DriverServiceIngress{{ServiceMetadata: meta(), ServiceSpec: service(),
				IngressMetadata: meta(), IngressSpec: &networkingv1.IngressSpec{}}},
			DriverHTTPRouteList: []v1.DriverHTTPRoute{{ServiceMetadata: meta(), ServiceSpec: service(), HTTPRouteMetadata: meta(), HTTPRouteSpec: route()}},
			DriverGRPCRouteList: []v1.DriverGRPCRoute{{ServiceMetadata: meta(), ServiceSpec: service(), GRPCRouteMetadata: meta(), GRPCRouteSpec: route()}},
			ApplicationTolerations: &v1.ApplicationTolerations{
				ResourceRetainPolicy:     v1.RetainAlways,
				RestartConfig:            &v1.RestartConfig{},
				ApplicationTimeoutConfig: &v1.ApplicationTimeoutConfig{}, InstanceConfig: &v1.InstanceConfig{InitExecutors: 1, MaxExecutors: 1},
			},
		},
	}
}

// apacheFields returns the fields of the spec, with the effects of changing each. A field that is not read has no effects.
func apacheFields() []apiField {
	var all []apiField
	spec := func(o *v1.SparkApplication) reflect.Value { return reflect.ValueOf(o).Elem().FieldByName("Spec") }
	visit(spec(apacheSample()), "", func(f apiField, _ reflect.Value) { all = append(all, f) })
	kind := apache.SparkApplications{}
	before := kind.Load(apacheSample(), lifecycle.Record{})
	for i := range all {
		changed := apacheSample()
		visit(spec(changed), "", func(f apiField, v reflect.Value) {
			if f.Path == all[i].Path {
				change(v, f.Path)
			}
		})
		found := map[string]bool{}
		after := kind.Load(changed, lifecycle.Record{})
		compare(reflect.ValueOf(before.App), reflect.ValueOf(after.App), found)
		// a change of Desired applies immediately; any other change applies to the next attempt
		all[i].Restarts = reflect.DeepEqual(before.Desired, after.Desired)
		if words := wordsOf(all[i].Path); words != "" {
			found = map[string]bool{words: true}
		}
		all[i].Effects = slices.Sorted(maps.Keys(found))
	}
	return all
}

// apacheTable lists the fields of an application of spark.apache.org.
func apacheTable(comments map[string]string) (string, error) {
	return table(apacheHead, "apache.", "next attempt", apacheFields(), comments)
}
