#!/usr/bin/env bash
# Builds the container image and runs the steps of check-standalone-alone.sh with it: paid call, kill -9, start,
# receipt, stop. The image runs its own command as its own user, writes only to /data and /tmp, and contains nothing for
# tests. Needs Debian and root; `npm ci && npm run build` before.
set -euo pipefail
cd "$(dirname "$0")/.."
[ "$(id -u)" -eq 0 ] || exec sudo --preserve-env "$0"
deploy/docker/build-image.sh agent-marketplace:local

container=$(buildah from --pull-never localhost/agent-marketplace:local)
before=$(mktemp)
trap 'buildah rm "$container" >/dev/null; rm "$before"' EXIT
root=$(buildah mount "$container")
user=$(buildah inspect --format '{{.OCIv1.Config.User}}' "$container")
command=$(buildah inspect --format '{{range .OCIv1.Config.Cmd}}{{.}} {{end}}' "$container")
[ "$user" = 1000:1000 ] || { echo "the image runs as $user" >&2; exit 1; }
for package in anvil eslint jest typescript turbo; do
  [ -z "$(find "$root/app/node_modules" -maxdepth 2 -name "$package")" ] || { echo "the image holds $package" >&2; exit 1; }
done

deploy/check-standalone-alone.sh buildah run --isolation chroot --network host --env ALLOW_PRIVATE_ENDPOINTS=true "$container" -- $command
# The operators' commands, as the pages print them, on the data that the marketplace left.
for words in 'books verify' 'payments report' 'backup create /tmp/backup' 'backup verify /tmp/backup'; do
  buildah run --isolation chroot "$container" -- market-admin $words || { echo "market-admin $words failed in the image" >&2; exit 1; }
done
written=$(find "$root" -xdev -newer "$before" -user 1000 ! -path "$root/data*" ! -path "$root/tmp*")
[ -z "$written" ] || { echo "written outside /data and /tmp: $written" >&2; exit 1; }
echo "the image, $(du -sm "$root" | cut -f1) MB, runs as $user and needs no root that can be written"
