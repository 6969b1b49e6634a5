// SPDX-License-Identifier: Apache-2.0

package exposure

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// Claim is an application's own request for one auxiliary object, without the operator's configuration.
type Claim struct {
	Object Ref
	// Field is the field with the options.
	Field spark.Field
	// ServiceType is the type of a Service; the options have it in TypeField. "" for the default.
	ServiceType corev1.ServiceType
	TypeField   spark.Field
	// ExternalIPs are addresses whose traffic a Service receives.
	ExternalIPs []string
	// Annotations are those of the object; the options have them in AnnotationsField.
	Annotations      map[string]string
	AnnotationsField spark.Field
	// Labels are those of the object; the options have them in LabelsField.
	Labels      map[string]string
	LabelsField spark.Field
	// MetaField is the field with the metadata; "" if labels and annotations are options.
	MetaField spark.Field
	// TLSHosts are the hosts of an Ingress's certificates.
	TLSHosts []string
	// IPsField is the field with the ExternalIPs; "" for a field beside the options.
	IPsField spark.Field
	// Classes are the classes of an Ingress, and Gateways those of a route, as NAMESPACE/NAME.
	Classes, Gateways []Choice
	// Own are pods and addresses that a Service chooses itself, instead of the operator's.
	Own []Choice
	// Reach has the hosts and paths of requests that an object serves, each with the name of its field.
	Reach []Reach
	// URLFormat is the URL of an Ingress; "" for none. Host and Path result from it; Err explains an invalid one.
	URLFormat, Host, Path string
	Err                   error
}

// Reach is a part of the requests that an object serves.
type Reach struct {
	Field spark.Field
	// Host is "" for all hosts.
	Host string
	// Path is the prefix of paths; nil if paths do not matter. Why explains why it covers more than is written; "" if it does
	// not.
	Path *string
	Why  string
	// Err explains why no proxy may get the written path.
	Err error
}

// Choice is a value that a user chose.
type Choice struct {
	Field spark.Field
	Value string
}

// Claims returns the application's requests, whether or not the operator creates the objects. An unknown attempt has the id "".
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

// Objection is the reason why an object must not be created as requested.
type Objection struct {
	Object Ref
	// Policy and Limit identify the rule: an operator policy and one of its limits.
	Policy, Limit string
	*spark.ConfError
}

// Without removes objects with objections: they are not created, updated or deleted, so an existing one is kept. It also
// returns the relevant objections: not those about objects that the operator's configuration turns off.
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
	others := slices.DeleteFunc(slices.Clone(w.Problems), func(p Problem) bool { return rest.keeps(p.Object) }) // an objection reports them, too
	rest.Problems = append(rest.Problems, others...)
	return rest, objections
}

// notMade states the effect of a problem on its object.
const notMade = " is not created or updated: "

func (w Wanted) wants(r Ref) bool {
	return slices.ContainsFunc(w.Objects, func(o Object) bool { return o.Ref == r })
}

// keeps reports whether an existing object stays unchanged because the present request has an error.
func (w Wanted) keeps(r Ref) bool {
	return slices.ContainsFunc(w.Problems, func(p Problem) bool { return p.Object == r })
}
