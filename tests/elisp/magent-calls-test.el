;;; magent-calls-test.el --- Tests of the functions of the module  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The Magent contributors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'magent-test-support)
(require 'magent-core)

(declare-function magent-core-abi "ext:magent-module" ())
(declare-function magent-core-drained "ext:magent-module" (microseconds))
(declare-function magent-core-acp-close "ext:magent-module" (connection))
(declare-function magent-core-acp-send "ext:magent-module" (connection line config))
(declare-function magent-core-session-list "ext:magent-module" (directory))
(declare-function magent-core-session-new "ext:magent-module" (directory config))
(declare-function magent-core-permission-answer "ext:magent-module" (approval decision))

(defconst magent-calls-test--functions
  '(magent-core-abi magent-core-start magent-core-drain magent-core-drained
    magent-core-shutdown magent-core-host-reply magent-core-acp-open
    magent-core-acp-send magent-core-acp-close magent-core-acp-stdio
    magent-core-acp-command magent-core-sampling-event
    magent-core-session-new magent-core-session-load magent-core-session-copy
    magent-core-session-delete magent-core-session-export
    magent-core-session-list
    magent-core-session-close magent-core-session-observe magent-core-queue-submit
    magent-core-queue-cancel magent-core-queue-busy-p
    magent-core-queue-watch-interrupts magent-core-queue-read-line
    magent-core-queue-print
    magent-core-permission-answer
    magent-core-permission-authority magent-core-permission-audit
    magent-core-tool-list)
  "Every function of the module.")

(defun magent-calls-test--values ()
  "Return values that are wrong for most arguments.
No string is JSON, so that nothing is started."
  (list nil t 'symbol :keyword 1.5 0.0e+NaN -1 most-positive-fixnum (expt 2 70)
        (- (expt 2 70)) "" "text" "\377\376" (string-to-multibyte "\377") "🙂"
        "a\0b" (string #xd800) (string #x3fff80) (make-string 100000 ?x)
        '(1 . 2) [1 "2"] (current-buffer) magent-core--process #'ignore
        (make-hash-table)))

(defun magent-calls-test--in-tree-p (err)
  "Return non-nil if ERR is a condition of ours in its documented shape."
  (and (memq 'magent-error (get (car err) 'error-conditions))
       (pcase (cdr err)
         (`(,message ,kind ,code ,hint)
          (and (stringp message) (not (string-empty-p message))
               (memq kind '(config session provider tool permission internal))
               ;; A panic is a bug, even if it is reported in good shape.
               (stringp code) (not (equal code "panic"))
               (or (null hint) (stringp hint)))))))

(defun magent-calls-test--try (function arguments)
  "Call FUNCTION with ARGUMENTS; return a complaint about what it signals, or nil."
  (condition-case err
      (let ((value (apply function arguments)))
        (when (eq function 'magent-core-drain)
          (mapc #'magent-core--dispatch value))
        nil)
    ((wrong-type-argument wrong-number-of-arguments overflow-error) nil)
    (error (unless (magent-calls-test--in-tree-p err)
             (list function (mapcar #'type-of arguments) err)))))

(defun magent-calls-test--sensible (function)
  "Return arguments of the right types for FUNCTION, without effect."
  (pcase function
    ('magent-core-start (list nil "{}"))
    ((or 'magent-core-drain 'magent-core-drained) (list 0))
    ;; Right ones would end the core, or serve standard input.
    ('magent-core-shutdown (list nil))
    ('magent-core-acp-stdio (list "no JSON"))
    ('magent-core-host-reply (list "no id" t "{}"))
    ('magent-core-acp-send (list 987654321 "{}" nil))
    ('magent-core-acp-close (list 987654321))
    ('magent-core-acp-open (list "no JSON"))
    (_ (make-list (car (func-arity function)) "no id"))))

(defun magent-calls-test--variants (function)
  "Return lists of arguments for FUNCTION, each with one or more wrong ones."
  (let ((arity (car (func-arity function)))
        (values (pcase function
                  ('magent-core-shutdown
                   (cl-remove-if #'fixnump (magent-calls-test--values)))
                  ;; What is text would be printed between the results.
                  ('magent-core-queue-print
                   (cl-remove-if #'stringp (magent-calls-test--values)))
                  (_ (magent-calls-test--values))))
        variants)
    (dolist (value values variants)
      (push (make-list arity value) variants)
      (dotimes (place arity)
        (let ((arguments (magent-calls-test--sensible function)))
          (setf (nth place arguments) value)
          (push arguments variants))))))

(ert-deftest magent-calls-the-list-of-functions-is-complete ()
  (magent-test-need-module)
  (let (defined)
    (mapatoms (lambda (symbol)
                (when (and (fboundp symbol)
                           (eq (type-of (symbol-function symbol)) 'module-function))
                  (push symbol defined))))
    (should-not (cl-set-exclusive-or defined magent-calls-test--functions))
    (dolist (function defined)
      (should (documentation function)))))

(ert-deftest magent-calls-wrong-arguments-signal-only-what-lisp-expects ()
  (magent-test-need-core)
  (unwind-protect
      (magent-test-with-log _log
        (should-not
         (cl-loop for function in magent-calls-test--functions
                  append (cl-loop
                          for arguments in (magent-calls-test--variants function)
                          for complaint = (magent-calls-test--try function arguments)
                          when complaint collect complaint))))
    ;; The core must not take this test for a slow screen.
    (magent-core-drained 0))
  (should (equal (magent-core-abi) magent-module-abi))
  (should (car (magent-test-reply
                (lambda (callback)
                  (magent-core-on-reply (magent-core-session-list nil) callback))))))

(ert-deftest magent-calls-a-wrong-number-of-arguments-is-an-ordinary-error ()
  (magent-test-need-module)
  (dolist (function magent-calls-test--functions)
    (let ((arity (func-arity function)))
      (should (equal (car arity) (cdr arity)))
      (should-error (apply function (make-list (1+ (car arity)) nil))
                    :type 'wrong-number-of-arguments))))

(ert-deftest magent-calls-failures-have-message-kind-and-code ()
  (magent-test-need-core)
  (pcase-dolist (`(,what . ,call)
                 `(("There is no connection 987654321"
                    . ,(lambda () (magent-core-acp-send 987654321 "{}" nil)))
                   ("There is no connection -4" . ,(lambda () (magent-core-acp-close -4)))
                   ("There is no decision perhaps"
                    . ,(lambda () (magent-core-permission-answer "a" "perhaps")))
                   ("The JSON is bad" . ,(lambda () (magent-core-session-new nil "[")))))
    (let ((err (should-error (funcall call))))
      (should (eq (car err) 'magent-config-error))
      (should (string-prefix-p what (nth 1 err)))
      (should (equal (nthcdr 2 err) '(config "bad-argument" nil)))
      (should (magent-calls-test--in-tree-p err)))))

(ert-deftest magent-calls-before-the-start-fail-in-the-same-way ()
  (magent-test-need-module)
  (should (equal (magent-test-emacs
                  '(progn
                     (require 'magent-core)
                     (magent-module-load)
                     (list (magent-core-drain 5)
                           (condition-case err (magent-core-acp-open "{}")
                             (error (cons (car err) (nthcdr 2 err))))
                           (condition-case err (magent-core-session-new nil "{}")
                             (error (cons (car err) (nthcdr 2 err))))
                           ;; There is nothing to end, which is no error.
                           (magent-core-shutdown 50))))
                 '(nil (magent-error internal "not-started" nil)
                       (magent-error internal "not-started" nil) nil))))

(provide 'magent-calls-test)

;;; magent-calls-test.el ends here
