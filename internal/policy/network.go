// SPDX-License-Identifier: Apache-2.0

package policy

import (
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/firesteel-dev/firesteel/internal/spark"
)

// networkPeers refuses those whom a NetworkPolicy lets in from outside of the namespace.
func (c *checker) networkPeers(s subject) {
	made, ok := s.object.(*networkingv1.NetworkPolicy)
	if !ok || !c.limits.ForbidNetworkPeers {
		return
	}
	outside := func(who string) {
		c.refuse(&spark.ConfError{Field: spark.Field(s.role + ".networkPolicy"), Value: who}, "only peers of its own")
	}
	for _, rule := range made.Spec.Ingress {
		if len(rule.From) == 0 {
			outside("all")
		}
		for _, peer := range rule.From {
			switch {
			case peer.IPBlock != nil:
				outside(peer.IPBlock.CIDR)
			case peer.NamespaceSelector != nil || peer.PodSelector == nil:
				outside("pods of other namespaces")
			}
		}
	}
}
