// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/firesteel-dev/firesteel/internal/exposure"
)

// UI configures how users reach drivers.
type UI struct {
	// Service creates a Service for each application that has a UI; default true.
	Service bool      `json:"service,omitempty"`
	Ingress UIIngress `json:"ingress,omitempty"`
	Route   UIRoute   `json:"route,omitempty"`
}

// UIIngress configures Ingresses.
type UIIngress struct {
	// Enabled lets the operator create Ingresses; default true, and implied by a urlFormat. Without a urlFormat, Ingresses are created only for
	// spec.driverIngressOptions, and for entries that spark.apache.org applications attach to the driver.
	Enabled bool `json:"enabled,omitempty"`
	// URLFormat is the URL of each UI, with {{$appName}}, {{$appNamespace}} and {{$appId}}. With "", the UI gets no Ingress.
	URLFormat string `json:"urlFormat,omitempty"`
	// ClassName is the ingressClassName of all Ingresses.
	ClassName string `json:"className,omitempty"`
	// TLS and Annotations are defaults for applications that set none.
	TLS         []networkingv1.IngressTLS `json:"tls,omitempty"`
	Annotations map[string]string         `json:"annotations,omitempty"`
}

// UIRoute configures HTTPRoutes of the Gateway API. Without a urlFormat, none are created.
type UIRoute struct {
	URLFormat   string            `json:"urlFormat,omitempty"`
	ParentRefs  []ParentRef       `json:"parentRefs,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// ParentRef names a Gateway.
type ParentRef struct {
	Name        string `json:"name"`
	Namespace   string `json:"namespace,omitempty"`
	SectionName string `json:"sectionName,omitempty"`
	Port        int32  `json:"port,omitempty"`
}

// DriverPodDisruptionBudget allows applications to set spec.driverPodDisruptionBudget.
type DriverPodDisruptionBudget struct {
	Enabled bool `json:"enabled,omitempty"`
}

// HistoryServer configures links to a Spark history server.
type HistoryServer struct {
	// URLFormat is the URL of an application in the history server, with {{$appName}}, {{$appNamespace}} and {{$appId}}.
	URLFormat string `json:"urlFormat,omitempty"`
}

// Exposure returns the configuration of drivers' auxiliary objects.
func (c OperatorConfiguration) Exposure() exposure.Config {
	i, r := c.UI.Ingress, c.UI.Route
	out := exposure.Config{
		Service: c.UI.Service,
		Ingress: exposure.Ingress{
			Enabled: i.Enabled || i.URLFormat != "", URLFormat: i.URLFormat, ClassName: i.ClassName, TLS: i.TLS, Annotations: i.Annotations,
		},
		Route:            exposure.Route{URLFormat: r.URLFormat, Annotations: r.Annotations},
		ServicesOnly:     !i.Enabled && i.URLFormat == "",
		DisruptionBudget: c.DriverPodDisruptionBudget.Enabled,
		NoWorkerBudget:   !c.Apache.WorkerPodDisruptionBudget.enabled(),
		HistoryURLFormat: c.HistoryServer.URLFormat,
	}
	for _, p := range r.ParentRefs {
		out.Route.ParentRefs = append(out.Route.ParentRefs, exposure.ParentRef(p))
	}
	return out
}

// validateExposure validates the sections that concern auxiliary objects.
func (c OperatorConfiguration) validateExposure() []error {
	var errs []error
	format := func(field, value string, check func(string) error) {
		if value == "" {
			return
		}
		if err := check(value); err != nil {
			errs = append(errs, fmt.Errorf("%s: %q: %w", field, value, err))
		}
	}
	format("ui.ingress.urlFormat", c.UI.Ingress.URLFormat, exposure.CheckRule)
	format("ui.route.urlFormat", c.UI.Route.URLFormat, exposure.CheckRule)
	format("historyServer.urlFormat", c.HistoryServer.URLFormat, exposure.CheckURL)
	ingress, route := c.UI.Ingress.URLFormat, c.UI.Route.URLFormat
	if (ingress != "" || route != "") && !c.UI.Service {
		errs = append(errs, errors.New("ui.service: false: Ingress and HTTPRoute need the Service; turn it on, or remove the urlFormats"))
	}
	if ingress != "" && route != "" && pathIn(ingress) != pathIn(route) {
		errs = append(errs, fmt.Errorf("ui.route.urlFormat: %q: its path must be that of ui.ingress.urlFormat, %q: Spark's UI knows one path", route, ingress))
	}
	if route != "" && len(c.UI.Route.ParentRefs) == 0 {
		errs = append(errs, errors.New("ui.route.parentRefs: required: the Gateway that HTTPRoutes attach to"))
	}
	for i, p := range c.UI.Route.ParentRefs {
		if p.Name == "" {
			errs = append(errs, fmt.Errorf("ui.route.parentRefs[%d].name: must not be empty", i))
		}
		if p.Port < 0 || p.Port > 65535 {
			errs = append(errs, fmt.Errorf("ui.route.parentRefs[%d].port: %d: must be a port, or 0 for all", i, p.Port))
		}
	}
	return errs
}

// pathIn returns the path of a URL format.
func pathIn(format string) string {
	if _, rest, ok := strings.Cut(format, "://"); ok {
		format = rest
	}
	_, p, _ := strings.Cut(format, "/")
	unescaped, err := url.PathUnescape(strings.TrimRight(p, "/"))
	if err != nil {
		return p
	}
	return unescaped
}
