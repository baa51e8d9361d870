#!/usr/bin/env bash
# Starts a daemon and lets Schemathesis try thousands of requests, sensible and not, against its OpenAPI
# document: every answer must be one that the document allows, and none an internal error.
#
#   scripts/api-test.sh                  a minute or two
#   scripts/api-test.sh --max-time 600   other options go to `st run`
#
# OEF names another binary than the one in target/debug. On its first run it installs Schemathesis into
# target/, which needs Python 3 with the venv module.
set -euo pipefail
cd "$(dirname "$0")/.."
settings=$PWD/scripts/api-test.toml

target=$(cargo metadata --format-version 1 --no-deps | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
oef=$(realpath "${OEF:-$target/debug/oef}")
venv=$target/api-test-venv
version=4.32.5

if [ "$("$venv/bin/st" --version 2>/dev/null)" != "st, version $version" ]; then
    echo "== install schemathesis $version" >&2
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet "schemathesis==$version"
fi

dir=$(mktemp -d)
daemon=
stop() {
    if [ -n "$daemon" ]; then
        kill "$daemon" 2>/dev/null || true
        wait "$daemon" 2>/dev/null || true
    fi
    rm -rf "$dir"
}
trap stop EXIT

# Jobs are made up too: they run in a folder that is thrown away.
mkdir "$dir/home"
export XDG_STATE_HOME="$dir" HOME="$dir/home"
"$oef" up --gpus "slow=4,fast=4" --round 1s --state "$dir/state" --listen 127.0.0.1:0 2>"$dir/log" &
daemon=$!
for _ in $(seq 300); do
    [ -e "$dir/oef/access.json" ] && break
    kill -0 "$daemon" 2>/dev/null || { cat "$dir/log" >&2; exit 1; }
    sleep 0.1
done
server=$(sed 's/.*"server":"\([^"]*\)".*/\1/' "$dir/oef/access.json")
token=$(sed 's/.*"token":"\([^"]*\)".*/\1/' "$dir/oef/access.json")

# Event streams have no end: they have tests of their own. It keeps notes where it runs.
cd "$dir"
OEF_API_TOKEN=$token "$venv/bin/st" --config-file "$settings" run "$server/api/v1/openapi.json" \
    --exclude-path /events --request-timeout 30 "$@" || { status=$?; tail -n 20 "$dir/log" >&2; exit "$status"; }

# Whatever was asked, the daemon is still there and works.
python3 -c 'import sys, urllib.request; urllib.request.urlopen(sys.argv[1])' "$server/readyz"
echo "the interface does what its document says"
