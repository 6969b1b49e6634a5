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

	apachev1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1alpha1"
	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/admission"
	"github.com/firesteel-dev/firesteel/internal/controller"
	"github.com/firesteel-dev/firesteel/internal/controller/application"
	"github.com/firesteel-dev/firesteel/internal/convert/apache"
	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
	"github.com/firesteel-dev/firesteel/internal/kinds"
	"github.com/firesteel-dev/firesteel/internal/manifest"
	"github.com/firesteel-dev/firesteel/internal/observe"
	"github.com/firesteel-dev/firesteel/internal/policy"
	"github.com/firesteel-dev/firesteel/internal/reservations"
	"github.com/firesteel-dev/firesteel/internal/resolve"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/spark"
	"github.com/firesteel-dev/firesteel/internal/testutil/heaptest"
	"github.com/firesteel-dev/firesteel/internal/validation"
	"github.com/firesteel-dev/firesteel/test/docs/markdown"
)

// fixtures are the applications of all manifests and pages of this repository, and some that are wrong.
func fixtures(t *testing.T) (apps map[string]*v1beta2.SparkApplication, servers map[string]*v1alpha1.SparkConnect) {
	t.Helper()
	apps, servers = map[string]*v1beta2.SparkApplication{}, map[string]*v1alpha1.SparkConnect{}
	add := func(name string, text []byte) {
		documents, err := manifest.Read(text)
		if err != nil {
			return // Helm's templates and parts of manifests are judged elsewhere
		}
		for _, d := range documents {
			if o, is := d.Object.(*v1beta2.SparkApplication); is && d.Name != "" {
				apps[name+"/"+d.Name] = o
			}
			if o, is := d.Object.(*v1alpha1.SparkConnect); is && d.Name != "" {
				servers[name+"/"+d.Name] = o
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
		"limit":      strings.Replace(good, "type:", "sparkConf: {spark.forbidden: x}, type:", 1),
		"kept":       strings.Replace(good, "type:", "executor: {instances: 1001}, type:", 1),
		"service":    strings.Replace(good, "type:", "sparkUIOptions: {serviceType: LoadBalancer}, type:", 1),
		"host":       strings.Replace(good, "type:", "driverIngressOptions: [{servicePort: 80, ingressURLFormat: evil.org}], type:", 1),
		"path":       strings.Replace(good, "type:", "driverIngressOptions: [{servicePort: 80, ingressURLFormat: a.example.org/%7bx%7d}], type:", 1),
		"exposed":    strings.Replace(good, "type:", "driverIngressOptions: [{servicePort: 80, ingressURLFormat: a.example.org/x}], type:", 1),
		"privileged": strings.Replace(good, "type:", "driver: {securityContext: {privileged: true}}, type:", 1),
		"dns":        strings.Replace(good, "type:", "driver: {serviceAnnotations: {external-dns.alpha.kubernetes.io/hostname: bank.example}}, type:", 1),
		"taint":      strings.Replace(good, "type:", "executor: {tolerations: [{operator: Exists}]}, type:", 1),
		"device":     strings.Replace(good, "type:", "driver: {gpu: {name: evil/gpu, quantity: 1}}, type:", 1),
		"template":   strings.Replace(good, "type:", "executor: {priorityClassName: low}, sparkConf: {spark.kubernetes.driver.pod.excludedFeatureSteps: org.apache.spark.deploy.k8s.features.PodTemplateConfigMapStep}, type:", 1),
		"parameter":  strings.Replace(good, "type:", "batchSchedulerOptions: {parameters: {a: 1}}, type:", 1),
	} {
		o := &v1beta2.SparkApplication{}
		if err := json.Unmarshal(object(t, spec), o); err != nil {
			t.Fatal(err)
		}
		apps[name] = o
	}
	addCases(t, apps)
	for name, conf := range heaptest.Bombs() {
		o := &v1beta2.SparkApplication{}
		if err := json.Unmarshal(object(t, good), o); err != nil {
			t.Fatal(err)
		}
		o.Spec.SparkConf = conf
		apps["bomb "+name] = o
		server := &v1alpha1.SparkConnect{}
		if err := json.Unmarshal(object(t, lab("")), server); err != nil {
			t.Fatal(err)
		}
		server.Spec.SparkConf = conf
		servers["bomb "+name] = server
	}
	for name, fields := range wrongServers {
		o := &v1alpha1.SparkConnect{}
		if err := json.Unmarshal(object(t, lab(fields)), o); err != nil {
			t.Fatal(err)
		}
		servers[name] = o
	}
	for name, fields := range map[string]string{
		"sizes":     "server: {coreRequest: 500m, coreLimit: '2', gpu: {name: nvidia.com/gpu, quantity: 1}}, executor: {coreRequest: '1', gpu: {name: nvidia.com/gpu, quantity: 1}}",
		"kept":      "server: {gpu: {name: nvidia.com/gpu, quantity: 1}, template: {spec: {containers: [{name: spark-kubernetes-driver, resources: {limits: {nvidia.com/gpu: 2}}}]}}}",
		"low limit": "executor: {coreRequest: '2', coreLimit: '1'}",
	} {
		o := &v1alpha1.SparkConnect{}
		if err := json.Unmarshal(object(t, lab(fields)), o); err != nil {
			t.Fatal(err)
		}
		servers["case "+name] = o
	}
	return apps, servers
}

// answer is what an operator says of an object that it has reconciled in an empty cluster.
type answer struct {
	// failed says that it never runs, and submitted that it has a driver.
	failed, submitted bool
	message           string
	objects           map[string]any
}

// subject is an object of one kind, for all who judge it.
type subject[T client.Object] struct {
	kind   resolve.Kind[T]
	list   client.ObjectList
	label  string
	object T
	// malformed is why its spec cannot be decoded, which the fake API server does not store.
	malformed string
	restore   func(T)
	// read returns state and message.
	read func(T) answer
}

// named creates an object whose name the API server chooses under the one that render shows.
func named(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
	if prefix := o.GetGenerateName(); prefix != "" {
		o.SetName(strings.TrimSuffix(prefix, "-"))
		o.SetGenerateName("")
	}
	return c.Create(ctx, o, opts...)
}

// reconciled lets an operator reconcile the object.
func (s subject[T]) reconciled(t *testing.T, configured resolve.Operator, at time.Time) answer {
	t.Helper()
	stored := s.object.DeepCopyObject().(T)
	stored.SetResourceVersion("")
	c := fake.NewClientBuilder().WithScheme(controller.Scheme()).WithObjects(stored).
		WithStatusSubresource(s.object, &corev1.Pod{}).
		WithInterceptorFuncs(interceptor.Funcs{Create: named, Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, into client.Object, opts ...client.GetOption) error {
			err := c.Get(ctx, key, into, opts...)
			if o, ok := into.(T); ok && s.malformed != "" {
				s.restore(o)
			}
			return err
		}}).Build()
	now := clocktesting.NewFakePassiveClock(at)
	engine := application.NewEngine(s.kind, s.list, observe.Reader{Cache: c, Live: c}, c, configured.Registry, events.NewFakeRecorder(100), now, reservations.New(now, nil, scheduler.Order{}))
	engine.Policies, engine.Exposure = func() policy.Set { return configured.Policies }, configured.Exposure
	for range 4 {
		if _, err := engine.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(s.object)}); err != nil {
			t.Fatal(err)
		}
	}
	got := s.kind.New()
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(s.object), got); err != nil {
		t.Fatal(err)
	}
	out := s.read(got)
	out.objects = created(t, c, s.object.GetNamespace())
	return out
}

