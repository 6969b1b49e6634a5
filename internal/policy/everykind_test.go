// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	v1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1alpha1"
	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/admission"
	"github.com/firesteel-dev/firesteel/internal/convert/apache"
	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
	"github.com/firesteel-dev/firesteel/internal/exposure"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/policy"
	"github.com/firesteel-dev/firesteel/internal/resolve"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/scheduler/coscheduling"
	"github.com/firesteel-dev/firesteel/internal/scheduler/kube"
)

// Objects of these kinds take annotations of a tenant's; those of all others have the operator's and the administrator's only.
var annotated = []string{"ConfigMap", "GRPCRoute.gateway.networking.k8s.io", "HTTPRoute.gateway.networking.k8s.io", "Ingress.networking.k8s.io", "PersistentVolumeClaim", "Pod", "PodGroup.scheduling.volcano.sh", "Service", "StatefulSet.apps"}

const evil = "evil.example.org/annotation"

// judgeAll makes all objects of all kinds as the operator makes them, from manifests that write changes, without a policy and with limits, and
// returns what is made without and what is said with them.
func judgeAll(t *testing.T, limits policy.Limits, write func(string) string) (all []made, said []string) {
	t.Helper()
	registry, err := scheduler.NewRegistry(kube.Name, kube.Plugin{}, coscheduling.New(""))
	if err != nil {
		t.Fatal(err)
	}
	operator := resolve.Operator{Registry: registry, Exposure: exposure.Config{
		Service: true, DisruptionBudget: true,
		Ingress: exposure.Ingress{Enabled: true, URLFormat: "{{$appName}}.example.org"},
		Route:   exposure.Route{URLFormat: "{{$appName}}.example.org", ParentRefs: []exposure.ParentRef{{Name: "gateway"}}},
	}}
	now := time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)
	run := func(strict policy.Set, sure bool) []made {
		operator.Policies = strict
		app, server := decode[v1beta2.SparkApplication](t, write(everywhere), evil), decode[v1alpha1.SparkConnect](t, write(everywhereServer), evil)
		gang := app.DeepCopy()
		gang.Spec.BatchScheduler, gang.Spec.SparkConf = new(coscheduling.Name), nil
		var all []made
		for _, a := range []resolve.Application{
			resolve.Load(kubeflow.SparkApplications{}, app, lifecycle.Record{}, operator, now),
			resolve.Load(kubeflow.SparkApplications{}, gang, lifecycle.Record{}, operator, now),
			resolve.Load(kubeflow.SparkConnects{}, server, lifecycle.Record{}, operator, now),
			resolve.Load(apache.SparkApplications{}, decode[v1.SparkApplication](t, write(everywhereApache), evil), lifecycle.Record{}, operator, now),
		} {
			all = append(all, makeAll(t, a, registry, operator.Exposure, sure))
		}
		return append(all, makeCluster(decode[v1.SparkCluster](t, write(everywhereCluster), evil), strict))
	}
	for _, m := range run(policy.Set{{Name: "strict", Namespaces: []string{"*"}, Limits: limits}}, false) {
		said = append(said, m.said...)
	}
	return run(nil, true), said
}

