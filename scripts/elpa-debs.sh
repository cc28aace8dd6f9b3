#!/bin/sh
# elpa-debs.sh DIRECTORY SUITE:PACKAGE...
#
# Unpacks Emacs packages of other Debian suites into DIRECTORY, one directory a package,
# for tests.  The system is not touched and no root is needed: lists and caches are
# private, and nothing is installed.  (Installing them would be wrong even where one may:
# bookworm's dh-elpa-helper does not bear the Emacs of its backports and removes it.)
# The repository is the one that apt is configured with.
set -eu
[ $# -ge 2 ] || { echo "usage: elpa-debs.sh DIRECTORY SUITE:PACKAGE..." >&2; exit 2; }
fail() { echo "elpa-debs: $*" >&2; exit 1; }
command -v apt-get >/dev/null 2>&1 && command -v dpkg-deb >/dev/null 2>&1 ||
    fail "this is no Debian system"

directory=$1
shift
mkdir -p "$directory"
directory=$(cd "$directory" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/lists/partial" "$work/cache/archives/partial" "$work/debs" "$work/root"

codename=$(. /etc/os-release && printf %s "${VERSION_CODENAME:-}")
repository() {
    apt-get indextargets --format '$(RELEASE) $(REPO_URI)' \
        'Created-By: Packages' 'Component: main' |
        awk -v codename="$codename" '$1 == codename { print $2; exit }'
}
uri=$(repository)
[ -n "$uri" ] || fail "apt knows no repository of $codename; apt-get update may help"
suites=$(printf '%s\n' "$@" | sed 's/:.*//' | sort -u | tr '\n' ' ')
key=/usr/share/keyrings/debian-archive-keyring.gpg
{
    printf 'Types: deb\nURIs: %s\nSuites: %s\nComponents: main\n' "$uri" "$suites"
    [ ! -f "$key" ] || printf 'Signed-By: %s\n' "$key"
} >"$work/other.sources"

apt() {
    apt-get -q -o "Dir::Etc::sourcelist=$work/other.sources" \
        -o Dir::Etc::sourceparts=/dev/null -o Dir::Etc::preferencesparts=/dev/null \
        -o "Dir::State::Lists=$work/lists" -o "Dir::Cache=$work/cache" \
        -o Acquire::Languages=none -o Acquire::Retries=1 \
        -o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false \
        -o Acquire::IndexTargets::deb::Contents-deb::DefaultEnabled=false \
        -o Debug::NoLocking=1 -o APT::Sandbox::User="$(id -un)" "$@" >&2
}
apt update
for wanted; do
    name=${wanted#*:}
    (cd "$work/debs" && apt download "$name/${wanted%%:*}")
    dpkg-deb -x "$work/debs/${name}"_*.deb "$work/root"
done
for package in "$work/root"/usr/share/emacs/site-lisp/elpa-src/*/; do
    name=$(basename "$package")
    rm -rf "${directory:?}/$name"
    # The links of Debian's packages point to each other with absolute names.
    cp -r "$package" "$directory/$name"
done
