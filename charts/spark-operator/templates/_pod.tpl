{{/*
The parts of a Deployment that the controller and the webhook share: (dict "root" $ "part" "controller" "values"
.Values.controller). The container's own lines come between spark-operator.podHead and spark-operator.podTail.
*/}}
{{- define "spark-operator.deploymentHead" -}}
{{- if and .values.topologySpreadConstraints (le (int .values.replicas) 1) }}
{{- fail (printf "%s.topologySpreadConstraints: there is nothing to spread with %s.replicas: %v; set at least 2" .part .part .values.replicas) }}
{{- end -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "spark-operator.part" (list .root .part) }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "spark-operator.labels" (list .root .part) | nindent 4 }}
  {{- with .values.deploymentAnnotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  replicas: {{ .values.replicas }}
  revisionHistoryLimit: {{ .values.revisionHistoryLimit }}
  selector:
    matchLabels:
      {{- include "spark-operator.selector" (list .root .part) | nindent 6 }}
  template:
    metadata:
      annotations:
        kubectl.kubernetes.io/default-container: spark-operator-{{ .part }}
        checksum/config: {{ include "spark-operator.checksum" . }}
        {{- if .root.Values.prometheus.metrics.enable }}
        prometheus.io/scrape: "true"
        prometheus.io/port: {{ .root.Values.prometheus.metrics.port | quote }}
        prometheus.io/path: /metrics
        {{- if .root.Values.prometheus.metrics.tls.enable }}
        prometheus.io/scheme: https
        {{- end }}
        {{- end }}
        {{- with .values.annotations }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      labels:
        {{- include "spark-operator.selector" (list .root .part) | nindent 8 }}
        {{- with .root.Values.commonLabels }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
        {{- with .values.labels }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
{{- end -}}

{{- define "spark-operator.podHead" -}}
serviceAccountName: {{ default (include "spark-operator.part" (list .root .part)) .values.serviceAccount.name }}
automountServiceAccountToken: {{ .values.serviceAccount.automountServiceAccountToken }}
terminationGracePeriodSeconds: 15
enableServiceLinks: false
{{- if kindIs "bool" .values.hostUsers }}
hostUsers: {{ .values.hostUsers }}
{{- end }}
{{- with .values.podSecurityContext }}
securityContext:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "spark-operator.containerTail" -}}
image: {{ include "spark-operator.image" .root | quote }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
command: [/spark-operator]
{{- if or .values.env (eq .part "controller") }}
env:
{{- if eq .part "controller" }}
- name: POD_NAMESPACE
  valueFrom: {fieldRef: {fieldPath: metadata.namespace}}
- name: POD_NAME
  valueFrom: {fieldRef: {fieldPath: metadata.name}}
- name: POD_UID
  valueFrom: {fieldRef: {fieldPath: metadata.uid}}
- name: CONFIG_MAP_NAME
  value: {{ include "spark-operator.controller" .root }}-config
{{- end }}
{{- with .values.env }}
{{ toYaml . }}
{{- end }}
{{- end }}
{{- with .values.envFrom }}
envFrom:
{{ toYaml . }}
{{- end }}
livenessProbe:
  httpGet:
    path: /healthz
    port: health
  periodSeconds: 20
readinessProbe:
  httpGet:
    path: /readyz
    port: health
  periodSeconds: {{ eq .part "webhook" | ternary 2 5 }}
{{- with .values.resources }}
resources:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.securityContext }}
securityContext:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "spark-operator.podTail" -}}
{{- with .values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.tolerations }}
tolerations:
{{ toYaml . }}
{{- end }}
{{- with .values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .values.topologySpreadConstraints }}
{{- $selector := dict "matchLabels" (include "spark-operator.selector" (list $.root $.part) | fromYaml) }}
topologySpreadConstraints:
{{- range . }}
- {{ toYaml (merge (deepCopy .) (dict "labelSelector" $selector)) | nindent 2 | trim }}
{{- end }}
{{- end }}
{{- end -}}

{{/* A PodDisruptionBudget, with the same arguments. */}}
{{- define "spark-operator.pdb" -}}
{{- if .values.podDisruptionBudget.enable }}
{{- if le (int .values.replicas) 1 }}
{{- fail (printf "%s.podDisruptionBudget.enable: with %s.replicas: %v it would hold up every drain of a node; set at least 2" .part .part .values.replicas) }}
{{- end -}}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ include "spark-operator.part" (list .root .part) }}-pdb
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "spark-operator.labels" (list .root .part) | nindent 4 }}
spec:
  minAvailable: {{ .values.podDisruptionBudget.minAvailable }}
  selector:
    matchLabels:
      {{- include "spark-operator.selector" (list .root .part) | nindent 6 }}
{{- end }}
{{- end -}}

{{/* Where the certificate of the metrics comes from, if it is one of the administrator's. */}}
{{- define "spark-operator.metricsVolume" -}}
{{- with .Values.prometheus.metrics.tls }}
{{- if and .enable .secretName -}}
- name: metrics-certs
  secret:
    secretName: {{ .secretName }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "spark-operator.metricsMount" -}}
{{- with .Values.prometheus.metrics.tls }}
{{- if and .enable .secretName -}}
- name: metrics-certs
  mountPath: /etc/spark-operator-metrics
  readOnly: true
{{- end }}
{{- end }}
{{- end -}}
