// SPDX-License-Identifier: Apache-2.0

package namespaced

// With a selector of namespaces their labels are watched. These rights are apart from the others (config/rbac/namespaces):
// without a selector the operator has no business with namespaces.
//
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=list;watch
