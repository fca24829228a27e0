#!/usr/bin/env bash
# Proves that a fresh Debian with nothing but Node and npm can run both commands of the README.
# Usage, as root: scripts/fresh-machine.sh [start|test]... (default: both)
#
# It installs a minimal Debian into a temporary folder, copies this machine's node, npm and package
# configuration and the last commit of this checkout into it, runs the commands there and reports.
# ADIT_FRESH_ROOT keeps the Debian root in a folder for the next run.
set -euo pipefail

here=$(cd -P "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
[ "$(id -u)" -eq 0 ] || { echo "fresh-machine: run as root; debootstrap and chroot need it" >&2; exit 1; }
command -v debootstrap >/dev/null || { echo "fresh-machine: install debootstrap: apt-get install debootstrap" >&2; exit 1; }
steps=("$@")
[ "${#steps[@]}" -gt 0 ] || steps=(start test)

suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
mirror=$({ cat /etc/apt/sources.list /etc/apt/sources.list.d/*.{sources,list} 2>/dev/null || true; } |
  sed -nE 's/^URIs: *([^ ]+).*/\1/p; s/^deb (\[[^]]*\] )?([^ ]+).*/\2/p' | head -n 1)
base=${ADIT_FRESH_ROOT:-}
root=$(mktemp -d "${TMPDIR:-/tmp}/adit-fresh.XXXXXX")
[ -n "$base" ] || base=$root.base

cleanup() {
  # Processes of the root end with its process namespace; only the mounts are left.
  umount -R "$root" 2>/dev/null || true
  rm -rf --one-file-system "$root"
  [ "$base" != "$root.base" ] || rm -rf --one-file-system "$base"
}
trap cleanup EXIT

if [ ! -e "$base/etc/debian_version" ]; then
  echo "fresh-machine: installing a minimal Debian $suite"
  debootstrap --variant=minbase "$suite" "$base" "$mirror" >"$root.log" 2>&1 || { cat "$root.log" >&2; exit 1; }
  rm -f "$root.log"
fi
cp -a "$base/." "$root/"
# Its own mount point: network namespaces are made under /run/netns, which must be shared.
mount --bind "$root" "$root"
mount --make-private "$root"

# The machine's own way to its packages: sources, keys, proxies, npm configuration.
rm -rf "$root/etc/apt"
cp -a /etc/apt "$root/etc/apt"
cp -a /usr/share/keyrings/. "$root/usr/share/keyrings/"
cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
[ ! -e "$HOME/.npmrc" ] || cp "$HOME/.npmrc" "$root/root/"
[ ! -d /usr/local/share/ca-certificates ] || cp -a /usr/local/share/ca-certificates "$root/usr/local/share/"
[ ! -d /etc/ssl ] || cp -a /etc/ssl "$root/etc/"

node=$(readlink -f "$(command -v node)")
npm=$(cd -P "$(dirname "$(readlink -f "$(command -v npm)")")/.." && pwd)
mkdir -p "$root/usr/local/lib/node_modules" "$root/usr/local/bin"
cp "$node" "$root/usr/local/bin/node"
cp -a "$npm" "$root/usr/local/lib/node_modules/npm"
ln -s ../lib/node_modules/npm/bin/npm-cli.js "$root/usr/local/bin/npm"
ln -s ../lib/node_modules/npm/bin/npx-cli.js "$root/usr/local/bin/npx"

mkdir -p "$root/adit"
git -C "$here" archive HEAD | tar -x -C "$root/adit"

mount -t proc proc "$root/proc"
mount -t sysfs sysfs "$root/sys"
mount --rbind /dev "$root/dev"
mount --make-rslave "$root/dev"
mount -t tmpfs tmpfs "$root/run"

# Only the way to the package registries is taken from this machine's environment.
mapfile -t network < <(env | grep -iE '^((https?|no|all)_proxy|NODE_EXTRA_CA_CERTS)=' || true)
if [ -n "${NODE_EXTRA_CA_CERTS:-}" ]; then install -D "$NODE_EXTRA_CA_CERTS" "$root$NODE_EXTRA_CA_CERTS"; fi

# Runs a shell line in the checkout of the root.
inside() {
  chroot "$root" env -i "${network[@]}" HOME=/root LANG=C.UTF-8 CI=true \
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin bash -c "cd /adit && $1"
}

try_start() {
  inside 'npm ci || exit 1
    npm start & echo $! >/tmp/pid
    for _ in $(seq 120); do
      node -e "fetch(\"http://127.0.0.1:4600/readyz\").then(r => process.exit(r.ok ? 0 : 1), () => process.exit(1))" && ready=1 && break
      sleep 0.5
    done
    kill "$(cat /tmp/pid)"; wait "$(cat /tmp/pid)" || true
    [ "${ready:-}" = 1 ] && ! node -e "fetch(\"http://127.0.0.1:4600/healthz\").then(() => process.exit(0), () => process.exit(1))"'
}

try_test() {
  inside 'npm ci && npm test'
}

echo "fresh-machine: $(inside 'echo Debian $(cat /etc/debian_version), node $(node --version), npm $(npm --version 2>/dev/null)')"
failed=0
for step in "${steps[@]}"; do
  begun=$SECONDS
  if "try_$step"; then verdict=passed; else verdict=FAILED failed=1; fi
  report+=("$(printf 'fresh-machine: npm ci && npm %-5s %s in %s s' "$step" "$verdict" "$((SECONDS - begun))")")
done
printf '%s\n' "${report[@]}"
exit "$failed"
