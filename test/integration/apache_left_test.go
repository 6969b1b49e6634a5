// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/test/golden"
)

// This file restores from the recordings what Apache's operator left.

// stackTrace takes the place of the one that the recordings have only the beginning of.
const stackTrace = "\n\tat org.apache.spark.k8s.operator.reconciler.reconcilesteps.AppInitStep.reconcile(AppInitStep.java:109)" +
	"\n\tat java.base/java.lang.Thread.run(Thread.java:1583)\nCaused by: io.fabric8.kubernetes.client.KubernetesClientException"

// attemptStatus is about an attempt, as a recorded status write has it.
type attemptStatus struct {
	AttemptInfo v1.AttemptInfo
	Keys        []int
}

// apacheRun is a recorded run of an application.
type apacheRun struct {
	manifest map[string]any
	// states are those of the whole run, by their keys.
	states map[int]v1.ApplicationState
	writes []struct {
		Adds     []struct{ Key int }
		Attempt  v1.AttemptInfo
		Code     int
		Keys     []int
		Previous *attemptStatus
	}
}

func apacheCorpus() golden.Corpus {
	return golden.Open(GinkgoTB(), "GOLDEN_APACHE", filepath.Join("..", "..", "internal", "convert", "apache", "testdata", "golden.zip"))
}

// readRun reads a recorded run. One state follows the other after 10 seconds, the last one was reached 10 seconds ago.
func readRun(corpus golden.Corpus, name string) apacheRun {
	GinkgoHelper()
	content, err := corpus.ReadFile(name, "states.json")
	Expect(err).NotTo(HaveOccurred())
	content = bytes.ReplaceAll(content, []byte("<time>"), []byte(time.Now().UTC().Truncate(time.Second).Format(time.RFC3339)))
	type history map[int]map[string]any
	var recorded struct {
		Final struct {
			Status struct {
				StateTransitionHistory history
				PreviousAttemptSummary struct{ StateTransitionHistory history }
			}
		}
		StatusWrites json.RawMessage
	}
	Expect(json.Unmarshal(content, &recorded)).To(Succeed(), name)
	run := apacheRun{states: map[int]v1.ApplicationState{}}
	Expect(json.Unmarshal(recorded.StatusWrites, &run.writes)).To(Succeed(), name)
	for _, h := range []history{recorded.Final.Status.PreviousAttemptSummary.StateTransitionHistory, recorded.Final.Status.StateTransitionHistory} {
		for key, state := range h {
			run.states[key] = recordedState(state)
		}
	}
	var input struct{ Manifest map[string]any }
	corpus.Read(GinkgoTB(), &input, name, "case.json")
	run.manifest = input.Manifest
	return run
}

// recordedState decodes a state. A message that was cut is made whole.
func recordedState(state map[string]any) v1.ApplicationState {
	GinkgoHelper()
	if cut, ok := state["message"].(map[string]any); ok {
		lines, _, _ := unstructured.NestedStringSlice(cut, "firstLines")
		state["message"] = strings.Join(lines, "\n") + stackTrace
	}
	content, err := json.Marshal(state)
	Expect(err).NotTo(HaveOccurred())
	var decoded v1.ApplicationState
	Expect(json.Unmarshal(content, &decoded)).To(Succeed())
	return decoded
}

// statusAt is the status as it was stored when a state was the last one: for the first time, or for the last time.
func (r apacheRun) statusAt(state v1.ApplicationStateSummary, last bool) v1.SparkApplicationStatus {
	GinkgoHelper()
	keys := slices.DeleteFunc(slices.Sorted(maps.Keys(r.states)), func(key int) bool { return r.states[key].CurrentStateSummary != state })
	Expect(keys).NotTo(BeEmpty(), "%s is not in the recording", state)
	at := keys[0]
	if last {
		at = keys[len(keys)-1]
	}
	states := func(keys []int) map[string]v1.ApplicationState {
		if len(keys) == 0 {
			return nil // an attempt whose states stay in the one history
		}
		h := map[string]v1.ApplicationState{}
		for _, key := range keys {
			if key <= at {
				s := r.states[key]
				s.LastTransitionTime = time.Now().Add(time.Duration(key-at-1) * 10 * time.Second).UTC().Format(time.RFC3339Nano)
				h[strconv.Itoa(key)] = s
			}
		}
		return h
	}
	for _, write := range r.writes {
		if write.Code >= 300 || !slices.ContainsFunc(write.Adds, func(a struct{ Key int }) bool { return a.Key == at }) {
			continue
		}
		status := v1.SparkApplicationStatus{
			StateTransitionHistory: states(write.Keys), CurrentAttemptSummary: &v1.AttemptSummary{AttemptInfo: &write.Attempt},
		}
		current := status.StateTransitionHistory[strconv.Itoa(at)]
		status.CurrentState = &current
		if p := write.Previous; p != nil {
			status.PreviousAttemptSummary = &v1.AttemptSummary{AttemptInfo: &p.AttemptInfo, StateTransitionHistory: states(p.Keys)}
		}
		return status
	}
	Fail(fmt.Sprintf("no recorded status ends with state %d", at))
	return v1.SparkApplicationStatus{}
}

