// SPDX-License-Identifier: Apache-2.0

package application

import (
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/exposure"
	"github.com/firesteel-dev/firesteel/internal/policy"
)

// bounded are limits that the application of exposed keeps to.
var bounded = policy.Limits{
	ServiceTypes: []string{"ClusterIP"}, Hosts: []string{"*.example.org"}, Paths: []string{"/{{$appNamespace}}"}, ForbiddenAnnotations: []string{"*-snippet"},
}

// within is a harness under these limits, with an application that keeps to them and wants everything.
func within(t *testing.T) *harness {
	t.Helper()
	w := exposed(t)
	w.govern(forJobs(bounded, policy.Defaults{}))
	w.edit(port(func(o *v1beta2.DriverIngressConfiguration) {
		o.IngressURLFormat = "rest.example.org/{{$appNamespace}}/rest"
	}))
	return w
}

// confined is a harness in which everything was made before anyone asked for too much, with the log of its operator.
func confined(t *testing.T) (w *harness, audit func() []string) {
	t.Helper()
	w = within(t)
	w.settle()
	w.kubelet(corev1.PodRunning, running())
	w.settle()
	if diff := cmp.Diff(allAuxiliary, w.auxiliary()); diff != "" {
		t.Fatalf("before the edit (-want +got):\n%s", diff)
	}
	w.events()
	return w, w.logged()
}

// logged makes the operator's log be kept, and returns the lines of the audit since it was called last.
func (w *harness) logged() func() []string {
	var lines []string
	w.log = funcr.New(func(_, args string) {
		if strings.Contains(args, "a policy forbids") {
			lines = append(lines, args)
		}
	}, funcr.Options{})
	return func() []string {
		all := lines
		lines = nil
		return all
	}
}

// objects are all that there is for the driver, by kind and name.
func (w *harness) objects() map[string]client.Object {
	w.t.Helper()
	all := map[string]client.Object{}
	for _, ref := range w.auxiliary() {
		kind, name, _ := strings.Cut(ref, "/")
		switch kind {
		case "service":
			all[ref] = w.object(&corev1.Service{}, name)
		case "ingress":
			all[ref] = w.object(&networkingv1.Ingress{}, name)
		}
	}
	return all
}

func ui(change func(*v1beta2.SparkUIConfiguration)) func(*v1beta2.SparkApplication) {
	return func(o *v1beta2.SparkApplication) {
		o.Spec.SparkUIOptions = &v1beta2.SparkUIConfiguration{}
		change(o.Spec.SparkUIOptions)
	}
}

func port(change func(*v1beta2.DriverIngressConfiguration)) func(*v1beta2.SparkApplication) {
	return func(o *v1beta2.SparkApplication) { change(&o.Spec.DriverIngressOptions[0]) }
}

