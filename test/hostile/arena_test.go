// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	exact "k8s.io/apimachinery/pkg/util/yaml" // whole numbers stay what they are, the largest among them
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	apachev1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1alpha1"
	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
)

// Kinds that a tenant may create.
var (
	application = v1beta2.GroupVersion.WithKind("SparkApplication")
	schedule    = v1beta2.GroupVersion.WithKind("ScheduledSparkApplication")
	connect     = v1alpha1.GroupVersion.WithKind("SparkConnect")
	apache      = apachev1.SchemeGroupVersion.WithKind("SparkApplication")
	standalone  = apachev1.SchemeGroupVersion.WithKind("SparkCluster")
)

// Specs that can run, and that attacks lay their own over.
const (
	applicationSpec = `
type: Scala
mode: cluster
image: registry.example/spark:4.1.4
sparkVersion: 4.1.4
mainClass: org.example.Pi
mainApplicationFile: local:///opt/pi.jar
driver: {cores: 1, memory: 512m, serviceAccount: spark}
executor: {instances: 1, cores: 1, memory: 512m}
`
	// hardenedSpec is what the hardened chart asks for.
	hardenedSpec = `
driver: &restricted
  podSecurityContext: {runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}
  securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
executor: *restricted
`
	apacheSpec = `
runtimeVersions: {sparkVersion: 4.1.4}
mainClass: org.example.Pi
jars: local:///opt/pi.jar
sparkConf: {spark.kubernetes.container.image: "registry.example/spark:4.1.4", spark.kubernetes.authenticate.driver.serviceAccountName: spark, spark.executor.instances: "1"}
`
	hardenedApacheSpec = `
driverSpec: &restricted
  podTemplateSpec:
    spec:
      securityContext: {runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}
      containers: [{name: main, securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}}]
executorSpec: *restricted
`
	connectSpec = `
image: registry.example/spark:4.1.4
sparkVersion: 4.1.4
server: {cores: 1, memory: 512m}
executor: {instances: 1, cores: 1, memory: 512m}
`
)

// arena is a namespace with its attackers.
type arena struct {
	*lab
	ctx       context.Context
	namespace string
	t         *testing.T
	attack    attack
	// fellows are those of the round, this one among them; nil for an attack that is made by itself.
	fellows []*arena
	// tenant and driver have the rights of these actors, as those of the attack's.
	tenant, driver, as client.Client
	// heard is what the API server has refused.
	heard *answers
	// mark is where the audit log of the attack begins.
	mark int64
	// bombed is how many bombs there were, inTime the most bytes of one that the API server may take within its time for a request; 0 is any.
	bombed, inTime int
	raw            *http.Client // for what is no valid object
}

func (l *lab) arena(t *testing.T, x attack, namespace string) *arena {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 6*wait)
	t.Cleanup(cancel)
	a := &arena{lab: l, t: t, attack: x, ctx: ctx, namespace: namespace, heard: &answers{}}
	user := func(who actor) (client.Client, *rest.Config) {
		cfg := rest.CopyConfig(l.config)
		cfg.Impersonate.UserName = who.user(namespace)
		cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return listener{next, a.heard} })
		c, err := client.New(cfg, client.Options{Scheme: l.admin.Scheme(), Mapper: l.admin.RESTMapper()})
		if err != nil {
			t.Fatal(err)
		}
		return c, cfg
	}
	var cfg *rest.Config
	if log, err := os.Stat(l.audit); err == nil {
		a.mark = log.Size()
	}
	var err error
	a.driver, _ = user(driverCode)
	a.tenant, cfg = user(tenant)
	if a.raw, err = rest.HTTPClientFor(cfg); err != nil {
		t.Fatal(err)
	}
	if a.as = a.tenant; x.by == driverCode {
		a.as = a.driver
	}
	return a
}

// object is one of a kind with the usual spec, over which the texts in YAML are laid in their order: objects are merged, everything
// else is replaced, null deletes. A text is of the whole object if it has the field spec or metadata, else of the spec.
func (a *arena) object(kind schema.GroupVersionKind, name string, texts ...string) (*unstructured.Unstructured, error) {
	base := map[schema.GroupVersionKind]string{application: applicationSpec, connect: connectSpec, apache: apacheSpec, standalone: standaloneSpec, schedule: "schedule: \"@yearly\"\ntemplate:" +
		strings.ReplaceAll(applicationSpec, "\n", "\n  ")}[newest(kind)]
	o := map[string]any{}
	bases := []string{base}
	if more := map[schema.GroupVersionKind]string{application: hardenedSpec, apache: hardenedApacheSpec, standalone: hardenedStandaloneSpec}[newest(kind)]; a.hardened && more != "" {
		bases = append(bases, more)
	}
	for _, text := range append(bases, texts...) {
		var more map[string]any
		if err := exact.Unmarshal([]byte(text), &more); err != nil {
			return nil, fmt.Errorf("%s: %w", text, err)
		}
		if more["spec"] == nil && more["metadata"] == nil {
			more = map[string]any{"spec": more}
		}
		lay(o, more)
	}
	u := &unstructured.Unstructured{Object: o}
	u.SetGroupVersionKind(kind)
	u.SetNamespace(a.namespace)
	u.SetName(name)
	return u, nil
}

