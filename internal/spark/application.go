// SPDX-License-Identifier: Apache-2.0

// Package spark is the model of a Spark application and its native submission: a pure translation of what `spark-submit --master k8s://... --deploy-mode
// cluster` would create into Kubernetes objects.
//
// The package imports no client, clock, context or environment. Values that spark-submit would read from its surroundings are fields of Application (Submitter)
// or of Identity.
package spark

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
)

// Application is the application that a user wants to run, normalized and independent of its API family.
type Application struct {
	Namespace  string
	Name       string
	UID        types.UID
	Generation int64
	// Labels are the application object's labels, for the schedulers.
	Labels map[string]string

	// SparkVersion is the version of the image, "3.5.9" or "3.5". Its minor version selects the Profile.
	SparkVersion string
	// MainFile is the primary resource: a jar, a .py or a .R file, or "spark-internal" for none. Its suffix determines how Spark runs it.
	MainFile string
	// MainClass is required, except for Python and R.
	MainClass string
	Arguments []string
	ProxyUser string

	Deps Dependencies

	// Conf is the user's Spark configuration: sparkConf, hadoopConf (with its prefix) and the typed fields.
	Conf map[string]string
	// OperatorConf are the properties that the operator owns (master, namespace, driver pod name, owner labels ...). They override Conf, so a user cannot
	// change them.
	OperatorConf map[string]string
	// OwnLabels are the labels with which the operator finds its objects. Users cannot change them.
	OwnLabels []string
	// Origins maps properties of Conf to the fields that they come from, e.g. "spark.driver.memory" to "driver.memory".
	Origins map[string]Origin
	// Fields names the user's fields in messages.
	Fields Fields
	// Malformed explains why the spec could not be decoded, so that nothing else is checked; "" if it was decoded.
	Malformed string

	Driver   Role
	Executor Role

	// ConfigMaps are created before the driver, in addition to Spark's.
	ConfigMaps []ConfigMap
	// Attached are the user's own objects for the driver: Services, and the Ingresses and routes to them. They exist as long as the driver. A Service without a
	// selector selects the driver.
	Attached []Attached

	// Warnings are about settings that have no effect. They do not stop the application.
	Warnings []*ConfError

	Submitter Submitter

	// Server is set for a Spark Connect server; nil for an application that runs to its end.
	Server *Server
	// Direct is set for an application that spark-submit does not submit; nil for all others.
	Direct *Direct

	// Suspend is set if the application must not run.
	Suspend bool
	// Scheduling is the user's choice of a batch scheduler.
	Scheduling Scheduling
	// Exposure has the auxiliary objects that the user requests.
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

// lists returns the lists by the names of their fields.
func (d *Dependencies) lists() map[Field][]string {
	return map[Field][]string{
		"deps.jars": d.Jars, "deps.files": d.Files, "deps.pyFiles": d.PyFiles, "deps.archives": d.Archives,
		"deps.packages": d.Packages, "deps.excludePackages": d.ExcludePackages, "deps.repositories": d.Repositories,
	}
}

// Role is a kind of pod: the driver or the executors.
type Role struct {
	// Template is the user's pod template that Spark starts with; nil for none.
	Template *corev1.PodTemplateSpec
	// TemplateText is a template as YAML or JSON. The driver's is read if Template is nil. The executors' overrides Template, and is shipped unchanged if there
	// is no overlay.
	TemplateText string
	// Overlay is applied to the pod that Spark builds (driver), or to the template of the executors.
	Overlay PodOverlay
	// Written are the parts of the pod that the user wrote in separate fields. They are only for messages.
	Written []Written
}

// ConfigMap is a ConfigMap of the application. Its name is the same in every attempt.
type ConfigMap struct {
	Name        string
	Labels      map[string]string
	Annotations map[string]string
	Data        map[string]string
}

// PodOverlay has what a user can request in addition to Spark's own configuration. The zero value changes nothing.
type PodOverlay struct {
	Labels      map[string]string
	Annotations map[string]string

	// These fields are for the Spark container. MemoryLimit has no effect on executors, because their driver always sets the limit that Spark computes.
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

// Submitter has the values that spark-submit would read from its process and its machine.
type Submitter struct {
	// User is the submitting user. It becomes the driver's SPARK_USER, unless there is a proxy user or SPARK_USER in Env.
	User string
	// Env has the variables that spark-submit reads (PYSPARK_PYTHON, SPARK_LOCAL_DIRS, SPARK_USER ...), and the variables in references such as ${env:...}. The
	// author of the application can see all of them.
	Env map[string]string
	// ConfDir has the files of SPARK_CONF_DIR by name.
	ConfDir map[string][]byte
	// HadoopConfDir has the files of HADOOP_CONF_DIR; nil if the variable is unset.
	HadoopConfDir map[string][]byte
	// Files has other files by the paths in the configuration (pod templates, credentials, keytabs).
	Files map[string][]byte
}

// Scheduling is the choice of a batch scheduler, as far as the core knows it.
type Scheduling struct {
	// Scheduler is the plugin's name; "" for the default.
	Scheduler string
	// SchedulerFrom is the default that set the scheduler; "" if the application set it.
	SchedulerFrom string
	// PodScheduler is the schedulerName of the pods of both roles; "" for none. It is for families without another field for a scheduler, and selects the
	// plugin that is responsible for that scheduler, if any.
	PodScheduler string
	Queue        string
	// QueueFrom is the default that set the queue; "" if the application set it.
	QueueFrom         string
	PriorityClassName string
	// Resources is what the user lets a gang scheduler ask for the whole application. It counts where it is more than the pods request; see Reservable.
	Resources corev1.ResourceList
	// Reservable are the names in Resources of which a policy lets the application ask for more than its pods request.
	Reservable []corev1.ResourceName
	// Parameters are options of the chosen plugin, in JSON. Only the plugin understands them.
	Parameters []byte
}

// Reserved returns the part of Resources that policies allow.
func (s Scheduling) Reserved() corev1.ResourceList {
	allowed := corev1.ResourceList{}
	for _, name := range s.Reservable {
		allowed[name] = s.Resources[name]
	}
	return allowed
}
