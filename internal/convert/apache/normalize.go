// SPDX-License-Identifier: Apache-2.0

// Package apache translates between the spark.apache.org API family and the model. It is pure.
package apache

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	v1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// OperatorName is the value of the label spark.operator/name: the default name of Apache's operator.
const OperatorName = "spark-kubernetes-operator"

// fields are the names of an application's fields in messages.
var fields = fieldsOf(spark.Fields{
	"metadata":                   "metadata",
	"":                           "spec",
	"sparkVersion":               "spec.runtimeVersions.sparkVersion",
	"image":                      confField(spark.ConfImage),
	"imagePullSecrets":           confField(spark.ConfImagePullSecrets),
	"driver.podName":             confField(spark.ConfDriverPodName),
	"executor.instances":         confField(spark.ConfExecutorInstances),
	"batchScheduler":             confField(spark.ConfSchedulerName),
	"batchScheduler.queue":       queueField,
	"driver.coreLimit":           confField(spark.ConfDriverLimitCores),
	"executor.coreLimit":         confField(spark.ConfExecutorLimitCores),
	"batchScheduler.parameters":  parametersField,
	"configMaps":                 "spec.configMapSpecs",
	"retention":                  "spec.applicationTolerations.resourceRetainDurationMillis",
	"timeToLiveSeconds":          "spec.applicationTolerations.ttlAfterStopMillis",
	"deadlines":                  "defaults.deadlines of the operator's policies",
	"deadlines.driverStart":      timeoutField + "driverStartTimeoutMillis",
	"deadlines.driverPodReady":   timeoutField + "driverReadyTimeoutMillis",
	"deadlines.initialExecutors": executorsField,
	"deadlines.firstExecutors":   executorsField,
})

// fieldsByMain maps the field that has the main file to the names of all fields.
var fieldsByMain = map[spark.Field]spark.Fields{"jars": fieldsOfMain("jars"), "pyFiles": fieldsOfMain("pyFiles"), "sparkRFiles": fieldsOfMain("sparkRFiles")}

func fieldsOfMain(name spark.Field) spark.Fields {
	all := maps.Clone(fields)
	all[spark.FieldMainFile] = fields.Path(name)
	return all
}

const (
	timeoutField   = "spec.applicationTolerations.applicationTimeoutConfig."
	executorsField = timeoutField + "executorStartTimeoutMillis"
)

// fieldsOf adds the names of both pods' fields, which are fields of their templates and Spark's properties.
func fieldsOf(names spark.Fields) spark.Fields {
	for role, conf := range map[spark.Field][2]string{"driver": {spark.ConfDriverMemory, spark.ConfDriverCores},
		"executor": {spark.ConfExecutorMemory, spark.ConfExecutorCores}} {
		template := "spec." + string(role) + "Spec.podTemplateSpec"
		names[role], names[role+".template"] = template, template
		names[role+".memory"], names[role+".cores"] = confField(conf[0]), confField(conf[1])
		names[role+".serviceAccount"] = template + ".spec.serviceAccountName"
		names[role+".podSecurityContext"] = template + ".spec.securityContext"
		for _, name := range []spark.Field{"labels", "annotations"} {
			names[role+"."+name] = template + ".metadata." + string(name)
		}
		for _, name := range []spark.Field{"volumes", "tolerations", "nodeSelector", "affinity", "priorityClassName", "schedulerName", "hostNetwork"} {
			names[role+"."+name] = template + ".spec." + string(name)
		}
		for _, name := range []spark.Field{"image", "ports", "lifecycle", "securityContext"} {
			names[role+"."+name] = template + ".spec.containers"
		}
	}
	return names
}

// Names in messages for settings that have no field in this family.
const (
	queueField      = "the queue that the pods name"
	parametersField = "the parameters in the operator's configuration"
)

func confField(key string) string { return "spec.sparkConf[" + strconv.Quote(key) + "]" }

// sparkUser is the user that runs Spark in the official images (uid 185).
const sparkUser = "spark"

