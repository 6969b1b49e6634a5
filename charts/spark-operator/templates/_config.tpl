{{/* The operator's configuration file. */}}
{{- define "spark-operator.config" -}}
apiVersion: config.firesteel.dev/v1alpha1
kind: OperatorConfiguration
namespaces: {{ include "spark-operator.jobNamespaces" . }}
{{- with include "spark-operator.jobNamespaceSelector" . }}
namespaceSelector: {{ . | quote }}
{{- end }}
workers: {{ .Values.controller.workers }}
{{- if .Values.apache.enable }}
apache:
  enabled: true
  {{- if .Values.apache.keepStateHistory }}
  keepStateHistory: true
  {{- end }}
  {{- with .Values.apache.labelSelector }}
  labelSelector: {{ . | quote }}
  {{- end }}
  {{- if ne .Values.apache.sentinelPeriod "60s" }}
  sentinelPeriod: {{ .Values.apache.sentinelPeriod }}
  {{- end }}
  {{- if not .Values.apache.workerPodDisruptionBudget.enable }}
  workerPodDisruptionBudget:
    enabled: false
  {{- end }}
{{- end }}
{{- if ne .Values.controller.scheduledSparkApplicationTimestampPrecision "nanos" }}
scheduledSparkApplication:
  timestampPrecision: {{ .Values.controller.scheduledSparkApplicationTimestampPrecision }}
{{- end }}
{{- with .Values.controller.leaderElection }}
leaderElection:
  enabled: {{ .enable }}
  name: {{ include "spark-operator.lock" $ }}
  leaseDuration: {{ .leaseDuration }}
  {{- include "spark-operator.config.renewal" . | nindent 2 }}
{{- end }}
{{- with .Values.prometheus.metrics }}
metrics:
  bindAddress: {{ ternary (printf ":%v" .port) "0" .enable | quote }}
  {{- with .prefix }}
  prefix: {{ . | quote }}
  {{- end }}
  {{- with .labels }}
  labels: {{ splitList "," . | toJson }}
  {{- end }}
  {{- if ne .jobSubmitLatencyBuckets "0.5,1,2,4,8,16,32,64,128,256" }}
  jobSubmitLatencyBuckets: [{{ .jobSubmitLatencyBuckets }}]
  {{- end }}
  {{- if ne .jobStartLatencyBuckets "30,60,90,120,150,180,210,240,270,300" }}
  jobStartLatencyBuckets: [{{ .jobStartLatencyBuckets }}]
  {{- end }}
  {{- if .authentication }}
  authentication: true
  {{- end }}
  {{- if .tls.enable }}
  tls:
    enabled: true
    {{- if .tls.secretName }}
    certDir: /etc/spark-operator-metrics
    {{- end }}
    {{- if ne .tls.minVersion "VersionTLS12" }}
    minVersion: {{ .tls.minVersion }}
    {{- end }}
    {{- with .tls.cipherSuites }}
    cipherSuites: {{ toJson . }}
    {{- end }}
  {{- end }}
{{- end }}
health:
  bindAddress: ":8081"
{{- with .Values.controller.pprof }}
{{- if .enable }}
pprof:
  bindAddress: ":{{ .port }}"
{{- end }}
{{- end }}
{{- with .Values.controller }}
{{- if or (not .uiService.enable) .uiIngress.enable (not .driverIngress.enable) .uiRoute.enable }}
ui:
  service: {{ .uiService.enable }}
  {{- if not (or .driverIngress.enable .uiIngress.enable) }}
  ingress:
    enabled: false
  {{- end }}
  {{- with .uiIngress }}
  {{- if .enable }}
  ingress:
    enabled: true
    urlFormat: {{ .urlFormat | quote }}
    className: {{ .ingressClassName | quote }}
    tls: {{ .tls | toJson }}
    annotations: {{ .annotations | toJson }}
  {{- end }}
  {{- end }}
  {{- with .uiRoute }}
  {{- if .enable }}
  route:
    urlFormat: {{ .urlFormat | quote }}
    parentRefs: {{ .parentRefs | toJson }}
    annotations: {{ .annotations | toJson }}
  {{- end }}
  {{- end }}
{{- end }}
{{- with .historyServer.urlFormat }}
historyServer:
  urlFormat: {{ . | quote }}
{{- end }}
{{- if .driverPodDisruptionBudget.enable }}
driverPodDisruptionBudget:
  enabled: true
{{- end }}
{{- end }}
{{- if .Values.webhook.enable }}
webhook:
  port: {{ .Values.webhook.port }}
  {{- if .Values.certManager.enable }}
  certificates: files
  {{- else }}
  secretName: {{ include "spark-operator.webhook" . }}-certs
  serviceName: {{ include "spark-operator.webhook" . }}-svc
  configurations: {{ include "spark-operator.webhook" . }}
  {{- end }}
{{- end }}
{{- with include "spark-operator.submitterSource" . }}
submitter:
  from: {{ . }}
  operatorUser: {{ include "spark-operator.user" $ | quote }}
  {{- with $.Values.recordSubmitter.since }}
  since: {{ . | quote }}
  {{- end }}
{{- end }}
{{- with include "spark-operator.policies" . | fromJsonArray }}
policies:
{{ toYaml . }}
{{- end }}
batchScheduler:
  {{- include "spark-operator.config.batchScheduler" . | nindent 2 }}
{{- end -}}

