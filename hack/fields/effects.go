// SPDX-License-Identifier: Apache-2.0

package main

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// anyKey is the key in maps of the sample. anyName is a name in the sample that becomes part of a property.
const (
	anyKey  = "<key>"
	anyName = "<name>"
)

// values replace generated values that would have no meaning.
var values = map[string]string{
	"type": "Python", "mode": "client", "batchSchedulerOptions.onEviction": "Fail", "mainApplicationFile": "local:///other.py",
	"logTails": "Disabled", "driver.memoryLimit": "2g", "executor.memoryLimit": "2g",
	"managedBy": "kueue.x-k8s.io/multikueue", "restartPolicy.type": "Always",
	"restartPolicy.outOfMemory.memoryFactor": "1.5", "restartPolicy.outOfMemory.maxMemory": "5g",
	"applicationTolerations.restartConfig.restartPolicy": "OnFailure", "applicationTolerations.resourceRetainPolicy": "Never",
	"driver.secrets[].secretType": "GCPServiceAccount", "executor.secrets[].secretType": "GCPServiceAccount",
}

// inModel describes the fields of the model that are not properties.
var inModel = map[string]string{
	"SparkVersion": "selects what spark-submit of that release would do; label `spark-version`",
	"MainFile":     "arguments of the driver; `spark.jars` for a jar",
	"MainClass":    "arguments of the driver",
	"Arguments":    "arguments of the driver",
	"ProxyUser":    "arguments of the driver; `SPARK_USER`",
	"Jars":         "`spark.jars`", "Files": "`spark.files`", "PyFiles": "`spark.submit.pyFiles`", "Archives": "`spark.archives`",
	"Packages": "`spark.jars.packages`", "ExcludePackages": "`spark.jars.excludes`", "Repositories": "`spark.jars.repositories`",
	"ConfigMaps": "ConfigMap `<application>-prom-conf`",
	"Suspend":    "nothing is submitted while it is true",
	"Server":     "Secret `<server>-token-<mark>`, and a variable of the server that is read from it",
	"Template":   "what the pod is made from, below everything else",
	// Of the scheduler.
	"Scheduler": "the scheduler plugin", "Queue": "for the scheduler plugin",
	"PriorityClassName": "pod: `spec.priorityClassName`", "Resources": "for the scheduler plugin", "Parameters": "for the scheduler plugin",
	// Of the overlay.
	"Env": "container: `env`", "EnvFrom": "container: `envFrom`", "VolumeMounts": "container: `volumeMounts`", "Ports": "container: `ports`",
	"Annotations": "pod: annotation `firesteel.dev/memory-limit`, by which an admission policy sets the limit",
	"MemoryLimit": "container: `resources.limits.memory`", "Limits": "container: `resources.limits`",
	"SecurityContext": "container: `securityContext`", "Lifecycle": "container: `lifecycle`",
	"Volumes": "pod: `spec.volumes`", "InitContainers": "pod: `spec.initContainers`", "Sidecars": "pod: `spec.containers`, after Spark's",
	"NodeSelector": "pod: `spec.nodeSelector`", "Affinity": "pod: `spec.affinity`", "Tolerations": "pod: `spec.tolerations`",
	"HostAliases": "pod: `spec.hostAliases`", "HostNetwork": "pod: `spec.hostNetwork`, `spec.dnsPolicy`", "DNSConfig": "pod: `spec.dnsConfig`",
	"PodSecurityContext": "pod: `spec.securityContext`", "SchedulerName": "pod: `spec.schedulerName`",
	"TerminationGracePeriodSeconds": "pod: `spec.terminationGracePeriodSeconds`", "ShareProcessNamespace": "pod: `spec.shareProcessNamespace`",
}

// notMeant are parts of the model that only describe other parts, or that are described elsewhere (inExposure).
var notMeant = map[string]bool{"Origins": true, "Warnings": true, "Exposure": true, "Written": true}

