;;; checkdoc.el --- Fail where checkdoc complains  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The Magent contributors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The arguments are the files to look at.

;;; Code:

(require 'checkdoc)

(let ((complaints 0)
      (checkdoc-diagnostic-buffer "*checkdoc*")
      (checkdoc-spellcheck-documentation-flag nil)
      ;; It takes every verb of a first line for the main one.
      (checkdoc-verb-check-experimental-flag nil))
  (setq checkdoc-create-error-function
        (lambda (text start _end &optional _unfixable)
          (setq complaints (1+ complaints))
          (message "%s:%s: %s" (buffer-file-name)
                   (if start (line-number-at-pos start) "?") text)
          nil))
  (dolist (file command-line-args-left)
    (with-current-buffer (find-file-noselect file)
      (checkdoc-current-buffer t)))
  (message "checkdoc: %d files, %d complaints"
           (length command-line-args-left) complaints)
  (kill-emacs (if (zerop complaints) 0 1)))

;;; checkdoc.el ends here
