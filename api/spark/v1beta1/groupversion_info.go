// SPDX-License-Identifier: Apache-2.0

// Package v1beta1 holds the API types of spark.apache.org/v1beta1, which is frozen: what v1 has gained since is missing here. Nothing is
// decoded to these types; they are the schema, to which hack/crd adds what v1 has, so that the API server keeps it. The operator reads v1.
//
// +kubebuilder:object:generate=true
// +groupName=spark.apache.org
package v1beta1
