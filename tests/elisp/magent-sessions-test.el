;;; magent-sessions-test.el --- Tests of the list of sessions  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The Magent contributors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'cl-lib)
(require 'magent-test-session)
(require 'magent-sessions)

(defmacro magent-sessions-test--with (started &rest body)
  "Evaluate BODY with the list of this folder; STARTED are the sessions opened.
STARTED is a variable that holds their ids, newest first."
  (declare (indent 1) (debug (symbolp body)))
  `(let (,started)
     (cl-letf (((symbol-function 'magent-sessions--start)
                (lambda (id _root) (push id ,started))))
       (save-window-excursion
         (magent-list-sessions)
         (unwind-protect
             (with-current-buffer "*magent-sessions*" ,@body)
           (kill-buffer "*magent-sessions*"))))))

(defun magent-sessions-test--titles (count)
  "Wait until the list has COUNT sessions and return their titles, sorted."
  (magent-test-wait-for "the list"
                        (lambda () (= (length tabulated-list-entries) count)))
  (sort (mapcar (lambda (entry) (aref (cadr entry) 1)) tabulated-list-entries)
        #'string<))

(ert-deftest magent-sessions-are-listed-opened-and-forked ()
  (magent-test-with-provider provider
    (let* ((session (magent-test-open-session))
           (id (magent-test-session-id session)))
      (magent-test-await-end session (magent-test-submit session "[[say One]] Grüße"))
      (magent-sessions-test--with started
        (should (equal (magent-sessions-test--titles 1) '("[[say One]] Grüße")))
        (goto-char (point-min))
        (magent-sessions-open)
        (should (equal started (list id)))
        (magent-sessions-fork)
        (should (equal (magent-sessions-test--titles 2)
                       '("[[say One]] Grüße" "[[say One]] Grüße (fork)")))
        (magent-test-wait-for "the fork" (lambda () (cdr started)))
        (should-not (equal (car started) id))))))

(ert-deftest magent-sessions-that-are-damaged-are-recovered ()
  (magent-test-with-provider provider
    (let* ((session (magent-test-open-session))
           (id (magent-test-session-id session)))
      (magent-test-await-end session (magent-test-submit session "[[say One]]"))
      (magent-test--close session)
      (let ((header (car (directory-files-recursively
                          (magent-config-session-directory)
                          (format "%s\\.json\\'" (regexp-quote id))))))
        (magent-test-wait-for "the end of the session"
                              (lambda () (not (file-exists-p
                                               (concat (file-name-sans-extension header)
                                                       ".lock")))))
        (magent-test-write header "{"))
      (magent-sessions-test--with started
        (should (string-match-p "cannot be read" (car (magent-sessions-test--titles 1))))
        (goto-char (point-min))
        (magent-sessions-recover)
        (should (= (length (magent-sessions-test--titles 2)) 2))
        (magent-test-wait-for "the recovered session" (lambda () started))
        (should-not (equal (car started) id))
        ;; The same by a command, from anywhere in the project.
        (setq started nil)
        (cl-letf (((symbol-function 'completing-read)
                   (lambda (_prompt choices &rest _)
                     (seq-find (lambda (choice) (string-match-p "cannot be read" choice))
                               (mapcar #'car choices)))))
          (magent-session-recover)
          (magent-test-wait-for "the recovered session" (lambda () started)))))))

(ert-deftest magent-sessions-none-is-said ()
  (magent-test-with-provider provider
    (magent-sessions-test--with started
      (should-not (magent-sessions-test--titles 0))
      (should-error (magent-sessions-open) :type 'user-error)
      (magent-sessions-toggle-all)
      (should-not magent-sessions--directory)
      (magent-sessions-toggle-all)
      (should (equal magent-sessions--directory magent-sessions--project))
      (should-not started))))

(provide 'magent-sessions-test)

;;; magent-sessions-test.el ends here
