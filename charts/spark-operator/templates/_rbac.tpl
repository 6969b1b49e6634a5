{{/* The rules of the controller, and of what else is enabled, as a JSON list. */}}
{{- define "spark-operator.rules" -}}
{{- $rules := list -}}
{{- $ingress := or .Values.controller.uiIngress.enable .Values.controller.driverIngress.enable -}}
{{- range (.Files.Get "files/role.yaml" | fromYaml).rules -}}
{{- if or $ingress (not (has "ingresses" .resources)) }}{{ $rules = append $rules . }}{{ end -}}
{{- end -}}
{{- $fragments := list -}}
{{- range include "spark-operator.schedulers" . | fromJsonArray }}{{ $fragments = append $fragments (printf "schedulers/%s" .) }}{{ end -}}
{{- if ne (include "spark-operator.quotaMode" .) "Off" }}{{ $fragments = append $fragments "schedulers/quota" }}{{ end -}}
{{- if .Values.apache.enable }}{{ $fragments = append $fragments "families/apache" }}{{ end -}}
{{- if and .Values.apache.enable $ingress }}{{ $fragments = append $fragments "families/apache-routes" }}{{ end -}}
{{- with .Values.controller -}}
{{- if .uiRoute.enable }}{{ $fragments = append $fragments "exposure/httproute" }}{{ end -}}
{{- if .driverPodDisruptionBudget.enable }}{{ $fragments = append $fragments "exposure/poddisruptionbudget" }}{{ end -}}
{{- end -}}
{{- range $fragments }}
{{- with $.Files.Get (printf "files/%s.yaml" .) }}{{ $rules = concat $rules (fromYamlArray .) }}{{ end -}}
{{- end -}}
{{- if include "spark-operator.jobNamespaceSelector" . }}
{{- with .Files.Get "files/namespace_selector_role.yaml" }}{{ $rules = concat $rules (fromYaml .).rules }}{{ end -}}
{{- end -}}
{{- $rules | uniq | toJson -}}
{{- end -}}

{{/*
Parts of these rules: (list $ "namespaced") are those that a Role can give, (list $ "cluster") the others but for
priorityclasses: the operator does without, see internal/scheduler.
*/}}
{{- define "spark-operator.rulesOf" -}}
{{- $scope := index . 1 -}}
{{- $found := list -}}
{{- range include "spark-operator.rules" (index . 0) | fromJsonArray -}}
{{- $resources := without .resources "priorityclasses" "queues" -}}
{{- if eq $scope "cluster" }}{{ $resources = has "queues" .resources | ternary (list "queues") list }}{{ end -}}
{{- if $resources }}{{ $found = append $found (merge (dict "resources" $resources) .) }}{{ end -}}
{{- end -}}
{{- $found | toJson -}}
{{- end -}}

{{/* Metadata of a role or binding: (dict "root" $ "name" NAME "namespace" NAMESPACE "component" PART "annotations" MAP). */}}
{{- define "spark-operator.meta" -}}
metadata:
  name: {{ .name }}
  {{- with .namespace }}
  namespace: {{ . }}
  {{- end }}
  labels:
    {{- include "spark-operator.labels" (list .root .component) | nindent 4 }}
  {{- with .annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end -}}

{{/*
A role and its binding: the arguments of spark-operator.meta, and "rules" as a list, "account" and "accountNamespace".
Without a namespace they are a ClusterRole and a ClusterRoleBinding.
*/}}
{{- define "spark-operator.grant" -}}
{{- $kind := empty .namespace | ternary "ClusterRole" "Role" -}}
{{- if not .namespace -}}
{{- range list $kind (printf "%sBinding" $kind) }}{{ include "spark-operator.free" (list $.root "rbac.authorization.k8s.io/v1" . $.name) }}{{ end -}}
{{- end -}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ $kind }}
{{ include "spark-operator.meta" . }}
rules:
{{ toYaml .rules }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ $kind }}Binding
{{ include "spark-operator.meta" . }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ $kind }}
  name: {{ .name }}
subjects:
- kind: ServiceAccount
  name: {{ .account }}
  namespace: {{ .accountNamespace }}
{{- end -}}

{{/* A service account: the arguments of spark-operator.meta, and "automount". */}}
{{- define "spark-operator.account" -}}
---
apiVersion: v1
kind: ServiceAccount
{{ include "spark-operator.meta" . }}
automountServiceAccountToken: {{ .automount }}
{{- end -}}

{{/*
The rules of drivers, as a JSON list. The operator creates the Services that a driver needs: with hardened its program cannot publish
itself by one of its own. Spark still finds and deletes them at its end. And it resizes no pod beyond what the operator has judged.
*/}}
{{- define "spark-operator.driverRules" -}}
{{- $rules := (.Files.Get "files/spark_driver_role.yaml" | fromYaml).rules -}}
{{- if .Values.hardened -}}
{{- $found := list -}}
{{- range $rules -}}
{{- if has "services" .resources -}}
{{- $found = append $found (merge (dict "resources" (list "services") "verbs" (without .verbs "create" "update" "patch")) .) -}}
{{- $found = append $found (merge (dict "resources" (without .resources "services")) .) -}}
{{- else if not (or (has "pods/resize" .resources) (has "metrics.k8s.io" .apiGroups)) }}{{ $found = append $found . }}{{ end -}}
{{- end -}}
{{- $rules = $found -}}
{{- end -}}
{{- $rules | toJson -}}
{{- end -}}
