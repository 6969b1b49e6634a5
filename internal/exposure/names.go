// SPDX-License-Identifier: Apache-2.0

package exposure

import (
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// maxName is the maximum length of a Service's name (RFC 1123).
const maxName = 63

// nameOf joins an application's name and a suffix. If the result is too long, the name is truncated and gets a hash, as in the Kubeflow operator, whose objects
// must be found.
func nameOf(app, suffix string) string {
	name := app + "-" + suffix
	if len(name) <= maxName {
		return name
	}
	sum := md5.Sum([]byte(name))
	const hash = 8
	room := maxName - len(suffix) - hash - 2
	return app[:min(len(app), max(room, 0))] + "-" + hex.EncodeToString(sum[:])[:hash] + "-" + suffix
}

// ServiceName returns the name of the UI's Service.
func ServiceName(app string) string { return nameOf(app, "ui-svc") }

func ingressName(app string) string { return nameOf(app, "ui-ingress") }

func routeName(app string) string { return nameOf(app, "ui-route") }

func portServiceName(app string, port int32) string {
	return nameOf(app, "driver-"+strconv.Itoa(int(port)))
}

func portIngressName(app string, port int32) string {
	return nameOf(app, "ing-"+strconv.Itoa(int(port)))
}

// Kinds of auxiliary objects.
var (
	Service          = corev1.SchemeGroupVersion.WithKind("Service")
	IngressKind      = networkingv1.SchemeGroupVersion.WithKind("Ingress")
	HTTPRoute        = schema.GroupVersionKind{Group: "gateway.networking.k8s.io", Version: "v1", Kind: "HTTPRoute"}
	DisruptionBudget = policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget")
)

// Kinds returns the kinds of objects that an operator with this configuration creates.
func Kinds(c Config) []schema.GroupVersionKind {
	kinds := []schema.GroupVersionKind{Service}
	if c.Ingress.Enabled {
		kinds = append(kinds, IngressKind)
	}
	if c.Route.URLFormat != "" {
		kinds = append(kinds, HTTPRoute)
	}
	if c.DisruptionBudget {
		kinds = append(kinds, DisruptionBudget)
	}
	return kinds
}

// Ref identifies an auxiliary object of a driver, in the application's namespace.
type Ref struct {
	Kind schema.GroupVersionKind
	Name string
}

// String returns the reference in a status: the kind in lower case, a slash, and the name.
func (r Ref) String() string { return strings.ToLower(r.Kind.Kind) + "/" + r.Name }

// ParseRef parses the result of String.
func ParseRef(text string) (Ref, error) {
	kind, name, _ := strings.Cut(text, "/")
	for _, known := range []schema.GroupVersionKind{Service, IngressKind, HTTPRoute, DisruptionBudget} {
		if strings.EqualFold(known.Kind, kind) && name != "" {
			return Ref{known, name}, nil
		}
	}
	return Ref{}, fmt.Errorf("%q is not an auxiliary object of a driver", text)
}