// outcome is the effect of a change of a field.
type outcome struct {
	// Effects describe the Spark properties, parts of pods and policies that change.
	Effects []string
	// Restarts is set if the edit makes a running application run again.
	Restarts bool
	// Late is set if an edit affects only later attempts.
	Late bool
}

// effects changes the field in an application that uses every part of the API, and returns the effects of the change.
func effects(path string) outcome {
	changed := sample()
	visit(reflect.ValueOf(changed).Elem().FieldByName("Spec"), "", func(f apiField, v reflect.Value) {
		if f.Path == path {
			change(v, path)
		}
	})
	before, _ := kubeflow.Normalize(sample())
	after, problems := kubeflow.Normalize(changed)
	found := map[string]bool{}
	for _, p := range problems {
		found["refused: "+p.Problem] = true
	}
	compare(reflect.ValueOf(before), reflect.ValueOf(after), found)
	policies(path, changed, found)
	besides(path, before.Exposure, after.Exposure, found)
	return outcome{Effects: slices.Sorted(maps.Keys(found)), Restarts: kubeflow.RestartHash(sample()) != kubeflow.RestartHash(changed),
		Late: kubeflow.SpecHash(sample()) != kubeflow.SpecHash(changed)}
}

// inPolicies describes the fields that act on the lifecycle of an application. The longest matching path counts.
var inPolicies = map[string]string{
	"restartPolicy":                                  "policy: whether and when a failed attempt is followed by another",
	"restartPolicy.type":                             "policy: after which outcome the application runs again",
	"restartPolicy.onFailureRetries":                 "policy: retries of failed runs whose class has no rule",
	"restartPolicy.onFailureRetryInterval":           "policy: wait after such a failure, times the failures in a row; 5 s by default",
	"restartPolicy.onSubmissionFailureRetries":       "policy: retries of refused submissions, unless `submission` is set",
	"restartPolicy.onSubmissionFailureRetryInterval": "policy: wait after such a failure, times the failures in a row; 5 s by default",
	"restartPolicy.infrastructure":                   "policy: retries after evictions, preemptions, lost nodes and deleted driver pods",
	"restartPolicy.submission":                       "policy: retries of refused submissions",
	"restartPolicy.outOfMemory":                      "policy: retries of drivers that ran out of memory",
	"restartPolicy.outOfMemory.memoryFactor": "policy: `spark.driver.memory` and a memory overhead that is set, " +
		"in attempts after one that ran out of memory",
	"restartPolicy.outOfMemory.maxMemory": "policy: bound of the raised `spark.driver.memory`",
	"restartPolicy.application":           "policy: retries of drivers that exited with another code than 0",
	"restartPolicy.resetAfter":            "policy: when all budgets are full again",
	"timeToLiveSeconds":                   "policy: when a finished application is deleted",
	"deadlines":                           "policy: when a stage that takes too long ends the attempt",
	"batchSchedulerOptions.onEviction":    "policy: whether a driver that the scheduler took down is followed by another",
	"batchSchedulerOptions.maxEvictions":  "policy: how often, 3 times by default",
	"retention":                           "policy: when what of a finished application is deleted",
	"managedBy":                           "policy: an application of another controller is left alone",
	"logTails":                            "policy: whether the end of a failed driver's log is stored",
}

// inExposure describes the fields for auxiliary objects of a running driver.
var inExposure = map[string]string{
	"sparkUIOptions":                            "auxiliary object: Service `<application>-ui-svc`",
	"sparkUIOptions.ingressAnnotations":         "auxiliary object: Ingress `<application>-ui-ingress`, if the operator makes Ingresses",
	"sparkUIOptions.ingressTLS":                 "auxiliary object: Ingress `<application>-ui-ingress`, if the operator makes Ingresses",
	"driverIngressOptions":                      "auxiliary object: Service `<application>-driver-<servicePort>`",
	"driverIngressOptions[].ingressURLFormat":   "auxiliary object: Ingress `<application>-ing-<servicePort>`, if the operator makes Ingresses",
	"driverIngressOptions[].ingressAnnotations": "auxiliary object: Ingress `<application>-ing-<servicePort>`, if the operator makes Ingresses",
	"driverIngressOptions[].ingressTLS":         "auxiliary object: Ingress `<application>-ing-<servicePort>`, if the operator makes Ingresses",
	"driverPodDisruptionBudget":                 "auxiliary object: PodDisruptionBudget of the driver pod's name, if the operator makes them",
}

