;;; magent-sessions-test.el --- Tests of the list of sessions  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The Magent contributors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'cl-lib)
(require 'magent-test-session)
(require 'magent-sessions)
(require 'org-element)

(defmacro magent-sessions-test--with (started &rest body)
  "Evaluate BODY with the list of this folder; STARTED are the sessions opened.
STARTED is a variable that holds their ids, newest first."
  (declare (indent 1) (debug (symbolp body)))
  `(let (,started)
     (cl-letf (((symbol-function 'magent-session--start)
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
                       '("(fork) [[say One]] Grüße" "[[say One]] Grüße")))
        (magent-test-wait-for "the fork" (lambda () (cdr started)))
        (should-not (equal (car started) id))))))

;;;; What the rows say

(defun magent-sessions-test--column (name)
  "Return the texts of the column NAME, top down; nil if there is no such column."
  (let ((place (seq-position tabulated-list-format name
                             (lambda (column name) (equal (car column) name)))))
    (when place
      (mapcar (lambda (entry) (aref (cadr entry) place)) tabulated-list-entries))))

(defun magent-sessions-test--wait-closed (id)
  "Wait until nothing holds the session ID, which was closed; return its header."
  (let ((header (car (directory-files-recursively
                      (magent-config-session-directory)
                      (format "%s\\.json\\'" (regexp-quote id))))))
    (magent-test-wait-for "the end of the session"
                          (lambda () (not (file-exists-p
                                           (concat (file-name-sans-extension header)
                                                   ".lock")))))
    header))

(ert-deftest magent-sessions-a-row-tells-turns-size-model-and-holder ()
  (magent-test-with-provider provider
    (let ((session (magent-test-open-session)))
      (dotimes (_ 2)
        (magent-test-await-end session (magent-test-submit session "[[say One]]")))
      (magent-sessions-test--with started
        (magent-sessions-test--titles 1)
        (should-not started)
        (should (equal (magent-sessions-test--column "Open in") '("this Emacs")))
        (magent-test--close session)
        (magent-sessions-test--wait-closed (magent-test-session-id session))
        (revert-buffer)
        (magent-test-wait-for "the list" (lambda ()
                                           (equal (magent-sessions-test--column "Open in")
                                                  '(""))))
        (should (equal (magent-sessions-test--column "Turns") '("2")))
        (should (equal (magent-sessions-test--column "Model") '("Demo:demo")))
        (should (string-match-p "\\`[1-9]" (car (magent-sessions-test--column "Size"))))
        (should-not (magent-sessions-test--column "Project"))
        (magent-sessions-toggle-all)
        (magent-test-wait-for "the projects"
                              (lambda () (magent-sessions-test--column "Project")))
        (should (member (abbreviate-file-name
                         (directory-file-name (file-truename default-directory)))
                        (magent-sessions-test--column "Project")))))))