// edits ask for too much.
var edits = map[string]struct {
	reason string
	edit   func(*v1beta2.SparkApplication)
	object string
	limit  string
	says   string
}{
	"type of the UI": {
		reason: "the cluster's edge", edit: ui(func(o *v1beta2.SparkUIConfiguration) { o.ServiceType = new(corev1.ServiceTypeLoadBalancer) }),
		object: "service/pi-ui-svc", limit: "serviceTypes",
		says: `spec.sparkUIOptions.serviceType: "LoadBalancer": namespace jobs allows Services of type ClusterIP (operator policy "jobs")`,
	},
	"annotation of the UI's Ingress": {
		reason: "configuration of the ingress controller", edit: ui(func(o *v1beta2.SparkUIConfiguration) {
			o.IngressAnnotations = map[string]string{"nginx.ingress.kubernetes.io/server-snippet": "return 200;"}
		}),
		object: "ingress/pi-ui-ingress", limit: "forbiddenAnnotations",
		says: `spec.sparkUIOptions.ingressAnnotations["nginx.ingress.kubernetes.io/server-snippet"]: namespace jobs allows no such annotation (operator policy "jobs")`,
	},
	"certificate of the UI's Ingress": {
		reason: "another's name", edit: ui(func(o *v1beta2.SparkUIConfiguration) {
			o.IngressTLS = []networkingv1.IngressTLS{{Hosts: []string{"login.example.com"}, SecretName: "x"}}
		}),
		object: "ingress/pi-ui-ingress", limit: "hosts",
		says: `spec.sparkUIOptions.ingressTLS: "login.example.com": namespace jobs allows the hosts *.example.org (operator policy "jobs")`,
	},
	"type of a port": {
		reason: "each node's edge", edit: port(func(o *v1beta2.DriverIngressConfiguration) { o.ServiceType = new(corev1.ServiceTypeNodePort) }),
		object: "service/pi-driver-9000", limit: "serviceTypes",
		says: `spec.driverIngressOptions[0].serviceType: "NodePort": namespace jobs allows Services of type ClusterIP (operator policy "jobs")`,
	},
	"annotation of a port": {
		reason: "configuration of a cloud's load balancer", edit: port(func(o *v1beta2.DriverIngressConfiguration) {
			o.ServiceAnnotations = map[string]string{"example.org/lb-snippet": "x"}
		}),
		object: "service/pi-driver-9000", limit: "forbiddenAnnotations",
		says: `spec.driverIngressOptions[0].serviceAnnotations["example.org/lb-snippet"]: namespace jobs allows no such annotation (operator policy "jobs")`,
	},
	"host of a port": {
		reason: "another's users", edit: port(func(o *v1beta2.DriverIngressConfiguration) { o.IngressURLFormat = "login.example.com" }),
		object: "ingress/pi-ing-9000", limit: "hosts",
		says: `spec.driverIngressOptions[0].ingressURLFormat: "login.example.com": namespace jobs allows the hosts *.example.org (operator policy "jobs")`,
	},
	"path of a port": {
		reason: "another's path on a shared host", edit: port(func(o *v1beta2.DriverIngressConfiguration) { o.IngressURLFormat = "ui.example.org/jobs-b/app" }),
		object: "ingress/pi-ing-9000", limit: "paths",
		says: `spec.driverIngressOptions[0].ingressURLFormat: "ui.example.org/jobs-b/app": namespace jobs allows the paths /jobs (operator policy "jobs")`,
	},
}

// What a running application asks for beyond its limits is not made: what is there stays as it is, an operator that
// restarts keeps it, too, and it is reported and logged once.
func TestLimitsHoldWhileItRuns(t *testing.T) {
	for name, tc := range edits {
		t.Run(name, func(t *testing.T) {
			w, audit := confined(t)
			before, driver := w.objects(), w.drivers()[0].UID
			w.edit(tc.edit)
			w.settle()
			kept := func(when string) {
				t.Helper()
				if diff := cmp.Diff(before[tc.object], w.objects()[tc.object]); diff != "" {
					t.Errorf("%s: %s, %s has changed (-want +got):\n%s", tc.reason, when, tc.object, diff)
				}
				if diff := cmp.Diff(allAuxiliary, w.app().Status.DriverInfo.ExposedBy); diff != "" {
					t.Errorf("%s: %s, recorded (-want +got):\n%s", tc.reason, when, diff)
				}
				want := tc.object + " is not created or updated: " + tc.says
				if c := conditionOf(w, "Exposed"); c.Status != metav1.ConditionFalse || c.Reason != "ExposureForbidden" || c.Message != want {
					t.Errorf("%s: %s, the condition is %+v, want %s", tc.reason, when, c, want)
				}
			}
			kept("after the edit")
			want := "Warning SparkApplicationExposureForbidden SparkApplication pi violates a policy: " + tc.object + " is not created or updated: " + tc.says
			if events := w.events(); len(events) != 1 || events[0] != want {
				t.Errorf("%s: events %q, want %q", tc.reason, events, want)
			}
			lines := audit()
			if len(lines) != 1 {
				t.Fatalf("%s: logged %q, want one line", tc.reason, lines)
			}
			for _, part := range []string{`"application"="jobs/pi"`, `"generation"=3`, `"object"="` + tc.object + `"`, `"policy"="jobs"`, `"limit"="` + tc.limit + `"`, `"field"="spec.`, `"value"=`} {
				if !strings.Contains(lines[0], part) {
					t.Errorf("%s: logged %s, want %s in it", tc.reason, lines[0], part)
				}
			}
			rules, log := w.engine.Policies, w.log
			w.restart()
			w.engine.Policies, w.engine.Exposure, w.log = rules, everything, log
			w.reconcile()
			w.settle()
			kept("after a restart")
			if events, lines := w.events(), audit(); len(events) > 0 || len(lines) > 0 || w.drivers()[0].UID != driver || w.state() != "RUNNING" {
				t.Errorf("%s: events %q again, logged %q, the application is %s", tc.reason, events, lines, w.state())
			}
			w.kubelet(corev1.PodSucceeded, exited(0, "Completed"))
			w.settle()
			if left := w.auxiliary(); len(left) > 0 || w.state() != "COMPLETED" || conditionOf(w, "Exposed").Type != "" {
				t.Errorf("%s: at the end the application is %s, and %v are left", tc.reason, w.state(), left)
			}
		})
	}
}

