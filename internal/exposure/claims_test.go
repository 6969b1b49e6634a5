// SPDX-License-Identifier: Apache-2.0

package exposure

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// asking asks for everything that can be asked for.
func asking() Attempt {
	everything := func(port int32, url string) spark.ExposedPort {
		return spark.ExposedPort{
			Port: port, ServiceType: corev1.ServiceTypeNodePort, URLFormat: url,
			Annotations: map[string]string{"service": "x"}, IngressAnnotations: map[string]string{"ingress": "x"},
			TLS: []networkingv1.IngressTLS{{Hosts: []string{"a.example.org", "b.example.org"}}, {Hosts: []string{"c.example.org"}}},
		}
	}
	return attempt(options(spark.Exposure{
		UI: everything(80, ""), Ports: []spark.ExposedPort{everything(8000, "rest.example.org/{{$appNamespace}}/v1.0/{{$appId}}"), everything(8001, "{{$appName}}.example.org")},
		DisruptionBudget: true,
	}))
}

var all = Config{Service: true, Ingress: Ingress{Enabled: true, URLFormat: "ui.example.org/{{$appName}}"}, DisruptionBudget: true}

// What is judged is what is built.
func TestClaimsAreWhatIsBuilt(t *testing.T) {
	claims := map[Ref]Claim{}
	for _, c := range Claims(asking().App, "spark-1") {
		claims[c.Object] = c
	}
	w := Of(asking(), all)
	if len(claims) != 6 || len(w.Objects) != 7 || len(w.Problems) > 0 {
		t.Fatalf("%d claims, %d objects, %v", len(claims), len(w.Objects), w.Problems)
	}
	for _, o := range w.Objects {
		claim, claimed := claims[o.Ref]
		if !claimed {
			if o.Kind != DisruptionBudget {
				t.Errorf("nobody judges %s", o.Ref)
			}
			continue
		}
		annotations := maps.Clone(o.GetAnnotations())
		delete(annotations, v1beta2.AnnotationApplied)
		delete(annotations, rewriteTarget)
		if diff := cmp.Diff(annotations, claim.Annotations); diff != "" {
			t.Errorf("annotations of %s (-built +judged):\n%s", o.Ref, diff)
		}
		if o.Kind == Service {
			var s corev1.Service
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &s); err != nil || s.Spec.Type != claim.ServiceType {
				t.Errorf("%s has the type %s, judged is %s: %v", o.Ref, s.Spec.Type, claim.ServiceType, err)
			}
			continue
		}
		var i networkingv1.Ingress
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &i); err != nil {
			t.Fatal(err)
		}
		var hosts []string
		for _, tls := range i.Spec.TLS {
			hosts = append(hosts, tls.Hosts...)
		}
		if diff := cmp.Diff(hosts, claim.TLSHosts); diff != "" {
			t.Errorf("certificates of %s (-built +judged):\n%s", o.Ref, diff)
		}
		if claim.URLFormat == "" {
			continue // the administrator's
		}
		path := strings.TrimSuffix(strings.ReplaceAll(i.Spec.Rules[0].HTTP.Paths[0].Path, `\.`, "."), "(/|$)(.*)")
		if host := i.Spec.Rules[0].Host; host != claim.Host || strings.TrimSuffix(path, "/") != claim.Path {
			t.Errorf("%s is at %s%s, judged is %s%s", o.Ref, host, path, claim.Host, claim.Path)
		}
	}
}

// What has an objection is neither written nor deleted, and nothing else is touched by it.
func TestWithout(t *testing.T) {
	objection := func(kind, name string) Objection {
		ref, err := ParseRef(kind + "/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return Objection{Object: ref, Policy: "p", Limit: "l", ConfError: &spark.ConfError{Field: "f", Value: "v", Problem: "too much"}}
	}
	w := Of(asking(), all)
	before := len(w.Objects)
	heeded, matter := w.Without(asking().App, []Objection{objection("service", "pi-ui-svc"), objection("ingress", "pi-ing-8000"), objection("ingress", "unmade")})
	if len(w.Objects) != before || len(w.Problems) > 0 || len(matter) != 2 {
		t.Errorf("%d objects, %v, %d objections matter", len(w.Objects), w.Problems, len(matter))
	}
	first := heeded.Problems[0]
	if first.Reason != lifecycle.ReasonExposureForbidden || first.Message != `service/pi-ui-svc is not created or updated: spec.f: "v": too much` {
		t.Errorf("told %+v", first)
	}
	old := &metav1.PartialObjectMetadata{}
	seen := Seen{}
	for _, r := range About(heeded, lifecycle.Exposure{}) {
		seen[r] = old
	}
	if len(seen) != before {
		t.Errorf("looked at %d objects, want all of them", len(seen))
	}
	write, remove := diff(heeded, seen)
	if len(write) != before-2 || len(remove) > 0 {
		t.Errorf("%d are written, %v deleted", len(write), remove)
	}
	if write, _ := diff(heeded, Seen{}); len(write) != before-2 {
		t.Errorf("%d are made", len(write))
	}
	if _, remove := diff(Wanted{}, seen); len(remove) != before {
		t.Errorf("at the end %v are deleted", remove)
	}
}

// What is both invalid and objected to is reported once.
func TestWithoutInvalid(t *testing.T) {
	a := attempt(options(spark.Exposure{Ports: []spark.ExposedPort{{Port: 8000, URLFormat: "x.example.org/.*"}}}))
	o := Objection{Object: Ref{IngressKind, "pi-ing-8000"}, ConfError: &spark.ConfError{Field: "f", Problem: "too much"}}
	got, matter := Of(a, Config{Ingress: Ingress{Enabled: true}}).Without(a.App, []Objection{o})
	if len(got.Problems) != 1 || got.Problems[0].Reason != lifecycle.ReasonExposureForbidden || len(matter) != 1 || len(got.Objects) != 1 {
		t.Errorf("told %v, %d objections matter, %d objects", got.Problems, len(matter), len(got.Objects))
	}
	got, matter = Of(a, Config{}).Without(a.App, []Objection{o})
	if len(got.Problems) != 1 || got.Problems[0].Reason != lifecycle.ReasonExposureInvalid || len(matter) != 0 {
		t.Errorf("Ingresses are turned off: told %v, %d objections matter", got.Problems, len(matter))
	}
}

// An edit that means nothing leaves what is there as well, and an object that is asked for twice is not written in turns.
func TestProblemsKeep(t *testing.T) {
	a := attempt(options(spark.Exposure{Ports: []spark.ExposedPort{{Port: 8000, URLFormat: "x.example.org/.*"}, {Port: 8000, ServiceType: corev1.ServiceTypeNodePort}}}))
	w := Of(a, Config{Ingress: Ingress{Enabled: true}})
	ingress, service := Ref{IngressKind, "pi-ing-8000"}, Ref{Service, "pi-driver-8000"}
	write, remove := diff(w, Seen{ingress: &metav1.PartialObjectMetadata{}, service: &metav1.PartialObjectMetadata{}})
	if len(write) != 1 || len(remove) > 0 || len(w.Problems) != 2 || !strings.Contains(w.Problems[1].Message, "is created once") {
		t.Errorf("written %d, deleted %v, told %v", len(write), remove, w.Problems)
	}
}
