// SPDX-License-Identifier: Apache-2.0

package schedulers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
	"github.com/firesteel-dev/firesteel/internal/convert/kubeflow"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
	"github.com/firesteel-dev/firesteel/internal/scheduler"
	"github.com/firesteel-dev/firesteel/internal/spark"
	"github.com/firesteel-dev/firesteel/internal/testutil"
)

// seen is what the test sees of an application.
type seen struct {
	app      v1beta2.SparkApplication
	pods     map[string][]corev1.Pod // by role
	workload unstructured.Unstructured
}

func (k kueue) see(ctx context.Context, name string) (seen, error) {
	s := seen{pods: map[string][]corev1.Pod{}}
	var pods corev1.PodList
	workloads := &unstructured.UnstructuredList{}
	workloads.SetGroupVersionKind(kueueVersion.WithKind("WorkloadList"))
	err := errors.Join(k.client.Get(ctx, client.ObjectKey{Namespace: kueueNamespace, Name: name}, &s.app),
		k.client.List(ctx, &pods, client.InNamespace(kueueNamespace), client.MatchingLabels{v1beta2.LabelAppName: name}),
		k.client.List(ctx, workloads, client.InNamespace(kueueNamespace)))
	for _, pod := range pods.Items {
		role := pod.Labels[spark.LabelRole]
		s.pods[role] = append(s.pods[role], pod)
	}
	for _, w := range workloads.Items {
		if owner := metav1.GetControllerOf(&w); owner != nil && owner.UID == s.app.UID {
			s.workload = w
		}
	}
	return s, err
}

// usage is what Kueue counts of the pods of a role.
func (s seen) usage(role string) corev1.ResourceList {
	used := corev1.ResourceList{}
	list, _, _ := unstructured.NestedSlice(s.workload.Object, "status", "admission", "podSetAssignments")
	for _, set := range list {
		m, _ := set.(map[string]any)
		if m["name"] != role {
			continue
		}
		texts, _, _ := unstructured.NestedStringMap(m, "resourceUsage")
		for name, text := range texts {
			used[corev1.ResourceName(name)] = resource.MustParse(text)
		}
	}
	return used
}

// is reports whether a condition of the Workload is true.
func (s seen) is(condition string) bool {
	list, _, _ := unstructured.NestedSlice(s.workload.Object, "status", "conditions")
	return slices.ContainsFunc(list, func(c any) bool {
		m, ok := c.(map[string]any)
		return ok && m["type"] == condition && m["status"] == "True"
	})
}

// counted is the number of executors in the Workload; -1 without one.
func (s seen) counted() int64 {
	list, _, _ := unstructured.NestedSlice(s.workload.Object, "spec", "podSets")
	for _, set := range list {
		if m, ok := set.(map[string]any); ok && m["name"] == "executor" {
			count, _ := m["count"].(int64)
			return count
		}
	}
	return -1
}

// runs reports why an application does not run as it was admitted: one driver and two executors of the flavor.
func (s seen) runs(flavor map[string]string) error {
	if s.app.Status.AppState.State != v1beta2.ApplicationStateRunning || !s.is("Admitted") || len(s.pods[spark.RoleDriver]) != 1 || len(s.pods[spark.RoleExecutor]) != 2 {
		return fmt.Errorf("state %q, admitted %t, %d drivers, %d executors", s.app.Status.AppState.State, s.is("Admitted"), len(s.pods[spark.RoleDriver]), len(s.pods[spark.RoleExecutor]))
	}
	for _, pod := range slices.Concat(s.pods[spark.RoleDriver], s.pods[spark.RoleExecutor]) {
		if !maps.Equal(pod.Spec.NodeSelector, flavor) || pod.Status.Phase != corev1.PodRunning {
			return fmt.Errorf("pod %s: %s, node selector %v", pod.Name, pod.Status.Phase, pod.Spec.NodeSelector)
		}
	}
	return nil
}