// Before the start, the same words refuse the application.
func TestLimitsHoldBeforeTheStart(t *testing.T) {
	for name, tc := range edits {
		w := within(t)
		w.edit(tc.edit)
		w.settle()
		if c := conditionOf(w, "Admitted"); w.state() != "FAILED" || c.Reason != "InvalidSpec" || c.Message != tc.says {
			t.Errorf("%s: %s: %s, %+v", name, tc.reason, w.state(), c)
		}
	}
}

// A policy that becomes tighter changes nothing that is there; what is deleted then is not made again, and a correction
// of the spec or of the policy brings it back.
func TestLimitsHoldForWhatWasMadeBefore(t *testing.T) {
	w, audit := confined(t)
	before := w.objects()
	const ingress, service = "ingress/pi-ing-9000", "service/pi-ui-svc"
	tighter := bounded
	tighter.Hosts = []string{"*.example.com"}
	w.govern(forJobs(tighter, policy.Defaults{}))
	if r := w.settle(); r.RequeueAfter > exposure.Retry {
		t.Errorf("whether the policy has changed is checked in %s", r.RequeueAfter)
	}
	if diff := cmp.Diff(before, w.objects()); diff != "" {
		t.Errorf("a tighter policy changed (-want +got):\n%s", diff)
	}
	if events, lines := w.events(), audit(); len(events) != 1 || len(lines) != 1 || conditionOf(w, "Exposed").Reason != "ExposureForbidden" {
		t.Errorf("events %q, logged %q: %+v", events, lines, conditionOf(w, "Exposed"))
	}
	if err := w.c.Delete(t.Context(), before[ingress]); err != nil {
		t.Fatal(err)
	}
	w.settle()
	if left := w.objects(); left[ingress] != nil || left[service] == nil {
		t.Errorf("what is forbidden was made again, or more is gone: %v", w.auxiliary())
	}
	w.edit(ui(func(o *v1beta2.SparkUIConfiguration) { o.ServiceLabels = map[string]string{"team": "a"} }))
	w.settle()
	if label := w.objects()[service].GetLabels()["team"]; label != "a" {
		t.Errorf("an edit of what no one objects to is held back: %q", label)
	}
	if events, lines := w.events(), audit(); len(events) > 0 || len(lines) != 1 {
		t.Errorf("after another edit: events %q, logged %q, want what it still asks for in the log", events, lines)
	}
	w.govern(forJobs(bounded, policy.Defaults{}))
	w.settle()
	if diff := cmp.Diff(allAuxiliary, w.auxiliary()); diff != "" || conditionOf(w, "Exposed").Type != "" {
		t.Errorf("with the previous policy: %+v (-want +got):\n%s", conditionOf(w, "Exposed"), diff)
	}
}

// The status continues to tell where the UI is that stays, and a corrected spec is followed.
func TestForbiddenEditIsCorrected(t *testing.T) {
	w, _ := confined(t)
	before := w.app().Status.DriverInfo
	w.edit(ui(func(o *v1beta2.SparkUIConfiguration) {
		o.ServicePort, o.ServiceType = new(int32(80)), new(corev1.ServiceTypeLoadBalancer)
		o.IngressAnnotations = map[string]string{"a-snippet": "x"}
	}))
	w.settle()
	if diff := cmp.Diff(before, w.app().Status.DriverInfo); diff != "" {
		t.Errorf("what stays is told otherwise (-want +got):\n%s", diff)
	}
	if c := conditionOf(w, "Exposed"); !strings.Contains(c.Message, `serviceType: "LoadBalancer"`) || !strings.Contains(c.Message, "a-snippet") {
		t.Errorf("the condition does not say all: %+v", c)
	}
	w.edit(ui(func(o *v1beta2.SparkUIConfiguration) { o.ServicePort = new(int32(80)) }))
	w.settle()
	if got := w.app().Status.DriverInfo; got.WebUIPort != 80 || got.WebUIIngressName != before.WebUIIngressName || conditionOf(w, "Exposed").Type != "" {
		t.Errorf("after the correction: %+v, %+v", got, conditionOf(w, "Exposed"))
	}
}
