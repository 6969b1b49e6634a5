// SPDX-License-Identifier: Apache-2.0

// Package v1beta1 holds the API types of spark.apache.org/v1beta1, which is frozen: it lacks later fields of v1. The types
// define the schema only, and no object is decoded to them; hack/crd adds the fields of v1, so that the API server keeps them.
// The operator reads v1.
//
// +kubebuilder:object:generate=true
// +groupName=spark.apache.org
package v1beta1
