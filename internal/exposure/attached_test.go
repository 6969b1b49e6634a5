// SPDX-License-Identifier: Apache-2.0

package exposure

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/firesteel-dev/firesteel/internal/spark"
)

// Where nobody may publish a driver, its Services stay, and it is said what is not made.
func TestServicesOnly(t *testing.T) {
	service := &corev1.Service{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"}, ObjectMeta: metav1.ObjectMeta{Name: "ui"}}
	ingress := &networkingv1.Ingress{TypeMeta: metav1.TypeMeta{APIVersion: "networking.k8s.io/v1", Kind: "Ingress"}, ObjectMeta: metav1.ObjectMeta{Name: "out"}}
	route := &unstructured.Unstructured{}
	route.SetGroupVersionKind(GRPCRoute)
	route.SetName("grpc")
	app := spark.Application{Exposure: spark.Exposure{NoUI: true}, Attached: []spark.Attached{{Object: service, Meta: "a"}, {Object: ingress, Meta: "b"}, {Object: route, Meta: "c"}}}

	if got := Configure(app, "", Config{}); len(got.Attached) != 3 || len(got.Warnings) > 0 {
		t.Errorf("by default %d are attached, with the warnings %v", len(got.Attached), got.Warnings)
	}
	got := Configure(app, "", Config{ServicesOnly: true})
	if len(got.Attached) != 1 || got.Attached[0].Object != spark.Object(service) {
		t.Errorf("attached are %v", got.Attached)
	}
	want := []*spark.ConfError{
		{Field: "b", Value: "out", Problem: "this operator makes no Ingress: its configuration has ui.ingress.enabled: false"},
		{Field: "c", Value: "grpc", Problem: "this operator makes no GRPCRoute: its configuration has ui.ingress.enabled: false"},
	}
	if diff := cmp.Diff(want, got.Warnings); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
