// SPDX-License-Identifier: Apache-2.0

// Package spark is the model of a Spark application and its native submission: a pure translation of what
// `spark-submit --master k8s://... --deploy-mode cluster` would create into Kubernetes objects.
//
// Everything here is a function over values. The package imports no client, clock, context or environment; whatever
// spark-submit would read from its surroundings is a field of Application (Submitter) or of Identity.
package spark

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
)

// Application is what a user wants to run, normalized and independent of the API family that it came from.
type Application struct {
	Namespace  string
	Name       string
	UID        types.UID
	Generation int64
	// Labels of the application object, for the schedulers.
	Labels map[string]string

	// SparkVersion of the image, "3.5.9" or "3.5". Its minor selects the Profile.
	SparkVersion string
	// MainFile is the primary resource: a jar, a .py or a .R file, or "spark-internal" for none. Its suffix, not a
	// declared type, decides how Spark runs it.
	MainFile string
	// MainClass is required for everything but Python and R.
	MainClass string
	Arguments []string
	ProxyUser string

	Deps Dependencies

	// Conf is the user's Spark configuration: sparkConf, hadoopConf (with its prefix) and the typed fields.
	Conf map[string]string
	// OperatorConf are the keys that the operator owns (master, namespace, driver pod name, owner labels ...). They are
	// laid over Conf, so a user cannot override them.
	OperatorConf map[string]string
	// OwnLabels are the labels by which the operator finds its objects. Users cannot change them.
	OwnLabels []string
	// Origins are the fields that Conf keys came from, e.g. "spark.driver.memory" from "driver.memory".
	Origins map[string]Origin
	// Fields names the fields of the user's object in messages.
	Fields Fields
	// Malformed says why the spec could not be decoded, so that nothing else can be said of it; "" if it was.
	Malformed string

	Driver   Role
	Executor Role

	// ConfigMaps are created before the driver, in addition to Spark's.
	ConfigMaps []ConfigMap
	// Attached are the user's own objects of the driver: Services, and the Ingresses and routes to them. They exist as long as the driver. A
	// Service without a selector selects the driver.
	Attached []Attached

	// Warnings are about settings that nothing reads. They stop nothing.
	Warnings []*ConfError

	Submitter Submitter

	// Server is set for a Spark Connect server; nil for an application that runs to its end.
	Server *Server
	// Direct is set for an application that is not submitted by spark-submit; nil for all others.
	Direct *Direct

	// Suspend asks that nothing of the application runs.
	Suspend bool
	// Scheduling is the user's choice of a batch scheduler.
	Scheduling Scheduling
	// Exposure is what the user requests as auxiliary objects.
	Exposure Exposure
	// Counted is what another program's quota counts of the application; nil if none counts it.
	Counted *Counted
}

// Dependencies are the lists of spark-submit's --jars, --files, --py-files, --archives, --packages,
// --exclude-packages and --repositories.
type Dependencies struct {
	Jars            []string
	Files           []string
	PyFiles         []string
	Archives        []string
	Packages        []string
	ExcludePackages []string
	Repositories    []string
}

// lists are the lists by the names of their fields.
func (d *Dependencies) lists() map[Field][]string {
	return map[Field][]string{
		"deps.jars": d.Jars, "deps.files": d.Files, "deps.pyFiles": d.PyFiles, "deps.archives": d.Archives,
		"deps.packages": d.Packages, "deps.excludePackages": d.ExcludePackages, "deps.repositories": d.Repositories,
	}
}

// Role is one of the two kinds of pods: the driver or the executors.
type Role struct {
	// Template is the user's pod template, from which Spark starts; nil for none.
	Template *corev1.PodTemplateSpec
	// TemplateText is a template as YAML or JSON. For the driver it is read if Template is nil. For executors it wins
	// over Template, and is shipped byte for byte if there is no overlay to lay over it.
	TemplateText string
	// Overlay is laid over the pod that Spark makes (driver), or over the template that executors start from.
	Overlay PodOverlay
	// Written are the parts of the pod that the user wrote in fields of their own. Messages name them; nothing is built from them.
	Written []Written
}

// ConfigMap is a ConfigMap of the application's own. Its name is the same on every attempt.
type ConfigMap struct {
	Name        string
	Labels      map[string]string
	Annotations map[string]string
	Data        map[string]string
}

// PodOverlay holds what a user can request in addition to Spark's own configuration. The zero value changes nothing.
type PodOverlay struct {
	Labels      map[string]string
	Annotations map[string]string

	// On the Spark container. MemoryLimit has no effect on executors: their driver always sets the limit that Spark
	// computes.
	Env             []corev1.EnvVar
	EnvFrom         []corev1.EnvFromSource
	VolumeMounts    []corev1.VolumeMount
	Ports           []corev1.ContainerPort
	MemoryLimit     *resource.Quantity
	Limits          corev1.ResourceList // GPUs and other extended resources
	SecurityContext *corev1.SecurityContext
	Lifecycle       *corev1.Lifecycle

	// On the pod.
	Volumes                       []corev1.Volume
	InitContainers                []corev1.Container
	Sidecars                      []corev1.Container
	NodeSelector                  map[string]string
	Affinity                      *corev1.Affinity
	Tolerations                   []corev1.Toleration
	HostAliases                   []corev1.HostAlias
	HostNetwork                   bool
	DNSConfig                     *corev1.PodDNSConfig
	PodSecurityContext            *corev1.PodSecurityContext
	PriorityClassName             string
	SchedulerName                 string
	TerminationGracePeriodSeconds *int64
	ShareProcessNamespace         bool
}

// Submitter holds the values that spark-submit would read from its process and its machine.
type Submitter struct {
	// User is the submitting user. It becomes SPARK_USER of the driver, unless there is a proxy user or SPARK_USER in
	// Env.
	User string
	// Env holds the variables that spark-submit reads (PYSPARK_PYTHON, SPARK_LOCAL_DIRS, SPARK_USER ...) and those
	// that the configuration refers to as ${env:...}. All of them are visible to the author of the application.
	Env map[string]string
	// ConfDir holds the files of SPARK_CONF_DIR, name -> content.
	ConfDir map[string][]byte
	// HadoopConfDir holds the files of HADOOP_CONF_DIR; nil when the variable is unset.
	HadoopConfDir map[string][]byte
	// Files are other files that the configuration may name by path (pod templates, credentials, keytabs).
	Files map[string][]byte
}

// Scheduling is the choice of a batch scheduler, as far as the core knows it.
type Scheduling struct {
	// Scheduler is the plugin's name; "" leaves the choice to the defaults.
	Scheduler string
	// SchedulerFrom is the default that named the scheduler; "" if the application did.
	SchedulerFrom string
	// PodScheduler is the schedulerName of the pods of both roles, in a family whose applications have no other field for a scheduler; ""
	// for none. It selects the plugin that serves that scheduler, if there is one.
	PodScheduler string
	Queue        string
	// QueueFrom is the default that named the queue; "" if the application did.
	QueueFrom         string
	PriorityClassName string
	// Resources, if set, replaces the total that the core computes for the whole application.
	Resources corev1.ResourceList
	// Parameters are options of the chosen plugin's own, in JSON; only the plugin understands them.
	Parameters []byte
}
