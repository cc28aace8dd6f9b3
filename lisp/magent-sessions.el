;;; magent-sessions.el --- The list of saved conversations  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The Magent contributors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A buffer with the saved sessions of a project, or of all, in which they are opened,
;; forked, exported, recovered and deleted.  The core reads their headers; Emacs never
;; waits for it.

;;; Code:

(require 'tabulated-list)
(require 'magent-session-commands)
(require 'magent-session-export)

(defvar-local magent-sessions--directory nil
  "The project whose sessions this buffer lists; nil is all.")

(defvar-local magent-sessions--project nil
  "The project that this buffer was opened for.")

(defvar-keymap magent-list-sessions-mode-map
  :doc "Keys of the list of sessions."
  :parent tabulated-list-mode-map
  "RET" #'magent-sessions-open
  "f" #'magent-sessions-fork
  "e" #'magent-sessions-export
  "r" #'magent-sessions-recover
  "D" #'magent-sessions-delete
  "a" #'magent-sessions-toggle-all)

(define-derived-mode magent-list-sessions-mode tabulated-list-mode "Magent-Sessions"
  "Major mode for the list of Magent's saved sessions.
\\{magent-list-sessions-mode-map}"
  (setq tabulated-list-padding 1
        tabulated-list-sort-key '("Changed" . t))
  (setq-local revert-buffer-function #'magent-sessions--revert)
  (magent-sessions--set-columns))

(defun magent-sessions--set-columns ()
  "Set the columns: the project is one where sessions of all are listed.
The title gets what the others leave of the frame."
  (setq tabulated-list-format
        `[("Changed" 16 ,(magent-sessions--by 'updated-at))
          ("Title" ,(max 30 (- (frame-width) (if magent-sessions--directory 70 95))) t)
          ("Model" 22 t)
          ("Turns" 5 ,(magent-sessions--by 'turns) :right-align t)
          ("Size" 6 ,(magent-sessions--by 'bytes) :right-align t)
          ("Open in" 12 t)
          ,@(unless magent-sessions--directory '(("Project" 0 t)))])
  (tabulated-list-init-header))

(defun magent-sessions--by (field)
  "Return a predicate that sorts entries by FIELD, a number, of their sessions."
  (lambda (left right)
    (< (or (alist-get field (car left)) -1) (or (alist-get field (car right)) -1))))

;;;###autoload
(defun magent-list-sessions (&optional all)
  "List the saved sessions of this project, or with a prefix argument ALL of all."
  (interactive "P")
  (let ((root (magent-session--root)))
    (magent-session--ensure)
    (with-current-buffer (get-buffer-create "*magent-sessions*")
      (magent-list-sessions-mode)
      (setq magent-sessions--project root
            magent-sessions--directory (unless all root)
            default-directory root)
      (magent-sessions--revert)
      (pop-to-buffer (current-buffer)))))

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
               (magent-sessions--show value)
             (magent-error-tell value))))))))

(defun magent-sessions--show (sessions)
  "Show SESSIONS, alists as of `magent-runtime-list-sessions'."
  (magent-sessions--set-columns)
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
          `[,(format-time-string "%F %R" .updated-at)
            ,(magent-session--title session)
            ,(or .model "")
            ,(if .turns (number-to-string .turns) "?")
            ,(file-size-human-readable .bytes)
            ,(cond (.here "this Emacs")
                   (.holder)
                   (t ""))
            ,@(unless magent-sessions--directory
                (list (if .root (abbreviate-file-name .root) "no project")))])))

(defun magent-sessions-toggle-all ()
  "List the sessions of all projects, or of this one only again."
  (interactive nil magent-list-sessions-mode)
  (setq magent-sessions--directory
        (unless magent-sessions--directory magent-sessions--project))
  (magent-sessions--revert))

;;;; Doing something with a session

(defun magent-sessions--at-point ()
  "Return the session at point, an alist."
  (or (tabulated-list-get-id)
      (user-error "There is no session here")))

(defun magent-sessions-open ()
  "Take up the session at point in a shell of its own."
  (interactive nil magent-list-sessions-mode)
  (let-alist (magent-sessions--at-point)
    (magent-session--open .session-id .root)))

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
  (let-alist (magent-sessions--at-point)
    (magent-session--copy function .session-id .root (magent-sessions--reverter))))

(defun magent-sessions-export ()
  "Write the conversation of the session at point to a file."
  (interactive nil magent-list-sessions-mode)
  (magent-session-export-to (magent-sessions--at-point)))

(defun magent-sessions-delete ()
  "Delete the session at point for good, after one question."
  (interactive nil magent-list-sessions-mode)
  (magent-session--delete (magent-sessions--at-point) (magent-sessions--reverter)))

(defun magent-sessions--reverter ()
  "Return a function that lists the sessions in this buffer again."
  (let ((buffer (current-buffer)))
    (lambda ()
      (when (buffer-live-p buffer)
        (with-current-buffer buffer
          (magent-sessions--revert))))))

(provide 'magent-sessions)

;;; magent-sessions.el ends here
