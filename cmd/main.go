// SPDX-License-Identifier: Apache-2.0

//go:build ignore

// Kubebuilder requires this file and writes wiring to its markers; it has none. The operator's program is cmd/spark-operator,
// and no binary is built from this file.
package main
