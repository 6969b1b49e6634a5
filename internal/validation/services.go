// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/firesteel-dev/firesteel/internal/podrules"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

var serviceTypes = []corev1.ServiceType{"", corev1.ServiceTypeClusterIP, corev1.ServiceTypeNodePort,
	corev1.ServiceTypeLoadBalancer, corev1.ServiceTypeExternalName}

const notAServiceType = `not a type of Services; write "ClusterIP", "NodePort" or "LoadBalancer"`

// checkServices refuses the user's own Services of a type that no API server accepts: clients could not reach the server.
func checkServices(app spark.Application) []*spark.ConfError {
	var found []*spark.ConfError
	for i := range app.Exposure.Services {
		if t := app.Exposure.Services[i].Spec.Type; !slices.Contains(serviceTypes, t) {
			found = append(found, &spark.ConfError{Field: "services.spec.type", Value: string(t), Problem: notAServiceType})
		}
	}
	return found
}

// warnExposed warns of ports that cannot be exposed as written. The driver runs nevertheless.
func warnExposed(app spark.Application) []*spark.ConfError {
	found := notExposed("ui", app.Exposure.UI)
	for i := range app.Exposure.Ports {
		found = append(found, notExposed(spark.Field("ports").Index(i), app.Exposure.Ports[i])...)
	}
	return found
}

const unreachable = "; nothing would lead to the driver's port"

// warnAttached warns of the user's own Services and Ingresses that the API server refuses.
func warnAttached(app spark.Application) (found []*spark.ConfError) {
	add := func(meta, spec spark.Field, all field.ErrorList) {
		for _, e := range all {
			e := *e
			at := meta
			switch {
			case e.Field == "spec" || strings.HasPrefix(e.Field, "spec."):
				at = spec + spark.Field(strings.TrimPrefix(e.Field, "spec"))
			case strings.HasPrefix(e.Field, "metadata."):
				at += spark.Field(strings.TrimPrefix(e.Field, "metadata"))
			case e.Field != "":
				at += "." + spark.Field(e.Field)
			}
			found = append(found, &spark.ConfError{Field: at, Value: shown(e.BadValue), Problem: kubernetesWords(&e) + unreachable})
		}
	}
	for i := range app.Exposure.Services {
		service := app.Exposure.Services[i].DeepCopy()
		service.Namespace, service.Spec.Selector = app.Namespace, nil // the operator sets them
		if slices.Contains(serviceTypes, service.Spec.Type) {
			refused := podrules.ServiceErrors(service)
			add("services.metadata", "services.spec", slices.DeleteFunc(refused, func(e *field.Error) bool { return e.Field == "metadata.name" }))
		}
	}
	for _, a := range app.Attached {
		switch o := a.Object.(type) {
		case *corev1.Service:
			o = o.DeepCopy()
			o.Namespace = app.Namespace
			add(a.Meta, a.Spec, podrules.ServiceErrors(o))
		case *networkingv1.Ingress:
			o = o.DeepCopy()
			o.Namespace = app.Namespace
			add(a.Meta, a.Spec, podrules.IngressErrors(o))
		}
	}
	return found
}

func notExposed(at spark.Field, port spark.ExposedPort) []*spark.ConfError {
	var found []*spark.ConfError
	if !slices.Contains(serviceTypes, port.ServiceType) {
		found = append(found, &spark.ConfError{Field: at + ".serviceType", Value: string(port.ServiceType), Problem: notAServiceType + unreachable})
	}
	if number := int(port.Port); number != 0 && len(utilvalidation.IsValidPortNum(number)) > 0 {
		found = append(found, &spark.ConfError{Field: at + ".servicePort", Value: strconv.Itoa(number),
			Problem: "not a port; write a number from 1 to 65535" + unreachable})
	}
	return found
}
