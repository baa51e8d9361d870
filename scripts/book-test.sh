#!/usr/bin/env bash
# The book and the other documents: every page is in SUMMARY.md, every link leads to a page, a file or a heading that is
# there, and every command is run as printed, against a daemon of `oef up --demo`.
#
#   scripts/book-test.sh             links and commands, about two minutes
#   scripts/book-test.sh --links     links alone
#   scripts/book-test.sh --commands  commands alone; a page's name after it: only that page
#
# OEF names another binary than the one in target/debug. On its first run it installs markdown-it-py into target/, which
# needs Python 3 with the venv module. Where mdbook is installed, the book is built with it as well.
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

only=${1:-}
if [ "$only" != --commands ]; then
    if command -v mdbook >/dev/null; then
        mdbook build docs --dest-dir "$target/book"
    else
        echo "mdbook is not installed: pages are rendered by markdown-it-py alone"
    fi
    "$venv/bin/python" scripts/book_test/links.py
fi
if [ "$only" != --links ]; then
    oef=$(realpath "${OEF:-$target/debug/oef}")
    [ -x "$oef" ] || cargo build -p oef-cli
    "$venv/bin/python" scripts/book_test/commands.py "$oef" "${@:2}"
fi
