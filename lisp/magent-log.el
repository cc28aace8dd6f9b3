;;; magent-log.el --- The log of Magent  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The Magent contributors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A bounded log in a buffer.  Nothing secret belongs into it.

;;; Code:

(require 'magent-config)

(defconst magent-log--levels '(debug info warn error)
  "Levels of messages, least first.")

(defconst magent-log--max-size (* 1024 1024)
  "Most characters of the log; the oldest quarter goes when it is full.")

(defvar magent-log-font-lock-keywords
  '(("^\\[[^]]+\\]" . 'shadow)
    ("\\_<ERROR\\_>" . 'error)
    ("\\_<WARN\\_>" . 'warning))
  "What is highlighted in the log.")

(define-derived-mode magent-log-mode special-mode "Magent-Log"
  "Mode of the log of Magent."
  (setq-local font-lock-defaults '(magent-log-font-lock-keywords t))
  (buffer-disable-undo))

(defun magent-log--buffer ()
  "Return the log's buffer."
  (or (get-buffer magent-log-buffer-name)
      (with-current-buffer (get-buffer-create magent-log-buffer-name)
        (magent-log-mode)
        (current-buffer))))

(defun magent-log-spell (regexp text)
  "Return TEXT with the characters that REGEXP matches spelled out."
  (replace-regexp-in-string
   regexp
   (lambda (match)
     (let ((char (aref match 0)))
       (cond ((< char 128) (text-char-description char))
             ((> char #x10ffff) (format "\\%03o" (logand char #xff)))
             (t (format "\\u%04x" char)))))
   text t t))

(defun magent-log-visible (text)
  "Return TEXT with its control characters spelled out, except for line feeds.
A terminal would obey them, and show something else than what is told; so it
would those that turn the direction of text, and bytes that are no text."
  (magent-log-spell
   (concat "[\0-\11\13-\37\177-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
           "\x3fff80-\x3fffff]")
   text))

(defun magent-log (level format &rest args)
  "Log a message of LEVEL made of FORMAT and ARGS.
LEVEL is one of the symbols debug, info, warn and error.  In batch Emacs,
warnings and errors are printed to standard error as well."
  (when (and magent-enable-logging
             (memq level (or (memq magent-log-level magent-log--levels)
                             magent-log--levels)))
    (let ((text (apply #'format-message format args)))
      (when (and noninteractive (memq level '(warn error)))
        (message "magent: %s" (magent-log-visible text)))
      (with-current-buffer (magent-log--buffer)
        (let ((inhibit-read-only t))
          (save-excursion
            (goto-char (point-max))
            (insert (format-time-string "[%F %T] ")
                    (upcase (symbol-name level)) " " text "\n")
            (when (> (buffer-size) magent-log--max-size)
              (goto-char (+ (point-min) (/ magent-log--max-size 4)))
              (forward-line 1)
              (delete-region (point-min) (point)))))))))

(provide 'magent-log)

;;; magent-log.el ends here
