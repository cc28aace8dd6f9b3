;;; magent-error.el --- Conditions of Magent  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The Magent contributors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The conditions that Magent signals.  Their data is (MESSAGE KIND CODE HINT): a
;; sentence for people, the part of the system as a symbol, a stable code and what to
;; do about it, the last two strings or nil.

;;; Code:

(define-error 'magent-error "Magent")
(define-error 'magent-config-error "Magent configuration" 'magent-error)
(define-error 'magent-session-error "Magent session" 'magent-error)
(define-error 'magent-provider-error "Magent provider" 'magent-error)
(define-error 'magent-tool-error "Magent tool" 'magent-error)
(define-error 'magent-permission-error "Magent permission" 'magent-error)

(defun magent-error-message (condition)
  "Return CONDITION, a caught error, as one text with its hint."
  (if (get (car condition) 'error-conditions)
      (pcase (cdr condition)
        ((and `(,(and (pred stringp) message) ,(pred symbolp) ,_ ,hint . ,_)
              (guard (memq 'magent-error (get (car condition) 'error-conditions))))
         (if hint (concat message " " hint) message))
        (_ (error-message-string condition)))
    (format "%S" condition)))

(defun magent-error-signal (kind code message &optional hint)
  "Signal the condition of KIND with CODE, MESSAGE and HINT.
KIND is one of the symbols config, session, provider, tool, permission and
internal."
  (signal (pcase kind
            ('config 'magent-config-error)
            ('session 'magent-session-error)
            ('provider 'magent-provider-error)
            ('tool 'magent-tool-error)
            ('permission 'magent-permission-error)
            (_ 'magent-error))
          (list message kind code hint)))

(defmacro magent-error-as-user-error (&rest body)
  "Evaluate BODY, and signal its Magent conditions as errors of the user.
For commands: Emacs shows the message and hint then, and not the data of the
condition."
  (declare (indent 0) (debug t))
  `(condition-case err
       (progn ,@body)
     (magent-error (user-error "%s" (magent-error-message err)))))

(defun magent-error-tell (failure)
  "Show FAILURE, an alist with message and hint, in the echo area."
  (let-alist failure
    (message "Magent: %s" (if .hint (concat .message " " .hint) .message))))

(provide 'magent-error)

;;; magent-error.el ends here
