{{/*
What `hardened: true` means. Every template begins with it, so that all see the values as they are then. A value that is the
chart's default becomes what stands here; one that is as strict or stricter stays; a weaker one is refused by its name. What the
switch adds beside values is the policy below.
*/}}
{{- define "spark-operator.harden" -}}
{{- if eq (toString .Values.hardened) "true" -}}
{{- $problems := list -}}
{{- /* key, the chart's default, the hardened value */ -}}
{{- range list
  (list "webhook.enable" true true)
  (list "webhook.failurePolicy" "Ignore" "Fail")
  (list "webhook.podDisruptionBudget.enable" false true)
  (list "controller.podDisruptionBudget.enable" false true)
  (list "controller.leaderElection.enable" true true)
  (list "controller.driverIngress.enable" true false)
  (list "controller.uiIngress.enable" false false)
  (list "controller.uiRoute.enable" false false)
  (list "controller.pprof.enable" false false)
  (list "spark.jobNamespaceSelector" "" "")
  (list "recordSubmitter.from" "Auto" "Auto")
  (list "spark.rbac.statefulSets" false false)
  (list "networkPolicy.enable" false true)
  (list "executorAdmissionPolicy.enable" false true)
  (list "executorAdmissionPolicy.forbidHostAccess" false true)
  (list "prometheus.metrics.tls.enable" false true)
  (list "prometheus.metrics.authentication" false true) -}}
{{- $problems = append $problems (include "spark-operator.harden.value" (prepend . $)) -}}
{{- end -}}
{{- range $part := list "controller" "webhook" -}}
{{- $problems = concat $problems (include "spark-operator.harden.pod" (list $part (index $.Values $part)) | splitList "\n") -}}
{{- end -}}
{{- $problems = concat $problems (include "spark-operator.harden.lists" . | splitList "\n") -}}
{{- with compact $problems }}{{ fail (printf "hardened: true\n  %s" (join "\n  " .)) }}{{ end -}}
{{- $_ := set .Values "hardened" "applied" -}}
{{- end -}}
{{- end -}}

{{/* Hardens one value, or says why it cannot: (list $ KEY DEFAULT HARDENED). */}}
{{- define "spark-operator.harden.value" -}}
{{- $key := index . 1 -}}
{{- $hardened := index . 3 -}}
{{- $at := (index . 0).Values -}}
{{- range splitList "." $key | initial }}{{ $at = index $at . }}{{ end -}}
{{- $last := splitList "." $key | last -}}
{{- $got := get $at $last | toJson -}}
{{- if eq $got (toJson (index . 2)) }}{{ $_ := set $at $last $hardened }}
{{- else if ne $got (toJson $hardened) }}{{ printf "%s: %s: must be %s" $key $got (toJson $hardened) }}
{{- end -}}
{{- end -}}

{{/* Hardens a Deployment, or says line by line why it cannot: (list PART VALUES). */}}
{{- define "spark-operator.harden.pod" -}}
{{- $part := index . 0 -}}
{{- $values := index . 1 -}}
{{- if eq (int $values.replicas) 1 }}{{ $_ := set $values "replicas" 2 }}{{ end -}}
{{- if lt (int $values.replicas) 2 }}{{ printf "%s.replicas: %v: must be at least 2\n" $part $values.replicas }}{{ end -}}
{{- if not $values.topologySpreadConstraints -}}
{{- $_ := set $values "topologySpreadConstraints" (list (dict "maxSkew" 1 "topologyKey" "kubernetes.io/hostname" "whenUnsatisfiable" "ScheduleAnyway")) -}}
{{- end -}}
{{- $context := $values.securityContext -}}
{{- range $key, $want := dict "readOnlyRootFilesystem" true "runAsNonRoot" true "allowPrivilegeEscalation" false "privileged" false -}}
{{- $got := hasKey $context $key | ternary (get $context $key) (eq $key "privileged" | ternary false nil) -}}
{{- if ne (toJson $got) (toJson $want) }}{{ printf "%s.securityContext.%s: %s: must be %v\n" $part $key (toJson $got) $want }}{{ end -}}
{{- end -}}
{{- $capabilities := $context.capabilities | default dict -}}
{{- if or (not (has "ALL" ($capabilities.drop | default list))) $capabilities.add }}{{ printf "%s.securityContext.capabilities: must drop ALL and add none\n" $part }}{{ end -}}
{{- if not (has (dig "seccompProfile" "type" "" $context) (list "RuntimeDefault" "Localhost")) }}{{ printf "%s.securityContext.seccompProfile.type: must be RuntimeDefault or Localhost\n" $part }}{{ end -}}
{{- end -}}

