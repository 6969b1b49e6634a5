{{/* The user that the controller is. */}}
{{- define "spark-operator.user" -}}
system:serviceaccount:{{ .Release.Namespace }}:{{ include "spark-operator.serviceAccount" . }}
{{- end -}}

{{/* What records who created an application: AdmissionPolicy, Webhook or nothing. Only what every request has to pass can be trusted. */}}
{{- define "spark-operator.submitterSource" -}}
{{- $from := .Values.recordSubmitter.from -}}
{{- $served := .Capabilities.APIVersions.Has "admissionregistration.k8s.io/v1/MutatingAdmissionPolicy" -}}
{{- $closed := and .Values.webhook.enable (eq .Values.webhook.failurePolicy "Fail") -}}
{{- if and (eq $from "AdmissionPolicy") (not $served) -}}
{{- fail "recordSubmitter.from: the cluster has no MutatingAdmissionPolicy of admissionregistration.k8s.io/v1; upgrade to Kubernetes 1.36 or newer, or write Webhook with webhook.failurePolicy: Fail" -}}
{{- else if and (eq $from "Webhook") (not $closed) -}}
{{- fail "recordSubmitter.from: Webhook needs webhook.enable: true and webhook.failurePolicy: Fail, because what passes a webhook that is down could name any user" -}}
{{- end -}}
{{- if eq $from "Auto" -}}
{{- $served | ternary "AdmissionPolicy" ($closed | ternary "Webhook" "") -}}
{{- else if ne $from "None" -}}
{{- $from -}}
{{- end -}}
{{- end -}}
