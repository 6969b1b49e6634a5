// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
)

const takeOverFixtures = "testdata/takeover"

// left is a namespace that the Kubeflow operator has left.
type left struct {
	namespace string
	// driver is the UID of the driver pod in it, "" if there is none.
	driver types.UID
}

// restore creates what a fixture holds, in a namespace of its own.
func restore(ctx context.Context, path string) left {
	GinkgoHelper()
	text, err := os.Open(path)
	Expect(err).NotTo(HaveOccurred())
	defer func() { Expect(text.Close()).To(Succeed()) }()
	var objects []*unstructured.Unstructured
	decoder := yaml.NewYAMLOrJSONDecoder(text, 4096)
	for {
		o := &unstructured.Unstructured{}
		if err := decoder.Decode(&o.Object); errors.Is(err, io.EOF) {
			return restoreObjects(ctx, newNamespace(ctx), objects)
		} else {
			Expect(err).NotTo(HaveOccurred(), path)
		}
		objects = append(objects, o)
	}
}

// restoreObjects creates objects in a namespace, owners before what they own. It gives them what only the API server knows.
func restoreObjects(ctx context.Context, namespace string, objects []*unstructured.Unstructured) left {
	GinkgoHelper()
	w := left{namespace: namespace}
	uids := map[string]types.UID{}
	for _, o := range objects {
		o.SetNamespace(w.namespace)
		refs := o.GetOwnerReferences()
		for i := range refs {
			refs[i].UID = uids[refs[i].Kind]
		}
		o.SetOwnerReferences(refs)
		uids[o.GetKind()] = create(ctx, o)
		if o.GetKind() == "Pod" && w.driver == "" {
			w.driver = o.GetUID()
		}
	}
	return w
}

// restoreAll restores every fixture, by its name.
func restoreAll(ctx context.Context) map[string]left {
	GinkgoHelper()
	files, err := os.ReadDir(takeOverFixtures)
	Expect(err).NotTo(HaveOccurred())
	restored := map[string]left{}
	for _, file := range files {
		restored[strings.TrimSuffix(file.Name(), ".yaml")] = restore(ctx, filepath.Join(takeOverFixtures, file.Name()))
	}
	return restored
}

// create stores an object with its status. One with a deletion timestamp is deleted; its finalizer holds it.
func create(ctx context.Context, o *unstructured.Unstructured) types.UID {
	GinkgoHelper()
	status, deleted := o.Object["status"], o.GetDeletionTimestamp() != nil
	o.SetDeletionTimestamp(nil)
	Expect(admin.Create(ctx, o)).To(Succeed())
	if status != nil {
		o.Object["status"] = status
		Expect(admin.Status().Update(ctx, o)).To(Succeed())
	}
	if deleted {
		Expect(admin.Delete(ctx, o, client.GracePeriodSeconds(0))).To(Succeed())
	}
	return o.GetUID()
}

// census counts the driver pods that were ever created, by namespace, as a watch tells.
type census struct {
	mu      sync.Mutex
	created map[string][]types.UID
}

func (c *census) of(namespace string) []types.UID {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.created[namespace]
}

// begin counts from now on.
func (c *census) begin(ctx context.Context) {
	GinkgoHelper()
	c.created = map[string][]types.UID{}
	watching, err := client.NewWithWatch(server.Config, client.Options{Scheme: admin.Scheme()})
	Expect(err).NotTo(HaveOccurred())
	var pods corev1.PodList
	drivers := client.MatchingLabels{"spark-role": "driver"}
	Expect(watching.List(ctx, &pods, drivers)).To(Succeed())
	w, err := watching.Watch(ctx, &pods, drivers, &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: pods.ResourceVersion}})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(w.Stop)
	go func() {
		for event := range w.ResultChan() {
			if pod, ok := event.Object.(*corev1.Pod); ok && event.Type == "ADDED" {
				c.mu.Lock()
				c.created[pod.Namespace] = append(c.created[pod.Namespace], pod.UID)
				c.mu.Unlock()
			}
		}
	}()
}

// continued is what happens to an application that another operator has left.
type continued struct {
	// then is what happens next, if anything does.
	then func(ctx context.Context, w left)
	// drivers is how many driver pods are created, the rest is what the status says in the end.
	drivers                 int
	state                   v1beta2.ApplicationStateType
	submissions, executions int32
	attempts                []int32
	err                     string
}

// Names of what happens to a driver that was taken over.
func runs(ctx context.Context, w left) {
	kubelet(ctx, driverPod(ctx, w.namespace, "pi-driver"), corev1.PodRunning, driverContainer, running())
	eventuallyState(ctx, w.namespace, "pi", v1beta2.ApplicationStateRunning)
}

