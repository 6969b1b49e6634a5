/*
Copyright 2026 The Firesteel Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

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
