// SPDX-License-Identifier: Apache-2.0

package spark

import (
	"maps"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// ipFamilies are the values that Spark accepts.
var ipFamilies = map[string][]corev1.IPFamily{
	"IPv4":      {corev1.IPv4Protocol},
	"IPv6":      {corev1.IPv6Protocol},
	"IPv4,IPv6": {corev1.IPv4Protocol, corev1.IPv6Protocol},
	"IPv6,IPv4": {corev1.IPv6Protocol, corev1.IPv4Protocol},
}

// service makes the headless service by which executors find the driver: DriverServiceFeatureStep.
func (b *builder) service() {
	meta := b.meta(driverServiceName(b.prefix, b.id.ServiceID))
	meta.Labels = map[string]string{LabelAppSelector: b.id.AppID}
	if b.profile.ServiceLabels {
		for _, key := range b.conf.under(ConfServiceLabelPrefix) {
			meta.Labels[key[len(ConfServiceLabelPrefix):]] = b.conf.values[key]
		}
	}
	meta.Annotations = b.conf.family(ConfServiceAnnotationPrefix)
	service := &corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: meta,
		Spec: corev1.ServiceSpec{
			ClusterIP: corev1.ClusterIPNone,
			// A copy: the pod and the service must not share a map.
			Selector: maps.Clone(b.driverLabels),
			Ports:    b.servicePorts(),
		},
	}
	if b.profile.ServiceIPFamilies {
		b.setIPFamilies(&service.Spec)
	}
	if b.profile.PublishNotReadyAddresses {
		service.Spec.PublishNotReadyAddresses = b.conf.flag(confPublishNotReady, false)
	}
	b.addResource(service)
	b.properties[ConfDriverHost] = meta.Name + "." + b.namespace + ".svc"
}

// servicePorts also writes the two ports to the configuration. spark.blockManager.port is not consulted here, unlike
// for the container: Spark does the same.
func (b *builder) servicePorts() []corev1.ServicePort {
	driver := b.conf.port(ConfDriverPort, defaultDriverPort)
	blockManager := b.conf.port(ConfDriverBlockPort, defaultBlockManagerPort)
	b.properties[ConfDriverPort] = strconv.Itoa(int(driver))
	b.properties[ConfDriverBlockPort] = strconv.Itoa(int(blockManager))
	ports := []corev1.ServicePort{
		servicePort(PortDriverRPC, driver),
		servicePort(PortBlockManager, blockManager),
		servicePort(PortUI, int32(b.conf.number(ConfUIPort))),
	}
	if b.profile.ConnectPort {
		connect := servicePort(PortConnect, b.conf.port(ConfConnectPort, defaultConnectPort))
		if b.profile.GRPCAppProtocol {
			connect.AppProtocol = new("grpc")
		}
		ports = append(ports, connect)
	}
	return ports
}

func servicePort(name string, port int32) corev1.ServicePort {
	return corev1.ServicePort{Name: name, Port: port, TargetPort: intstr.FromInt32(port)}
}

func (b *builder) setIPFamilies(spec *corev1.ServiceSpec) {
	policy, _ := b.conf.text(confIPFamilyPolicy)
	switch corev1.IPFamilyPolicy(policy) {
	case corev1.IPFamilyPolicySingleStack, corev1.IPFamilyPolicyPreferDualStack, corev1.IPFamilyPolicyRequireDualStack:
	default:
		b.conf.fail(confIPFamilyPolicy, policy, `must be "SingleStack", "PreferDualStack" or "RequireDualStack"`)
	}
	spec.IPFamilyPolicy = new(corev1.IPFamilyPolicy(policy))
	families, _ := b.conf.text(confIPFamilies)
	known, ok := ipFamilies[families]
	if !ok {
		b.conf.fail(confIPFamilies, families, `must be "IPv4", "IPv6", "IPv4,IPv6" or "IPv6,IPv4"`)
	}
	spec.IPFamilies = append(spec.IPFamilies, known...)
}
