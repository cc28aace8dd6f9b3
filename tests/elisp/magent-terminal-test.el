;;; magent-terminal-test.el --- Questions on a terminal  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The Magent contributors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `bin/magent exec' on a pseudo terminal, with the demo provider as the model, which
;; runs what a prompt tells it to.

;;; Code:

(require 'magent-terminal)
(require 'magent-test-session)

(defun magent-terminal-test--start (url prompt &rest options)
  "Run PROMPT with the demo provider at URL, on a terminal, and return the process.
OPTIONS are further arguments of the command."
  (let* ((init (make-temp-file "init-" nil ".el"
                               (format "(magent-define-backend \"Demo\"
  :dialect 'openai-chat :url %S :models '(demo))\n" url)))
         (process-environment
          (append (list (concat "MAGENT_INIT=" init) "TERM=dumb") process-environment)))
    (make-process
     :name "magent-exec" :connection-type 'pty :noquery t
     :buffer (generate-new-buffer " *magent-exec*")
     :command `(,(expand-file-name "../bin/magent" magent-test-lisp-directory)
                "exec" ,@options ,prompt))))

(defmacro magent-terminal-test-with (prompt &rest body)
  "Run PROMPT on a terminal, and BODY with the variable process set."
  (declare (indent 1) (debug t))
  `(magent-test-with-provider provider
     (let ((process (magent-terminal-test--start (process-get provider 'url) ,prompt)))
       (unwind-protect (progn ,@body)
         (delete-process process)
         (kill-buffer (process-buffer process))))))

(defun magent-terminal-test--text (process)
  "Return what PROCESS has printed."
  (with-current-buffer (process-buffer process)
    (replace-regexp-in-string "\r" "" (buffer-string))))

(defun magent-terminal-test--count (process regexp)
  "Return how often REGEXP is found in what PROCESS has printed."
  (cl-loop with start = 0 with text = (magent-terminal-test--text process)
           while (string-match regexp text start)
           do (setq start (match-end 0)) count t))

(defun magent-terminal-test--expect (process regexp &optional count)
  "Wait until PROCESS has printed REGEXP COUNT times, by default once."
  (magent-test-wait-for
   (format "%S" regexp)
   (lambda ()
     (or (>= (magent-terminal-test--count process regexp) (or count 1))
         (unless (process-live-p process)
           (ert-fail (magent-terminal-test--text process)))))
   20))

(defun magent-terminal-test--status (process)
  "Wait for the end of PROCESS and return its exit status."
  (magent-test-wait-for "The end" (lambda () (not (process-live-p process))) 20)
  (while (accept-process-output process 0.1))
  (process-exit-status process))

(defconst magent-terminal-test--command
  "[[tool bash {\"command\": \"touch mark\"}]]"
  "A prompt that makes the demo provider call a tool.")

(ert-deftest magent-terminal-test-an-unclear-answer-is-asked-for-again ()
  (magent-terminal-test-with magent-terminal-test--command
    (magent-terminal-test--expect process "every \"bash\" call of this session): ")
    (process-send-string process "what?\n")
    (magent-terminal-test--expect process "session): " 2)
    (should-not (file-exists-p "mark"))
    (process-send-string process "\n")
    (magent-terminal-test--expect process "session): " 3)
    (process-send-string process "Y\n")
    (should (eq (magent-terminal-test--status process) 0))
    (should (file-exists-p "mark"))))

(ert-deftest magent-terminal-test-who-refuses-is-told-so-and-not-what-the-model-is-told ()
  (magent-terminal-test-with magent-terminal-test--command
    (magent-terminal-test--expect process "session): ")
    (process-send-string process "n\n")
    (should (eq (magent-terminal-test--status process) 0))
    (should-not (file-exists-p "mark"))
    (should (string-match-p "  refused$" (magent-terminal-test--text process)))
    (should-not (string-match-p "  touch mark: " (magent-terminal-test--text process)))))

(ert-deftest magent-terminal-test-an-interrupt-at-a-question-cancels-the-turn ()
  (magent-terminal-test-with magent-terminal-test--command
    (magent-terminal-test--expect process "session): ")
    (process-send-string process "\C-c")
    (should (eq (magent-terminal-test--status process) 130))
    (should-not (file-exists-p "mark"))))

(ert-deftest magent-terminal-test-the-end-of-input-at-a-question-cancels-the-turn ()
  (magent-terminal-test-with magent-terminal-test--command
    (magent-terminal-test--expect process "session): ")
    (process-send-string process "\C-d")
    (should (eq (magent-terminal-test--status process) 130))
    (should-not (file-exists-p "mark"))))

(ert-deftest magent-terminal-test-what-was-typed-before-the-question-is-no-answer ()
  (magent-terminal-test-with magent-terminal-test--command
    (process-send-string process "y\n")
    (magent-terminal-test--expect process "session): ")
    (magent-test-settle 0.5)
    (should (process-live-p process))
    (should-not (file-exists-p "mark"))
    (process-send-string process "n\n")
    (should (eq (magent-terminal-test--status process) 0))))

;; A model may repeat what it has read somewhere.
(ert-deftest magent-terminal-test-a-terminal-obeys-nothing-that-a-model-says ()
  (magent-terminal-test-with "[[say one \e[2J\e]0;title\a two\rthree \302\233 done]]"
    (should (eq (magent-terminal-test--status process) 0))
    (let ((text (with-current-buffer (process-buffer process) (buffer-string))))
      (should (string-match-p (regexp-quote "one ^[[2J^[]0;title^G two^Mthree") text))
      (should-not (string-match-p "[\e\a\u009b]" text)))))

(ert-deftest magent-terminal-test-a-terminal-obeys-no-argument ()
  (magent-test-with-provider provider
    (pcase-dolist (`(,option ,value ,told)
                   '(("--session" "\e[31mx" "magent: .*x")
                     ("--model" "\e]0;t\ano" "magent: .*model")
                     ("--cwd" "/\302\233no\e[2J" "no\\^\\[\\[2J")
                     ("--\e[31m" "x" "no option --\\^\\[\\[31m")))
      (let ((process (magent-terminal-test--start (process-get provider 'url) "x"
                                                  option value)))
        (unwind-protect
            (progn
              (should (eq (magent-terminal-test--status process) 2))
              (let ((text (with-current-buffer (process-buffer process)
                            (buffer-string))))
                (should (string-match-p told text))
                (should-not (string-match-p "[\e\a\u009b]" text))))
          (delete-process process)
          (kill-buffer (process-buffer process)))))))

(ert-deftest magent-terminal-test-control-characters-are-spelled-out ()
  (should (equal (magent-log-visible "a\tb\e[1m\r\n\177\u009b\u202e漢\x3fff9b")
                 "a^Ib^[[1m^M\n^?\\u009b\\u202e漢\\233")))

(provide 'magent-terminal-test)

;;; magent-terminal-test.el ends here
