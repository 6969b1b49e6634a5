// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/utils/ptr"
)

func sorted(all objects) []string {
	found := make([]string, 0, len(all))
	for key := range all {
		found = append(found, key)
	}
	slices.Sort(found)
	return found
}

func has(t *testing.T, all objects, keys ...string) {
	t.Helper()
	for _, key := range keys {
		if all[key] == nil {
			t.Errorf("%s is not rendered, but %v", key, sorted(all))
		}
	}
}

func lacks(t *testing.T, all objects, keys ...string) {
	t.Helper()
	for _, key := range keys {
		if all[key] != nil {
			t.Errorf("%s is rendered", key)
		}
	}
}

// grants reports whether one of the rules gives the right on all objects of the kind.
func grants(rules []rbacv1.PolicyRule, group, resource, verb string) bool {
	return slices.ContainsFunc(rules, func(r rbacv1.PolicyRule) bool {
		return slices.Contains(r.APIGroups, group) && slices.Contains(r.Resources, resource) && slices.Contains(r.Verbs, verb) && len(r.ResourceNames) == 0
	})
}

func podOf(t *testing.T, all objects, deployment string) corev1.PodSpec {
	t.Helper()
	return as[appsv1.Deployment](t, all, "Deployment "+namespace+"/"+deployment).Spec.Template.Spec
}

// podValues sets every value that is about the pod of a part.
func podValues(part string) string {
	return part + `:
  labels: {l: m}
  annotations: {a: b}
  deploymentAnnotations: {d: e}
  revisionHistoryLimit: 3
  logLevel: debug
  logEncoder: json
  volumes: [{name: extra, emptyDir: {}}]
  volumeMounts: [{name: extra, mountPath: /extra}]
  nodeSelector: {disk: ssd}
  affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: k, operator: Exists}]}]}}}
  tolerations: [{key: k, operator: Exists}]
  priorityClassName: high
  podSecurityContext: {fsGroup: 185}
  hostUsers: false
  env: [{name: HTTPS_PROXY, value: proxy}]
  envFrom: [{configMapRef: {name: more}}]
  sidecars: [{name: side, image: side}]
  resources: {limits: {cpu: "1"}}
  securityContext: {runAsUser: 5, runAsNonRoot: null, capabilities: null, seccompProfile: null, allowPrivilegeEscalation: null}
`
}