func ends(ctx context.Context, w left) {
	runs(ctx, w)
	kubelet(ctx, driverPod(ctx, w.namespace, "pi-driver"), corev1.PodSucceeded, driverContainer, exited(0, "Completed"))
}

// starts expects a driver that is not the one from before.
func starts(ctx context.Context, w left) {
	GinkgoHelper()
	Eventually(func() types.UID {
		var pod corev1.Pod
		if admin.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: "pi-driver"}, &pod) != nil {
			return w.driver
		}
		return pod.UID
	}, wait, poll).ShouldNot(Equal(w.driver), "the next driver")
}

func resumes(ctx context.Context, w left) {
	GinkgoHelper()
	Eventually(func() metav1.ConditionStatus { return condition(ctx, w.namespace, "pi", "Suspended").Status }, wait, poll).Should(Equal(metav1.ConditionTrue))
	Expect(pods(ctx, w.namespace)).To(BeEmpty(), "there is nothing while it is suspended")
	patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"suspend":false}}`))
	Expect(admin.Patch(ctx, app(ctx, w.namespace, "pi"), patch)).To(Succeed())
	starts(ctx, w)
}

func pods(ctx context.Context, namespace string) []string {
	GinkgoHelper()
	var list corev1.PodList
	Expect(admin.List(ctx, &list, client.InNamespace(namespace))).To(Succeed())
	var names []string
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	return names
}

// Once the old driver's last finalizer is gone, and not before, there is a new one.
func goesAndStarts(ctx context.Context, w left) {
	GinkgoHelper()
	Eventually(func() int64 { return app(ctx, w.namespace, "pi").Status.ObservedGeneration }, wait, poll).Should(BeEquivalentTo(1), "it was checked")
	old := driverPod(ctx, w.namespace, "pi-driver")
	Expect(old.UID).To(Equal(w.driver), "the next driver has the same name, and waits")
	change(ctx, admin, w.namespace, "pi-driver", func(p *corev1.Pod) { p.Finalizers = nil })
	starts(ctx, w)
}

// happens lets it happen, and returns the status that the application has in the end.
func (c continued) happens(ctx context.Context, w left) v1beta2.SparkApplicationStatus {
	GinkgoHelper()
	if c.then != nil {
		c.then(ctx, w)
	}
	ns := w.namespace
	eventuallyState(ctx, ns, "pi", c.state)
	Eventually(func() int64 { return app(ctx, ns, "pi").Status.ObservedGeneration }, wait, poll).Should(Equal(app(ctx, ns, "pi").Generation))
	s := app(ctx, ns, "pi").Status
	Expect(s.SubmissionAttempts).To(Equal(c.submissions), "submissionAttempts")
	Expect(s.ExecutionAttempts).To(Equal(c.executions), "executionAttempts")
	Expect(s.AppState.ErrorMessage).To(ContainSubstring(c.err))
	return s
}

var taken = map[string]continued{
	"new":                       {drivers: 1, then: ends, state: "COMPLETED", submissions: 1, executions: 1, attempts: []int32{1}},
	"new-crashed":               {then: ends, state: "COMPLETED", submissions: 1, executions: 1, attempts: []int32{1}},
	"submitted":                 {then: ends, state: "COMPLETED", submissions: 1, executions: 1, attempts: []int32{1}},
	"running":                   {then: ends, state: "COMPLETED", submissions: 1, executions: 1, attempts: []int32{1}},
	"running-again":             {then: ends, state: "COMPLETED", submissions: 3, executions: 2, attempts: []int32{2}},
	"unknown":                   {then: runs, state: "RUNNING", submissions: 1, executions: 1, attempts: []int32{1}},
	"succeeding":                {state: "COMPLETED", submissions: 1, executions: 1, attempts: []int32{1}},
	"completed":                 {state: "COMPLETED", submissions: 1, executions: 1, attempts: []int32{1}},
	"failing":                   {drivers: 1, then: starts, state: "SUBMITTED", submissions: 2, executions: 2, attempts: []int32{1, 2}},
	"failing-last":              {state: "FAILED", submissions: 2, executions: 2, attempts: []int32{2}, err: "driver container failed"},
	"failed":                    {state: "FAILED", submissions: 1, executions: 1, attempts: []int32{1}, err: "driver container failed"},
	"submission-failed":         {drivers: 1, then: ends, state: "COMPLETED", submissions: 2, executions: 1, attempts: []int32{1}},
	"submission-failed-last":    {state: "FAILED", submissions: 2, err: "failed to run spark-submit"},
	"submission-failed-crashed": {then: ends, state: "COMPLETED", submissions: 2, executions: 1, attempts: []int32{1}},
	"pending-rerun":             {drivers: 1, then: ends, state: "COMPLETED", submissions: 2, executions: 2, attempts: []int32{1, 2}},
	"pending-rerun-invalidated": {drivers: 1, then: goesAndStarts, state: "SUBMITTED", submissions: 1, executions: 1, attempts: []int32{1, 2}},
	"invalidating":              {drivers: 1, then: starts, state: "SUBMITTED", submissions: 1, executions: 1, attempts: []int32{2, 3}},
	"suspending":                {state: "SUSPENDED", submissions: 1, executions: 1, attempts: []int32{1}},
	"suspended":                 {drivers: 1, then: resumes, state: "SUBMITTED", submissions: 2, executions: 2, attempts: []int32{1, 2}},
	"suspended-new":             {drivers: 1, then: resumes, state: "SUBMITTED", submissions: 1, executions: 1, attempts: []int32{1}},
	"resuming":                  {drivers: 1, then: starts, state: "SUBMITTED", submissions: 2, executions: 2, attempts: []int32{1, 2}},
}

// kept are states whose driver pod stays, or continues.
var kept = map[string]bool{
	"new-crashed": true, "submitted": true, "running": true, "running-again": true, "unknown": true, "succeeding": true,
	"completed": true, "failing-last": true, "failed": true, "submission-failed-crashed": true,
}

var _ = Describe("Taking over from the Kubeflow operator", Ordered, ContinueOnFailure, func() {
	var (
		ctx      context.Context
		restored map[string]left
		births   census
	)
	BeforeAll(func() {
		ctx = context.Background()
		restartOperator(func() {
			restored = restoreAll(ctx)
			births.begin(ctx)
		})
		Expect(restored).To(HaveLen(len(taken)), "every fixture has an expectation")
	})

	words := map[v1beta2.ApplicationStateType]bool{}
	for _, name := range slices.Sorted(maps.Keys(taken)) {
		want := taken[name]
		It("continues "+name, func() {
			w, known := restored[name]
			Expect(known).To(BeTrue(), "testdata/takeover/%s.yaml", name)
			s := want.happens(ctx, w)
			var numbers []int32
			for _, a := range s.Attempts {
				numbers = append(numbers, a.Attempt)
			}
			Expect(numbers).To(Equal(want.attempts), "the history of %+v", s)
			Eventually(func() []types.UID { return births.of(w.namespace) }, wait, poll).Should(HaveLen(want.drivers), "driver pods created")
			if kept[name] {
				Expect(driverPod(ctx, w.namespace, "pi-driver").UID).To(Equal(w.driver), "the driver is the one from before")
			}
			for _, c := range s.Conditions {
				Expect(c.Reason).NotTo(BeEmpty(), "reason of %s", c.Type)
			}
		})
	}

	It("knows all fourteen states", func(ctx SpecContext) {
		for name := range taken {
			text, err := os.ReadFile(filepath.Join(takeOverFixtures, name+".yaml"))
			Expect(err).NotTo(HaveOccurred())
			var o struct {
				Status v1beta2.SparkApplicationStatus
			}
			Expect(yaml.NewYAMLOrJSONDecoder(strings.NewReader(string(text)), 4096).Decode(&o)).To(Succeed())
			words[o.Status.AppState.State] = true
		}
		Expect(words).To(HaveLen(14), fmt.Sprint(words))
	})

	It("has created no driver too many in the end", func() {
		for name, want := range taken {
			Expect(births.of(restored[name].namespace)).To(HaveLen(want.drivers), name)
		}
	})

	It("leaves what has ended as it was", func() {
		for _, name := range []string{"completed", "failed"} {
			s := app(ctx, restored[name].namespace, "pi").Status
			Expect(s.TerminationTime.UTC().Format("15:04:05")).To(Equal("03:05:05"))
			Expect(s.SubmissionID).To(Equal("6e2e3f1c-6a51-4c5e-9d0a-3f1f6a2b7c11"))
			Expect(s.DriverInfo).To(Equal(v1beta2.DriverInfo{PodName: "pi-driver", WebUIServiceName: "pi-ui-svc", WebUIAddress: "10.0.0.77:4040", WebUIPort: 4040}))
			all := writes.in(restored[name].namespace)
			Expect(count(all, "PATCH", "/sparkapplications/")).To(Equal(1), "its conditions are written once: %v", all)
			Expect(all).To(HaveLen(1))
		}
		Expect(ptr.Deref(app(ctx, restored["suspending"].namespace, "pi").Spec.Suspend, false)).To(BeTrue(), "the spec is the user's")
	})
})