func ofApplication(o *v1beta2.SparkApplication) subject[*v1beta2.SparkApplication] {
	o = o.DeepCopy()
	o.Status = v1beta2.SparkApplicationStatus{}
	return subject[*v1beta2.SparkApplication]{
		kind: kubeflow.SparkApplications{}, list: &v1beta2.SparkApplicationList{}, label: v1beta2.LabelAppName, object: o, malformed: o.MalformedSpec,
		restore: func(into *v1beta2.SparkApplication) {
			into.MalformedSpec, into.Spec = o.MalformedSpec, v1beta2.SparkApplicationSpec{}
		},
		read: func(o *v1beta2.SparkApplication) answer {
			state := o.Status.AppState
			a := answer{failed: state.State == v1beta2.ApplicationStateFailed, submitted: state.State == v1beta2.ApplicationStateSubmitted, message: state.ErrorMessage}
			if o.Status.Cause != nil && a.message == "" {
				a.message = o.Status.Cause.Message
			}
			return a
		},
	}
}

func ofConnect(o *v1alpha1.SparkConnect) subject[*v1alpha1.SparkConnect] {
	o = o.DeepCopy()
	o.Status = v1alpha1.SparkConnectStatus{}
	return subject[*v1alpha1.SparkConnect]{
		kind: kubeflow.SparkConnects{}, list: &v1alpha1.SparkConnectList{}, label: v1alpha1.LabelConnectName, object: o, malformed: o.MalformedSpec,
		restore: func(into *v1alpha1.SparkConnect) {
			into.MalformedSpec, into.Spec = o.MalformedSpec, v1alpha1.SparkConnectSpec{}
		},
		read: func(o *v1alpha1.SparkConnect) answer {
			a := answer{failed: o.Status.State == v1alpha1.SparkConnectStateFailed, submitted: o.Status.State == v1alpha1.SparkConnectStateProvisioning}
			if run := o.Status.Run; run.Cause != nil {
				a.message = run.Cause.Message
			}
			return a
		},
	}
}

