// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"

	"github.com/firesteel-dev/firesteel/internal/spark"
)

var serviceTypes = []corev1.ServiceType{"", corev1.ServiceTypeClusterIP, corev1.ServiceTypeNodePort,
	corev1.ServiceTypeLoadBalancer, corev1.ServiceTypeExternalName}

const notAServiceType = `not a type of Services; write "ClusterIP", "NodePort" or "LoadBalancer"`

// checkServices refuses Services that are requested whole and that no API server takes: the server would not be reachable.
func checkServices(app spark.Application) []*spark.ConfError {
	var found []*spark.ConfError
	for i := range app.Exposure.Services {
		if t := app.Exposure.Services[i].Spec.Type; !slices.Contains(serviceTypes, t) {
			found = append(found, &spark.ConfError{Field: "services.spec.type", Value: string(t), Problem: notAServiceType})
		}
	}
	return found
}

// warnExposed warns of ports that will not be exposed as they are written; the driver runs without.
func warnExposed(app spark.Application) []*spark.ConfError {
	found := notExposed("ui", app.Exposure.UI)
	for i := range app.Exposure.Ports {
		found = append(found, notExposed(spark.Field("ports").Index(i), app.Exposure.Ports[i])...)
	}
	return found
}

func notExposed(at spark.Field, port spark.ExposedPort) []*spark.ConfError {
	const without = "; nothing leads to the driver's port as it is"
	var found []*spark.ConfError
	if !slices.Contains(serviceTypes, port.ServiceType) {
		found = append(found, &spark.ConfError{Field: at + ".serviceType", Value: string(port.ServiceType), Problem: notAServiceType + without})
	}
	if number := int(port.Port); number != 0 && len(utilvalidation.IsValidPortNum(number)) > 0 {
		found = append(found, &spark.ConfError{Field: at + ".servicePort", Value: strconv.Itoa(number),
			Problem: "not a port; write a number from 1 to 65535" + without})
	}
	return found
}
