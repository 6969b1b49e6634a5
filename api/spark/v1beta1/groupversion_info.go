// SPDX-License-Identifier: Apache-2.0

// Package v1beta1 has the API types of spark.apache.org/v1beta1. This version is frozen, and lacks later fields of v1. The types define only the schema, and no
// object is decoded into them: the operator reads v1. hack/crd adds the fields of v1 to the schema, so that the API server keeps them.
//
// +kubebuilder:object:generate=true
// +groupName=spark.apache.org
package v1beta1
