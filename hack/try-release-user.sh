#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# What somebody does who has kubectl, Helm, cosign and curl, and a registry that a release was published to. hack/try-release.sh runs it in a
# folder with cosign.pub and spark-pi.yaml.
#
# Usage: try-release-user.sh HOST VERSION NEXT
set -euo pipefail
host=$1 before=$2 after=$3 registry=$1/team
say() { printf '== %s\n' "$*"; }
fail() { echo "try-release: $*" >&2; exit 1; }
for program in go git make docker; do
  if command -v "$program" >/dev/null; then fail "$program is here, which the user is not to have"; fi
done
unset KUBERNETES_SERVICE_HOST

# Kubernetes makes these by itself. Leases are of nodes, but for the operator's.
own='^(events|leases|nodes|componentstatuses|endpoints|endpointslices|ipaddresses|flowschemas|prioritylevelconfigurations)($|\.)'
columns=custom-columns=API:.apiVersion,KIND:.kind,NAMESPACE:.metadata.namespace,NAME:.metadata.name

# everything lists all objects that somebody has made.
everything() {
  local kinds
  kinds=$(kubectl api-resources --verbs=list -o name | grep -vE "$own" | tr '\n' ',')
  kubectl get "${kinds%,}" -A --no-headers -o "$columns" | tr -s ' ' | sort
  kubectl get leases -A --no-headers -o "$columns" | tr -s ' ' | grep -i spark || true
}

# verified VERSION checks image and chart in the registry and what was downloaded, by the commands of SECURITY.md, and gets the plugin.
verified() {
  local version=$1 file
  for file in "spark-operator:$version" "charts/spark-operator:${version#v}"; do
    cosign verify --key cosign.pub --insecure-ignore-tlog "$registry/$file" >/dev/null 2>said || fail "$file: $(cat said)"
  done
  rm -rf downloads
  mkdir downloads
  for file in SHA256SUMS SHA256SUMS.sig install.yaml "kubectl-spark_${version}_linux_$arch.tar.gz"; do
    curl -fsS -o "downloads/$file" "http://$host/$version/$file"
  done
  cosign verify-blob --key cosign.pub --private-infrastructure --signature downloads/SHA256SUMS.sig downloads/SHA256SUMS 2>said ||
    fail "SHA256SUMS: $(cat said)"
  (cd downloads && sha256sum --quiet --ignore-missing -c SHA256SUMS)
  tar -xzf "downloads/kubectl-spark_${version}_linux_$arch.tar.gz" -C plugin ./kubectl-spark
}

# runs VERSION looks at the operator that runs: its image is what install.yaml of the release names, by digest.
runs() {
  local image deployment
  for deployment in spark-operator-controller spark-operator-webhook; do
    kubectl rollout status "deployment/$deployment" -n spark-operator --timeout 2m
  done
  image=$(kubectl get deployment spark-operator-controller -n spark-operator -o jsonpath='{.spec.template.spec.containers[0].image}')
  grep -F "image: $image" downloads/install.yaml >/dev/null || fail "the operator of $1 runs the image $image, which install.yaml does not name"
  kubectl spark check
  kubectl spark check | grep -F "$1" >/dev/null || fail "kubectl spark check does not name $1"
}

case $(uname -m) in x86_64) arch=amd64 ;; *) arch=arm64 ;; esac
mkdir plugin
PATH=$PWD/plugin:$PATH
everything >all-before

say "verify and install $before"
verified "$before"
if cosign verify --key cosign.pub --insecure-ignore-tlog "$registry/spark-operator:v0.0.0" >/dev/null 2>&1; then fail "cosign verifies what is not there"; fi
helm install spark-operator "oci://$registry/charts/spark-operator" --version "${before#v}" -n spark-operator --create-namespace --plain-http
runs "$before"

say "an application, and an upgrade to $after while it runs"
kubectl apply -f spark-pi.yaml
verified "$after"
helm upgrade spark-operator "oci://$registry/charts/spark-operator" --version "${after#v}" -n spark-operator --plain-http >/dev/null
runs "$after"
kubectl spark wait spark-pi --timeout 5m
kubectl spark logs spark-pi | grep 'Pi is roughly'
[ "$(kubectl get sparkapplications.sparkoperator.k8s.io spark-pi -o jsonpath='{.status.executionAttempts}')" = 1 ] || fail "the upgrade has made it run again"

say "remove it"
helm uninstall spark-operator -n spark-operator
kubectl delete namespace spark-operator
# what docs/install.md says that stays: the definitions, and with them all applications
kubectl get sparkapplications.sparkoperator.k8s.io spark-pi
kubectl delete crd sparkapplications.sparkoperator.k8s.io scheduledsparkapplications.sparkoperator.k8s.io sparkconnects.sparkoperator.k8s.io
kubectl wait pods -l spark-role=driver --for=delete --timeout 2m
for _ in $(seq 60); do
  everything >all-after
  left=$(comm -13 all-before all-after)
  [ -n "$left" ] || break
  sleep 1
done
[ -z "$left" ] || fail "this is left behind:"$'\n'"$left"
say "nothing is left behind: 1 passed"
