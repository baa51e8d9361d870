#!/usr/bin/env bash
# The example of four tenants on parts of one GPU, in its form for a CPU: types, the rules of its report, and whole
# runs with real processes.
#
#   scripts/h200-test.sh                                       in the environment of scripts/python-test.sh
#   OEF_TEST_PYTHON=~/venv/bin/python scripts/h200-test.sh     with what is installed there, for instance PyTorch
#
# OEF names another binary than the one in target/debug.
set -euo pipefail
cd "$(dirname "$0")/.."

target=$(cargo metadata --format-version 1 --no-deps | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
OEF=$(realpath "${OEF:-$target/debug/oef}")
export OEF PYTHONDONTWRITEBYTECODE=1

python="${OEF_TEST_PYTHON:-}"
if [ -z "$python" ]; then
    version=$("${PYTHON:-python3}" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    environment="target/python-$version"
    python="$PWD/$environment/bin/python"
    [ -x "$python" ] || "${PYTHON:-python3}" -m venv "$environment"
    "$python" -c 'import numpy, mypy' 2>/dev/null || "$python" -m pip install --quiet numpy mypy
fi

if "$python" -c 'import mypy' 2>/dev/null; then
    # PyTorch is optional here; what comes from it has no types then, and some of it has none at all.
    (cd examples/h200 && MYPYPATH=../../python/src "$python" -m mypy --strict --allow-subclassing-any --allow-untyped-calls \
        --ignore-missing-imports --no-warn-unused-ignores --cache-dir "$target/mypy-h200" ./*.py)
fi
exec "$python" examples/h200/test_run.py "$@"
