;;; magent-batch.el --- Magent without a window  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The Magent contributors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The commands of bin/magent, in batch Emacs:
;;
;;   magent exec [OPTION...] PROMPT   one turn; the answer goes to standard output
;;   magent acp                       an ACP agent on standard input and output
;;
;; Only here, and in tests, Lisp waits for the core.

;;; Code:

(require 'cl-lib)
(require 'project)
(require 'magent-config)
(require 'magent-runtime-api)
(require 'magent-batch-arguments)
(require 'magent-terminal)

(declare-function magent-core-acp-stdio "ext:magent-module" (config))
(declare-function magent-core-acp-command "ext:magent-module"
                  (session prompt config))
(declare-function magent-core-queue-watch-interrupts "ext:magent-module" ())

;;;; Setup

(defun magent-batch--env (name)
  "Return the value of the environment variable NAME, nil if it is empty."
  (let ((value (getenv name)))
    (and value (not (string-empty-p value)) value)))

(defun magent-batch--default-init-file ()
  "Return the name of the init file that is loaded unless another is named."
  (expand-file-name "magent/init.el" (or (getenv "XDG_CONFIG_HOME") "~/.config")))

(defun magent-batch--init-file ()
  "Return the init file, or nil if there is none."
  (let ((named (magent-batch--env "MAGENT_INIT"))
        (default (magent-batch--default-init-file)))
    (cond (named
           (unless (file-readable-p named)
             (magent-batch--fail "MAGENT_INIT names %s, which cannot be read" named))
           (expand-file-name named))
          ((file-readable-p default) default))))

(defun magent-batch--add-packages ()
  "Make installed packages available.
MAGENT_ELPA names a directory of package directories; without it the user's own
packages are activated."
  (let ((directory (magent-batch--env "MAGENT_ELPA")))
    (cond ((null directory) (package-activate-all))
          ((file-directory-p directory)
           (dolist (package (directory-files directory t "\\`[^.]"))
             (when (file-directory-p package)
               (add-to-list 'load-path package))))
          (t (magent-batch--fail "MAGENT_ELPA names %s, which is no directory"
                                 directory)))))

(defun magent-batch--setup ()
  "Load packages, the init file and the module."
  (setq magent-module-command-line t
        locale-coding-system 'utf-8-unix
        coding-system-for-write nil)
  (magent-batch--add-packages)
  (when-let* ((file (magent-batch--init-file)))
    (condition-case err
        (load file nil t t)
      (error (magent-batch--fail "The init file %s fails: %s" file
                                 (magent-error-message err)))))
  (condition-case err
      (magent-runtime-ensure)
    (error (magent-batch--fail "%s" (magent-error-message err)))))

;;;; Waiting

(defun magent-batch--wait (done)
  "Let the core work until DONE, a function, returns non-nil; return that."
  (let (value)
    (while (not (setq value (funcall done)))
      (accept-process-output nil 0.5))
    value))

(defun magent-batch--await (call)
  "Call CALL with a callback and wait for its answer.
Return the value; when it failed, end with status 2."
  (let (answer)
    (funcall call (lambda (ok value) (setq answer (list ok value))))
    (pcase (magent-batch--wait (lambda () answer))
      (`(nil ,failure) (magent-batch--fail-with failure))
      (`(,_ ,value) value))))

(defun magent-batch--fail-with (failure)
  "End with status 2 and the text of FAILURE, an alist."
  (let-alist failure
    (magent-batch--fail "%s%s%s" .message (if .hint (concat " " .hint) "")
                        (if (equal .code "no-model")
                            (format " Do so in %s." (magent-batch--init-place))
                          ""))))

(defun magent-batch--init-place ()
  "Return words for the init file, whether it exists or not."
  (if-let* ((named (magent-batch--env "MAGENT_INIT")))
      (format "%s, which MAGENT_INIT names" named)
    (format "%s, or in the file that MAGENT_INIT names"
            (abbreviate-file-name (magent-batch--default-init-file)))))

;;;; exec

(defun magent-batch--terminal-p ()
  "Return non-nil if somebody can answer questions."
  (equal (getenv "MAGENT_TTY") "1"))

(defvar magent-batch--session nil
  "Id of the session whose turn runs.")

(defvar magent-batch--cancelling nil
  "Non-nil once the turn was cancelled.")

(defun magent-batch--interrupt ()
  "Cancel the turn, whose end ends Emacs; end Emacs at once the second time."
  (when (or magent-batch--cancelling (null magent-batch--session))
    (kill-emacs 130))
  (setq magent-batch--cancelling t)
  (magent-terminal-err "\nCancelling; interrupt again to end at once")
  (magent-runtime-cancel magent-batch--session))

(defun magent-batch--output-lost ()
  "Cancel the turn, since nobody gets what it says.
Whoever has closed the output, as head does, wanted no more, and is told
nothing."
  (unless (equal magent-terminal-output-lost "closed")
    (magent-terminal-err "magent: Standard output cannot be written to: %s"
                         magent-terminal-output-lost))
  (magent-batch--cancel-lost))

(defun magent-batch--cancel-lost ()
  "Cancel the turn if its output is lost and it is known."
  (when (and magent-terminal-output-lost magent-batch--session)
    (setq magent-batch--cancelling t)
    (magent-runtime-cancel magent-batch--session)))

(cl-defmethod magent-core-handle ((_kind (eql 'interrupted)) _args)
  "Cancel the turn."
  (magent-batch--interrupt))

(defun magent-batch--open (directory options)
  "Open the session of DIRECTORY that OPTIONS ask for and return its id."
  (let ((id (or (plist-get options :session)
                (and (plist-get options :continue)
                     (magent-batch--latest directory)))))
    (alist-get 'session-id
               (magent-batch--await
                (lambda (callback)
                  (if id
                      (magent-runtime-session-load directory id callback)
                    (magent-runtime-session-new directory callback)))))))

(defun magent-batch--latest (directory)
  "Return the id of the latest session of DIRECTORY."
  (let ((sessions (magent-batch--await
                   (lambda (callback)
                     (magent-runtime-list-sessions directory callback)))))
    (unless sessions
      (magent-batch--fail "There is no session of %s to go on with" directory))
    (alist-get 'session-id (car sessions))))

(defun magent-batch--directory (given)
  "Return the project directory: GIVEN, or where Emacs finds one around here.
In the latter case conversations are the same as those of a shell in Emacs."
  (let ((directory (expand-file-name (or given default-directory))))
    (unless (file-directory-p directory)
      (magent-batch--fail "There is no directory %s" directory))
    (expand-file-name
     (or (and (not given)
              (when-let* ((project (project-current nil directory)))
                (project-root project)))
         directory))))

(defun magent-batch--exec (args)
  "Run one turn as ARGS say and end Emacs with its outcome."
  (let* ((options (magent-batch--parse-exec args))
         (prompt (plist-get options :prompt))
         (approve (or (plist-get options :approve)
                      (if (magent-batch--terminal-p) "ask" "never")))
         (directory (magent-batch--directory (plist-get options :cwd)))
         outcome)
    (setq prompt (magent-batch--text (if (equal prompt "-")
                                         magent-batch--input
                                       prompt)))
    (when (string-blank-p prompt)
      (magent-batch--fail "The prompt is empty; see magent help"))
    (magent-batch--setup)
    (magent-core-queue-watch-interrupts)
    (setq magent-terminal-end-of-input-function #'magent-batch--interrupt
          magent-terminal-output-lost-function #'magent-batch--output-lost)
    (let ((id (magent-batch--open directory options)))
      (magent-batch--answer-command id prompt)
      (magent-batch--follow
       id (lambda (json event)
            (setq outcome (or (magent-batch--observe json event options) outcome)))
       (lambda (callback)
         (magent-runtime-submit id prompt callback
                                :model (plist-get options :model)
                                :agent (plist-get options :agent)
                                :approval approve)))
      (setq magent-batch--session id)
      ;; It may have begun to speak before it was known.
      (magent-batch--cancel-lost)
      (magent-batch--wait (lambda () outcome))
      (kill-emacs (magent-batch--status outcome options)))))

(defun magent-batch--answer-command (id prompt)
  "End Emacs with the answer if PROMPT is a command to the core, in session ID."
  (when-let* ((answer (magent-core-acp-command id prompt (magent-config-json))))
    (magent-terminal-out (concat (string-trim-right answer) "\n"))
    (kill-emacs (if magent-terminal-output-lost 1 0))))

(defun magent-batch--follow (id function submit)
  "Call FUNCTION with the reports of session ID on the prompt that SUBMIT submits.
FUNCTION gets each as JSON text and as an alist.  SUBMIT is called with a
callback.  Other turns of the session, such as one that sums up before, are
nobody's here."
  (let* (submission held
         (pass (lambda (json event)
                 (let ((other (alist-get 'submission-id event)))
                   (when (or (not (stringp other)) (equal other submission))
                     (funcall function json event))))))
    (magent-runtime-observe
     id (lambda (event)
          (if submission
              (funcall pass magent-runtime-report-json event)
            ;; A report may be here before it is known which are the prompt's.
            (push (list magent-runtime-report-json event) held))))
    (setq submission (alist-get 'submission-id (magent-batch--await submit)))
    (dolist (report (nreverse held))
      (apply pass report))))

(defun magent-batch--observe (json event options)
  "Show EVENT, in JSON text JSON, as OPTIONS say; return it if the turn ended."
  (cond (magent-terminal-output-lost)
        ((plist-get options :json)
         (magent-terminal-out (concat json "\n")))
        (t (magent-terminal-show event)))
  (pcase (alist-get 'type event)
    ((guard magent-terminal-output-lost))
    ("approval-requested" (magent-terminal-ask event))
    ("approval-resolved" (magent-terminal-settled event)))
  (and (member (alist-get 'type event)
               '("turn-complete" "turn-failed" "turn-cancelled"))
       event))

(defun magent-batch--status (outcome options)
  "Return the exit status for OUTCOME, the turn's last event; tell a failure.
OPTIONS are those of the command."
  (let-alist outcome
    (when (and .error (not (plist-get options :json))
               (not magent-terminal-output-lost))
      (magent-terminal-note "magent: %s%s" .error.message
                            (if .error.hint (concat " " .error.hint) "")))
    (pcase .status
      ((guard magent-terminal-output-lost) 1)
      ;; Whoever goes on with the session later must learn that it is not there.
      ("completed" (if .saved 0 1))
      ("cancelled" 130)
      ;; There is no way to the provider with these options, so none was tried.
      ((guard (equal .error.code "route")) 2)
      (_ 1))))

;;;; recover

(defun magent-batch--recover (args)
  "Make a session of what is left of the one that ARGS name."
  (let* ((options (magent-batch--parse-exec args))
         (id (plist-get options :prompt))
         (directory (magent-batch--directory (plist-get options :cwd))))
    (when (string-blank-p id)
      (magent-batch--fail "recover needs the id of a session; see magent help"))
    (magent-batch--setup)
    (let-alist (magent-batch--await
                (lambda (callback)
                  (magent-runtime-recover directory id callback)))
      (magent-terminal-err "%s" .notice)
      (magent-terminal-out (concat .session-id "\n"))
      (magent-runtime-session-close .session-id)
      (kill-emacs 0))))

;;;; acp

(defvar magent-batch--stdio-closed nil
  "Non-nil once the client on standard input has gone.")

(cl-defmethod magent-core-handle ((_kind (eql 'stdio-closed)) _args)
  "Note that the client on standard input has gone."
  (setq magent-batch--stdio-closed t))

(defun magent-batch--acp (args)
  "Serve an ACP client until it goes; ARGS must be empty."
  (when args
    (magent-batch--fail "magent acp takes no arguments"))
  (magent-batch--setup)
  (magent-core-acp-stdio (magent-config-json))
  (magent-batch--wait (lambda () magent-batch--stdio-closed))
  (kill-emacs 0))

;;;; Entry

(defun magent-batch-main ()
  "Run the command that the rest of the command line says."
  (let ((args command-line-args-left))
    (setq command-line-args-left nil)
    (when (equal (car args) "--")
      (pop args))
    (condition-case err
        (progn
          (magent-batch--take-input)
          (magent-batch--run args))
      (error (magent-batch--fail "%s" (magent-error-message err))))))

(defun magent-batch--run (args)
  "Run the command that ARGS begin with."
  (pcase (pop args)
    ((and (or "exec" "recover" "acp") (guard (member (car args) '("--help" "-h"))))
     (magent-terminal-out magent-batch--usage))
    ((and (or "exec" "acp") (guard (equal (car args) "--version")))
     (magent-batch--run '("version")))
    ("exec" (magent-batch--exec args))
    ("recover" (magent-batch--recover args))
    ("acp" (magent-batch--acp args))
    ((or "version" "--version")
     (magent-terminal-out (format "Magent %s\n" magent-version)))
    ((or "help" "--help" "-h") (magent-terminal-out magent-batch--usage))
    ('nil (magent-terminal-err "%s" magent-batch--usage) (kill-emacs 2))
    (command (magent-batch--fail "There is no command %s; see magent help" command))))

(provide 'magent-batch)

;;; magent-batch.el ends here
