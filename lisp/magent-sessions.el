;;; magent-sessions.el --- The list of saved conversations  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The Magent contributors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A buffer with the saved sessions of a project, or of all, in which they are opened,
;; forked and recovered.  It reads headers only, through the core, and never waits.

;;; Code:

(require 'project)
(require 'tabulated-list)
(require 'magent-agent-shell)
(require 'magent-error)
(require 'magent-runtime-api)

(declare-function agent-shell-start "ext:agent-shell"
                  (&key config session-id outgoing-request-decorator))

(defvar-local magent-sessions--directory nil
  "The project whose sessions this buffer lists; nil is all.")

(defvar-local magent-sessions--project nil
  "The project that this buffer was opened for.")

(defvar-keymap magent-list-sessions-mode-map
  :doc "Keys of the list of sessions."
  :parent tabulated-list-mode-map
  "RET" #'magent-sessions-open
  "f" #'magent-sessions-fork
  "r" #'magent-sessions-recover
  "a" #'magent-sessions-toggle-all)

(define-derived-mode magent-list-sessions-mode tabulated-list-mode "Magent-Sessions"
  "Major mode for the list of Magent's saved sessions.
\\{magent-list-sessions-mode-map}"
  (setq tabulated-list-format
        [("Changed" 16 magent-sessions--older-p)
         ("Title" 48 t)
         ("Project" 0 t)]
        tabulated-list-padding 1
        tabulated-list-sort-key '("Changed" . t))
  (setq-local revert-buffer-function #'magent-sessions--revert)
  (tabulated-list-init-header))

;;;###autoload
(defun magent-list-sessions (&optional all)
  "List the saved sessions of this project, or with a prefix argument ALL of all."
  (interactive "P")
  (let ((root (magent-sessions--root)))
    (magent-error-as-user-error
      (magent-module-ensure)
      (magent-runtime-ensure))
    (with-current-buffer (get-buffer-create "*magent-sessions*")
      (magent-list-sessions-mode)
      (setq magent-sessions--project root
            magent-sessions--directory (unless all root)
            default-directory root)
      (magent-sessions--revert)
      (pop-to-buffer (current-buffer)))))

(defun magent-sessions--root ()
  "Return the root of this project, or this folder."
  (let ((project (project-current)))
    (expand-file-name (if project (project-root project) default-directory))))

(defun magent-sessions--revert (&rest _)
  "Ask the core for the sessions and show them when it answers."
  (let ((buffer (current-buffer))
        (directory magent-sessions--directory))
    (magent-runtime-list-sessions
     directory
     (lambda (ok value)
       (when (and (buffer-live-p buffer)
                  (equal directory
                         (buffer-local-value 'magent-sessions--directory buffer)))
         (with-current-buffer buffer
           (if ok
               (magent-sessions--show (append value nil))
             (message "Magent: %s" (alist-get 'message value)))))))))

(defun magent-sessions--show (sessions)
  "Show SESSIONS, alists as of `magent-runtime-list-sessions'."
  (setq tabulated-list-entries (mapcar #'magent-sessions--entry sessions)
        mode-line-process (format " %d of %s" (length sessions)
                                  (if magent-sessions--directory "this project"
                                    "all")))
  (tabulated-list-print t)
  (unless sessions
    (message (substitute-command-keys
              "No session is saved here; \\[magent-sessions-toggle-all] lists all"))))

(defun magent-sessions--entry (session)
  "Return the row of SESSION, an alist."
  (let-alist session
    (list session
          (vector (format-time-string "%F %R" .updated-at)
                  (replace-regexp-in-string
                   "[[:cntrl:]]+" " " (or (magent-sessions--text .title) "Untitled"))
                  (if-let* ((root (magent-sessions--text .root)))
                      (abbreviate-file-name root)
                    "no project")))))

(defun magent-sessions--text (value)
  "Return VALUE if it is a string, nil otherwise, as for JSON's null."
  (and (stringp value) value))

(defun magent-sessions--older-p (left right)
  "Return non-nil if the entry LEFT changed before RIGHT."
  (< (alist-get 'updated-at (car left)) (alist-get 'updated-at (car right))))

(defun magent-sessions-toggle-all ()
  "List the sessions of all projects, or of this one only again."
  (interactive nil magent-list-sessions-mode)
  (setq magent-sessions--directory
        (unless magent-sessions--directory magent-sessions--project))
  (magent-sessions--revert))

;;;; Doing something with a session

(defun magent-sessions--at-point ()
  "Return the id and the project of the session at point as a list."
  (let-alist (or (tabulated-list-get-id)
                 (user-error "There is no session here"))
    (list .session-id (magent-sessions--text .root))))

(defun magent-sessions-open ()
  "Take up the session at point in a shell of its own."
  (interactive nil magent-list-sessions-mode)
  (apply #'magent-sessions--start (magent-sessions--at-point)))

(defun magent-sessions--start (id root)
  "Take up the session ID of the project ROOT, nil for none, in a shell."
  (magent-error-as-user-error
    (magent-agent-shell-ensure-config)
    (let ((default-directory (file-name-as-directory (or root "/"))))
      (unless (or (file-remote-p default-directory)
                  (file-directory-p default-directory))
        (user-error "The project %s is not there any more" default-directory))
      (agent-shell-start :config (magent-agent-shell-make-config) :session-id id))))

(defun magent-sessions-fork ()
  "Begin a session with the same past as the one at point, and open it."
  (interactive nil magent-list-sessions-mode)
  (magent-sessions--copy #'magent-runtime-fork))

(defun magent-sessions-recover ()
  "Make a session of what can be read of the one at point, and open it.
The damaged session stays as it is; the echo area tells what is missing."
  (interactive nil magent-list-sessions-mode)
  (magent-sessions--copy #'magent-runtime-recover))

(defun magent-sessions--copy (function)
  "Copy the session at point with FUNCTION, open the copy and list it."
  (pcase-let ((`(,id ,root) (magent-sessions--at-point))
              (buffer (current-buffer)))
    (magent-sessions--open-copy function id root
                                (lambda ()
                                  (when (buffer-live-p buffer)
                                    (with-current-buffer buffer
                                      (magent-sessions--revert)))))))

(defun magent-sessions--open-copy (function id root done)
  "Copy the session ID of ROOT with FUNCTION, open the copy, and call DONE."
  (funcall function root id
           (lambda (ok value)
             (if (not ok)
                 (message "Magent: %s" (alist-get 'message value))
               (let-alist value
                 ;; The shell opens it for itself.
                 (magent-runtime-session-close .session-id)
                 (funcall done)
                 (run-at-time 0 nil #'magent-sessions--start .session-id root)
                 (when (stringp .notice)
                   (message "Magent: %s" .notice)))))))

;;;###autoload
(defun magent-session-recover ()
  "Make a session of what can be read of a damaged one of this project.
Ask which; those that cannot be opened are named so."
  (interactive)
  (let ((root (magent-sessions--root)))
    (magent-error-as-user-error
      (magent-module-ensure)
      (magent-runtime-ensure))
    (magent-runtime-list-sessions
     root
     (lambda (ok value)
       (if ok
           ;; Nothing may be asked while the core's answers are handed out.
           (run-at-time 0 nil #'magent-sessions--choose-damaged root value)
         (message "Magent: %s" (alist-get 'message value)))))))

(defun magent-sessions--choose-damaged (root sessions)
  "Ask which of SESSIONS of ROOT, alists, is to be recovered, and do so."
  (let ((choices (mapcar (lambda (session)
                           (let-alist session
                             (cons (format "%s  %s" (format-time-string "%F %R" .updated-at)
                                           (or (magent-sessions--text .title)
                                               .session-id))
                                   .session-id)))
                         sessions)))
    (if (null choices)
        (message "No session of this project is saved")
      (let ((choice (completing-read "Recover: " choices nil t)))
        (magent-sessions--open-copy #'magent-runtime-recover
                                    (cdr (assoc choice choices)) root #'ignore)))))

(provide 'magent-sessions)

;;; magent-sessions.el ends here
