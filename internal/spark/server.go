// SPDX-License-Identifier: Apache-2.0

package spark

import (
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Server makes an application a Spark Connect server: its driver serves clients.
type Server struct {
	// TemplateMap names the ConfigMap with the executors' template.
	TemplateMap string
	// TokenSecret names the Secret with the token of clients, in its key "token"; "" if clients need none.
	TokenSecret string
	// TokenMade is set once the Secret was created for this server. Before that, TokenSecret is only a prefix of its name.
	TokenMade bool
	// Labels are for the ConfigMap and the Secret, whose names are the same in every attempt.
	Labels map[string]string
}

// RoleServer is the role of a pod with a Spark Connect server. Other driver pods have RoleDriver.
const RoleServer = "connect-server"

// TokenKey is the key of the token in Server.TokenSecret.
const TokenKey = "token"

// EnvConnectToken is the variable with the server's token (Spark 4.0).
const EnvConnectToken = "SPARK_CONNECT_AUTHENTICATE_TOKEN"

// WithToken returns the submission with another name for the token's Secret. It does not change the original.
func (s Submission) WithToken(name string) Submission {
	before := s.TokenSecret.Name
	s.TokenSecret, s.Driver = s.TokenSecret.DeepCopy(), s.Driver.DeepCopy()
	s.TokenSecret.Name = name
	for i := range s.Driver.Spec.Containers {
		if ref := TokenSecretOf(&s.Driver.Spec.Containers[i]); ref != nil && ref.Name == before {
			ref.Name = name
		}
	}
	return s
}

// TokenSecretOf returns the reference to the Secret with a server's token, as the container reads it; nil for none.
func TokenSecretOf(c *corev1.Container) *corev1.SecretKeySelector {
	for _, v := range slices.Backward(c.Env) { // the last variable of a name counts
		if v.Name == EnvConnectToken && v.ValueFrom != nil {
			return v.ValueFrom.SecretKeyRef
		}
	}
	return nil
}

// RunsDriver reports whether a pod with these labels runs a driver.
func RunsDriver(labels map[string]string) bool {
	role := labels[LabelRole]
	return role == RoleDriver || role == RoleServer
}

// serverSteps are the steps of a server. Spark has none, because such a driver starts in client mode. Steps without differences are those of other drivers.
var serverSteps = []step{
	{"BasicDriverFeatureStep", (*builder).basicServer},
	{"DriverKubernetesCredentialsFeatureStep", (*builder).credentials},
	{"DriverServiceFeatureStep", (*builder).service},
	{"NetworkPolicyFeatureStep", (*builder).networkPolicy},
	{"MountSecretsFeatureStep", (*builder).mountSecrets},
	{"EnvSecretsFeatureStep", (*builder).envSecrets},
	{"MountVolumesFeatureStep", (*builder).mountVolumes},
	{"DriverCommandFeatureStep", (*builder).serverCommand},
	{"HadoopConfDriverFeatureStep", (*builder).hadoop},
	{"KerberosConfDriverFeatureStep", (*builder).kerberos},
	{"PodTemplateConfigMapStep", (*builder).serverTemplate},
	{"LocalDirsFeatureStep", (*builder).localDirs},
}

// mode has the differences between an application, which is submitted in cluster mode, and a server, which starts in client mode inside its pod.
type mode struct {
	// deploy is the value of spark.submit.deployMode, and role the value of the driver's label spark-role.
	deploy, role string
	steps        []step
	checks       []submitCheck
	// dropped are the user's properties that the driver must not get.
	dropped []string
	// inPod is set if the configuration's paths are in the driver's pod, where the operator cannot read them.
	inPod bool
	// takesClients adds the port of Spark Connect, whatever the release.
	takesClients bool
	// direct is set if the application goes directly to Spark's client (Application.Direct).
	direct bool
}

func modeOf(app *Application) mode {
	if app.Direct != nil {
		return mode{role: RoleDriver, steps: steps, checks: []submitCheck{checkUploads}, direct: true}
	}
	if app.Server == nil {
		return mode{
			deploy: DeployModeCluster, role: RoleDriver, steps: steps, dropped: []string{ConfDriverHost},
			checks: []submitCheck{checkMaster, checkClusterMode, checkMain, checkSizes, checkJavaOptions, resolveLists},
		}
	}
	return mode{
		deploy: DeployModeClient, role: RoleServer, steps: serverSteps, inPod: true, takesClients: true,
		// The entrypoint and the steps set these. With submitInDriver the driver would search for objects that no step created.
		dropped: []string{ConfDriverHost, confBindAddress, confSubmitInDriver},
		checks:  []submitCheck{checkMaster, checkSizes, checkJavaOptions},
	}
}

// checkServer refuses settings of a server that the release does not support.
func (b *builder) checkServer() {
	server := b.app.Server
	if server == nil {
		return
	}
	refuse := func(subject Field, value, problem string) {
		if b.conf.err == nil {
			b.conf.err = &ConfError{Field: subject, Value: value, Problem: problem, Type: field.ErrorTypeNotSupported}
		}
	}
	if !b.profile.Connect {
		refuse(FieldSparkVersion, b.app.SparkVersion, "this release has no Spark Connect; write 3.4 or newer")
	}
	if server.TokenSecret == "" {
		return
	}
	if !b.profile.ConnectTokens {
		refuse("authentication.token", "", "the server of Spark "+b.profile.Minor+" asks for no token; use Spark 4.0 or newer, or remove the token")
	}
	if b.conf.has(confConnectToken) {
		b.conf.fail(confConnectToken, "", "the server would ask for this token instead of the one in the Secret "+server.TokenSecret+"; remove one of them")
	}
}

// basicServer builds the container and the pod of a server. The template's container determines resources, privileges and, unless it is configured, the pull
// policy.
func (b *builder) basicServer() {
	template := b.container.DeepCopy()
	b.container.Resources = corev1.ResourceRequirements{Claims: template.Resources.Claims}
	b.basicPod()
	keepResources(&b.container.Resources, &template.Resources)
	if template.ImagePullPolicy != "" && !b.conf.has(ConfImagePullPolicy) {
		b.container.ImagePullPolicy = template.ImagePullPolicy
	}
	if own := template.SecurityContext; own != nil && b.container.SecurityContext != nil {
		privileged := own.Privileged != nil && *own.Privileged
		if own.AllowPrivilegeEscalation != nil || privileged {
			b.container.SecurityContext.AllowPrivilegeEscalation = own.AllowPrivilegeEscalation
		}
	}
	b.container.Env = append(b.container.Env, corev1.EnvVar{
		Name:      "POD_IP",
		ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "status.podIP"}},
	})
	b.addEnv("SPARK_NO_DAEMONIZE", "true")
	b.probes()
	b.serverToken()
	b.serverProperties()
}

