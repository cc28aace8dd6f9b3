;;; packages.el --- The packages of the demo  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The Magent contributors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Finds agent-shell for "make run", or installs it into a folder of the demo.  A
;; directory of package directories named by MAGENT_ELPA is used instead, if it has
;; agent-shell.

;;; Code:

(require 'package)

(defconst magent-demo-home (getenv "MAGENT_DEMO_HOME")
  "Folder that everything of the demo lies in.")

(setq package-user-dir (expand-file-name "elpa" magent-demo-home)
      package-gnupghome-dir (expand-file-name "gnupg" package-user-dir))

(defun magent-demo--activate ()
  "Make installed packages available; return non-nil if agent-shell is one."
  (let ((elpa (getenv "MAGENT_ELPA")))
    (if (and elpa (file-directory-p elpa))
        (dolist (folder (directory-files elpa t "\\`[^.]"))
          (when (file-directory-p folder)
            (add-to-list 'load-path folder)))
      (package-initialize)))
  (locate-library "agent-shell"))

(defun magent-demo-install ()
  "Install agent-shell if it is not there; exit Emacs with 1 if that fails."
  (unless (magent-demo--activate)
    (message "Installing agent-shell from the package archives into %s"
             package-user-dir)
    (add-to-list 'package-archives '("melpa" . "https://melpa.org/packages/") t)
    (condition-case err
        (with-timeout (120 (error "The package archives do not answer"))
          (package-refresh-contents)
          (package-install 'agent-shell)
          (ignore-errors (package-install 'gptel)))
      (error (message "%s" (error-message-string err))))
    (unless (locate-library "agent-shell")
      (kill-emacs 1))))

(unless noninteractive
  (magent-demo--activate))

;;; packages.el ends here
