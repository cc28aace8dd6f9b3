;;; magent-turn-failure-test.el --- Tests of turns that fail, and of saved sessions  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The Magent contributors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'magent-test-session)

(declare-function magent-core-permission-audit "ext:magent-module" ())

(defun magent-turn-failure-test--error (session prompt &rest keys)
  "Run PROMPT in SESSION with KEYS; return the error of the turn, which must fail."
  (let ((end (magent-test-await-end session
                                    (apply #'magent-test-submit session prompt keys))))
    (should (equal (alist-get 'type end) "turn-failed"))
    (should (equal (alist-get 'status end) "failed"))
    (alist-get 'error end)))

(defun magent-turn-failure-test--works (session)
  "Check that SESSION answers a prompt."
  (let ((end (magent-test-await-end session
                                    (magent-test-submit session "[[say Fine]]"))))
    (should (equal (list (alist-get 'type end) (alist-get 'text end))
                   '("turn-complete" "Fine")))))

(ert-deftest magent-turn-a-dead-provider-fails-the-turn-and-the-next-one-works ()
  (magent-test-with-provider provider
    (let ((session (magent-test-open-session))
          (magent-stream-retry-limit 0)
          (url (process-get provider 'url)))
      (magent-turn-failure-test--works session)
      (delete-process provider)
      (let-alist (magent-turn-failure-test--error session "[[say Never]]")
        (should (equal .kind "provider"))
        (should (string-match-p "127\\.0\\.0\\.1\\|Demo\\|connect" .message))
        (should-not (string-match-p "panic\\|Os {" .message)))
      (let ((other (magent-test--start-provider)))
        (unwind-protect
            (progn
              (should-not (equal url (process-get other 'url)))
              (magent-define-backend "Demo" :dialect 'openai-chat
                :url (process-get other 'url) :models '(demo))
              ;; Keys and addresses are looked up for each request.
              (magent-turn-failure-test--works session))
          (delete-process other))))))

(ert-deftest magent-turn-what-providers-do-wrong-fails-the-turn-clearly ()
  (magent-test-with-provider provider
    (let ((session (magent-test-open-session))
          (magent-stream-retry-limit 0))
      (pcase-dolist (`(,prompt . ,told) '(("[[http 401]]" . "401")
                                          ("[[http 404]]" . "404")
                                          ("[[empty]]" . "")
                                          ("[[say A lot of words]] [[drop]]" . "")))
        (let-alist (magent-turn-failure-test--error session prompt)
          (should (equal (cons prompt .kind) (cons prompt "provider")))
          (should-not (string-empty-p .message))
          (should (string-match-p told .message))))
      (magent-turn-failure-test--works session))))

(ert-deftest magent-turn-a-silent-provider-is-given-up ()
  (magent-test-with-provider provider
    (let ((session (magent-test-open-session))
          (magent-stream-retry-limit 0)
          (magent-request-timeout 0.3))
      (should (equal (alist-get 'kind (magent-turn-failure-test--error session "[[hang]]"))
                     "provider"))
      (magent-turn-failure-test--works session))))

(ert-deftest magent-turn-calls-that-make-no-sense-reach-the-model-as-failures ()
  (magent-test-with-provider provider
    (let ((session (magent-test-open-session)))
      (dolist (call '("[[tool no_such_tool {}]]" "[[tool read_file {\"path\":5}]]"
                      "[[tool read_file no JSON]]" "[[half read_file]]"))
        (let ((end (magent-test-await-end
                    session (magent-test-submit session (concat call " [[say On]]")))))
          (should (equal (list call (alist-get 'type end) (alist-get 'text end))
                         (list call "turn-complete" "On"))))))))

(ert-deftest magent-turn-an-unknown-model-session-or-option-is-refused ()
  (magent-test-with-provider provider
    (let ((session (magent-test-open-session)))
      (cl-flet ((failure (id &rest keys)
                  (let ((reply (magent-test-reply
                                (lambda (callback)
                                  (apply #'magent-runtime-submit id "x" callback keys)))))
                    (should-not (car reply))
                    (should-not (string-empty-p (alist-get 'message (cdr reply))))
                    (cdr reply))))
        (let ((id (magent-test-session-id session)))
          (should (string-match-p "Demo:none" (alist-get 'message
                                                         (failure id :model "Demo:none"))))
          (should (string-match-p "nobody" (alist-get 'message
                                                      (failure id :agent "nobody"))))
          (failure "no-such-session")
          (should-not (magent-runtime-processing-p id))
          (should-error (magent-runtime-submit id "x" #'ignore :approval "perhaps")
                        :type 'magent-config-error)))
      (magent-turn-failure-test--works session))))

(ert-deftest magent-turn-a-key-is-used-and-never-kept ()
  (magent-test-with-log log
    (magent-test-with-provider provider
      (let ((session (magent-test-open-session)) (calls 0))
        (magent-define-backend "Demo" :dialect 'openai-chat
          :url (process-get provider 'url) :models '(demo)
          :key (lambda () (cl-incf calls) "sk-very-secret"))
        (magent-turn-failure-test--works session)
        (magent-turn-failure-test--error session "[[http 401]]")
        (should (>= calls 2))
        (dolist (text (list (log) (magent-core-permission-audit)
                            (prin1-to-string (magent-test-session-reports session))))
          (should-not (string-match-p "sk-very-secret" text)))
        (magent-test--close session)
        (magent-test-settle 0.3)
        (dolist (file (directory-files-recursively magent-session-directory ""))
          (should-not (string-match-p "sk-very-secret" (magent-test-bytes file))))))))

(ert-deftest magent-turn-an-observer-that-signals-does-not-stop-the-turn ()
  (magent-test-with-log log
    (magent-test-with-provider provider
      (let* ((session (magent-test-open-session)) (count 0))
        (magent-runtime-observe (magent-test-session-id session)
                                (lambda (report)
                                  (push report (magent-test-session-reports session))
                                  (cl-incf count)
                                  (error "An observer with a bug")))
        (magent-turn-failure-test--works session)
        (should (> count 4))
        (should (string-match-p "An observer with a bug" (log)))))))

(ert-deftest magent-turn-a-saved-session-is-listed-and-opened-again ()
  (magent-test-with-provider provider
    (let* ((session (magent-test-open-session))
           (id (magent-test-session-id session))
           (ids (lambda (directory)
                  (mapcar (lambda (row) (alist-get 'session-id row))
                          (magent-test-value
                           (lambda (callback)
                             (magent-runtime-list-sessions directory callback)))))))
      (magent-turn-failure-test--works session)
      (magent-test--close session)
      (should-not (gethash id magent-runtime--observers))
      (should (equal (funcall ids default-directory) (list id)))
      (should (member id (funcall ids nil)))
      (should-not (member id (funcall ids temporary-file-directory)))
      (magent-turn-failure-test--works (magent-test-open-session id))
      (should-not (car (magent-test-reply
                        (lambda (callback)
                          (magent-runtime-session-load default-directory "no-such"
                                                       callback))))))))

;;;; Saving

(ert-deftest magent-turn-a-conversation-that-is-not-saved-is-known-until-it-is ()
  (magent-test-with-provider _provider
    (let* ((session (magent-test-open-session))
           (id (magent-test-session-id session))
           (directory (directory-file-name (magent-config-session-directory)))
           (aside (concat directory "-aside")))
      (when (file-exists-p directory)
        (rename-file directory aside))
      (make-directory (file-name-directory directory) t)
      (unwind-protect
          (progn
            (magent-test-write directory "in the way")
            (magent-test-await-end session (magent-test-submit session "[[say Fine]]"))
            (should (string-match-p (regexp-quote directory)
                                    (magent-test-wait-for
                                     "The word that it is not saved"
                                     (lambda () (gethash id magent-core--unsaved)))))
            (delete-file directory)
            (magent-test-await-end session (magent-test-submit session "[[say Fine]]"))
            (magent-test-wait-for "The word that it is saved again"
                                  (lambda () (not (gethash id magent-core--unsaved)))))
        (when (file-regular-p directory)
          (delete-file directory))
        (when (file-exists-p aside)
          (ignore-errors (delete-directory directory t))
          (rename-file aside directory))))))

(provide 'magent-turn-failure-test)

;;; magent-turn-failure-test.el ends here