func lay(under, over map[string]any) {
	for key, value := range over {
		inner, is := value.(map[string]any)
		if below, has := under[key].(map[string]any); is && has {
			lay(below, inner)
		} else if value == nil {
			delete(under, key)
		} else {
			under[key] = value
		}
	}
}

// apply creates an object, as the tenant. A refusal is an answer, and kept for hears.
func (a *arena) apply(kind schema.GroupVersionKind, name string, texts ...string) error {
	if a.attack.shares != alone && !a.attack.named(name) {
		return fmt.Errorf("%s is made in a round, and its %s %s is not called as it is", a.attack.name, kind.Kind, name)
	}
	o, err := a.object(kind, name, texts...)
	if err != nil {
		return err
	}
	return answered(a.tenant.Create(a.ctx, o))
}

// app creates an application, as the tenant.
func (a *arena) app(name string, texts ...string) error { return a.apply(application, name, texts...) }

// edit merges a text in YAML into an object, as the tenant.
func (a *arena) edit(kind schema.GroupVersionKind, name, text string) error {
	patch, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		return err
	}
	return answered(a.tenant.Patch(a.ctx, a.reference(kind, name), client.RawPatch(types.MergePatchType, patch)))
}

// remove deletes an object, as the tenant.
func (a *arena) remove(kind schema.GroupVersionKind, name string) error {
	return answered(a.tenant.Delete(a.ctx, a.reference(kind, name)))
}

func (a *arena) reference(kind schema.GroupVersionKind, name string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(kind)
	o.SetNamespace(a.namespace)
	o.SetName(name)
	return o
}

// answered leaves out errors that are answers of the API server: they are among what the attacker heard.
func answered(err error) error {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return nil
	}
	return err
}

// post sends a text that the ordinary clients would not send, as a new object of a kind, as the tenant. It returns the status.
func (a *arena) post(kind schema.GroupVersionKind, body string) (int, error) {
	path := strings.TrimSuffix(a.config.Host, "/") + "/apis/" + kind.GroupVersion().String() + "/namespaces/" + a.namespace + "/" + strings.ToLower(kind.Kind) + "s"
	request, err := http.NewRequestWithContext(a.ctx, http.MethodPost, path, strings.NewReader(body))
	if err != nil {
		return 0, err
	}
	request.Header.Set("Content-Type", "application/json")
	answer, err := a.raw.Do(request)
	if err != nil {
		return 0, err
	}
	defer func() { _ = answer.Body.Close() }() // it was only read
	_, err = io.Copy(io.Discard, answer.Body)
	return answer.StatusCode, err
}

// stored reads an object as it is stored now.
func (a *arena) stored(kind schema.GroupVersionKind, name string) (*unstructured.Unstructured, error) {
	o := a.reference(kind, name)
	return o, a.admin.Get(a.ctx, client.ObjectKeyFromObject(o), o)
}

// looked waits until the operator has told something of the current generation of an object.
func (a *arena) looked(kind schema.GroupVersionKind, name string) error {
	return await(a.ctx, func() error {
		if err := a.operator.alive(); err != nil {
			return final{fmt.Errorf("the operator ended: %w", err)}
		}
		o, err := a.stored(kind, name)
		if err != nil {
			return err
		}
		seen, _, err := unstructured.NestedInt64(o.Object, "status", "observedGeneration")
		if err == nil && seen < o.GetGeneration() {
			err = fmt.Errorf("%s %s: the operator has seen generation %d of %d", kind.Kind, name, seen, o.GetGeneration())
		}
		return err
	})
}

// did counts what the operator has asked for in the attack's namespace, such as "create", "pods", but for what is called as other attacks of the
// round are. What lost against an edit does not count.
func (a *arena) did(verb, resource string) (int, error) {
	requests, err := a.requests(a.mark)
	n := 0
	for _, r := range requests {
		what := strings.TrimSuffix(r.ObjectRef.Resource+"/"+r.ObjectRef.Subresource, "/")
		if r.User.Username == operatorUser && r.Verb == verb && what == resource && r.ObjectRef.Namespace == a.namespace && a.mine(r.ObjectRef.Name) && r.ResponseStatus.Code != http.StatusConflict {
			n++
		}
	}
	return n, err
}