// A tenant writes an annotation, and a label of the same name, wherever one can be written. Each object that has got the annotation is
// objected to.
func TestForbiddenAnnotationOnEveryKind(t *testing.T) {
	all, said := judgeAll(t, policy.Limits{ForbiddenAnnotations: []string{"evil.*"}}, func(manifest string) string { return manifest })
	got, rendered := map[string]bool{}, map[string]bool{}
	for _, m := range all {
		for _, o := range m.objects {
			kind := o.kind
			rendered[kind] = true
			if _, has := o.object.GetAnnotations()[evil]; has {
				got[kind] = true
			}
		}
	}
	var kinds []string
	for kind := range got {
		kinds = append(kinds, kind)
	}
	slices.Sort(kinds)
	if diff := cmp.Diff(annotated, kinds); diff != "" {
		t.Errorf("kinds with annotations of the tenant's (-want +got): each needs an objection below:\n%s", diff)
	}
	for _, kind := range policy.Judged() {
		if family := strings.TrimSuffix(kind, "*"); !slices.ContainsFunc(keysOf(rendered), func(k string) bool { return strings.HasPrefix(k, family) }) {
			t.Errorf("no %s is made here: make one, with an annotation of the tenant's if it can have one", kind)
		}
	}

	for _, where := range []string{
		"spec.driver.annotations", "spec.executor.annotations", "spec.driver.serviceAnnotations", "sparkUIOptions.serviceAnnotations",
		"sparkUIOptions.ingressAnnotations", "driverIngressOptions[0].serviceAnnotations", "driverIngressOptions[0].ingressAnnotations",
		"spark.kubernetes.driver.volumes.persistentVolumeClaim.d.annotation.", "spark.kubernetes.executor.volumes.persistentVolumeClaim.d.annotation.",
		"spark.kubernetes.scheduler.volcano.podGroupTemplateJson", "spec.server.service.metadata.annotations",
		"spec.configMapSpecs[0].annotations", "spec.driverSpec.podTemplateSpec", "spec.executorSpec.podTemplateSpec",
		"driverServiceIngressList[0].serviceMetadata", "driverServiceIngressList[0].ingressMetadata", "driverHttpRouteList[0].httpRouteMetadata", "driverGrpcRouteList[0].grpcRouteMetadata",
		"spec.masterSpec.statefulSetMetadata", "spec.masterSpec.serviceMetadata", "spec.masterSpec.statefulSetSpec.template.metadata",
		"spec.workerSpec.statefulSetMetadata", "spec.workerSpec.serviceMetadata", "spec.workerSpec.statefulSetSpec.template.metadata", "spec.workerSpec.statefulSetSpec.template.spec.volumes",
	} {
		if !slices.ContainsFunc(said, func(s string) bool {
			return strings.Contains(s, where) && strings.Contains(s, "allows no such annotation")
		}) {
			t.Errorf("nobody objects to the annotation in %s; said: %q", where, said)
		}
	}
}

// asLabels writes labels where a manifest has annotations.
var asLabels = strings.NewReplacer("annotations: {EVIL}, labels: {EVIL}", "labels: {EVIL}", "    labels: {EVIL}\n", "", "    serviceLabels: {EVIL}\n", "",
	", ingressAnnotations: {EVIL}", "", "annotations: {EVIL}", "labels: {EVIL}", "serviceAnnotations", "serviceLabels", ".annotation.", ".label.")

// writeLabels gives each label a name of its own: one that the driver's pod has, too, is judged there.
func writeLabels(manifest string) string {
	parts := strings.Split(asLabels.Replace(manifest), "EVIL")
	for i := range parts[1:] {
		parts[i] += "evil.example.org/" + strconv.Itoa(i) + `: "x"`
	}
	return strings.Join(parts, "")
}

// The same with a label alone: on pods and claims of both roles, on Services, sets, routes, groups and ConfigMaps.
func TestForbiddenLabelOnEveryKind(t *testing.T) {
	_, said := judgeAll(t, policy.Limits{ForbiddenLabels: []string{"evil.*"}}, writeLabels)
	for _, where := range []string{
		"spec.driver.labels", "spec.executor.labels", "spec.driver.serviceLabels", "sparkUIOptions.serviceLabels", "driverIngressOptions[0].serviceLabels",
		"spark.kubernetes.driver.volumes.persistentVolumeClaim.d.label.", "spark.kubernetes.executor.volumes.persistentVolumeClaim.d.label.",
		"spark.kubernetes.scheduler.volcano.podGroupTemplateJson", "spec.server.service.metadata.labels",
		"spec.configMapSpecs[0].labels", "spec.driverSpec.podTemplateSpec", "spec.executorSpec.podTemplateSpec",
		"driverServiceIngressList[0].serviceMetadata", "driverServiceIngressList[0].ingressMetadata", "driverHttpRouteList[0].httpRouteMetadata", "driverGrpcRouteList[0].grpcRouteMetadata",
		"spec.masterSpec.statefulSetMetadata", "spec.masterSpec.serviceMetadata", "spec.masterSpec.statefulSetSpec.template.metadata", "spec.masterSpec.statefulSetSpec.template.spec.volumes",
		"spec.workerSpec.statefulSetMetadata", "spec.workerSpec.serviceMetadata", "spec.workerSpec.statefulSetSpec.template.metadata", "spec.workerSpec.statefulSetSpec.template.spec.volumes",
	} {
		if !slices.ContainsFunc(said, func(s string) bool { return strings.Contains(s, where) && strings.Contains(s, "allows no such label") }) {
			t.Errorf("no objection to the label in %s; said: %q", where, said)
		}
	}
	harmless := strings.NewReplacer("annotations: {EVIL}", "annotations: {}", "labels: {EVIL}", "labels: {}", "serviceLabels: {EVIL}", "serviceLabels: {}")
	if _, said := judgeAll(t, policy.Limits{ForbiddenLabels: []string{"*"}}, harmless.Replace); len(said) > 0 {
		t.Errorf("labels of Spark's and of the operator's are forbidden: %q", said)
	}
}

