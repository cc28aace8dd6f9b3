#!/bin/sh
# Prints the path of a usable Emacs: version 29.1 or newer, with dynamic modules.
#
#   ensure-emacs.sh            install one if there is none (Debian family only)
#   ensure-emacs.sh --check    only look
#
# With --quiet nothing is said when one is found.  $EMACS names an Emacs to try first.
# Talk goes to standard error.  Exit status 1: there is none; what to do was printed.
set -eu

minimum=29.1
check=no
quiet=no
for argument; do
    case $argument in
        --check) check=yes ;;
        --quiet) quiet=yes ;;
        *) echo "ensure-emacs: unknown argument $argument" >&2; exit 2 ;;
    esac
done

say() { printf 'ensure-emacs: %s\n' "$*" >&2; }

usable() {
    command -v "$1" >/dev/null 2>&1 &&
        "$1" -Q --batch --eval "(kill-emacs (if (and (not (version< emacs-version \"$minimum\")) (fboundp 'module-load) module-file-suffix) 0 1))" >/dev/null 2>&1
}

find_emacs() {
    for candidate in ${EMACS:+"$EMACS"} emacs emacs-nox emacs-30 emacs-29 \
        /opt/homebrew/bin/emacs /usr/local/bin/emacs \
        /Applications/Emacs.app/Contents/MacOS/Emacs; do
        if usable "$candidate"; then
            command -v "$candidate"
            return 0
        fi
    done
    return 1
}

instruct() {
    say "no Emacs $minimum or newer with dynamic modules was found. Install one:"
    say "  Debian 13, Ubuntu 24.04 or newer:  apt-get install emacs-nox"
    say "  Debian 12:       apt-get install -t bookworm-backports emacs-nox"
    say "  Ubuntu 22.04:    snap install emacs --classic"
    say "  Fedora:          dnf install emacs-nox"
    say "  Arch:            pacman -S emacs-nox"
    say "  Alpine:          apk add emacs-nox"
    say "  macOS:           brew install emacs"
    say "or set EMACS to the path of one."
    exit 1
}

if found=$(find_emacs); then
    [ "$quiet" = yes ] || say "using $found"
    printf '%s\n' "$found"
    exit 0
fi
[ "$check" = no ] || instruct
[ "$(uname -s)" = Linux ] && command -v apt-get >/dev/null 2>&1 || instruct

sudo=
if [ "$(id -u)" != 0 ]; then
    if command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
        sudo=sudo
    else
        say "Emacs has to be installed, which needs root."
        instruct
    fi
fi
apt() { $sudo env DEBIAN_FRONTEND=noninteractive apt-get -q -o Dpkg::Use-Pty=0 "$@" >&2; }

new_enough() {
    candidate=$(apt-cache policy emacs-nox 2>/dev/null | awk '/Candidate:/ { print $2 }')
    [ -n "$candidate" ] && [ "$candidate" != "(none)" ] &&
        dpkg --compare-versions "$candidate" ge "1:$minimum"
}

# The backports suite lies in the repository that apt uses already, so no address has
# to be known here.
add_backports() {
    codename=$1
    suite=$codename-backports
    if apt-get indextargets --format '$(RELEASE)' 'Created-By: Packages' | grep -qx "$suite"; then
        return 0
    fi
    uri=$(apt-get indextargets --format '$(RELEASE) $(REPO_URI)' \
        'Created-By: Packages' 'Component: main' |
        awk -v codename="$codename" '$1 == codename { print $2; exit }')
    [ -n "$uri" ] || return 1
    key=/usr/share/keyrings/debian-archive-keyring.gpg
    list=/etc/apt/sources.list.d/$suite.sources
    say "adding $suite, from the repository in use, as $list"
    {
        printf 'Types: deb\nURIs: %s\nSuites: %s\nComponents: main\n' "$uri" "$suite"
        [ ! -f "$key" ] || printf 'Signed-By: %s\n' "$key"
    } | $sudo tee "$list" >/dev/null
    if ! apt update; then
        $sudo rm -f "$list"
        apt update || :
        return 1
    fi
}

say "installing Emacs"
# Another source that cannot be reached must not stop us; what is needed is tried anyway.
apt update || say "some package lists could not be brought up to date"
if new_enough; then
    apt install -y --no-install-recommends emacs-nox || instruct
else
    codename=$(. /etc/os-release && printf %s "${VERSION_CODENAME:-}")
    distribution=$(. /etc/os-release && printf %s "${ID:-}")
    [ "$distribution" = debian ] && [ -n "$codename" ] || instruct
    add_backports "$codename" || instruct
    suite=$codename-backports
    # Only what is named comes from backports; nothing else is ever upgraded to it.
    apt install -y --no-install-recommends "emacs-nox/$suite" "emacs-bin-common/$suite" \
        "emacs-common/$suite" "emacs-el/$suite" || instruct
fi
hash -r 2>/dev/null || :
found=$(find_emacs) || instruct
say "installed $found"
printf '%s\n' "$found"
