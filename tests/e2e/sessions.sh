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
check "/compact shows the summary" sees 'Summary: this was' 20
at_rest
dump compact

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
check "the conversation is shown again" sees 'w0 w1' 20
check "and that it was broken off" sees 'Emacs ended before this was finished' 10
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

# The one that the fork was made from; nobody has it open.
for log in "$MAGENT_E2E_HOME"/sessions/projects/*/session-*.jsonl; do
    case $log in *"$id"*) ;; *) damaged=$log ;; esac
done
sed -i '3s/^./#/' "$damaged"
# Moves to the row of that session in a new list.
at_its_row() {
    evaluate '(progn (pop-to-buffer "*magent-sessions*") (revert-buffer))' >/dev/null
    until_true has_rows "$1"
    evaluate "(with-selected-window (get-buffer-window \"*magent-sessions*\")
                (goto-char (point-min))
                (while (not (equal (alist-get 'session-id (tabulated-list-get-id))
                                   \"$(basename "$damaged" .jsonl)\"))
                  (forward-line)))" >/dev/null
}
has_rows() {
    rows=$(evaluate '(length (buffer-local-value (quote tabulated-list-entries)
                                                 (get-buffer "*magent-sessions*")))')
    [ "$rows" = "$1" ]
}
at_its_row 2
keys r
check "what is left of a damaged session becomes another" sees '\(recovered\) the first' 20
evaluate "(with-current-buffer (car (agent-shell-buffers)) (goto-char (point-min)))" >/dev/null
check "which tells what is missing" shows 'Missing: the log.s line 3'

dump recovered
at_its_row 3
keys D
check "before one is deleted there is a question" sees 'Delete .*for good' 10
keys y
is_deleted() { [ ! -e "$damaged" ]; }
check "and then it is gone" until_true is_deleted
check "and not in the list any more" until_true has_rows 2
dump deleted
