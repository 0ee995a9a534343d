#!/usr/bin/env bash
# Proves that standalone depends only on Node and survives being killed. Starts it in its own namespaces, with no other
# process and only a loopback network, makes a paid call, kills the server with -9, starts it again, finds the call's
# receipt, and stops it. Nothing may be left behind. Needs util-linux and iproute2.
#   check-standalone-alone.sh [COMMAND=npm start]
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- npm start

if [ -z "${MARKET_ALONE:-}" ]; then
  as_root=$([ "$(id -u)" = 0 ] || echo --map-root-user)
  MARKET_ALONE=1 exec unshare $as_root --net --pid --mount-proc --fork --kill-child -- "$0" "$@"
fi

ip link set lo up
[ "$(ip -o link | wc -l)" = 1 ] || { echo 'there is more than a loopback here' >&2; exit 1; }

DATA_DIR=$(mktemp -d)
log=$DATA_DIR.log
chmod 711 "$DATA_DIR"
export DATA_DIR PORT=3000 BASE_URL=http://127.0.0.1:3000 TURBO_TELEMETRY_DISABLED=1
trap 'rm -rf "$DATA_DIR" "$log"' EXIT

start() {
  # What an earlier start wrote says nothing of this one.
  : >"$log"
  "$@" >>"$log" 2>&1 &
  launcher=$!
  for _ in $(seq 600); do
    grep -q 'Ctrl-C' "$log" && return
    kill -0 "$launcher" 2>/dev/null || break
    sleep 0.1
  done
  cat "$log" >&2
  echo "$* did not become ready" >&2
  exit 1
}
server() { pgrep --full '^[^ ]*node apps/standalone/dist/main.js'; }

start "$@"
grep 'is ready' "$log"
key=$(node deploy/smoke-call.mjs)
echo "a paid call works with nothing but a loopback"

kill -KILL "$(server)"
wait "$launcher" || true
start "$@"
grep 'is ready' "$log"
node deploy/smoke-call.mjs "$key"

kill -INT "$(server)"
wait "$launcher" || { cat "$log" >&2; echo "$* did not end with 0 on Ctrl-C" >&2; exit 1; }
left=$(pgrep --list-full 'node|postgres' || true)
[ -z "$left" ] || { echo "left running: $left" >&2; exit 1; }
echo 'killed, started again, stopped: nothing was lost and nothing is left running'
