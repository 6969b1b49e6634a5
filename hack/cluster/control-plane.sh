# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154
# etcd, the API server, the controllers and the scheduler.

start_etcd() {
  start etcd "$bin/etcd" --data-dir="$state/etcd" --unsafe-no-fsync \
    --listen-client-urls=http://127.0.0.1:2379 --advertise-client-urls=http://127.0.0.1:2379 \
    --listen-peer-urls=http://127.0.0.1:2380
}

# What service accounts ask is written down without contents, for those who compare rights with needs (test/e2e).
write_audit_policy() {
  cat >"$state/audit-policy.yaml" <<EOT
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived] # the end of a watch may never come
rules:
- level: Metadata # who loses rights, and when: requests that are refused afterwards are no surprise
  verbs: [delete]
  resources:
  - {group: "", resources: [namespaces, serviceaccounts]}
  - {group: rbac.authorization.k8s.io, resources: [rolebindings]}
- level: None
  userGroups: ["system:serviceaccounts:kube-system"]
- level: Metadata
  userGroups: ["system:serviceaccounts"]
- level: None
EOT
}

start_apiserver() {
  write_audit_policy
  # the kubelet is reached by its address and wants a certificate, or `kubectl logs` fails
  start kube-apiserver "$bin/kube-apiserver" \
    --etcd-servers=http://127.0.0.1:2379 --secure-port=6443 --advertise-address="$node_ip" \
    --client-ca-file="$pki/ca.crt" \
    --tls-cert-file="$pki/apiserver.crt" --tls-private-key-file="$pki/apiserver.key" \
    --service-account-issuer=https://kubernetes.default.svc \
    --service-account-key-file="$pki/service-accounts.pub" \
    --service-account-signing-key-file="$pki/service-accounts.key" \
    --service-cluster-ip-range="$service_cidr" --authorization-mode=Node,RBAC --allow-privileged=true \
    --enable-admission-plugins="${FIRESTEEL_CLUSTER_ADMISSION:-}" \
    --audit-policy-file="$state/audit-policy.yaml" --audit-log-path="$logs/audit.log" \
    --kubelet-preferred-address-types=InternalIP \
    --kubelet-client-certificate="$pki/admin.crt" --kubelet-client-key="$pki/admin.key"
}

start_controllers() {
  start kube-controller-manager "$bin/kube-controller-manager" \
    --kubeconfig="$pki/kube-controller-manager.kubeconfig" --leader-elect=false \
    --root-ca-file="$pki/ca.crt" --service-account-private-key-file="$pki/service-accounts.key" \
    --use-service-account-credentials=true
  start kube-scheduler "$bin/kube-scheduler" --kubeconfig="$pki/kube-scheduler.kubeconfig" --leader-elect=false
}
