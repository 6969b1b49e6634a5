// SPDX-License-Identifier: Apache-2.0

// Package version holds the version of this build.
package version

// version is set by the linker: -X github.com/firesteel-dev/firesteel/internal/version.version=v1.2.3.
var version = "dev"

// String returns the version of this build; "dev" if it was not stamped.
func String() string { return version }