// driverObjects are the driver pod of an attempt and what belongs to it, as a recording has them.
func driverObjects(corpus golden.Corpus, name string, attempt int64) []*unstructured.Unstructured {
	GinkgoHelper()
	content, err := corpus.ReadFile(name, "stored.json")
	Expect(err).NotTo(HaveOccurred())
	content = bytes.ReplaceAll(content, []byte("<uuid>"), []byte("1d5e6c1c-56ec-4d7c-9d8a-2b3f6f9f8a10"))
	content = bytes.ReplaceAll(content, []byte("demo-0"), fmt.Appendf(nil, "demo-%d", attempt))
	var stored struct{ Created []map[string]any }
	Expect(json.Unmarshal(content, &stored)).To(Succeed())
	var objects []*unstructured.Unstructured
	for _, o := range stored.Created {
		if data, ok := o["data"].(map[string]any); ok {
			properties := data["spark.properties"].(map[string]any)
			comments, _, _ := unstructured.NestedStringSlice(properties, "comments")
			lines, _, _ := unstructured.NestedStringSlice(properties, "lines")
			data["spark.properties"] = strings.Join(append(comments, lines...), "\n")
		}
		objects = append(objects, &unstructured.Unstructured{Object: o})
	}
	return objects
}

// reports writes the status of a pod as a kubelet does.
func reports(ctx context.Context, pod *corev1.Pod, status string) {
	GinkgoHelper()
	ready := corev1.ConditionFalse
	container := corev1.ContainerStatus{Name: pod.Spec.Containers[0].Name, State: running(), Ready: true}
	switch status {
	case "pending":
		return
	case "started":
		pod.Status.Phase = corev1.PodRunning
	case "ready":
		pod.Status.Phase, ready = corev1.PodRunning, corev1.ConditionTrue
	case "succeeded":
		pod.Status.Phase, container.Ready, container.State = corev1.PodSucceeded, false, exited(0, "Completed")
	case "failed":
		pod.Status.Phase, container.Ready, container.State = corev1.PodFailed, false, exited(1, "Error")
	case "evicted":
		pod.Status.Phase, container.Ready, container.State = corev1.PodFailed, false, exited(137, "Error")
		pod.Status.Reason, pod.Status.Message = "Evicted", "The node was low on resource: memory."
	default:
		Fail(status + ": not a status of a pod")
	}
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{container}
	Expect(admin.Status().Update(ctx, pod)).To(Succeed())
}

// executes creates an executor of a driver, which is ready.
func executes(ctx context.Context, driver *corev1.Pod, number int) {
	GinkgoHelper()
	labels := maps.Clone(driver.Labels)
	labels["spark-role"], labels["spark-exec-id"] = "executor", strconv.Itoa(number)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: driver.Namespace, Name: fmt.Sprintf("demo-exec-%d", number), Labels: labels,
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: driver.Name, UID: driver.UID, Controller: new(true)}},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "spark-kubernetes-executor", Image: "spark:4.2.0"}}},
	}
	Expect(admin.Create(ctx, pod)).To(Succeed())
	reports(ctx, pod, "ready")
}

// demo reads the application that was left.
func demo(ctx context.Context, namespace string) *v1.SparkApplication {
	GinkgoHelper()
	var o v1.SparkApplication
	Expect(admin.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "demo"}, &o)).To(Succeed())
	return &o
}

// status is what Apache's operator has stored last.
func (l leftApache) status(corpus golden.Corpus) v1.SparkApplicationStatus {
	GinkgoHelper()
	if l.state == "" {
		return v1.SparkApplicationStatus{}
	}
	s := readRun(corpus, l.run).statusAt(l.state, l.last)
	if l.suspended != "" {
		state := *s.CurrentState
		state.CurrentStateSummary, state.SuspendReason, state.Message = v1.StateSuspended, l.suspended, "Spark application is suspended."
		s.CurrentState = &state
		s.StateTransitionHistory[fmt.Sprint(len(s.StateTransitionHistory))] = state
	}
	return s
}

// restore creates it in a namespace of its own.
func (l leftApache) restore(ctx context.Context, corpus golden.Corpus) leftDemo {
	GinkgoHelper()
	w := leftDemo{status: l.status(corpus)}
	o := &unstructured.Unstructured{Object: readRun(corpus, l.run).manifest}
	o.SetFinalizers([]string{v1.Finalizer})
	if l.suspend {
		Expect(unstructured.SetNestedField(o.Object, true, "spec", "suspend")).To(Succeed())
	}
	objects := []*unstructured.Unstructured{o}
	if l.driver != "" {
		name := l.objects
		if name == "" {
			name = "run-success"
		}
		objects = append(objects, driverObjects(corpus, name, w.attempt().ID)...)
	}
	w.left = restoreObjects(ctx, newNamespace(ctx), objects)
	if l.driver != "" {
		pod := driverPod(ctx, w.namespace, w.driverName(0))
		reports(ctx, pod, l.driver)
		for i := range l.executors {
			executes(ctx, pod, i+1)
		}
	}
	if w.status.CurrentState != nil { // written as v1, whatever the manifest says
		app := demo(ctx, w.namespace)
		app.Status = w.status
		Expect(admin.Status().Update(ctx, app)).To(Succeed())
	}
	return w
}

func (w leftDemo) attempt() v1.AttemptInfo {
	if c := w.status.CurrentAttemptSummary; c != nil {
		return *c.AttemptInfo
	}
	return v1.AttemptInfo{}
}

// driverName is that of the driver of an attempt after the one that was left.
func (w leftDemo) driverName(after int64) string {
	return fmt.Sprintf("demo-%d-driver", w.attempt().ID+after)
}
