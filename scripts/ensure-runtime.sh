#!/bin/sh
# The pinned Node needs libatomic.so.1, which a minimal Debian does not have. Installs it as root, or names it.
set -eu

node=$(dirname "$0")/../node_modules/.bin/node
if [ ! -x "$node" ] || "$node" --version >/dev/null 2>&1; then exit 0; fi

if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; then
  apt-get update -q >&2
  DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends libatomic1 >&2
else
  echo "adit: the runtime needs libatomic.so.1; install the package libatomic1 (on Fedora: libatomic)" >&2
  exit 1
fi
