#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the tests of a package for `go test -exec`, and notes what they took, with the programs that they started and waited for.
cd_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
. "$cd_root/hack/stages.sh"
stage "${PWD#"$cd_root"/}" "$@"