// object is one that would be applied.
type object struct {
	kind   string
	object metav1.Object
}

// made is what comes of one application, and what is said against it.
type made struct {
	objects []object
	said    []string
}

// makeAll makes all objects as the operator does: the submission, what the scheduler's plugin applies, and what stands beside a driver.
func makeAll(t *testing.T, a resolve.Application, registry *scheduler.Registry, config exposure.Config, sure bool) made {
	t.Helper()
	var m made
	add := func(o metav1.Object) { m.objects = append(m.objects, objectOf(o)) }
	dry := admission.DryRun(a, registry)
	for _, e := range dry.Errors {
		m.said = append(m.said, e.Error())
	}
	if objects, err := dry.Objects(); err == nil {
		for _, o := range objects {
			add(o)
		}
	} else if sure {
		t.Fatal(err)
	}
	if candidate, _ := admission.NewCandidate(a, registry, nil); candidate != nil {
		for _, o := range candidate.Admit(nil).Apply {
			add(o)
		}
	}
	attempt := exposure.Attempt{App: a.App, Owner: a.Owner, SparkAppID: a.Identity.AppID, DriverName: a.DriverName()}
	for _, o := range exposure.Of(attempt, config).Objects {
		add(o.Unstructured)
	}
	return m
}

// makeCluster makes all objects of a cluster.
func makeCluster(o *v1.SparkCluster, policies policy.Set) made {
	var m made
	for _, object := range apache.ClusterObjects(o, nil, scheduler.Decoration{}) {
		m.objects = append(m.objects, objectOf(object))
	}
	for _, e := range policies.CheckCluster(apache.Clusters{}.Load(o, policy.Set{}.Apply, nil).Built) {
		m.said = append(m.said, e.About(apache.ClusterNames(o).PathOf(e)))
	}
	return m
}

func objectOf(o metav1.Object) object {
	return object{o.(runtime.Object).GetObjectKind().GroupVersionKind().GroupKind().String(), o}
}

func decode[T any](t *testing.T, text, annotation string) *T {
	t.Helper()
	var o T
	if err := yaml.UnmarshalStrict([]byte(strings.ReplaceAll(text, "EVIL", annotation+`: "x"`)), &o); err != nil {
		t.Fatal(err)
	}
	return &o
}

func keysOf(m map[string]bool) []string {
	var all []string
	for k := range m {
		all = append(all, k)
	}
	return all
}

const everywhere = `
metadata: {name: pi, namespace: team-a, uid: 7b0f0a52-0000-4000-8000-000000000001, annotations: {EVIL}, labels: {EVIL}}
spec:
  type: Scala
  sparkVersion: 4.3.0
  image: a
  mainClass: org.apache.spark.examples.SparkPi
  mainApplicationFile: local:///a.jar
  driverPodDisruptionBudget: true
  monitoring: {exposeDriverMetrics: true, prometheus: {jmxExporterJar: /a.jar}}
  volumes: [{name: e, ephemeral: {volumeClaimTemplate: {metadata: {annotations: {EVIL}}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}}}]
  driver:
    annotations: {EVIL}
    labels: {EVIL}
    serviceAnnotations: {EVIL}
    serviceLabels: {EVIL}
    volumeMounts: [{name: e, mountPath: /e}]
    template: {metadata: {annotations: {EVIL}}, spec: {containers: [{name: x, image: a}]}}
  executor:
    annotations: {EVIL}
    labels: {EVIL}
    template: {metadata: {annotations: {EVIL}}, spec: {containers: [{name: x, image: a}]}}
  sparkUIOptions: {serviceAnnotations: {EVIL}, ingressAnnotations: {EVIL}}
  driverIngressOptions: [{servicePort: 8080, ingressURLFormat: a.b, serviceAnnotations: {EVIL}, ingressAnnotations: {EVIL}}]
  sparkConf:
    spark.kubernetes.driver.pod.featureSteps: org.apache.spark.deploy.k8s.features.VolcanoFeatureStep
    spark.kubernetes.scheduler.volcano.podGroupTemplateJson: '{metadata: {annotations: {EVIL}}}'
    spark.kubernetes.driver.volumes.persistentVolumeClaim.d.mount.path: /d
    spark.kubernetes.driver.volumes.persistentVolumeClaim.d.options.claimName: OnDemand
    spark.kubernetes.driver.volumes.persistentVolumeClaim.d.options.storageClass: a
    spark.kubernetes.driver.volumes.persistentVolumeClaim.d.options.sizeLimit: 1Gi
    spark.kubernetes.driver.volumes.persistentVolumeClaim.d.annotation.EVIL
    spark.kubernetes.executor.volumes.persistentVolumeClaim.d.mount.path: /d
    spark.kubernetes.executor.volumes.persistentVolumeClaim.d.options.claimName: OnDemand
    spark.kubernetes.executor.volumes.persistentVolumeClaim.d.options.storageClass: a
    spark.kubernetes.executor.volumes.persistentVolumeClaim.d.options.sizeLimit: 1Gi
    spark.kubernetes.executor.volumes.persistentVolumeClaim.d.annotation.EVIL
`

