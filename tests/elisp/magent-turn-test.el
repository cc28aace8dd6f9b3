;;; magent-turn-test.el --- Tests of whole turns  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The Magent contributors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'magent-test-session)

(defun magent-turn-test--types (session turn)
  "Return the types of the reports about TURN of SESSION, runs of one type as one."
  (let (types)
    (dolist (report (magent-test-reports session ".*" turn) (nreverse types))
      (let ((type (alist-get 'type report)))
        (unless (equal type (car types))
          (push type types))))))

(defun magent-turn-test--run (session prompt &rest keys)
  "Submit PROMPT to SESSION with KEYS and return the report of the turn's end."
  (magent-test-await-end session (apply #'magent-test-submit session prompt keys)))

(ert-deftest magent-turn-an-answer-streams-and-is-complete ()
  (magent-test-with-provider provider
    (let* ((session (magent-test-open-session))
           (turn (magent-test-submit session "[[think Hm]] [[say Grüße 🙂 an alle]]"))
           (end (magent-test-await-end session turn)))
      (let-alist end
        (should (equal .type "turn-complete"))
        (should (equal .status "completed"))
        (should (equal .text "Grüße 🙂 an alle"))
        (should (equal .submission-id (alist-get 'submission-id turn)))
        (should-not .error))
      (dolist (kind '("assistant" "reasoning"))
        (should (equal (mapconcat (lambda (report) (alist-get 'text report))
                                  (magent-test-reports session (concat kind "-delta"))
                                  "")
                       (if (equal kind "reasoning") "Hm" "Grüße 🙂 an alle"))))
      (let ((expected '("user-message" "turn-start" "sample-start" "reasoning-delta"
                        "reasoning-complete" "assistant-delta" "assistant-complete"
                        "sample-end" "turn-complete")))
        (should (equal (cl-remove-if-not (lambda (type) (member type expected))
                                         (magent-turn-test--types session turn))
                       expected))))))

(ert-deftest magent-turn-reports-are-numbered-without-gaps ()
  (magent-test-with-provider provider
    (let ((session (magent-test-open-session)))
      (magent-turn-test--run session "[[say One two three four five]]")
      (let ((numbers (mapcar (lambda (report) (alist-get 'seq report))
                             (magent-test-reports session ".*"))))
        (should (equal numbers (number-sequence (car numbers) (car (last numbers)))))))))

(ert-deftest magent-turn-the-end-of-a-turn-frees-the-session ()
  (magent-test-with-provider provider
    (let* ((session (magent-test-open-session))
           (id (magent-test-session-id session)))
      (should-not (magent-runtime-processing-p id))
      (let ((turn (magent-test-submit session "[[slow 4]]")))
        (should (magent-runtime-processing-p id))
        (should (memq #'magent-core--confirm-kill kill-emacs-query-functions))
        (dolist (answer '(nil t))
          (cl-letf (((symbol-function 'yes-or-no-p) (lambda (_question) answer)))
            (should (eq (magent-core--confirm-kill) answer))))
        (magent-test-await-end session turn))
      (magent-test-wait-for "The end" (lambda () (not (magent-runtime-processing-p id))))
      ;; Nothing is lost now, so nothing is asked.
      (magent-test-wait-for "Rest" (lambda () (not (magent-core-queue-busy-p nil))))
      (should (magent-core--confirm-kill))
      (should (= 0 (magent-runtime-cancel id))))))

;;;; Tools and questions

(defconst magent-turn-test--writes
  "[[tool write_file {\"path\":\"new.txt\",\"content\":\"hi\\n\",\
\"expected_revision\":\"absent\"}]] [[say Done]]"
  "A prompt that makes the model write a file and answer.")

(defun magent-turn-test--answer-questions (session decision)
  "Run a turn of SESSION that asks, answer with DECISION; return the tool's report."
  (let* ((turn (magent-test-submit session magent-turn-test--writes))
         (question (magent-test-await session "approval-requested" turn)))
    (let-alist question
      (should (equal .name "write_file"))
      (should (equal .permission-key "write"))
      (should-not (file-exists-p "new.txt"))
      (should (magent-runtime-answer .approval-id decision))
      ;; It is settled now.
      (should-not (magent-runtime-answer .approval-id 'allow-once))
      (should (equal (alist-get 'type (magent-test-await-end session turn))
                     "turn-complete"))
      (let ((tool (car (magent-test-reports session "tool-call-complete" turn))))
        ;; One call has one id from the question to the end.
        (should (equal (alist-get 'tool-id tool) .tool-id))
        tool))))

(defmacro magent-turn-test--asking (&rest body)
  "Evaluate BODY with a rule that has writing asked for."
  (declare (indent 0) (debug t))
  `(let ((magent-permission-rules '((write . ask))))
     (magent-test-with-provider provider
       ,@body)))

(ert-deftest magent-turn-a-call-that-is-allowed-runs ()
  (magent-turn-test--asking
    (let ((tool (magent-turn-test--answer-questions (magent-test-open-session)
                                                    'allow-once)))
      (should (equal (alist-get 'status tool) "completed"))
      (should (equal (magent-test-bytes "new.txt") "hi\n")))))

(ert-deftest magent-turn-a-call-that-is-denied-does-nothing-and-the-turn-goes-on ()
  (magent-turn-test--asking
    (let ((tool (magent-turn-test--answer-questions (magent-test-open-session)
                                                    'deny-once)))
      (should-not (equal (alist-get 'status tool) "completed"))
      (should-not (file-exists-p "new.txt")))))

(ert-deftest magent-turn-approvals-without-a-user-are-decided-by-the-mode ()
  (magent-turn-test--asking
    (let ((session (magent-test-open-session)))
      (pcase-dolist (`(,mode . ,written) '(("never" . nil) ("bash=allow,*=deny" . nil)
                                           ("write=allow" . t)))
        (magent-turn-test--run session magent-turn-test--writes :approval mode)
        (should-not (magent-test-reports session "approval-requested"))
        (should (eq (file-exists-p "new.txt") written))))))

(ert-deftest magent-turn-a-rule-that-denies-is-not-asked-about ()
  (let ((magent-permission-rules '((write . deny))))
    (magent-test-with-provider provider
      (let ((session (magent-test-open-session)))
        (magent-turn-test--run session magent-turn-test--writes)
        (should-not (magent-test-reports session "approval-requested"))
        (should-not (file-exists-p "new.txt"))))))

(ert-deftest magent-turn-a-tool-sees-and-changes-live-buffers ()
  (magent-test-with-provider provider
    (magent-test-write "note.txt" "on disk\n")
    (with-current-buffer (find-file-noselect "note.txt")
      (insert "unsaved ")
      (let ((session (magent-test-open-session)))
        (magent-turn-test--run
         session "[[tool read_file {\"path\":\"note.txt\",\"source\":\"live-buffer\"}]]"
         :approval "always")
        (should (string-match-p
                 "unsaved on disk"
                 (alist-get 'output (magent-test-await session "tool-call-complete"))))
        (set-buffer-modified-p nil)
        (erase-buffer)
        (insert "clean\n")
        (let ((inhibit-message t)) (save-buffer))
        (let ((edit (format "[[tool edit_file {\"path\":\"note.txt\",\"old_text\":\"clean\",\
\"new_text\":\"neat\",\"expected_revision\":\"%s\"}]]" (magent-test-revision "note.txt"))))
          (magent-turn-test--run session edit :approval "always")
          (should (equal (buffer-string) "neat\n"))
          (should-not (buffer-modified-p))
          (should (equal (magent-test-bytes "note.txt") "neat\n")))))))

;;;; Cancelling

(defun magent-turn-test--check-cancelled (session turn)
  "Check that TURN of SESSION ends soon and as cancelled."
  (let ((begun (float-time)))
    (should (equal (alist-get 'type (magent-test-await-end session turn))
                   "turn-cancelled"))
    (should (< (- (float-time) begun) 2))))

(ert-deftest magent-turn-cancelling-ends-an-answer-a-silence-and-a-question ()
  (magent-turn-test--asking
    (let* ((session (magent-test-open-session))
           (id (magent-test-session-id session)))
      (pcase-dolist (`(,prompt . ,state) `(("[[slow 1000]]" . "assistant-delta")
                                           ("[[hang]]" . "sample-start")
                                           (,magent-turn-test--writes
                                            . "approval-requested")))
        (let ((turn (magent-test-submit session prompt)))
          (magent-test-await session state turn)
          (should (= 1 (magent-runtime-cancel id)))
          (magent-turn-test--check-cancelled session turn)))
      (should-not (file-exists-p "new.txt"))
      (should (equal (alist-get 'text (magent-turn-test--run session "[[say Here]]"))
                     "Here")))))

(ert-deftest magent-turn-cancelling-ends-a-command-and-its-children ()
  (magent-test-with-provider provider
    (let* ((session (magent-test-open-session))
           (turn (magent-test-submit
                  session "[[tool bash {\"command\":\"(sleep 77 & echo $! >pid; wait)\"}]]"
                  :approval "always"))
           (pid (lambda () (and (file-exists-p "pid")
                                (string-to-number (magent-test-bytes "pid"))))))
      (magent-test-wait-for "The command" (lambda () (> (or (funcall pid) 0) 0)))
      (magent-runtime-cancel (magent-test-session-id session))
      (magent-turn-test--check-cancelled session turn)
      (magent-test-wait-for
       "The end of the child"
       (lambda () (member (alist-get 'state (process-attributes (funcall pid)))
                          '(nil "Z")))))))

;;;; Several

(ert-deftest magent-turn-prompts-of-one-session-run-one-after-another ()
  (magent-test-with-provider provider
    (let* ((session (magent-test-open-session))
           (first (magent-test-submit session "[[slow 8]]"))
           (second (magent-test-submit session "[[say Second]]"))
           (third (magent-test-submit session "[[say Third]]")))
      ;; One that waits can be cancelled alone.
      (should (magent-runtime-cancel-submission (magent-test-session-id session)
                                                (alist-get 'submission-id second)))
      (should (equal (alist-get 'text (magent-test-await-end session third)) "Third"))
      (should (equal (alist-get 'type (magent-test-await-end session first))
                     "turn-complete"))
      (should-not (magent-test-reports session "assistant-delta" second))
      (should-not (magent-runtime-cancel-submission
                   (magent-test-session-id session) (alist-get 'submission-id second)))
      (let ((seq (lambda (type turn)
                   (alist-get 'seq (car (magent-test-reports session type turn))))))
        (should (< (funcall seq "turn-complete" first)
                   (funcall seq "turn-start" third)))))))

(ert-deftest magent-turn-sessions-run-side-by-side ()
  (magent-test-with-provider provider
    (let* ((slow (magent-test-open-session))
           (quick (magent-test-open-session))
           (turn (magent-test-submit slow "[[hang]]")))
      (magent-test-await slow "sample-start" turn)
      (should (equal (alist-get 'text (magent-turn-test--run quick "[[say Quick]]"))
                     "Quick"))
      (should (magent-runtime-processing-p (magent-test-session-id slow)))
      (should-not (cl-remove (magent-test-session-id quick)
                             (magent-test-reports quick ".*") :test #'equal
                             :key (lambda (report) (alist-get 'session-id report))))
      (magent-runtime-cancel (magent-test-session-id slow))
      (magent-turn-test--check-cancelled slow turn))))

(provide 'magent-turn-test)

;;; magent-turn-test.el ends here