func ofApache(o *apachev1.SparkApplication) subject[*apachev1.SparkApplication] {
	o = o.DeepCopy()
	return subject[*apachev1.SparkApplication]{
		kind: apache.SparkApplications{}, list: &apachev1.SparkApplicationList{}, label: apachev1.LabelAppName, object: o, malformed: o.MalformedSpec,
		restore: func(into *apachev1.SparkApplication) {
			into.MalformedSpec, into.Spec = o.MalformedSpec, apachev1.SparkApplicationSpec{}
		},
		read: func(o *apachev1.SparkApplication) answer {
			var a answer
			for _, s := range o.Status.StateTransitionHistory {
				a.submitted = a.submitted || s.CurrentStateSummary == apachev1.StateDriverRequested
				if s.CurrentStateSummary == apachev1.StateSchedulingFailure {
					a.failed, a.message = true, s.Message
				}
			}
			return a
		},
	}
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
			if token, is := item.(*corev1.Secret); is && token.Labels[v1alpha1.LabelConnectName] != "" {
				if len(token.Data[spark.TokenKey]) == 0 {
					t.Errorf("the Secret %s has no token", token.Name)
				}
				token.Data = nil // it is random, and nobody renders it
			}
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

// Admission and the command line ask the dry run of a kind (internal/kinds); the operator loads, judges and creates. They give the same answer.
func TestSameAnswers(t *testing.T) {
	at := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	configured := strict(t)
	apps, servers := fixtures(t)
	seen := map[string]int{}
	for name, o := range apps {
		t.Run(name, func(t *testing.T) {
			o.Namespace, o.UID = "jobs", types.UID("7b0f0a52-0000-4000-8000-000000000001")
			forecast := kinds.SparkApplication.DryRun(o, kinds.Assumed{SubmitTime: at}, configured).DryRunResult
			seen[compared(t, forecast, o.Spec.Suspend, func() answer { return ofApplication(o).reconciled(t, configured, at) })]++
		})
	}
	for name, o := range servers {
		t.Run("server "+name, func(t *testing.T) {
			o.Namespace, o.UID = "jobs", types.UID("7b0f0a52-0000-4000-8000-000000000001")
			forecast := kinds.SparkConnect.DryRun(o, kinds.Assumed{SubmitTime: at}, configured).DryRunResult
			seen["server "+compared(t, forecast, o.Spec.Suspend, func() answer { return ofConnect(o).reconciled(t, configured, at) })]++
		})
	}
	for name, fields := range apacheFixtures {
		t.Run("Apache "+name, func(t *testing.T) {
			o := &apachev1.SparkApplication{}
			if err := json.Unmarshal(object(t, apachePi(fields)), o); err != nil {
				t.Fatal(err)
			}
			o.UID = "7b0f0a52-0000-4000-8000-000000000001"
			forecast := kinds.ApacheSparkApplication.DryRun(o, kinds.Assumed{SubmitTime: at}, configured).DryRunResult
			seen["Apache "+compared(t, forecast, nil, func() answer {
				got := ofApache(o).reconciled(t, configured, at)
				if got.submitted {
					got.objects = nil // they belong to the driver by now; internal/convert/apache compares them
				}
				return got
			})]++
		})
	}
	for verdict, least := range map[string]int{"Apache refused": 5, "Apache accepted": 5, "refused": 10, "accepted": 10, "server refused": 5, "server accepted": 2} {
		if seen[verdict] < least {
			t.Errorf("%d were %s: the fixtures prove little", seen[verdict], verdict)
		}
	}
}

// compared returns what both of them say.
func compared(t *testing.T, forecast admission.DryRunResult, suspend *bool, reconciled func() answer) string {
	t.Helper()
	refusals := validation.Sentences(forecast.Errors)
	if suspend != nil && *suspend {
		return "suspended" // the operator judges it when it is to start
	}
	got := reconciled()
	switch words := strings.Join(refusals, "; "); {
	case len(refusals) > 0:
		head := words[:min(len(words), 500)]
		if !got.failed || !strings.HasPrefix(got.message, head) || len(got.objects) > 0 {
			t.Errorf("the dry run refuses it: %s\nthe operator says %t: %s, with %d objects", words, got.failed, got.message, len(got.objects))
		}
		return "refused"
	case forecast.Unavailable != "":
		if !strings.HasPrefix(got.message, forecast.Unavailable) {
			t.Errorf("the dry run says that it waits: %s\nthe operator says %s", forecast.Unavailable, got.message)
		}
		return "waiting"
	}
	if !got.submitted {
		t.Fatalf("the operator says: %s", got.message)
	}
	rendered, err := forecast.Objects()
	if err != nil {
		t.Fatal(err)
	}
	if got.objects == nil {
		return "accepted"
	}
	want := map[string]any{}
	for _, r := range rendered {
		want[r.GetObjectKind().GroupVersionKind().Kind+" "+r.GetName()] = said(t, r.(client.Object))
	}
	if diff := cmp.Diff(want, got.objects); diff != "" {
		t.Errorf("objects (-rendered +created):\n%s", diff)
	}
	return "accepted"
}
