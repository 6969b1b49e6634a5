{{/* The API groups that the operator serves, as a JSON list. */}}
{{- define "spark-operator.groups" -}}
{{- .Values.apache.enable | ternary (list "sparkoperator.k8s.io" "spark.apache.org") (list "sparkoperator.k8s.io") | toJson -}}
{{- end -}}

{{/*
The files of the definitions of these groups, as a JSON list. Those of a group that is off by default have a folder of their own: who applies
files/crds does not install them.
*/}}
{{- define "spark-operator.definitions" -}}
{{- $files := list -}}
{{- range $path, $_ := .Files.Glob "files/crds/*.yaml" }}{{ $files = append $files $path }}{{ end -}}
{{- if .Values.apache.enable -}}
{{- range $path, $_ := .Files.Glob "files/apache/*.yaml" }}{{ $files = append $files $path }}{{ end -}}
{{- end -}}
{{- toJson $files -}}
{{- end -}}

{{/*
The files of the definitions that this release installs and upgrades, as a JSON list: those that do not exist yet, and its own.
A definition of another owner (kubectl, Argo CD, Kubeflow's chart, another release) stays out of the release: Helm would refuse to
install over it. Without a cluster, as in `helm template`, none is known to exist, and all are rendered.
*/}}
{{- define "spark-operator.ownDefinitions" -}}
{{- $own := list -}}
{{- if .Values.crds.install -}}
{{- range $path := include "spark-operator.definitions" . | fromJsonArray -}}
{{- $name := ($.Files.Get $path | fromYaml).metadata.name -}}
{{- $exists := lookup "apiextensions.k8s.io/v1" "CustomResourceDefinition" "" $name -}}
{{- if or (not $exists) (include "spark-operator.isOwnDefinition" (list $ $exists)) -}}
{{- $own = append $own $path -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- toJson $own -}}
{{- end -}}

{{/*
"true" if a definition that exists belongs to this release: by the marks that Helm goes by, or because the release has installed it.
`kubectl replace` takes the marks away, and `keep` with them: without the second, an upgrade would leave the definition out, and Helm
would delete it, with all objects.
*/}}
{{- define "spark-operator.isOwnDefinition" -}}
{{- $ := index . 0 -}}
{{- $metadata := (index . 1).metadata -}}
{{- $marks := $metadata.annotations | default dict -}}
{{- $named := and (eq (get $marks "meta.helm.sh/release-name") $.Release.Name) (eq (get $marks "meta.helm.sh/release-namespace") $.Release.Namespace) -}}
{{- if and $named (eq (get ($metadata.labels | default dict) "app.kubernetes.io/managed-by") "Helm") -}}
true
{{- else -}}
{{- $config := lookup "v1" "ConfigMap" $.Release.Namespace (printf "%s-config" (include "spark-operator.controller" $)) -}}
{{- $installed := get (dig "metadata" "annotations" dict $config) "firesteel.dev/definitions" -}}
{{- if has $metadata.name (splitList "," $installed) }}true{{ end -}}
{{- end -}}
{{- end -}}

{{/* The names of the definitions of this release, for its ConfigMap: see above. */}}
{{- define "spark-operator.definitionNames" -}}
{{- $names := list -}}
{{- range include "spark-operator.ownDefinitions" . | fromJsonArray -}}
{{- $names = append $names ($.Files.Get . | fromYaml).metadata.name -}}
{{- end -}}
{{- join "," $names -}}
{{- end -}}

{{/* The definitions that are left to another owner, as a JSON object: name to the fields that they lack. */}}
{{- define "spark-operator.foreignDefinitions" -}}
{{- $found := dict -}}
{{- if .Values.crds.install -}}
{{- $own := include "spark-operator.ownDefinitions" . | fromJsonArray -}}
{{- range $path := include "spark-operator.definitions" . | fromJsonArray -}}
{{- if not (has $path $own) -}}
{{- $wanted := $.Files.Get $path | fromYaml -}}
{{- $exists := lookup "apiextensions.k8s.io/v1" "CustomResourceDefinition" "" $wanted.metadata.name -}}
{{- $lacks := list -}}
{{- range $version := $wanted.spec.versions -}}
{{- $there := dict -}}
{{- range $exists.spec.versions }}{{ if eq .name $version.name }}{{ $there = . }}{{ end }}{{ end -}}
{{- $fields := include "spark-operator.lackingFields" (list $version.schema.openAPIV3Schema (dig "schema" "openAPIV3Schema" dict $there) "") -}}
{{- $lacks = concat $lacks (splitList " " $fields | compact) -}}
{{- end -}}
{{- $_ := set $found $wanted.metadata.name $lacks -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- toJson $found -}}
{{- end -}}

{{/* The fields of one schema that another lacks, each with a space behind it: (list WANTED THERE PATH). */}}
{{- define "spark-operator.lackingFields" -}}
{{- $wanted := index . 0 -}}
{{- $there := index . 1 -}}
{{- $path := index . 2 -}}
{{- if not (get $there "x-kubernetes-preserve-unknown-fields") -}}
{{- $properties := get $there "properties" | default dict -}}
{{- range $name, $schema := get $wanted "properties" | default dict -}}
{{- if hasKey $properties $name -}}
{{- include "spark-operator.lackingFields" (list $schema (get $properties $name) (printf "%s.%s" $path $name)) -}}
{{- else }}{{ printf "%s.%s" $path $name | trimPrefix "." }} {{ end -}}
{{- end -}}
{{- range $inner, $suffix := dict "items" "[]" "additionalProperties" ".*" -}}
{{- if and (kindIs "map" (get $wanted $inner)) (kindIs "map" (get $there $inner)) -}}
{{- include "spark-operator.lackingFields" (list (get $wanted $inner) (get $there $inner) (printf "%s%s" $path $suffix)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
