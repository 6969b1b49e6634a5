#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds the documentation site and reads every page in Chromium: hack/site/check.mjs says what is wrong. The browser is Debian's; the two
# packages of package-lock.json are downloaded once, into the cache, and only with the checksums that stand there.
#
#   hack/site/check.sh              all pages
#   hack/site/check.sh fields.html  only these
set -euo pipefail
cd "$(dirname "$0")/../.."
. hack/cluster/lib.sh

require_commands chromium:chromium node:nodejs npm:npm
version=$(node --version)
major=${version#v} major=${major%%.*}
[ "$major" -ge 20 ] || die "Node $version is too old: it must be 20 or later"
lock=hack/site/package-lock.json
modules=$(cache_dir)/site-$(sha256sum "$lock" | cut -c1-12)
if [ ! -e "$modules/.complete" ]; then
  rm -rf "$modules"
  mkdir -p "$modules"
  cp hack/site/package.json "$lock" "$modules"
  npm ci --prefix "$modules" --ignore-scripts --no-audit --no-fund --silent
  touch "$modules/.complete"
fi
export FIRESTEEL_SITE_MODULES=$modules
# a check that finds nothing must be able to find something
said=$(node hack/site/check.mjs hack/site/testdata 2>&1) && die "hack/site/check.mjs finds nothing wrong with hack/site/testdata/bad.html"
for fault in "scrolls sideways" "color-contrast" "no such id" "no such file" "script error" "from elsewhere" "does not follow the scheme"; do
  [[ $said == *"$fault"* ]] || die "hack/site/check.mjs does not find \"$fault\" in hack/site/testdata/bad.html: $said"
done
hack/docs.sh >/dev/null
node hack/site/check.mjs dist/site "$@"
