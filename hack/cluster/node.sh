# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154
# containerd with the pods' network, the kubelet, kube-proxy and DNS.

start_containerd() {
  write_cni_config
  write_containerd_config
  start containerd containerd --config "$state/containerd.toml"
  wait_for "containerd ready" 30 ctr --address "$containerd_socket" version
}

start_node() {
  write_kubelet_config
  start kubelet "$bin/kubelet" --config="$state/kubelet.yaml" --kubeconfig="$pki/kubelet.kubeconfig" \
    --root-dir="$state/kubelet" --cert-dir="$state/kubelet/pki" \
    --hostname-override="$node_name" --node-ip="$node_ip" --oom-score-adj=0
  # the conntrack limits exist once per machine, not per network namespace: leave them alone
  start kube-proxy "$bin/kube-proxy" --kubeconfig="$pki/kube-proxy.kubeconfig" --proxy-mode=iptables \
    --hostname-override="$node_name" --cluster-cidr="$pod_cidr" \
    --conntrack-max-per-core=0 --conntrack-tcp-timeout-established=0 --conntrack-tcp-timeout-close-wait=0
  write_dns_config
  start coredns "$bin/coredns" -conf "$state/Corefile" -dns.port=53
}

write_cni_config() {
  mkdir -p "$state/cni"
  jq -n --arg data "$state/cni-data" --arg subnet "$pod_cidr" '{
    cniVersion: "0.4.0", name: "pods",
    plugins: [{type: "bridge", bridge: "cni0", isGateway: true, ipMasq: false, hairpinMode: true,
      ipam: {type: "host-local", dataDir: $data, ranges: [[{subnet: $subnet}]], routes: [{dst: "0.0.0.0/0"}]}}]
  }' >"$state/cni/10-pods.conflist"
}

# restrict_oom_score_adj: without the capability to lower it, runc ends before a container starts.
# The socket lies in the state folder, so that commands outside the sandbox reach it.
write_containerd_config() {
  cat >"$state/containerd.toml" <<EOT
version = 2
root = "$state/containerd/root"
state = "$state/containerd/state"
disabled_plugins = [
  "io.containerd.internal.v1.opt", "io.containerd.internal.v1.tracing", "io.containerd.tracing.processor.v1.otlp",
  "io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs",
  "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs",
]
[grpc]
  address = "$containerd_socket"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "$pause_image"
  restrict_oom_score_adj = true
  disable_apparmor = true
  netns_mounts_under_state_dir = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "$(cni_bin_dir)"
    conf_dir = "$state/cni"
EOT
}

# The kubelet refuses cgroup v1 unless told otherwise. Eviction and image collection are all but off: a small machine's
# disk may be rather full, and an image that was removed cannot be pulled again.
write_kubelet_config() {
  cat >"$state/kubelet.yaml" <<EOY
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
containerRuntimeEndpoint: unix://$containerd_socket
failCgroupV1: false
cgroupDriver: cgroupfs
cgroupRoot: /$name
enforceNodeAllocatable: []
failSwapOn: false
maxPods: 220
authentication:
  anonymous: {enabled: false}
  webhook: {enabled: true}
  x509: {clientCAFile: $pki/ca.crt}
authorization: {mode: Webhook}
clusterDNS: [$node_ip]
clusterDomain: cluster.local
resolvConf: ""
podLogsDir: $state/pod-logs
volumePluginDir: $state/volume-plugins
imageGCHighThresholdPercent: 100
evictionHard: {memory.available: 100Mi, nodefs.available: 1%, imagefs.available: 1%}
EOY
}

# No cache and short lives: a Java client keeps a failed look-up for 10 seconds, so the first answer had better be right.
write_dns_config() {
  cat >"$state/Corefile" <<EOC
.:53 {
  bind $node_ip
  errors
  kubernetes cluster.local in-addr.arpa ip6.arpa {
    kubeconfig $kubeconfig
    pods insecure
    ttl 1
  }
}
EOC
}
