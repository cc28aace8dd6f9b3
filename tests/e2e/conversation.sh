# A conversation from its first prompt to its end; each check goes on from the screen that
# the last one left.

check "Emacs starts" open_emacs
check "nothing is loaded before it is asked for" \
    test "$(evaluate "(fboundp 'magent-core-abi)")" = nil

evaluate "(setq magent-agent-shell-session-strategy 'new)" >/dev/null
command_named magent-start
check "magent-start opens a shell with model and mode in its header" \
    sees 'Magent.*demo-1.*build' 30

prompt 'hello [[think I ponder]] [[say Hello from the model.]]'
check "an answer is shown" shows 'Hello from the model'
check "thinking is shown" shows 'Though'
at_rest
check "the title follows the first prompt" sees 'hello' 10

prompt '[[tool read_file {"path": "notes.txt", "source": "disk"}]] [[say It has notes.]]'
check "a reading tool runs without a question" shows 'It has notes'
at_rest

prompt '[[tool bash {"command": "echo out-$((40+2)); sleep 1; echo end"}]] [[say Ran it.]]'
check "a command is asked for, with its row" sees 'Tool Permission' 20
check "the question has three answers" sees 'Allow.*Reject.*Always allow'
keys y
check "live output of a command is shown" shows 'out-42'
check "after Allow the turn goes on" shows 'Ran it'
at_rest

prompt '[[tool write_file {"path": "new.txt", "content": "fresh\n", "expected_revision": "absent"}]] [[say Wrote it.]]'
check "a whole file is asked for" sees 'Tool Permission' 20
check "before approval nothing is written" test ! -e "$project/new.txt"
keys v
check "v shows the diff" sees '\+ *fresh' 10
keys q
sleep 0.5
keys y
check "after approval the file is there" file_has new.txt fresh
at_rest

prompt '[[tool bash {"command": "touch refused"}]] [[say Not run.]]'
check "another command is asked for" sees 'Tool Permission' 20
keys C-c C-c
sleep 1
at_rest
check "a refused command has not run" test ! -e "$project/refused"

prompt '[[slow 8]] [[tool bash {"command": "touch mistyped"}]] [[say Not run.]]'
# Somebody goes on typing while the question comes.
for letter in o k a y o k a y o k a y; do
    keys "$letter"
    sleep 0.2
done
check "a question comes when nobody types" sees 'Tool Permission' 20
check "what is being typed is no answer" test ! -e "$project/mistyped"
sleep 1.5
keys C-c C-c
sleep 1
at_rest

prompt '[[tool update_plan {"plan": [{"step": "Look around", "status": "in_progress"}]}]] [[say Planned.]]'
check "a plan is shown" shows 'Look around'
at_rest

prompt '[[slow 200]]'
check "a slow answer streams" shows 'w3 '
keys C-c C-c
check "an interrupt is confirmed" sees 'Interrupt\?' 10
keys y
check "an interrupt ends the turn" shows 'ancelled'
at_rest
check "and the rest is not waited for" test "$(evaluate "(with-current-buffer (car (agent-shell-buffers)) (save-excursion (goto-char (point-min)) (search-forward \"w199\" nil t)))")" = nil
prompt 'again [[say Still here.]]'
check "after an interrupt the next prompt works" shows 'Still here'
at_rest

prompt '[[slow 60]]'
check "another slow answer streams" shows 'w3 '
keys M-x
keys -l agent-shell-prompt-queue
keys Enter
keys -l 'next [[say It was its turn.]]'
keys Enter
# Once in the prompt and once in the answer, both after the end of the slow answer.
turn_came() {
    holds '(save-excursion (goto-char (point-min)) (and (search-forward "w59" nil t)
             (search-forward "its turn" nil t) (search-forward "its turn" nil t)))'
}
check "a prompt while the agent is busy runs when its turn comes" until_true turn_came
at_rest

prompt '[[http 401]]'
check "a refused key is told" shows '401'
at_rest
prompt 'on [[say Alive.]]'
check "after an error the next prompt works" shows 'Alive'
at_rest

prompt '/authority'
check "/authority explains what is allowed" shows 'bash'
at_rest

evaluate '(with-current-buffer (car (agent-shell-buffers))
            (let ((kill-buffer-query-functions nil)) (kill-buffer)))' >/dev/null
check "killing the shell keeps Emacs" test "$(evaluate "(+ 1 2)")" = 3

evaluate "(magent-agent-shell-ensure-config)" >/dev/null
keys C-u
command_named agent-shell
sees 'Start new agent' 10
keys Tab Tab
check "the picker of agent-shell offers Magent" sees '^ *.?Magent' 10
keys C-g C-g
sleep 0.5
command_named magent-start
check "a second conversation opens" sees 'Magent.*demo-1.*build' 30
prompt '[[tool bash {"command": "sleep 4711"}]]'
check "its command is asked for" sees 'Tool Permission' 20
keys y
check "the command runs" until_true runs 'sleep 4711'
keys C-x C-c
check "ending Emacs asks first while an agent is at work" sees 'cancel that and exit' 10
keys C-g
evaluate '(with-current-buffer (car (agent-shell-buffers))
            (let ((kill-buffer-query-functions nil)) (kill-buffer)))' >/dev/null
check "killing the shell ends its command" command_is_gone 'sleep 4711'
check "and closes its connection" \
    test "$(evaluate '(hash-table-count magent-acp--clients)')" = 0
