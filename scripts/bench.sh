#!/bin/sh
# Figures against their budgets: see "make bench" in README.org.
#
#   bench.sh PROGRAM   PROGRAM is magent-bench, built for release
#
# One line for each figure: name, value, budget, and ok, OVER or UNDER.  Clocks differ, so a
# figure that misses its budget is no failure; one that could not be taken is.  The module must
# have been built and installed before; $EMACS names the Emacs to use.
set -u
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
cd "$root" || exit 1
case $1 in
    /*) bench=$1 ;;
    *) bench=$root/$1 ;;
esac
emacs=${EMACS:-$(sh scripts/ensure-emacs.sh --quiet)} || exit 1

folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
trap 'exit 1' INT TERM HUP

# The newest one is the one that was built just now.
case $(uname -s) in Darwin) suffix=dylib ;; *) suffix=so ;; esac
MAGENT_MODULE=$(ls -t "$root"/build/magent-core-module-*."$suffix" 2>/dev/null | head -1)
[ -n "$MAGENT_MODULE" ] || { echo "bench: the module is not built; run make build" >&2; exit 1; }
MAGENT_BENCH=$bench
MAGENT_BENCH_DIRECTORY=$folder
export MAGENT_MODULE MAGENT_BENCH MAGENT_BENCH_DIRECTORY

# Runs a command; its failure is told in the end.
part() {
    "$@" 2>>"$folder/errors" </dev/null || echo "$*" >>"$folder/failed"
}

table() {
    awk -F '\t' 'NF == 4 { printf "%-62s %-26s %-14s %s\n", $1, $2, $3, $4; fflush(); next }
                 { print; fflush() }'
}

{
    printf 'figure\tvalue\tbudget\t\n'
    part "$bench" core
    part "$bench" sessions "$folder"
    part "$emacs" -Q --batch --eval '(setq load-prefer-newer t)' -L lisp -L tests/elisp \
        -L tests/bench -l magent-bench -f magent-bench-run-batch
} | table

[ -f "$folder/failed" ] || exit 0
echo "bench: not everything could be measured:" >&2
cat "$folder/errors" "$folder/failed" >&2
exit 1
