#!/usr/bin/env bash
# Every query of the Grafana dashboard and every rule of contrib/prometheus, run by a real Prometheus that has scraped a
# busy daemon. A query must answer with numbers, a rule must be evaluated without an error, and the alert that the daemon
# is down must come when it is.
#
#   scripts/metrics-test.sh         about a minute
#
# OEF names another binary than the one in target/debug. On its first run it unpacks Debian's Prometheus into target/;
# elsewhere `prometheus` must be on the PATH.
set -euo pipefail
cd "$(dirname "$0")/.."

target=$(cargo metadata --format-version 1 --no-deps | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
oef=$(realpath "${OEF:-$target/debug/oef}")
prometheus=$(command -v prometheus || echo "$target/prometheus/usr/bin/prometheus")

if [ ! -x "$prometheus" ]; then
    echo "== unpack prometheus" >&2
    $([ "$(id -u)" = 0 ] || echo sudo) apt-get update -qq
    # Unpacked, not installed: the installed package would start a service.
    mkdir -p "$target/prometheus"
    (cd "$target/prometheus" && apt-get download -qq prometheus 2>/dev/null && dpkg -x prometheus_*.deb . && rm prometheus_*.deb)
fi
[ -x "$oef" ] || cargo build -p oef-cli

exec python3 scripts/metrics_test.py "$oef" "$prometheus"
