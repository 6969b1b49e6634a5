// SPDX-License-Identifier: Apache-2.0

package spark

import (
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// networkPolicy lets only pods of the same application reach the executors: NetworkPolicyFeatureStep.
func (b *builder) networkPolicy() {
	if !b.profile.NetworkPolicy {
		return
	}
	meta := b.meta(b.prefix + "-policy")
	meta.Labels = map[string]string{LabelAppSelector: b.id.AppID}
	b.addResource(&networkingv1.NetworkPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: "networking.k8s.io/v1", Kind: "NetworkPolicy"},
		ObjectMeta: meta,
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{
				LabelRole:        RoleExecutor,
				LabelAppSelector: b.id.AppID,
			}},
			Ingress: []networkingv1.NetworkPolicyIngressRule{{
				From: []networkingv1.NetworkPolicyPeer{{
					PodSelector: &metav1.LabelSelector{MatchLabels: map[string]string{LabelAppSelector: b.id.AppID}},
				}},
			}},
		},
	})
}
