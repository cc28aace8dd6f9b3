;;; magent-test-runner.el --- Run all tests in batch Emacs  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The Magent contributors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; scripts/test.sh loads this file in batch Emacs, with the folders of the tests and of
;; what they test in `load-path', and calls `magent-test-run-batch'.
;;
;; What is skipped is told with its reason.  The last line is the sum.  See
;; magent-test-support.el for the environment.  MAGENT_TESTS, a regexp, selects tests.

;;; Code:

(require 'magent-test-support)

(defconst magent-test--directory
  (file-name-directory (or load-file-name buffer-file-name))
  "Folder of the tests.")

(defun magent-test--reason (result)
  "Return why the test with RESULT was skipped."
  (pcase (ert-test-result-with-condition-condition result)
    (`(ert-test-skipped ,(and reason (pred stringp))) reason)
    (`(ert-test-skipped ((skip-unless ,form) . ,_)) (format "%S does not hold" form))
    (condition (format "%S" condition))))

(defun magent-test--tell-skipped (stats)
  "Print the skipped tests of STATS with their reasons."
  (cl-loop for test across (ert--stats-tests stats)
           for result = (ert-test-most-recent-result test)
           when (ert-test-skipped-p result)
           do (princ (format "SKIPPED %s: %s\n" (ert-test-name test)
                             (magent-test--reason result)))))

(defun magent-test-run-batch ()
  "Run all tests and end Emacs with status 1 if one failed."
  (dolist (file (directory-files magent-test--directory t "-test\\.el\\'"))
    (load file nil t t))
  (let* ((stats (ert-run-tests-batch (or (getenv "MAGENT_TESTS") t)))
         ;; A test that ended with quit, or not at all, is neither expected nor unexpected.
         (failed (- (ert-stats-total stats) (ert-stats-completed-expected stats)
                    (ert-stats-skipped stats))))
    (magent-test--tell-skipped stats)
    (princ (format "%d passed, %d failed, %d skipped\n"
                   (ert-stats-completed-expected stats)
                   failed (ert-stats-skipped stats)))
    (kill-emacs (if (zerop failed) 0 1))))

(provide 'magent-test-runner)

;;; magent-test-runner.el ends here
