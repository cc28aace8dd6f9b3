;;; magent-session-export.el --- Conversations as documents  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The Magent contributors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Writes a conversation down in Org or Markdown.  The core writes a private file while
;; Emacs goes on; that is then copied to where the user wants it, which may be remote.

;;; Code:

(require 'map)
(require 'magent-session-commands)

(declare-function agent-shell-cwd "ext:agent-shell-project" ())

(defconst magent-session-export--extensions
  '(("org" . org) ("md" . markdown) ("markdown" . markdown))
  "Formats by the extension of a file.")

;;;###autoload
(defun magent-session-export ()
  "Write a conversation to a file in Org or Markdown.
In a Magent shell that is its conversation, elsewhere ask for one of this
project.  The extension of the file, .org or .md, decides on the format; the
default is in `magent-export-format'."
  (interactive)
  (magent-session--ensure)
  (if-let* ((shell (magent-session-export--here)))
      (magent-session-export-to shell)
    (magent-session--choose "Export: " #'magent-session-export-to)))

(defun magent-session-export--here ()
  "Return the session of this shell as an alist, nil if this is none of Magent."
  (when (magent-agent-shell--shell-p (current-buffer))
    (let ((session (map-elt (buffer-local-value 'agent-shell--state (current-buffer))
                            :session)))
      (when-let* ((id (map-elt session :id)))
        `((session-id . ,id)
          (root . ,(agent-shell-cwd))
          (title . ,(or (map-elt session :title) (buffer-name))))))))

(defun magent-session-export-to (session)
  "Ask for a file and write the conversation of SESSION, an alist, to it."
  (let* ((name (magent-session-export--name session))
         (file (expand-file-name
                (read-file-name "Export to: " nil (expand-file-name name) nil name))))
    (when (file-directory-p file)
      (setq file (expand-file-name name file)))
    (when (or (not (file-exists-p file))
              (yes-or-no-p (format "%s exists; replace it? " file)))
      (magent-session-export--write session file))))

(defun magent-session-export--name (session)
  "Return the name of a file for the conversation of SESSION, an alist."
  (let* ((words (split-string (downcase (or (alist-get 'title session) ""))
                              "[^[:alnum:]]+" t))
         (name (string-join words "-")))
    (concat (if (string-empty-p name) "conversation"
              (substring name 0 (min 40 (length name))))
            (car (rassq magent-export-format '((".org" . org) (".md" . markdown)))))))

(defun magent-session-export--format (file)
  "Return the format that the name of FILE asks for."
  (alist-get (downcase (or (file-name-extension file) ""))
             magent-session-export--extensions magent-export-format nil #'equal))

(defun magent-session-export--write (session file)
  "Let the core write the conversation of SESSION, an alist, and move it to FILE."
  (let ((written (make-temp-file "magent-export-")))
    (let-alist session
      (condition-case err
          (magent-runtime-export
           .root .session-id (magent-session-export--format file) written
           (lambda (ok value)
             (if ok
                 ;; A remote file may ask for a password.
                 (run-at-time 0 nil #'magent-session-export--try-place written file)
               (delete-file written)
               (magent-error-tell value))))
        (error (delete-file written)
               (signal (car err) (cdr err)))))))

(defun magent-session-export--place (written file)
  "Copy WRITTEN, a temporary file, to FILE and show that it is there."
  (unwind-protect
      ;; The temporary file is for nobody else's eyes, and a copy takes that over.
      (let ((modes (or (file-modes file)
                       (logand (default-file-modes) #o666))))
        (copy-file written file t)
        (set-file-modes file modes)
        (message "Magent: wrote %s" (abbreviate-file-name file)))
    (delete-file written)))

(defun magent-session-export--try-place (written file)
  "Copy WRITTEN to FILE as `magent-session-export--place', or tell why not."
  (condition-case err
      (magent-session-export--place written file)
    (file-error (message "Magent: the conversation is not written: %s"
                         (error-message-string err)))))

(provide 'magent-session-export)

;;; magent-session-export.el ends here
