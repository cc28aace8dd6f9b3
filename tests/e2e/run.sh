#!/bin/sh
# Drives Magent in the real agent-shell, in a terminal Emacs under tmux, and reads the
# screen as a person would.
#
# MAGENT_ELPA names a directory with package directories: agent-shell, acp (or acp.el) and
# shell-maker.  Without them, or without tmux, nothing is tested: the last line says why,
# and the exit status is 77.  Each check prints "ok NAME" or "not ok NAME" with the screen.
set -u
root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)

cannot() { echo "$*"; exit 77; }
command -v tmux >/dev/null 2>&1 || cannot "tmux is not installed"
for package in agent-shell shell-maker acp; do
    set -- "${MAGENT_ELPA:-/nonexistent}/$package"*
    [ -d "$1" ] || cannot "$package is not installed: name its directory's parent with MAGENT_ELPA"
done

emacs=$(sh "$root/scripts/ensure-emacs.sh" --check --quiet) || exit 1
emacsclient=$(dirname "$emacs")/emacsclient
: "${MAGENT_MODULE:=$root/target/debug/libmagent_module.so}"
: "${MAGENT_DEMO_PROVIDER:=$root/target/debug/magent-demo-provider}"
MAGENT_E2E_HOME=$(mktemp -d)
project=$MAGENT_E2E_HOME/project
mkdir -p "$project" "$MAGENT_E2E_HOME/emacs"
# Only a folder with this in it is the project; see init.el.
git init -q "$project" 2>/dev/null || : >"$project/.git"
printf '# Notes\n\n- [ ] say hello\n' >"$project/notes.txt"
mkfifo "$MAGENT_E2E_HOME/stdin"
"$MAGENT_DEMO_PROVIDER" --until-eof --delay-ms 5 --url-file "$MAGENT_E2E_HOME/url" \
    <"$MAGENT_E2E_HOME/stdin" >/dev/null &
exec 9>"$MAGENT_E2E_HOME/stdin"

terminal() { tmux -L "magent-e2e-$$" "$@"; }
finish() {
    terminal kill-server 2>/dev/null
    exec 9>&-
    # Emacs may still be writing when its terminal has gone.
    rm -rf "$MAGENT_E2E_HOME" 2>/dev/null || { sleep 1; rm -rf "$MAGENT_E2E_HOME"; }
}
trap finish EXIT
trap 'exit 1' INT TERM

keys() { terminal send-keys -t e2e "$@"; }
screen() { terminal capture-pane -t e2e -p | sed 's/[[:space:]]*$//' | cat -s; }
evaluate() { timeout 20 "$emacsclient" -s "$MAGENT_E2E_HOME/socket/magent-e2e" -e "$1"; }

# Waits until the screen has a pattern; at most so many seconds.
sees() {
    tries=$((${2:-20} * 5))
    while [ "$tries" -gt 0 ]; do
        screen | grep -qE -- "$1" && return 0
        tries=$((tries - 1))
        sleep 0.2
    done
    return 1
}

# Waits until a command succeeds.
until_true() {
    tries=75
    while [ "$tries" -gt 0 ]; do
        "$@" && return 0
        tries=$((tries - 1))
        sleep 0.2
    done
    return 1
}

failures=0
check() {
    name=$1
    shift
    if "$@"; then
        echo "ok $name"
    else
        echo "not ok $name"
        screen | sed 's/^/    /'
        failures=$((failures + 1))
    fi
}

# Types a prompt and sends it.
prompt() {
    keys M-\>
    keys -l "$1"
    sleep 0.3
    keys Enter
}

# Whether a Lisp form in the shell buffer is non-nil.
holds() {
    answer=$(evaluate "(with-current-buffer (car (agent-shell-buffers)) $1)") || return 1
    [ "$answer" != nil ]
}
idle() { holds '(not (shell-maker-busy))'; }
at_rest() { until_true idle; }
text_has() {
    holds "(string-match-p \"$1\" (buffer-substring-no-properties (point-min) (point-max)))"
}
shows() { until_true text_has "$1"; }
file_has() { until_true grep -qsF -- "$2" "$project/$1"; }
runs() { pgrep -f "$1" >/dev/null; }
no_process() { ! runs "$1"; }
command_is_gone() { until_true no_process "$1"; }

until_true test -s "$MAGENT_E2E_HOME/url" || { echo "not ok the demo provider starts"; exit 1; }
MAGENT_E2E_URL=$(cat "$MAGENT_E2E_HOME/url")
export MAGENT_MODULE MAGENT_ELPA MAGENT_E2E_HOME MAGENT_E2E_URL

no_terminal() { ! terminal has-session -t e2e 2>/dev/null; }
open_emacs() {
    terminal -f /dev/null new-session -d -s e2e -x 110 -y 50 "cd '$project' && \
        env TERM=tmux-256color '$emacs' -nw -Q -L '$root/lisp' \
        -l '$root/tests/e2e/init.el' notes.txt"
    until_true evaluate t >/dev/null 2>&1
}
command_named() {
    keys M-x
    sleep 0.3
    keys -l "$1"
    keys Enter
}

# Each part begins with an Emacs of its own; MAGENT_E2E_PARTS names those that are wanted.
for part in ${MAGENT_E2E_PARTS:-conversation sessions}; do
    . "$root/tests/e2e/$part.sh"
    terminal kill-server 2>/dev/null
    until_true no_terminal
done

echo "$failures failed"
[ "$failures" = 0 ]
