#!/bin/sh
# Opens Magent in an Emacs of its own: see "make run" in README.org.
#
# Everything lies in build/run; the user's Emacs configuration is neither read nor
# written.  Where there is no terminal, or agent-shell cannot be installed, the same
# session is played by bin/magent exec.
set -eu
# The folder of packages is named from where make was called.
if [ -n "${MAGENT_ELPA:-}" ] && ! [ -d "$MAGENT_ELPA" ]; then
    printf 'MAGENT_ELPA names %s, which is no directory\n' "$MAGENT_ELPA" >&2
    exit 2
fi
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
emacs=$(sh "$root/scripts/ensure-emacs.sh" --check --quiet)
home=$root/build/run
project=$home/project
prompt='Tick off "say hello" in notes.txt, and check it.'

say() { printf '%s\n' "$*" >&2; }

mkdir -p "$home/emacs" "$project"
# The demo starts from the same notes each time.
printf '# Notes\n\n- [ ] say hello\n- [ ] read the README\n' >"$project/notes.txt"
rm -f "$project/magent-demo.txt"
: >"$project/.magent-demo"

MAGENT_DEMO_HOME=$home
MAGENT_DEMO_PROVIDER=$root/build/magent-demo-provider
export MAGENT_DEMO_HOME MAGENT_DEMO_PROVIDER

play() {
    say ""
    say "Magent, in the terminal. The project is $project;"
    say "the model is the bundled demo provider. The prompt:"
    say ""
    say "  $prompt"
    say ""
    MAGENT_INIT=${MAGENT_INIT:-$root/scripts/demo/init.el} \
        sh "$root/bin/magent" exec --cwd "$project" "$@" "$prompt"
    say ""
    say "That was one turn. Try your own with bin/magent exec, or see README.org"
    say "for how to set up a model and Magent in your Emacs."
}

if ! { [ -t 0 ] && [ -t 1 ]; }; then
    if [ -t 0 ] && [ -t 2 ]; then
        say "Standard output is no terminal, so no Emacs opens; the same session follows."
        play --approve ask
    else
        say "There is no terminal here, so one scripted session is played, with every"
        say "permission granted."
        play --approve always
    fi
    exit 0
fi

case ${TERM:-dumb} in
    dumb|unknown)
        say "This terminal cannot show an Emacs (TERM is ${TERM:-not set}), so the same session"
        say "follows without one."
        play --approve ask
        exit 0 ;;
esac

if "$emacs" -Q --batch -l "$root/scripts/demo/packages.el" -f magent-demo-install; then
    exec "$emacs" -nw --init-directory="$home/emacs" -L "$root/lisp" \
        -l "$root/scripts/demo/packages.el" -l "$root/scripts/demo/shell.el"
fi
say "agent-shell could not be installed (see above), so there is no window with it;"
say "the same session follows in the terminal."
play --approve ask
