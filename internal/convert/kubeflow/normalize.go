// SPDX-License-Identifier: Apache-2.0

// Package kubeflow translates between the sparkoperator.k8s.io API family and the model: Normalize reads a spec, FromStatus and
// ToStatus a status. It is pure.
package kubeflow

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// Normalize returns the model of an application, complete with defaults, and the fields with an invalid value, which the model omits.
func Normalize(o *v1beta2.SparkApplication) (spark.Application, []*spark.ConfError) {
	return normalized(o, sparkApplications.Fields)
}

// normalized is Normalize with the given names of fields.
func normalized(o *v1beta2.SparkApplication, fields spark.Fields) (spark.Application, []*spark.ConfError) {
	counted := countedByKueue(o)
	o = withoutDefaults(o)
	app := spark.Application{
		Namespace:    o.Namespace,
		Name:         o.Name,
		UID:          o.UID,
		Generation:   o.Generation,
		Labels:       maps.Clone(o.Labels),
		SparkVersion: o.Spec.SparkVersion,
		MainFile:     ptr.Deref(o.Spec.MainApplicationFile, ""),
		MainClass:    ptr.Deref(o.Spec.MainClass, ""),
		Arguments:    o.Spec.Arguments,
		ProxyUser:    ptr.Deref(o.Spec.ProxyUser, ""),
		Deps: spark.Dependencies{
			Jars: o.Spec.Deps.Jars, Files: o.Spec.Deps.Files, PyFiles: o.Spec.Deps.PyFiles, Archives: o.Spec.Deps.Archives,
			Packages: o.Spec.Deps.Packages, ExcludePackages: o.Spec.Deps.ExcludePackages, Repositories: o.Spec.Deps.Repositories,
		},
		Submitter:  spark.Submitter{User: sparkUser},
		Suspend:    ptr.Deref(o.Spec.Suspend, false),
		Scheduling: scheduling(o.Spec.BatchScheduler, o.Spec.BatchSchedulerOptions),
		Exposure:   exposure(&o.Spec),
		Fields:     fields,
		Counted:    counted,
	}
	c := confOf(o)
	app.Conf, app.Origins, app.OperatorConf = c.user, c.origins, c.operator
	var problems []*spark.ConfError
	if o.MalformedSpec != "" {
		return app.Undecoded(o.MalformedSpec)
	}
	if o.Spec.Mode == v1beta2.DeployModeClient {
		problems = append(problems, &spark.ConfError{
			Field: "mode", Value: string(o.Spec.Mode), Type: field.ErrorTypeNotSupported,
			Problem: `the operator runs drivers in pods only; use "cluster"`,
		})
	}
	driver, p := driverRole(o)
	problems = append(problems, p...)
	executor, p := executorRole(o)
	app.Driver, app.Executor = driver, executor
	app.ConfigMaps = metricsOf(o).configMaps()
	app.Warnings = warnings(o, fields)
	_, policyProblems := Policies(o)
	return app, slices.Concat(problems, p, policyProblems, conflicts(o, fields))
}

// sparkUser is the user that runs Spark in the official images (uid 185).
const sparkUser = "spark"

// DriverName returns the name of the driver pod on every attempt, because tools look for <name>-driver.
func DriverName(o *v1beta2.SparkApplication) string {
	if name := ptr.Deref(o.Spec.Driver.PodName, ""); name != "" {
		return name
	}
	if name := o.Spec.SparkConf[spark.ConfDriverPodName]; name != "" {
		return name
	}
	return o.Name + "-driver"
}

func scheduling(name *string, opts *v1beta2.BatchSchedulerConfiguration) spark.Scheduling {
	out := spark.Scheduling{Scheduler: ptr.Deref(name, "")}
	if opts != nil {
		out.Queue = ptr.Deref(opts.Queue, "")
		out.PriorityClassName = ptr.Deref(opts.PriorityClassName, "")
		out.Resources = opts.Resources
		if opts.Parameters != nil {
			out.Parameters = opts.Parameters.Raw
		}
	}
	return out
}

// conf collects Spark properties in two layers: the user's, with their origins, and the operator's.
type conf struct {
	user     map[string]string
	operator map[string]string
	origins  map[string]spark.Origin
}

// set sets the value of a typed field, which overrides sparkConf.
func (c conf) set(key, value string, origin spark.Field) {
	c.user[key] = value
	c.origins[key] = spark.Origin{Field: origin}
}

// setDefault sets a value that sparkConf and other fields may override.
func (c conf) setDefault(key, value string, origin spark.Field) {
	if _, ok := c.user[key]; !ok {
		c.set(key, value, origin)
	}
}

// originOf returns the origin of a property, or preset if it is unknown.
func (c conf) originOf(key string, preset spark.Field) spark.Field {
	if origin, ok := c.origins[key]; ok {
		return origin.Field
	}
	return preset
}