// keepResources overrides the computed resources by the template's. It replaces both request and limit of a resource that the template has, because a computed
// limit could be lower than its request.
func keepResources(computed, template *corev1.ResourceRequirements) {
	for _, named := range []corev1.ResourceList{template.Requests, template.Limits} {
		for name := range named {
			delete(computed.Requests, name)
			delete(computed.Limits, name)
		}
	}
	maps.Copy(computed.Requests, template.Requests)
	maps.Copy(computed.Limits, template.Limits)
}

// probes make the pod ready when the server accepts clients. There is no liveness probe, because it would restart a busy server.
func (b *builder) probes() {
	listens := corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(b.connectPort())}}
	if b.container.StartupProbe == nil {
		b.container.StartupProbe = &corev1.Probe{
			ProbeHandler: listens, InitialDelaySeconds: 5, PeriodSeconds: 10, TimeoutSeconds: 1, FailureThreshold: 30,
		}
	}
	if b.container.ReadinessProbe == nil {
		b.container.ReadinessProbe = &corev1.Probe{
			ProbeHandler: *listens.DeepCopy(), PeriodSeconds: 10, TimeoutSeconds: 1, FailureThreshold: 3,
		}
	}
}

// serverToken adds the variable with the Secret of the token. The writer of the Secret generates the token.
func (b *builder) serverToken() {
	server := b.app.Server
	if server.TokenSecret == "" {
		return
	}
	b.container.Env = append(b.container.Env, corev1.EnvVar{
		Name: EnvConnectToken,
		ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: server.TokenSecret}, Key: TokenKey,
		}},
	})
	b.token = b.secret(server.TokenSecret, nil)
	b.token.Labels = maps.Clone(server.Labels)
}

