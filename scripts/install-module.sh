#!/bin/sh
# install-module.sh LIBRARY DIRECTORY
#
# Puts the built module into DIRECTORY under a name of its own, made of the version of
# its interface and a hash.  A file that an Emacs has loaded is never overwritten: that
# would crash it.
set -eu
library=$1
directory=$2
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)

abi=$(sed -n 's/^(defconst magent-module-abi "\(.*\)"$/\1/p' "$root/lisp/magent-module.el")
[ -n "$abi" ] || { echo "install-module: no version in lisp/magent-module.el" >&2; exit 1; }
if command -v sha256sum >/dev/null 2>&1; then
    hash=$(sha256sum <"$library" | cut -c1-8)
else
    hash=$(shasum -a 256 <"$library" | cut -c1-8)
fi
# Emacs tells module files by the suffix of the system's libraries.
file=$directory/magent-core-module-$abi-$hash.${library##*.}
if [ ! -e "$file" ]; then
    mkdir -p "$directory"
    cp "$library" "$file.$$"
    mv "$file.$$" "$file"
fi
# The newest file counts, and this one may be older than another build.
touch "$file"
printf '%s\n' "$file"
