// SPDX-License-Identifier: Apache-2.0

package kubeflow

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/hints"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// conflicts returns contradictions in the spec, which the model cannot represent.
func conflicts(o *v1beta2.SparkApplication, fields spark.Fields) []*spark.ConfError {
	var found []*spark.ConfError
	if problems := utilvalidation.IsDNS1123Label(o.Name); len(problems) > 0 {
		found = append(found, &spark.ConfError{
			Field: spark.FieldName, Problem: fmt.Sprintf("invalid SparkApplication name %q: %s", o.Name, strings.Join(problems, ", ")),
		})
	}
	s := &o.Spec
	if len(s.NodeSelector) > 0 && len(s.Driver.NodeSelector)+len(s.Executor.NodeSelector) > 0 {
		found = append(found, &spark.ConfError{
			Field:   "nodeSelector",
			Problem: "node selector cannot be defined at both SparkApplication and Driver/Executor; keep one of them",
		})
	}
	for _, r := range roles(s) {
		for _, mount := range r.pod.VolumeMounts {
			if !strings.HasPrefix(mount.Name, localDirPrefix) {
				continue
			}
			if v := volumeNamed(s, mount.Name); v == nil {
				found = append(found, &spark.ConfError{
					Field: r.field + ".volumeMounts", Value: mount.Name, Type: field.ErrorTypeNotFound,
					Problem: fields.Text("volume not found; add it to {volumes}, or remove the mount"),
				})
			}
		}
	}
	return append(found, ingresses(s.DriverIngressOptions)...)
}

// ingresses detects conflicts between the Ingresses and Services that expose the driver.
func ingresses(options []v1beta2.DriverIngressConfiguration) []*spark.ConfError {
	var found []*spark.ConfError
	refuse := func(i int, name spark.Field, value, problem string) {
		found = append(found, &spark.ConfError{
			Field: spark.Field("driverIngressOptions").Index(i) + "." + name, Value: value,
			Problem: "DriverIngressOptions has " + problem,
		})
	}
	ports, urls := map[int32]bool{}, map[string]bool{}
	for i, option := range options {
		switch port := option.ServicePort; {
		case port == nil:
			refuse(i, "servicePort", "", "no servicePort; write the port that the driver listens on")
		case ports[*port]:
			refuse(i, "servicePort", strconv.Itoa(int(*port)), "a duplicate servicePort; each port is exposed once")
		default:
			ports[*port] = true
		}
		switch url := option.IngressURLFormat; {
		case url == "":
			refuse(i, "ingressURLFormat", "", `an empty ingressURLFormat; write e.g. "{{$appName}}.example.org"`)
		case urls[url]:
			refuse(i, "ingressURLFormat", url, "a duplicate ingressURLFormat; each URL leads to one port")
		default:
			urls[url] = true
		}
	}
	return found
}

// role is the driver or the executors, identified by its field.
type role struct {
	field spark.Field
	pod   *v1beta2.SparkPodSpec
}

func roles(s *v1beta2.SparkApplicationSpec) []role {
	return []role{{driverKeys.field, &s.Driver.SparkPodSpec}, {executorKeys.field, &s.Executor.SparkPodSpec}}
}

// warner collects warnings.
type warner struct {
	fields spark.Fields
	found  []*spark.ConfError
}

func (w *warner) warn(at spark.Field, value, problem string) {
	w.found = append(w.found, &spark.ConfError{Field: at, Value: value, Problem: problem})
}

// warnings returns warnings about accepted fields that have no effect or a surprising one.
func warnings(o *v1beta2.SparkApplication, fields spark.Fields) []*spark.ConfError {
	s, w := &o.Spec, &warner{fields: fields}
	w.unknown(o.UnknownFields, reflect.TypeOf(o))
	w.language(s)
	seen := map[string]bool{}
	for i := range s.Volumes {
		name := s.Volumes[i].Name
		if seen[name] {
			w.warn("volumes", name, "there are several volumes of this name; the last one is used")
		}
		seen[name] = true
	}
	for _, r := range roles(s) {
		w.role(s, r)
	}
	w.executor(&s.Executor)
	w.properties(s)
	w.retries(&s.RestartPolicy)
	w.metrics(s.Monitoring)
	if s.FailureRetries != nil {
		w.warn("failureRetries", "", fields.Text("has no effect; use {restartPolicy.onFailureRetries}"))
	}
	if s.RetryInterval != nil {
		w.warn("retryInterval", "", fields.Text("has no effect; use {restartPolicy.onFailureRetryInterval}"))
	}
	if m := metricsOf(o); m != nil && m.agent == "" && strings.EqualFold(s.SparkConf["spark.ui.enabled"], "false") {
		w.warn(monitoringField, "", "without prometheus, Spark's UI serves the metrics, but spark.ui.enabled turns it off")
	}
	return w.found
}