// Normalize returns the model of an application, and the fields with an invalid value, which the model omits.
func Normalize(o *v1.SparkApplication) (spark.Application, []*spark.ConfError) {
	s := &o.Spec
	app := spark.Application{
		Namespace: o.Namespace, Name: o.Name, UID: o.UID, Generation: o.Generation, Labels: maps.Clone(o.Labels),
		SparkVersion: s.RuntimeVersions.SparkVersion, MainClass: s.MainClass, Arguments: s.DriverArgs, ProxyUser: s.ProxyUser,
		Conf: maps.Clone(s.SparkConf), OperatorConf: operatorConf(o), Origins: map[string]spark.Origin{},
		Submitter: spark.Submitter{User: sparkUser, Env: map[string]string{"SPARK_USER": sparkUser}}, Suspend: s.Suspend,
	}
	if app.Conf == nil {
		app.Conf = map[string]string{}
	}
	main := mainOf(s)
	app.MainFile, app.Direct, app.Fields = main.file, &spark.Direct{Language: main.language}, fieldsByMain[main.field]
	if o.MalformedSpec != "" {
		return app.Undecoded(o.MalformedSpec)
	}
	imageVersions(app.Conf, s.RuntimeVersions.SparkVersion)
	c := conf{app.Conf, app.Origins}
	for key, value := range main.conf {
		c.setDefault(key, value, main.field)
	}
	injected(c, s)
	if role := s.DriverSpec; role != nil {
		app.Driver.Template = role.PodTemplateSpec
	}
	if role := s.ExecutorSpec; role != nil {
		app.Executor.Template = role.PodTemplateSpec
	}
	for _, m := range s.ConfigMapSpecs {
		app.ConfigMaps = append(app.ConfigMaps, spark.ConfigMap{Name: m.Name, Labels: m.Labels, Annotations: m.Annotations, Data: m.Data})
	}
	attached, problems := attachedOf(s)
	app.Attached, app.Warnings = attached, warnings(o, &app)
	app.Exposure.NoUI = true
	app.Scheduling = schedulingOf(&app)
	return app, slices.Concat(main.problems, modeProblems(s), nameProblems(o), problems)
}

// schedulingOf returns the scheduler that the pods of both roles name. If they name two schedulers, no plugin is used.
func schedulingOf(app *spark.Application) spark.Scheduling {
	name := func(key string, template *corev1.PodTemplateSpec) string {
		own := cmp.Or(app.Conf[key], app.Conf[spark.ConfSchedulerName])
		if own == "" && template != nil {
			own = template.Spec.SchedulerName
		}
		return own
	}
	driver := name(spark.ConfDriverSchedulerName, app.Driver.Template)
	if executor := name(spark.ConfExecutorSchedulerName, app.Executor.Template); executor != driver {
		return spark.Scheduling{Scheduler: scheduler.NoScheduler}
	}
	return spark.Scheduling{PodScheduler: driver}
}

// modeProblems refuses deployment modes that cannot run.
func modeProblems(s *v1.SparkApplicationSpec) []*spark.ConfError {
	if s.DeploymentMode != v1.ClientMode {
		return nil
	}
	return []*spark.ConfError{{
		Field: "deploymentMode", Value: string(s.DeploymentMode), Type: field.ErrorTypeNotSupported,
		Problem: `the operator runs drivers in pods only; use "ClusterMode"`,
	}}
}

// conf is the user's Spark configuration with the origin of each value.
type conf struct {
	values  map[string]string
	origins map[string]spark.Origin
}

// setDefault sets a value that the user's configuration may override.
func (c conf) setDefault(key, value string, origin spark.Field) {
	if _, ok := c.values[key]; ok {
		return
	}
	c.values[key], c.origins[key] = value, spark.Origin{Field: origin}
}

// imageVersions replaces the placeholder for the Spark version in image names.
func imageVersions(conf map[string]string, version string) {
	for key, value := range conf {
		if strings.HasPrefix(key, "spark.kubernetes.") && strings.HasSuffix(key, "container.image") {
			conf[key] = strings.ReplaceAll(value, "{{SPARK_VERSION}}", version)
		}
	}
}

// master is the driver's master property. The driver reaches the API server by spark.kubernetes.driver.master, so the variables in it need not be replaced.
const master = "https://$KUBERNETES_SERVICE_HOST:$KUBERNETES_SERVICE_PORT"

