# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154
# Certificates and kubeconfigs. All keys are RSA: the Kubernetes client in Spark 3.5 cannot read EC keys.

make_pki() {
  local sans=DNS:localhost,DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc
  sans+=,DNS:kubernetes.default.svc.cluster.local,IP:127.0.0.1${api_service_ip:+,IP:$api_service_ip,IP:$node_ip}
  (
    umask 077
    mkdir -p "$pki"
    cd "$pki"
    printf '[req]\ndistinguished_name = dn\n[dn]\n' >openssl.conf # keeps the machine's own openssl settings out
    key ca
    openssl req -config openssl.conf -x509 -new -key ca.key -subj "/CN=$name-ca" -days 3650 -out ca.crt \
      -addext basicConstraints=critical,CA:TRUE -addext keyUsage=critical,keyCertSign,cRLSign
    certificate apiserver /CN=kube-apiserver "$sans"
    certificate admin /O=system:masters/CN=admin
    certificate kube-controller-manager /CN=system:kube-controller-manager
    certificate kube-scheduler /CN=system:kube-scheduler
    certificate kube-proxy /CN=system:kube-proxy
    certificate kubelet "/O=system:nodes/CN=system:node:$node_name"
    key service-accounts
    openssl rsa -in service-accounts.key -pubout -out service-accounts.pub 2>/dev/null
    for client in admin kube-controller-manager kube-scheduler kube-proxy kubelet; do
      write_kubeconfig "$client"
    done
  ) || die "could not make certificates in $pki"
  say "certificates made"
}

# key NAME writes NAME.key. The traditional encoding is the one that every Java client reads.
key() { openssl genrsa -traditional -out "$1.key" 2048 2>/dev/null; }

# certificate NAME SUBJECT [ALTERNATIVE_NAMES] writes NAME.key and NAME.crt, signed by the cluster's authority.
certificate() {
  key "$1"
  openssl req -config openssl.conf -x509 -new -key "$1.key" -subj "$2" -days 3650 -out "$1.crt" \
    -CA ca.crt -CAkey ca.key -addext basicConstraints=critical,CA:FALSE \
    -addext keyUsage=critical,digitalSignature,keyEncipherment -addext extendedKeyUsage=clientAuth,serverAuth \
    ${3:+-addext "subjectAltName=$3"}
}

# write_kubeconfig CLIENT writes CLIENT.kubeconfig, with everything inside so that the file can be copied.
write_kubeconfig() {
  cat >"$1.kubeconfig" <<EOY
apiVersion: v1
kind: Config
clusters:
- name: $name
  cluster:
    server: $api_url
    certificate-authority-data: $(base64 -w0 ca.crt)
users:
- name: $1
  user:
    client-certificate-data: $(base64 -w0 "$1.crt")
    client-key-data: $(base64 -w0 "$1.key")
contexts:
- name: $name
  context: {cluster: $name, user: $1, namespace: default}
current-context: $name
EOY
}
