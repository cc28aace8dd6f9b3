;;; magent-terminal.el --- A turn on a terminal  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The Magent contributors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; How `magent exec' shows a turn to a person, and puts permission questions.  The answer
;; goes to standard output, everything else to standard error.  Questions are put one at a
;; time, and nothing waits for the answers: a turn can be cancelled while one is open.

;;; Code:

(require 'magent-log)
(require 'magent-runtime-api)

(declare-function magent-core-queue-print "ext:magent-module" (text))
(declare-function magent-core-queue-read-line "ext:magent-module" ())

;;;; Output

(defvar magent-terminal-output-lost nil
  "Why standard output cannot be written to any more, a string, or nil.
It is \"closed\" if whoever read it has gone, and is not written to then.")

(defvar magent-terminal-output-lost-function #'ignore
  "Called without arguments when `magent-terminal-output-lost' has been set.")

(defun magent-terminal-out (text)
  "Print TEXT to standard output, at once.
On a terminal its control characters are spelled out; files and other programs
get what the model wrote.  See `magent-terminal-output-lost' for failures."
  (unless magent-terminal-output-lost
    (setq magent-terminal-output-lost
          (magent-terminal--write
           (if (equal (getenv "MAGENT_TTY_OUT") "1")
               (magent-log-spell "[\0-\10\13-\37\177-\u009f]"
                                       (string-replace "\r\n" "\n" text))
             text)))
    (when magent-terminal-output-lost
      (funcall magent-terminal-output-lost-function))))

(defun magent-terminal--write (text)
  "Print TEXT to standard output and return nil, or why that fails, a string.
Without the module, Emacs tells a failure when it ends."
  (if (fboundp 'magent-core-queue-print)
      (magent-core-queue-print text)
    (princ text)
    (flush-standard-output)
    nil))

(defun magent-terminal--print (text)
  "Print TEXT to standard error, with what a terminal would obey spelled out.
Nothing is printed there in any other way: even names and errors may come from
a model or its provider."
  (princ (magent-log-visible text) #'external-debugging-output))

(defun magent-terminal-err (format &rest args)
  "Print a line made of FORMAT and ARGS to standard error."
  (magent-terminal--print (concat (apply #'format format args) "\n")))

(defvar magent-terminal--state nil
  "What was printed last: nil, the id of a message, or the symbol note.")

(defun magent-terminal-note (format &rest args)
  "Tell something about the turn, made of FORMAT and ARGS, on standard error."
  (when (stringp magent-terminal--state)
    (magent-terminal-out "\n"))
  (setq magent-terminal--state 'note)
  (apply #'magent-terminal-err format args))

;;;; Events

(defvar magent-terminal--refused nil
  "Ids of the calls that were refused here.")

(defun magent-terminal-show (event)
  "Show EVENT, an alist, to a person."
  (let-alist event
    (pcase .type
      ("assistant-delta"
       (unless (member magent-terminal--state (list nil 'note .item-id))
         (magent-terminal-out "\n\n"))
       (setq magent-terminal--state .item-id)
       (magent-terminal-out .text))
      ("assistant-complete"
       (when (stringp magent-terminal--state)
         (magent-terminal-out "\n"))
       (setq magent-terminal--state nil))
      ("tool-call-start"
       (magent-terminal-note "* %s" .title))
      ("tool-call-complete" (magent-terminal--show-end event))
      ("plan-update"
       (dolist (entry .entries)
         (let-alist entry
           (magent-terminal-note "  [%s] %s"
                                 (pcase .status ("completed" "x") ("in_progress" ">")
                                        (_ " "))
                                 .step))))
      ("notice" (magent-terminal-note "! %s" .text)))))

(defun magent-terminal--show-end (event)
  "Show how the call in EVENT, an alist, ended, unless it went well."
  (let-alist event
    (cond ((equal .status "completed"))
          ;; The output is what the model is told; who has said no knows it.
          ((member .tool-id magent-terminal--refused)
           (magent-terminal-note "  refused"))
          (t
           (magent-terminal-note "  %s: %s: %s"
                                 .title .status
                                 (car (split-string (or .output "") "\n")))))))

;;;; Questions

(defvar magent-terminal--questions nil
  "Events that ask for permission and are not answered, oldest first.")

(defvar magent-terminal--reading nil
  "Non-nil while a line is read.")

(defvar magent-terminal-end-of-input-function #'ignore
  "Called without arguments when a question is open and the input has ended.")

(defun magent-terminal-ask (event)
  "Put the question in EVENT, an alist, after those that are open."
  (setq magent-terminal--questions
        (append magent-terminal--questions (list event)))
  (unless (cdr magent-terminal--questions)
    (magent-terminal--put)))

(defun magent-terminal-settled (event)
  "Forget the question that EVENT, an alist, says is settled."
  (let-alist event
    (when (string-prefix-p "deny" .decision)
      (push .tool-id magent-terminal--refused))
    (let ((first (car magent-terminal--questions)))
      (setq magent-terminal--questions
            (seq-remove (lambda (question)
                          (equal (alist-get 'approval-id question) .approval-id))
                        magent-terminal--questions))
      (unless (eq first (car magent-terminal--questions))
        (magent-terminal--put)))))

(defun magent-terminal--put ()
  "Put the first of the open questions, if there is one."
  (when-let* ((event (car magent-terminal--questions)))
    (magent-terminal--show-diffs event)
    (magent-terminal--show-command event)
    (let-alist event
      (magent-terminal-note "? %s: %s" .name .title))
    (magent-terminal--read)))

(defun magent-terminal--session-p (event)
  "Return non-nil if the question EVENT, an alist, can be answered for the session."
  (equal (alist-get 'policy event) "normal"))

(defun magent-terminal--read ()
  "Ask for an answer to the first question, and read a line."
  ;; What was typed before the line is read is thrown away, so the prompt comes second.
  (unless magent-terminal--reading
    (setq magent-terminal--reading t)
    (magent-core-on-reply (magent-core-queue-read-line)
                          #'magent-terminal--take-line))
  (let ((event (car magent-terminal--questions)))
    (magent-terminal--print
     (if (magent-terminal--session-p event)
         (format "  [y]es, [n]o, or [a]lways (every \"%s\" call of this session): "
                 (alist-get 'permission-key event))
       "  [y]es or [n]o: "))))

(defun magent-terminal--take-line (_ok reply)
  "Take the line in REPLY, an alist, as the answer to the first question."
  (setq magent-terminal--reading nil)
  (when-let* ((event (car magent-terminal--questions)))
    (let* ((line (alist-get 'line reply))
           (decision (and line (magent-terminal--decision line event))))
      (cond ((null line)
             (magent-terminal-err "")
             (funcall magent-terminal-end-of-input-function))
            (decision
             ;; The core tells that the question is settled.
             (magent-runtime-answer (alist-get 'approval-id event) decision))
            (t (magent-terminal--read))))))

(defun magent-terminal--decision (line event)
  "Return the decision that LINE stands for, nil if none, on the question EVENT."
  (pcase (downcase (string-trim line))
    ((or "y" "yes") 'allow-once)
    ((or "n" "no") 'deny-once)
    ((and (or "a" "always") (guard (magent-terminal--session-p event)))
     'allow-session)))

(defun magent-terminal--show-diffs (event)
  "Show the changes that the question EVENT, an alist, is about."
  (dolist (diff (alist-get 'diffs event))
    (let-alist diff
      (magent-terminal-note "--- %s" .path)
      (magent-terminal--show-side "-" .old)
      (magent-terminal--show-side "+" .new))))

(defun magent-terminal--show-side (mark text)
  "Show the first lines of TEXT, a side of a change or nil, each behind MARK."
  (when text
    (let ((lines (split-string (string-remove-suffix "\n" text) "\n")))
      (dolist (line (seq-take lines 12))
        (magent-terminal-note "%s %s" mark
                              (truncate-string-to-width line 160 nil nil t)))
      (when (> (length lines) 12)
        (magent-terminal-note "%s (%d more lines)" mark (- (length lines) 12))))))

(defun magent-terminal--show-command (event)
  "Show the command that the question EVENT, an alist, is about.
The title of a call tells only where a long one begins."
  (let-alist event
    (when (and .input.command (not (equal .input.command .title)))
      (magent-terminal-note "%s" .input.command))))

(provide 'magent-terminal)

;;; magent-terminal.el ends here
