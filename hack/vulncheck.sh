#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Looks for known vulnerabilities in what the programs really call. The database is the one thing here that is not pinned: where it cannot
# be reached nothing is found out, and that is an error, unless VULNCHECK_OFFLINE=1 says that it is known.
set -euo pipefail
cd "$(dirname "$0")/.."
check=$(hack/tools/build.sh govulncheck)/govulncheck
status=0
for packages in ./internal/version ./cmd/...; do # a small one first: that there is no database is noticed when all is loaded
  text=$("$check" ${GOVULNDB:+-db "$GOVULNDB"} "$packages" 2>&1) || status=$?
  [ "$status" = 0 ] || break
done
case $status:$text in
0:*) echo "vulncheck: no known vulnerability is called" ;;
*"fetching vulnerabilities:"*)
  reason="the vulnerability database cannot be reached: ${text##*fetching vulnerabilities: }"
  [ "${VULNCHECK_OFFLINE:-}" = 1 ] ||
    { echo "vulncheck: $reason; set GOVULNDB to a copy of it, or VULNCHECK_OFFLINE=1 to leave this out" >&2; exit 1; }
  echo "vulncheck: left out: $reason" ;;
*) printf '%s\n' "$text" >&2; exit 1 ;;
esac
