#!/bin/sh
# test-packages.sh DIRECTORY
#
# Brings the Emacs packages that tests and lints use into DIRECTORY, unless they are
# there.  Exit status 1, with the reason: they cannot be had.
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
[ ! -f "$1/complete" ] || exit 0
# gptel is only in Debian's development suite; transient there needs more than is useful.
sh "$here/elpa-debs.sh" "$1" trixie:elpa-compat trixie:elpa-transient \
    trixie:elpa-package-lint sid:elpa-gptel
: >"$1/complete"
