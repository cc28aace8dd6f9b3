;;; init.el --- The Emacs of the tests in a terminal  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The Magent contributors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Packages come from MAGENT_ELPA, everything else lies in MAGENT_E2E_HOME.

;;; Code:

(defconst magent-e2e-home (getenv "MAGENT_E2E_HOME")
  "Folder of everything that a run makes.")

(setq inhibit-startup-screen t
      ring-bell-function #'ignore
      make-backup-files nil
      auto-save-default nil
      create-lockfiles nil
      native-comp-jit-compilation nil
      use-short-answers t
      load-prefer-newer t
      user-emacs-directory (expand-file-name "emacs/" magent-e2e-home))

(dolist (folder (directory-files (getenv "MAGENT_ELPA") t "\\`[^.]"))
  (when (file-directory-p folder)
    (add-to-list 'load-path folder)))

(require 'agent-shell)
(require 'magent)
(require 'magent-gptel)
(require 'server)

(setq magent-session-directory (expand-file-name "sessions" magent-e2e-home)
      server-name "magent-e2e"
      server-socket-dir (expand-file-name "socket" magent-e2e-home))

(magent-define-backend "Demo"
  :dialect 'openai-chat
  :url (getenv "MAGENT_E2E_URL")
  :models '((demo-1 :context-window 8000) demo-2))
(setq magent-default-model "Demo:demo-1")

(make-directory server-socket-dir t)
(set-file-modes server-socket-dir #o700)
(server-start)

;;; init.el ends here
