#!/usr/bin/env bash
# Tests of the Python package: types, and everything under python/tests, with real processes.
#
#   scripts/python-test.sh                                      with NumPy, in an environment of its own under target/
#   PYTHON=python3.12 scripts/python-test.sh                    with another Python, from 3.9 on
#   OEF_TEST_PYTHON=~/venv/bin/python scripts/python-test.sh    with what is installed there, for instance PyTorch
#   OEF_LONG=1 scripts/python-test.sh                           with many more preemptions, at other points
#
# Tests of the client start a real daemon: the binary that OEF names, or the debug build, which is made if it is not
# there.
#
# Tests of packages that are not installed are not run, and that is printed. One test becomes another user, as root or
# with `newuidmap`; OEF_TEST_WITHOUT_USERS=1 leaves it out, and says so.
set -euo pipefail
cd "$(dirname "$0")/.."

python="${OEF_TEST_PYTHON:-}"
if [ -z "$python" ]; then
    version=$("${PYTHON:-python3}" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    environment="target/python-$version"
    python="$PWD/$environment/bin/python"
    [ -x "$python" ] || "${PYTHON:-python3}" -m venv "$environment"
    "$python" -c 'import numpy, mypy' 2>/dev/null || "$python" -m pip install --quiet numpy mypy
fi

if [ -z "${OEF:-}" ] && command -v cargo >/dev/null; then
    OEF=$(cargo metadata --format-version 1 --no-deps | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')/debug/oef
    [ -x "$OEF" ] || cargo build -p oef-cli
fi
[ -z "${OEF:-}" ] || export OEF="$(realpath "$OEF")"

cd python
export PYTHONPATH=src PYTHONDONTWRITEBYTECODE=1
if "$python" -c 'import mypy' 2>/dev/null; then
    "$python" -m mypy --cache-dir ../target/mypy
else
    echo "types were not checked: mypy is not installed"
fi
"$python" - <<'PYTHON'
import importlib.util

for name in ("numpy", "torch", "torchdata", "lightning", "transformers"):
    if importlib.util.find_spec(name) is None:
        print(f"{name} is not installed: its tests are not run")
PYTHON
exec "$python" -m unittest discover --start-directory tests --top-level-directory . "$@"