// Kueue holds applications back, admits, evicts and admits again; what it does not count is not run (finding 2 of the review of the schedulers).
func TestKueue(t *testing.T) {
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		t.Skip("no API server: TestSchedulers says what to do")
	}
	if only := os.Getenv("CONFORMANCE_SUBJECTS"); only != "" && !slices.Contains(strings.Split(only, ","), kueueTitle) {
		t.Skip("not one of CONFORMANCE_SUBJECTS=" + only)
	}
	t.Parallel()
	dir := t.TempDir()
	if kept := os.Getenv("CONFORMANCE_LOGS"); kept != "" {
		dir = filepath.Join(kept, t.Name())
	}
	lane(t, dir, func(c *cluster) {
		ctx, k, begun := t.Context(), kueue{c}, time.Now()
		must := func(what string, err error) {
			t.Helper()
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
		}
		flavor := map[string]string{"cloud.example.org/flavor": "spot"}
		must("start kube-scheduler", (&kube{cluster: c}).Start(ctx))
		must("start Kueue", k.start(ctx))
		must("make queues", k.queues(ctx))
		must("add a node", k.addNode(ctx, "node-spot", big(), flavor))
		k.operate(t)
		t.Logf("Kueue was there after %s", time.Since(begun).Round(time.Second))

		until := func(what, name string, check func(seen) error) seen {
			t.Helper()
			var last seen
			must(what, k.eventually(ctx, what, func() (err error) {
				if last, err = k.see(ctx, name); err != nil {
					return err
				}
				return check(last)
			}))
			return last
		}
		small := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("250m"), corev1.ResourceMemory: resource.MustParse("64Mi")}
		queued := func(name string, executors int32) *v1beta2.SparkApplication {
			o := testutil.Pi(testutil.New(kueueNamespace, name), testutil.Executors(executors))
			o.Labels = map[string]string{"kueue.x-k8s.io/queue-name": "jobs"}
			o.Spec.Mode = v1beta2.DeployModeCluster // Kueue refuses an empty mode
			o.Spec.Driver.CoreRequest, o.Spec.Driver.Memory = ptr.To("500m"), ptr.To("512m")
			o.Spec.Driver.Sidecars = []corev1.Container{{Name: "side", Image: "side", Resources: corev1.ResourceRequirements{Limits: small}}}
			o.Spec.Executor.Cores, o.Spec.Executor.CoreLimit, o.Spec.Executor.Memory = ptr.To(int32(1)), ptr.To("1500m"), ptr.To("1g")
			return o
		}

		pi := queued("pi", 2)
		pi.Spec.LogTails = v1beta2.LogTailsDisabled // unknown to Kueue, whose edits must leave it
		must("create", k.client.Create(ctx, pi))
		if !ptr.Deref(pi.Spec.Suspend, false) {
			t.Fatal("Kueue did not suspend it when it was created")
		}
		held := until("held back", "pi", func(s seen) error {
			if c := meta.FindStatusCondition(s.app.Status.Conditions, "Submitted"); c == nil || c.Reason != "Suspended" || s.counted() != 2 {
				return fmt.Errorf("%v, %d executors in the Workload", c, s.counted())
			}
			return nil
		})
		if len(held.pods) > 0 {
			t.Errorf("it has pods before it is admitted: %v", held.pods)
		}

		must("open the queue", k.setStop(ctx, "None"))
		first := until("admission", "pi", func(s seen) error { return s.runs(flavor) })
		counted := kubeflow.SparkApplications{}.Load(pi, lifecycle.Record{}).App.Counted
		for role, want := range map[string]corev1.ResourceList{
			spark.RoleDriver: counted.Driver, spark.RoleExecutor: scheduler.Times(counted.Executor, int64(counted.Executors)),
		} {
			if diff := cmp.Diff(want, first.usage(role)); diff != "" {
				t.Errorf("the operator believes that Kueue counts another size of each %s (-believed +counted):\n%s", role, diff)
			}
		}
		if first.app.Spec.LogTails != v1beta2.LogTailsDisabled {
			t.Error("Kueue's edit took a field away")
		}

		must("drain the queue", k.setStop(ctx, "HoldAndDrain"))
		until("eviction", "pi", func(s seen) error {
			if s.app.Status.AppState.State != v1beta2.ApplicationStateSuspended || len(s.pods) > 0 || len(s.app.Spec.Driver.NodeSelector) > 0 || s.is("QuotaReserved") {
				return fmt.Errorf("state %q, %d kinds of pods, node selector %v, quota reserved %t",
					s.app.Status.AppState.State, len(s.pods), s.app.Spec.Driver.NodeSelector, s.is("QuotaReserved"))
			}
			return nil
		})

		must("open the queue again", k.setStop(ctx, "None"))
		second := until("another admission", "pi", func(s seen) error { return s.runs(flavor) })
		if s := second.app.Status; s.Attempt != 2 || len(s.Attempts) != 2 || s.Attempts[0].FailureClass != "" || s.Retries != nil {
			t.Errorf("after an eviction: attempt %d, attempts %+v, retries %+v", s.Attempt, s.Attempts, s.Retries)
		}
		if second.pods[spark.RoleDriver][0].UID == first.pods[spark.RoleDriver][0].UID {
			t.Error("the driver is the same")
		}

		more := queued("more", 1)
		more.Spec.SparkConf = map[string]string{spark.ConfDynamicAllocation: "true", spark.ConfMaxExecutors: strconv.Itoa(50)}
		must("create", k.client.Create(ctx, more))
		refused := until("refusal", "more", func(s seen) error {
			if s.app.Status.AppState.State != v1beta2.ApplicationStateFailed || !s.is("Finished") {
				return fmt.Errorf("state %q, finished %t", s.app.Status.AppState.State, s.is("Finished"))
			}
			return nil
		})
		const want = `spec.sparkConf["spark.dynamicAllocation.maxExecutors"]: "50": up to 50 executors may run, and Kueue counts 1`
		if said := refused.app.Status.AppState.ErrorMessage; refused.counted() != 1 || !strings.Contains(said, want) || len(refused.pods) > 0 || refused.app.Status.ExecutionAttempts != 0 {
			t.Errorf("Kueue counted %d, it says %q and has pods %v", refused.counted(), said, refused.pods)
		}
		t.Logf("took %s", time.Since(begun).Round(time.Second))
	})
}
