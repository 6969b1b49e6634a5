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

// Server makes an application a Spark Connect server: its driver takes clients.
type Server struct {
	// TemplateMap names the ConfigMap with the template that the executors are made from.
	TemplateMap string
	// TokenSecret names the Secret with the token that clients present, in its key "token"; "" if all are let in.
	TokenSecret string
	// TokenMade is set once the Secret was made for this server. Before that, TokenSecret only begins its name.
	TokenMade bool
	// Labels of the ConfigMap and the Secret, whose names are the same on every attempt.
	Labels map[string]string
}

// RoleServer is the role of a pod in which a Spark Connect server runs, where others have RoleDriver.
const RoleServer = "connect-server"

// TokenKey is the key of the token in Server.TokenSecret.
const TokenKey = "token"

// EnvConnectToken is the variable that a server reads the token from (Spark 4.0).
const EnvConnectToken = "SPARK_CONNECT_AUTHENTICATE_TOKEN"

// WithToken returns the submission with another name of the Secret of its token. The submission itself is not changed.
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

// TokenSecretOf returns the reference to the Secret that a container reads a server's token from; nil if there is none.
func TokenSecretOf(c *corev1.Container) *corev1.SecretKeySelector {
	for _, v := range slices.Backward(c.Env) { // the last of a name counts
		if v.Name == EnvConnectToken && v.ValueFrom != nil {
			return v.ValueFrom.SecretKeyRef
		}
	}
	return nil
}

// RunsDriver reports whether labels are those of a pod in which a driver runs.
func RunsDriver(labels map[string]string) bool {
	role := labels[LabelRole]
	return role == RoleDriver || role == RoleServer
}

// serverSteps are the steps of a server. Spark has none for it, because such a driver is started in client mode. Where nothing differs, they
// are those of other drivers.
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

// mode holds the differences between an application, which is submitted in cluster mode, and a server, which starts in
// client mode inside of its pod.
type mode struct {
	// deploy is the value of spark.submit.deployMode, and role that of the driver's label spark-role.
	deploy, role string
	steps        []step
	checks       []submitCheck
	// dropped are the properties of the user's that the driver must not see.
	dropped []string
	// inPod is set if paths in the configuration are those of the driver's pod, which cannot be read here.
	inPod bool
	// takesClients opens the port of Spark Connect in every release.
	takesClients bool
	// direct is set if Spark's client gets the application as it is (Application.Direct).
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
		// The entrypoint and the steps set these; with submitInDriver the driver would look for objects that no step made.
		dropped: []string{ConfDriverHost, confBindAddress, confSubmitInDriver},
		checks:  []submitCheck{checkMaster, checkSizes, checkJavaOptions},
	}
}

// checkServer refuses what the release cannot do for a server.
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

// basicServer makes the container and the pod of a server. The template's container decides about resources, privileges
// and, unless it is configured, the pull policy.
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

// keepResources lays the template's resources over the computed ones. A resource that the template requests or limits is
// replaced as a whole: a computed limit could be lower than its request.
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

// probes let the pod be ready when the server takes clients. There is no liveness probe: it would restart
// a busy server.
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

// serverToken names the Secret of the token. The writer of the Secret generates the token.
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
	// Each attempt has its own prefix: executors of the attempt before may still exist.
	b.properties[ConfExecutorPodNamePrefix] = b.app.Name + "-" + b.id.NameID[:min(len(b.id.NameID), serverIDDigits)]
	b.properties[ConfConnectPort] = strconv.Itoa(int(b.connectPort()))
	// The driver would delete the Services of the label spark-app-selector when it ends.
	b.properties[confKeepService] = "false"
}

// serverIDDigits is how much of the attempt's id is in the names of executors, which people read.
const serverIDDigits = 8

// serverCommand sets what the image's entrypoint runs. A command of the template would run instead of it.
func (b *builder) serverCommand() {
	b.container.Command = nil
	b.container.Args = []string{"driver", "--properties-file", propertiesPathInPod, "--class", b.app.MainClass, b.app.MainFile}
}

// Where the template of a server's executors is stored and mounted.
const (
	serverTemplateKey    = "executor-pod-template.yaml"
	serverTemplatePath   = "/tmp/spark/" + serverTemplateKey
	serverTemplateVolume = "spark-conf"
	// noTemplate is the template as YAML if there is none.
	noTemplate = "null\n"
)

// serverTemplate ships the template that the server makes its executors from. The ConfigMap exists even without a template.
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

// ServerPorts are what a Spark Connect server listens on.
type ServerPorts struct {
	Driver, BlockManager, UI, Connect int32
}

// defaultUIPort is the value of spark.ui.port that Spark begins with.
const defaultUIPort = 4040

// ServerPortsOf returns the ports in the properties of a server. A port that is missing or is no number is Spark's default: Build
// refuses wrong ones.
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
