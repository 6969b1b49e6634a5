// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// namespaceRole writes the Role for a namespace of jobs, for an operator without a ClusterRole. It omits permissions that a Role cannot grant.
func namespaceRole(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	var all rbacv1.ClusterRole
	if err := yaml.UnmarshalStrict(text, &all); err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	given := rbacv1.Role{
		TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "Role"},
		ObjectMeta: metav1.ObjectMeta{Name: "spark-operator-controller", Namespace: "default"},
	}
	for _, rule := range all.Rules {
		rule.Resources = slices.DeleteFunc(rule.Resources, func(r string) bool { return r == "priorityclasses" })
		if len(rule.Resources) > 0 {
			given.Rules = append(given.Rules, rule)
		}
	}
	if text, err = yaml.Marshal(given); err != nil {
		return err
	}
	return os.WriteFile(to, append([]byte("# Written by hack/rbac from config/rbac/role.yaml; see make manifests.\n"), text...), 0o644)
}
