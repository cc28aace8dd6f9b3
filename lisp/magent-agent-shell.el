;;; magent-agent-shell.el --- Magent in agent-shell  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The Magent contributors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Magent as an agent of agent-shell.  `magent-start' opens a shell; after
;; `magent-agent-shell-ensure-config' the picker of agent-shell offers Magent, too.

;;; Code:

(require 'cl-lib)
(require 'map)
(require 'magent-acp)
(require 'magent-error)
(require 'magent-module)

(defvar agent-shell-session-choices-function)
(defvar agent-shell-session-restore-verbosity)
(defvar agent-shell-session-strategy)
(defvar agent-shell-agent-configs)
(declare-function agent-shell-jump-to-latest-permission-button-row "ext:agent-shell")
(declare-function agent-shell-make-agent-config "ext:agent-shell")
(declare-function agent-shell-start "ext:agent-shell")

(defun magent-agent-shell--require ()
  "Load agent-shell and fit it to Magent.
It is loaded when it is needed, so that Magent works without a window
where it is not installed."
  (unless (require 'agent-shell nil t)
    (magent-error-signal
     'config "no-agent-shell"
     "Conversations need the package agent-shell, which is not installed."
     "Run M-x package-install RET agent-shell, or use bin/magent exec."))
  (magent-agent-shell--advise))

(defun magent-agent-shell-make-config ()
  "Return the agent configuration of Magent."
  (agent-shell-make-agent-config
   :identifier 'magent
   :mode-line-name "Magent"
   :buffer-name "Magent"
   :shell-prompt "Magent> "
   :shell-prompt-regexp "Magent> "
   :welcome-function #'magent-agent-shell--welcome
   :client-maker #'magent-agent-shell--make-client
   :install-instructions "Magent runs inside Emacs and needs no program."))

(defun magent-agent-shell--welcome (_config)
  "Return the text that a new shell begins with."
  "Magent\n")

(defun magent-agent-shell--make-client (buffer)
  "Return the client of the shell BUFFER.
The shell takes its options from BUFFER right after this, so they are set
here; a value that is local already, for example from directory variables,
stays."
  (with-current-buffer buffer
    (unless (local-variable-p 'agent-shell-session-strategy)
      (setq-local agent-shell-session-strategy
                  magent-agent-shell-session-strategy))
    (unless (local-variable-p 'agent-shell-session-restore-verbosity)
      (setq-local agent-shell-session-restore-verbosity
                  magent-agent-shell-restore-verbosity))
    (unless (bound-and-true-p agent-shell-session-choices-function)
      (setq-local agent-shell-session-choices-function
                  #'magent-agent-shell--session-choices)))
  (magent-agent-shell--connect buffer))

(defun magent-agent-shell--connect (buffer)
  "Return a client of the shell BUFFER that is connected to the core.
If that fails, a new shell is killed: agent-shell would wait in it for an
agent that never comes."
  (let ((new (not (magent-agent-shell--shell-p buffer))))
    (condition-case err
        (let ((client (magent-acp-make-client buffer)))
          (with-current-buffer buffer
            (magent-acp-connect client))
          client)
      (magent-error
       (when new
         (kill-buffer buffer))
       (user-error "%s" (magent-error-message err))))))

(defun magent-agent-shell--session-choices (choices)
  "Return the CHOICES, conses (LABEL . TOKEN), that a new shell offers.
Where no session of the project is saved, there is nothing to choose."
  (if (cl-some (lambda (choice) (consp (cdr choice))) choices)
      choices
    (or (cl-remove :new-shell choices :key #'cdr :test-not #'eq) choices)))

;;;###autoload
(defun magent-agent-shell-ensure-config ()
  "Make Magent the first choice in the picker of agent-shell.
Return the identifier of its configuration.  Calling this again changes
nothing."
  (magent-agent-shell--require)
  (let ((maker #'magent-agent-shell-make-config)
        (configs agent-shell-agent-configs))
    (cond ((functionp configs)
           (unless (eq (car-safe (funcall configs)) maker)
             (setq agent-shell-agent-configs
                   (lambda () (cons maker (remq maker (funcall configs)))))))
          ((not (eq (car configs) maker))
           (setq agent-shell-agent-configs (cons maker (remq maker configs))))))
  'magent)

;;;###autoload
(defun magent-start ()
  "Start a Magent shell for this project."
  (interactive)
  (magent-error-as-user-error
    (magent-module-ensure)
    (magent-agent-shell-ensure-config)
    (agent-shell-start :config (magent-agent-shell-make-config))))

;;;; Questions and typing

;; agent-shell moves point to a permission question as it comes, where single keys
;; answer it.  Whoever types just then must not answer with a letter of a sentence.

(defconst magent-agent-shell--pause 1.0
  "Seconds without a key after which nobody is taken to be typing.")

(defconst magent-agent-shell--typing-commands
  '(self-insert-command org-self-insert-command quoted-insert yank
    delete-backward-char backward-delete-char-untabify delete-char kill-word
    backward-kill-word)
  "Commands that change a text that somebody writes.")

(defun magent-agent-shell--typing-p ()
  "Return non-nil if somebody is typing into the current buffer."
  (and (eq (window-buffer (selected-window)) (current-buffer))
       (memq real-last-command magent-agent-shell--typing-commands)
       (or (input-pending-p)
           (time-less-p (or (current-idle-time) 0) magent-agent-shell--pause))))

(defun magent-agent-shell--around-jump (function &rest args)
  "Call FUNCTION with ARGS, to go to a question, when nobody types here."
  (if (and (magent-agent-shell--shell-p (current-buffer))
           (magent-agent-shell--typing-p))
      (let ((buffer (current-buffer)))
        (run-with-idle-timer magent-agent-shell--pause nil
                             #'magent-agent-shell--jump buffer)
        (message "Magent asks for permission; stop typing to get to the question")
        t)
    (apply function args)))

(defun magent-agent-shell--jump (buffer)
  "Go to the question in the shell BUFFER, if there still is one."
  (when (buffer-live-p buffer)
    (with-current-buffer buffer
      (agent-shell-jump-to-latest-permission-button-row))))

;;;; Notices

;; agent-shell folds what an agent says beside the conversation, and puts what comes
;; during one turn together without a break.  Notices of Magent are few and meant to be
;; read: why an answer takes long, or that a conversation cannot be saved.

(defvar-local magent-agent-shell--noticed nil
  "Id of the fragment that the last notice in this shell went to.")

(defun magent-agent-shell--around-fragment (function &rest args)
  "Call FUNCTION with ARGS, a plist, to show a fragment of a conversation.
Notices of Magent are unfolded at first, and each begins a line."
  (let ((buffer (map-elt (plist-get args :state) :buffer))
        (id (plist-get args :block-id)))
    (if (and (stringp id) (string-suffix-p "-notices" id)
             (magent-agent-shell--shell-p buffer))
        (apply function
               :body (magent-agent-shell--notice buffer id (plist-get args :body))
               (append args '(:expanded t)))
      (apply function args))))

(defun magent-agent-shell--notice (buffer id text)
  "Return TEXT, a notice, as it is added to the fragment ID of the shell BUFFER.
Where that cannot be seen, it is echoed as well."
  (unless (get-buffer-window buffer 'visible)
    (message "Magent: %s" text))
  (with-current-buffer buffer
    (prog1 (if (equal id magent-agent-shell--noticed)
               (concat "\n" text)
             text)
      (setq magent-agent-shell--noticed id))))

;;;; Context compatibility

;; agent-shell offers text around point as context for a prompt.  Three of its private
;; functions do more there than is wanted in a Magent shell: they offer blank lines, and
;; look at remote files, which can freeze Emacs.  Other agents' shells are not affected.

(defvar magent-agent-shell--in-context nil
  "Non-nil while context for a Magent shell is collected.")

(defun magent-agent-shell--shell-p (buffer)
  "Return non-nil if BUFFER is a shell of Magent."
  (and (buffer-live-p buffer)
       (local-variable-p 'magent-acp--process buffer)))

(defun magent-agent-shell--around-context (function &rest args)
  "Call FUNCTION with ARGS, noting whether it is for a Magent shell."
  (let ((magent-agent-shell--in-context
         (magent-agent-shell--shell-p (plist-get args :shell-buffer))))
    (apply function args)))

(defun magent-agent-shell--around-line-context (function &rest args)
  "Call FUNCTION with ARGS, unless the line at point is blank."
  (unless (and magent-agent-shell--in-context
               (save-excursion
                 (beginning-of-line)
                 (looking-at-p "[[:blank:]]*$")))
    (apply function args)))

(defun magent-agent-shell--around-files-context (function &rest args)
  "Call FUNCTION with ARGS, unless files are remote; then only name them."
  (let ((files (plist-get args :files)))
    (if (and magent-agent-shell--in-context
             (cl-some #'file-remote-p files))
        (mapconcat (lambda (file) (concat "@" file)) files "\n\n")
      (apply function args))))

(defconst magent-agent-shell-advice
  '((agent-shell-jump-to-latest-permission-button-row
     . magent-agent-shell--around-jump)
    (agent-shell--update-fragment
     . magent-agent-shell--around-fragment)
    (agent-shell--context . magent-agent-shell--around-context)
    (agent-shell--get-current-line-context
     . magent-agent-shell--around-line-context)
    (agent-shell--get-files-context
     . magent-agent-shell--around-files-context))
  "Functions of agent-shell that are advised, and by what.")

(defun magent-agent-shell--advise ()
  "Advise the functions of `magent-agent-shell-advice'."
  (dolist (entry magent-agent-shell-advice)
    ;; A version of agent-shell without one of them needs no advice there.
    (when (fboundp (car entry))
      (advice-add (car entry) :around (cdr entry)))))

(provide 'magent-agent-shell)

;;; magent-agent-shell.el ends here
