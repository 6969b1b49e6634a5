// SPDX-License-Identifier: Apache-2.0

package exposure

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// Claim is an application's request for one auxiliary object, without the operator's configuration.
type Claim struct {
	Object Ref
	// Field is the field with the options.
	Field spark.Field
	// ServiceType is the type of a Service, in the option TypeField; "" for the default.
	ServiceType corev1.ServiceType
	TypeField   spark.Field
	// ExternalIPs are the external IPs of a Service, which receives their traffic.
	ExternalIPs []string
	// Annotations are the object's annotations, in the option AnnotationsField.
	Annotations      map[string]string
	AnnotationsField spark.Field
	// Labels are the object's labels, in the option LabelsField.
	Labels      map[string]string
	LabelsField spark.Field
	// MetaField is the field with the metadata; "" if labels and annotations are options.
	MetaField spark.Field
	// TLSHosts are the hosts of an Ingress's certificates.
	TLSHosts []string
	// IPsField is the field with the ExternalIPs; "" for a sibling of the options.
	IPsField spark.Field
	// Classes are the classes of an Ingress. Gateways are the gateways of a route, as NAMESPACE/NAME.
	Classes, Gateways []Choice
	// Own are pods and addresses that the application chooses for a Service, instead of the operator's.
	Own []Choice
	// Reach has the hosts and paths that an object serves, with the names of their fields.
	Reach []Reach
	// URLFormat is the format of an Ingress's URL; "" for none. Host and Path come from the URL. Err explains an invalid URL.
	URLFormat, Host, Path string
	Err                   error
}

// Reach is a host and path that an object serves.
type Reach struct {
	Field spark.Field
	// Host is "" for all hosts.
	Host string
	// Path is a prefix; nil if paths do not matter. Why explains why it covers more than the written path; "" if it does not.
	Path *string
	Why  string
	// Err explains why the written path is unsafe for proxies.
	Err error
}

// Choice is a value that a user chose.
type Choice struct {
	Field spark.Field
	Value string
}

// Claims returns the application's requests, even for objects that the operator does not create. sparkAppID is "" for an unknown attempt.
func Claims(app spark.Application, sparkAppID string) []Claim {
	if sparkAppID == "" {
		sparkAppID = exampleID
	}
	const ui spark.Field = "ui"
	options := app.Exposure.UI
	claims := []Claim{serviceClaim(ui, ServiceName(app.Name), options), ingressClaim(ui, ingressName(app.Name), options)}
	for i, p := range app.Exposure.Ports {
		field := spark.Field("ports").Index(i)
		ingress := ingressClaim(field, portIngressName(app.Name, p.Port), p)
		if ingress.URLFormat = p.URLFormat; p.URLFormat != "" {
			u, err := rule(p.URLFormat, namesOf(app, sparkAppID))
			if ingress.Err = err; err == nil {
				ingress.Host, ingress.Path = u.Hostname(), pathOf(u)
			}
		}
		claims = append(claims, serviceClaim(field, portServiceName(app.Name, p.Port), p), ingress)
	}
	for i := range app.Exposure.Services {
		s := &app.Exposure.Services[i]
		claims = append(claims, Claim{
			Object: Ref{Service, s.Name}, Field: "services", ServiceType: s.Spec.Type, TypeField: "spec.type",
			ExternalIPs: s.Spec.ExternalIPs, Annotations: s.Annotations, AnnotationsField: "metadata.annotations",
			Labels: s.Labels, LabelsField: "metadata.labels", Own: Addresses("services.spec", &s.Spec),
		})
	}
	for _, attached := range app.Attached {
		claims = append(claims, attachedClaim(attached, app.Namespace))
	}
	return claims
}

func serviceClaim(field spark.Field, name string, p spark.ExposedPort) Claim {
	return Claim{
		Object: Ref{Service, name}, Field: field, ServiceType: p.ServiceType, TypeField: "serviceType",
		Annotations: p.Annotations, AnnotationsField: "serviceAnnotations", Labels: p.Labels, LabelsField: "serviceLabels",
	}
}

func ingressClaim(field spark.Field, name string, p spark.ExposedPort) Claim {
	c := Claim{Object: Ref{IngressKind, name}, Field: field, Annotations: p.IngressAnnotations, AnnotationsField: "ingressAnnotations"}
	c.Classes = classOf(field+".ingressAnnotations", p.IngressAnnotations)
	for _, tls := range p.TLS {
		c.TLSHosts = append(c.TLSHosts, tls.Hosts...)
	}
	return c
}

// Objection is the reason why a requested object must not be created.
type Objection struct {
	Object Ref
	// Policy and Limit name the operator policy and its limit.
	Policy, Limit string
	*spark.ConfError
}

// Without removes objects with objections. They are not created, updated or deleted, so an existing object stays. It also returns the relevant objections,
// without those about objects that the operator's configuration turns off.
func (w Wanted) Without(app spark.Application, objections []Objection) (Wanted, []Objection) {
	objections = slices.DeleteFunc(slices.Clone(objections), func(o Objection) bool { return !w.wants(o.Object) && !w.keeps(o.Object) })
	rest := w
	rest.Problems = nil
	for _, o := range objections {
		rest.Problems = append(rest.Problems, Problem{o.Object, lifecycle.Cause{
			Reason: lifecycle.ReasonExposureForbidden, Message: o.Object.String() + notMade + o.About(app.PathOf(o.ConfError)),
		}})
	}
	rest.Objects = slices.DeleteFunc(slices.Clone(w.Objects), func(o Object) bool { return rest.keeps(o.Ref) })
	others := slices.DeleteFunc(slices.Clone(w.Problems), func(p Problem) bool { return rest.keeps(p.Object) }) // the objections cover these problems
	rest.Problems = append(rest.Problems, others...)
	return rest, objections
}

// notMade is the effect of a problem on its object, as part of a message.
const notMade = " is not created or updated: "

func (w Wanted) wants(r Ref) bool {
	return slices.ContainsFunc(w.Objects, func(o Object) bool { return o.Ref == r })
}

// keeps reports whether an existing object stays unchanged, because the present request for it has an error.
func (w Wanted) keeps(r Ref) bool {
	return slices.ContainsFunc(w.Problems, func(p Problem) bool { return p.Object == r })
}
