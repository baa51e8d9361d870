#!/usr/bin/env bash
# The one test command: style, lints, all tests (a minute of them kills a daemon again and again), the shipped
# examples, the REST interface against its document, the book with its commands, the
# dashboard against a Prometheus, the page in a browser, the Python package, the example of examples/h200 without a GPU,
# and the prototype's own test.
#
#   scripts/test.sh              everything
#   scripts/test.sh --rust       without what needs Python (and installs packages on its first run)
#
# Random tests draw from PROPTEST_RNG_SEED. Unless it is set, it is the first 8 hex digits of the commit as a number, so
# that every commit tries other cases; it is printed first and last, with the command that repeats the run.
#
# It needs Rust, a C compiler and Python 3 with the venv module; rsync, ssh with its server and iproute2 are installed
# on Debian if they are missing. Tests of broken cables and full disks make namespaces, as root or as anybody whom the
# system lets; OEF_TEST_WITHOUT_NAMESPACES=1 leaves them out, and says so. OEF_CRASH_SECONDS sets how long the crash test goes on (60).
set -euo pipefail
cd "$(dirname "$0")/.."

with_python=true
case "${1:-}" in
    "") ;;
    --rust) with_python=false ;;
    *) echo "usage: scripts/test.sh [--rust]" >&2; exit 2 ;;
esac

if [ -z "${PROPTEST_RNG_SEED:-}" ]; then
    commit=$(git rev-parse HEAD 2>/dev/null || echo 00000001)
    PROPTEST_RNG_SEED=$((16#${commit:0:8}))
fi
export PROPTEST_RNG_SEED

step() { printf '\n== %s\n' "$*"; }

# What the tests said. It is counted at the end, also where something failed before that.
log=$(mktemp)
close() {
    local status=$?
    step "$([ "$status" = 0 ] && echo "all good" || echo "failed")"
    echo "seed $PROPTEST_RNG_SEED; repeat with: PROPTEST_RNG_SEED=$PROPTEST_RNG_SEED scripts/test.sh${1:+ $1}"
    awk '
        /^test result:/ { passed += $4; failed += $6; skipped += $8 }
        # A Rust test that leaves itself out counts as passed for cargo.
        /left out, .* needs / { passed--; skipped++ }
        /^Ran [0-9]+ tests? in / { passed += $2 }
        /^(OK|FAILED) \(/ {
            while (match($0, /(skipped|failures|errors)=[0-9]+/)) {
                split(substr($0, RSTART, RLENGTH), pair, "=")
                passed -= pair[2]
                if (pair[1] == "skipped") skipped += pair[2]; else failed += pair[2]
                $0 = substr($0, RSTART + RLENGTH)
            }
        }
        END { print passed + 0 " passed, " failed + 0 " failed, " skipped + 0 " skipped" }
    ' "$log"
    rm -f "$log"
}
trap 'close "$@"' EXIT

step "seed of the random tests: $PROPTEST_RNG_SEED"

for tool in fmt clippy; do
    if ! cargo "$tool" --version >/dev/null 2>&1; then
        component=$([ "$tool" = fmt ] && echo rustfmt || echo clippy)
        step "install $component"
        rustup component add "$component"
    fi
done

# Checkpoints move with the real rsync, over a real ssh, between real network namespaces.
packages=()
for pair in rsync:rsync ssh:openssh-client sshd:openssh-server ip:iproute2; do
    PATH="$PATH:/usr/sbin:/sbin" command -v "${pair%%:*}" >/dev/null || packages+=("${pair#*:}")
done
if [ ${#packages[@]} -gt 0 ] && command -v apt-get >/dev/null; then
    step "install ${packages[*]}"
    as_root=$([ "$(id -u)" = 0 ] || echo sudo)
    $as_root apt-get update -qq
    DEBIAN_FRONTEND=noninteractive $as_root apt-get install -y -qq --no-install-recommends "${packages[@]}"
fi

# Jobs run through a real Slurm, which the tests bring up and take down by themselves.
if ! scripts/slurm-lab.sh install 2>/dev/null; then
    step "install Slurm"
    $([ "$(id -u)" = 0 ] || echo sudo) scripts/slurm-lab.sh install
fi

step "format"
cargo fmt --all --check

step "lints"
cargo clippy --workspace --all-targets --quiet -- -D warnings
echo "without the feature lab"
cargo clippy -p oef-cli --no-default-features --quiet -- -D warnings

step "tests, and the examples of the documentation"
# All of them, also after one has failed: a run of CI should name every failure, not the first.
cargo test --workspace --no-fail-fast 2>&1 | tee "$log"

# The seed of every commit so far, so that a change is what makes a difference: the random tests of the core, the
# scheduler and the world, half a minute. They are not counted twice.
if [ "$PROPTEST_RNG_SEED" != 1 ]; then
    step "random tests of the core, the scheduler and the world, with seed 1"
    seed=$PROPTEST_RNG_SEED
    export PROPTEST_RNG_SEED=1
    cargo test --workspace --quiet --test warm_start --test certificate --test fairness --test feasibility --test invariance \
        --test noncooperative
    cargo test --workspace --quiet --lib testing::
    export PROPTEST_RNG_SEED=$seed
fi

# The tests have built the binary and the examples; building them on their own would compile the
# dependencies once more, with other features.
target=$(cargo metadata --format-version 1 --no-deps | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')/debug

step "torture: a minute of seeds"
"$target/oef" torture --seed "$PROPTEST_RNG_SEED" --minutes 1 --hours 1

step "the examples of the library"
for example in crates/*/examples/*.rs; do
    [ -e "$example" ] || continue
    echo "$example"
    "$target/examples/$(basename "$example" .rs)" >/dev/null
done

step "the shipped problems"
for problem in examples/*.toml; do
    echo "$problem"
    "$target/oef" compare "$problem" --json >/dev/null
done
echo "examples/h200-mps.csv"
"$target/oef" share examples/h200-mps.csv --counts sm12=4,sm32=4,sm66=2,sm132=1 --json >/dev/null
echo "the demonstration of the simulator"
"$target/oef" simulate --json >/dev/null 2>&1

if $with_python; then
    step "the REST interface against its document"
    scripts/api-test.sh
    step "the book: links, and every command as printed"
    scripts/book-test.sh
    step "the dashboard and the rules against a real Prometheus"
    scripts/metrics-test.sh 2>&1 | tee -a "$log"
    step "the page in a browser"
    scripts/page-test.sh 2>&1 | tee -a "$log"
    step "the Python package"
    scripts/python-test.sh 2>&1 | tee -a "$log"

    step "four tenants on parts of one GPU, in the form for a CPU"
    scripts/h200-test.sh 2>&1 | tee -a "$log"

    step "the prototype"
    python3 benches/prototype/test_run.py 2>&1 | tee -a "$log"
fi
