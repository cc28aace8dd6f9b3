# Sessions: added to, forked, ended by force, taken up again, listed, exported, recovered and
# deleted.  MAGENT_E2E_SCREENS shows the screens.

dump() { [ -z "${MAGENT_E2E_SCREENS:-}" ] || { echo "--- $1"; screen; }; }

check "another Emacs starts" open_emacs
evaluate "(setq magent-agent-shell-session-strategy 'new)" >/dev/null
command_named magent-start
sees 'Magent.*demo-1.*build' 30
prompt 'the first [[tool read_file {"path": "notes.txt", "source": "disk"}]] [[say It has notes.]]'
check "a session begins" shows 'It has notes'
at_rest

prompt '[[slow 40]]'
shows 'w3 '
keys M-x
keys -l agent-shell-prompt-inject
keys Enter
sleep 0.5
keys -l 'meanwhile [[say I heard you.]]'
keys Enter
check "words that are added while the agent works are answered" sees '^ *I heard you' 20
at_rest

prompt '/compact'
check "/compact tells what it did" sees '[Cc]ompact.*|summary' 20
sleep 1
dump compact
at_rest

command_named agent-shell-fork
forked() { holds '(> (length (agent-shell-buffers)) 1)'; }
check "a fork opens another shell" until_true forked
check "which says so in its title" sees 'project.*\(fork\)' 10
prompt 'go on [[say A fork of it.]]'
check "and goes on from there" sees '^ *A fork of it' 20
sleep 1

prompt '[[slow 400]]'
check "an answer streams" sees 'w20 ' 20
# As a crash does, in the middle of the answer.
kill -9 "$(evaluate '(emacs-pid)')"
no_terminal() { ! terminal has-session -t e2e 2>/dev/null; }
until_true no_terminal
check "after a crash Emacs starts again" open_emacs
command_named magent-start
sees 'Start shell' 10
keys Tab Tab
check "magent-start offers what is saved" sees '\(fork\) the first' 10
dump picker
# The first three are new shells.
keys M-Down M-Down M-Down M-Down
sleep 0.5
keys M-Enter
check "the conversation is shown again" sees 'w20 ' 20
check "and that it was broken off" shows 'interrupted'
sleep 1
dump restored
prompt 'on [[say Still with you.]]'
check "and goes on" sees '^ *Still with you' 20
at_rest

cat >"$MAGENT_E2E_HOME/exec.el" <<EOF
(setq magent-session-directory "$MAGENT_E2E_HOME/sessions" magent-default-model "Demo:demo-1")
(magent-define-backend "Demo" :dialect 'openai-chat :url "$MAGENT_E2E_URL" :models '(demo-1))
EOF
magent() { (cd "$project" && MAGENT_INIT="$MAGENT_E2E_HOME/exec.el" "$root/bin/magent" "$@" 2>&1); }
id=$(evaluate "(with-current-buffer (car (agent-shell-buffers))
                 (map-nested-elt agent-shell--state '(:session :id)))" | tr -d '"')
told=$(magent exec --session "$id" hi)
is_told() { echo "$told" | grep -q "$1"; }
check "a second Emacs is told who has the session" is_told 'in use by Emacs.*fork it'

command_named magent-list-sessions
check "the list shows the session that is open here" sees 'this Emacs.*' 10
dump list
keys e
sleep 0.5
dump export
keys C-a C-k
keys -l "$MAGENT_E2E_HOME/talk.org"
keys Enter
exported() { grep -qs 'Still with you' "$MAGENT_E2E_HOME/talk.org"; }
check "a conversation is exported" until_true exported
[ -z "${MAGENT_E2E_SCREENS:-}" ] || cat "$MAGENT_E2E_HOME/talk.org"
keys D
sleep 0.5
dump delete
