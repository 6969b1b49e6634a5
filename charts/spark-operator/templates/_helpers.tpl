{{- define "spark-operator.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

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

{{/*
Nothing, or an end with a sentence if a release in another namespace has an object that belongs to no namespace: (list $ APIVERSION KIND NAME). What
has no mark of a release is left to Helm. Without a cluster, as in `helm template`, none is known to exist.
*/}}
{{- define "spark-operator.free" -}}
{{- $ := index . 0 -}}
{{- $marks := dig "metadata" "annotations" dict (lookup (index . 1) (index . 2) "" (index . 3) | default dict) -}}
{{- $owner := get $marks "meta.helm.sh/release-namespace" | default $.Release.Namespace -}}
{{- if ne $owner $.Release.Namespace -}}
{{- $name := include "spark-operator.fullname" $ -}}
{{- fail (printf "fullnameOverride: the name %s is taken: %s %s belongs to the release %s in the namespace %s, and to the whole cluster; set a name of this release's own, for example fullnameOverride=%s"
  $name (index . 2) (index . 3) (get $marks "meta.helm.sh/release-name") $owner (printf "%s-%s" $.Release.Namespace $name | trunc 40 | trimSuffix "-")) -}}
{{- end -}}
{{- end -}}

{{/* The names of a part's objects: (list $ "controller"), (list $ "webhook") or (list $ "spark"). */}}
{{- define "spark-operator.part" -}}
{{- include "spark-operator.fullname" (index . 0) }}-{{ index . 1 }}
{{- end -}}

{{- define "spark-operator.controller" -}}
{{- include "spark-operator.part" (list . "controller") -}}
{{- end -}}

{{/* The Lease by which the replicas of this release, and no others, choose one. */}}
{{- define "spark-operator.lock" -}}
{{- include "spark-operator.controller" . }}-lock
{{- end -}}

{{- define "spark-operator.webhook" -}}
{{- include "spark-operator.part" (list . "webhook") -}}
{{- end -}}

{{- define "spark-operator.serviceAccount" -}}
{{- default (include "spark-operator.controller" .) .Values.controller.serviceAccount.name -}}
{{- end -}}

{{- define "spark-operator.sparkServiceAccount" -}}
{{- default (include "spark-operator.part" (list . "spark")) .Values.spark.serviceAccount.name -}}
{{- end -}}

{{/* Labels that never change: (list $ "controller"). */}}
{{- define "spark-operator.selector" -}}
{{- $ := index . 0 -}}
app.kubernetes.io/name: {{ include "spark-operator.name" $ }}
app.kubernetes.io/instance: {{ $.Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end -}}

{{/* Labels of every object: (list $ "controller"). */}}
{{- define "spark-operator.labels" -}}
{{- $ := index . 0 -}}
helm.sh/chart: {{ printf "%s-%s" $.Chart.Name $.Chart.Version | replace "+" "_" }}
app.kubernetes.io/version: {{ $.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ $.Release.Service }}
{{ include "spark-operator.selector" . }}
{{- with $.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "spark-operator.image" -}}
{{- if contains "kubeflow/spark-operator" .Values.image.repository }}
{{- fail (printf "image.repository: %q is the image of Kubeflow's operator, which does not understand this chart; leave image out, or name an image of this operator" .Values.image.repository) }}
{{- end -}}
{{- with .Values.image.registry }}{{ . }}/{{ end }}{{ .Values.image.repository -}}
{{- with .Values.image.tag | default (empty .Values.image.digest | ternary .Chart.AppVersion "") }}:{{ . }}{{ end -}}
{{- with .Values.image.digest }}@{{ . }}{{ end }}
{{- end -}}

{{/* The namespaces of jobs, as a JSON list; empty for all. */}}
{{- define "spark-operator.jobNamespaces" -}}
{{- if has "" (.Values.spark.jobNamespaces | default list) }}[]{{ else }}{{ .Values.spark.jobNamespaces | default list | uniq | toJson }}{{ end -}}
{{- end -}}

{{/* The selector of further namespaces of jobs; none if all are. */}}
{{- define "spark-operator.jobNamespaceSelector" -}}
{{- if not (has "" (.Values.spark.jobNamespaces | default list)) }}{{ .Values.spark.jobNamespaceSelector }}{{ end -}}
{{- end -}}

{{/* "true" if the operator works in a list of namespaces and so needs no rights in the whole cluster. */}}
{{- define "spark-operator.namespaced" -}}
{{- if and (ne (include "spark-operator.jobNamespaces" .) "[]") (not (include "spark-operator.jobNamespaceSelector" .)) }}true{{ end -}}
{{- end -}}

{{/* The namespace of the test's application and of the first example. */}}
{{- define "spark-operator.firstNamespace" -}}
{{- include "spark-operator.jobNamespaces" . | fromJsonArray | first | default "default" -}}
{{- end -}}

{{/* Whether applications choose among scheduler plugins: "true" or "". If not, the names that they write are those of plain schedulers. */}}
{{- define "spark-operator.batchScheduling" -}}
{{- with .Values.controller.batchScheduler }}{{ if or .enable .enabled }}true{{ end }}{{ end -}}
{{- end -}}

{{/* The scheduler plugins that applications may choose, as a JSON list. A name of a kube-scheduler stands for coscheduling. */}}
{{- define "spark-operator.schedulers" -}}
{{- if not (include "spark-operator.batchScheduling" .) -}}
["kube"]
{{- else -}}{{- with .Values.controller.batchScheduler -}}
{{- $names := .kubeSchedulerNames | default list -}}
{{- $enabled := list -}}
{{- range prepend (.enabled | default (list "kube")) (.default | default "kube") }}{{ $enabled = append $enabled (ternary "coscheduling" . (has . $names)) }}{{ end -}}
{{- if .enable }}{{ $enabled = concat $enabled (list "volcano" "yunikorn") }}{{ end -}}
{{- if .kubeSchedulerNames }}{{ $enabled = append $enabled "coscheduling" }}{{ end -}}
{{- $enabled | uniq | toJson -}}
{{- end -}}{{- end -}}
{{- end -}}

{{/* A SparkApplication that runs as it is: (list $ NAME SERVICE_ACCOUNT). */}}
{{- define "spark-operator.example" -}}
{{- $ := index . 0 -}}
apiVersion: sparkoperator.k8s.io/v1beta2
kind: SparkApplication
metadata:
  name: {{ index . 1 }}
  namespace: {{ include "spark-operator.firstNamespace" $ }}
spec:
  type: Scala
  sparkVersion: {{ $.Values.tests.sparkVersion | quote }}
  image: {{ $.Values.tests.image }}
  mainClass: {{ $.Values.tests.mainClass }}
  mainApplicationFile: {{ $.Values.tests.mainApplicationFile }}
  driver: {coreRequest: 100m, memory: 512m, serviceAccount: {{ index . 2 }}{{ include "spark-operator.restricted" $ }}}
  executor: {instances: 1, coreRequest: 100m, memory: 512m{{ include "spark-operator.restricted" $ }}}
{{- end -}}

{{/* What the policy of a hardened operator asks of a pod, behind the other fields of a role. */}}
{{- define "spark-operator.restricted" -}}
{{- if .Values.hardened }}, podSecurityContext: {runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}, securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}{{ end -}}
{{- end -}}

{{- define "spark-operator.testName" -}}
{{ include "spark-operator.fullname" . | trunc 40 | trimSuffix "-" }}-test
{{- end -}}

{{/* Keys of Kubeflow's chart that are accepted and mean nothing here, among those that are set: docs/helm-values.md. */}}
{{- define "spark-operator.ignored" -}}
{{- $found := list -}}
{{- range $key := list "hook" "submitter" "controller.featureGates" "controller.driverPodCreationGracePeriod"
  "controller.maxTrackedExecutorPerApp" "controller.kubeAPIQPS" "controller.kubeAPIBurst"
  "controller.workqueueRateLimiter"
  "webhook.leaderElection" "webhook.kubeAPIQPS" "webhook.kubeAPIBurst" "webhook.resourceQuotaEnforcement"
  "prometheus.metrics.endpoint" -}}
{{- $at := $.Values -}}
{{- $set := true -}}
{{- range $word := splitList "." $key -}}
{{- if and $set (kindIs "map" $at) (hasKey $at $word) }}{{ $at = index $at $word }}{{ else }}{{ $set = false }}{{ end -}}
{{- end -}}
{{- if $set }}{{ $found = append $found (kindIs "map" $at | ternary (printf "%s.*" $key) $key) }}{{ end -}}
{{- end -}}
{{- join ", " $found -}}
{{- end -}}

{{/* The quota mode: an unquoted Off is false in YAML. */}}
{{- define "spark-operator.quotaMode" -}}
{{- eq (toString .Values.controller.batchScheduler.quota.mode) "false" | ternary "Off" .Values.controller.batchScheduler.quota.mode -}}
{{- end -}}
