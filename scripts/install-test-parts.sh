#!/usr/bin/env bash
# Installs what the tests need beyond npm's packages. Does nothing when all of it is there.
set -euo pipefail

missing=()
need() { # package, then the file or pattern that proves its presence
  compgen -G "$2" >/dev/null || missing+=("$1")
}

need postgresql '/usr/lib/postgresql/*/bin/initdb'
need pgbouncer '/usr/sbin/pgbouncer'
need openssh-server '/usr/sbin/sshd'
need openssh-client '/usr/bin/ssh'
need dropbear-bin '/usr/bin/dbclient'
need openssl '/usr/bin/openssl'
need curl '/usr/bin/curl'
need bsdutils '/usr/bin/script'
need iproute2 '/usr/sbin/ip'
need nftables '/usr/sbin/nft'
need chromium-headless-shell '/usr/lib/chromium/chromium-headless-shell'
need pebble '/usr/bin/pebble-challtestsrv'
need bind9-dnsutils '/usr/bin/dig'
need knot-dnsutils '/usr/bin/kdig'
need testssl.sh '/usr/bin/testssl'
need sslscan '/usr/bin/sslscan'
need haproxy '/usr/sbin/haproxy'
need systemd '/usr/bin/systemd-analyze'

[ "${#missing[@]}" -eq 0 ] && exit 0

if [ "$(id -u)" -ne 0 ]; then
  echo "install-test-parts: missing ${missing[*]}; run as root: apt-get install ${missing[*]}" >&2
  exit 1
fi
if ! command -v apt-get >/dev/null; then
  echo "install-test-parts: missing ${missing[*]}, and there is no apt-get to install them with" >&2
  exit 1
fi

# The tests start their own servers; 101 forbids the packages to start theirs.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
  trap 'rm -f "$policy"' EXIT
  printf '#!/bin/sh\nexit 101\n' >"$policy"
  chmod 755 "$policy"
fi

export DEBIAN_FRONTEND=noninteractive
echo "install-test-parts: installing ${missing[*]}"
apt-get update -q
apt-get install -q -y --no-install-recommends "${missing[@]}"
