// SPDX-License-Identifier: Apache-2.0

package exposure

import rbacv1 "k8s.io/api/rbac/v1"

// Fragment is what the operator may do with one kind of objects, beside its own role. It is needed only if the
// configuration turns the kind on.
type Fragment struct {
	// Name of the files that hold the rules.
	Name  string
	Rules []rbacv1.PolicyRule
}

// Fragments returns the rights for each kind that is off by default. Services belong to the operator's own role.
func Fragments() []Fragment {
	of := func(name, group, resource string) Fragment {
		return Fragment{name, []rbacv1.PolicyRule{{
			APIGroups: []string{group}, Resources: []string{resource}, Verbs: []string{"get", "list", "watch", "create", "patch", "delete"},
		}}}
	}
	return []Fragment{
		of("httproute", HTTPRoute.Group, "httproutes"),
		of("ingress", IngressKind.Group, "ingresses"),
		of("poddisruptionbudget", DisruptionBudget.Group, "poddisruptionbudgets"),
	}
}
