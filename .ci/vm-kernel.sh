#!/bin/bash
# Unpacks Debian's kernel for the tests in a virtual machine (test/vm): image and the modules that they may want, below /var/cache/enactor-vm, and below
# /var/cache/enactor-vm-bullseye that of Debian 11, whose list of packages is kept apart from this machine's.
# Neither is installed: nothing of this machine boots them. Where that cannot be done it says so and succeeds, since those tests skip themselves.
# Usage: vm-kernel.sh
set -uo pipefail

root=${ENACTOR_VM_KERNEL:-/var/cache/enactor-vm}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
chmod 755 "$dir"

# kernel ROOT APT-OPTION…
kernel() {
  local root=$1 package
  shift
  if compgen -G "$root/boot/vmlinuz-*" >/dev/null; then
    echo "vm-kernel: $(basename "$root"/boot/vmlinuz-*) is here"
    return
  fi
  give_up() { echo "vm-kernel: $1, so the tests in a virtual machine (test/vm) that need $root will be SKIPPED"; }
  [ "$(id -u)" = 0 ] || { give_up 'not root'; return; }
  [ "$(uname -m)" = x86_64 ] || { give_up "the virtual machine is an x86-64 one, and this is $(uname -m)"; return; }
  command -v apt-get >/dev/null || { give_up 'no apt-get'; return; }
  name() { apt-cache "$@" depends linux-image-amd64 2>/dev/null | sed -n 's/.*Depends: \(linux-image-[0-9][^ ]*\)$/\1/p' | head -n 1; }
  package=$(name "$@")
  if [ -z "$package" ]; then
    timeout 120 apt-get "$@" -qq update </dev/null >/dev/null 2>&1
    package=$(name "$@")
  fi
  [ -n "$package" ] || { give_up 'apt knows no linux-image-amd64'; return; }
  rm -rf "$dir/tree" && mkdir -p "$dir/tree"
  (cd "$dir/tree" && timeout 300 apt-get "$@" -qq -o DPkg::Lock::Timeout=120 -o APT::Sandbox::User=root download "$package" </dev/null 2>"$dir/log") ||
    { give_up "$package could not be downloaded ($(tail -n 1 "$dir/log"))"; return; }
  # Not every kernel has every folder.
  dpkg-deb --fsys-tarfile "$dir"/tree/*.deb | tar -x -C "$dir/tree" --wildcards './boot/vmlinuz-*' \
    './lib/modules/*/kernel/net/*' './lib/modules/*/kernel/drivers/net/*' './lib/modules/*/kernel/lib/*' './lib/modules/*/kernel/crypto/*'
  mkdir -p "$root"
  # The image last: it tells that all is there.
  cp -a "$dir/tree/lib" "$root/" && cp -a "$dir/tree/boot" "$root/" && echo "vm-kernel: unpacked $package"
}

kernel "$root"

# The archive that this machine has its packages from, by Debian 11's name.
archive=$(grep -rhoE 'https?://[^ ]*/debian/?( |$)' /etc/apt/sources.list /etc/apt/sources.list.d 2>/dev/null | head -n 1 | tr -d ' ')
mkdir -p "$dir/lists/partial" "$dir/cache/archives/partial"
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] ${archive:-http://nowhere.invalid/debian} bullseye main" >"$dir/sources"
kernel "$root-bullseye" -o Dir::Etc::sourcelist="$dir/sources" -o Dir::Etc::sourceparts=/dev/null -o Dir::State::lists="$dir/lists" -o Dir::Cache="$dir/cache"
exit 0
