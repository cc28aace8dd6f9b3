;;; magent-test-session.el --- Sessions with the demo provider  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The Magent contributors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Running the demo provider, and sessions whose reports are kept.

;;; Code:

(require 'magent-test-support)
(require 'magent-runtime-api)

;;;; The provider

(defun magent-test--start-provider ()
  "Start the demo provider and return its process; its property url is its URL."
  (let* ((file (make-temp-name (expand-file-name "url-" temporary-file-directory)))
         (process (make-process
                   :name "magent-demo-provider" :noquery t :connection-type 'pipe
                   ;; It ends with its input, even if this Emacs is killed.
                   :command (list (getenv "MAGENT_DEMO_PROVIDER") "--until-eof"
                                  "--url-file" file "--delay-ms" "1"))))
    (magent-test-wait-for "The start of the provider"
                          (lambda ()
                            (and (file-exists-p file)
                                 (string-match-p "\\`http.*[^[:space:]]"
                                                 (magent-test-bytes file)))))
    (process-put process 'url (string-trim (magent-test-bytes file)))
    (delete-file file)
    process))

(defmacro magent-test-with-provider (provider &rest body)
  "Evaluate BODY with the core and the default model served by a new demo provider.
PROVIDER is bound to its process.  Skip the test if there is none."
  (declare (indent 1) (debug (symbolp body)))
  `(progn
     (magent-test-need-core)
     (unless (getenv "MAGENT_DEMO_PROVIDER")
       (ert-skip "the demo provider is not built: set MAGENT_DEMO_PROVIDER"))
     (magent-test-with-directory
       (let ((,provider (magent-test--start-provider))
             (magent-backend--all nil)
             (magent-default-model nil)
             (magent-test--sessions nil))
         (unwind-protect
             (progn
               (ignore ,provider)
               (magent-define-backend "Demo" :dialect 'openai-chat
                 :url (process-get ,provider 'url) :models '(demo))
               ,@body)
           (mapc #'magent-test--close magent-test--sessions)
           (delete-process ,provider))))))

;;;; Sessions

(defvar magent-test--sessions nil
  "Sessions of the test.")

(cl-defstruct magent-test-session
  "A session and its reports, newest first."
  id reports)

(defun magent-test-open-session (&optional id)
  "Make a session, or open that with ID, for this folder; keep its reports."
  (let* ((value (magent-test-value
                 (lambda (callback)
                   (if id
                       (magent-runtime-session-load default-directory id callback)
                     (magent-runtime-session-new default-directory callback)))))
         (session (make-magent-test-session :id (alist-get 'session-id value))))
    (push session magent-test--sessions)
    (magent-runtime-observe (magent-test-session-id session)
                            (lambda (report)
                              (push report (magent-test-session-reports session))))
    session))

(defun magent-test--close (session)
  "Give SESSION back, and wait until it has no work."
  (let ((id (magent-test-session-id session)))
    (magent-runtime-session-close id)
    (magent-test-wait-for "The end of the session's work"
                          (lambda () (not (magent-runtime-processing-p id))))))

(defun magent-test-submit (session prompt &rest keys)
  "Submit PROMPT to SESSION with KEYS and return the acceptance."
  (magent-test-value
   (lambda (callback)
     (apply #'magent-runtime-submit (magent-test-session-id session) prompt callback
            keys))))

(defun magent-test-reports (session type &optional turn)
  "Return the reports of SESSION that have TYPE, oldest first.
With TURN, the value of a submission, only those of its turn."
  (reverse
   (cl-remove-if-not
    (lambda (report)
      (and (string-match-p (format "\\`\\(?:%s\\)\\'" type) (alist-get 'type report))
           (or (null turn)
               (equal (alist-get 'turn-id report) (alist-get 'turn-id turn)))))
    (magent-test-session-reports session))))

(defun magent-test-await (session type &optional turn)
  "Wait for a report of SESSION that has TYPE, of TURN if given; return the first."
  (magent-test-wait-for
   type (lambda () (car (magent-test-reports session type turn)))))

(defun magent-test-await-end (session turn)
  "Wait for the end of TURN of SESSION and return the report of it."
  (magent-test-await session "turn-\\(?:complete\\|failed\\|cancelled\\)" turn))

(provide 'magent-test-session)

;;; magent-test-session.el ends here
