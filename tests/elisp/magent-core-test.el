;;; magent-core-test.el --- Tests of waking, draining and answering  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The Magent contributors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'magent-test-support)
(require 'magent-core)

(declare-function magent-core-session-list "ext:magent-module" (directory))
(declare-function magent-runtime-session-new "magent-runtime-api" (directory callback))

(defvar magent-core-test--seen nil
  "What the methods of these tests got, newest first.")

(cl-defmethod magent-core-handle ((_kind (eql 'magent-test-note)) args)
  "Note ARGS."
  (push (car args) magent-core-test--seen))

(cl-defmethod magent-core-handle ((_kind (eql 'magent-test-fail)) _args)
  "Fail as a handler with a bug does."
  (error "A handler with a bug"))

(defmacro magent-core-test--with-events (queue &rest body)
  "Evaluate BODY while the core has the events in the place QUEUE to fetch."
  (declare (indent 1) (debug (form body)))
  `(let ((magent-core-test--seen nil))
     (cl-letf (((symbol-function 'magent-core-drain)
                (lambda (most)
                  (prog1 (seq-take ,queue most)
                    (setf ,queue (seq-drop ,queue most)))))
               ((symbol-function 'magent-core-drained) #'ignore))
       ,@body)))

(ert-deftest magent-core-a-failing-handler-loses-no-other-event ()
  (magent-test-with-log log
    (let ((queue '((magent-test-note 1) (magent-test-fail) (magent-test-note 2)
                   (magent-test-unheard-of 5) (magent-test-note 3))))
      (magent-core-test--with-events queue
        (magent-core--filter nil "!")
        (should (equal magent-core-test--seen '(3 2 1)))))
    (should (string-match-p "A handler with a bug" (log)))
    (should (string-match-p "Unknown event magent-test-unheard-of" (log)))))

(ert-deftest magent-core-one-wake-handles-all-portions-in-order ()
  (let ((queue (mapcar (lambda (n) (list 'magent-test-note n)) (number-sequence 1 70))))
    (magent-core-test--with-events queue
      (magent-core--filter nil "!")
      (should (equal magent-core-test--seen (number-sequence 70 1 -1))))))

(cl-defmethod magent-core-handle ((_kind (eql 'magent-test-slow)) args)
  "Take longer than a wake may take, and note ARGS."
  (sleep-for 0.002)
  (push (car args) magent-core-test--seen))

(ert-deftest magent-core-a-wake-ends-when-its-time-is-up ()
  (let ((queue (mapcar (lambda (n) (list 'magent-test-slow n)) (number-sequence 1 500))))
    (magent-core-test--with-events queue
      (magent-core--filter nil "!")
      ;; The time is looked at between portions, and nothing that was fetched is lost.
      (should (< 0 (length magent-core-test--seen) 100))
      (should (= 500 (+ (length magent-core-test--seen) (length queue)))))))

(cl-defmethod magent-core-handle ((_kind (eql 'magent-test-throw)) _args)
  "Leave as a handler does that ends a minibuffer."
  (throw 'magent-test-out nil))

(ert-deftest magent-core-what-is-behind-a-handler-that-throws-is-not-lost ()
  (let ((queue '((magent-test-note 1) (magent-test-throw) (magent-test-note 2)
                 (magent-test-note 3))))
    (magent-core-test--with-events queue
      (catch 'magent-test-out
        (magent-core--filter nil "!"))
      (should (equal magent-core-test--seen '(1)))
      ;; Nobody else would wake Emacs for what it has fetched.
      (magent-test-wait-for "the rest" (lambda ()
                                         (equal magent-core-test--seen '(3 2 1)))))))

(cl-defmethod magent-core-handle ((_kind (eql 'magent-test-ask)) args)
  "Ask the user something: Emacs goes on reading from processes meanwhile."
  (magent-core--filter nil "!")
  (push (car args) magent-core-test--seen))

(ert-deftest magent-core-what-is-behind-a-question-does-not-wait-for-its-answer ()
  (let ((queue '((magent-test-note 1) (magent-test-ask answered) (magent-test-note 2)
                 (magent-test-note 3))))
    (magent-core-test--with-events queue
      (magent-core--filter nil "!")
      (should (equal magent-core-test--seen '(answered 3 2 1))))))

;;;; The real core

(ert-deftest magent-core-a-killed-pipe-is-made-again-and-events-still-come ()
  (magent-test-need-core)
  (let ((first magent-core--process))
    (delete-process first)
    (magent-core-ensure)
    (should-not (eq magent-core--process first))
    (should (process-live-p magent-core--process))
    (magent-test-value #'magent-core-test--list))
  (let ((running magent-core--process))
    (magent-core-ensure)
    (should (eq magent-core--process running))))

(defun magent-core-test--list (callback)
  "List all sessions and hand them to CALLBACK."
  (magent-core-on-reply (magent-core-session-list nil) callback))

(ert-deftest magent-core-what-happened-while-the-pipe-was-gone-is-told-later ()
  (magent-test-need-core)
  (delete-process magent-core--process)
  (let (reply)
    ;; Nobody can be woken now; the write to the dead pipe must not end Emacs.
    (magent-core-test--list (lambda (&rest values) (setq reply values)))
    (magent-test-settle 0.2)
    (should-not reply)
    (magent-core-ensure)
    (magent-test-wait-for "The reply" (lambda () reply))
    (should (car reply))))

(ert-deftest magent-core-the-pipe-is-read-without-delay-and-never-asked-about ()
  (magent-test-need-core)
  (let ((make (symbol-function 'make-pipe-process))
        (process-adaptive-read-buffering t)
        (delays 'unknown))
    (delete-process magent-core--process)
    (cl-letf (((symbol-function 'make-pipe-process)
               (lambda (&rest arguments)
                 (setq delays process-adaptive-read-buffering)
                 (apply make arguments))))
      (magent-core-ensure))
    ;; Otherwise each wake is late by 50 ms.
    (should-not delays)
    (should-not (process-query-on-exit-flag magent-core--process))))

(ert-deftest magent-core-after-a-shutdown-requests-are-refused-clearly ()
  (magent-test-need-module)
  (pcase-let
      ((`(,took ,failure ,processes)
        (magent-test-emacs
         '(progn
            (require 'magent-runtime-api)
            (magent-runtime-ensure)
            (let ((begun (float-time)) took answer)
              (magent-core-shutdown 400)
              (setq took (- (float-time) begun))
              (magent-runtime-session-new nil (lambda (&rest it) (setq answer it)))
              (while (not answer) (accept-process-output nil 0.1))
              (list took answer (length (process-list))))))))
    (should (< took 0.6))
    (should (equal (car failure) nil))
    (should (equal (alist-get 'code (cadr failure)) "shutdown"))
    (should (equal processes 1))))

(ert-deftest magent-core-ending-emacs-ends-the-core ()
  (magent-test-need-core)
  (should (memq #'magent-core--kill-emacs kill-emacs-hook))
  (let (limit)
    (cl-letf (((symbol-function 'magent-core-shutdown)
               (lambda (milliseconds) (setq limit milliseconds) (error "Too late")))
              (inhibit-message t))
      ;; An error there would keep Emacs from ending.
      (magent-core--kill-emacs))
    (should (<= limit 500))))

;;;; Conversations that cannot be saved

(defun magent-core-test--told (events)
  "Handle EVENTS as in an Emacs with a window; return the warnings, oldest first."
  (let (warnings)
    (cl-letf (((symbol-function 'display-warning)
               (lambda (type message &optional level &rest _)
                 (push (list type message level) warnings)))
              (noninteractive nil))
      (mapc #'magent-core--dispatch events))
    (nreverse warnings)))

(ert-deftest magent-core-the-user-is-warned-once-when-saving-begins-to-fail ()
  (let ((magent-core--unsaved (make-hash-table :test #'equal)))
    (let ((warnings (magent-core-test--told '((storage "a" "disk full")
                                              (storage "a" "disk gone")
                                              (storage "b" "disk gone")))))
      (should (= (length warnings) 2))
      (should (equal (car (car warnings)) 'magent))
      (should (string-match-p "disk full" (nth 1 (car warnings))))
      (should (eq (nth 2 (car warnings)) :error)))
    (should (equal (gethash "a" magent-core--unsaved) "disk gone"))
    (should-not (magent-core-test--told '((storage "a" nil) (storage "b" nil))))
    (should (hash-table-empty-p magent-core--unsaved))
    ;; What fails again is told again.
    (should (magent-core-test--told '((storage "a" "disk full"))))))

(defun magent-core-test--confirm (busy unsaved answer)
  "Return whether Emacs may end, and the questions, which are answered with ANSWER.
BUSY is whether an agent works, UNSAVED a list of conses (SESSION . PROBLEM)."
  (let ((magent-core--unsaved (make-hash-table :test #'equal))
        questions)
    (pcase-dolist (`(,session . ,problem) unsaved)
      (puthash session problem magent-core--unsaved))
    (cl-letf (((symbol-function 'magent-core-queue-busy-p) (lambda (_) busy))
              ((symbol-function 'magent-module-loaded-version) #'always)
              ((symbol-function 'yes-or-no-p)
               (lambda (question) (push question questions) answer)))
      (list (magent-core--confirm-kill) (nreverse questions)))))

(ert-deftest magent-core-nothing-is-lost-without-a-question ()
  (should (equal (magent-core-test--confirm nil nil nil) '(t nil)))
  (let ((work "Magent is at work; cancel that and exit? ")
        (one "1 conversation with Magent is not saved (full); exit and lose it? "))
    (should (equal (magent-core-test--confirm t nil nil) (list nil (list work))))
    (should (equal (magent-core-test--confirm nil '(("a" . "full")) nil)
                   (list nil (list one))))
    (should (equal (magent-core-test--confirm t '(("a" . "full")) t)
                   (list t (list work one))))
    (should (equal (magent-core-test--confirm
                    nil '(("a" . "full") ("b" . "full") ("c" . "gone")) t)
                   (list t '("3 conversations with Magent are not saved (full, gone); \
exit and lose them? "))))))

;;;; Answers to the core

(defun magent-core-test--answers (events)
  "Handle EVENTS and return the answers to the core, oldest first."
  (let (answers)
    (cl-letf (((symbol-function 'magent-core-host-reply)
               (lambda (id ok value)
                 (push (list id ok (magent-core--parse value)) answers))))
      (mapc #'magent-core--dispatch events))
    (nreverse answers)))

(ert-deftest magent-core-an-unknown-operation-is-answered-with-an-error ()
  (should (equal (magent-core-test--answers '((host "h1" "no-such-op" "{\"a\":1}")))
                 '(("h1" nil ((code . "unknown-op")
                              (message . "There is no operation no-such-op")))))))

(defvar magent-core-test--operation nil
  "What the operation of these tests does with its arguments.")

(cl-defmethod magent-core-host-call ((_op (eql 'magent-test)) args)
  "Do with ARGS what a test says."
  (funcall magent-core-test--operation args))

(defun magent-core-test--answer (operation &optional json)
  "Return the answer (OK VALUE) when OPERATION is called with JSON."
  (let ((magent-core-test--operation operation))
    (cdar (magent-core-test--answers `((host "h" "magent-test" ,(or json "{}")))))))

(ert-deftest magent-core-values-of-operations-cross-as-json ()
  (should (equal (magent-core-test--answer
                  (lambda (args)
                    `((same . ,(alist-get 'text args)) (no . :false) (none . :null)))
                  "{\"text\":\"\\ud83d\\ude42\\u0000é\"}")
                 '(t ((same . "🙂\0é") (no) (none))))))

(ert-deftest magent-core-every-end-of-an-operation-is-an-answer ()
  (magent-test-with-log _log
    (pcase-dolist
        (`(,operation . ,message)
         `((,(lambda (_) (error "No %s" 'luck)) . "No luck")
           (,(lambda (_) (signal 'quit nil)) . "Quit")
           (,(lambda (_) (magent-error-signal 'tool "c" "It broke." "Mend it."))
            . "It broke. Mend it.")
           ;; A value that is no JSON is a bug in an operation.
           (,(lambda (_) (current-buffer)) . "")
           (,(lambda (_) '((text . "\377"))) . "")
           (,(lambda (_) (error "Bytes \377 and %s" (string #x3fff80))) . "Bytes")))
      (pcase (magent-core-test--answer operation)
        (`(nil ((code . "error") (message . ,told)))
         (should (string-prefix-p message told)))
        (answer (ert-fail (list message answer))))))
  (should (equal (magent-core-test--answer
                  (lambda (_) (magent-core-host-fail "stale_revision" "Read it again")))
                 '(nil ((code . "stale_revision") (message . "Read it again"))))))

(ert-deftest magent-core-arguments-that-are-no-json-are-an-answer-too ()
  (magent-test-with-log _log
    (should-not (car (magent-core-test--answer #'identity "{")))))

(ert-deftest magent-core-a-reply-reaches-its-callback-once ()
  (let (replies)
    (magent-core-on-reply -7 (lambda (ok value) (push (list ok value) replies)))
    (magent-core--dispatch '(reply -7 nil "{\"code\":\"c\",\"list\":[1,null,false]}"))
    (magent-core--dispatch '(reply -7 t "{}"))
    (magent-core--dispatch '(reply -8 t "{}"))
    (should (equal replies '((nil ((code . "c") (list 1 nil nil))))))
    (should-not (gethash -7 magent-core--replies))))

(provide 'magent-core-test)

;;; magent-core-test.el ends here
