// SPDX-License-Identifier: Apache-2.0

package spark

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
)

// Exposure is what a user wants beside a running driver, so that people reach it and nodes spare it. Nothing of it is a
// part of the submission, so that an edit restarts nothing.
type Exposure struct {
	// UI describes the Service and the Ingress of Spark's UI; a Port of 0 is the one that the UI listens on.
	UI ExposedPort
	// Ports of the driver that are exposed besides.
	Ports []ExposedPort
	// DisruptionBudget asks that nobody evicts the driver for maintenance.
	DisruptionBudget bool
}

// ExposedPort describes a Service of one port, and perhaps an Ingress. What is empty is left to the operator.
type ExposedPort struct {
	Port        int32
	PortName    string
	ServiceType corev1.ServiceType
	Labels      map[string]string
	Annotations map[string]string
	// URLFormat is the URL of the Ingress, with the operator's placeholders; "" for the operator's own or for none.
	URLFormat          string
	IngressAnnotations map[string]string
	TLS                []networkingv1.IngressTLS
}

// UIPort returns the port that the UI of the driver listens on; 0 if it has none, or if the port is not known before it
// runs. Properties: spark.ui.enabled and spark.ui.port.
func UIPort(app Application) int32 {
	c := newConf(mergeConf(&app), app.Submitter.Env)
	port := c.number(ConfUIPort)
	if !c.flag(ConfUIEnabled, true) || c.err != nil || port < 1 || port > maxPort {
		return 0
	}
	return int32(port)
}

// LogsEvents reports whether the driver writes an event log, which a history server can show when the driver is gone.
// Property: spark.eventLog.enabled.
func LogsEvents(app Application) bool {
	c := newConf(mergeConf(&app), app.Submitter.Env)
	return c.flag(ConfEventLog, false) && c.err == nil
}

// maxPort is the highest TCP port.
const maxPort = 65535
