#!/usr/bin/env bash
# There may be no container engine, but the image can be tried all the same: runs the steps of deploy/docker/Dockerfile in
# a clean directory, starts the result read-only and as its user, first standalone, then as docker-compose.yml describes
# it, and makes a paid call in both. Needs `npm ci && npm run build` before, root, overlayfs, nats-server, redis-server
# and psql.
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
# Out here nothing is mounted: the mounts below this directory belong to the namespace, and are gone with it.
trap 'rm -rf --one-file-system "$work"' EXIT
unshare --mount -- node deploy/docker/check-image.mjs "$work"