const everywhereApache = `
metadata: {name: direct, namespace: team-a, uid: 7b0f0a52-0000-4000-8000-000000000003, annotations: {EVIL}, labels: {EVIL}}
spec:
  runtimeVersions: {sparkVersion: 4.1.0}
  mainClass: org.apache.spark.examples.SparkPi
  jars: local:///a.jar
  sparkConf: {spark.kubernetes.container.image: a}
  driverSpec: {podTemplateSpec: {metadata: {annotations: {EVIL}}, spec: {containers: [{name: x, image: a}]}}}
  executorSpec: {podTemplateSpec: {metadata: {annotations: {EVIL}}, spec: {containers: [{name: x, image: a}]}}}
  configMapSpecs: [{name: settings, annotations: {EVIL}, data: {a: b}}]
  driverServiceIngressList:
  - {serviceMetadata: {name: ui, annotations: {EVIL}}, serviceSpec: {ports: [{port: 4040}]}, ingressMetadata: {name: ui, annotations: {EVIL}}}
  driverHttpRouteList:
  - {serviceMetadata: {name: h}, serviceSpec: {ports: [{port: 4040}]}, httpRouteMetadata: {name: h, annotations: {EVIL}}, httpRouteSpec: {parentRefs: [{name: gateway}]}}
  driverGrpcRouteList:
  - {serviceMetadata: {name: g}, serviceSpec: {ports: [{port: 4040}]}, grpcRouteMetadata: {name: g, annotations: {EVIL}}, grpcRouteSpec: {parentRefs: [{name: gateway}]}}
`

const everywhereServer = `
metadata: {name: srv, namespace: team-a, uid: 7b0f0a52-0000-4000-8000-000000000002, annotations: {EVIL}}
spec:
  sparkVersion: 4.3.0
  image: a
  server:
    template: {metadata: {annotations: {EVIL}}, spec: {containers: [{name: x, image: a}]}}
    service: {metadata: {name: mine, annotations: {EVIL}}, spec: {ports: [{port: 15002}]}}
  authentication: {token: true}
  executor: {instances: 1}
`

const everywhereCluster = `
metadata: {name: standalone, namespace: team-a, annotations: {EVIL}, labels: {EVIL}}
spec:
  runtimeVersions: {sparkVersion: 4.1.0}
  clusterTolerations: {instanceConfig: {initWorkers: 1, minWorkers: 1, maxWorkers: 2}}
  masterSpec: &role
    statefulSetMetadata: {annotations: {EVIL}}
    serviceMetadata: {annotations: {EVIL}}
    statefulSetSpec:
      template: {metadata: {annotations: {EVIL}}}
      volumeClaimTemplates: [{metadata: {name: d, annotations: {EVIL}}}]
  workerSpec: *role
`

// An attached Service with the name of the driver's own does not take that one, and what is written on it, out of the limits.
func TestForbiddenAnnotationUnderATakenName(t *testing.T) {
	registry, err := scheduler.NewRegistry(kube.Name, kube.Plugin{})
	if err != nil {
		t.Fatal(err)
	}
	o := decode[v1.SparkApplication](t, everywhereApache, "harmless/annotation")
	o.Spec.SparkConf["spark.kubernetes.driver.service.annotation.evil.example.org/x"] = "y"
	o.Spec.DriverServiceIngressList[0].ServiceMetadata.Name = "direct-0-driver-svc"
	operator := resolve.Operator{Registry: registry, Policies: policy.Set{{Name: "strict", Namespaces: []string{"*"}, Limits: policy.Limits{ForbiddenAnnotations: []string{"evil.*"}}}}}
	dry := admission.DryRun(resolve.Load(apache.SparkApplications{}, o, lifecycle.Record{}, operator, time.Now()), registry)
	if len(dry.Errors) != 1 || !strings.Contains(dry.Errors[0].Error(), "spark.kubernetes.driver.service.annotation.evil.example.org/x") {
		t.Errorf("it says %v", dry.Errors)
	}
}
