{{/* Refuses a monitor that cannot work: (list $ "prometheus.podMonitor" "PodMonitor"). */}}
{{- define "spark-operator.monitorable" -}}
{{- $ := index . 0 -}}
{{- if not $.Values.prometheus.metrics.enable }}
{{- fail (printf "%s.create: there are no metrics with prometheus.metrics.enable: false" (index . 1)) }}
{{- end -}}
{{- if not ($.Capabilities.APIVersions.Has (printf "monitoring.coreos.com/v1/%s" (index . 2))) }}
{{- fail (printf "%s.create: the cluster has no %s of monitoring.coreos.com/v1; install the Prometheus Operator first, or set it to false" (index . 1) (index . 2)) }}
{{- end -}}
{{- end -}}

{{/* A file in which our metrics have the names that the operator gives them: (list $ "files/alerts.yaml"). */}}
{{- define "spark-operator.prefixed" -}}
{{- $ := index . 0 -}}
{{- $prefix := $.Values.prometheus.metrics.prefix | replace "-" "_" -}}
{{- regexReplaceAll "\\bspark_(application|connect|executor|operator|schedule)" ($.Files.Get (index . 1)) (printf "%s${0}" $prefix) -}}
{{- end -}}

{{/* An endpoint to scrape: (list $ ENDPOINT). With TLS it is scraped by HTTPS whatever the endpoint says. */}}
{{- define "spark-operator.endpoint" -}}
{{- $tls := (index . 0).Values.prometheus.metrics.tls -}}
{{- $endpoint := deepCopy (index . 1) -}}
{{- if $tls.enable }}
{{- $_ := set $endpoint "scheme" "https" -}}
{{- if not $tls.secretName }}{{ $endpoint = merge $endpoint (dict "tlsConfig" (dict "insecureSkipVerify" true)) }}{{ end -}}
{{- end -}}
{{- merge (dict "port" (index . 0).Values.prometheus.metrics.portName "path" "/metrics") $endpoint | toYaml -}}
{{- end -}}
