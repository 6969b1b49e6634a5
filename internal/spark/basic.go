// SPDX-License-Identifier: Apache-2.0

package spark

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Default ports of the driver.
const (
	defaultDriverPort       = 7078
	defaultBlockManagerPort = 7079
	defaultConnectPort      = 15002
)

// basic builds the Spark container and the pod around it: BasicDriverFeatureStep.
func (b *builder) basic() {
	b.basicPod()
	b.properties[confSubmitInDriver] = "true"
	// This property is the only way in which executors learn that they belong to a Python or R application.
	b.properties[ConfMemoryOverheadFactor] = formatDouble(overheadFactor(b.conf, b.language))
}

// basicPod builds the parts that pods of all modes have.
func (b *builder) basicPod() {
	b.image()
	b.ports()
	b.environment()
	b.sizeDriver()
	if b.profile.PrivilegeEscalation {
		if b.container.SecurityContext == nil {
			b.container.SecurityContext = &corev1.SecurityContext{}
		}
		b.container.SecurityContext.AllowPrivilegeEscalation = new(b.conf.flag(confDriverPrivilege, false))
	}
	b.driverPod()
	b.properties[ConfDriverPodName] = b.pod.Name
	b.properties[ConfAppID] = b.id.AppID
}

func (b *builder) image() {
	image := imageOf(b.conf, ConfDriverImage, b.app.SparkVersion, b.profile)
	if image == "" {
		b.conf.failAs(field.ErrorTypeRequired, ConfImage, "", "the application has no image; write the image of Spark that it runs in")
	}
	policy, _ := b.conf.text(ConfImagePullPolicy)
	switch corev1.PullPolicy(policy) {
	case corev1.PullAlways, corev1.PullNever, corev1.PullIfNotPresent:
	default:
		b.conf.fail(ConfImagePullPolicy, policy, `must be "Always", "Never" or "IfNotPresent"`)
	}
	if b.container.Name == "" {
		b.container.Name = DriverContainerName
	}
	b.container.Image = image
	b.container.ImagePullPolicy = corev1.PullPolicy(policy)
}

// imageOf returns the image of a role, with its placeholder replaced.
func imageOf(c *conf, key, version string, profile Profile) string {
	image, _ := c.text(key)
	if profile.ImagePlaceholder {
		image = strings.ReplaceAll(image, "{{SPARK_VERSION}}", releaseOf(version))
	}
	return image
}

func (b *builder) ports() {
	// Both are read, so that an error in the unused one is noticed, too.
	blockManager := b.conf.port(ConfBlockManagerPort, defaultBlockManagerPort)
	b.addPort(PortDriverRPC, b.conf.port(ConfDriverPort, defaultDriverPort))
	b.addPort(PortBlockManager, b.conf.port(ConfDriverBlockPort, blockManager))
	b.addPort(PortUI, int32(b.conf.number(ConfUIPort)))
	if b.profile.ConnectPort || b.mode.takesClients {
		b.addPort(PortConnect, b.connectPort())
	}
}

func (b *builder) connectPort() int32 {
	return b.conf.port(ConfConnectPort, defaultConnectPort)
}

func (b *builder) addPort(name string, port int32) {
	b.container.Ports = append(b.container.Ports,
		corev1.ContainerPort{Name: name, ContainerPort: port, Protocol: corev1.ProtocolTCP})
}

func (b *builder) environment() {
	b.addEnv("SPARK_USER", b.sparkUser())
	b.addEnv("SPARK_APPLICATION_ID", b.id.AppID)
	for _, key := range b.conf.under(ConfDriverEnvPrefix) {
		b.addEnv(key[len(ConfDriverEnvPrefix):], b.conf.values[key])
	}
	b.container.Env = append(b.container.Env, corev1.EnvVar{
		Name: "SPARK_DRIVER_BIND_ADDRESS",
		ValueFrom: &corev1.EnvVarSource{
			FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "status.podIP"},
		},
	})
}

// sparkUser returns the user that the application runs as: SPARK_USER of the submitter's environment, the proxy user, or the submitter.
func (b *builder) sparkUser() string {
	variable, set := b.app.Submitter.Env["SPARK_USER"]
	switch {
	case b.app.ProxyUser != "" && (b.profile.ProxyUserWins || !set):
		return b.app.ProxyUser
	case set:
		return variable
	}
	return b.app.Submitter.User
}

func (b *builder) driverPod() {
	pod := b.pod
	pod.Name, _ = b.conf.text(ConfDriverPodName)
	if !b.conf.has(ConfDriverPodName) {
		pod.Name = b.prefix + driverSuffix
	}
	if pod.Labels == nil {
		pod.Labels = make(map[string]string, len(b.driverLabels))
	}
	maps.Copy(pod.Labels, b.driverLabels)
	for _, key := range b.conf.under(ConfDriverAnnotationPrefix) {
		setIn(&pod.Annotations, key[len(ConfDriverAnnotationPrefix):], b.placeholders(b.conf.values[key]))
	}
	for _, prefix := range []string{ConfNodeSelectorPrefix, ConfDriverNodeSelectorPrefix} {
		for _, key := range b.conf.under(prefix) {
			setIn(&pod.Spec.NodeSelector, key[len(prefix):], b.conf.values[key])
		}
	}
	for _, name := range b.conf.list(ConfImagePullSecrets) {
		pod.Spec.ImagePullSecrets = append(pod.Spec.ImagePullSecrets, corev1.LocalObjectReference{Name: name})
	}
	if name, ok := b.conf.text(ConfDriverSchedulerName); ok {
		pod.Spec.SchedulerName = name
	}
	pod.Spec.RestartPolicy = corev1.RestartPolicyNever
}

// setIn sets an entry of a map that may not exist yet.
func setIn(target *map[string]string, key, value string) {
	if *target == nil {
		*target = map[string]string{}
	}
	(*target)[key] = value
}

// sortedKeys returns the keys of a map in order.
func sortedKeys[V any](m map[string]V) []string {
	return slices.Sorted(maps.Keys(m))
}