// besides notes a difference in the auxiliary objects between the sample and the changed application.
func besides(path string, before, after spark.Exposure, found map[string]bool) {
	if equality.Semantic.DeepEqual(before, after) {
		return
	}
	if words, ok := inExposure[path]; ok {
		found[words] = true
		return
	}
	field, _, _ := strings.Cut(path, ".")
	if words, ok := inExposure[strings.TrimSuffix(field, "[]")]; ok {
		found[words] = true
		return
	}
	found["exposure without words"] = true
}

// policies notes a difference in the policies between the sample and the changed application.
func policies(path string, changed *v1beta2.SparkApplication, found map[string]bool) {
	before, _ := kubeflow.Policies(sample())
	after, _ := kubeflow.Policies(changed)
	raised := func(o *v1beta2.SparkApplication) string {
		app := spark.Application{Conf: map[string]string{spark.ConfDriverMemory: "4g"}}
		return kubeflow.WithRaisedMemory(app, o, 1).Conf[spark.ConfDriverMemory]
	}
	desired := func(o *v1beta2.SparkApplication) (lifecycle.LogTails, string) {
		d := kubeflow.SparkApplications{}.Desired(o, lifecycle.Record{})
		return d.LogTails, d.ManagedBy
	}
	tailsBefore, managerBefore := desired(sample())
	tails, manager := desired(changed)
	if equality.Semantic.DeepEqual(before, after) && raised(sample()) == raised(changed) && reflect.DeepEqual(tailsBefore, tails) && managerBefore == manager {
		return
	}
	for prefix := path; ; prefix = prefix[:strings.LastIndexByte(prefix, '.')] {
		if words, ok := inPolicies[prefix]; ok {
			found[words] = true
			return
		}
		if !strings.Contains(prefix, ".") {
			found["policy without words"] = true
			return
		}
	}
}

// compare notes the differences between two models.
func compare(a, b reflect.Value, found map[string]bool) {
	for i := range a.NumField() {
		name, x, y := a.Type().Field(i).Name, a.Field(i), b.Field(i)
		switch {
		case notMeant[name] || equality.Semantic.DeepEqual(x.Interface(), y.Interface()):
		case name == "Conf" || name == "OperatorConf":
			properties(x.Interface().(map[string]string), y.Interface().(map[string]string), found)
		case x.Kind() == reflect.Struct && strings.HasSuffix(x.Type().PkgPath(), "internal/spark"):
			compare(x, y, found)
		default:
			words, ok := inModel[name]
			if !ok {
				words = "model: `" + name + "`"
			}
			found[words] = true
		}
	}
}

func properties(a, b map[string]string, found map[string]bool) {
	for _, pair := range [][2]map[string]string{{a, b}, {b, a}} {
		for key, value := range pair[0] {
			if other, ok := pair[1][key]; !ok || other != value {
				found["`"+strings.ReplaceAll(key, anyName+"x", anyName)+"`"] = true
			}
		}
	}
}

// change changes the value of a field.
func change(v reflect.Value, path string) {
	switch v.Kind() {
	case reflect.Pointer:
		next := reflect.New(v.Type().Elem())
		if !v.IsNil() {
			next.Elem().Set(v.Elem())
		}
		change(next.Elem(), path)
		v.Set(next)
	case reflect.Struct:
		switch value := v.Addr().Interface().(type) {
		case *metav1.Duration:
			value.Duration++
		case *runtime.RawExtension:
			value.Raw = []byte(`{"changed":true}`)
		}
	case reflect.Slice:
		if v.Len() > 0 {
			v.SetZero()
			return
		}
		v.Set(reflect.Append(v, reflect.Zero(v.Type().Elem())))
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf(anyKey).Convert(v.Type().Key()), reflect.Zero(v.Type().Elem()))
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.Int32, reflect.Int64:
		v.SetInt(v.Int() + 2) // some fields have the default 1
	default:
		if text, ok := values[path]; ok {
			v.SetString(text)
		} else {
			v.SetString(v.String() + "x")
		}
	}
}

