;;; shell.el --- Magent in agent-shell, for a first look  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The Magent contributors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; What "make run" opens.  A Lisp file named by MAGENT_INIT replaces the demo provider.

;;; Code:

(require 'magent)

(defvar project-vc-extra-root-markers)

(let ((init (getenv "MAGENT_INIT")))
  (load (if (and init (not (string-empty-p init)))
            init
          (expand-file-name "init.el" (file-name-directory load-file-name)))
        nil t))

(setq inhibit-startup-screen t
      ;; The demo's project lies inside of another one.
      project-vc-extra-root-markers '(".magent-demo"))
(menu-bar-mode -1)

(add-hook 'emacs-startup-hook
          (lambda ()
            (let ((default-directory
                   (file-name-as-directory
                    (expand-file-name "project" (getenv "MAGENT_DEMO_HOME")))))
              (magent-start)
              (delete-other-windows)
              ;; agent-shell has messages of its own while it starts.
              (run-with-idle-timer
               2 nil
               (lambda ()
                 (unless (active-minibuffer-window)
                   (message
                    "Type a prompt, such as: tick off \"say hello\" in notes.txt")))))))

;;; shell.el ends here
