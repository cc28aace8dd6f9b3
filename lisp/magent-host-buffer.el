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
(require 'magent-disk)

(defun magent-host-buffer--visiting (path)
  "Return the buffer that counts for the file PATH, or nil if none visits it.
Of several, one with unsaved changes comes first: it must not be passed over."
  (let ((buffers (magent-disk-visiting path)))
    (or (seq-find #'buffer-modified-p buffers)
        (car (memq (get-file-buffer path) buffers))
        (car buffers))))

(defun magent-host-buffer--coding ()
  "Return the coding system that this buffer is saved with.
A file that is plain ASCII so far becomes UTF-8, whatever the locale."
  (let* ((coding (or save-buffer-coding-system buffer-file-coding-system
                     'utf-8-unix))
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

;;;; Refusing

(defun magent-host-buffer--check-clean ()
  "Fail if this buffer has unsaved changes."
  (when (buffer-modified-p)
    (magent-core-host-fail
     "buffer_conflict"
     (format "The buffer %s has unsaved changes of the user, which a change of the file \
would overwrite or write along.  Nothing was changed.  Tell the user to save or revert this \
buffer, then try again; do not reach the file by other means" (buffer-name)))))

(defun magent-host-buffer--check-writable ()
  "Fail if this buffer is read-only."
  (when buffer-read-only
    (magent-core-host-fail
     "buffer_conflict"
     (format "The buffer %s is read-only.  Nothing was changed.  Tell the user to make it \
writable (C-x C-q) if this change is wanted" (buffer-name)))))

(defun magent-host-buffer--check-revision (expected)
  "Fail unless this buffer has the EXPECTED revision.
That of a file that does not exist is \"absent\" as well."
  (let ((actual (magent-host-buffer--revision)))
    (unless (or (equal actual expected)
                (and (equal expected "absent")
                     (not (file-exists-p buffer-file-name))))
      (magent-core-host-fail
       "stale_revision"
       (format "The file has revision %s, not %s; read it again" actual expected)))))

(defun magent-host-buffer--check-file (expected)
  "Fail unless this buffer's file can be written without a question.
It may be missing if its EXPECTED revision is \"absent\", and if it never was
there.  What Emacs would ask its user is told to the model instead."
  (let* ((file (file-truename buffer-file-name))
         (attributes (file-attributes file))
         (holder (file-locked-p buffer-file-name)))
    (cond ((stringp holder)
           (magent-core-host-fail
            "file_locked"
            (format "%s is being edited by %s in another Emacs.  Nothing was changed.  \
Tell the user" file holder)))
          ((null attributes)
           (unless (or (equal expected "absent")
                       (verify-visited-file-modtime))
             (magent-host-buffer--fail-deleted file)))
          ((eq (file-attribute-type attributes) t)
           (magent-core-host-fail "is_directory"
                                  (format "%s is a directory by now" file)))
          ((not (string-prefix-p "-" (file-attribute-modes attributes)))
           (magent-core-host-fail "not_a_regular_file"
                                  (format "%s is no regular file" file)))
          ((not (file-writable-p file))
           (magent-core-host-fail
            "permission_denied"
            (format "%s is write-protected.  Nothing was changed.  Tell the user to make \
it writable if this change is wanted" file))))))

(defun magent-host-buffer--fail-deleted (file)
  "Fail because FILE, which this buffer visits, was deleted."
  (magent-core-host-fail
   "not_found"
   (format "%s does not exist any more; only the buffer %s still shows its text.  Nothing \
was changed.  If the file is to be made again, use write_file with the expected_revision \
\"absent\"" file (buffer-name))))

(defun magent-host-buffer--check-changeable (expected)
  "Fail unless this buffer and its file can be changed.
The file may be missing if its EXPECTED revision is \"absent\"."
  (magent-host-buffer--check-clean)
  (magent-host-buffer--check-file expected)
  (magent-host-buffer--check-writable))

(defun magent-host-buffer--check-coding ()
  "Fail if the coding system of this widened buffer cannot hold its text."
  (let ((coding (magent-host-buffer--coding)))
    (unless (equal (decode-coding-string (magent-host-buffer--bytes) coding)
                   (magent-host-buffer--text))
      (magent-core-host-fail
       "unencodable"
       (format "The new text has characters that %s cannot hold" coding)))))

;;;; Saving

(defun magent-host-buffer--write-file ()
  "Write this buffer to its file and return t, as one of `write-file-functions'.
Links to the file and its owner stay, whatever way of saving is set up."
  (let (;; A backup by renaming would take the file itself away.
        (backup-by-copying t)
        ;; The value nil would ask.
        (delete-old-versions (or delete-old-versions 'never)))
    (condition-case err
        (backup-buffer)
      (error (magent-log 'warn "No backup of %s: %s" (buffer-name)
                         (error-message-string err)))))
  (let ((coding-system-for-write (magent-host-buffer--coding))
        (time (visited-file-modtime)))
    (condition-case err
        (magent-disk-write
         (file-truename buffer-file-name)
         (lambda (name)
           (write-region nil nil name nil buffer-file-name buffer-file-truename)))
      ((error quit)
       ;; The buffer may count as saved, but the file has its old content.
       (set-visited-file-modtime time)
       (set-buffer-modified-p t)
       (signal (car err) (cdr err)))))
  t)

(defun magent-host-buffer--save ()
  "Save this buffer without asking anything."
  (let ((require-final-newline nil)
        (save-silently t)
        (inhibit-message t)
        ;; Emacs would ask about coding systems that it finds strange.
        (coding-system-for-write (magent-host-buffer--coding)))
    ;; Functions of the user come first.
    (add-hook 'write-file-functions #'magent-host-buffer--write-file 100 t)
    (unwind-protect
        (condition-case err
            (save-buffer)
          (error
           ;; When a hook fails after the file was written, taking the change back would
           ;; leave a buffer that seems clean and differs from its file.
           (if (buffer-modified-p)
               (signal (car err) (cdr err))
             (magent-log 'warn "After saving %s: %s" (buffer-name)
                         (error-message-string err)))))
      (remove-hook 'write-file-functions #'magent-host-buffer--write-file t))))

(defun magent-host-buffer--saved-p ()
  "Return non-nil if this buffer's file holds what saving it should have written.
Bytes that Emacs compresses or encrypts are not compared."
  (or (find-file-name-handler buffer-file-name 'write-region)
      (equal (magent-disk-revision (file-truename buffer-file-name))
             (magent-host-buffer--revision))))

(defun magent-host-buffer--check-written (before)
  "Fail if this buffer's file still has the revision BEFORE, nil for no file.
Then a hook has claimed to have saved it."
  (unless (or (magent-host-buffer--saved-p)
              (not (equal (magent-disk-revision (file-truename buffer-file-name))
                          before)))
    (magent-core-host-fail
     "not_saved"
     (format "Emacs did not write %s, though no error was signalled; a hook or mode of \
the buffer %s saves it in its own way.  Nothing was changed.  Tell the user"
             buffer-file-name (buffer-name)))))

(defun magent-host-buffer--check-saved ()
  "Fail if this buffer's file holds something else than the buffer."
  (unless (magent-host-buffer--saved-p)
    (magent-core-host-fail
     "disk_conflict"
     (format "The change was made and saved in the buffer %s, but %s holds other bytes \
than the buffer: a hook or mode of the buffer, or another program, wrote them.  Read the \
file from disk and from the buffer, and tell the user if they differ"
             (buffer-name) buffer-file-name))))

;;;; Changing

(defmacro magent-host-buffer--without-questions (&rest body)
  "Evaluate BODY; fail where it asks the user something, or cannot reach a file."
  (declare (indent 0) (debug t))
  ;; A dialog box would not be inhibited, and wait for nobody.
  `(let ((inhibit-interaction t)
         (use-dialog-box nil))
     (condition-case err
         (progn ,@body)
       (inhibited-interaction
        (magent-core-host-fail
         "user_question"
         (format "Changing, saving or reading the buffer %s asks the user a question, \
which a tool cannot answer: a hook or mode of the buffer does so.  Nothing was changed.  Tell the user"
                 (buffer-name))))
       (file-error
        (magent-core-host-fail
         (if (eq (car err) 'permission-denied) "permission_denied" "io")
         (format "%s could not be read or written: %s.  Nothing was changed"
                 buffer-file-name (error-message-string err)))))))

(defun magent-host-buffer--refresh ()
  "Read this clean buffer's file again, without asking and without mode changes."
  (let ((revert-without-query '("."))
        (inhibit-message t))
    (magent-host-buffer--without-questions
      (revert-buffer t t t))))

(defun magent-host-buffer--refresh-others ()
  "Let the other buffers that visit this buffer's file show what it holds now.
They are clean."
  (dolist (buffer (remq (current-buffer)
                        (magent-disk-visiting buffer-file-name)))
    (with-current-buffer buffer
      (condition-case err
          (magent-host-buffer--refresh)
        (error (magent-log 'warn "Reading %s again: %s" (buffer-name)
                           (error-message-string err)))))))

(defun magent-host-buffer--change (change)
  "Call CHANGE in this buffer, save it, and return the new revision.
The change is one step of undo; if it or the saving fails, it is taken back."
  (undo-boundary)
  (save-restriction
    (widen)
    (let ((before (magent-disk-revision (file-truename buffer-file-name))))
      (magent-host-buffer--without-questions
        (atomic-change-group
          (save-excursion (funcall change))
          (magent-host-buffer--check-coding)
          (magent-host-buffer--save)
          (magent-host-buffer--check-written before)
          (undo-boundary))))
    (magent-host-buffer--refresh-others)
    (magent-host-buffer--check-saved)
    (magent-host-buffer--revision)))

(defun magent-host-buffer--check-fresh ()
  "Fail if this buffer's file is there and changed since it was read."
  (when (and (file-exists-p buffer-file-name)
             (magent-host-buffer--stale-p (current-buffer)))
    (magent-core-host-fail
     "disk_conflict"
     (format "%s changed on disk since its buffer read it; read it again"
             buffer-file-name))))

(defun magent-host-buffer--replace-text (text)
  "Make TEXT the whole text of this widened buffer, and keep places in it."
  (let ((source (generate-new-buffer " *magent-text*" t)))
    (unwind-protect
        (progn
          (with-current-buffer source (insert text))
          (replace-buffer-contents source 1))
      (kill-buffer source))))

(cl-defmethod magent-core-host-call ((_op (eql 'buffer-write)) args)
  "Replace the text of the buffer that visits the file in ARGS, and save it."
  (let-alist args
    (with-current-buffer (magent-host-buffer--require .path)
      (magent-host-buffer--check-changeable .expected_revision)
      (magent-host-buffer--check-fresh)
      (magent-host-buffer--check-revision .expected_revision)
      (let ((old (if (file-exists-p buffer-file-name)
                     (magent-host-buffer--text)
                   :null)))
        (make-directory (file-name-directory (file-truename buffer-file-name)) t)
        `((revision . ,(magent-host-buffer--change
                        (lambda () (magent-host-buffer--replace-text .text))))
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
      (magent-host-buffer--check-changeable .expected_revision)
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
