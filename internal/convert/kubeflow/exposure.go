// SPDX-License-Identifier: Apache-2.0

package kubeflow

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// exposure returns the auxiliary objects that the spec requests.
func exposure(s *v1beta2.SparkApplicationSpec) spark.Exposure {
	out := spark.Exposure{DisruptionBudget: ptr.Deref(s.DriverPodDisruptionBudget, false)}
	if o := s.SparkUIOptions; o != nil {
		out.UI = spark.ExposedPort{
			// If the options have no port, spark.ui.port does not apply.
			Port: ptr.Deref(o.ServicePort, defaultUIPort), PortName: ptr.Deref(o.ServicePortName, ""),
			ServiceType: ptr.Deref(o.ServiceType, ""), Labels: o.ServiceLabels, Annotations: o.ServiceAnnotations,
			IngressAnnotations: o.IngressAnnotations, TLS: o.IngressTLS,
		}
	}
	for _, o := range s.DriverIngressOptions {
		out.Ports = append(out.Ports, spark.ExposedPort{
			Port: ptr.Deref(o.ServicePort, 0), PortName: ptr.Deref(o.ServicePortName, ""),
			ServiceType: ptr.Deref(o.ServiceType, ""), Labels: o.ServiceLabels, Annotations: o.ServiceAnnotations,
			URLFormat: o.IngressURLFormat, IngressAnnotations: o.IngressAnnotations, TLS: o.IngressTLS,
		})
	}
	return out
}

const defaultUIPort = 4040

// projectDriver returns the status of the driver and its auxiliary objects.
func projectDriver(r lifecycle.Record) v1beta2.DriverInfo {
	e := r.Exposure
	return v1beta2.DriverInfo{
		PodName: r.DriverName, WebUIServiceName: e.Service, WebUIAddress: e.ServiceAddress, WebUIPort: e.ServicePort,
		WebUIIngressName: e.Ingress, WebUIIngressAddress: e.IngressAddress, WebUIRouteName: e.Route, WebUIRouteAddress: e.RouteAddress,
		HistoryServerURL: e.HistoryURL, ExposedBy: e.Objects,
	}
}

// projectTrouble reports auxiliary objects that cannot be created.
func projectTrouble(s *v1beta2.SparkApplicationStatus, r lifecycle.Record, now time.Time) {
	trouble := r.Exposure.Trouble
	if trouble.Reason == "" {
		meta.RemoveStatusCondition(&s.Conditions, string(lifecycle.ConditionExposed))
		return
	}
	meta.SetStatusCondition(&s.Conditions, metav1.Condition{
		Type: string(lifecycle.ConditionExposed), Status: metav1.ConditionFalse, Reason: string(trouble.Reason), Message: trouble.Message,
		ObservedGeneration: r.Generation, LastTransitionTime: seconds(now),
	})
}

// exposureOf reads the auxiliary objects. For another operator's status, it knows only their names.
func exposureOf(s *v1beta2.SparkApplicationStatus) lifecycle.Exposure {
	d := s.DriverInfo
	e := lifecycle.Exposure{
		Objects: d.ExposedBy, Service: d.WebUIServiceName, ServiceAddress: d.WebUIAddress, ServicePort: d.WebUIPort,
		Ingress: d.WebUIIngressName, IngressAddress: d.WebUIIngressAddress, Route: d.WebUIRouteName, RouteAddress: d.WebUIRouteAddress,
		HistoryURL: d.HistoryServerURL,
	}
	if c := meta.FindStatusCondition(s.Conditions, string(lifecycle.ConditionExposed)); c != nil && c.Status == metav1.ConditionFalse {
		e.Trouble = lifecycle.Cause{Reason: lifecycle.Reason(c.Reason), Message: c.Message}
	}
	return e
}
