// SPDX-License-Identifier: Apache-2.0

package application

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/exposure"
	"github.com/firesteel-dev/firesteel/internal/testutil"
)

// everything turns everything on.
var everything = exposure.Config{
	Service: true, DisruptionBudget: true, HistoryURLFormat: "https://history.example.org/history/{{$appId}}/jobs",
	Ingress: exposure.Ingress{Enabled: true, URLFormat: "ui.example.org/{{$appNamespace}}/{{$appName}}"},
}

// exposed is a harness in which everything is made, with an application that wants everything.
func exposed(t *testing.T, others ...client.Object) *harness {
	t.Helper()
	o := testutil.Pi()
	o.Spec.DriverPodDisruptionBudget = new(true)
	o.Spec.SparkConf = map[string]string{"spark.eventLog.enabled": "true"}
	o.Spec.DriverIngressOptions = []v1beta2.DriverIngressConfiguration{{ServicePort: new(int32(9000)), ServicePortName: new("rest"), IngressURLFormat: "rest.example.org"}}
	w := newHarness(t, append(others, o)...)
	w.engine.Exposure = everything
	return w
}

// auxiliary lists what is there for the driver.
func (w *harness) auxiliary() []string {
	w.t.Helper()
	var all []string
	for kind, list := range map[string]client.ObjectList{"service": &corev1.ServiceList{}, "ingress": &networkingv1.IngressList{}, "poddisruptionbudget": &policyv1.PodDisruptionBudgetList{}} {
		if err := w.c.List(w.t.Context(), list, client.HasLabels{"sparkoperator.k8s.io/exposes"}); err != nil {
			w.t.Fatal(err)
		}
		if err := meta.EachListItem(list, func(o runtime.Object) error {
			all = append(all, kind+"/"+o.(client.Object).GetName())
			return nil
		}); err != nil {
			w.t.Fatal(err)
		}
	}
	slices.Sort(all)
	return all
}

var allAuxiliary = []string{"ingress/pi-ing-9000", "ingress/pi-ui-ingress", "poddisruptionbudget/pi-driver", "service/pi-driver-9000", "service/pi-ui-svc"}

// What is wanted comes with the driver, is told in the very write that reports it, and goes with it.
func TestExposeAndConceal(t *testing.T) {
	w := exposed(t)
	w.settle()
	if diff := cmp.Diff(allAuxiliary, w.auxiliary()); diff != "" {
		t.Errorf("while the driver is there (-want +got):\n%s", diff)
	}
	if w.writes["status"] != 1 {
		t.Errorf("%d status writes, want the one that reports the driver", w.writes["status"])
	}
	id := w.app().Status.SparkApplicationID
	want := v1beta2.DriverInfo{
		PodName: "pi-driver", WebUIServiceName: "pi-ui-svc", WebUIPort: 4040, WebUIIngressName: "pi-ui-ingress",
		WebUIIngressAddress: "http://ui.example.org/jobs/pi", HistoryServerURL: "https://history.example.org/history/" + id + "/jobs", ExposedBy: allAuxiliary,
	}
	if diff := cmp.Diff(want, w.app().Status.DriverInfo); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	owner := metav1.GetControllerOf(w.object(&corev1.Service{}, "pi-ui-svc"))
	if owner == nil || owner.UID != testutil.Pi().UID {
		t.Errorf("the Service belongs to %v", owner)
	}

	w.kubelet(corev1.PodRunning, running())
	w.settle()
	w.kubelet(corev1.PodSucceeded, exited(0, "Completed"))
	w.settle()
	if left := w.auxiliary(); len(left) > 0 || w.state() != "COMPLETED" {
		t.Errorf("the application is %s, and %v are left", w.state(), left)
	}
	over := v1beta2.DriverInfo{PodName: "pi-driver", HistoryServerURL: want.HistoryServerURL}
	if diff := cmp.Diff(over, w.app().Status.DriverInfo); diff != "" {
		t.Errorf("at the end (-want +got):\n%s", diff)
	}
	if w.writes["status"] != 3 {
		t.Errorf("%d status writes, want 3", w.writes["status"])
	}
}

