;;; init.el --- Magent with the demo provider  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The Magent contributors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Starts the demo provider, which ends with this Emacs, and defines it as the backend.
;; Sessions are kept in the demo's folder.

;;; Code:

(require 'magent-config)
(require 'magent-gptel)

(defun magent-demo-start-provider ()
  "Start the demo provider and return its URL."
  (let* ((output "")
         (process (make-process
                   :name "magent-demo-provider"
                   :command (list (getenv "MAGENT_DEMO_PROVIDER") "--until-eof")
                   :connection-type 'pipe :noquery t
                   :filter (lambda (_process text)
                             (setq output (concat output text)))))
         (end (+ (float-time) 10)))
    (while (and (not (string-suffix-p "\n" output))
                (process-live-p process)
                (< (float-time) end))
      (accept-process-output process 0.1))
    (unless (string-prefix-p "http" output)
      (error "The demo provider does not start: %s" output))
    (string-trim output)))

(setq magent-session-directory
      (expand-file-name "sessions" (getenv "MAGENT_DEMO_HOME")))

(magent-define-backend "Demo"
  :dialect 'openai-chat
  :url (magent-demo-start-provider)
  :models '(demo-1 demo-2))

(setq magent-default-model "Demo:demo-1")

;;; init.el ends here