// most says that the operator has done something more often than that.
func (a *arena) most(n int, verb, resource string) error {
	got, err := a.did(verb, resource)
	if err == nil && got > n {
		err = fmt.Errorf("%d requests to %s %s, and not at most %d", got, verb, resource, n)
	}
	return err
}

// storm calls a function n times, from several goroutines.
func (a *arena) storm(n int, do func(i int) error) error {
	const goroutines = 8
	errs := make([]error, goroutines)
	var all sync.WaitGroup
	for g := range goroutines {
		all.Go(func() {
			for i := g; i < n && errs[g] == nil; i += goroutines {
				errs[g] = do(i)
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// driverOf waits for the driver pod of an application.
func (a *arena) driverOf(name string) (*corev1.Pod, error) {
	var pod corev1.Pod
	err := await(a.ctx, func() error {
		return a.admin.Get(a.ctx, client.ObjectKey{Namespace: a.namespace, Name: name + "-driver"}, &pod)
	})
	return &pod, err
}

// apacheDriverOf waits for the driver pod of the first attempt of one of Apache's applications.
func (a *arena) apacheDriverOf(name string) (*corev1.Pod, error) { return a.driverOf(name + "-0") }

// runs starts an application and waits until the operator knows that its driver runs.
func (a *arena) runs(name string, texts ...string) (*corev1.Pod, error) {
	if err := a.app(name, texts...); err != nil {
		return nil, err
	}
	pod, err := a.driverOf(name)
	if err != nil {
		return nil, err
	}
	if err := a.phase(pod, corev1.PodRunning); err != nil {
		return nil, err
	}
	return pod, a.state(name, "RUNNING")
}

// state waits for the state of an application.
func (a *arena) state(name, want string) error {
	return await(a.ctx, func() error {
		o, err := a.stored(application, name)
		if err != nil {
			return err
		}
		state, _, err := unstructured.NestedString(o.Object, "status", "applicationState", "state")
		if err == nil && state != want {
			err = fmt.Errorf("application %s is %q, and not %q", name, state, want)
		}
		return err
	})
}

// phase writes a pod's status, as a kubelet would.
func (a *arena) phase(pod *corev1.Pod, phase corev1.PodPhase) error {
	now := metav1.NewTime(time.Now())
	state := corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}}
	switch phase {
	case corev1.PodFailed:
		state = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, StartedAt: now, FinishedAt: now}}
	case corev1.PodSucceeded:
		state = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{StartedAt: now, FinishedAt: now}}
	default:
	}
	patched := pod.DeepCopy()
	patched.Status.Phase = phase
	patched.Status.ContainerStatuses = nil
	for _, c := range pod.Spec.Containers {
		patched.Status.ContainerStatuses = append(patched.Status.ContainerStatuses, corev1.ContainerStatus{Name: c.Name, State: state})
	}
	return a.admin.Status().Patch(a.ctx, patched, client.MergeFrom(pod))
}

// cleared are the kinds of what attacks leave behind. Owners come before what they own.
var cleared = []schema.GroupVersionKind{
	schedule, application, apache, standalone, connect, appsv1.SchemeGroupVersion.WithKind("StatefulSet"), corev1.SchemeGroupVersion.WithKind("Pod"), corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim"),
	corev1.SchemeGroupVersion.WithKind("Service"), corev1.SchemeGroupVersion.WithKind("ConfigMap"), corev1.SchemeGroupVersion.WithKind("Secret"),
	networkingv1.SchemeGroupVersion.WithKind("Ingress"), networkingv1.SchemeGroupVersion.WithKind("NetworkPolicy"),
	policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget"), eventsv1.SchemeGroupVersion.WithKind("Event"),
}

// clear deletes what the attack left behind, and returns what there was: there is no garbage collector, what stands there costs the next one, and
// events would be told to it.
func (a *arena) clear() []string {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(a.ctx), wait)
	defer cancel()
	var left []string
	for _, kind := range cleared {
		list := metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(kind)
		if err := a.admin.List(ctx, &list, client.InNamespace(a.namespace)); err != nil {
			left = append(left, fmt.Sprintf("%s: %v", kind.Kind, err)) // quiet tries again
			continue
		}
		for i := range list.Items {
			o := &list.Items[i]
			left = append(left, kind.Kind+" "+o.Name)
			if len(o.Finalizers) > 0 {
				o.SetGroupVersionKind(kind)
				_ = a.admin.Patch(ctx, o, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))
			}
		}
		if len(list.Items) > 0 {
			_ = a.admin.DeleteAllOf(ctx, a.reference(kind, ""), client.InNamespace(a.namespace), client.GracePeriodSeconds(0))
		}
	}
	return left
}
