// SPDX-License-Identifier: Apache-2.0

package quota

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/firesteel-dev/firesteel/internal/scheduler"
)

// sidecar gives the executors a second container. Both containers are known then.
func sidecar(cpu, memory string) func(*scheduler.Attempt) {
	amounts := corev1.ResourceList{}
	for name, value := range map[corev1.ResourceName]string{"cpu": cpu, "memory": memory} {
		if value != "" {
			amounts[name] = resource.MustParse(value)
		}
	}
	return func(a *scheduler.Attempt) {
		e := &a.PodSets.Executor
		e.Parts = &corev1.PodSpec{Containers: []corev1.Container{
			{Name: "spark-kubernetes-executor", Resources: corev1.ResourceRequirements{Requests: e.Requests, Limits: e.Limits}},
			{Name: "side", Resources: corev1.ResourceRequirements{Requests: amounts, Limits: amounts}},
		}}
	}
}

// whole gives the executors a sidecar, and resources of the pod as a whole.
func whole(a *scheduler.Attempt) {
	sidecar("", "")(a)
	a.PodSets.Executor.Parts.Resources = &corev1.ResourceRequirements{Requests: a.PodSets.Executor.Requests, Limits: a.PodSets.Executor.Limits}
}

// near lets executors be placed near other pods.
func near(term corev1.PodAffinityTerm) func(*scheduler.Attempt) {
	return func(a *scheduler.Attempt) {
		a.PodSets.ExecutorAttributes.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{
			PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{Weight: 1, PodAffinityTerm: term}},
		}}
	}
}

// The API server requires resources of each container, a LimitRange fills in each, and scopes go by what a template sets.
func TestCountedAsByTheAPIServer(t *testing.T) {
	scoped := func(scope string) objects {
		return objects{resourceQuota(t, "compute", "{requests.cpu: 1}", "{}", ", scopes: ["+scope+"]")}
	}
	quota := func(hard string) objects { return objects{resourceQuota(t, "compute", hard, "{}", "")} }
	deadline := func(a *scheduler.Attempt) { a.PodSets.ExecutorAttributes.Deadline = true }
	const lacks = ", but the container side of the executor has none and would be refused; set it in the container's resources, or ask for a LimitRange with a default"
	const executors = "the request exceeds ResourceQuota compute of namespace team-a: requests.cpu asked 6, limit 1"
	cases := map[string]struct {
		reason         string
		change         func(*scheduler.Attempt)
		quotas, ranges objects
		code           scheduler.Reason
		message        string
	}{
		"Ending":    {reason: "a template gives executors a deadline (finding 9)", change: deadline, quotas: scoped("Terminating"), code: scheduler.ReasonExceedsQuota, message: executors},
		"NotEnding": {reason: "the driver has none", change: deadline, quotas: scoped("NotTerminating"), code: admitted},
		"Within":    {reason: "executors are near pods of their own namespace", change: near(corev1.PodAffinityTerm{}), quotas: scoped("CrossNamespacePodAffinity"), code: admitted},
		"Across":    {reason: "executors are near pods of another namespace (finding 9)", change: near(corev1.PodAffinityTerm{Namespaces: []string{"x"}}), quotas: scoped("CrossNamespacePodAffinity"), code: scheduler.ReasonExceedsQuota, message: executors},
		"Limit":     {reason: "a sidecar without a limit (finding 8)", change: sidecar("", ""), quotas: quota("{limits.memory: 40Gi}"), code: scheduler.ReasonQuotaRequiresLimits, message: "ResourceQuota compute of namespace team-a counts limits.memory" + lacks},
		"Short":     {reason: "the short name requires a request, too", change: sidecar("", "1Gi"), quotas: quota("{cpu: 40}"), code: scheduler.ReasonQuotaRequiresLimits, message: "ResourceQuota compute of namespace team-a counts cpu" + lacks},
		"Whole":     {reason: "the pod as a whole has resources", change: whole, quotas: quota("{limits.memory: 40Gi}"), code: admitted},
		"Requests":  {reason: "a LimitRange fills in each container (finding 8)", change: sidecar("", ""), quotas: quota("{requests.ephemeral-storage: 6Gi}"), ranges: objects{requestRange(t, "{ephemeral-storage: 1Gi}")}, code: scheduler.ReasonExceedsQuota, message: "the request exceeds ResourceQuota compute of namespace team-a: requests.ephemeral-storage asked 7Gi, limit 6Gi"},
		"Limits":    {reason: "a LimitRange gives the sidecar what is required", change: sidecar("", ""), quotas: quota("{limits.memory: 40Gi}"), ranges: objects{limitRange(t, "{memory: 1Gi}")}, code: admitted},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a := attempt()
			tc.change(&a)
			got, err := New("Enforce", nil).Admit(a, snapshot(tc.quotas, tc.ranges, nil))
			if err != nil || got.Reason != tc.code || !strings.Contains(got.Message, tc.message) {
				t.Errorf("%s: %s %q, %v; want %s %q", tc.reason, got.Reason, got.Message, err, tc.code, tc.message)
			}
		})
	}
}
