;;; magent-config.el --- Options of Magent  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The Magent contributors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Every user option, and their form for the core.  The core gets the options with
;; each request and freezes them for its turn, so a change counts from the next
;; prompt on.

;;; Code:

(require 'subr-x)
(require 'magent-error)

(defconst magent-version "0.1.0"
  "Version of Magent.")

(defgroup magent nil
  "An AI coding agent that lives inside Emacs."
  :group 'tools
  :prefix "magent-"
  :link '(url-link "https://github.com/magent-el/magent"))

;;;; Models

(defcustom magent-default-model nil
  "Model of sessions that have chosen none, as \"BACKEND:MODEL\".
When nil, the default backend and model of gptel are used if gptel is set up,
otherwise the first model defined with `magent-define-backend'."
  :type '(choice (const :tag "Default of gptel" nil) string))

(defcustom magent-default-effort nil
  "Reasoning effort of sessions and agents that have chosen none."
  :type '(choice (const :tag "Provider's default" nil)
                 (const minimal) (const low) (const medium) (const high)
                 (const xhigh)))

(defcustom magent-default-thinking nil
  "Whether models think before they answer, unless session or agent say so.
The value `disabled' suppresses the reasoning effort as well."
  :type '(choice (const :tag "Provider's default" nil)
                 (const enabled) (const disabled)))

(defcustom magent-include-reasoning t
  "What becomes of the reasoning that a model shows.
When t it is shown and kept, when `ignore' it is kept but not shown, when nil
neither."
  :type '(choice (const :tag "Show" t)
                 (const :tag "Keep without showing" ignore)
                 (const :tag "Drop" nil)))

(defcustom magent-request-timeout 120
  "Seconds a provider may be silent before its request fails; 0 is no limit.
Comments and empty events, with which servers keep a connection alive while a
slow model reads or thinks, do not count as silence, but only for up to five
times this long: after that something of the answer must have come."
  :type 'number)

(defcustom magent-stream-retry-limit 2
  "How often a stream that was cut off before any text is requested again."
  :type 'natnum)

(defcustom magent-max-sampling-requests 0
  "Most requests to a model in one turn; 0 is no limit."
  :type 'natnum)

(defcustom magent-max-history 100
  "About how many messages of earlier turns a model reads; nil is all.
Calls of tools count as messages.  Only whole turns are left out, and never the
newest of them."
  :type '(choice (const :tag "All" nil) natnum))

(defcustom magent-auto-compact 'tell
  "What to do about a conversation that nearly fills its model's context.
When `tell', say so; when `compact', sum it up before the next prompt, so that
the model goes on with the summary; when nil, nothing.  `/compact' does it at
any time, and you keep seeing the whole conversation."
  :type '(choice (const :tag "Tell me" tell)
                 (const :tag "Sum it up" compact)
                 (const :tag "Nothing" nil)))

(defcustom magent-auto-compact-share 0.8
  "Part of a model's context, from 0 to 1, that `magent-auto-compact' is about."
  :type 'float)

(defcustom magent-ca-bundle nil
  "File of further certificate authorities in PEM, for providers behind a proxy.
When nil, the environment variable SSL_CERT_FILE names one, if set."
  :type '(choice (const :tag "None" nil) file))

;;;; Prompts

(defcustom magent-system-prompt nil
  "First part of the system text that every agent gets.
When nil, the prompt that comes with Magent."
  :type '(choice (const :tag "Bundled prompt" nil) string))

(defcustom magent-project-instruction-file-names '("AGENTS.md")
  "Names of files with instructions for a project and its folders."
  :type '(repeat string))

(defcustom magent-project-instructions-max-bytes 65536
  "Most bytes of project instructions in one request; nil switches them off."
  :type '(choice (const :tag "Off" nil) natnum))

(defcustom magent-transport 'core
  "Who makes the requests to backends of gptel.
When `core', Magent itself, and gptel for backends whose protocol Magent does
not speak.  When `gptel', always gptel, with its own settings and hooks; it
knows neither pictures nor thought levels here, and loses what a model thought."
  :type '(choice (const core) (const gptel)))

;;;; Agents and permissions

(defcustom magent-default-agent "build"
  "Agent of new sessions."
  :type 'string)

(defcustom magent-enable-tools
  '(read write edit grep glob bash emacs_eval emacs_eval_live agent plan web_search)
  "Groups of tools that are switched on at all, by their permission keys."
  :type '(repeat symbol))

(defcustom magent-permission-rules nil
  "Your permission rules, before those of any agent.
A list of (KEY . RULE).  KEY is a permission key, such as `bash' or `edit',
or `*' for all.  RULE is `allow', `ask' or `deny', or a list of
\(PATTERN . DECISION) for paths.  The first rule that matches decides, in the
order of the list.

For example, to allow edits of documentation and to be asked for other edits:

  ((edit . ((\"docs/**\" . allow) (\"*\" . ask))))"
  :type '(alist :key-type symbol
                :value-type (choice (const allow) (const ask) (const deny)
                                    (alist :key-type string
                                           :value-type symbol)))
  :risky t)

(defcustom magent-bypass-permission nil
  "When non-nil, ask for no permission.
Tools that are asked for at every call, and switched off tools, are not
affected.  This lets a model change files and run commands without you."
  :type 'boolean
  :risky t)

(defcustom magent-audit 'buffer
  "Where records of permission decisions and tool calls go.
When `buffer', they are kept in memory; a string names a file that they are
written to as well, relative to `user-emacs-directory'; nil keeps none."
  :type '(choice (const :tag "Memory" buffer) (const :tag "Nowhere" nil) file))

;;;; Tools

(defcustom magent-grep-max-matches 100
  "Most lines that the tool grep returns."
  :type 'natnum)

(defcustom magent-glob-max-results 500
  "Most paths that the tool glob returns."
  :type 'natnum)

(defcustom magent-glob-max-files-scanned 50000
  "Most entries that the tool glob looks at."
  :type 'natnum)

(defcustom magent-bash-program "bash"
  "Shell of the tool bash."
  :type 'string)

(defcustom magent-bash-timeout 300
  "Seconds after which a command of the tool bash is stopped."
  :type 'number)

(defcustom magent-tool-result-model-max-length 12000
  "Most characters of a tool result that a model reads; nil is no limit."
  :type '(choice (const :tag "No limit" nil) natnum))

(defcustom magent-tool-result-preview-length 10000
  "Characters that a model reads of a longer tool result."
  :type 'natnum)

(defcustom magent-tool-output-spill-session-max-bytes (* 64 1024 1024)
  "Most bytes of long tool results that are kept for one session."
  :type 'natnum)

(defcustom magent-tool-output-spill-ttl 86400
  "Seconds that a long tool result is kept."
  :type 'number)

(defcustom magent-tool-output-spill-page-characters 8000
  "Most characters that the tool read_tool_output returns at once."
  :type 'natnum)

;;;; Sessions

(defcustom magent-session-directory
  (expand-file-name "magent/sessions" user-emacs-directory)
  "Folder of saved sessions.  A change counts after a restart of Emacs."
  :type 'directory)

(defcustom magent-session-log-max-events 2000
  "Events in a session's log that make a snapshot due; nil is never."
  :type '(choice (const :tag "Never" nil) natnum))

(defcustom magent-export-format 'org
  "Format of exported conversations, unless a file's name says otherwise."
  :type '(choice (const :tag "Org" org) (const :tag "Markdown" markdown)))

(defcustom magent-agent-shell-restore-verbosity 'full
  "How much of a conversation is shown when it is taken up again.
The values are those of `agent-shell-session-restore-verbosity': `full' shows
all of it, `first-last' and `last' the first and last turns, `minimal' only the
title.  A local value of that option has precedence."
  :type '(choice (const full) (const first-last) (const last) (const minimal)))

(defcustom magent-agent-shell-session-strategy 'prompt
  "What a new Magent shell begins with.
When `new' a new session, when `latest' the latest one of the project, when
`prompt' you choose.  A local value of `agent-shell-session-strategy' has
precedence."
  :type '(choice (const new) (const latest) (const prompt)))

;;;; Log

(defcustom magent-enable-logging t
  "Whether to write a log."
  :type 'boolean)

(defcustom magent-log-level 'info
  "Least level of messages that are logged."
  :type '(choice (const debug) (const info) (const warn) (const error)))

(defcustom magent-log-buffer-name "*magent-log*"
  "Name of the log's buffer."
  :type 'string)

;;;; For the core

(defun magent-config--name (value)
  "Return VALUE, a symbol or string, as a string; nil stays nil."
  (cond ((null value) :null)
        ((symbolp value) (symbol-name value))
        (t value)))

(defun magent-config--number (value)
  "Return VALUE, a number or nil, for JSON."
  (or value :null))

(defun magent-config--rule (rule)
  "Return RULE, a decision or a list of patterns, for JSON."
  (if (listp rule)
      (vconcat (mapcar (lambda (entry)
                         (vector (car entry) (magent-config--name (cdr entry))))
                       rule))
    (magent-config--name rule)))

(defun magent-config--environment ()
  "Return the environment of this buffer as a vector of strings.
Entries that no program could read as text are left out."
  (vconcat
   (delq nil
         (mapcar (lambda (entry)
                   (let ((text (if (multibyte-string-p entry)
                                   entry
                                 (decode-coding-string entry 'utf-8-unix t))))
                     (unless (string-match-p
                              ;; The last three are bin/magent's own.
                              "[\x3fff80-\x3fffff]\\|\\`MAGENT_\\(?:STDIO\\|TTY\\(?:_OUT\\)?\\)="
                              text)
                       text)))
                 process-environment))))

(defun magent-config--model-options ()
  "Return the options about models for JSON."
  `((default-effort . ,(magent-config--name magent-default-effort))
    (default-thinking . ,(magent-config--name magent-default-thinking))
    (include-reasoning . ,(pcase magent-include-reasoning
                            ('nil "omit") ('ignore "hide") (_ "show")))
    (request-timeout . ,magent-request-timeout)
    (stream-retry-limit . ,magent-stream-retry-limit)
    (max-sampling-requests . ,magent-max-sampling-requests)
    (max-history . ,(magent-config--number magent-max-history))
    (auto-compact . ,(magent-config--name magent-auto-compact))
    (auto-compact-share . ,magent-auto-compact-share)
    (system-prompt . ,(or magent-system-prompt :null))
    (project-instruction-file-names
     . ,(vconcat magent-project-instruction-file-names))
    (project-instructions-max-bytes
     . ,(magent-config--number magent-project-instructions-max-bytes))))

(defun magent-config--tool-options ()
  "Return the options about tools for JSON."
  `((grep-max-matches . ,magent-grep-max-matches)
    (glob-max-results . ,magent-glob-max-results)
    (glob-max-files-scanned . ,magent-glob-max-files-scanned)
    (bash-program . ,magent-bash-program)
    (bash-timeout . ,magent-bash-timeout)
    (process-environment . ,(magent-config--environment))
    (tool-result-model-max-length
     . ,(magent-config--number magent-tool-result-model-max-length))
    (tool-result-preview-length . ,magent-tool-result-preview-length)
    (tool-output-spill-session-max-bytes
     . ,magent-tool-output-spill-session-max-bytes)
    (tool-output-spill-ttl . ,magent-tool-output-spill-ttl)
    (tool-output-spill-page-characters
     . ,magent-tool-output-spill-page-characters)))

(defun magent-config--policy-options ()
  "Return the options about agents, permissions and sessions for JSON."
  `((default-agent . ,magent-default-agent)
    (enable-tools . ,(vconcat (mapcar #'magent-config--name magent-enable-tools)))
    (permission-rules
     . ,(vconcat (mapcar (lambda (entry)
                           (vector (magent-config--name (car entry))
                                   (magent-config--rule (cdr entry))))
                         magent-permission-rules)))
    (bypass-permission . ,(if magent-bypass-permission t :false))
    (audit . ,(pcase magent-audit
                ('nil :null)
                ('buffer "buffer")
                (file (expand-file-name file user-emacs-directory))))
    (session-log-max-events
     . ,(magent-config--number magent-session-log-max-events))))

(defconst magent-config--lisp-options
  '( magent-log-level magent-include-reasoning magent-agent-shell-restore-verbosity
     magent-agent-shell-session-strategy magent-transport)
  "Options with fixed values that the core does not check.")

(defun magent-config--misfit (options)
  "Return the first of OPTIONS whose value does not fit its type, or nil."
  (require 'wid-edit)
  (seq-find (lambda (option)
              (when-let* ((type (get option 'custom-type)))
                (not (widget-apply (widget-convert type)
                                   :match (symbol-value option)))))
            options))

(defun magent-config--refuse (option)
  "Signal that the value of OPTION does not fit its type."
  (magent-error-signal
   'config "bad-option"
   (format "The option %s cannot be %S%s." option (symbol-value option)
           (pcase (get option 'custom-type)
             ((and `(choice . ,choices)
                   (guard (seq-every-p (lambda (choice) (eq (car-safe choice) 'const))
                                       choices)))
              (format "; it can be %s"
                      (mapconcat (lambda (choice) (format "%S" (car (last choice))))
                                 choices ", ")))
             (_ "")))))

(defun magent-config-session-directory ()
  "Return the folder of saved sessions.
Signal `magent-config-error' if the option does not name one on this machine."
  (let ((directory magent-session-directory))
    (unless (and (stringp directory) (file-name-absolute-p directory)
                 (not (file-remote-p directory)))
      (magent-error-signal
       'config "bad-option"
       (format "The option magent-session-directory cannot be %S." directory)
       "It has to be the absolute name of a folder on this machine."))
    (expand-file-name directory)))

(defun magent-config-json ()
  "Return the options as they are in this buffer, as JSON text for the core.
Signal `magent-config-error' naming the option if a value has no such form."
  (when-let* ((option (magent-config--misfit magent-config--lisp-options)))
    (magent-config--refuse option))
  (condition-case err
      (json-serialize (append (magent-config--model-options)
                              (magent-config--tool-options)
                              (magent-config--policy-options)))
    (error
     (if-let* ((option (magent-config--misfit
                        (mapcar #'car (get 'magent 'custom-group)))))
         (magent-config--refuse option)
       (signal (car err) (cdr err))))))

(provide 'magent-config)

;;; magent-config.el ends here