func (c conf) setString(key string, value *string, origin spark.Field) {
	if v := ptr.Deref(value, ""); v != "" {
		c.set(key, v, origin)
	}
}

func (c conf) setInt(key string, value *int32, origin spark.Field) {
	if value != nil {
		c.set(key, strconv.FormatInt(int64(*value), 10), origin)
	}
}

func (c conf) setAll(prefix string, values map[string]string, origin spark.Field) {
	for k, v := range values {
		c.set(prefix+k, v, origin.Key(k))
	}
}

// confOf returns sparkConf overlaid with the typed fields, and both overlaid with the operator's own settings.
func confOf(o *v1beta2.SparkApplication) conf {
	s := &o.Spec
	c := conf{user: map[string]string{}, operator: map[string]string{}, origins: map[string]spark.Origin{}}
	maps.Copy(c.user, s.SparkConf)
	c.setAll("spark.hadoop.", s.HadoopConf, "hadoopConf")
	c.setString(spark.ConfImage, s.Image, "image")
	for _, f := range belowSparkConf(s) {
		c.setDefault(f.key, f.value, f.name)
	}
	c.setAll("spark.kubernetes.node.selector.", s.NodeSelector, "nodeSelector")
	driverConf(c, o)
	executorConf(c, o)
	dynamicAllocation(c, s.DynamicAllocation)
	localDirs(c, s)
	metricsOf(o).conf(c, o)
	operatorConf(c, o)
	return c
}

// lowField is a typed field that sparkConf overrides.
type lowField struct {
	name       spark.Field
	key, value string
}

// belowSparkConf returns the typed fields that sparkConf overrides. The Kubeflow operator passes them to spark-submit before sparkConf, and the last value of
// a property wins. It passes all other fields after sparkConf.
func belowSparkConf(s *v1beta2.SparkApplicationSpec) []lowField {
	var set []lowField
	add := func(name spark.Field, key, value string, given bool) {
		if given {
			set = append(set, lowField{name, key, value})
		}
	}
	text := func(name spark.Field, key string, value *string) {
		add(name, key, ptr.Deref(value, ""), ptr.Deref(value, "") != "")
	}
	text("imagePullPolicy", spark.ConfImagePullPolicy, s.ImagePullPolicy)
	add("imagePullSecrets", spark.ConfImagePullSecrets, strings.Join(s.ImagePullSecrets, ","), len(s.ImagePullSecrets) > 0)
	text("pythonVersion", "spark.kubernetes.pyspark.pythonVersion", s.PythonVersion)
	text("memoryOverheadFactor", spark.ConfMemoryOverheadFactor, s.MemoryOverheadFactor)
	return set
}

func dynamicAllocation(c conf, d *v1beta2.DynamicAllocation) {
	if d == nil || !d.Enabled {
		return
	}
	const p, name = "spark.dynamicAllocation.", "dynamicAllocation."
	c.set(p+"enabled", "true", name+"enabled")
	c.setInt(p+"initialExecutors", d.InitialExecutors, name+"initialExecutors")
	c.setInt(p+"minExecutors", d.MinExecutors, name+"minExecutors")
	c.setInt(p+"maxExecutors", d.MaxExecutors, name+"maxExecutors")
	c.set(p+"shuffleTracking.enabled", strconv.FormatBool(ptr.Deref(d.ShuffleTrackingEnabled, true)), name+"shuffleTrackingEnabled")
	if d.ShuffleTrackingTimeout != nil {
		c.set(p+"shuffleTracking.timeout", strconv.FormatInt(*d.ShuffleTrackingTimeout, 10), name+"shuffleTrackingTimeout")
	}
}

// operatorConf sets the properties that a user must not override.
func operatorConf(c conf, o *v1beta2.SparkApplication) {
	maps.Copy(c.operator, spark.OwnedConf(spark.DeployModeCluster, o.Namespace, o.Name, DriverName(o)))
	if image := ptr.Deref(o.Spec.Image, ""); image != "" {
		// The image of the spec applies to both roles, even against sparkConf. Only a role's own image overrides it.
		for key, own := range map[string]*string{spark.ConfDriverImage: o.Spec.Driver.Image, spark.ConfExecutorImage: o.Spec.Executor.Image} {
			if _, set := c.user[key]; set && ptr.Deref(own, "") == "" {
				c.operator[key] = image
			}
		}
	}
	ownLabels(c, v1beta2.LabelAppName, o.Name)
}

// ownLabels sets the operator's labels on the pods of both roles. The label key has the name of their object.
func ownLabels(c conf, key, name string) {
	for k, v := range map[string]string{key: name, v1beta2.LabelLaunchedBy: "true"} {
		c.operator[spark.ConfDriverLabelPrefix+k] = v
		c.operator[spark.ConfExecutorLabelPrefix+k] = v
	}
}