// checkPod looks for what podValues has set.
func checkPod(t *testing.T, all objects, name string) {
	t.Helper()
	deployment := as[appsv1.Deployment](t, all, "Deployment "+namespace+"/"+name)
	template := deployment.Spec.Template
	if deployment.Annotations["d"] != "e" || template.Annotations["a"] != "b" || template.Labels["l"] != "m" || *deployment.Spec.RevisionHistoryLimit != 3 {
		t.Errorf("annotations %v and %v, labels %v", deployment.Annotations, template.Annotations, template.Labels)
	}
	pod := template.Spec
	first := pod.Containers[0]
	if first.Name != name || len(pod.Containers) != 2 || pod.Containers[1].Name != "side" {
		t.Errorf("containers: the operator's comes first: %v", pod.Containers)
	}
	if !slices.Contains(first.Args, "--zap-log-level=debug") || !slices.Contains(first.Args, "--zap-encoder=json") {
		t.Errorf("arguments %v", first.Args)
	}
	if last := first.VolumeMounts[len(first.VolumeMounts)-1]; last.MountPath != "/extra" || pod.Volumes[len(pod.Volumes)-1].Name != "extra" {
		t.Errorf("mounts %+v", first.VolumeMounts)
	}
	if first.Env[len(first.Env)-1].Value != "proxy" || first.EnvFrom[0].ConfigMapRef.Name != "more" || first.Resources.Limits.Cpu().String() != "1" {
		t.Errorf("container %+v", first)
	}
	want := corev1.PodSpec{
		NodeSelector: map[string]string{"disk": "ssd"}, Tolerations: []corev1.Toleration{{Key: "k", Operator: "Exists"}},
		PriorityClassName: "high", SecurityContext: &corev1.PodSecurityContext{FSGroup: ptr.To[int64](185)}, HostUsers: ptr.To(false),
	}
	got := corev1.PodSpec{
		NodeSelector: pod.NodeSelector, Tolerations: pod.Tolerations, PriorityClassName: pod.PriorityClassName,
		SecurityContext: pod.SecurityContext, HostUsers: pod.HostUsers,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if pod.Affinity == nil || *first.SecurityContext.RunAsUser != 5 || first.SecurityContext.RunAsNonRoot != nil || !*first.SecurityContext.ReadOnlyRootFilesystem {
		t.Errorf("affinity %v, security %+v: a value of one's own is laid over the default", pod.Affinity, first.SecurityContext)
	}
}

// TestRefused are values that cannot be meant: each is refused with a sentence that names the key.
func TestRefused(t *testing.T) {
	cases := map[string]struct {
		reason, values string
		says           []string
	}{
		"Unknown":    {reason: "a key that does not exist would do nothing", values: `controller: {replicaCount: 2}`, says: []string{"/controller", "replicaCount"}},
		"Deep":       {reason: "at any depth", values: `controller: {batchScheduler: {quota: {mod: Warn}}}`, says: []string{"/controller/batchScheduler/quota", "mod"}},
		"Type":       {reason: "a word for a number", values: `controller: {replicas: two}`, says: []string{"/controller/replicas", "want integer"}},
		"Duration":   {reason: "a number without a unit", values: `controller: {leaderElection: {leaseDuration: 4}}`, says: []string{"leaseDuration", "want string"}},
		"Namespace":  {reason: "no namespace has such a name", values: `spark: {jobNamespaces: [Team_A]}`, says: []string{"/spark/jobNamespaces/0", "Team_A"}},
		"Account":    {reason: "no account has such a name", values: `controller: {defaultServiceAccount: Spark_Jobs}`, says: []string{"/controller/defaultServiceAccount", "Spark_Jobs"}},
		"Scheduler":  {reason: "no such plugin", values: `controller: {batchScheduler: {default: slurm}}`, says: []string{"batchScheduler/default", "volcano"}},
		"Mode":       {reason: "no such mode", values: `controller: {batchScheduler: {quota: {mode: enforce}}}`, says: []string{"quota/mode", "Enforce"}},
		"Port":       {reason: "no such port", values: `prometheus: {metrics: {port: 123456}}`, says: []string{"/prometheus/metrics/port", "65,535"}},
		"Spread":     {reason: "nothing to spread", values: `controller: {topologySpreadConstraints: [{maxSkew: 1}]}`, says: []string{"controller.topologySpreadConstraints", "controller.replicas: 1"}},
		"Budget":     {reason: "it would block drains", values: `controller: {podDisruptionBudget: {enable: true}}`, says: []string{"controller.podDisruptionBudget.enable", "at least 2"}},
		"WebhookPDB": {reason: "for the webhook as well", values: `webhook: {enable: true, podDisruptionBudget: {enable: true}}`, says: []string{"webhook.podDisruptionBudget.enable"}},
		"Selector":   {reason: "a selector that says nothing", values: `{webhook: {enable: true}, spark: {jobNamespaceSelector: "=x"}}`, says: []string{"spark.jobNamespaceSelector", `"=x"`}},
		"NoMetrics":  {reason: "a monitor of nothing", values: `prometheus: {metrics: {enable: false}, podMonitor: {create: true}}`, says: []string{"prometheus.podMonitor.create"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := helm(t, tc.values)
			if err == nil {
				t.Fatalf("%s: accepted", tc.reason)
			}
			for _, text := range tc.says {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("%s: the error does not say %q: %v", tc.reason, text, err)
				}
			}
		})
	}
}

// TestMissingAPIs are refused before anything is created.
func TestMissingAPIs(t *testing.T) {
	for values, says := range map[string]string{
		"prometheus: {podMonitor: {create: true}}":               "no PodMonitor of monitoring.coreos.com/v1",
		"{webhook: {enable: true}, certManager: {enable: true}}": "no Certificate of cert-manager.io/v1",
		"executorMemoryLimit: {enable: true}":                    "no MutatingAdmissionPolicy of admissionregistration.k8s.io/v1; upgrade to Kubernetes 1.36",
		"recordSubmitter: {from: AdmissionPolicy}":               "no MutatingAdmissionPolicy of admissionregistration.k8s.io/v1; upgrade to Kubernetes 1.36",
		"recordSubmitter: {from: Webhook}":                       "Webhook needs webhook.enable: true and webhook.failurePolicy: Fail",
		"executorAdmissionPolicy: {enable: true}":                "no ValidatingAdmissionPolicy of admissionregistration.k8s.io/v1; upgrade to Kubernetes 1.30",
	} {
		_, err := run(t, tool(t, "helm", "helm"), "template", release, chartPath, "--set-json", "controller={}", "-f", valuesFile(t, values))
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: want an error with %q, got %v", values, says, err)
		}
	}
}
