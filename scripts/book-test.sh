#!/usr/bin/env bash
# The book and the other documents: the book is built, every page is in SUMMARY.md, every link leads to a page, a file or
# a heading that is there, in the sources and in what was built, and every command is run as printed, against a daemon with emulated GPUs.
#
#   scripts/book-test.sh             links and commands, about two minutes
#   scripts/book-test.sh --links     links alone
#   scripts/book-test.sh --commands  commands alone; a page's name after it: only that page
#
# OEF names another binary than the one in target/debug. On its first run it installs markdown-it-py into target/, which
# needs Python 3 with the venv module. The book is built with it into target/book-plain, and with mdbook where that is
# installed.
set -euo pipefail
cd "$(dirname "$0")/.."

target=$(cargo metadata --format-version 1 --no-deps | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
venv=$target/book-test-venv
version=4.3.0

if [ "$(cat "$venv/versions" 2>/dev/null)" != "$version" ]; then
    echo "== install markdown-it-py $version" >&2
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet "markdown-it-py==$version"
    echo "$version" >"$venv/versions"
fi

# The pages use jq, curl and man.
packages=()
for pair in jq:jq man:man-db curl:curl; do
    command -v "${pair%%:*}" >/dev/null || packages+=("${pair#*:}")
done
if [ ${#packages[@]} -gt 0 ] && command -v apt-get >/dev/null; then
    echo "== install ${packages[*]}" >&2
    as_root=$([ "$(id -u)" = 0 ] || echo sudo)
    $as_root apt-get update -qq
    DEBIAN_FRONTEND=noninteractive $as_root apt-get install -y -qq --no-install-recommends "${packages[@]}"
fi

only=${1:-}
if [ "$only" != --commands ]; then
    if command -v mdbook >/dev/null; then
        mdbook build docs --dest-dir "$target/book"
    fi
    "$venv/bin/python" scripts/book_test/build.py "$target/book-plain"
    "$venv/bin/python" scripts/book_test/links.py
fi
if [ "$only" != --links ]; then
    oef=$(realpath "${OEF:-$target/debug/oef}")
    [ -x "$oef" ] || cargo build -p oef-cli
    "$venv/bin/python" scripts/book_test/commands.py "$oef" "${@:2}"
fi
