# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What every script here shares: progress lines, errors, bounded waits and Debian packages.

lib_started=${lib_started:-$EPOCHREALTIME}

# elapsed prints the seconds since the script began, with one decimal.
elapsed() {
  local ms=$(((${EPOCHREALTIME/./} - ${lib_started/./}) / 1000))
  printf '%d.%d' $((ms / 1000)) $((ms % 1000 / 100))
}

# say MESSAGE... writes one progress line; standard output stays free for results.
say() { printf '%7ss  %s\n' "$(elapsed)" "$*" >&2; }

die() {
  say "ERROR: $*"
  exit 1
}

# wait_for WHAT SECONDS COMMAND... polls the command until it succeeds and ends the script if it never does.
wait_for() {
  local what=$1 deadline=$((SECONDS + $2)) seconds=$2
  shift 2
  until "$@" >/dev/null 2>&1; do
    [ "$SECONDS" -lt "$deadline" ] || die "$what: not within $seconds seconds (logs: ${logs:-none})"
    sleep 0.1
  done
  say "$what"
}

# cache_dir prints the folder that keeps what is built once per machine.
cache_dir() { echo "${FIRESTEEL_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/firesteel}"; }

# install_packages PACKAGE... installs Debian packages without letting them start a service.
install_packages() {
  [ $# -gt 0 ] || return 0
  if [ ! -e /etc/debian_version ] || ! command -v apt-get >/dev/null; then
    die "please install the equivalents of these Debian packages: $*"
  fi
  [ "$(id -u)" = 0 ] || die "please install these Debian packages (as root): $*"
  say "installing Debian packages: $*"
  (
    if [ ! -e /usr/sbin/policy-rc.d ]; then
      trap 'rm -f /usr/sbin/policy-rc.d' EXIT
      printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d
      chmod +x /usr/sbin/policy-rc.d
    fi
    apt=(timeout 600 apt-get -qq -y -o DPkg::Lock::Timeout=120)
    export DEBIAN_FRONTEND=noninteractive
    # a brand-new machine has no package lists yet
    "${apt[@]}" install --no-install-recommends "$@" >/dev/null 2>&1 ||
      { "${apt[@]}" update >/dev/null && "${apt[@]}" install --no-install-recommends "$@" >/dev/null; }
  ) || die "apt-get could not install: $*"
}

# require_commands COMMAND:PACKAGE... installs the packages of the commands that are missing.
require_commands() {
  local pair missing=()
  for pair; do
    command -v "${pair%%:*}" >/dev/null || missing+=("${pair#*:}")
  done
  install_packages "${missing[@]}"
}

require_go() {
  command -v go >/dev/null || die "Go is missing: install the version that go.mod names, or a newer one"
}