// The driver is told the path below which its UI is read, with the id that the Ingress has, too.
func TestProxyBaseIsThatOfTheIngress(t *testing.T) {
	w := exposed(t)
	w.engine.Exposure.Ingress.URLFormat = "ui.example.org/{{$appId}}"
	w.settle()
	id := w.app().Status.SparkApplicationID
	var maps corev1.ConfigMapList
	if err := w.c.List(t.Context(), &maps); err != nil {
		t.Fatal(err)
	}
	found := false
	for _, m := range maps.Items {
		text := m.Data["spark.properties"]
		found = found || strings.Contains(text, "spark.ui.proxyBase=/"+id+"\n") && strings.Contains(text, "spark.ui.proxyRedirectUri=/\n")
	}
	if !found {
		t.Errorf("the driver does not know /%s: %+v", id, maps.Items)
	}
	if got := w.app().Status.DriverInfo.WebUIIngressAddress; got != "http://ui.example.org/"+id {
		t.Errorf("the Ingress is at %s", got)
	}
}

func TestExposeIsRestored(t *testing.T) {
	w := exposed(t)
	w.settle()
	for _, o := range []client.Object{&corev1.Service{}, &networkingv1.Ingress{}} {
		name := map[bool]string{true: "pi-ui-svc", false: "pi-ui-ingress"}[fmt.Sprintf("%T", o) == "*v1.Service"]
		if err := w.c.Delete(t.Context(), w.object(o, name)); err != nil {
			t.Fatal(err)
		}
	}
	w.settle()
	if diff := cmp.Diff(allAuxiliary, w.auxiliary()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Edits act at once on what is there, and the driver runs on.
func TestExposeIsEdited(t *testing.T) {
	w := exposed(t)
	w.settle()
	driver := w.drivers()[0].UID
	service := w.object(&corev1.Service{}, "pi-ui-svc").GetUID()
	w.edit(func(o *v1beta2.SparkApplication) {
		o.Spec.SparkUIOptions = &v1beta2.SparkUIConfiguration{ServicePort: new(int32(80)), ServiceAnnotations: map[string]string{"team": "a"}}
		o.Spec.DriverPodDisruptionBudget = nil
		o.Spec.DriverIngressOptions = nil
	})
	w.settle()
	if diff := cmp.Diff([]string{"ingress/pi-ui-ingress", "service/pi-ui-svc"}, w.auxiliary()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	got, _ := w.object(&corev1.Service{}, "pi-ui-svc").(*corev1.Service)
	if got.UID != service || got.Spec.Ports[0].Port != 80 || got.Spec.Ports[0].TargetPort.IntVal != 4040 || got.Annotations["team"] != "a" {
		t.Errorf("the Service is %s %v %v", got.UID, got.Annotations, got.Spec)
	}
	if now := w.drivers(); len(now) != 1 || now[0].UID != driver {
		t.Errorf("the driver was touched: %v", now)
	}
	if port := w.app().Status.DriverInfo.WebUIPort; port != 80 || w.app().Status.ObservedGeneration != 2 {
		t.Errorf("the status has port %d", port)
	}
}

// What is over when an attempt is over goes before the next one comes.
func TestConcealWhenSuspended(t *testing.T) {
	w := exposed(t)
	w.settle()
	w.kubelet(corev1.PodRunning, running())
	w.settle()
	w.edit(func(o *v1beta2.SparkApplication) { o.Spec.Suspend = new(true) })
	w.settle()
	if left := w.auxiliary(); len(left) > 0 || w.state() != "SUSPENDED" {
		t.Errorf("the application is %s, and %v are left", w.state(), left)
	}
	w.edit(func(o *v1beta2.SparkApplication) { o.Spec.Suspend = nil })
	w.settle()
	if diff := cmp.Diff(allAuxiliary, w.auxiliary()); diff != "" {
		t.Errorf("after it went on (-want +got):\n%s", diff)
	}
}

// Objects of others are neither changed nor deleted, and the application runs without them.
func TestExposeTouchesOnlyWhatIsOwned(t *testing.T) {
	notOwned := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "jobs", Name: "pi-ui-svc", UID: "theirs", Labels: map[string]string{"a": "b"}}}
	w := exposed(t, notOwned)
	w.settle()
	w.kubelet(corev1.PodRunning, running())
	w.settle()
	c := meta.FindStatusCondition(w.app().Status.Conditions, "Exposed")
	if c == nil || c.Status != metav1.ConditionFalse || c.Reason != "NameConflict" || !strings.Contains(c.Message, "service/pi-ui-svc") {
		t.Fatalf("the condition is %+v", c)
	}
	if w.state() != "RUNNING" || w.app().Status.DriverInfo.WebUIServiceName != "" {
		t.Errorf("the application is %s, with the Service %q", w.state(), w.app().Status.DriverInfo.WebUIServiceName)
	}
	if r := w.reconcile(); r.RequeueAfter > 30*time.Second {
		t.Errorf("it is tried again in %s", r.RequeueAfter)
	}
	w.kubelet(corev1.PodSucceeded, exited(0, "Completed"))
	w.settle()
	left := w.object(&corev1.Service{}, "pi-ui-svc")
	if left.GetUID() != "theirs" || len(left.GetLabels()) != 1 {
		t.Errorf("the other owner's Service is now %+v", left)
	}
	if c := meta.FindStatusCondition(w.app().Status.Conditions, "Exposed"); c != nil || w.state() != "COMPLETED" {
		t.Errorf("%s, %+v", w.state(), c)
	}
}

// An operator that crashes after each single write leaves nothing behind, whenever it does.
func TestConcealSurvivesCrashes(t *testing.T) {
	for writes := range 16 {
		t.Run(fmt.Sprintf("after write %d", writes), func(t *testing.T) {
			w := exposed(t)
			w.crashes(writes)
			w.settle()
			if diff := cmp.Diff(allAuxiliary, w.auxiliary()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			w.kubelet(corev1.PodFailed, exited(1, "Error"))
			w.crashes(writes)
			w.settle()
			if left := w.auxiliary(); len(left) > 0 || w.state() != "FAILED" || len(w.app().Status.DriverInfo.ExposedBy) > 0 {
				t.Errorf("the application is %s, %v are left, %v are recorded", w.state(), left, w.app().Status.DriverInfo.ExposedBy)
			}
		})
	}
}

// Whatever the API server answers, the application runs, the condition says what is missing, and it is tried again.
func TestExposeTrouble(t *testing.T) {
	services := schema.GroupResource{Resource: "services"}
	cases := map[string]struct {
		reason string
		err    error
		want   string
		again  time.Duration
	}{
		"quota":     {"there may be room later", apierrors.NewForbidden(services, "x", errors.New("exceeded quota: team")), "QuotaExceeded", exposure.Retry},
		"rights":    {"an administrator has to help", apierrors.NewForbidden(services, "x", errors.New(`User "op" cannot create resource "services"`)), "OperatorForbidden", exposure.Retry},
		"policy":    {"someone has to change something", apierrors.NewForbidden(services, "x", errors.New("no LoadBalancers here")), "ExposureRefused", exposure.Retry},
		"invalid":   {"the user has to change something", apierrors.NewInvalid(schema.GroupKind{Kind: "Service"}, "x", nil), "ExposureRefused", exposure.Retry},
		"no API":    {"it may be installed later", &meta.NoKindMatchError{GroupKind: exposure.HTTPRoute.GroupKind()}, "ExposureRefused", exposure.Retry},
		"transient": {"it goes over", apierrors.NewServiceUnavailable("busy"), "", exposure.Soon},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := exposed(t)
			refuses := true
			w.engine.Writer.Client = interceptor.NewClient(w.c, interceptor.Funcs{
				Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
					if refuses && o.GetLabels()["sparkoperator.k8s.io/exposes"] != "" {
						return tc.err
					}
					return c.Create(ctx, o, opts...)
				},
			})
			w.reconcile()
			w.reconcile()
			w.kubelet(corev1.PodRunning, running())
			r := w.reconcile()
			c := meta.FindStatusCondition(w.app().Status.Conditions, "Exposed")
			if w.state() != "RUNNING" || (c == nil) != (tc.want == "") || c != nil && (c.Reason != tc.want || c.Status != metav1.ConditionFalse) {
				t.Errorf("%s: the application is %s, with the condition %+v", tc.reason, w.state(), c)
			}
			if r.RequeueAfter == 0 || r.RequeueAfter > tc.again {
				t.Errorf("%s: it is tried again in %s, want %s", tc.reason, r.RequeueAfter, tc.again)
			}
			if d := w.app().Status.DriverInfo; d.WebUIServiceName != "" || d.WebUIIngressName != "" {
				t.Errorf("%s: the status reports what is not there: %+v", tc.reason, d)
			}
			refuses = false
			w.settle()
			if diff := cmp.Diff(allAuxiliary, w.auxiliary()); diff != "" {
				t.Errorf("%s: later (-want +got):\n%s", tc.reason, diff)
			}
			if c := meta.FindStatusCondition(w.app().Status.Conditions, "Exposed"); c != nil {
				t.Errorf("%s: still %+v", tc.reason, c)
			}
		})
	}
}

