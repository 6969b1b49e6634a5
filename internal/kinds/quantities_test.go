// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/firesteel-dev/firesteel/internal/policy"
	"github.com/firesteel-dev/firesteel/internal/resolve"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/scheduler/kube"
	"github.com/firesteel-dev/firesteel/internal/testutil/heaptest"
)

// runnable are specs that are judged to their end.
var runnable = map[*Row]string{
	SparkApplication:          `{type: Scala, sparkVersion: 4.1.4, image: a, mainApplicationFile: "local:///a.jar", mainClass: A, driver: {}, executor: {instances: 1}}`,
	ScheduledSparkApplication: `{schedule: "@daily", template: {type: Scala, sparkVersion: 4.1.4, image: a, mainApplicationFile: "local:///a.jar", mainClass: A, driver: {}, executor: {instances: 1}}}`,
	SparkConnect:              `{sparkVersion: 4.1.4, image: a, server: {}, executor: {instances: 1}}`,
	ApacheSparkApplication: `{runtimeVersions: {sparkVersion: 4.1.4}, jars: "local:///a.jar", mainClass: A, sparkConf: {spark.kubernetes.container.image: a},
  driverServiceIngressList: [{serviceMetadata: {name: i}, serviceSpec: {ports: [{port: 4040}]}, ingressMetadata: {name: i}}],
  driverHttpRouteList: [{serviceMetadata: {name: h}, serviceSpec: {ports: [{port: 4040}]}, httpRouteMetadata: {name: h}, httpRouteSpec: {parentRefs: [{name: a}]}}],
  driverGrpcRouteList: [{serviceMetadata: {name: g}, serviceSpec: {ports: [{port: 4040}]}, grpcRouteMetadata: {name: g}, grpcRouteSpec: {parentRefs: [{name: a}]}}]}`,
	ApacheSparkCluster: `{runtimeVersions: {sparkVersion: 4.1.4}, sparkConf: {spark.kubernetes.container.image: a}, clusterTolerations: {instanceConfig: {initWorkers: 1, minWorkers: 1, maxWorkers: 1}}}`,
}

// hugeExponents are read by Kubernetes at once. A sum with one of them takes 40 MB or more.
var hugeExponents = []string{"1e99999999", "-3E+0099999999", "e99999999"}

// sized are properties that are read as sizes, numbers of cores, factors or amounts.
var sized = []string{
	"spark.driver.cores", "spark.executor.cores", "spark.driver.memory", "spark.executor.memory", "spark.executor.memoryOverhead", "spark.memory.offHeap.size",
	"spark.kubernetes.memoryOverheadFactor", "spark.driver.memoryOverheadFactor", "spark.executor.pyspark.memory", "spark.executor.instances", "spark.task.cpus",
	"spark.kubernetes.driver.request.cores", "spark.kubernetes.driver.limit.cores", "spark.kubernetes.executor.request.cores", "spark.kubernetes.executor.limit.cores",
	"spark.driver.resource.gpu.amount", "spark.executor.resource.gpu.amount",
	"spark.kubernetes.driver.volumes.emptyDir.a.options.sizeLimit", "spark.kubernetes.executor.volumes.persistentVolumeClaim.a.options.sizeLimit",
}

