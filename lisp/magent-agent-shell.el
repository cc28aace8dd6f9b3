;;; magent-agent-shell.el --- Magent in agent-shell  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The Magent contributors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Magent as an agent of agent-shell.  `magent-start' opens a shell; after
;; `magent-agent-shell-ensure-config' the picker of agent-shell offers Magent, too.

;;; Code:

(require 'cl-lib)
(require 'magent-acp)
(require 'magent-error)
(require 'magent-module)

(defvar agent-shell-session-restore-verbosity)
(defvar agent-shell-session-strategy)
(defvar agent-shell-agent-configs)
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
  (magent-module-load)
  (with-current-buffer buffer
    (unless (local-variable-p 'agent-shell-session-strategy)
      (setq-local agent-shell-session-strategy
                  magent-agent-shell-session-strategy))
    (unless (local-variable-p 'agent-shell-session-restore-verbosity)
      (setq-local agent-shell-session-restore-verbosity
                  magent-agent-shell-restore-verbosity)))
  (magent-acp-make-client buffer))

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
  (magent-module-ensure)
  (magent-agent-shell-ensure-config)
  (agent-shell-start :config (magent-agent-shell-make-config)))

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
  '((agent-shell--context . magent-agent-shell--around-context)
    (agent-shell--get-current-line-context
     . magent-agent-shell--around-line-context)
    (agent-shell--get-files-context
     . magent-agent-shell--around-files-context))
  "Private functions of agent-shell that are advised, and by what.")

(defun magent-agent-shell--advise ()
  "Advise the functions of `magent-agent-shell-advice'."
  (dolist (entry magent-agent-shell-advice)
    ;; A version of agent-shell without one of them needs no advice there.
    (when (fboundp (car entry))
      (advice-add (car entry) :around (cdr entry)))))

(provide 'magent-agent-shell)

;;; magent-agent-shell.el ends here
