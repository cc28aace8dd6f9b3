;;; magent-disk.el --- Writing files as the core does  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The Magent contributors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Which buffers visit a file, whatever its names, and writing the files that the core
;; leaves to Emacs.  They are written as the core writes the others: a file has either its
;; old or its new content, and stays what it is, with its links, owner and mode.

;;; Code:

(require 'seq)

(defmacro magent-disk--literally (operation &rest body)
  "Evaluate BODY without handlers that compress or encrypt in OPERATION.
OPERATION is a symbol, the name of the function that BODY calls."
  (declare (indent 1) (debug (form body)))
  `(let ((inhibit-file-name-handlers
          (append '(jka-compr-handler image-file-handler epa-file-handler)
                  (and (eq inhibit-file-name-operation ,operation)
                       inhibit-file-name-handlers)))
         (inhibit-file-name-operation ,operation))
     ,@body))

(defun magent-disk-bytes (path)
  "Return the bytes of the file PATH as a unibyte string."
  (with-temp-buffer
    (set-buffer-multibyte nil)
    (insert-file-contents-literally path)
    (buffer-string)))

(defun magent-disk-revision (path)
  "Return the revision of the file PATH, a hash of its bytes; nil if there is none."
  (and (file-exists-p path)
       (secure-hash 'sha256 (magent-disk-bytes path))))

(defun magent-disk-identity (path)
  "Return what the file PATH, no link, has in common with its other names, or nil.
Two names of one file have equal identities."
  (when-let* ((attributes (file-attributes path))
              (identity (file-attribute-file-identifier attributes)))
    (and (car-safe identity) identity)))

(defun magent-disk--visits-p (buffer file identity)
  "Return non-nil if saving BUFFER would write FILE, a true name.
IDENTITY is that of FILE, see `magent-disk-identity', or nil."
  (let ((name (buffer-file-name buffer))
        (true (buffer-local-value 'buffer-file-truename buffer))
        (number (buffer-local-value 'buffer-file-number buffer)))
    (and name
         ;; What the buffer noted is cheap to compare, but a link may lead elsewhere by
         ;; now, and another file may have got the number of a deleted one.
         (or (equal name file)
             (equal true (abbreviate-file-name file))
             (and identity buffer-file-numbers-unique (equal number identity)))
         (not (file-remote-p name))
         (let ((now (file-truename name)))
           (or (equal now file)
               (and identity (equal (magent-disk-identity now) identity)))))))

(defun magent-disk-visiting (path)
  "Return all buffers that visit the file PATH, by any of its names."
  (let* ((file (file-truename path))
         (identity (magent-disk-identity file)))
    (seq-filter (lambda (buffer)
                  (magent-disk--visits-p buffer file identity))
                (buffer-list))))

;;;; Writing

(defun magent-disk-in-place-p (path)
  "Return non-nil if the file PATH must be written in place.
Files with more names than one, of another owner, and in folders that take no
new entry would lose what they are, or could not be replaced."
  (and (file-exists-p path)
       (or (> (file-attribute-link-number (file-attributes path)) 1)
           (not (file-ownership-preserved-p path t))
           (not (file-writable-p (file-name-directory path))))))

(defun magent-disk-write (path write)
  "Write the file PATH, no link, by calling WRITE with the name to write to.
When an error is signalled, the file has its old content, if it had any."
  (let ((write-region-inhibit-fsync nil))
    (if (magent-disk-in-place-p path)
        (magent-disk--overwrite path write)
      (magent-disk--replace path write))))

(defun magent-disk--overwrite (path write)
  "Call WRITE with PATH; put the old bytes and time back if that fails."
  (let ((old (magent-disk-bytes path))
        (time (file-attribute-modification-time (file-attributes path))))
    (condition-case err
        (funcall write path)
      ((error quit)
       (let ((coding-system-for-write 'no-conversion))
         (magent-disk--literally 'write-region
           (write-region old nil path nil 'quiet)))
       ;; A buffer that visits the file still has its text.
       (set-file-times path time)
       (signal (car err) (cdr err))))))

(defun magent-disk--replace (path write)
  "Call WRITE with a new file, and put that in the place of PATH."
  (let (;; Only within one folder renaming is certain to be one step.
        (temporary (make-temp-file
                    (expand-file-name ".magent-" (file-name-directory path))))
        (modes (file-modes path)))
    (unwind-protect
        (progn
          (funcall write temporary)
          (when (and modes (not (file-remote-p path)))
            ;; Not every file system has more than the mode.
            (ignore-errors
              (set-file-extended-attributes temporary
                                            (file-extended-attributes path))))
          (set-file-modes temporary (or modes (logand #o666 (default-file-modes))))
          (rename-file temporary path (and modes t))
          (setq temporary nil))
      (when temporary
        (delete-file temporary)))))

(provide 'magent-disk)

;;; magent-disk.el ends here
