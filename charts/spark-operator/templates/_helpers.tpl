{{- define "spark-operator.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "spark-operator.controller" -}}
{{- include "spark-operator.fullname" . }}-controller
{{- end -}}

{{- define "spark-operator.serviceAccount" -}}
{{- default (include "spark-operator.controller" .) .Values.controller.serviceAccount.name -}}
{{- end -}}

{{- define "spark-operator.selector" -}}
app.kubernetes.io/name: {{ default .Chart.Name .Values.nameOverride }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: controller
{{- end -}}

{{- define "spark-operator.labels" -}}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{ include "spark-operator.selector" . }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "spark-operator.sparkServiceAccount" -}}
{{- default (printf "%s-spark" (include "spark-operator.fullname" .)) .Values.spark.serviceAccount.name -}}
{{- end -}}

{{/* The namespaces of jobs, as a JSON list; empty for all. */}}
{{- define "spark-operator.jobNamespaces" -}}
{{- if has "" .Values.spark.jobNamespaces }}[]{{ else }}{{ .Values.spark.jobNamespaces | default list | toJson }}{{ end -}}
{{- end -}}