(ert-deftest magent-sessions-are-deleted-after-one-question ()
  (magent-test-with-provider provider
    (let* ((session (magent-test-open-session))
           (id (magent-test-session-id session))
           (asked 0)
           (answer nil))
      (magent-test-await-end session (magent-test-submit session "[[say One]]"))
      (magent-sessions-test--with started
        (magent-sessions-test--titles 1)
        (cl-letf (((symbol-function 'yes-or-no-p)
                   (lambda (_prompt) (setq asked (1+ asked)) answer)))
          (goto-char (point-min))
          (magent-sessions-delete)
          (should (= asked 1))
          (should (= (length (magent-sessions-test--titles 1)) 1))
          ;; One that is open is not deleted under the feet of its user.
          (setq answer t)
          (magent-test-with-messages messages
            (magent-sessions-delete)
            (magent-test-wait-for "the refusal"
                                  (lambda () (seq-find (lambda (message)
                                                         (string-match-p "open" message))
                                                       messages))))
          (magent-test--close session)
          (let ((header (magent-sessions-test--wait-closed id)))
            (magent-sessions-delete)
            (should-not (magent-sessions-test--titles 0))
            (should (= asked 3))
            (should-not (file-exists-p header))
            (should-not started)))))))

;;;; Export

(defun magent-sessions-test--export (session file)
  "Export SESSION, an alist, to FILE and return its text."
  (cl-letf (((symbol-function 'read-file-name) (lambda (&rest _) file)))
    (magent-session-export-to session))
  (magent-test-wait-for "the document" (lambda ()
                                         (and (file-exists-p file)
                                              (> (file-attribute-size
                                                  (file-attributes file))
                                                 0))))
  (with-temp-buffer
    (insert-file-contents file)
    (buffer-string)))

(ert-deftest magent-sessions-a-conversation-is-exported-to-org-and-markdown ()
  (magent-test-with-provider provider
    (let* ((session (magent-test-open-session))
           (row `((session-id . ,(magent-test-session-id session))
                  (root . ,default-directory)
                  (title . "Grüße: an/alle!"))))
      (magent-test-await-end
       session (magent-test-submit session "Grüße\n* no heading\n#+begin_src [[say One]]"))
      (should (equal (magent-session-export--name row) "grüße-an-alle.org"))
      (let ((headlines
             (with-temp-buffer
               (insert (magent-sessions-test--export row (expand-file-name "out.org")))
               (delay-mode-hooks (org-mode))
               (org-element-map (org-element-parse-buffer) 'headline
                 (lambda (headline) (org-element-property :level headline))))))
        ;; What the user wrote makes no headings.
        (should (equal (seq-uniq headlines) '(1 2)))
        (should (= (seq-count (lambda (level) (= level 1)) headlines) 1)))
      (let ((markdown (magent-sessions-test--export row (expand-file-name "out.md"))))
        (should (string-match-p "^# " markdown))
        (should (string-match-p "^One" markdown)))
      (should (equal (logand (file-modes "out.md") #o777)
                     (logand (default-file-modes) #o666)))
      (should-not (directory-files temporary-file-directory nil "\\`magent-export-")))))

(ert-deftest magent-sessions-an-export-replaces-nothing-unasked ()
  (magent-test-with-provider provider
    (let* ((session (magent-test-open-session))
           (row `((session-id . ,(magent-test-session-id session))
                  (root . ,default-directory)))
           (file (expand-file-name "mine.org")))
      (magent-test-await-end session (magent-test-submit session "[[say One]]"))
      (magent-test-write file "mine")
      (set-file-modes file #o600)
      (cl-letf (((symbol-function 'yes-or-no-p) #'ignore))
        (should (equal (magent-sessions-test--export row file) "mine")))
      (cl-letf (((symbol-function 'yes-or-no-p) #'always))
        (magent-sessions-test--export row file)
        (magent-test-wait-for "the document"
                              (lambda ()
                                (not (equal (magent-test-bytes file) "mine")))))
      (should (equal (logand (file-modes file) #o777) #o600))
      ;; Where it cannot be written, the reason is told and nothing is left behind.
      (magent-test-with-messages messages
        (cl-letf (((symbol-function 'read-file-name)
                   (lambda (&rest _) (expand-file-name "no/such/folder.org"))))
          (magent-session-export-to row))
        (magent-test-wait-for "the failure" (lambda ()
                                              (seq-find (lambda (message)
                                                          (string-match-p "folder" message))
                                                        messages))))
      (should-not (directory-files temporary-file-directory nil "\\`magent-export-")))))

;;;; Damage

(ert-deftest magent-sessions-that-are-damaged-are-recovered ()
  (magent-test-with-provider provider
    (let* ((session (magent-test-open-session))
           (id (magent-test-session-id session)))
      (magent-test-await-end session (magent-test-submit session "[[say One]]"))
      (magent-test--close session)
      (magent-test-write (magent-sessions-test--wait-closed id) "{")
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
                   (lambda (_prompt table &rest _)
                     (seq-find (lambda (choice) (string-match-p "cannot be read" choice))
                               (all-completions "" table)))))
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
