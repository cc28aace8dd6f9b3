;;; magent.el --- AI coding agent that sees your live buffers  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The Magent contributors

;; Author: The Magent contributors
;; Maintainer: The Magent contributors
;; Version: 0.1.0
;; Package-Requires: ((emacs "29.1") (acp "0.13.1") (agent-shell "0.66.1"))
;; Keywords: tools, convenience
;; URL: https://github.com/magent-el/magent
;; SPDX-License-Identifier: GPL-3.0-or-later

;; This program is free software: you can redistribute it and/or modify
;; it under the terms of the GNU General Public License as published by
;; the Free Software Foundation, either version 3 of the License, or
;; (at your option) any later version.

;; This program is distributed in the hope that it will be useful,
;; but WITHOUT ANY WARRANTY; without even the implied warranty of
;; MERCHANTABILITY or FITNESS FOR A PARTICULAR PURPOSE.  See the
;; GNU General Public License for more details.

;; You should have received a copy of the GNU General Public License
;; along with this program.  If not, see <https://www.gnu.org/licenses/>.

;;; Commentary:

;; Magent is an AI coding agent inside Emacs.  A dynamic module written in Rust holds
;; the agent; agent-shell is its user interface and gptel the registry of models and
;; keys.  `M-x magent-start' opens a conversation about the current project.

;;; Code:

(require 'magent-config)
(require 'magent-module)

(autoload 'magent-start "magent-agent-shell" "Start a Magent shell for this project." t)
(autoload 'magent-agent-shell-ensure-config "magent-agent-shell"
  "Make Magent the first choice in the picker of agent-shell.")
(autoload 'magent-list-sessions "magent-sessions" "List the saved sessions." t)
(autoload 'magent-session-recover "magent-session-commands"
  "Make a session of what can be read of a damaged one." t)
(autoload 'magent-session-export "magent-session-export"
  "Write a conversation to a file in Org or Markdown." t)
(autoload 'magent-define-backend "magent-backend"
  "Define a model backend without gptel.")

;;;###autoload
(defun magent-toggle-bypass-permission (&optional argument)
  "Switch permission questions off or on.
With a positive prefix ARGUMENT switch them off, with any other on."
  (interactive "P")
  (setq magent-bypass-permission
        (if argument
            (> (prefix-numeric-value argument) 0)
          (not magent-bypass-permission)))
  (message (if magent-bypass-permission
               "Magent asks for no permission now: models can change files and run commands"
             "Magent asks for permission")))

(provide 'magent)

;;; magent.el ends here
