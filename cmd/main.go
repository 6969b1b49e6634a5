// SPDX-License-Identifier: Apache-2.0

//go:build ignore

// Kubebuilder requires this file, and writes wiring at its markers; it has none. No program is built from it. The operator's program is cmd/spark-operator.
package main
