;;; magent-batch-arguments.el --- The command line of bin/magent  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The Magent contributors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; What the words after bin/magent mean, and what is printed about them.

;;; Code:

(require 'magent-core)
(require 'magent-terminal)

(defconst magent-batch--usage
  "Usage: magent exec [OPTION...] PROMPT
       magent recover [--cwd DIR] ID
       magent acp
       magent help
       magent version

exec runs one turn and prints the answer.  PROMPT \"-\" is read from standard input;
-- ends the options.  The prompts /help and /authority are answered without a model.
  --cwd DIR          project directory (default: the root of the project that the
                     current directory is in, or that directory)
  --model B:M        backend and model (default: see magent-default-model)
  --agent AGENT      agent (default: build)
  --approve MODE     who answers permission questions: ask (on a terminal), never,
                     always, or rules such as bash=allow,edit:docs/**=allow
                     (default: ask on a terminal, otherwise never)
  --continue         go on with the latest session of the directory
  --session ID       go on with this session; the events of --json have its id
  --json             print every event as one line of JSON
A question is answered with y, n or a; Ctrl-C, or the end of the input, cancels the turn.
Exit status: 0 answered, 1 failed or not saved, 2 wrong use or setup, 130 cancelled.

recover makes a new session of what can be read of the damaged session ID, which stays
as it is, and prints the new one's id.

acp serves an ACP client on standard input and output until its input ends.

Before any of these, the Lisp file named by MAGENT_INIT is loaded, by default
magent/init.el in the configuration directory (~/.config); it can define backends
and set options.  MAGENT_ELPA names a directory with packages, such as gptel.
"
  "What `magent help' prints.")

;;;; Failing

(defun magent-batch--fail (format &rest args)
  "Print a line made of FORMAT and ARGS and end with status 2."
  (magent-terminal-err "magent: %s" (apply #'format format args))
  (kill-emacs 2))

;;;; Arguments

(defun magent-batch--keyword (option)
  "Return the keyword that stands for OPTION, a string such as \"--cwd\"."
  (intern (concat ":" (substring option 2))))

(defun magent-batch--parse-exec (args)
  "Return the options in ARGS as a plist."
  (let (options words)
    (while args
      (let ((arg (pop args)))
        (pcase arg
          ((or "--json" "--continue")
           (setq options (plist-put options (magent-batch--keyword arg) t)))
          ((or "--cwd" "--model" "--agent" "--approve" "--session")
           (unless args
             (magent-batch--fail "%s needs a value; see magent help" arg))
           (setq options (plist-put options (magent-batch--keyword arg)
                                    (pop args))))
          ("--" (setq words (append words args) args nil))
          ((guard (and (string-prefix-p "-" arg) (not (equal arg "-"))))
           (magent-batch--fail "There is no option %s; see magent help, and put -- \
before a prompt that begins with a dash" arg))
          (_ (setq words (append words (list arg)))))))
    (plist-put options :prompt (string-join words " "))))

(defvar magent-batch--input ""
  "All of standard input as it was, as a unibyte string, if it was asked for.")

(defun magent-batch--take-input ()
  "Take standard input from the file that bin/magent has put it into.
Batch Emacs itself reads lines of text only."
  (when-let* ((file (getenv "MAGENT_STDIN")))
    (unwind-protect
        (with-temp-buffer
          (set-buffer-multibyte nil)
          (insert-file-contents-literally file)
          (setq magent-batch--input (buffer-string)))
      (setenv "MAGENT_STDIN" nil)
      (delete-file file))))

(defun magent-batch--text (bytes)
  "Return BYTES, an argument or a unibyte string, as text.
What is no UTF-8 becomes replacement characters: a prompt may quote anything."
  (magent-core-plain-text
   (if (multibyte-string-p bytes)
       bytes
     (decode-coding-string bytes 'utf-8-unix))))

(provide 'magent-batch-arguments)

;;; magent-batch-arguments.el ends here
