// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/controller"
	"github.com/firesteel-dev/firesteel/internal/controller/application"
	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
	"github.com/firesteel-dev/firesteel/internal/exposure"
	"github.com/firesteel-dev/firesteel/internal/manifest"
	"github.com/firesteel-dev/firesteel/internal/observe"
	shared "github.com/firesteel-dev/firesteel/internal/operator"
	"github.com/firesteel-dev/firesteel/internal/policy"
	"github.com/firesteel-dev/firesteel/internal/resolve"
	"github.com/firesteel-dev/firesteel/internal/testutil/heaptest"
	"github.com/firesteel-dev/firesteel/internal/validation"
	"github.com/firesteel-dev/firesteel/test/docs/markdown"
)

// strict is an operator with policies and with something to expose.
func strict(t *testing.T) resolve.Operator {
	t.Helper()
	o := operator(t, policy.Policy{
		Name: "strict", Namespaces: []string{"*"}, Defaults: policy.Defaults{Labels: map[string]string{"team": "a"}},
		Limits: policy.Limits{ServiceTypes: []string{"ClusterIP"}, Hosts: []string{"*.example.org"}, Executors: new(int32(1000)), ForbiddenConf: []string{"spark.forbidden"}},
	})()
	o.Exposure = exposure.Config{Service: true, Ingress: exposure.Ingress{Enabled: true, URLFormat: "ui.example.org/{{$appNamespace}}/{{$appName}}"}}
	return o
}

// fixtures are the applications of all manifests and pages of this repository, and some that are wrong.
func fixtures(t *testing.T) map[string]*v1beta2.SparkApplication {
	t.Helper()
	all := map[string]*v1beta2.SparkApplication{}
	add := func(name string, text []byte) {
		documents, err := manifest.Read(text)
		if err != nil {
			return // Helm's templates and parts of manifests are judged elsewhere
		}
		for _, d := range documents {
			if d.Application != nil && d.Name != "" {
				all[name+"/"+d.Name] = d.Application
			}
		}
	}
	for _, root := range []string{"../../config", "../../docs", "../../test", "../../api", "..", "../../README.md"} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			switch filepath.Ext(path) {
			case ".yaml":
				add(path, text)
			case ".md":
				for _, b := range markdown.Blocks(string(text)) {
					add(path, []byte(b.Text))
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, spec := range map[string]string{
		"memory": badMemory, "malformed": "spec: {driver: {template: text}}",
		"limit":     strings.Replace(good, "type:", "sparkConf: {spark.forbidden: x}, type:", 1),
		"kept":      strings.Replace(good, "type:", "executor: {instances: 1001}, type:", 1),
		"service":   strings.Replace(good, "type:", "sparkUIOptions: {serviceType: LoadBalancer}, type:", 1),
		"host":      strings.Replace(good, "type:", "driverIngressOptions: [{servicePort: 80, ingressURLFormat: evil.org}], type:", 1),
		"path":      strings.Replace(good, "type:", "driverIngressOptions: [{servicePort: 80, ingressURLFormat: a.example.org/%7bx%7d}], type:", 1),
		"exposed":   strings.Replace(good, "type:", "driverIngressOptions: [{servicePort: 80, ingressURLFormat: a.example.org/x}], type:", 1),
		"parameter": strings.Replace(good, "type:", "batchSchedulerOptions: {parameters: {a: 1}}, type:", 1),
	} {
		o := &v1beta2.SparkApplication{}
		if err := json.Unmarshal(object(t, spec), o); err != nil {
			t.Fatal(err)
		}
		all[name] = o
	}
	for name, conf := range heaptest.Bombs() {
		o := &v1beta2.SparkApplication{}
		if err := json.Unmarshal(object(t, good), o); err != nil {
			t.Fatal(err)
		}
		o.Spec.SparkConf = conf
		all["bomb "+name] = o
	}
	return all
}

// ran lets an operator reconcile an application in an empty cluster, and returns it with what was created for it.
func ran(t *testing.T, o *v1beta2.SparkApplication, configured resolve.Operator, at time.Time) (*v1beta2.SparkApplication, map[string]any) {
	t.Helper()
	stored := o.DeepCopy()
	stored.ResourceVersion, stored.Status = "", v1beta2.SparkApplicationStatus{}
	c := fake.NewClientBuilder().WithScheme(controller.Scheme()).WithObjects(stored).
		WithStatusSubresource(&v1beta2.SparkApplication{}, &corev1.Pod{}).WithIndex(&corev1.Pod{}, observe.IndexApp, observe.IndexByApp(v1beta2.LabelAppName)).
		WithInterceptorFuncs(interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, into client.Object, opts ...client.GetOption) error {
			err := c.Get(ctx, key, into, opts...)
			if app, ok := into.(*v1beta2.SparkApplication); ok && o.MalformedSpec != "" { // which the fake does not store
				app.MalformedSpec, app.Spec = o.MalformedSpec, v1beta2.SparkApplicationSpec{}
			}
			return err
		}}).Build()
	now := clocktesting.NewFakePassiveClock(at)
	engine := application.NewEngine(kubeflow.SparkApplications{}, &v1beta2.SparkApplicationList{}, observe.Reader{Cache: c, Live: c}, c, configured.Registry, events.NewFakeRecorder(100), now, shared.NewSchedulers(now, nil))
	engine.Policies, engine.Exposure = func() policy.Set { return configured.Policies }, configured.Exposure
	for range 4 {
		if _, err := engine.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(o)}); err != nil {
			t.Fatal(err)
		}
	}
	got := &v1beta2.SparkApplication{}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(o), got); err != nil {
		t.Fatal(err)
	}
	return got, created(t, c, o.Namespace)
}

