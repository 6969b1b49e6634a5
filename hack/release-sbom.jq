# SPDX-License-Identifier: Apache-2.0
# The SBOM of an image, from those of the programs in it: the image contains its files and programs, and programs their modules.
("pkg:oci/spark-operator@" + ($digest | sub(":"; "%3A")) + "?repository_url=" + $image + "&tag=" + $version) as $ref
| ([.[].metadata.component] | unique_by(."bom-ref")) as $programs
| {
    "$schema": .[0]."$schema", bomFormat: .[0].bomFormat, specVersion: .[0].specVersion, version: 1,
    metadata: {
      timestamp: $at, tools: .[0].metadata.tools,
      component: {"bom-ref": $ref, type: "container", name: $image, version: $version, purl: $ref, hashes: [{alg: "SHA-256", content: ($digest | sub(".*:"; ""))}]}
    },
    # a module is the same one on each platform
    components: ($files + (($programs + [.[].components[]]) | unique_by(."bom-ref") | map(if .purl then .purl |= sub("&goos=[a-z0-9]+&goarch=[a-z0-9]+"; "") else . end))),
    dependencies: ([{ref: $ref, dependsOn: ([$programs[], $files[]] | map(."bom-ref"))}]
      + ([.[].dependencies[]] | group_by(.ref) | map({ref: .[0].ref, dependsOn: (map(.dependsOn // []) | add | unique)})))
  }