{{/*
The times of the election. Those that are good for client-go's elector, as Kubeflow's defaults are, may be too long for ours, which renews
a lease four times: they become the longest that the lease allows (internal/config).
*/}}
{{- define "spark-operator.config.renewal" -}}
{{- $lease := include "spark-operator.milliseconds" .leaseDuration | int64 -}}
{{- $retry := include "spark-operator.milliseconds" .retryPeriod | int64 -}}
{{- $deadline := include "spark-operator.milliseconds" .renewDeadline | int64 -}}
{{- $longestRetry := div $lease 8 -}}
{{- $longestDeadline := sub (div (mul $lease 3) 4) (min $retry $longestRetry) -}}
renewDeadline: {{ gt $deadline $longestDeadline | ternary (printf "%dms" $longestDeadline) .renewDeadline }}
retryPeriod: {{ gt $retry $longestRetry | ternary (printf "%dms" $longestRetry) .retryPeriod }}
{{- end -}}

{{/* A duration such as 1m30s or 2.5s in milliseconds. */}}
{{- define "spark-operator.milliseconds" -}}
{{- $factors := dict "h" 3600000 "m" 60000 "s" 1000 "ms" 1 -}}
{{- $sum := 0.0 -}}
{{- range regexFindAll "[0-9.]+(h|ms|m|s)" (toString .) -1 -}}
{{- $unit := regexFind "[a-z]+" . -}}
{{- $sum = addf $sum (mulf (trimSuffix $unit . | float64) (get $factors $unit)) -}}
{{- end -}}
{{- round $sum 0 | int64 -}}
{{- end -}}

{{/* What restarts a part when it changes: all of the configuration but for what the controller reloads. */}}
{{- define "spark-operator.checksum" -}}
{{- $live := ternary (list "namespaces" "namespaceSelector" "policies") list (eq .part "controller") -}}
{{- $config := include "spark-operator.config" .root | fromYaml -}}
{{- range $live }}{{ $_ := unset $config . }}{{ end -}}
{{- $config | toJson | sha256sum -}}
{{- end -}}

{{/* The policies, as a JSON list. */}}
{{- define "spark-operator.policies" -}}
{{- $policies := .Values.controller.policies | default list -}}
{{- with .Values.controller.defaultTimeToLiveSeconds -}}
{{- $policies = append $policies (dict "name" "default-time-to-live" "namespaces" (list "*") "defaults" (dict "timeToLiveSeconds" .)) -}}
{{- end -}}
{{- with .Values.controller.defaultServiceAccount -}}
{{- $policies = append $policies (dict "name" "default-service-account" "namespaces" (list "*") "defaults" (dict "serviceAccount" .)) -}}
{{- end -}}
{{- if .Values.hardened }}{{ $policies = append $policies (include "spark-operator.hardenedPolicy" . | fromJson) }}{{ end -}}
{{- $policies | toJson -}}
{{- end -}}

{{- define "spark-operator.config.batchScheduler" -}}
{{- with .Values.controller.batchScheduler -}}
{{- $plugins := deepCopy (.plugins | default dict) }}
{{- $chosen := include "spark-operator.batchScheduling" $ }}
{{- with ternary .kubeSchedulerNames list (eq $chosen "true") }}
{{- $names := without . "coscheduling" -}}
{{- $_ := set $plugins "coscheduling" (merge (get $plugins "coscheduling" | default dict) (dict "schedulerName" (ternary "coscheduling" (first .) (has "coscheduling" .)) "schedulerNames" $names)) }}
{{- end -}}
default: {{ ternary .default "" (eq $chosen "true") | default "kube" }}
enabled: {{ include "spark-operator.schedulers" $ }}
plainNames: {{ ne $chosen "true" }}
namespaceDefaults: {{ .namespaceDefaults }}
quota:
  mode: {{ include "spark-operator.quotaMode" $ | quote }}
  {{- with .quota.order }}
  order: {{ . }}
  {{- end }}
  {{- with .quota.agingBound }}
  agingBound: {{ . }}
  {{- end }}
  {{- with .quota.elasticQuotaSchedulers }}
  elasticQuotaSchedulers: {{ toJson . }}
  {{- end }}
{{- with .applicationIDs }}
applicationIDs: {{ . }}
{{- end }}
{{- with .allowedQueues }}
allowedQueues:
{{ toYaml . }}
{{- end }}
{{- with $plugins }}
plugins:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- end -}}
