#!/bin/bash
# Unpacks Debian's kernel for the tests in a virtual machine (test/vm): image and the modules that they may want, below /var/cache/enactor-vm.
# It is not installed: nothing of this machine boots it. Where that cannot be done it says so and succeeds, since those tests skip themselves.
# Usage: vm-kernel.sh
set -euo pipefail

root=${ENACTOR_VM_KERNEL:-/var/cache/enactor-vm}
if compgen -G "$root/boot/vmlinuz-*" >/dev/null; then
  echo "vm-kernel: $(basename "$root"/boot/vmlinuz-*) is here"
  exit 0
fi

give_up() {
  echo "vm-kernel: $1, so the tests in a virtual machine (test/vm) will be SKIPPED"
  exit 0
}

[ "$(id -u)" = 0 ] || give_up 'not root'
[ "$(uname -m)" = x86_64 ] || give_up "the virtual machine is an x86-64 one, and this is $(uname -m)"
command -v apt-get >/dev/null || give_up 'no apt-get'

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
name() { apt-cache depends linux-image-amd64 2>/dev/null | sed -n 's/.*Depends: \(linux-image-[0-9][^ ]*\)$/\1/p' | head -n 1; }
package=$(name)
if [ -z "$package" ]; then
  timeout 120 apt-get -qq update </dev/null || true
  package=$(name)
fi
[ -n "$package" ] || give_up 'apt knows no linux-image-amd64'
chmod 755 "$dir"
(cd "$dir" && timeout 300 apt-get -qq -o DPkg::Lock::Timeout=120 download "$package" </dev/null 2>"$dir/log") ||
  give_up "$package could not be downloaded ($(tail -n 1 "$dir/log"))"
mkdir -p "$dir/tree"
dpkg-deb --fsys-tarfile "$dir"/*.deb | tar -x -C "$dir/tree" --wildcards './boot/vmlinuz-*' \
  './lib/modules/*/kernel/net/*' './lib/modules/*/kernel/drivers/net/*' './lib/modules/*/kernel/lib/*' './lib/modules/*/kernel/crypto/*'
mkdir -p "$root"
# The image last: it tells that all is there.
cp -a "$dir/tree/lib" "$root/"
cp -a "$dir/tree/boot" "$root/"
echo "vm-kernel: unpacked $package"
