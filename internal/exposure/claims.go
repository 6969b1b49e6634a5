// SPDX-License-Identifier: Apache-2.0

package exposure

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// Claim is what an application itself requests of one auxiliary object. What the operator's configuration requests is
// not a claim.
type Claim struct {
	Object Ref
	// Field has the options.
	Field spark.Field
	// ServiceType is that of a Service, in TypeField of the options; "" for the default.
	ServiceType corev1.ServiceType
	TypeField   spark.Field
	// ExternalIPs are addresses whose traffic a Service takes.
	ExternalIPs []string
	// Annotations are in AnnotationsField of the options.
	Annotations      map[string]string
	AnnotationsField spark.Field
	// Labels are in LabelsField of the options.
	Labels      map[string]string
	LabelsField spark.Field
	// MetaField has the metadata; "" if labels and annotations are among the options.
	MetaField spark.Field
	// TLSHosts are the hosts of an Ingress's certificates.
	TLSHosts []string
	// IPsField has the ExternalIPs, beside the options if it is empty.
	IPsField spark.Field
	// Classes are the classes of an Ingress, and Gateways those of a route, as NAMESPACE/NAME.
	Classes, Gateways []Choice
	// Own are the pods and the addresses that a Service chooses by itself, instead of those that it gets.
	Own []Choice
	// Reach are the hosts and paths of requests that an object takes, each under the name of its field.
	Reach []Reach
	// URLFormat is the URL of an Ingress, and Host and Path what becomes of it, or Err why it cannot be made; "" for none.
	URLFormat, Host, Path string
	Err                   error
}

// Reach is a part of the requests that an object takes.
type Reach struct {
	Field spark.Field
	// Host is "" for all hosts.
	Host string
	// Path is where the paths begin; nil if paths do not matter. Why says why it is more than what is written; "" if it is not.
	Path *string
	Why  string
	// Err is why no proxy may be given what is written.
	Err error
}

// Choice is a value that a user chose.
type Choice struct {
	Field spark.Field
	Value string
}

// Claims returns what an application requests, whether or not the operator creates it. The id of an attempt that is
// not known yet is "".
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

// Objection is why an object must not be created as the application requests it.
type Objection struct {
	Object Ref
	// Policy and Limit name the rule: a policy of the operator, and one of its limits.
	Policy, Limit string
	*spark.ConfError
}

// Without removes what is objected to: such an object is not created, updated or deleted, so that an existing one is
// kept. It also returns the objections that matter: to what would be made or means nothing, and not to what the
// operator's configuration turns off.
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

// notMade says what happens to an object because of its problem.
const notMade = " is not created or updated: "

func (w Wanted) wants(r Ref) bool {
	return slices.ContainsFunc(w.Objects, func(o Object) bool { return o.Ref == r })
}

// keeps reports whether an object stays as it is, if it is there, because something is wrong with what is asked for now.
func (w Wanted) keeps(r Ref) bool {
	return slices.ContainsFunc(w.Problems, func(p Problem) bool { return p.Object == r })
}
