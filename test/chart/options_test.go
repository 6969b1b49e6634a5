// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/firesteel-dev/firesteel/internal/config"
	"github.com/firesteel-dev/firesteel/internal/lifecycle"
)

const configMap = "ConfigMap ops/spark-operator-controller-config"

// options are what is off by default.
var options = map[string]combination{
	"Selector": {reason: "namespaces by label take rights in the whole cluster", values: `spark: {jobNamespaces: [a], jobNamespaceSelector: "team=x"}`, check: func(t *testing.T, all objects) {
		t.Helper()
		rules := as[rbacv1.ClusterRole](t, all, "ClusterRole spark-operator-controller").Rules
		if !grants(rules, "", "namespaces", "watch") || !grants(rules, "", "pods", "create") {
			t.Errorf("rules %+v", rules)
		}
		c := configOf(t, all, configMap)
		if c.NamespaceSelector != "team=x" || !slices.Equal(c.Namespaces, []string{"a"}) {
			t.Errorf("namespaces %v and those with %q", c.Namespaces, c.NamespaceSelector)
		}
		has(t, all, "ServiceAccount a/spark-operator-spark")
		lacks(t, all, "Role a/spark-operator-controller")
	}},
	"SelectorAndAll": {reason: `"" stands for all, whatever else is named`, values: `spark: {jobNamespaces: ["", a], jobNamespaceSelector: "team=x"}`, check: func(t *testing.T, all objects) {
		t.Helper()
		if c := configOf(t, all, configMap); c.NamespaceSelector != "" || len(c.Namespaces) != 0 {
			t.Errorf("namespaces %v and those with %q, want all", c.Namespaces, c.NamespaceSelector)
		}
	}},
	"Policies": {reason: "policies as they are, and Kubeflow's key for the time to live", values: `controller: {defaultTimeToLiveSeconds: 60, policies: [{name: a, namespaces: ["a-*"], limits: {executors: 5}}]}`, check: func(t *testing.T, all objects) {
		t.Helper()
		policies := configOf(t, all, configMap).Policies
		if len(policies) != 2 || policies[0].Name != "a" || *policies[1].Defaults.TimeToLiveSeconds != 60 || !slices.Equal(policies[1].Namespaces, []string{"*"}) {
			t.Errorf("policies %+v", policies)
		}
	}},
	"Exposure": {reason: "ingresses, routes, budgets and the history server, with the rights for them", values: `
controller:
  uiService: {enable: true}
  uiIngress: {enable: true, urlFormat: "{{$appName}}.example.com", ingressClassName: nginx, tls: [{hosts: [example.com], secretName: s}], annotations: {a: b}}
  uiRoute: {enable: true, urlFormat: "{{$appName}}.example.com", parentRefs: [{name: gateway, namespace: infra}], annotations: {c: d}}
  historyServer: {urlFormat: "https://history.example.com/{{$appId}}"}
  driverPodDisruptionBudget: {enable: true}`, check: func(t *testing.T, all objects) {
		t.Helper()
		c := configOf(t, all, configMap)
		i, r := c.UI.Ingress, c.UI.Route
		if !c.UI.Service || !i.Enabled || i.URLFormat != "{{$appName}}.example.com" || i.ClassName != "nginx" || i.TLS[0].SecretName != "s" || i.Annotations["a"] != "b" {
			t.Errorf("ingress %+v", i)
		}
		if r.URLFormat != "{{$appName}}.example.com" || r.ParentRefs[0].Namespace != "infra" || r.Annotations["c"] != "d" {
			t.Errorf("route %+v", r)
		}
		if c.HistoryServer.URLFormat != "https://history.example.com/{{$appId}}" || !c.DriverPodDisruptionBudget.Enabled {
			t.Errorf("%+v, %+v", c.HistoryServer, c.DriverPodDisruptionBudget)
		}
		rules := as[rbacv1.Role](t, all, "Role default/spark-operator-controller").Rules
		if !grants(rules, "networking.k8s.io", "ingresses", "create") || !grants(rules, "gateway.networking.k8s.io", "httproutes", "create") || !grants(rules, "policy", "poddisruptionbudgets", "create") {
			t.Errorf("rules %+v", rules)
		}
	}},
	"DriverIngress": {reason: "applications ask for Ingresses of their own, as with Kubeflow's operator, whether or not UIs have one", check: func(t *testing.T, all objects) {
		t.Helper()
		if i := configOf(t, all, configMap).Exposure().Ingress; !i.Enabled || i.URLFormat != "" {
			t.Errorf("ingress %+v", i)
		}
		if rules := as[rbacv1.Role](t, all, "Role default/spark-operator-controller").Rules; !grants(rules, "networking.k8s.io", "ingresses", "create") {
			t.Errorf("rules %+v", rules)
		}
	}},
	"DriverRole": {reason: "drivers may do what Kubeflow's Role lets them do (finding 19), and what Spark 4.2 needs to resize executors", check: func(t *testing.T, all objects) {
		t.Helper()
		rules := as[rbacv1.Role](t, all, "Role default/spark-operator-spark").Rules
		for _, resource := range []string{"pods", "configmaps", "persistentvolumeclaims", "services"} {
			for _, verb := range []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"} {
				if !grants(rules, "", resource, verb) {
					t.Errorf("no right to %s %s", verb, resource)
				}
			}
		}
		if !grants(rules, "", "pods/resize", "patch") || !grants(rules, "metrics.k8s.io", "pods", "get") {
			t.Errorf("no right to resize: %+v", rules)
		}
		if grants(rules, "apps", "statefulsets", "create") {
			t.Errorf("drivers may create StatefulSets, whose pods no policy for executors judges: %+v", rules)
		}
	}},
	"StatefulSets": {reason: "Spark's allocator needs them, and no other driver does", values: "spark: {rbac: {statefulSets: true}}", check: func(t *testing.T, all objects) {
		t.Helper()
		rules := as[rbacv1.Role](t, all, "Role default/spark-operator-spark").Rules
		for resource, verbs := range map[string][]string{
			"pods": {"create"}, "statefulsets": {"get", "create", "delete"}, "statefulsets/scale": {"get", "update"}, "deployments": {"get", "create", "delete"}, "deployments/scale": {"get", "update"},
		} {
			for _, verb := range verbs {
				if group := map[bool]string{true: "", false: "apps"}[resource == "pods"]; !grants(rules, group, resource, verb) {
					t.Errorf("no right to %s %s: %+v", verb, resource, rules)
				}
			}
		}
	}},
	"NoUI": {reason: "no Service either", values: `controller: {uiService: {enable: false}, driverIngress: {enable: false}}`, check: func(t *testing.T, all objects) {
		t.Helper()
		if configOf(t, all, configMap).UI.Service {
			t.Error("a Service for each UI all the same")
		}
		if rules := as[rbacv1.Role](t, all, "Role default/spark-operator-controller").Rules; grants(rules, "networking.k8s.io", "ingresses", "create") {
			t.Errorf("rights for what is off: %+v", rules)
		}
	}},
	"MetricsNames": {reason: "Kubeflow's keys of the metrics", values: `prometheus: {metrics: {prefix: x, labels: "app_type,team", jobSubmitLatencyBuckets: "1,2.5", jobStartLatencyBuckets: "10"}}`, check: func(t *testing.T, all objects) {
		t.Helper()
		m := configOf(t, all, configMap).Metrics
		if m.Prefix != "x" || !slices.Equal(m.Labels, []string{"app_type", "team"}) || !slices.Equal(m.JobSubmitLatencyBuckets, []float64{1, 2.5}) || !slices.Equal(m.JobStartLatencyBuckets, []float64{10}) {
			t.Errorf("metrics %+v", m)
		}
	}},
	"MetricsTLS": {reason: "a certificate of the administrator's in both processes, and who scrapes is told", values: `{webhook: {enable: true}, prometheus: {metrics: {tls: {enable: true, secretName: certs}}, podMonitor: {create: true}}}`, check: func(t *testing.T, all objects) {
		t.Helper()
		m := configOf(t, all, configMap).Metrics.TLS
		for _, part := range []string{controller, webhook} {
			pod := podOf(t, all, part)
			mount := pod.Containers[0].VolumeMounts[1]
			if !m.Enabled || m.CertDir != mount.MountPath || pod.Volumes[1].Secret.SecretName != "certs" || !mount.ReadOnly {
				t.Errorf("%s: %+v; mount %+v", part, m, mount)
			}
			if scheme := as[appsv1.Deployment](t, all, "Deployment ops/"+part).Spec.Template.Annotations["prometheus.io/scheme"]; scheme != "https" {
				t.Errorf("%s: scraped by %q", part, scheme)
			}
		}
		if text := toJSON(t, all["PodMonitor ops/spark-operator-podmonitor"].Object["spec"]); !strings.Contains(text, `"scheme":"https"`) || strings.Contains(text, "insecure") {
			t.Errorf("monitor %s", text)
		}
	}},
	"MetricsSelfSigned": {reason: "no one can check a certificate that is signed at each start", values: `prometheus: {metrics: {tls: {enable: true}}, serviceMonitor: {create: true, labels: {release: p}}}`, check: func(t *testing.T, all objects) {
		t.Helper()
		if text := toJSON(t, all["ServiceMonitor ops/spark-operator-controller"].Object); !strings.Contains(text, `"insecureSkipVerify":true`) || !strings.Contains(text, `"release":"p"`) {
			t.Errorf("monitor %s", text)
		}
		service := as[corev1.Service](t, all, "Service ops/spark-operator-controller-metrics")
		template := as[appsv1.Deployment](t, all, "Deployment ops/"+controller).Spec.Template
		for key, value := range service.Spec.Selector {
			if template.Labels[key] != value {
				t.Errorf("the Service looks for %s=%s, the pods have %v", key, value, template.Labels)
			}
		}
		if template.Annotations["prometheus.io/scheme"] != "https" {
			t.Errorf("annotations %v", template.Annotations)
		}
	}},
	"MetricsTLSLimits": {reason: "what an administrator's rules for TLS ask for", values: `prometheus: {metrics: {tls: {enable: true, cipherSuites: [TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384]}}}`, check: func(t *testing.T, all objects) {
		t.Helper()
		if got := configOf(t, all, configMap).Metrics.TLS; !slices.Equal(got.CipherSuites, []string{"TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"}) || got.MinVersion != "VersionTLS12" {
			t.Errorf("TLS %+v", got)
		}
	}},
	"MetricsTLSVersion": {reason: "nothing but TLS 1.3", values: `prometheus: {metrics: {tls: {enable: true, minVersion: VersionTLS13}}}`, check: func(t *testing.T, all objects) {
		t.Helper()
		if got := configOf(t, all, configMap).Metrics.TLS; got.MinVersion != "VersionTLS13" {
			t.Errorf("TLS %+v", got)
		}
	}},
	"Pprof": {reason: "Kubeflow's keys and its Service; only the controller has profiles", values: `controller: {pprof: {enable: true, port: 6061, portName: prof}}`, check: func(t *testing.T, all objects) {
		t.Helper()
		if got := configOf(t, all, configMap).Pprof.BindAddress; got != ":6061" {
			t.Errorf("it listens on %q", got)
		}
		service := as[corev1.Service](t, all, "Service ops/spark-operator-controller-svc")
		template := as[appsv1.Deployment](t, all, "Deployment ops/"+controller).Spec.Template
		for key, value := range service.Spec.Selector {
			if template.Labels[key] != value {
				t.Errorf("the Service looks for %s=%s, the pods have %v", key, value, template.Labels)
			}
		}
		port := corev1.ContainerPort{Name: "prof", ContainerPort: 6061}
		if p := service.Spec.Ports[0]; p.Port != 6061 || p.TargetPort.StrVal != "prof" || !slices.Contains(template.Spec.Containers[0].Ports, port) {
			t.Errorf("port %+v of the Service, %+v of the pod", p, template.Spec.Containers[0].Ports)
		}
	}},
	"Alerts": {reason: "alert rules and the dashboard", values: `{prometheus: {rules: {create: true, labels: {release: p}}}, grafana: {dashboard: {create: true, annotations: {folder: spark}}}}`, check: func(t *testing.T, all objects) {
		t.Helper()
		rule := all["PrometheusRule ops/spark-operator-alerts"]
		if rule == nil || rule.GetLabels()["release"] != "p" || !strings.Contains(toJSON(t, rule.Object["spec"]), `"alert":"`) {
			t.Errorf("rule %v", rule)
		}
		board := as[corev1.ConfigMap](t, all, "ConfigMap ops/spark-operator-dashboard")
		if board.Labels["grafana_dashboard"] != "1" || board.Annotations["folder"] != "spark" || !strings.HasPrefix(board.Data["dashboard.json"], "{") {
			t.Errorf("dashboard %v, %v", board.Labels, board.Annotations)
		}
	}},
	"NoWebhook": {reason: "as safe without it: the controller makes the same checks", values: `webhook: {enable: false}`, check: func(t *testing.T, all objects) {
		t.Helper()
		for _, key := range sorted(all) {
			if strings.Contains(strings.ToLower(key), "webhook") {
				t.Errorf("%s is made all the same", key)
			}
		}
		if len(all.keys("ClusterRole", "ClusterRoleBinding")) > 0 {
			t.Error("rights in the whole cluster, and nothing needs them")
		}
	}},
	"Webhook": {reason: "with a certificate of its own, and rights to nothing else", values: `{webhook: {failurePolicy: Fail, timeoutSeconds: 5, port: 9444}, spark: {jobNamespaces: [a]}}`, check: func(t *testing.T, all objects) {
		t.Helper()
		c := configOf(t, all, configMap).Webhook
		if c.Port != 9444 || c.SecretName != "spark-operator-webhook-certs" || c.ServiceName != "spark-operator-webhook-svc" || c.Configurations != webhook || c.Certificates != config.CertificatesSelf {
			t.Errorf("configuration %+v", c)
		}
		if text := toJSON(t, all["Secret ops/spark-operator-webhook-certs"].Object); strings.Contains(text, `"data"`) {
			t.Errorf("the Secret has data, which an upgrade would put back: %s", text)
		}
		want := []rbacv1.PolicyRule{{Verbs: []string{"list", "watch", "update"}, APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{"spark-operator-webhook-certs"}}}
		if diff := cmp.Diff(want, as[rbacv1.Role](t, all, "Role ops/"+webhook).Rules); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		checkAdmission(t, all, "", "In [a]")
	}},
	"WebhookSelector": {reason: "asked about the namespaces of the list, and those of the selector", values: `{webhook: {enable: true}, spark: {jobNamespaces: [a], jobNamespaceSelector: "x=y, z notin (1,2),!w"}}`, check: func(t *testing.T, all objects) {
		t.Helper()
		hooks := as[admissionv1.ValidatingWebhookConfiguration](t, all, "ValidatingWebhookConfiguration "+webhook).Webhooks
		want := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: "x", Operator: "In", Values: []string{"y"}}, {Key: "z", Operator: "NotIn", Values: []string{"1", "2"}}, {Key: "w", Operator: "DoesNotExist"},
		}}
		if len(hooks) != 6 { // two of each kind
			t.Fatalf("webhooks %+v", hooks)
		}
		for _, i := range []int{1, 3, 5} {
			if diff := cmp.Diff(want, hooks[i].NamespaceSelector); diff != "" {
				t.Errorf("%s (-want +got):\n%s", hooks[i].Name, diff)
			}
		}
	}},
	"WebhookAll": {reason: "all namespaces", values: `{webhook: {enable: true}, spark: {jobNamespaces: []}}`, check: func(t *testing.T, all objects) {
		t.Helper()
		if s := as[admissionv1.MutatingWebhookConfiguration](t, all, "MutatingWebhookConfiguration "+webhook).Webhooks[0].NamespaceSelector; s != nil {
			t.Errorf("selector %v, want none", s)
		}
	}},
	"CertManager": {reason: "cert-manager makes the certificate, and the webhook needs no rights", values: `{webhook: {enable: true}, certManager: {enable: true, duration: 2160h, renewBefore: 360h}}`, check: func(t *testing.T, all objects) {
		t.Helper()
		has(t, all, "Issuer ops/spark-operator-self-signed-issuer", "Certificate ops/spark-operator-certificate")
		lacks(t, all, "Secret ops/spark-operator-webhook-certs", "Role ops/"+webhook, "ClusterRole "+webhook)
		if from := all["MutatingWebhookConfiguration "+webhook].GetAnnotations()["cert-manager.io/inject-ca-from"]; from != "ops/spark-operator-certificate" {
			t.Errorf("the CA comes from %q", from)
		}
		if got := configOf(t, all, configMap).Webhook.Certificates; got != config.CertificatesFiles {
			t.Errorf("certificates %q", got)
		}
		if pod := podOf(t, all, webhook); pod.Volumes[1].Secret == nil || pod.Volumes[1].Secret.SecretName != "spark-operator-webhook-certs" {
			t.Errorf("volumes %+v", pod.Volumes)
		}
		if text := toJSON(t, all["Certificate ops/spark-operator-certificate"].Object); !strings.Contains(text, "spark-operator-webhook-svc.ops.svc") || !strings.Contains(text, `"duration":"2160h"`) {
			t.Errorf("certificate %s", text)
		}
	}},
	"OwnIssuer": {reason: "an issuer that exists", values: `{webhook: {enable: true}, certManager: {enable: true, issuerRef: {kind: ClusterIssuer, name: corporate}}}`, check: func(t *testing.T, all objects) {
		t.Helper()
		lacks(t, all, "Issuer ops/spark-operator-self-signed-issuer")
	}},
	"WebhookPod": {reason: "everything that one may say of its pod", values: podValues("webhook") + "  enable: true\n", check: func(t *testing.T, all objects) {
		t.Helper()
		checkPod(t, all, webhook)
	}},
	"NoExecutorMemory": {reason: "it was turned off", values: `{executorMemoryLimit: {enable: false}}`, check: func(t *testing.T, all objects) {
		t.Helper()
		if all["MutatingAdmissionPolicy spark-operator-executor-memory"] != nil {
			t.Error("there is a policy")
		}
	}},
	"ExecutorMemory": {reason: "it holds in the job namespaces, by default where the cluster has such policies (finding 15)", values: `{spark: {jobNamespaces: [a]}}`, check: func(t *testing.T, all objects) {
		t.Helper()
		const name = "spark-operator-executor-memory"
		as[admissionv1.MutatingAdmissionPolicy](t, all, "MutatingAdmissionPolicy "+name)
		binding := as[admissionv1.MutatingAdmissionPolicyBinding](t, all, "MutatingAdmissionPolicyBinding "+name).Spec
		if binding.PolicyName != name || binding.MatchResources == nil || binding.MatchResources.NamespaceSelector == nil {
			t.Errorf("binding %+v", binding)
		}
	}},
	"SubmitterPolicy": {reason: "the chart's controller may write what it records", values: `{recordSubmitter: {from: Auto, since: "2026-11-29T08:00:00Z"}, controller: {serviceAccount: {name: op}}, spark: {jobNamespaces: [a]}}`, check: func(t *testing.T, all objects) {
		t.Helper()
		const name = "spark-operator-submitter"
		policy := as[admissionv1.MutatingAdmissionPolicy](t, all, "MutatingAdmissionPolicy "+name).Spec
		if condition := policy.MatchConditions[0].Expression; !strings.Contains(condition, "'system:serviceaccount:"+namespace+":op'") {
			t.Errorf("who may write it: %s", condition)
		}
		if *policy.FailurePolicy != admissionv1.Fail {
			t.Error("what is recorded is trusted, and must not pass unseen")
		}
		binding := as[admissionv1.MutatingAdmissionPolicyBinding](t, all, "MutatingAdmissionPolicyBinding "+name).Spec
		if binding.PolicyName != name || binding.MatchResources == nil || binding.MatchResources.NamespaceSelector == nil {
			t.Errorf("binding %+v", binding)
		}
		if c := configOf(t, all, configMap).Submitter; c.From != lifecycle.SubmitterFromPolicy || !c.Since.Time.Equal(time.Date(2026, 11, 29, 8, 0, 0, 0, time.UTC)) {
			t.Errorf("the operator believes %q since %s", c.From, c.Since)
		}
	}},
	"SubmitterWebhook": {reason: "every kind passes it", values: `{recordSubmitter: {from: Webhook}, webhook: {enable: true, failurePolicy: Fail}}`, check: func(t *testing.T, all objects) {
		t.Helper()
		if hooks := as[admissionv1.MutatingWebhookConfiguration](t, all, "MutatingWebhookConfiguration "+webhook).Webhooks; len(hooks) != 3 {
			t.Errorf("webhooks %+v", hooks)
		}
		c := configOf(t, all, configMap).Submitter
		if c.From != lifecycle.SubmitterFromWebhook || c.OperatorUser != "system:serviceaccount:"+namespace+":spark-operator-controller" {
			t.Errorf("the configuration says %+v", c)
		}
	}},
	"ExecutorPolicy": {reason: "it is about the chart's service account, in the job namespaces", values: `{executorAdmissionPolicy: {enable: true, executorServiceAccounts: [exec]}, spark: {jobNamespaces: [a], serviceAccount: {name: driver}}}`, check: func(t *testing.T, all objects) {
		t.Helper()
		policy := as[admissionv1.ValidatingAdmissionPolicy](t, all, "ValidatingAdmissionPolicy spark-operator-executors")
		if condition := policy.Spec.MatchConditions[0].Expression; !strings.HasSuffix(condition, "in ['driver']") {
			t.Errorf("it is about %s", condition)
		}
		if accounts := policy.Spec.Variables[0].Expression; !strings.HasPrefix(accounts, "['default', 'exec', ") {
			t.Errorf("executors may have %s", accounts)
		}
		binding := as[admissionv1.ValidatingAdmissionPolicyBinding](t, all, "ValidatingAdmissionPolicyBinding spark-operator-executors")
		if binding.Spec.PolicyName != policy.Name || binding.Spec.MatchResources.NamespaceSelector.MatchExpressions[0].Values[0] != "a" {
			t.Errorf("binding %+v", binding.Spec)
		}
	}},
}

