#!/bin/sh
# All tests: see "make test" in README.org.
#
# Each suite runs even if one before it failed.  What is skipped is told with its reason
# and never counts as passed.  The last line is the sum.
set -u
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
cd "$root" || exit 1
cargo=${CARGO:-cargo}
logs=$root/build/test
mkdir -p "$logs"
passed=0 failed=0 skipped=0

say() { printf '\n== %s\n' "$*"; }

skip() {
    skipped=$((skipped + 1))
    printf 'SKIPPED %s\n' "$*" | tee -a "$logs/skipped"
}

# Runs a command with its output on the screen and in a log; sets $status.
logged() {
    log=$1
    shift
    { "$@" 2>&1 </dev/null; echo $? >"$log.status"; } | tee "$log"
    status=$(cat "$log.status")
}

# Adds counts; a suite that failed without a failed test counts as one.
count() {
    passed=$((passed + $1)) failed=$((failed + $2)) skipped=$((skipped + $3))
    if [ "$status" != 0 ] && [ "$2" = 0 ]; then
        failed=$((failed + 1))
        printf 'FAILED %s (exit status %s)\n' "$log" "$status"
    fi
}

# The sum of the numbers before a word in the lines that match a pattern.
total() {
    awk -v pattern="$2" -v word="$3" '$0 ~ pattern {
        for (i = 2; i <= NF; i++) if ($i ~ "^" word "[,;.]?$") sum += $(i - 1)
    } END { print sum + 0 }' "$1"
}

rm -f "$logs/skipped"
emacs=$(sh scripts/ensure-emacs.sh) || exit 1

say "Module and demo provider"
"$cargo" build --locked -p magent-module -p magent-demo-provider || exit 1
target=${CARGO_TARGET_DIR:-$root/target}/debug
case $(uname -s) in Darwin) suffix=dylib ;; *) suffix=so ;; esac
MAGENT_MODULE=$target/libmagent_module.$suffix
MAGENT_DEMO_PROVIDER=$target/magent-demo-provider
EMACS=$emacs
export MAGENT_MODULE MAGENT_DEMO_PROVIDER EMACS

say "Rust"
logged "$logs/rust" "$cargo" test --workspace --locked --no-fail-fast
count "$(total "$logs/rust" '^test result' passed)" \
    "$(total "$logs/rust" '^test result' failed)" \
    "$(total "$logs/rust" '^test result' ignored)"

say "Lisp"
if [ -z "${MAGENT_ELPA:-}" ]; then
    # The real gptel, from Debian; the tests that need it say so if it is not there.
    sh scripts/test-packages.sh build/elpa && MAGENT_ELPA=$root/build/elpa
    export MAGENT_ELPA
fi
lisp_suite() {
    logged "$logs/lisp$1" "$emacs" -Q --batch $2 --eval '(setq load-prefer-newer t)' \
        -L lisp -L tests/elisp -l magent-test-runner -f magent-test-run-batch
    count "$(total "$logs/lisp$1" '^[0-9]+ passed, [0-9]+ failed' passed)" \
        "$(total "$logs/lisp$1" '^[0-9]+ passed, [0-9]+ failed' failed)" \
        "$(total "$logs/lisp$1" '^[0-9]+ passed, [0-9]+ failed' skipped)"
}
lisp_suite "" ""
say "Lisp again, with Emacs checking each step of the module"
lisp_suite -assertions -module-assertions

say "ACP, with the official client"
if ! command -v npm >/dev/null 2>&1; then
    skip "tests/acp: npm is not installed"
elif [ ! -f tests/acp/package-lock.json ]; then
    skip "tests/acp: not there"
elif ! (cd tests/acp && npm ci --no-audit --no-fund --loglevel=error); then
    skip "tests/acp: its npm packages cannot be installed"
else
    logged "$logs/acp" sh -c 'cd tests/acp && exec npm test --silent'
    tap() { awk -v word="$1" '($1 == "#" || $1 == "ℹ") && $2 == word { print $3 }' "$logs/acp"; }
    count "$(tap pass | tail -1 | grep . || echo 0)" \
        "$(tap fail | tail -1 | grep . || echo 0)" \
        "$(tap skipped | tail -1 | grep . || echo 0)"
fi

say "agent-shell, in a terminal"
if [ ! -f tests/e2e/run.sh ]; then
    skip "tests/e2e: not there"
else
    logged "$logs/e2e" sh tests/e2e/run.sh
    # 77 is how a suite says that it cannot run here; it has told why.
    if [ "$status" = 77 ]; then
        skip "tests/e2e: $(tail -1 "$logs/e2e")"
    else
        count "$(grep -c '^ok ' "$logs/e2e")" "$(grep -c '^not ok ' "$logs/e2e")" 0
    fi
fi

say "Sum"
[ ! -f "$logs/skipped" ] || cat "$logs/skipped"
printf '%s passed, %s failed, %s skipped\n' "$passed" "$failed" "$skipped"
[ "$failed" = 0 ]
