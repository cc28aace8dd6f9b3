;;; magent-session-commands.el --- Commands about saved sessions  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The Magent contributors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; What can be done with one saved session: take it up, copy it, recover it, delete it.
;; The core does the work while Emacs goes on, and answers; what is asked of the user is
;; asked after that, never inside of an answer.

;;; Code:

(require 'map)
(require 'project)
(require 'seq)
(require 'magent-agent-shell)
(require 'magent-error)
(require 'magent-runtime-api)

(declare-function agent-shell-buffers "ext:agent-shell" ())
(declare-function agent-shell-start "ext:agent-shell"
                  (&key config session-id outgoing-request-decorator))

(defun magent-session--ensure ()
  "Start the core unless it runs; if that fails, tell the user why."
  (magent-error-as-user-error
    (magent-module-ensure)
    (magent-runtime-ensure)))

(defun magent-session--root ()
  "Return the root of this project, or this folder."
  (let ((project (project-current)))
    (expand-file-name (if project (project-root project) default-directory))))

(defun magent-session--title (session)
  "Return the title of SESSION, an alist as of `magent-runtime-list-sessions'."
  (let-alist session
    (concat (replace-regexp-in-string "[[:cntrl:]]+" " " (or .title "Untitled"))
            (when .damage " (cannot be read)"))))

(defun magent-session--shell (id)
  "Return the shell of this Emacs that has the session ID, if there is one."
  (when (fboundp 'agent-shell-buffers)
    (seq-find (lambda (buffer)
                (equal (map-nested-elt (buffer-local-value 'agent-shell--state buffer)
                                       '(:session :id))
                       id))
              (agent-shell-buffers))))

(defun magent-session--open (id root)
  "Show the shell of the session ID of the project ROOT, or take it up in one."
  (if-let* ((shell (magent-session--shell id)))
      (pop-to-buffer shell)
    (magent-session--start id root)))

(defun magent-session--start (id root)
  "Take up the session ID of the project ROOT, nil for none, in a shell."
  (magent-error-as-user-error
    (magent-agent-shell-ensure-config)
    (let ((default-directory (file-name-as-directory (or root "/"))))
      (unless (or (file-remote-p default-directory)
                  (file-directory-p default-directory))
        (user-error "The project %s is not there any more" default-directory))
      (agent-shell-start :config (magent-agent-shell-make-config) :session-id id))))

(defun magent-session--copy (function id root done)
  "Copy the session ID of ROOT with FUNCTION, open the copy, and call DONE.
FUNCTION is `magent-runtime-fork' or `magent-runtime-recover'."
  (funcall function root id
           (lambda (ok value)
             (if (not ok)
                 (magent-error-tell value)
               (let-alist value
                 ;; The shell opens it for itself.
                 (magent-runtime-session-close .session-id)
                 (funcall done)
                 (run-at-time 0 nil #'magent-session--start .session-id root)
                 (when .notice
                   (message "Magent: %s" .notice)))))))

(defun magent-session--delete (session done)
  "Ask whether to delete SESSION, an alist; if so, do it and call DONE."
  (let-alist session
    (when-let* ((shell (magent-session--shell .session-id)))
      (user-error "This session is open in %s; kill that buffer first" shell))
    (when (yes-or-no-p (format "Delete \"%s\"%s for good? "
                               (magent-session--title session)
                               (cond ((not .turns) "")
                                     ((= .turns 1) " (1 turn)")
                                     (t (format " (%d turns)" .turns)))))
      (magent-runtime-session-delete
       .root .session-id
       (lambda (ok value)
         (if (not ok)
             (magent-error-tell value)
           (message "Magent: the session is deleted")
           (funcall done)))))))

(defun magent-session--choose (prompt function)
  "Ask with PROMPT for a session of this project, and call FUNCTION with it.
That is an alist as of `magent-runtime-list-sessions'."
  (let ((root (magent-session--root)))
    (magent-session--ensure)
    (magent-runtime-list-sessions
     root
     (lambda (ok value)
       (if ok
           (run-at-time 0 nil #'magent-session--choose-among prompt value function)
         (magent-error-tell value))))))

(defun magent-session--choose-among (prompt sessions function)
  "Ask with PROMPT for one of SESSIONS, alists, and call FUNCTION with it."
  (let* ((choices (mapcar (lambda (session)
                            (cons (magent-session--label session) session))
                          sessions))
         (table (lambda (string predicate action)
                  (if (eq action 'metadata)
                      ;; They are sorted by date already.
                      '(metadata (display-sort-function . identity))
                    (complete-with-action action choices string predicate)))))
    (if (null choices)
        (message "Magent: no session of this project is saved")
      (funcall function
               (cdr (assoc (completing-read prompt table nil t) choices))))))

(defun magent-session--label (session)
  "Return what stands for SESSION, an alist, among others.
The end of the id tells sessions apart that are alike otherwise."
  (let-alist session
    (format "%s  %s  [%s]" (format-time-string "%F %R" .updated-at)
            (magent-session--title session)
            (substring .session-id (max 0 (- (length .session-id) 6))))))

;;;###autoload
(defun magent-session-recover ()
  "Make a session of what can be read of a damaged one of this project.
Ask which; those that cannot be opened are named so."
  (interactive)
  (magent-session--choose
   "Recover: "
   (lambda (session)
     (let-alist session
       (magent-session--copy #'magent-runtime-recover .session-id .root #'ignore)))))

(provide 'magent-session-commands)

;;; magent-session-commands.el ends here
