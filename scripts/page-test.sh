#!/usr/bin/env bash
# The page in a real browser: every view in every role, light and dark, on a phone and on a desk, with a small cluster
# and with 6,212 GPUs and 500 tenants, the daemon killed and back. It fails on any error in the browser's console, any
# fault that axe finds, and anything wider than the screen; it prints what the page costs.
#
#   scripts/page-test.sh            about three minutes
#   scripts/page-test.sh --quick    the small cluster alone
#   scripts/page-test.sh --stories what people do, without the tour of all views
#   scripts/page-test.sh --large    the large cluster alone
#   scripts/page-test.sh --load     what 200 open pages cost the daemon, too
#
# OEF names another binary than the one in target/debug. On its first run it installs Chromium (on Debian) and, into
# target/, Playwright for Python and axe; pictures of every view are left in target/page-test.
set -euo pipefail
cd "$(dirname "$0")/.."

target=$(cargo metadata --format-version 1 --no-deps | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
oef=$(realpath "${OEF:-$target/debug/oef}")
large=$target/debug/examples/page_cluster
venv=$target/page-test-venv
playwright=1.65.0
axe=0.1.8

if ! command -v chromium >/dev/null && command -v apt-get >/dev/null; then
    echo "== install chromium" >&2
    as_root=$([ "$(id -u)" = 0 ] || echo sudo)
    $as_root apt-get update -qq
    DEBIAN_FRONTEND=noninteractive $as_root apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core
fi
if [ "$(cat "$venv/versions" 2>/dev/null)" != "$playwright $axe" ]; then
    echo "== install playwright $playwright and axe-playwright-python $axe" >&2
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet "playwright==$playwright" "axe-playwright-python==$axe"
    echo "$playwright $axe" >"$venv/versions"
fi
[ -x "$oef" ] || cargo build -p oef-cli
[ -x "$large" ] || cargo build -p oef-server --example page_cluster

mkdir -p "$target/page-test"
exec "$venv/bin/python" scripts/page_test.py "$oef" "$large" "$target/page-test" "$@"
