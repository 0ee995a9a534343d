#!/usr/bin/env bash
# Builds the container image from deploy/docker/Dockerfile with buildah, which needs no daemon. If no image registry is
# available, it first creates the base image: Debian by debootstrap, Node and npm from npm's registry. Needs Debian and
# root.
#   build-image.sh [NAME=agent-marketplace:local]
set -euo pipefail
cd "$(dirname "$0")/../.."
name=${1:-agent-marketplace:local}
node_major=24
base=docker.io/library/node:$node_major-bookworm-slim

if ! (command -v buildah && command -v debootstrap) >/dev/null; then
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends buildah debootstrap
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The npm in the image uses this machine's registry and the certificates that its Node trusts.
cat ~/.npmrc >"$work/npmrc" 2>/dev/null || true
if [ -n "${NODE_EXTRA_CA_CERTS:-}" ]; then
  (node -p 'tls.rootCertificates.join("\n")' && cat "$NODE_EXTRA_CA_CERTS") >"$work/certificates.pem"
  echo 'cafile=/run/npm/certificates.pem' >>"$work/npmrc"
fi

make_base() {
  local mirror root=$work/root
  mirror=$(apt-cache policy bash | awk '/https?:/ { mirror = $2 } END { print mirror }')
  debootstrap --variant=minbase bookworm "$root" "$mirror" >"$work/debootstrap.log" || { tail -n 5 "$work/debootstrap.log" >&2; exit 1; }
  rm -rf "$root"/var/cache/apt/* "$root"/var/lib/apt/lists/*
  npm install --silent --prefix "$work" "node-linux-$(node -p process.arch)@$node_major" npm@11
  cp "$work"/node_modules/node-linux-*/bin/node "$root/usr/local/bin/"
  mkdir "$root/usr/local/lib/node_modules"
  mv "$work/node_modules/npm" "$root/usr/local/lib/node_modules/"
  ln -s ../lib/node_modules/npm/bin/npm-cli.js "$root/usr/local/bin/npm"
  chroot "$root" useradd --create-home --uid 1000 node
  local container
  container=$(buildah from scratch)
  buildah add --quiet "$container" "$root" / >/dev/null
  buildah commit --quiet --rm "$container" "$base" >/dev/null
}

if ! buildah pull --quiet --policy missing "$base"; then
  echo "no registry has $base: making it from Debian and npm" >&2
  base=localhost/debian-node:$node_major
  [ -n "$(buildah images --quiet "$base" 2>/dev/null)" ] || make_base
fi
# npm opens more files of its cache at once than the 1,024 that a build may by default.
buildah build --isolation chroot --network host --ulimit nofile=16384:16384 --pull=never --build-arg "NODE_IMAGE=$base" \
  --volume "$work:/run/npm:ro" --volume "$work/npmrc:/root/.npmrc:ro" --file deploy/docker/Dockerfile --tag "$name" .
