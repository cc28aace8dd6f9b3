;;; magent-agent-shell-test.el --- Tests of Magent in agent-shell  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The Magent contributors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'map)
(require 'magent-test-session)
(require 'magent-agent-shell)

(defvar agent-shell--state)
(defvar agent-shell-agent-configs)
(defvar agent-shell-session-restore-verbosity)
(defvar agent-shell-session-strategy)

(defun magent-agent-shell-test--need ()
  "Skip the test unless agent-shell is there; load it."
  (magent-test-need-module)
  (let ((inhibit-message t))
    (magent-test-need-package 'acp)
    (magent-test-need-package 'shell-maker)
    (magent-test-need-package 'agent-shell)))

(ert-deftest magent-agent-shell-its-absence-is-told-with-a-way-out ()
  (pcase (magent-test-emacs '(progn
                              (require 'magent-agent-shell)
                              (condition-case err
                                  (magent-agent-shell-ensure-config)
                                (error err))))
    (`(magent-config-error ,_ config "no-agent-shell" ,hint)
     (should (string-match-p "package-install RET agent-shell" hint)))
    (answer (ert-fail answer))))

(ert-deftest magent-agent-shell-a-command-shows-sentences-and-no-data ()
  (should (equal (magent-test-emacs '(progn
                                       (require 'magent-agent-shell)
                                       (setenv "MAGENT_MODULE" "/no/such/module.so")
                                       (condition-case err
                                           (magent-start)
                                         (error (list (car err)
                                                      (error-message-string err))))))
                 (list 'user-error
                       (concat "Magent's module /no/such/module.so cannot be loaded: "
                               "cannot open shared object file: "
                               "No such file or directory. "
                               "Run M-x magent-module-install to build it again.")))))

(ert-deftest magent-agent-shell-a-list-of-configurations-is-changed-once ()
  (magent-agent-shell-test--need)
  (let* ((other (lambda () '((:identifier . other))))
         (agent-shell-agent-configs (list other #'magent-agent-shell-make-config)))
    (should (eq (magent-agent-shell-ensure-config) 'magent))
    (should (equal agent-shell-agent-configs
                   (list #'magent-agent-shell-make-config other)))
    (let ((before agent-shell-agent-configs))
      (magent-agent-shell-ensure-config)
      (should (eq agent-shell-agent-configs before)))))

(ert-deftest magent-agent-shell-a-function-of-configurations-is-wrapped-once ()
  (magent-agent-shell-test--need)
  (let* ((others (list (lambda () '((:identifier . a))) (lambda () '((:identifier . b)))))
         (agent-shell-agent-configs (lambda () others)))
    (magent-agent-shell-ensure-config)
    (let ((wrapped agent-shell-agent-configs))
      (magent-agent-shell-ensure-config)
      (should (eq agent-shell-agent-configs wrapped)))
    (should (equal (funcall agent-shell-agent-configs)
                   (cons #'magent-agent-shell-make-config others)))
    ;; What the function returns later counts.
    (setq others (list (car others)))
    (should (= 2 (length (funcall agent-shell-agent-configs))))))

(ert-deftest magent-agent-shell-the-configuration-leaves-sessions-as-they-were ()
  (magent-agent-shell-test--need)
  (let ((config (magent-agent-shell-make-config)))
    (should (eq (map-elt config :identifier) 'magent))
    ;; A default mode or model would be set after each resumption, too; an icon would
    ;; be fetched from the network.
    (dolist (key '(:default-model-id :default-session-mode-id :icon-name
                   :needs-authentication))
      (should-not (map-elt config key)))
    (should (string-match-p (map-elt config :shell-prompt-regexp)
                            (map-elt config :shell-prompt)))))

(defun magent-agent-shell-test--strategy (&optional local)
  "Return the strategy of a new shell; LOCAL is a value that is there before."
  (with-temp-buffer
    (setq-local agent-shell--state (list (cons :outgoing-request-decorator nil)))
    (when local
      (setq-local agent-shell-session-strategy local))
    (let ((client (magent-agent-shell--make-client (current-buffer))))
      (delete-process (map-elt client :process)))
    agent-shell-session-strategy))

(ert-deftest magent-agent-shell-a-local-strategy-stays-another-is-ours ()
  (magent-agent-shell-test--need)
  (let ((agent-shell-session-strategy 'prompt)
        (magent-agent-shell-session-strategy 'latest))
    (should (eq (magent-agent-shell-test--strategy) 'latest))
    (should (eq (magent-agent-shell-test--strategy 'new) 'new))
    (should (eq agent-shell-session-strategy 'prompt))))

(ert-deftest magent-agent-shell-a-conversation-is-shown-when-it-is-taken-up ()
  (magent-agent-shell-test--need)
  (let ((agent-shell-session-restore-verbosity 'minimal))
    (with-temp-buffer
      (setq-local agent-shell--state (list (cons :outgoing-request-decorator nil)))
      (let ((client (magent-agent-shell--make-client (current-buffer))))
        (delete-process (map-elt client :process)))
      (should (eq agent-shell-session-restore-verbosity 'full)))
    (should (eq agent-shell-session-restore-verbosity 'minimal))))

(ert-deftest magent-agent-shell-nothing-is-asked-where-no-session-is-saved ()
  (let ((new '("New shell" . :new-shell))
        (temporary '("New temp shell" . :temp-shell))
        (session '("Fix it" . ((sessionId . "a")))))
    (should (equal (magent-agent-shell--session-choices (list new temporary))
                   (list new)))
    (should (equal (magent-agent-shell--session-choices (list new temporary session))
                   (list new temporary session)))
    (should (equal (magent-agent-shell--session-choices (list temporary))
                   (list temporary)))))

;;;; Starting

(defun magent-agent-shell-test--shells ()
  "Return the buffers of agent-shell."
  (cl-remove-if-not (lambda (buffer)
                      (provided-mode-derived-p (buffer-local-value 'major-mode buffer)
                                               'agent-shell-mode))
                    (buffer-list)))

(defmacro magent-agent-shell-test--starting (&rest body)
  "Evaluate BODY where `magent-start' can be called, and kill its shells.
The variable warnings has the texts of warnings, newest first."
  (declare (indent 0) (debug t))
  `(progn
     (magent-test-need-core)
     (magent-agent-shell-test--need)
     (magent-test-with-directory
       (let ((agent-shell-agent-configs nil)
             (agent-shell-transcript-file-path-function nil)
             (shell-maker-prompt-before-killing-buffer nil)
             (magent-agent-shell-session-strategy 'new)
             (agent-shell-cwd-function (lambda () default-directory))
             (inhibit-message t)
             warnings)
         (unwind-protect
             (cl-letf (((symbol-function 'display-warning)
                        (lambda (_type text &rest _) (push text warnings))))
               ,@body)
           (mapc #'kill-buffer (magent-agent-shell-test--shells)))))))

(defvar agent-shell-cwd-function)
(defvar agent-shell-transcript-file-path-function)
(defvar shell-maker-prompt-before-killing-buffer)

(ert-deftest magent-agent-shell-wrong-options-leave-no-shell ()
  (magent-agent-shell-test--starting
    (dolist (wrong '((magent-agent-shell-restore-verbosity . foo)
                     ;; The core finds this out.
                     (magent-request-timeout . "long")))
      (cl-progv (list (car wrong)) (list (cdr wrong))
        (should (string-match-p
                 (symbol-name (car wrong))
                 (error-message-string (should-error (magent-start) :type 'user-error)))))
      (should-not (magent-agent-shell-test--shells)))
    (magent-start)
    (should (magent-agent-shell-test--shells))))

(ert-deftest magent-agent-shell-a-session-that-cannot-be-made-leaves-no-shell ()
  (magent-agent-shell-test--starting
    (let ((magent-default-agent "nobody"))
      (magent-start)
      (magent-test-wait-for "The end of the shell"
                            (lambda () (not (magent-agent-shell-test--shells)))))
    (should (equal (length warnings) 1))
    (should (string-match-p "There is no agent nobody" (car warnings)))))

;;;; Questions and typing

(defmacro magent-agent-shell-test--jumping (command idle &rest body)
  "Evaluate BODY in a shell where COMMAND ran IDLE seconds ago.
The variable jumped tells whether point went to the question."
  (declare (indent 2) (debug t))
  `(with-temp-buffer
     (setq-local magent-acp--process nil)
     (let ((real-last-command ,command) jumped timers)
       (cl-letf (((symbol-function 'current-idle-time)
                  (lambda () (and ,idle (seconds-to-time ,idle))))
                 ((symbol-function 'window-buffer) (lambda (&rest _) (current-buffer)))
                 ((symbol-function 'run-with-idle-timer)
                  (lambda (&rest arguments) (push arguments timers))))
         (let ((inhibit-message t))
           (magent-agent-shell--around-jump (lambda () (setq jumped t))))
         ,@body))))

(ert-deftest magent-agent-shell-a-question-waits-until-nobody-types ()
  (dolist (idle '(nil 0.4))
    (magent-agent-shell-test--jumping 'self-insert-command idle
      (should-not jumped)
      (should (equal (mapcar #'cddr timers)
                     `((magent-agent-shell--jump ,(current-buffer))))))))

(ert-deftest magent-agent-shell-a-question-comes-at-once-when-nobody-types ()
  (magent-agent-shell-test--jumping 'self-insert-command 1.5
    (should jumped)
    (should-not timers))
  ;; Who has just sent a prompt or answered a question writes no text.
  (dolist (command '(shell-maker-submit (lambda () (interactive))))
    (magent-agent-shell-test--jumping command 0.1
      (should jumped)
      (should-not timers))))

;;;; Notices

(defun magent-agent-shell-test--notices (shell-p ids)
  "Return what is shown and echoed for notices \"a\" with IDS, in a shell if SHELL-P."
  (with-temp-buffer
    (when shell-p
      (setq-local magent-acp--process 'a-process))
    (let ((state (list (cons :buffer (current-buffer)))) shown)
      (magent-test-with-messages echoed
        (dolist (id ids)
          (magent-agent-shell--around-fragment
           (lambda (&rest args)
             (push (list (plist-get args :body) (plist-get args :expanded)) shown))
           :state state :block-id id :body "a" :append t))
        (list (nreverse shown) (nreverse echoed))))))

(ert-deftest magent-agent-shell-notices-are-unfolded-and-apart ()
  (should (equal (magent-agent-shell-test--notices
                  t '("1-notices" "1-notices" "2-notices" "plan" "2-notices"))
                 '((("a" t) ("\na" t) ("a" t) ("a" nil) ("\na" t))
                   ("Magent: a" "Magent: a" "Magent: a" "Magent: a"))))
  (should (equal (magent-agent-shell-test--notices nil '("1-notices" "1-notices"))
                 '((("a" nil) ("a" nil)) nil))))

(ert-deftest magent-agent-shell-notices-are-the-fragments-that-are-treated-so ()
  (magent-agent-shell-test--need)
  (magent-agent-shell--advise)
  (with-temp-buffer
    (setq-local magent-acp--process nil)
    (let* ((state (list (cons :buffer (current-buffer)) (cons :request-count 1)))
           (inhibit-message t)
           shown
           (record (lambda (&rest args)
                     (push (list (plist-get args :body) (plist-get args :expanded))
                           shown))))
      ;; In the place of the function itself, inside of our advice.
      (advice-add 'agent-shell--update-fragment :override record '((depth . 100)))
      (unwind-protect
          (cl-letf (((symbol-function 'acp-subscribe-to-errors)
                     (lambda (&rest args)
                       (dolist (text '("one" "two"))
                         (funcall (plist-get args :on-error) `((message . ,text))))))
                    ((symbol-function 'acp-subscribe-to-notifications) #'ignore)
                    ((symbol-function 'acp-subscribe-to-requests) #'ignore)
                    ((symbol-function 'shell-maker-busy) #'ignore))
            (agent-shell--subscribe-to-client-events :state state))
        (advice-remove 'agent-shell--update-fragment record))
      (should (equal (nreverse shown) '(("one" t) ("\ntwo" t)))))))

;;;; Context

(ert-deftest magent-agent-shell-advice-is-added-once-and-to-what-exists ()
  (magent-agent-shell-test--need)
  (magent-agent-shell--advise)
  (magent-agent-shell--advise)
  (pcase-dolist (`(,function . ,advice) magent-agent-shell-advice)
    (should (fboundp function))
    (let ((count 0))
      (advice-mapc (lambda (it _) (when (eq it advice) (cl-incf count))) function)
      (should (equal (cons function count) (cons function 1))))))

(ert-deftest magent-agent-shell-context-has-no-blank-lines-and-reads-no-remote-file ()
  (let ((original (lambda (&rest _) "original")))
    (with-temp-buffer
      (insert "text\n   \n")
      (pcase-dolist (`(,ours ,line ,expected)
                     '((t 1 "original") (t 2 nil) (nil 1 "original") (nil 2 "original")))
        (goto-char (point-min))
        (forward-line (1- line))
        (let ((magent-agent-shell--in-context ours))
          (should (equal (magent-agent-shell--around-line-context original)
                         expected)))))
    (let ((files '("/ssh:host.invalid:/a" "/b")))
      (let ((magent-agent-shell--in-context t))
        (should (equal (magent-agent-shell--around-files-context original :files files)
                       "@/ssh:host.invalid:/a\n\n@/b"))
        (should (equal (magent-agent-shell--around-files-context original :files '("/b"))
                       "original")))
      (let ((magent-agent-shell--in-context nil))
        (should (equal (magent-agent-shell--around-files-context original :files files)
                       "original"))))))

(ert-deftest magent-agent-shell-only-shells-of-magent-are-treated-so ()
  (let (inside)
    (cl-flet ((inside-p (buffer)
                (magent-agent-shell--around-context
                 (lambda (&rest _) (setq inside magent-agent-shell--in-context))
                 :shell-buffer buffer)
                inside))
      (with-temp-buffer
        (should-not (inside-p (current-buffer)))
        (setq-local magent-acp--process 'a-process)
        (should (inside-p (current-buffer))))
      (should-not (inside-p nil))
      (should-not magent-agent-shell--in-context))))

(provide 'magent-agent-shell-test)

;;; magent-agent-shell-test.el ends here
