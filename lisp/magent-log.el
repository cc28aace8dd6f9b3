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

(defun magent-log (level format &rest args)
  "Log a message of LEVEL made of FORMAT and ARGS.
LEVEL is one of the symbols debug, info, warn and error.  In batch Emacs,
warnings and errors are printed to standard error as well."
  (when (and magent-enable-logging
             (memq level (or (memq magent-log-level magent-log--levels)
                             magent-log--levels)))
    (let ((text (apply #'format-message format args)))
      (when (and noninteractive (memq level '(warn error)))
        (message "magent: %s" text))
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