// created are the objects of a submission by kind and name; what stands beside the driver has a label of its own.
func created(t *testing.T, c client.Client, namespace string) map[string]any {
	t.Helper()
	out := map[string]any{}
	for kind, list := range map[string]client.ObjectList{
		"Pod": &corev1.PodList{}, "Service": &corev1.ServiceList{}, "ConfigMap": &corev1.ConfigMapList{}, "Secret": &corev1.SecretList{},
		"PersistentVolumeClaim": &corev1.PersistentVolumeClaimList{}, "NetworkPolicy": &networkingv1.NetworkPolicyList{},
	} {
		if err := c.List(t.Context(), list, client.InNamespace(namespace)); err != nil {
			t.Fatal(err)
		}
		items, err := meta.ExtractList(list)
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range items {
			if o := item.(client.Object); o.GetLabels()[v1beta2.LabelExposes] == "" {
				out[kind+" "+o.GetName()] = said(t, o)
			}
		}
	}
	return out
}

// said is what an object says, without what a cluster adds.
func said(t *testing.T, o client.Object) any {
	t.Helper()
	o.SetUID("")
	o.SetResourceVersion("")
	o.SetCreationTimestamp(metav1.Time{})
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	content := tree(t, text).(map[string]any)
	delete(content, "kind")
	delete(content, "apiVersion")
	return content
}

// The operator, admission and the command line load and judge an application in one way: anyone who asks gets the same answer.
func TestSameAnswers(t *testing.T) {
	at := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	configured := strict(t)
	refused, accepted := 0, 0
	for name, o := range fixtures(t) {
		t.Run(name, func(t *testing.T) {
			o.Namespace, o.UID = "jobs", types.UID("7b0f0a52-0000-4000-8000-000000000001")
			forecast := manifest.DryRun(o, manifest.Assumed{SubmitTime: at}, configured)
			onCommandLine := validation.Sentences(forecast.Errors)

			errs, warnings := sparkApplication(func() resolve.Operator { return configured }).findings(o)
			if diff := cmp.Diff(onCommandLine, validation.Sentences(errs)); diff != "" {
				t.Errorf("errors (-command line +webhook):\n%s", diff)
			}
			if diff := cmp.Diff(forecast.Warnings, warnings); diff != "" {
				t.Errorf("warnings (-command line +webhook):\n%s", diff)
			}
			if o.Spec.Suspend != nil && *o.Spec.Suspend {
				return // the operator looks at it when it is to start
			}
			got, objects := ran(t, o, configured, at)
			state, message := got.Status.AppState.State, got.Status.AppState.ErrorMessage
			switch words := strings.Join(onCommandLine, "; "); {
			case len(onCommandLine) > 0:
				refused++
				head := words[:min(len(words), 500)]
				if state != v1beta2.ApplicationStateFailed || !strings.HasPrefix(message, head) || len(objects) > 0 {
					t.Errorf("the command line refuses it: %s\nthe operator says %s: %s, with %d objects", words, state, message, len(objects))
				}
			case forecast.Unavailable != "":
				if cause := got.Status.Cause; cause == nil || !strings.HasPrefix(cause.Message, forecast.Unavailable) {
					t.Errorf("the command line says that it waits: %s\nthe operator says %+v", forecast.Unavailable, cause)
				}
			default:
				accepted++
				if state != v1beta2.ApplicationStateSubmitted {
					t.Fatalf("the operator says %s: %s", state, message)
				}
				rendered, err := forecast.Objects()
				if err != nil {
					t.Fatal(err)
				}
				want := map[string]any{}
				for _, r := range rendered {
					want[r.GetObjectKind().GroupVersionKind().Kind+" "+r.GetName()] = said(t, r.(client.Object))
				}
				if diff := cmp.Diff(want, objects); diff != "" {
					t.Errorf("objects (-rendered +created):\n%s", diff)
				}
			}
		})
	}
	if refused < 10 || accepted < 10 {
		t.Errorf("%d refused and %d accepted: the fixtures prove little", refused, accepted)
	}
}
