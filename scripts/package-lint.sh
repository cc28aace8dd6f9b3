#!/bin/sh
# package-lint.sh FILE...: package-lint over the Lisp files, where it can be had.
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
emacs=$(sh "$root/scripts/ensure-emacs.sh" --quiet)
elpa=$root/build/elpa
if ! sh "$root/scripts/test-packages.sh" "$elpa"; then
    echo "SKIPPED package-lint: the package cannot be had here" >&2
    exit 0
fi
set -- lisp/magent.el "$@"
cd "$root"
exec "$emacs" -Q --batch \
    -L "$(echo "$elpa"/compat-*)" -L "$(echo "$elpa"/package-lint-*)" \
    -l scripts/lint/package-lint.el "$@"
