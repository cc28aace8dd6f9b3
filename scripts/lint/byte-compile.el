;;; byte-compile.el --- Compile with warnings as errors  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The Magent contributors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The arguments are the files to look at.
;;
;; The byte code goes to a folder that is deleted, so that a check leaves no traces.

;;; Code:

(require 'bytecomp)

(let* ((folder (make-temp-file "magent-byte-code-" t))
       (byte-compile-error-on-warn t)
       (byte-compile-dest-file-function
        (lambda (file)
          (expand-file-name (concat (file-name-base file) ".elc") folder)))
       (failed 0))
  (unwind-protect
      (dolist (file command-line-args-left)
        (unless (eq (byte-compile-file file) t)
          (setq failed (1+ failed))))
    (delete-directory folder t))
  (message "byte-compile: %d files, %d failed"
           (length command-line-args-left) failed)
  (kill-emacs (if (zerop failed) 0 1)))

;;; byte-compile.el ends here
