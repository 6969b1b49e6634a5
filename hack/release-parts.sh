# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154
# The parts of a release, for hack/release.sh and its tests. Who sources this sets version, registry, downloads (the address of what is
# released), archive and digest (of the image), out and work (folders).

platforms=(linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64)

# release_names refuses a version, a registry or an address that cannot be one.
release_names() {
  [[ $version =~ ^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$ ]] ||
    { echo "release: version \"$version\": must be like v1.2.3 or v1.2.3-rc.1" >&2; return 2; }
  # a first part without dot and port would be a user of Docker's registry, and not a host
  [[ $registry =~ ^([a-z0-9-]+(\.[a-z0-9-]+)+(:[0-9]+)?|[a-z0-9-]+:[0-9]+|localhost)(/[a-z0-9]+([._-]+[a-z0-9]+)*)*$ ]] ||
    {
      echo "release: registry \"$registry\": must be a host and perhaps a path, in lower case, without https:// and without a slash at the end:" \
        "REGISTRY=registry.example.com/team" >&2
      return 2
    }
  [[ $downloads =~ ^https?://[A-Za-z0-9._~:/%+-]*[A-Za-z0-9]$ ]] ||
    {
      echo "release: downloads \"$downloads\": must be the URL of the folder that the files will be in, without a slash at the end:" \
        "DOWNLOADS=https://example.com/firesteel/$version" >&2
      return 2
    }
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
  sed -i -e "/^image:/,/^[a-z]/ { s|^  registry: .*|  registry: \"$registry\"|; s|^  tag: .*|  tag: \"$version\"|" \
    -e "s|^  digest: .*|  digest: \"$digest\"|; }" "$chart/values.yaml"
  sed -i "s|oci://REGISTRY/charts/spark-operator --version VERSION|oci://$registry/charts/spark-operator --version ${version#v}|" "$chart/README.md"
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

# plugin_archive PLATFORM prints the name of an archive of the plugin.
plugin_archive() {
  case $1 in
  windows/*) echo "kubectl-spark_${version}_${1/\//_}.zip" ;;
  *) echo "kubectl-spark_${version}_${1/\//_}.tar.gz" ;;
  esac
}

# release_krew writes the manifest by which krew installs the plugin. Its archives have to be there.
release_krew() {
  local platform file sum program
  {
    cat <<EOF
apiVersion: krew.googlecontainertools.github.com/v1alpha2
kind: Plugin
metadata:
  name: spark
spec:
  version: $version
  homepage: https://github.com/firesteel-dev/firesteel
  shortDescription: Explain and steer Spark applications
  description: |
    Says why a Spark application waits or has failed and what to do about it, checks manifests without a cluster, and shows
    queues, quotas and logs of the applications of both API families.
  platforms:
EOF
    for platform in "${platforms[@]}"; do
      file=$(plugin_archive "$platform") program=kubectl-spark
      if [[ $platform = windows/* ]]; then program=kubectl-spark.exe; fi
      sum=$(sha256sum <"$out/$file")
      cat <<EOF
  - selector:
      matchLabels:
        os: ${platform%/*}
        arch: ${platform#*/}
    uri: $downloads/$file
    sha256: ${sum%% *}
    bin: $program
EOF
    done
  } >"$out/spark.yaml"
}

# release_index writes the index of a Helm repository that has this one chart. Helm would say when it wrote it.
release_index() {
  "$helm" repo index "$out" --url "$downloads"
  sed -i -E "s/^( *)(created|generated): .*/\\1\\2: \"$(date -u -d "@$SOURCE_DATE_EPOCH" +%FT%TZ)\"/" "$out/index.yaml"
}

# release_sbom writes the SBOM of the image from those of the programs in it, one for each platform, and that of the operator for this platform. The base is
# empty: all files of the image are named.
release_sbom() {
  local platform manifest folder file boms=() files=$work/files.json blobs=$work/blobs
  mkdir -p "$blobs"
  tar -C "$blobs" -xf "$archive" --strip-components=2 blobs/sha256
  while read -r platform manifest; do
    folder=$work/image/$platform
    mkdir -p "$folder"
    jq -r '.layers[].digest | sub(".*:"; "")' "$blobs/${manifest#*:}" | while read -r file; do tar -C "$folder" -xzf "$blobs/$file"; done
    "$sbom" bin -json -std -noserial -version "$version" -output "$folder.json" "$folder/spark-operator" 2>/dev/null
    boms+=("$folder.json")
    (cd "$folder" && find . -type f -exec sha256sum {} +) |
      jq -R --arg platform "$platform" 'split("  .") | {type: "file", "bom-ref": ("file:" + $platform + .[1]), name: .[1],
        hashes: [{alg: "SHA-256", content: .[0]}], properties: [{name: "firesteel:platform", value: $platform}]}' >>"$files"
  done < <(jq -r '.manifests[] | "\(.platform.os)/\(.platform.architecture) \(.digest)"' "$blobs/${digest#*:}")
  cp "${boms[0]}" "$out/spark-operator-$version.cdx.json"
  jq -s --slurpfile files "$files" --arg image "$registry/spark-operator" --arg version "$version" --arg digest "$digest" \
    --arg at "$(date -u -d "@$SOURCE_DATE_EPOCH" +%FT%TZ)" -f hack/release-sbom.jq "${boms[@]}" >"$out/spark-operator-image-$version.cdx.json"
}
