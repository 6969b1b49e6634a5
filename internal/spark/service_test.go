// SPDX-License-Identifier: Apache-2.0

package spark

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

// portsOf lists "name:port" of a service, with the protocol of the application if there is one.
func portsOf(service *corev1.Service) (ports map[string]int32, protocols map[string]string) {
	ports, protocols = map[string]int32{}, map[string]string{}
	for _, port := range service.Spec.Ports {
		ports[port.Name] = port.Port
		if port.AppProtocol != nil {
			protocols[port.Name] = *port.AppProtocol
		}
	}
	return ports, protocols
}

func TestServiceByRelease(t *testing.T) {
	tests := []struct {
		version   string
		families  []corev1.IPFamily
		labels    map[string]string
		connect   int32
		protocols map[string]string
		reason    string
	}{
		{"3.3", nil, nil, 0, map[string]string{}, "neither families nor labels"},
		{"3.4", v4only, team, 0, map[string]string{}, "families and labels"},
		{"4.0", v4only, team, 0, map[string]string{}, "nothing new"},
		{"4.1", v4only, team, 15002, map[string]string{}, "Spark Connect"},
		{"4.2", v4only, team, 15002, map[string]string{PortConnect: "grpc"}, "its protocol"},
		{"4.3", v4only, team, 15002, map[string]string{PortConnect: "grpc"}, "nothing new by default"},
	}
	for _, test := range tests {
		app := with(map[string]string{ConfServiceLabelPrefix + "team": "data"})
		service := resourceOf[*corev1.Service](t, mustBuild(t, app, test.version), "-driver-svc")
		if diff := cmp.Diff(test.families, service.Spec.IPFamilies); diff != "" {
			t.Errorf("%s: families, %s (-want +got):\n%s", test.version, test.reason, diff)
		}
		labels := map[string]string{LabelAppSelector: testIdentity().AppID}
		for label, value := range test.labels {
			labels[label] = value
		}
		if diff := cmp.Diff(labels, service.Labels); diff != "" {
			t.Errorf("%s: labels, %s (-want +got):\n%s", test.version, test.reason, diff)
		}
		ports, protocols := portsOf(service)
		if ports[PortConnect] != test.connect {
			t.Errorf("%s: Spark Connect at %d, want %d: %s", test.version, ports[PortConnect], test.connect, test.reason)
		}
		if diff := cmp.Diff(test.protocols, protocols); diff != "" {
			t.Errorf("%s: protocols, %s (-want +got):\n%s", test.version, test.reason, diff)
		}
		if service.Spec.ClusterIP != corev1.ClusterIPNone {
			t.Errorf("%s: the service is not headless", test.version)
		}
	}
}

var (
	v4only = []corev1.IPFamily{corev1.IPv4Protocol}
	team   = map[string]string{"team": "data"}
)

func TestServiceProperties(t *testing.T) {
	tests := []struct {
		conf            map[string]string
		service, pod    map[string]int32
		driver, blocks  string
		families        []corev1.IPFamily
		notReady        bool
		version, reason string
	}{
		{nil, map[string]int32{PortDriverRPC: 7078, PortBlockManager: 7079, PortUI: 4040},
			map[string]int32{PortDriverRPC: 7078, PortBlockManager: 7079, PortUI: 4040}, "7078", "7079", v4only, false,
			"4.0", "defaults"},
		{map[string]string{ConfDriverPort: "30000", ConfDriverBlockPort: "30001", ConfUIPort: " 5050 "},
			map[string]int32{PortDriverRPC: 30000, PortBlockManager: 30001, PortUI: 5050},
			map[string]int32{PortDriverRPC: 30000, PortBlockManager: 30001, PortUI: 5050}, "30000", "30001", v4only, false,
			"4.0", "all of them"},
		{map[string]string{ConfBlockManagerPort: "8000"},
			map[string]int32{PortDriverRPC: 7078, PortBlockManager: 7079, PortUI: 4040},
			map[string]int32{PortDriverRPC: 7078, PortBlockManager: 8000, PortUI: 4040}, "7078", "7079", v4only, false,
			"4.0", "the service does not look at the port of both roles, the container does"},
		{map[string]string{confIPFamilies: "IPv6,IPv4", confIPFamilyPolicy: "PreferDualStack", confPublishNotReady: "true"},
			map[string]int32{PortDriverRPC: 7078, PortBlockManager: 7079, PortUI: 4040, PortConnect: 15002},
			map[string]int32{PortDriverRPC: 7078, PortBlockManager: 7079, PortUI: 4040, PortConnect: 15002}, "7078", "7079",
			[]corev1.IPFamily{corev1.IPv6Protocol, corev1.IPv4Protocol}, true, "4.3", "two families, in this order"},
	}
	for _, test := range tests {
		submission := mustBuild(t, with(test.conf), test.version)
		service := resourceOf[*corev1.Service](t, submission, "-driver-svc")
		ports, _ := portsOf(service)
		if diff := cmp.Diff(test.service, ports); diff != "" {
			t.Errorf("service, %s (-want +got):\n%s", test.reason, diff)
		}
		got := map[string]int32{}
		for _, port := range sparkContainerOf(t, submission.Driver, DriverContainerName).Ports {
			got[port.Name] = port.ContainerPort
		}
		if diff := cmp.Diff(test.pod, got); diff != "" {
			t.Errorf("container, %s (-want +got):\n%s", test.reason, diff)
		}
		if diff := cmp.Diff(test.families, service.Spec.IPFamilies); diff != "" {
			t.Errorf("families, %s (-want +got):\n%s", test.reason, diff)
		}
		if service.Spec.PublishNotReadyAddresses != test.notReady {
			t.Errorf("publishes before it is ready: %t: %s", service.Spec.PublishNotReadyAddresses, test.reason)
		}
		p := submission.Properties
		if p[ConfDriverPort] != test.driver || p[ConfDriverBlockPort] != test.blocks {
			t.Errorf("properties %s and %s, want %s and %s: %s",
				p[ConfDriverPort], p[ConfDriverBlockPort], test.driver, test.blocks, test.reason)
		}
		if host := p[ConfDriverHost]; host != service.Name+".jobs.svc" {
			t.Errorf("the driver's host is %q, the service is %q", host, service.Name)
		}
	}
}

// A user's driver host would send executors elsewhere.
func TestDriverHostIsIgnored(t *testing.T) {
	submission := mustBuild(t, with(map[string]string{ConfDriverHost: "evil.example"}), "4.1")
	service := resourceOf[*corev1.Service](t, submission, "-driver-svc")
	if got := submission.Properties[ConfDriverHost]; got != service.Name+".jobs.svc" {
		t.Errorf("driver host %q, want the service", got)
	}
}
