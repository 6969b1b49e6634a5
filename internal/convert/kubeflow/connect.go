// SPDX-License-Identifier: Apache-2.0

package kubeflow

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1alpha1"
	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// SparkConnects translates sparkoperator.k8s.io SparkConnects (resolve.Kind): a server is an application whose driver serves
// clients.
type SparkConnects struct {
	// Pause is the first back-off between two server pods; 0 means defaultBackoff.
	Pause time.Duration
}

// ConnectKind is the kind of Spark Connect servers.
const ConnectKind = "SparkConnect"

// connectClass is the main class of a Spark Connect server.
const connectClass = "org.apache.spark.sql.connect.service.SparkConnectServer"

// New returns an empty object.
func (SparkConnects) New() *v1alpha1.SparkConnect { return &v1alpha1.SparkConnect{} }

// sparkConnects describes the family to the core.
var sparkConnects = lifecycle.Family{
	Group: v1alpha1.GroupVersion.Group, Version: v1alpha1.GroupVersion.Version, Kind: ConnectKind,
	Labels:  connectLabels(),
	RerunAt: v1beta2.AnnotationRerunAt,
	WakeAt:  v1alpha1.AnnotationWakeAt,

	Submitter: submitterKeys,
	Endures:   true,
	Fields: spark.Fields{
		"":                             "spec", // other fields have the same names
		"batchScheduler.queue":         "spec.batchSchedulerOptions.queue",
		"batchScheduler.priorityClass": "spec.batchSchedulerOptions.priorityClassName",
		"batchScheduler.resources":     "spec.batchSchedulerOptions.resources",
		"batchScheduler.parameters":    "spec.batchSchedulerOptions.parameters",
		"driver":                       serverField,
		"metadata":                     "metadata",
		"driver.podName":               "metadata.name",
		"driver.image":                 serverField + ".template",
		"driver.serviceAccount":        serverField + ".template",
		"driver.hostNetwork":           serverField + ".template",
		"driver.volumes":               serverField + ".template",
		"driver.nodeSelector":          serverField + ".template",
		"driver.tolerations":           serverField + ".template.spec.tolerations",
		"driver.priorityClassName":     serverField + ".template.spec.priorityClassName",
		"executor.image":               "spec.executor.template",
		"executor.serviceAccount":      "spec.executor.template",
		"executor.hostNetwork":         "spec.executor.template",
		"executor.volumes":             "spec.executor.template",
		"executor.nodeSelector":        "spec.executor.template",
		"executor.tolerations":         "spec.executor.template.spec.tolerations",
		"executor.priorityClassName":   "spec.executor.template.spec.priorityClassName",
		"services":                     serverField + ".service",
		"labels":                       "metadata.labels",
		"rerunAt":                      "annotation " + v1beta2.AnnotationRerunAt,
		"wakeAt":                       "annotation " + v1alpha1.AnnotationWakeAt,
	},
	States: connectStateNames(),
}

const serverField = "spec.server"

// connectLabels returns the labels of applications with another key for the server's name.
func connectLabels() lifecycle.Labels {
	labels := sparkApplications.Labels
	labels.App = v1alpha1.LabelConnectName
	return labels
}

// Family describes the kind to the core.
func (SparkConnects) Family() lifecycle.Family { return sparkConnects }

// RaiseMemory returns the model unchanged: only the user decides a server's memory.
func (SparkConnects) RaiseMemory(app spark.Application, _ *v1alpha1.SparkConnect, _ int32) spark.Application {
	return app
}

// Desired returns the input of lifecycle.Decide from the object.
func (k SparkConnects) Desired(o *v1alpha1.SparkConnect, record lifecycle.Record) lifecycle.Application {
	hash := record.SpecHash
	if hash == "" || record.Generation != o.Generation {
		hash = ConnectHash(o)
	}
	times, _ := connectTimes(&o.Spec)
	return lifecycle.Application{
		UID: string(o.UID), Generation: o.Generation, SpecHash: hash, Suspend: ptr.Deref(o.Spec.Suspend, false),
		Policies: connectPolicies(o, k.Pause), Deleting: !o.DeletionTimestamp.IsZero(), Fields: sparkConnects.Fields,
		Endures: true, Drain: times.drain, IdleTimeout: times.idle, LogTails: lifecycle.LogTails{Hidden: o.Spec.LogTails == v1beta2.LogTailsDisabled},
	}
}

