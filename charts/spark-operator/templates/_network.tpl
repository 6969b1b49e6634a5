{{/* A rule of a NetworkPolicy as a JSON object: (list "from" PEERS PORTS). Without peers it is about any address. */}}
{{- define "spark-operator.peers" -}}
{{- $ports := list -}}
{{- range index . 2 }}{{ $ports = append $ports (dict "protocol" "TCP" "port" .) }}{{ end -}}
{{- $rule := dict "ports" $ports -}}
{{- with index . 1 }}{{ $_ := set $rule (index $ 0) . }}{{ end -}}
{{- toJson $rule -}}
{{- end -}}

{{/* The rule that lets the controller ask Spark Connect servers for their sessions, at the port of Spark's UI, as a JSON object. */}}
{{- define "spark-operator.toServers" -}}
{{- $servers := dict "matchLabels" (dict "sparkoperator.k8s.io/launched-by-spark-operator" "true")
  "matchExpressions" (list (dict "key" "sparkoperator.k8s.io/connect-name" "operator" "Exists")) -}}
{{- $to := list -}}
{{- range include "spark-operator.webhookSelectors" . | fromJsonArray -}}
{{- $to = append $to (dict "namespaceSelector" .selector "podSelector" $servers) -}}
{{- end -}}
{{- dict "to" $to "ports" (list (dict "protocol" "TCP" "port" 4040)) | toJson -}}
{{- end -}}
