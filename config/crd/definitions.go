// SPDX-License-Identifier: Apache-2.0

// Package crd holds the definitions of Firesteel's kinds, for programs that check objects without a cluster.
package crd

import "embed"

// Definitions are the CustomResourceDefinitions, one per file of bases.
//
//go:embed bases/*.yaml
var Definitions embed.FS