func seconds(n time.Duration) *metav1.Duration { return &metav1.Duration{Duration: n * time.Second} }

// sample returns an application with every struct of the API, so that each of its fields can be changed.
func sample() *v1beta2.SparkApplication {
	pod := func() v1beta2.SparkPodSpec {
		return v1beta2.SparkPodSpec{
			GPU:              &v1beta2.GPUSpec{Name: "example.org/gpu", Quantity: 1},
			ConfigMaps:       []v1beta2.NamePath{{Name: "settings", Path: "/settings"}},
			Secrets:          []v1beta2.SecretInfo{{Name: anyName, Path: "/secret", SecretType: v1beta2.SecretTypeGeneric}},
			EnvSecretKeyRefs: map[string]v1beta2.NameKey{anyKey: {Name: "secret", Key: "password"}},
			VolumeMounts:     []corev1.VolumeMount{{Name: "data", MountPath: "/data"}},
		}
	}
	rule := func() v1beta2.RetryRule {
		return v1beta2.RetryRule{Retries: 1, Backoff: &v1beta2.Backoff{Initial: seconds(20), Max: seconds(60)}}
	}
	infrastructure, submission := rule(), rule()
	ports := func() []v1beta2.Port { return []v1beta2.Port{{Name: "http", Protocol: "TCP", ContainerPort: 9000}} }
	return &v1beta2.SparkApplication{
		ObjectMeta: metav1.ObjectMeta{Namespace: "jobs", Name: "app", UID: "7b0f0a52-0000-4000-8000-000000000001"},
		Spec: v1beta2.SparkApplicationSpec{
			Type: v1beta2.ApplicationTypeScala, SparkVersion: "4.1.0", Mode: v1beta2.DeployModeCluster,
			MainClass: ptr.To("Main"), MainApplicationFile: ptr.To("local:///app.jar"), Image: ptr.To("spark"),
			Volumes:           []corev1.Volume{{Name: "data"}},
			Driver:            v1beta2.DriverSpec{SparkPodSpec: pod(), Ports: ports()},
			Executor:          v1beta2.ExecutorSpec{SparkPodSpec: pod(), Ports: ports()},
			DynamicAllocation: &v1beta2.DynamicAllocation{Enabled: true, ShuffleTrackingEnabled: ptr.To(true)},
			Monitoring: &v1beta2.MonitoringSpec{
				ExposeDriverMetrics: true, ExposeExecutorMetrics: true, Prometheus: &v1beta2.PrometheusSpec{JmxExporterJar: "/jmx.jar"},
			},
			BatchSchedulerOptions: &v1beta2.BatchSchedulerConfiguration{},
			RestartPolicy: v1beta2.RestartPolicy{
				Type: v1beta2.RestartPolicyOnFailure, Infrastructure: &infrastructure, Submission: &submission,
				OutOfMemory: &v1beta2.OutOfMemoryRule{RetryRule: rule(), MemoryFactor: ptr.To("2"), MaxMemory: ptr.To("7g")},
				Application: &v1beta2.ApplicationRule{RetryRule: rule()},
			},
			Deadlines:      &v1beta2.Deadlines{},
			Retention:      &v1beta2.Retention{OnSuccess: &v1beta2.RetentionTimes{}, OnFailure: &v1beta2.RetentionTimes{}},
			SparkUIOptions: &v1beta2.SparkUIConfiguration{},
			DriverIngressOptions: []v1beta2.DriverIngressConfiguration{{
				ServicePort: ptr.To[int32](9000), ServicePortName: ptr.To("http"), IngressURLFormat: "app.example.org",
			}},
		},
	}
}