// serverProperties adds the properties that only a driver in client mode needs.
func (b *builder) serverProperties() {
	// Each attempt has its own prefix, because executors of the previous attempt may still exist.
	b.properties[ConfExecutorPodNamePrefix] = b.app.Name + "-" + b.id.NameID[:min(len(b.id.NameID), serverIDDigits)]
	b.properties[ConfConnectPort] = strconv.Itoa(int(b.connectPort()))
	// Otherwise the driver would delete the Services with the label spark-app-selector at its end.
	b.properties[confKeepService] = "false"
}

// serverIDDigits is how many digits of the attempt's ID are in the names of executors, which users read.
const serverIDDigits = 8

// serverCommand sets the arguments of the image's entrypoint. It removes the template's command, which would replace the entrypoint.
func (b *builder) serverCommand() {
	b.container.Command = nil
	b.container.Args = []string{"driver", "--properties-file", propertiesPathInPod, "--class", b.app.MainClass, b.app.MainFile}
}

// Where the executors' template of a server is stored and mounted.
const (
	serverTemplateKey    = "executor-pod-template.yaml"
	serverTemplatePath   = "/tmp/spark/" + serverTemplateKey
	serverTemplateVolume = "spark-conf"
	// noTemplate is the YAML for no template.
	noTemplate = "null\n"
)

// serverTemplate ships the executors' template of a server. The ConfigMap exists even without a template.
func (b *builder) serverTemplate() {
	text, container, ok := b.executorTemplateText()
	if !ok {
		text = noTemplate
	}
	name := b.app.Server.TemplateMap
	templates := b.configMap(name, map[string]string{serverTemplateKey: text})
	templates.Labels, templates.Immutable = maps.Clone(b.app.Server.Labels), nil
	b.addResource(templates)
	b.mount(serverTemplateVolume, serverTemplatePath, mapSource(name))
	mount := &b.container.VolumeMounts[len(b.container.VolumeMounts)-1]
	mount.SubPath, mount.ReadOnly = serverTemplateKey, true
	if ok {
		b.useTemplate(serverTemplatePath, container)
	}
}

// ServerPorts are the ports of a Spark Connect server.
type ServerPorts struct {
	Driver, BlockManager, UI, Connect int32
}

// defaultUIPort is Spark's default of spark.ui.port.
const defaultUIPort = 4040

// ServerPortsOf returns the ports in the properties of a server. A missing or invalid port is Spark's default, because Build refuses invalid ones.
func ServerPortsOf(app Application) ServerPorts {
	values := mergeConf(&app)
	read := func(key string, preset int32) int32 {
		c := newConf(values, nil)
		if port := c.port(key, preset); c.err == nil && port > 0 && port <= maxPort {
			return port
		}
		return preset
	}
	ports := ServerPorts{
		Driver: read(ConfDriverPort, defaultDriverPort), BlockManager: read(ConfDriverBlockPort, defaultBlockManagerPort),
		UI: defaultUIPort, Connect: read(ConfConnectPort, defaultConnectPort),
	}
	if port := UIPort(app); port != 0 {
		ports.UI = port
	}
	return ports
}
