// SPDX-License-Identifier: Apache-2.0

//go:build ignore

// Kubebuilder works only where it finds this file, and writes what it would wire to its markers, of which there are none
// here: the operator's program is cmd/spark-operator. Nothing is built from this file.
package main
