# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154
# The lowest layer of the Spark image: Java, Python and a shell from Debian packages, unpacked without their
# maintainer scripts, so neither debootstrap nor a chroot is needed.

base_packages=(base-files bash coreutils dash sed grep findutils procps tini libc-bin python3 openjdk-17-jre-headless)

# Dependencies that only matter to a machine that administers packages, prints, draws or talks to a desktop.
base_without='perl|libperl|dpkg|debconf|tar|adduser|util-linux|install-info|init-system|media-types|mailcap|openssl'
base_without+='|ca-certificates|fonts|libfontconfig|fontconfig|libharfbuzz|libgraphite|liblcms|libglib|libcups|libavahi'
base_without+='|libdbus|libasound|libgnutls|libhogweed|libnettle|libp11|libunistring|libdb5'

# base_layer prints the path of the layer, which it makes when needed.
base_layer() {
  local layer work
  layer=$cache/base-$(key "$here"/base.{sh,sha256}).tar
  if [ ! -e "$layer" ]; then
    work=$(mktemp -d "$cache/work.XXXX")
    download_base "$work"
    verify_base "$work"
    unpack_base "$work"
    complete_base "$work/root"
    layer_tar -C "$work/root" -cf "$work/layer.tar" .
    mv "$work/layer.tar" "$layer"
    rm -rf "$work"
    keep_only "$layer" 'base-*.tar'
    say "Debian layer with Java and Python: $(($(stat -c %s "$layer") >> 20)) MiB"
  fi
  echo "$layer"
}

# base_sums prints the lines of base.sha256 for this machine's architecture.
base_sums() {
  local work
  work=$(mktemp -d "$cache/work.XXXX")
  download_base "$work"
  (cd "$work/apt" && LC_ALL=C sha256sum -- *.deb)
  rm -rf "$work"
}

# download_base fetches the packages and all they depend on: told that nothing is installed, apt leaves nothing out. What no image needs is removed.
download_base() {
  local work=$1
  say "downloading Debian packages"
  mkdir -p "$work/apt/partial"
  : >"$work/status"
  local apt=(timeout 600 apt-get -qq -y -o APT::Sandbox::User=root -o Debug::NoLocking=1
    -o Dir::State::status="$work/status" -o Dir::Cache::archives="$work/apt")
  "${apt[@]}" install --download-only --no-install-recommends "${base_packages[@]}" >/dev/null 2>&1 ||
    { apt-get -qq update >/dev/null &&
      "${apt[@]}" install --download-only --no-install-recommends "${base_packages[@]}" >/dev/null; } ||
    die "apt-get could not download ${base_packages[*]} (this was tested on Debian 12)"
  find "$work/apt" -maxdepth 1 -regextype posix-extended -regex ".*/($base_without)[^/]*\.deb" -delete
}

# verify_base compares the packages with base.sha256. Debian keeps only the newest version of a package: one that came out since then is not
# recorded, and must be what Debian's signed index says. A recorded one that is different now ends the build in any case.
verify_base() {
  local work=$1 sum file name version newer=()
  (cd "$work/apt" && LC_ALL=C sha256sum -- *.deb) >"$work/sums"
  file=$(awk 'NR == FNR { recorded[$2] = $1; next } ($2 in recorded) && recorded[$2] != $1 { print $2 }' "$here/base.sha256" "$work/sums")
  [ -z "$file" ] || die "not what they were: their checksums differ from those in $here/base.sha256:" $file
  while read -r sum file; do
    name=${file%%_*} version=${file#*_}
    version=${version%_*}
    apt-cache -o Dir::State::status="$work/status" show "$name=${version//%3a/:}" | grep -x "SHA256: $sum" >/dev/null ||
      die "$file: its checksum is not the one in Debian's index"
    newer+=("$file")
  done < <(awk 'NR == FNR { recorded[$2]; next } !($2 in recorded)' "$here/base.sha256" "$work/sums")
  [ ${#newer[@]} = 0 ] || say "not recorded in base.sha256, and as Debian's signed index says: ${newer[*]}"
}

unpack_base() {
  local root=$1/root package dir
  mkdir -p "$root"/usr/{bin,sbin,lib,lib64} "$root"/{etc,tmp,root,proc,sys,dev,run,home,opt,var/tmp}
  chmod 1777 "$root/tmp" "$root/var/tmp"
  for dir in bin sbin lib lib64; do ln -s "usr/$dir" "$root/$dir"; done
  for package in "$1"/apt/*.deb; do
    dpkg-deb --fsys-tarfile "$package" | tar -C "$root" --keep-directory-symlink --no-same-owner -x \
      --exclude='./usr/share/doc' --exclude='./usr/share/man' --exclude='./usr/share/locale' \
      --exclude='./usr/share/info' --exclude='./usr/share/lintian'
  done
}

# complete_base does what the maintainer scripts would have done, as far as Spark needs it.
complete_base() {
  local root=$1 java
  printf '%s\n' root:x:0:0:root:/root:/bin/bash spark:x:185:185::/opt/spark:/bin/bash \
    nobody:x:65534:65534::/nonexistent:/bin/false >"$root/etc/passwd"
  printf '%s\n' root:x:0: spark:x:185: nogroup:x:65534: >"$root/etc/group"
  chmod 664 "$root/etc/passwd" # the entrypoint adds a user when the pod runs as an unknown one
  echo 'hosts: files dns' >"$root/etc/nsswitch.conf"
  [ -e "$root/usr/bin/sh" ] || ln -s dash "$root/usr/bin/sh"
  java=$(cd "$root/usr/lib/jvm" && ls -d java-17-openjdk-*)
  ln -s "$java" "$root/usr/lib/jvm/java" # the same JAVA_HOME on every architecture
  ln -sf ../lib/jvm/java/bin/java "$root/usr/bin/java"
  [ -s /etc/ssl/certs/java/cacerts ] || install_packages ca-certificates-java
  mkdir -p "$root/etc/ssl/certs/java"
  cp /etc/ssl/certs/java/cacerts "$root/etc/ssl/certs/java/"
  ldconfig -r "$root" 2>/dev/null
}