// ConnectHash identifies the part of the spec that a running server is created from. If it changes, a new server replaces the running one. Fields that act on
// a running server are excluded.
func ConnectHash(o *v1alpha1.SparkConnect) string {
	s := o.Spec.DeepCopy()
	s.Suspend, s.IdleTimeout, s.DrainTimeout, s.Server.Service, s.LogTails = nil, nil, nil, nil, ""
	if d := s.DynamicAllocation; d != nil && !d.Enabled {
		s.DynamicAllocation = nil
	}
	if a := s.Authentication; a != nil && !a.Token {
		s.Authentication = nil
	}
	if options := s.BatchSchedulerOptions; options != nil {
		options.OnEviction, options.MaxEvictions = "", nil
	}
	return hashOf(s, o.MalformedSpec)
}

// Load returns the model of the object.
func (k SparkConnects) Load(o *v1alpha1.SparkConnect, record lifecycle.Record) lifecycle.Loaded {
	app, problems := normalizeConnect(o)
	return lifecycle.Loaded{App: app, Problems: problems, Desired: k.Desired(o, record)}
}

// normalizeConnect returns the model of a server, and the fields with an invalid value.
func normalizeConnect(o *v1alpha1.SparkConnect) (spark.Application, []*spark.ConfError) {
	app := spark.Application{
		Namespace:    o.Namespace,
		Name:         o.Name,
		UID:          o.UID,
		Generation:   o.Generation,
		Labels:       maps.Clone(o.Labels),
		SparkVersion: o.Spec.SparkVersion,
		MainFile:     spark.NoResource,
		MainClass:    connectClass,
		Submitter:    spark.Submitter{User: sparkUser},
		Server:       connectServer(o),
		Suspend:      ptr.Deref(o.Spec.Suspend, false),
		Scheduling:   scheduling(o.Spec.BatchScheduler, o.Spec.BatchSchedulerOptions),
		Fields:       sparkConnects.Fields,
	}
	c := connectConf(o)
	app.Conf, app.Origins, app.OperatorConf = c.user, c.origins, c.operator
	if o.MalformedSpec != "" {
		return app.Undecoded(o.MalformedSpec)
	}
	app.Driver, app.Executor = connectPod(driverKeys, &o.Spec.Server.SparkPodSpec), connectPod(executorKeys, &o.Spec.Executor.SparkPodSpec)
	app.Exposure.Services = []corev1.Service{connectService(o, spark.ServerPortsOf(app))}
	app.Warnings = connectWarnings(o)
	return app, connectConflicts(o)
}

// connectMarks returns the labels of a server's objects except its pods.
func connectMarks(o *v1alpha1.SparkConnect) map[string]string {
	return map[string]string{v1beta2.LabelCreatedBy: "true", v1alpha1.LabelConnectName: o.Name}
}

// connectServer returns the server part of the model. The token's Secret is the Secret named in the status, because other clients may create Secrets with
// similar names.
func connectServer(o *v1alpha1.SparkConnect) *spark.Server {
	s := &spark.Server{TemplateMap: o.Name + "-conf", Labels: connectMarks(o)}
	if asksForToken(o) {
		made := o.Status.Server.TokenSecretName
		s.TokenSecret, s.TokenMade = cmp.Or(made, o.Name+"-token"), made != ""
	}
	return s
}

func asksForToken(o *v1alpha1.SparkConnect) bool {
	return o.Spec.Authentication != nil && o.Spec.Authentication.Token
}

// connectConf returns sparkConf overlaid with the typed fields, and both overlaid with the operator's own settings.
func connectConf(o *v1alpha1.SparkConnect) conf {
	s := &o.Spec
	c := conf{user: map[string]string{}, operator: map[string]string{}, origins: map[string]spark.Origin{}}
	maps.Copy(c.user, s.SparkConf)
	for _, name := range slices.Sorted(maps.Keys(s.HadoopConf)) { // both forms of the key name the same property
		c.set(hadoopPrefix+strings.TrimPrefix(name, hadoopPrefix), s.HadoopConf[name], spark.Field("hadoopConf").Key(name))
	}
	c.setString(spark.ConfImage, s.Image, "image")
	connectRole(c, driverKeys, o, &s.Server.SparkPodSpec)
	connectRole(c, executorKeys, o, &s.Executor.SparkPodSpec)
	c.setInt(spark.ConfExecutorInstances, s.Executor.Instances, "executor.instances")
	dynamicAllocation(c, s.DynamicAllocation)
	maps.Copy(c.operator, spark.OwnedConf(spark.DeployModeClient, o.Namespace, o.Name, ServerName(o)))
	ownLabels(c, v1alpha1.LabelConnectName, o.Name)
	return c
}