{{/* What is wrong with the values that an administrator has to choose, line by line. */}}
{{- define "spark-operator.harden.lists" -}}
{{- if not .Values.image.digest }}
image.digest: name the digest of the operator's image, sha256:..., as your registry shows it after the push; a tag can be moved
{{- end -}}
{{- if eq (include "spark-operator.jobNamespaces" .) "[]" }}
spark.jobNamespaces: name the namespaces of jobs; all of them are no choice
{{- end -}}
{{- range include "spark-operator.jobNamespaces" . | fromJsonArray -}}
{{- if or (has . (list "default" $.Release.Namespace)) (hasPrefix "kube-" .) }}
spark.jobNamespaces: {{ toJson . }}: name namespaces that are for jobs alone, not Kubernetes' own, the operator's or the default one
{{- end -}}
{{- end -}}
{{- if not .Values.executorAdmissionPolicy.images }}
executorAdmissionPolicy.images: name patterns of the images that drivers and executors may run, such as registry.example/spark*
{{- end -}}
{{- range .Values.controller.policies -}}
{{- if eq (toString .name) "hardened" }}
controller.policies: "hardened" is the name of the policy that the switch adds; take another one
{{- end -}}
{{- end -}}
{{- end -}}

{{/*
The policy that the switch adds, as a JSON object. It holds in all job namespaces, with those of controller.policies: of several
limits each binds. A list without patterns would allow everything, so that "(none)" stands for nothing: no object has that name.
*/}}
{{- define "spark-operator.hardenedPolicy" -}}
{{- $accounts := prepend (.Values.executorAdmissionPolicy.executorServiceAccounts | default list) (include "spark-operator.sparkServiceAccount" .) -}}
{{- with .Values.controller.defaultServiceAccount }}{{ $accounts = append $accounts . | uniq }}{{ end -}}
{{- $limits := dict
  "podSecurity" "restricted"
  "images" .Values.executorAdmissionPolicy.images
  "serviceAccounts" $accounts
  "schedulerNames" (include "spark-operator.schedulerNames" . | fromJsonArray)
  "serviceTypes" (list "ClusterIP")
  "forbiddenAnnotations" (list "*ingress*" "*-snippet*" "external-dns*" "service.*kubernetes.io/*" "cloud.google.com/*" "networking.gke.io/*"
    "iam.amazonaws.com/*" "*.cncf.io/*" "cni.projectcalico.org/*" "k8s.ovn.org/*")
  "forbiddenLabels" (list "grafana_*") "plainServices" true "forbidNetworkPeers" true
  "forbiddenConf" (list "spark.hadoop.fs.*.impl" "spark.hadoop.fs.*endpoint*" "spark.hadoop.fs.*accesspoint*" "spark.hadoop.fs.*proxy*"
    "spark.hadoop.fs.gs.*url*" "spark.hadoop.fs.gs.storage.service.path" "spark.hadoop.fs.default*" "spark.hadoop.fs.viewfs.*"
    "spark.hadoop.dfs.nameservices*" "spark.hadoop.dfs.namenode.*" "spark.hadoop.dfs.ha.*" "spark.hadoop.dfs.client.failover.*"
    "spark.hadoop.hadoop.socks.*" "spark.hadoop.hadoop.rpc.socket.factory.*" "spark.repl.class.*")
  "volumeClaims" 20 "retriesPerHour" 12 "forbidLogTails" true -}}
{{- range $limit, $allowed := .Values.hardenedAllows }}{{ $_ := set $limits $limit ($allowed | default (list "(none)")) }}{{ end -}}
{{- dict "name" "hardened" "namespaces" (include "spark-operator.jobNamespaces" . | fromJsonArray) "limits" $limits
  "defaults" (dict "serviceAccount" (include "spark-operator.sparkServiceAccount" .)) | toJson -}}
{{- end -}}

{{/* The names of the schedulers that the enabled plugins serve, as a JSON list. */}}
{{- define "spark-operator.schedulerNames" -}}
{{- $own := dict "kube" "default-scheduler" "volcano" "volcano" "yunikorn" "yunikorn" "coscheduling" "scheduler-plugins-scheduler" -}}
{{- $plugins := (include "spark-operator.config.batchScheduler" . | fromYaml).plugins | default dict -}}
{{- $names := list -}}
{{- range include "spark-operator.schedulers" . | fromJsonArray -}}
{{- $settings := get $plugins . | default dict -}}
{{- $names = append $names ($settings.schedulerName | default (get $own .)) | concat ($settings.schedulerNames | default list) -}}
{{- end -}}
{{- $names | uniq | sortAlpha | toJson -}}
{{- end -}}