// masterPrefix names the property for the prefix of the master URL; "k8s://" by default.
const masterPrefix = "spark.master.url.prefix"

// injected sets the properties that Apache's operator sets by default. They have an origin, because the user did not write them.
func injected(c conf, s *v1.SparkApplicationSpec) {
	prefix, ok := c.values[masterPrefix]
	if !ok {
		prefix = "k8s://"
	}
	if !strings.HasPrefix(c.values[spark.ConfMaster], "spark://") { // Spark generates no secret for a standalone cluster, and needs one to start
		c.setDefault("spark.authenticate", "true", spark.FieldSparkConf)
	}
	for key, value := range map[string]string{
		spark.ConfMaster:                                prefix + master,
		"spark.io.encryption.enabled":                   "true",
		"spark.kubernetes.driver.annotateExitException": "true",
		"spark.kubernetes.executor.useDriverPodIP":      "true",
	} {
		c.setDefault(key, value, spark.FieldSparkConf)
	}
	// Without another attempt, the names of executors need not be freed. So the executors are kept with their logs until the driver pod is deleted.
	if !strings.EqualFold(c.values[spark.ConfDynamicAllocation], "true") && restartPolicy(s) == v1.RestartNever {
		c.setDefault("spark.kubernetes.executor.deleteOnTermination", "false", spark.FieldSparkConf)
	}
}

// restartPolicy returns the restart policy; Never by default.
func restartPolicy(s *v1.SparkApplicationSpec) v1.RestartPolicy {
	if t := s.ApplicationTolerations; t != nil && t.RestartConfig != nil && t.RestartConfig.RestartPolicy != "" {
		return t.RestartConfig.RestartPolicy
	}
	return v1.RestartNever
}

// operatorConf returns the properties that a user must not override.
func operatorConf(o *v1.SparkApplication) map[string]string {
	conf := map[string]string{spark.ConfNamespace: o.Namespace}
	if _, named := o.Spec.SparkConf[spark.ConfAppName]; named {
		conf[spark.ConfAppName] = o.Name
	}
	for label, value := range map[string]string{v1.LabelOperator: OperatorName, v1.LabelAppName: o.Name} {
		for _, prefix := range []string{spark.ConfDriverLabelPrefix, spark.ConfServiceLabelPrefix, spark.ConfExecutorLabelPrefix} {
			conf[prefix+label] = value
		}
	}
	return conf
}

// pythonRunner is the main class that splits pyFiles: it runs the first file, and the other files are its dependencies.
const pythonRunner = "org.apache.spark.deploy.PythonRunner"

// mainResource is the main program of an application.
type mainResource struct {
	file     string
	language spark.Language
	// field is the field that names the program.
	field spark.Field
	// conf holds the program's default properties.
	conf     map[string]string
	problems []*spark.ConfError
}

// mainOf returns the program of an application, from the first field that is set: jars, pyFiles or sparkRFiles.
func mainOf(s *v1.SparkApplicationSpec) mainResource {
	python := mainResource{language: spark.LanguagePython, field: "pyFiles"}
	switch {
	case s.Jars != "":
		return mainResource{file: s.Jars, language: spark.LanguageJava, field: "jars", conf: map[string]string{spark.ConfJars: s.Jars}}
	case s.MainClass == pythonRunner:
		first, others, more := strings.Cut(s.PyFiles, ",")
		if python.file = first; first == "" {
			python.problems = []*spark.ConfError{{
				Field: "pyFiles", Type: field.ErrorTypeRequired, Problem: "is missing; write the .py file that " + pythonRunner + " is to run",
			}}
		}
		if more {
			python.conf = map[string]string{spark.ConfPyFiles: others}
		}
		return python
	case s.PyFiles != "":
		python.file, python.conf = s.PyFiles, map[string]string{spark.ConfPyFiles: s.PyFiles}
		return python
	case s.SparkRFiles != "":
		return mainResource{file: s.SparkRFiles, language: spark.LanguageR, field: "sparkRFiles"}
	}
	return mainResource{file: spark.NoResource, language: spark.LanguageJava, field: "jars"}
}