// unknown warns about fields that a type lacks.
func (w *warner) unknown(fields []string, t reflect.Type) {
	for _, path := range fields {
		if path == "..." {
			w.warn(spark.FieldSpec, "", "has more unknown fields")
			continue
		}
		w.warn(spark.Field(strings.TrimPrefix(path, "spec")), "", "unknown field, which has no effect; "+cmp.Or(hints.Field(t, path, nil), "check its spelling"))
	}
}

// language compares the declared type with the language that Spark detects.
func (w *warner) language(s *v1beta2.SparkApplicationSpec) {
	runs := languages(s)
	if s.Type == "" || slices.Contains(runs, s.Type) {
		return
	}
	file := ptr.Deref(s.MainApplicationFile, "")
	w.warn("type", string(s.Type), fmt.Sprintf("the suffix of %q makes Spark run it as %s; write that type", file, runs[0]))
}

// languages returns the types that fit the suffix of the main file. Spark considers only the suffix. The preferred type comes first.
func languages(s *v1beta2.SparkApplicationSpec) []v1beta2.ApplicationType {
	switch file := ptr.Deref(s.MainApplicationFile, ""); {
	case strings.HasSuffix(file, ".py"):
		return []v1beta2.ApplicationType{v1beta2.ApplicationTypePython}
	case strings.HasSuffix(file, ".R"), strings.HasSuffix(file, ".r"):
		return []v1beta2.ApplicationType{v1beta2.ApplicationTypeR}
	}
	return []v1beta2.ApplicationType{v1beta2.ApplicationTypeScala, v1beta2.ApplicationTypeJava}
}

func (w *warner) role(s *v1beta2.SparkApplicationSpec, r role) {
	for _, mount := range r.pod.VolumeMounts {
		if volumeNamed(s, mount.Name) == nil && !strings.HasPrefix(mount.Name, localDirPrefix) {
			w.warn(r.field+".volumeMounts", mount.Name, w.fields.Text("no volume of {volumes} has this name; nothing is mounted"))
		}
	}
	for _, secret := range r.pod.Secrets {
		switch secret.SecretType {
		case v1beta2.SecretTypeGCPServiceAccount, v1beta2.SecretTypeHadoopDelegationToken, v1beta2.SecretTypeGeneric:
		default:
			w.warn(r.field+".secrets", string(secret.SecretType),
				"not a known secretType and treated as Generic; write GCPServiceAccount, HadoopDelegationToken or Generic")
		}
	}
	w.gpu(r.field, r.pod.GPU)
	keys := driverKeys
	if r.field == executorKeys.field {
		keys = executorKeys
	}
	w.template(keys, r.pod.Template)
}

// gpu warns about a GPU field that requests no GPU.
func (w *warner) gpu(role spark.Field, gpu *v1beta2.GPUSpec) {
	if gpu != nil && len(gpuLimits(gpu)) == 0 {
		w.warn(role+".gpu", gpu.Name, "no GPU is requested; write a name and a positive quantity")
	}
}

// template warns about a template in which no container has the name that Spark expects.
func (w *warner) template(k roleKeys, t *corev1.PodTemplateSpec) {
	if c := sparkContainer(t, k.container); c != nil && c.Name != k.container {
		w.warn(k.field+".template", c.Name, "no container is named "+k.container+"; the first one becomes Spark's")
	}
}

// sparkVariables are the variables that Spark sets in its executors after the variables of the template. The value is true if variables of properties
// (spark.executorEnv) come later than Spark's.
var sparkVariables = map[string]bool{
	"SPARK_USER": true, "SPARK_DRIVER_URL": true, "SPARK_EXECUTOR_CORES": true, "SPARK_EXECUTOR_MEMORY": true,
	"SPARK_APPLICATION_ID": true, "SPARK_CONF_DIR": true, "SPARK_EXECUTOR_ID": true, "SPARK_RESOURCE_PROFILE_ID": true,
	"SPARK_EXECUTOR_POD_IP": false, "SPARK_EXECUTOR_POD_NAME": false, "SPARK_LOCAL_DIRS": false,
}

// replaces reports whether Spark sets the variable and a property can still override it.
func replaces(v *corev1.EnvVar) bool { return sparkVariables[v.Name] && v.ValueFrom == nil }

// sameLimit suggests the memory overhead that gives executors the requested limit, or a higher overhead if it cannot be computed.
func sameLimit(limit, memory string) string {
	q, problems := memoryLimit(&limit, "")
	heap, ok := spark.ParseSize(memory, 1<<20)
	if len(problems) == 0 && ok && q.Value()>>20 > heap {
		return fmt.Sprintf(`{executor.memoryOverhead}: "%dm" gives the same limit`, q.Value()>>20-heap)
	}
	return "raise {executor.memoryOverhead}"
}

