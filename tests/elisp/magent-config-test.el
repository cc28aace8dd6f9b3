;;; magent-config-test.el --- Tests of options and their form for the core  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The Magent contributors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'magent-test-support)
(require 'magent-core)

(declare-function magent-core-permission-authority "ext:magent-module" (session config))

(defconst magent-config-test--lisp-only
  '(magent-default-model magent-ca-bundle magent-session-directory
    magent-agent-shell-session-strategy magent-agent-shell-restore-verbosity
    magent-export-format magent-enable-logging magent-log-level
    magent-log-buffer-name magent-transport)
  "Options that reach the core in another way, or that only Lisp looks at.")

(defun magent-config-test--options ()
  "Return the options that magent-config.el defines."
  (let (options)
    (dolist (entry (get 'magent 'custom-group) options)
      (when (and (eq (nth 1 entry) 'custom-variable)
                 (equal (file-name-base (or (symbol-file (car entry) 'defvar) ""))
                        "magent-config"))
        (push (car entry) options)))))

(defun magent-config-test--parsed ()
  "Return the options for the core, with nil, false and null told apart."
  (json-parse-string (magent-config-json) :object-type 'alist :array-type 'list
                     :null-object :null :false-object :false))

(defun magent-config-test--check ()
  "Let the core read the options; return the condition that it signals.
The core reads options before it looks for the session, which does not exist."
  (should-error (magent-core-permission-authority "no session" (magent-config-json))))

(ert-deftest magent-config-every-option-reaches-the-core-or-is-for-lisp-only ()
  (let ((options (magent-config-test--options))
        (keys (mapcar (lambda (field) (intern (format "magent-%s" (car field))))
                      (magent-config-test--parsed))))
    (should (> (length options) 30))
    (should-not (cl-set-exclusive-or (append keys magent-config-test--lisp-only)
                                     (cons 'magent-process-environment options)))
    (should (equal (length keys) (length (delete-dups (copy-sequence keys)))))))

(ert-deftest magent-config-default-values-fit-their-types ()
  (require 'wid-edit)
  (dolist (option (magent-config-test--options))
    (let ((widget (widget-convert (get option 'custom-type))))
      (unless (widget-apply widget :match (default-value option))
        (ert-fail option)))
    (should (documentation-property option 'variable-documentation))))

(ert-deftest magent-config-default-values-are-good-for-the-core ()
  (magent-test-need-core)
  (should (eq (car (magent-config-test--check)) 'magent-session-error)))

(ert-deftest magent-config-values-have-the-form-that-the-core-wants ()
  (pcase-dolist
      (`(,option ,value ,expected)
       '((magent-default-effort nil :null) (magent-default-effort high "high")
         (magent-default-thinking disabled "disabled")
         (magent-include-reasoning nil "omit") (magent-include-reasoning ignore "hide")
         (magent-include-reasoning t "show") (magent-max-history nil :null)
         (magent-max-history 0 0) (magent-request-timeout 0.5 0.5)
         (magent-system-prompt "Ä\0🙂" "Ä\0🙂") (magent-system-prompt nil :null)
         (magent-project-instruction-file-names nil nil)
         (magent-enable-tools (read emacs_eval) ("read" "emacs_eval"))
         (magent-enable-tools nil nil)
         (magent-bypass-permission nil :false) (magent-bypass-permission 1 t)
         (magent-audit nil :null) (magent-audit buffer "buffer")
         (magent-audit "/x/audit" "/x/audit")
         (magent-permission-rules nil nil)
         (magent-permission-rules
          ((edit . (("docs/**" . allow) ("*" . ask))) (* . deny))
          (("edit" (("docs/**" "allow") ("*" "ask"))) ("*" "deny")))
         (magent-tool-result-model-max-length nil :null)
         (magent-session-log-max-events nil :null)))
    (cl-progv (list option) (list value)
      (should (equal (cons option
                           (alist-get (intern (string-remove-prefix
                                               "magent-" (symbol-name option)))
                                      (magent-config-test--parsed) 'absent))
                     (cons option expected)))))
  (let ((magent-audit "audit.log"))
    (should (equal (alist-get 'audit (magent-config-test--parsed))
                   (expand-file-name "audit.log" user-emacs-directory)))))

(ert-deftest magent-config-the-options-of-the-current-buffer-count ()
  (with-temp-buffer
    (setq-local magent-default-agent "local"
                process-environment (list "A=ä" "B" (concat "C=" "\303\244") "D=\377"))
    (let-alist (magent-config-test--parsed)
      (should (equal .default-agent "local"))
      (should (equal .process-environment '("A=ä" "B" "C=ä")))))
  (should (equal (alist-get 'default-agent (magent-config-test--parsed)) "build")))

(defconst magent-config-test--bad
  '((magent-default-effort huge 3 (low))
    (magent-default-thinking maybe (enabled))
    (magent-request-timeout -1 "long" (1))
    (magent-stream-retry-limit -1 1.5 "2")
    (magent-max-sampling-requests -1 many)
    (magent-max-history -1 1.5 "all")
    (magent-system-prompt 5 ("text"))
    (magent-project-instruction-file-names "AGENTS.md" (5))
    (magent-project-instructions-max-bytes -1 "64k")
    (magent-default-agent 5 (build))
    (magent-enable-tools bash "bash" (5) (bsah))
    (magent-log-level chatty "info")
    (magent-agent-shell-session-strategy newest)
    (magent-permission-rules allow ((nope . allow)) ((bash . perhaps)) ((bash . 5))
                             ((5 . allow)) (bash) ((edit . (("x" . perhaps))))
                             ((edit . (allow)))
                             ((bash . (("rm *" . deny) ("*" . allow)))))
    (magent-audit 5 (file))
    (magent-grep-max-matches 0 -1 "9" nil)
    (magent-glob-max-results 0 -1)
    (magent-glob-max-files-scanned 0 -1)
    (magent-bash-program 5 (bash))
    (magent-bash-timeout 0 -1 "long")
    (magent-tool-result-model-max-length -1 "x")
    (magent-tool-result-preview-length 0 "x")
    (magent-tool-output-spill-session-max-bytes -1 "x")
    (magent-tool-output-spill-ttl -1 "x")
    (magent-tool-output-spill-page-characters 0 "x")
    (magent-session-log-max-events -1 "x"))
  "Options with values that they cannot have.")

(defun magent-config-test--refused-p (option value)
  "Return non-nil if VALUE of OPTION is refused by OPTION's name."
  (cl-progv (list option) (list value)
    (let ((err (condition-case err (magent-config-test--check)
                 (error err))))
      (and (eq (car err) 'magent-config-error)
           (eq (nth 2 err) 'config)
           (string-match-p (regexp-quote (symbol-name option)) (nth 1 err))))))

(ert-deftest magent-config-bad-values-are-refused-by-the-options-name ()
  (magent-test-need-core)
  (should-not
   (cl-loop for (option . values) in magent-config-test--bad
            append (cl-loop for value in values
                            unless (magent-config-test--refused-p option value)
                            collect (list option value)))))

(ert-deftest magent-config-sessions-are-kept-in-a-folder-of-this-machine ()
  (dolist (value '(nil "sessions" "./sessions" "/ssh:host:/sessions" 5))
    (let ((magent-session-directory value))
      (should-error (magent-config-session-directory) :type 'magent-config-error)))
  (let ((magent-session-directory "~/sessions"))
    (should (equal (magent-config-session-directory) (expand-file-name "~/sessions")))))

(provide 'magent-config-test)

;;; magent-config-test.el ends here
