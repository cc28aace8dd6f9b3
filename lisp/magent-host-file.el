;;; magent-host-file.el --- Files that only Emacs can read  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The Magent contributors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Files that the core leaves to Emacs: local ones whose text is not UTF-8, and remote
;; ones.  They are read and written with Emacs's coding systems, in buffers that visit
;; nothing, so that no mode, hook or local variable of the user or of the project runs.

;;; Code:

(require 'cl-lib)
(require 'magent-core)
(require 'magent-disk)

(defconst magent-host-file--size-limit (* 10 1024 1024)
  "Most bytes of a file that is read through Emacs.")

(defun magent-host-file--check (path)
  "Fail unless PATH names a regular file of moderate size."
  (let ((attributes (file-attributes (file-truename path))))
    (cond ((null attributes)
           (magent-core-host-fail "not_found" (format "%s does not exist" path)))
          ((eq (file-attribute-type attributes) t)
           (magent-core-host-fail "is_directory" (format "%s is a directory" path)))
          ((not (string-prefix-p "-" (file-attribute-modes attributes)))
           (magent-core-host-fail "not_a_regular_file"
                                  (format "%s is no regular file" path)))
          ((> (file-attribute-size attributes) magent-host-file--size-limit)
           (magent-core-host-fail
            "too_large" (format "%s has %d bytes" path
                                (file-attribute-size attributes)))))))

(defun magent-host-file--decode (path bytes)
  "Return (TEXT . CODING) for BYTES, the contents of the file PATH.
Fail unless encoding the text again gives the same bytes."
  (let* ((coding (with-temp-buffer
                   (set-buffer-multibyte nil)
                   (insert bytes)
                   (or (car (find-operation-coding-system
                             'insert-file-contents (cons path (current-buffer))))
                       'undecided)))
         (coding (if (eq (coding-system-type coding) 'undecided)
                     (magent-host-file--detect path bytes)
                   coding)))
    (or (magent-host-file--decode-as bytes coding)
        ;; Line ends may be mixed; then they are part of the text.
        (magent-host-file--decode-as
         bytes (coding-system-change-eol-conversion coding 'unix))
        (magent-core-host-fail
         "undecodable"
         (format "%s cannot be read as text without loss (tried %s)" path coding)))))

(defun magent-host-file--decode-as (bytes coding)
  "Return (TEXT . CODING) for BYTES in CODING, or nil unless that loses nothing.
The CODING that is returned says how lines end."
  (let* ((text (decode-coding-string bytes coding))
         (coding last-coding-system-used))
    (and (not (memq 'eight-bit (find-charset-string text)))
         (equal (encode-coding-string text coding) bytes)
         (cons text coding))))

(defun magent-host-file--detect (path bytes)
  "Return the coding system of BYTES, the contents of the file PATH."
  (with-temp-buffer
    (set-buffer-multibyte nil)
    (insert bytes)
    (goto-char (point-min))
    (let ((auto (car (find-auto-coding path (min (buffer-size) 4096)))))
      ;; A file may name a coding system that Emacs does not have.
      (cond ((and auto (coding-system-p auto)) auto)
            ;; A byte order mark says more than what can be guessed from few bytes.
            ((string-prefix-p "\377\376" bytes) 'utf-16le-with-signature)
            ((string-prefix-p "\376\377" bytes) 'utf-16be-with-signature)
            (t (car (detect-coding-string bytes)))))))

(defun magent-host-file--read (path)
  "Return an alist with the text, revision and coding of the file PATH."
  (magent-host-file--check path)
  (let* ((bytes (magent-disk-bytes path))
         (decoded (magent-host-file--decode path bytes)))
    `((text . ,(car decoded))
      (revision . ,(secure-hash 'sha256 bytes))
      (coding . ,(symbol-name (cdr decoded))))))

(cl-defmethod magent-core-host-call ((_op (eql 'file-read)) args)
  "Return the text of the file in ARGS."
  (magent-host-file--read (alist-get 'path args)))

;;;; Writing

(defun magent-host-file--check-revision (path actual expected)
  "Fail unless the file PATH with the ACTUAL revision has the EXPECTED one."
  (unless (equal actual expected)
    (magent-core-host-fail
     "stale_revision"
     (format "%s has revision %s, not %s; read it again"
             path (or actual "absent") expected))))

(defun magent-host-file--write-bytes (path bytes)
  "Write BYTES to the file PATH.
The core has followed local links; one that is there now was not checked."
  (cond ((file-remote-p path)
         (setq path (file-truename path)))
        ((file-symlink-p path)
         (magent-core-host-fail "resource-identity-changed"
                                (format "%s has become a link meanwhile" path))))
  (when (and (file-exists-p path) (not (file-writable-p path)))
    (magent-core-host-fail "permission_denied"
                           (format "%s is write-protected" path)))
  (let ((coding-system-for-write 'no-conversion))
    (magent-disk-write path (lambda (name)
                              (write-region bytes nil name nil 'quiet)))))

(defun magent-host-file--store (path text coding)
  "Write TEXT to the file PATH in CODING and return the new revision."
  (let ((bytes (encode-coding-string text coding)))
    (unless (equal (decode-coding-string bytes coding) text)
      (magent-core-host-fail
       "unencodable"
       (format "The new text has characters that %s cannot hold" coding)))
    (magent-host-file--write-bytes path bytes)
    (secure-hash 'sha256 bytes)))

(cl-defmethod magent-core-host-call ((_op (eql 'file-write)) args)
  "Write the text in ARGS to its file."
  (let-alist args
    (if (file-exists-p .path)
        (let ((old (magent-host-file--read .path)))
          (magent-host-file--check-revision
           .path (alist-get 'revision old) .expected_revision)
          `((revision . ,(magent-host-file--store
                          .path .text (intern (alist-get 'coding old))))
            (old_text . ,(alist-get 'text old))))
      (magent-host-file--check-revision .path nil
                                        (unless (equal .expected_revision "absent")
                                          .expected_revision))
      (make-directory (file-name-directory .path) t)
      `((revision . ,(magent-host-file--store .path .text 'utf-8-unix))
        (old_text . :null)))))

(defun magent-host-file--replace-once (text old new)
  "Return (TEXT . LINE): TEXT with its single OLD replaced by NEW, and the line."
  (let* ((first (string-search old text))
         (second (and first (string-search old text (1+ first)))))
    (cond ((null first)
           (magent-core-host-fail "no_match" "old_text does not occur in the file"))
          (second
           (magent-core-host-fail "not_unique"
                                  "old_text occurs several times in the file"))
          (t
           (cons (concat (substring text 0 first) new
                         (substring text (+ first (length old))))
                 (1+ (cl-count ?\n text :end first)))))))

(cl-defmethod magent-core-host-call ((_op (eql 'file-edit)) args)
  "Replace a text in the file in ARGS."
  (let-alist args
    (let ((file (magent-host-file--read .path)))
      (magent-host-file--check-revision
       .path (alist-get 'revision file) .expected_revision)
      (pcase-let ((`(,text . ,line) (magent-host-file--replace-once
                                     (alist-get 'text file) .old_text .new_text)))
        `((revision . ,(magent-host-file--store
                        .path text (intern (alist-get 'coding file))))
          (line . ,line))))))

(provide 'magent-host-file)

;;; magent-host-file.el ends here