// connectRole sets the properties of a role. The image of a template's container overrides the image of the spec, which overrides the image of sparkConf.
func connectRole(c conf, k roleKeys, o *v1alpha1.SparkConnect, p *v1alpha1.SparkPodSpec) {
	c.setInt(k.cores, p.Cores, k.field+".cores")
	c.setString(k.request, p.CoreRequest, k.field+".coreRequest")
	c.setString(k.limit, p.CoreLimit, k.field+".coreLimit")
	c.setString(k.memory, p.Memory, k.field+".memory")
	c.setAll(k.label, propagated(o.Labels), "labels")
	templateContainer(c, k, p.Template)
	if container := sparkContainer(p.Template, k.container); container != nil && container.Image != "" {
		c.set(k.image, container.Image, k.field+".template")
	} else if _, set := c.user[k.image]; set {
		c.setString(k.image, o.Spec.Image, "image")
	}
}

// connectPod returns the parts of a role's pod that no property expresses. A GPU in the template overrides the GPU field.
func connectPod(k roleKeys, p *v1alpha1.SparkPodSpec) spark.Role {
	limits := gpuLimits(p.GPU)
	maps.DeleteFunc(limits, func(name corev1.ResourceName, _ resource.Quantity) bool { return inTemplate(k, p, name) })
	if len(limits) == 0 {
		return spark.Role{Template: p.Template}
	}
	return spark.Role{Template: p.Template, Overlay: spark.PodOverlay{Limits: limits}, Written: []spark.Written{writtenGPU(k.field, limits)}}
}

// inTemplate reports whether Spark's container in the template requests or limits a resource.
func inTemplate(k roleKeys, p *v1alpha1.SparkPodSpec, name corev1.ResourceName) bool {
	container := sparkContainer(p.Template, k.container)
	if container == nil {
		return false
	}
	_, requested := container.Resources.Requests[name]
	_, limited := container.Resources.Limits[name]
	return requested || limited
}

// ServerName returns the name of the server pod on every attempt, because tools look for <name>-server.
func ServerName(o *v1alpha1.SparkConnect) string { return o.Name + "-server" }

// ServiceName returns the name of the Service that clients connect to.
func ServiceName(o *v1alpha1.SparkConnect) string {
	if s := o.Spec.Server.Service; s != nil && s.Name != "" {
		return s.Name
	}
	return ServerName(o)
}

// connectService returns the Service that clients connect to: the user's Service with the operator's ports and selector.
func connectService(o *v1alpha1.SparkConnect, ports spark.ServerPorts) corev1.Service {
	service := corev1.Service{}
	if s := o.Spec.Server.Service; s != nil {
		s = s.DeepCopy()
		service.Labels, service.Annotations, service.Spec = s.Labels, s.Annotations, s.Spec
	}
	service.APIVersion, service.Kind = "v1", "Service"
	service.Name, service.Namespace = ServiceName(o), o.Namespace
	if service.Labels == nil {
		service.Labels = map[string]string{}
	}
	maps.Copy(service.Labels, connectMarks(o))
	service.Spec.Selector = map[string]string{
		v1beta2.LabelLaunchedBy: "true", v1alpha1.LabelConnectName: o.Name, spark.LabelRole: spark.RoleServer,
		spark.LabelVersion: strings.TrimPrefix(o.Spec.SparkVersion, "v"),
	}
	service.Spec.Ports = nil
	for _, p := range []struct {
		name     string
		port     int32
		protocol string
	}{
		{"driver-rpc", ports.Driver, "tcp"}, {"blockmanager", ports.BlockManager, "tcp"}, {"web-ui", ports.UI, "http"},
		{"spark-connect-server", ports.Connect, "grpc"},
	} {
		service.Spec.Ports = append(service.Spec.Ports, corev1.ServicePort{
			Name: p.name, Port: p.port, Protocol: corev1.ProtocolTCP, AppProtocol: ptr.To(p.protocol),
		})
	}
	return service
}