// What a previous operator has left of an application that is over is not checked: it may be thousands.
func TestWhatHasEndedIsLeftAlone(t *testing.T) {
	w := exposed(t)
	o := w.app()
	o.Status = v1beta2.SparkApplicationStatus{
		AppState: v1beta2.ApplicationState{State: "COMPLETED"}, SubmissionID: "theirs", ExecutionAttempts: 1, SubmissionAttempts: 1,
		TerminationTime: metav1.NewTime(start), DriverInfo: v1beta2.DriverInfo{PodName: "pi-driver", WebUIServiceName: "pi-ui-svc", WebUIPort: 4040},
	}
	if err := w.c.Status().Update(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	before := w.reads["get *v1.PartialObjectMetadata"]
	w.settle()
	if got := w.app().Status.DriverInfo; got.WebUIServiceName != "pi-ui-svc" || got.WebUIPort != 4040 {
		t.Errorf("the status has %+v now", got)
	}
	if w.reads["get *v1.PartialObjectMetadata"] != before {
		t.Errorf("it was looked for: %v", w.reads)
	}
}

// object reads an object of the application's namespace.
func (w *harness) object(o client.Object, name string) client.Object {
	w.t.Helper()
	if err := w.c.Get(w.t.Context(), types.NamespacedName{Namespace: "jobs", Name: name}, o); err != nil {
		w.t.Fatal(err)
	}
	return o
}

// crashes lets an operator work that crashes after so many writes, and starts another one.
func (w *harness) crashes(writes int) {
	w.t.Helper()
	dead := func() error {
		if writes--; writes < 0 {
			return errors.New("the operator is dead")
		}
		return nil
	}
	w.engine.Writer.Client = interceptor.NewClient(w.c, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if err := dead(); err != nil {
				return err
			}
			return c.Create(ctx, o, opts...)
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			if err := dead(); err != nil {
				return err
			}
			return c.Delete(ctx, o, opts...)
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
			if err := dead(); err != nil {
				return err
			}
			return c.SubResource(sub).Patch(ctx, o, patch, opts...)
		},
	})
	for range 3 {
		_, _ = w.engine.Reconcile(w.t.Context(), reconcile.Request{NamespacedName: key}) // what it answers dies with it
	}
	w.restart()
	w.engine.Exposure = everything
}