// Whatever field or property has a number that Kubernetes reads and cannot compute with: an object with it is judged in little memory, under
// limits as well, and where the field is a quantity it is refused with its place.
func TestHugeExponentsAreNotComputedWith(t *testing.T) {
	limits := policy.Set{{Limits: policy.Limits{
		Driver: policy.RoleLimits{Cores: "100", Memory: "1Ti"}, Executor: policy.RoleLimits{Cores: "100", Memory: "1Ti"},
	}}}
	registry, err := scheduler.NewRegistry(kube.Name, kube.Plugin{})
	if err != nil {
		t.Fatal(err)
	}
	operator := resolve.Operator{Policies: limits, Registry: registry}
	for _, row := range All() {
		t.Run(row.Plural+"."+row.Group, func(t *testing.T) {
			spec, _ := reflect.TypeOf(row.Fields()).Elem().FieldByName("Spec")
			w := leaves{seen: map[reflect.Type]bool{}}
			w.walk(spec.Type, nil)
			if len(w.quantities) < 10 || len(w.texts) == 0 {
				t.Fatalf("%d quantities and %d texts: the test does not see the fields", len(w.quantities), len(w.texts))
			}
			conf := []string{"sparkConf"}
			if row == ScheduledSparkApplication {
				conf = []string{"template", "sparkConf"}
			}
			for _, key := range sized {
				w.texts = append(w.texts, append(slices.Clone(conf), key))
			}
			all := append(slices.Clone(w.quantities), w.texts...)
			for i, path := range all {
				text := hugeExponents[i%len(hugeExponents)]
				check := heaptest.Bound(t, 0)
				malformed := judged(t, row, operator, text, path)
				check()
				if i < len(w.quantities) && !strings.Contains(malformed, "too large exponent") {
					t.Errorf("%s: %s: malformed %q", path, text, malformed)
				}
				if t.Failed() {
					t.Fatalf("%s: %s", path, text)
				}
			}
			defer heaptest.Bound(t, 1<<20)()
			judged(t, row, operator, hugeExponents[0], w.quantities...)
		})
	}
}

// judged decodes and judges an object with a text in some places of its spec, and says what is malformed.
func judged(t *testing.T, row *Row, operator resolve.Operator, text string, paths ...[]string) string {
	t.Helper()
	var content map[string]any
	if err := yaml.Unmarshal([]byte(`{metadata: {name: a, namespace: b, uid: c}, spec: `+runnable[row]+`}`), &content); err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		content["spec"] = laid(content["spec"], path, text)
	}
	encoded, err := json.Marshal(content)
	if err != nil {
		t.Fatal(err)
	}
	o, malformed, err := row.Decode(encoded)
	if err != nil {
		return malformed // a status or a name that is none is not the spec's
	}
	row.DryRun(o, Assumed{Namespace: "b", UID: "c"}, operator)
	return malformed
}

// leaves are the places of a type that have quantities, those that have texts, and those that have the metadata of an object. [] is an
// element of a list.
type leaves struct {
	seen                     map[reflect.Type]bool // on the way to a place
	own                      bool                  // whether the place is in a type of this API
	quantities, texts, metas [][]string
}

func (w *leaves) walk(t reflect.Type, path []string) {
	switch at := slices.Clone(path); {
	case t == reflect.TypeFor[resource.Quantity]():
		w.quantities = append(w.quantities, at)
	case t == reflect.TypeFor[metav1.ObjectMeta]():
		w.metas = append(w.metas, at)
	case t == reflect.TypeFor[metav1.Time](), t == reflect.TypeFor[metav1.Duration]():
	case t.Kind() == reflect.String && !w.own: // Kubernetes' own types say which fields are quantities
	case t.Kind() == reflect.String:
		w.texts = append(w.texts, at)
	case t.Kind() == reflect.Pointer:
		w.walk(t.Elem(), path)
	case t.Kind() == reflect.Slice:
		w.walk(t.Elem(), append(at, "[]"))
	case t.Kind() == reflect.Map && t == reflect.TypeFor[corev1.ResourceList]():
		w.walk(t.Elem(), append(at, "cpu"))
	case t.Kind() == reflect.Map:
		w.walk(t.Elem(), append(at, "a.b/c"))
	case t.Kind() == reflect.Struct && !w.seen[t]:
		w.seen[t], w.own = true, strings.Contains(t.PkgPath(), "firesteel")
		own := w.own
		for i := range t.NumField() {
			w.own = own
			name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
			if name == "" && t.Field(i).Anonymous {
				w.walk(t.Field(i).Type, path)
			} else if name != "" && name != "-" {
				w.walk(t.Field(i).Type, append(at, name))
			}
		}
		delete(w.seen, t)
	}
}

// laid is a value with a text at a path.
func laid(in any, path []string, text string) any {
	if len(path) == 0 {
		return text
	}
	if path[0] == "[]" {
		list, _ := in.([]any)
		if len(list) == 0 {
			list = []any{nil}
		}
		list[0] = laid(list[0], path[1:], text)
		return list
	}
	object, _ := in.(map[string]any)
	if object == nil {
		object = map[string]any{}
	}
	object[path[0]] = laid(object[path[0]], path[1:], text)
	return object
}