// executor warns about fields that the driver overwrites in the executors' template.
func (w *warner) executor(e *v1beta2.ExecutorSpec) {
	if limit := ptr.Deref(e.MemoryLimit, ""); limit != "" {
		w.warn("executor.memoryLimit", limit, "has no effect without the admission policy for executors' memory: "+
			"Spark limits each of them to its memory and memoryOverhead; "+
			w.fields.Text(sameLimit(limit, ptr.Deref(e.Memory, "1g")))+", or ask for the policy")
	}
	for i := range e.Env {
		v := &e.Env[i]
		late, known := sparkVariables[v.Name]
		switch {
		case !known, replaces(v):
		case late:
			w.warn("executor.env", v.Name, "has no effect: Spark's own value replaces one from valueFrom; write a value")
		case v.Name == "SPARK_LOCAL_DIRS":
			w.warn("executor.env", v.Name, "has no effect: Spark sets this variable last; mount scratch space as volumes named "+localDirPrefix+"...")
		default:
			w.warn("executor.env", v.Name, "has no effect: Spark sets this variable last; use another name")
		}
	}
}

const (
	sparkPrefix  = "spark."
	hadoopPrefix = "spark.hadoop."
)

// properties warns about properties that are not read, and about fields that properties override.
func (w *warner) properties(s *v1beta2.SparkApplicationSpec) {
	for _, f := range belowSparkConf(s) {
		if said, set := s.SparkConf[f.key]; set && said != f.value {
			w.warn(f.name, f.value, fmt.Sprintf("has no effect: sparkConf sets %s to %q, which wins over this field; keep one of them", f.key, said))
		}
	}
	w.sparkConf(s.SparkConf)
	for _, key := range slices.Sorted(maps.Keys(s.HadoopConf)) {
		switch name, prefixed := strings.CutPrefix(key, hadoopPrefix); {
		case prefixed:
			w.warn("hadoopConf", key, fmt.Sprintf("becomes %s%s, which nothing reads; write %s", hadoopPrefix, key, name))
		case strings.HasPrefix(key, sparkPrefix):
			w.warn("hadoopConf", key, fmt.Sprintf("becomes %s%s, which Spark does not read; write it to %s", hadoopPrefix, key, w.fields.Path(spark.FieldSparkConf)))
		}
	}
}

func (w *warner) sparkConf(values map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if !strings.HasPrefix(key, sparkPrefix) {
			w.warn("sparkConf", key, "has no effect: Spark reads properties that begin with \"spark.\" and no others; "+
				w.fields.Text("write a Hadoop property in {hadoopConf}"))
		}
	}
}

// retries warns about retry numbers without effect, and about OnFailure without a retry number.
func (w *warner) retries(p *v1beta2.RestartPolicy) {
	rules := p.Infrastructure != nil || p.Submission != nil || p.OutOfMemory != nil || p.Application != nil
	if p.Type == v1beta2.RestartPolicyOnFailure && p.OnFailureRetries == nil && !rules {
		w.warn(restartField+".type", string(p.Type), w.fields.Text(
			"has no effect after a failure of the driver: the default of {restartPolicy.onFailureRetries} is 0; write how often it is to run again"))
	}
	if p.Type != v1beta2.RestartPolicyNever && (p.Type != "" || rules) {
		return
	}
	for _, number := range []struct {
		field spark.Field
		value *int32
	}{{"onFailureRetries", p.OnFailureRetries}, {"onSubmissionFailureRetries", p.OnSubmissionFailureRetries}} {
		if n := ptr.Deref(number.value, 0); n > 0 {
			w.warn(restartField+"."+number.field, strconv.Itoa(int(n)),
				"has no effect with the type Never, the default: nothing runs again; write type: OnFailure")
		}
	}
}

// metrics warns about settings for metrics that no role exposes.
func (w *warner) metrics(m *v1beta2.MonitoringSpec) {
	if m == nil || m.ExposeDriverMetrics || m.ExposeExecutorMetrics {
		return
	}
	const problem = "has no effect: neither exposeDriverMetrics nor exposeExecutorMetrics is true; set one of them"
	switch {
	case m.Prometheus != nil:
		w.warn(monitoringField+".prometheus", "", problem)
	case ptr.Deref(m.MetricsPropertiesFile, "") != "":
		w.warn(monitoringField+".metricsPropertiesFile", *m.MetricsPropertiesFile, problem)
	case ptr.Deref(m.MetricsProperties, "") != "":
		w.warn(monitoringField+".metricsProperties", "", problem)
	}
}

// Ignored maps the path of each field without effect on a submission to the reason. A path includes everything below it. The field reference is generated
// from it, and a test verifies it.
func Ignored() map[string]string {
	return map[string]string{
		"type":           "Spark goes by the suffix of mainApplicationFile; a type that contradicts it causes a warning",
		"failureRetries": "the Kubeflow operator ignores it too; use restartPolicy.onFailureRetries",
		"retryInterval":  "the Kubeflow operator ignores it too; use restartPolicy.onFailureRetryInterval",
	}
}
