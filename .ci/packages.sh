#!/bin/bash
# Installs the Debian packages that some tests drive, where it may: root, apt-get, and only what is missing. Elsewhere it says
# which tests cannot run and still succeeds, since those tests skip themselves with the same words.
# Usage: packages.sh [soak], with those that only `npm run soak` drives
set -euo pipefail

# package -> a file it brings -> what needs it
wanted='containerd|/usr/bin/containerd|the real-runtime tests (test/runtime)
runc|/usr/sbin/runc|the real-runtime tests (test/runtime)
containernetworking-plugins|/usr/lib/cni/loopback|the real-runtime tests (test/runtime)
busybox-static|/bin/busybox|the real-runtime tests (test/runtime)
chromium-headless-shell|/usr/bin/chromium-headless-shell|the tests of the inspector’s page (test/inspect)
nftables|/usr/sbin/nft|the table of paths through services and of replies (test/lab/checks, test/cases/f03, npm run paths)
iptables|/usr/sbin/iptables-restore|the table of paths through services (test/lab/checks, npm run paths)
qemu-system-x86|/usr/bin/qemu-system-x86_64|the tests in a virtual machine (test/vm)
kubernetes-client|/usr/bin/kubectl|the install page followed by a real kubectl (test/e2e, test/lab/apiserver/kubectl); without it the same is applied by other hands
seabios|/usr/share/seabios/bios-256k.bin|the tests in a virtual machine (test/vm)
ipvsadm|/usr/sbin/ipvsadm|the tests in a virtual machine (test/vm)
iproute2|/usr/sbin/ip|the benches and the tests that compare host state
util-linux|/usr/bin/nsenter|every test that uses network namespaces'

[ "${1:-}" = soak ] && wanted+='
qemu-user|/usr/bin/qemu-aarch64|the plugin for arm64 (test/deploy/arm64.long.ts)
libc6-arm64-cross|/usr/aarch64-linux-gnu/lib/ld-linux-aarch64.so.1|the plugin for arm64 (test/deploy/arm64.long.ts)'

look() {
  missing=()
  needing=()
  while IFS='|' read -r package file reason; do
    [ -e "$file" ] || { missing+=("$package"); needing+=("$package ($file): $reason"); }
  done <<<"$wanted"
}
look

if [ ${#missing[@]} -eq 0 ]; then
  echo "packages: everything the tests drive is here"
  exit 0
fi

give_up() {
  echo "packages: $1, so these are missing and the tests that need them will be SKIPPED:"
  printf 'packages:   %s\n' "${needing[@]}"
  exit 0
}

[ "$(id -u)" = 0 ] || give_up 'not root'
command -v apt-get >/dev/null || give_up 'no apt-get'

# containerd's package starts a service of its own, which nobody here asked for: a policy-rc.d that says no while we install.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
  printf '#!/bin/sh\nexit 101\n' >"$policy"
  chmod 755 "$policy"
  trap 'rm -f "$policy"' EXIT
fi

install() {
  DEBIAN_FRONTEND=noninteractive timeout 300 apt-get -qq -y -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=120 \
    install --no-install-recommends "${missing[@]}" </dev/null
}

echo "packages: installing ${missing[*]}"
log=$(mktemp)
if ! { install || { timeout 120 apt-get -qq update </dev/null && install; }; } >"$log" 2>&1; then
  tail -n 15 "$log"
  rm -f "$log"
  give_up 'apt-get failed (its last lines are above)'
fi
rm -f "$log"
installed=${missing[*]}
look
[ ${#missing[@]} -eq 0 ] || give_up 'apt-get installed the packages, but not the files'
echo "packages: installed $installed"
