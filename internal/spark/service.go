// SPDX-License-Identifier: Apache-2.0

package spark

import (
	"maps"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
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

// service adds the headless Service with which executors find the driver: DriverServiceFeatureStep.
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
			// This is a copy, because the pod and the Service must not share a map.
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
	if b.mode.takesClients {
		// A server's pod is ready only when it accepts clients, and executors must find it before that.
		service.Spec.PublishNotReadyAddresses = true
	}
	b.addResource(service)
	b.properties[ConfDriverHost] = meta.Name + "." + b.namespace + ".svc"
}

// servicePorts also writes the two ports to the configuration. It ignores spark.blockManager.port, which the container's ports use, as Spark does.
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
	if b.profile.ConnectPort || b.mode.takesClients {
		connect := servicePort(PortConnect, b.connectPort())
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

// networkPolicy admits only pods of the same application to the executors: NetworkPolicyFeatureStep.
func (b *builder) networkPolicy() {
	if !b.profile.NetworkPolicy {
		return
	}
	meta := b.meta(b.prefix + "-policy")
	meta.Labels = map[string]string{LabelAppSelector: b.id.AppID}
	b.addResource(&networkingv1.NetworkPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: "networking.k8s.io/v1", Kind: "NetworkPolicy"},
		ObjectMeta: meta,
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{
				LabelRole:        RoleExecutor,
				LabelAppSelector: b.id.AppID,
			}},
			Ingress: []networkingv1.NetworkPolicyIngressRule{{
				From: []networkingv1.NetworkPolicyPeer{{
					PodSelector: &metav1.LabelSelector{MatchLabels: map[string]string{LabelAppSelector: b.id.AppID}},
				}},
			}},
		},
	})
}

// Exposure has the auxiliary objects of a running driver that a user requests. It is not part of the submission, so an edit restarts nothing.
type Exposure struct {
	// NoUI is set if the user exposes the UI. The operator then adds nothing.
	NoUI bool
	// UI describes the Service and the Ingress of Spark's UI. A Port of 0 is the port of the UI.
	UI ExposedPort
	// Ports are further exposed ports of the driver.
	Ports []ExposedPort
	// Services are the user's own Services of the driver.
	Services []corev1.Service
	// DisruptionBudget protects the driver from eviction for maintenance.
	DisruptionBudget bool
}

// ExposedPort describes a Service with one port, and optionally an Ingress. The operator fills in empty fields.
type ExposedPort struct {
	Port        int32
	PortName    string
	ServiceType corev1.ServiceType
	Labels      map[string]string
	Annotations map[string]string
	// URLFormat is the format of the Ingress's URL, with the operator's placeholders; "" for the operator's format or for no Ingress.
	URLFormat          string
	IngressAnnotations map[string]string
	TLS                []networkingv1.IngressTLS
}

// UIPort returns the port of the driver's UI; 0 if there is none, or if the port is unknown before the driver runs. Properties: spark.ui.enabled and
// spark.ui.port.
func UIPort(app Application) int32 {
	c := newConf(mergeConf(&app), app.Submitter.Env)
	port := c.number(ConfUIPort)
	if !c.flag(ConfUIEnabled, true) || c.err != nil || port < 1 || port > maxPort {
		return 0
	}
	return int32(port)
}

// LogsEvents reports whether the driver writes an event log, which a history server can show after the driver is gone. Property: spark.eventLog.enabled.
func LogsEvents(app Application) bool {
	c := newConf(mergeConf(&app), app.Submitter.Env)
	return c.flag(ConfEventLog, false) && c.err == nil
}

// maxPort is the highest TCP port.
const maxPort = 65535
