// SPDX-License-Identifier: Apache-2.0

package exposure

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/spark"
)

// server is an attempt of a Spark Connect server with a Service for its clients.
func server(change ...func(*corev1.Service)) Attempt {
	s := corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "pi-server"},
		Spec: corev1.ServiceSpec{
			Selector: map[string]string{"spark-role": "connect-server"},
			Ports:    []corev1.ServicePort{{Name: "spark-connect-server", Port: 15002, AppProtocol: new("grpc")}},
		},
	}
	for _, c := range change {
		c(&s)
	}
	a := attempt(options(spark.Exposure{Services: []corev1.Service{s}}), func(a *spark.Application) { a.Server = &spark.Server{} })
	a.Owner.SubmissionID = "" // as the engine calls it for what outlives attempts
	return a
}

func serviceNamed(t *testing.T, w Wanted, name string) (*corev1.Service, Object) {
	t.Helper()
	for _, o := range w.Objects {
		if o.Ref == (Ref{Service, name}) {
			var s corev1.Service
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &s); err != nil {
				t.Fatal(err)
			}
			return &s, o
		}
	}
	t.Fatalf("there is no Service %s: %v", name, w.Problems)
	return nil, Object{}
}

// A Service that is requested whole gets the operator's marks, and nothing of an attempt: it outlives all of them.
func TestRequestedService(t *testing.T) {
	user := func(s *corev1.Service) {
		s.Labels = map[string]string{"team": "a", v1beta2.LabelAppName: "another", v1beta2.LabelSubmissionID: "s-9", v1beta2.LabelExposes: "nothing"}
		s.Annotations = map[string]string{"note": "x", v1beta2.AnnotationApplied: "0"}
		s.Namespace, s.UID, s.ResourceVersion, s.GenerateName = "elsewhere", types.UID("u"), "7", "g-"
		s.Finalizers, s.OwnerReferences = []string{"example.org/x"}, []metav1.OwnerReference{{Name: "another"}}
		s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "192.0.2.1"}}
		s.Spec.Type, s.Spec.SessionAffinity = corev1.ServiceTypeLoadBalancer, corev1.ServiceAffinityClientIP
	}
	got, o := serviceNamed(t, Of(server(user), Config{}), "pi-server")
	want := corev1.Service{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: metav1.ObjectMeta{
			Name: "pi-server", Namespace: "jobs",
			Labels:      map[string]string{"team": "a", v1beta2.LabelAppName: "pi", v1beta2.LabelCreatedBy: "true", v1beta2.LabelExposes: "connect"},
			Annotations: map[string]string{"note": "x", v1beta2.AnnotationApplied: got.Annotations[v1beta2.AnnotationApplied]},
		},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeLoadBalancer, SessionAffinity: corev1.ServiceAffinityClientIP,
			Selector: map[string]string{"spark-role": "connect-server"},
			Ports:    []corev1.ServicePort{{Name: "spark-connect-server", Port: 15002, AppProtocol: new("grpc")}},
		},
	}
	if diff := cmp.Diff(want, *got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if hash := got.Annotations[v1beta2.AnnotationApplied]; len(hash) != 16 {
		t.Errorf("what was applied is recorded as %q", hash)
	}
	next := server(user)
	next.SparkAppID, next.DriverName = "spark-2", "renamed"
	w := Of(next, Config{})
	if write, remove := diff(w, Seen{o.Ref: o}); len(write)+len(remove) > 0 {
		t.Errorf("another attempt writes %v and deletes %v", write, remove)
	}
	if diff := cmp.Diff([]string{"service/pi-server"}, w.Status.Objects); diff != "" || w.Status.Service != "" {
		t.Errorf("it is recorded, and is not the UI's: %+v\n%s", w.Status, diff)
	}
}

// Everything that selects the driver selects a server by its own role.
func TestServerIsSelectedByItsRole(t *testing.T) {
	a := server()
	a.App.Exposure.DisruptionBudget = true
	w := Of(a, Config{Service: true, DisruptionBudget: true})
	ui, _ := serviceNamed(t, w, "pi-ui-svc")
	want := map[string]string{v1beta2.LabelAppName: "pi", "spark-role": "connect-server"}
	if diff := cmp.Diff(want, ui.Spec.Selector); diff != "" {
		t.Errorf("UI (-want +got):\n%s", diff)
	}
	budget := w.Objects[len(w.Objects)-1]
	if got := budget.Object["spec"].(map[string]any)["selector"].(map[string]any)["matchLabels"].(map[string]any)["spark-role"]; budget.Kind != DisruptionBudget || got != "connect-server" {
		t.Errorf("the last object is %s and selects the role %v", budget.Ref, got)
	}
	for _, o := range w.Objects {
		if id, marked := o.GetLabels()[v1beta2.LabelSubmissionID]; marked {
			t.Errorf("%s belongs to attempt %q and is deleted with it", o.Ref, id)
		}
	}
}

// The Service of the UI has its name already.
func TestRequestedServiceUnderATakenName(t *testing.T) {
	w := Of(server(func(s *corev1.Service) { s.Name = "pi-ui-svc" }), Config{Service: true})
	if len(w.Objects) != 1 || len(w.Problems) != 1 || w.Problems[0].Message != "service/pi-ui-svc is created once: spec.services needs another name" {
		t.Errorf("%d objects, problems %v", len(w.Objects), w.Problems)
	}
}

func TestClaimsOfARequestedService(t *testing.T) {
	a := server(func(s *corev1.Service) {
		s.Spec.Type, s.Spec.ExternalIPs, s.Annotations = corev1.ServiceTypeNodePort, []string{"192.0.2.1"}, map[string]string{"a": "b"}
	})
	claims := Claims(a.App, "")
	want := Claim{
		Object: Ref{Service, "pi-server"}, Field: "services", ServiceType: corev1.ServiceTypeNodePort, TypeField: "spec.type",
		ExternalIPs: []string{"192.0.2.1"}, Annotations: map[string]string{"a": "b"}, AnnotationsField: "metadata.annotations", LabelsField: "metadata.labels",
	}
	if diff := cmp.Diff(want, claims[len(claims)-1]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
