;;; magent-host-buffer.el --- Files in live buffers  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The Magent contributors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; What the core asks about buffers that visit files.  A clean buffer is changed and
;; saved; one with unsaved changes is never touched.  Nothing here opens a file that no
;; buffer visits, and nothing asks a question.

;;; Code:

(require 'cl-lib)
(require 'magent-core)

(defun magent-host-buffer--visiting (path)
  "Return the buffer that visits PATH, by any of its names, or nil."
  (let ((buffer (find-buffer-visiting path)))
    (and (buffer-live-p buffer) buffer)))

(defun magent-host-buffer--coding ()
  "Return the coding system that this buffer is saved with.
A file that is plain ASCII so far becomes UTF-8, whatever the locale."
  (let* ((coding (or buffer-file-coding-system 'utf-8-unix))
         (coding (if (eq (coding-system-type coding) 'undecided)
                     (coding-system-change-text-conversion coding 'utf-8)
                   coding)))
    (if (vectorp (coding-system-eol-type coding))
        (coding-system-change-eol-conversion coding 'unix)
      coding)))

(defun magent-host-buffer--bytes ()
  "Return the bytes that saving this buffer would write, as a unibyte string.
The region is the whole buffer, whatever is narrowed."
  (save-restriction
    (widen)
    (encode-coding-region (point-min) (point-max)
                          (magent-host-buffer--coding) t)))

(defun magent-host-buffer--revision ()
  "Return the revision of this buffer: of the bytes that saving it would write."
  (secure-hash 'sha256 (magent-host-buffer--bytes)))

(defun magent-host-buffer--text ()
  "Return the whole text of this buffer without properties.
Fail if it holds bytes that are no text, which JSON cannot carry."
  (save-restriction
    (widen)
    (when (memq 'eight-bit (find-charset-region (point-min) (point-max)))
      (magent-core-host-fail
       "binary" (format "The buffer %s holds bytes that are no text in its coding \
system; open it with the right one, or work on the file with bash" (buffer-name))))
    (buffer-substring-no-properties (point-min) (point-max))))

(defun magent-host-buffer--stale-p (buffer)
  "Return non-nil if the file of BUFFER changed on disk since it was read."
  (not (verify-visited-file-modtime buffer)))

(cl-defmethod magent-core-host-call ((_op (eql 'buffer-state)) args)
  "Tell whether a buffer visits the file in ARGS, and in what state it is."
  (let ((buffer (magent-host-buffer--visiting (alist-get 'path args))))
    `((visiting . ,(if buffer t :false))
      (modified . ,(if (and buffer (buffer-modified-p buffer)) t :false))
      (stale . ,(if (and buffer (magent-host-buffer--stale-p buffer)) t :false))
      (buffer . ,(if buffer (buffer-name buffer) :null)))))

(defun magent-host-buffer--require (path)
  "Return the buffer that visits PATH; fail if there is none."
  (or (magent-host-buffer--visiting path)
      (magent-core-host-fail "buffer_not_found"
                             (format "No buffer visits %s" path))))

(cl-defmethod magent-core-host-call ((_op (eql 'buffer-read)) args)
  "Return the text of the buffer that visits the file in ARGS."
  (with-current-buffer (magent-host-buffer--require (alist-get 'path args))
    `((text . ,(magent-host-buffer--text))
      (revision . ,(magent-host-buffer--revision))
      (modified . ,(if (buffer-modified-p) t :false))
      (narrowed . ,(if (buffer-narrowed-p) t :false))
      (buffer . ,(buffer-name)))))

;;;; Changing

(defun magent-host-buffer--check-clean ()
  "Fail if this buffer has unsaved changes or cannot be changed."
  (when (buffer-modified-p)
    (magent-core-host-fail
     "buffer_conflict"
     (format "The buffer %s has unsaved changes of the user, which a change of the file \
would overwrite or write along.  Nothing was changed.  Tell the user to save or revert this \
buffer, then try again; do not reach the file by other means" (buffer-name))))
  (when buffer-read-only
    (magent-core-host-fail
     "buffer_conflict" (format "The buffer %s is read-only" (buffer-name)))))

(defun magent-host-buffer--check-revision (expected)
  "Fail unless this buffer has the EXPECTED revision."
  (let ((actual (magent-host-buffer--revision)))
    (unless (equal actual expected)
      (magent-core-host-fail
       "stale_revision"
       (format "The file has revision %s, not %s; read it again" actual expected)))))

(defun magent-host-buffer--refresh ()
  "Read this clean buffer's file again, without asking and without mode changes."
  (let ((revert-without-query '("."))
        (inhibit-interaction t)
        (inhibit-message t))
    (revert-buffer t t t)))

(defun magent-host-buffer--check-coding ()
  "Fail if the coding system of this widened buffer cannot hold its text."
  (let ((coding (magent-host-buffer--coding)))
    (unless (equal (decode-coding-string (magent-host-buffer--bytes) coding)
                   (magent-host-buffer--text))
      (magent-core-host-fail
       "unencodable"
       (format "The new text has characters that %s cannot hold" coding)))))

(defun magent-host-buffer--save ()
  "Save this buffer without asking anything, and return its new revision."
  (let ((file-precious-flag t)
        (require-final-newline nil)
        (save-silently t)
        (inhibit-message t)
        ;; Emacs would ask about coding systems that it finds strange.
        (coding-system-for-write (magent-host-buffer--coding)))
    (condition-case err
        (save-buffer 0)
      (error
       ;; When a hook fails after the file was written, taking the change back would
       ;; leave a buffer that seems clean and differs from its file.
       (if (buffer-modified-p)
           (signal (car err) (cdr err))
         (magent-log 'warn "After saving %s: %s" (buffer-name)
                     (error-message-string err))))))
  (magent-host-buffer--revision))

(defun magent-host-buffer--change (change)
  "Call CHANGE in this buffer, save it, and return the new revision.
The change is one step of undo; if it or the saving fails, it is taken back."
  (undo-boundary)
  (save-restriction
    (widen)
    ;; A hook that wants to ask must fail instead of waiting for nobody.
    (let ((inhibit-interaction t))
      (atomic-change-group
        (save-excursion (funcall change))
        (magent-host-buffer--check-coding)
        (prog1 (magent-host-buffer--save)
          (undo-boundary))))))

(cl-defmethod magent-core-host-call ((_op (eql 'buffer-write)) args)
  "Replace the text of the buffer that visits the file in ARGS, and save it."
  (let-alist args
    (with-current-buffer (magent-host-buffer--require .path)
      (magent-host-buffer--check-clean)
      (when (magent-host-buffer--stale-p (current-buffer))
        (magent-core-host-fail
         "disk_conflict"
         (format "%s changed on disk since its buffer read it; read it again" .path)))
      (magent-host-buffer--check-revision .expected_revision)
      (let ((old (magent-host-buffer--text))
            (new .text))
        `((revision . ,(magent-host-buffer--change
                        (lambda ()
                          (let ((source (generate-new-buffer " *magent-text*" t)))
                            (unwind-protect
                                (progn
                                  (with-current-buffer source (insert new))
                                  (replace-buffer-contents source 1))
                              (kill-buffer source))))))
          (old_text . ,old))))))

(defun magent-host-buffer--count (text)
  "Return how often TEXT occurs in this widened buffer, and the last place found."
  (let ((case-fold-search nil) (count 0) place)
    (goto-char (point-min))
    (while (search-forward text nil t)
      (setq count (1+ count) place (match-beginning 0))
      (goto-char (1+ (match-beginning 0))))
    (cons count place)))

(defun magent-host-buffer--find-once (text)
  "Return the place of TEXT in this buffer; fail unless it occurs exactly once."
  (when (string-empty-p text)
    (magent-core-host-fail "no_match" "old_text is empty"))
  (save-excursion
    (save-restriction
      (widen)
      (pcase (magent-host-buffer--count text)
        (`(1 . ,place) place)
        (`(0 . ,_) (magent-core-host-fail
                    "no_match" "old_text does not occur in the file"))
        (`(,count . ,_) (magent-core-host-fail
                         "not_unique"
                         (format "old_text occurs %d times in the file" count)))))))

(cl-defmethod magent-core-host-call ((_op (eql 'buffer-edit)) args)
  "Replace a text in the buffer that visits the file in ARGS, and save it."
  (let-alist args
    (with-current-buffer (magent-host-buffer--require .path)
      (magent-host-buffer--check-clean)
      (when (magent-host-buffer--stale-p (current-buffer))
        (magent-host-buffer--refresh))
      (magent-host-buffer--check-revision .expected_revision)
      (let* ((old .old_text)
             (new .new_text)
             (place (magent-host-buffer--find-once old))
             (line (save-restriction (widen) (line-number-at-pos place)))
             (revision (magent-host-buffer--change
                        (lambda ()
                          (goto-char place)
                          (delete-region place (+ place (length old)))
                          (insert new)))))
        `((revision . ,revision) (line . ,line))))))

(provide 'magent-host-buffer)

;;; magent-host-buffer.el ends here
