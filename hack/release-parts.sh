# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154
# The parts of a release, for hack/release.sh and its tests. Who sources this sets version, registry, digest (of the image), out and work (folders).

# release_names refuses a version or a registry that cannot be one.
release_names() {
  [[ $version =~ ^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$ ]] ||
    { echo "release: version \"$version\": must be like v1.2.3 or v1.2.3-rc.1" >&2; return 2; }
  # a first part without dot and port would be a user of Docker's registry, and not a host
  [[ $registry =~ ^([a-z0-9-]+(\.[a-z0-9-]+)+(:[0-9]+)?|[a-z0-9-]+:[0-9]+|localhost)(/[a-z0-9]+([._-]+[a-z0-9]+)*)*$ ]] ||
    { echo "release: registry \"$registry\": must be a host and perhaps a path, in lower case, without https:// and without a slash at the end: REGISTRY=registry.example.com/team" >&2; return 2; }
}

# release_image prints how the released manifests name the image.
release_image() { echo "$registry/spark-operator:$version@$digest"; }

# image_digest prints the digest of the image in an OCI archive.
image_digest() { tar -xOf "$1" index.json | jq -er '.manifests[0].digest'; }

# release_notes cuts the section of the version out of CHANGELOG.md, or Unreleased if there is none.
release_notes() {
  local section
  for section in "${version#v}" Unreleased; do
    awk -v head="## [$section]" 'index($0, "## ") == 1 { on = index($0, head) == 1; next } on' CHANGELOG.md |
      sed -e '/./,$!d' >"$out/NOTES.md"
    if grep '^- ' "$out/NOTES.md" >/dev/null; then return; fi
  done
  echo "release: CHANGELOG.md: neither \"## [${version#v}]\" nor \"## [Unreleased]\" has a line that begins with \"- \": write what changed" >&2
  return 1
}

# release_changes prints the notes as Artifact Hub takes them: a list of kinds and texts.
release_changes() {
  awk '/^### / { kind = tolower($2) } /^- / { print kind "\t" substr($0, 3) }' "$out/NOTES.md" |
    jq -Rc 'split("\t") | (if .[0] == "" then {} else {kind: .[0]} end) + {description: .[1]}' | sed 's/^/    - /'
}

# release_chart packs what Git has of the chart, with the image in its default values and its annotations. The same sources give the same bytes.
release_chart() {
  local chart=$work/charts/spark-operator rendered
  git ls-files -z charts/spark-operator | tar --null -T - -cf - | tar -C "$work" -xf -
  sed -i -e "/^image:/,/^[a-z]/ { s|^  registry: .*|  registry: \"$registry\"|; s|^  tag: .*|  tag: \"$version\"|; s|^  digest: .*|  digest: \"$digest\"|; }" "$chart/values.yaml"
  cat >>"$chart/Chart.yaml" <<EOF
  artifacthub.io/prerelease: "$([[ $version == *-* ]] && echo true || echo false)"
  artifacthub.io/images: |
    - {name: spark-operator, image: "$(release_image)", platforms: [linux/amd64, linux/arm64]}
  artifacthub.io/changes: |
$(release_changes)
EOF
  find "$chart" -exec touch -d "@$SOURCE_DATE_EPOCH" {} +
  "$helm" package "$chart" --version "${version#v}" --app-version "$version" --destination "$out" >/dev/null
  rendered=$("$helm" template x "$out/spark-operator-${version#v}.tgz" --set spark.jobNamespaces=null)
  only_image chart "$rendered"
}

# release_manifests renders what kubectl applies.
release_manifests() {
  "$kubectl" kustomize config/crd >"$out/crds.yaml"
  "$kubectl" kustomize config/default | sed "s|firesteel.local/spark-operator:dev|$(release_image)|" >"$out/install.yaml"
  only_image install.yaml "$(cat "$out/install.yaml")"
}

# only_image NAME TEXT fails when manifests name no image of the operator, or another one than the one that is released.
only_image() {
  local images
  images=$(sed -n 's|^ *\(- \)\{0,1\}image: *"\{0,1\}\([^" ]*spark-operator[^" ]*\)"\{0,1\} *$|\2|p' <<<"$2" | sort -u)
  [ "$images" = "$(release_image)" ] ||
    { echo "release: $1 names the image \"$images\", and must name $(release_image)" >&2; return 1; }
}
