{{/* A label selector as text (a=b,c!=d,e in (f,g),h,!i) as a JSON LabelSelector. The argument is the text. */}}
{{- define "spark-operator.labelSelector" -}}
{{- $expressions := list -}}
{{- range regexFindAll "(?:[^,(]|\\([^)]*\\))+" . -1 -}}
{{- $text := trim . -}}
{{- $key := regexFind "^!?[A-Za-z0-9][A-Za-z0-9._/-]*" $text | trimPrefix "!" -}}
{{- if not $key }}{{ fail (printf "spark.jobNamespaceSelector: %q is not a requirement; write it as for kubectl get --selector, for example team=data,stage in (test,live)" $text) }}{{ end -}}
{{- $values := list -}}
{{- $operator := "Exists" -}}
{{- if hasPrefix "!" $text -}}
{{- $operator = "DoesNotExist" -}}
{{- else if regexMatch "\\s(not)?in\\s*\\(" $text -}}
{{- $operator = regexMatch "\\snotin\\s*\\(" $text | ternary "NotIn" "In" -}}
{{- range regexFind "\\([^)]*\\)" $text | trimAll "()" | splitList "," }}{{ $values = append $values (trim .) }}{{ end -}}
{{- else if contains "=" $text -}}
{{- $operator = contains "!=" $text | ternary "NotIn" "In" -}}
{{- $values = list (regexReplaceAll "^[^=]*==?" $text "" | trim) -}}
{{- end -}}
{{- $expression := dict "key" $key "operator" $operator -}}
{{- if $values }}{{ $_ := set $expression "values" $values }}{{ end -}}
{{- $expressions = append $expressions $expression -}}
{{- end -}}
{{- dict "matchExpressions" $expressions | toJson -}}
{{- end -}}

{{/*
The namespaces that webhooks are asked about, as a JSON list of {suffix, selector}: those of the list, and those that
the selector chooses. A selector is empty if all are.
*/}}
{{- define "spark-operator.webhookSelectors" -}}
{{- $found := list -}}
{{- with include "spark-operator.jobNamespaces" . | fromJsonArray -}}
{{- $expression := dict "key" "kubernetes.io/metadata.name" "operator" "In" "values" . -}}
{{- $found = append $found (dict "suffix" "" "selector" (dict "matchExpressions" (list $expression))) -}}
{{- end -}}
{{- with include "spark-operator.jobNamespaceSelector" . -}}
{{- $found = append $found (dict "suffix" (empty $found | ternary "" "-selected") "selector" (include "spark-operator.labelSelector" . | fromJson)) -}}
{{- end -}}
{{- $found | default (list (dict "suffix" "" "selector" dict)) | toJson -}}
{{- end -}}