// checkAdmission looks at both configurations: who is asked about what.
func checkAdmission(t *testing.T, all objects, suffix, namespaces string) {
	t.Helper()
	mutations := as[admissionv1.MutatingWebhookConfiguration](t, all, "MutatingWebhookConfiguration "+webhook).Webhooks
	mutating := mutations[len(mutations)-1]
	hooks := as[admissionv1.ValidatingWebhookConfiguration](t, all, "ValidatingWebhookConfiguration "+webhook).Webhooks
	i := slices.IndexFunc(hooks, func(h admissionv1.ValidatingWebhook) bool {
		return slices.Equal(h.Rules[0].Resources, mutating.Rules[0].Resources)
	})
	if i < 0 {
		t.Fatalf("webhooks %+v", hooks)
	}
	validating := hooks[i]
	for _, resource := range []string{"scheduledsparkapplications", "sparkconnects"} {
		other := slices.IndexFunc(hooks, func(h admissionv1.ValidatingWebhook) bool {
			return slices.Equal(h.Rules[0].Resources, []string{resource})
		})
		if other < 0 {
			t.Fatalf("nobody is asked about %s: %+v", resource, hooks)
		}
		if diff := cmp.Diff(validating.NamespaceSelector, hooks[other].NamespaceSelector); diff != "" {
			t.Errorf("%s of other namespaces are judged: %s", resource, diff)
		}
	}
	if mutating.Name != "mutate-sparkoperator-k8s-io-v1beta2-sparkapplication"+suffix+".sparkoperator.k8s.io" {
		t.Errorf("name %s", mutating.Name)
	}
	if diff := cmp.Diff(mutating.Rules, validating.Rules); diff != "" || !slices.Equal(mutating.Rules[0].Resources, []string{"sparkapplications"}) {
		t.Errorf("rules %+v, and the validating one's differ: %s", mutating.Rules, diff)
	}
	service := as[corev1.Service](t, all, "Service ops/spark-operator-webhook-svc")
	pod := podOf(t, all, webhook)
	client := validating.ClientConfig.Service
	if client.Name != service.Name || *client.Port != service.Spec.Ports[0].Port || pod.Containers[0].Ports[0].ContainerPort != 9444 || client.Namespace != namespace {
		t.Errorf("it is asked at %+v, and listens on %+v behind %+v", client, pod.Containers[0].Ports, service.Spec.Ports)
	}
	if *mutating.FailurePolicy != "Fail" || *mutating.TimeoutSeconds != 5 {
		t.Errorf("failure policy %s after %d s", *mutating.FailurePolicy, *mutating.TimeoutSeconds)
	}
	if e := mutating.NamespaceSelector.MatchExpressions[0]; string(e.Operator)+" "+"["+strings.Join(e.Values, " ")+"]" != namespaces {
		t.Errorf("namespaces %+v, want %s", e, namespaces)
	}
}

func TestOptions(t *testing.T) { checkAll(t, options) }

// TestLiveValuesRestartNothing : the operator takes over namespaces and policies without a restart, all else by one.
func TestLiveValuesRestartNothing(t *testing.T) {
	checksum := func(values string) string {
		return as[appsv1.Deployment](t, render(t, values), "Deployment ops/"+controller).Spec.Template.Annotations["checksum/config"]
	}
	before := checksum("{}")
	for _, values := range []string{`spark: {jobNamespaces: [a, b]}`, `spark: {jobNamespaceSelector: "x=y"}`, `controller: {policies: [{name: a, namespaces: ["*"]}]}`} {
		if checksum(values) != before {
			t.Errorf("%s restarts the operator", values)
		}
	}
	for _, values := range []string{`controller: {workers: 3}`, `controller: {uiService: {enable: false}}`} {
		if checksum(values) == before {
			t.Errorf("%s does not restart the operator, which would not see it", values)
		}
	}
}
