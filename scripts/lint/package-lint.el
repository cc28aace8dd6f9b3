;;; package-lint.el --- Run package-lint without an archive  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The Magent contributors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The arguments are the main file of the package and the files to look at.
;;
;; package-lint looks dependencies up in package archives.  A check must not depend on
;; one that may be out of reach, so the dependencies are declared here.

;;; Code:

(require 'package)
(require 'package-lint)

(setq package-archives nil
      package--initialized t
      package-lint-main-file (car command-line-args-left))

(dolist (dependency '((acp 0 13 1) (agent-shell 0 66 1) (gptel 0 9 9)))
  (push (list (car dependency)
              (package-desc-create :name (car dependency)
                                   :version (cdr dependency)
                                   :summary "" :kind 'tar :archive "local"))
        package-archive-contents))

;; It would forget what was just declared.
(advice-add 'package-initialize :override #'ignore)

(setq command-line-args-left (cdr command-line-args-left))
(package-lint-batch-and-exit)

;;; package-lint.el ends here
