;;; magent-host-buffer-refusal-test.el --- Tests of buffers that stay as they are  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The Magent contributors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'magent-test-support)
(require 'magent-host-buffer)

(defun magent-host-buffer-refusal-test--edit (file &optional revision)
  "Return the answer to an edit of FILE that was read at REVISION."
  (magent-test-host 'buffer-edit :path file :old_text "one" :new_text "uno"
                    :expected_revision (or revision (magent-test-revision file))))

(defun magent-host-buffer-refusal-test--write (file &optional revision)
  "Return the answer to a write of FILE that was read at REVISION."
  (magent-test-host 'buffer-write :path file :text "uno\n"
                    :expected_revision (or revision (magent-test-revision file))))

(defun magent-host-buffer-refusal-test--refused (file code &optional revision)
  "Check that changes of FILE, read at REVISION, fail with CODE and change nothing.
The file's buffer is the current one."
  (let ((text (buffer-string)) (bytes (magent-test-bytes file))
        (modified (buffer-modified-p)))
    (dolist (change '(magent-host-buffer-refusal-test--edit
                      magent-host-buffer-refusal-test--write))
      (let ((answer (funcall change file revision)))
        (should-not (car answer))
        (should (equal (alist-get 'code (cdr answer)) code))
        (should (equal (buffer-string) text))
        (should (equal (buffer-modified-p) modified))
        (should (equal (magent-test-bytes file) bytes))))))

;;;; Not at all

(ert-deftest magent-host-buffer-unsaved-changes-of-the-user-are-not-touched ()
  (magent-test-visiting file "one\n"
    (insert "mine ")
    (magent-host-buffer-refusal-test--refused file "buffer_conflict")))

(ert-deftest magent-host-buffer-a-read-only-buffer-is-not-touched ()
  (magent-test-visiting file "one\n"
    (read-only-mode 1)
    (magent-host-buffer-refusal-test--refused file "buffer_conflict")))

(ert-deftest magent-host-buffer-read-only-text-is-not-touched ()
  (magent-test-with-log _log
    (magent-test-visiting file "one\n"
      (with-silent-modifications
        (put-text-property (point-min) (point-max) 'read-only t))
      (let ((answer (magent-host-buffer-refusal-test--edit file)))
        (should-not (car answer)))
      (should (equal (buffer-string) "one\n"))
      (should-not (buffer-modified-p))
      (should (equal (magent-test-bytes file) "one\n")))))

(ert-deftest magent-host-buffer-text-that-was-not-read-is-not-touched ()
  (magent-test-visiting file "one\n"
    (magent-host-buffer-refusal-test--refused
     file "stale_revision" (secure-hash 'sha256 "other"))
    (magent-host-buffer-refusal-test--refused file "stale_revision" "absent")))

(ert-deftest magent-host-buffer-no-buffer-is-opened-or-revived ()
  (magent-test-visiting file "one\n"
    (let ((buffer (current-buffer)))
      (kill-buffer)
      (dolist (answer (list (magent-host-buffer-refusal-test--edit file)
                            (magent-host-buffer-refusal-test--write file)
                            (magent-test-host 'buffer-read :path file)))
        (should (equal (alist-get 'code (cdr answer)) "buffer_not_found")))
      (should-not (buffer-live-p buffer))
      (should-not (find-buffer-visiting file)))))

;;;; Several buffers of one file

(defun magent-host-buffer-refusal-test--visit-twice (file make-name)
  "Visit FILE, and again by the name \"second\" that MAKE-NAME makes.
Return the second buffer."
  (funcall make-name file "second")
  (let ((find-file-existing-other-name nil) (find-file-suppress-same-file-warnings t))
    (should-not (eq (find-file-noselect "second") (find-file-noselect file)))
    (find-file-noselect "second")))

(ert-deftest magent-host-buffer-unsaved-changes-in-another-buffer-count ()
  (dolist (make-name '(make-symbolic-link add-name-to-file))
    (magent-test-visiting file "one\n"
      (let ((second (magent-host-buffer-refusal-test--visit-twice file make-name)))
        (with-current-buffer second (insert "mine "))
        (magent-host-buffer-refusal-test--refused file "buffer_conflict")
        (should (equal (alist-get 'text (magent-test-host-value 'buffer-read :path file))
                       "mine one\n"))
        (let-alist (magent-test-host-value 'buffer-state :path file)
          (should (equal (list .modified .buffer) (list t (buffer-name second)))))
        (should (equal (with-current-buffer second (buffer-string)) "mine one\n"))))))

(ert-deftest magent-host-buffer-all-clean-buffers-show-a-change ()
  (dolist (make-name '(make-symbolic-link add-name-to-file))
    (dolist (change '(magent-host-buffer-refusal-test--edit
                      magent-host-buffer-refusal-test--write))
      (magent-test-visiting file "one\n"
        (let ((second (magent-host-buffer-refusal-test--visit-twice file make-name)))
          (should (car (funcall change file)))
          (dolist (buffer (list (current-buffer) second))
            (with-current-buffer buffer
              (should (equal (buffer-string) "uno\n"))
              (should-not (buffer-modified-p))
              (should (verify-visited-file-modtime)))))))))

(ert-deftest magent-host-buffer-a-link-that-leads-elsewhere-now-is-not-followed ()
  (magent-test-with-directory
    (magent-test-write "old.txt" "one\n")
    (magent-test-write "new.txt" "one\n")
    (make-symbolic-link "old.txt" "link")
    (with-current-buffer (find-file-noselect "link")
      (make-symbolic-link "new.txt" "link" t)
      (should (equal (alist-get 'code (cdr (magent-host-buffer-refusal-test--edit
                                            (expand-file-name "old.txt"))))
                     "buffer_not_found"))
      (should (equal (magent-test-bytes "new.txt") "one\n")))))

;;;; Files that Emacs would ask about

(defun magent-host-buffer-refusal-test--message (answer)
  "Return the message of ANSWER, a failure."
  (alist-get 'message (cdr answer)))

(ert-deftest magent-host-buffer-a-write-protected-file-is-not-touched ()
  (magent-test-visiting file "one\n"
    (set-file-modes file #o444)
    ;; Root may write anything.
    (cl-letf (((symbol-function 'file-writable-p) (lambda (name) (not (equal name file)))))
      (magent-host-buffer-refusal-test--refused file "permission_denied")
      (should (string-match-p "file.txt is write-protected"
                              (magent-host-buffer-refusal-test--message
                               (magent-host-buffer-refusal-test--edit file)))))))

(ert-deftest magent-host-buffer-a-deleted-file-is-told-and-can-be-made-again ()
  (dolist (delete (list #'delete-file
                        (lambda (file) (delete-directory (file-name-directory file) t))))
    (magent-test-with-directory
      (make-directory "folder")
      (let* ((file (expand-file-name "folder/file.txt"))
             (revision (secure-hash 'sha256 "one\n")))
        (magent-test-write file "one\n")
        (with-current-buffer (find-file-noselect file)
          (funcall delete file)
          (dolist (change '(magent-host-buffer-refusal-test--edit
                            magent-host-buffer-refusal-test--write))
            (let ((answer (funcall change file revision)))
              (should (equal (alist-get 'code (cdr answer)) "not_found"))
              (should (string-match-p "does not exist any more.*\"absent\""
                                      (magent-host-buffer-refusal-test--message answer)))
              (should (equal (buffer-string) "one\n"))
              (should-not (file-exists-p file))))
          (let ((answer (magent-host-buffer-refusal-test--write file "absent")))
            (should (car answer))
            (should-not (alist-get 'old_text (cdr answer))))
          (should (equal (magent-test-bytes file) "uno\n"))
          (should (equal (buffer-string) "uno\n"))
          (should-not (buffer-modified-p)))))))

(ert-deftest magent-host-buffer-a-new-file-is-made-through-its-buffer ()
  (magent-test-with-directory
    (let ((file (expand-file-name "new.txt")))
      (with-current-buffer (find-file-noselect file)
        (should (car (magent-host-buffer-refusal-test--write file "absent")))
        (should (equal (magent-test-bytes file) "uno\n"))
        (should (equal (file-modes file) (logand #o666 (default-file-modes))))))))

(ert-deftest magent-host-buffer-what-is-no-file-any-more-is-told ()
  (magent-test-visiting file "one\n"
    (delete-file file)
    (make-directory file)
    (dolist (change '(magent-host-buffer-refusal-test--edit
                      magent-host-buffer-refusal-test--write))
      (should (equal (alist-get 'code (cdr (funcall change file
                                                    (secure-hash 'sha256 "one\n"))))
                     "is_directory")))))

(ert-deftest magent-host-buffer-a-file-that-another-emacs-edits-is-not-touched ()
  (magent-test-visiting file "one\n"
    ;; Process 1 runs as long as the system does.
    (make-symbolic-link (format "somebody@%s.1" (system-name))
                        (expand-file-name ".#file.txt"))
    (skip-unless (stringp (file-locked-p file)))
    (let ((create-lockfiles t))
      (magent-host-buffer-refusal-test--refused file "file_locked"))))

;;;; Files that changed

(defun magent-host-buffer-refusal-test--change-on-disk (file bytes)
  "Write BYTES to FILE as another program does, noticeably later."
  (magent-test-write file bytes)
  (set-file-times file (time-add nil 10)))

(ert-deftest magent-host-buffer-write-to-a-file-changed-on-disk-is-refused ()
  (magent-test-visiting file "one\n"
    (magent-host-buffer-refusal-test--change-on-disk file "theirs\n")
    (let ((answer (magent-host-buffer-refusal-test--write file)))
      (should (equal (alist-get 'code (cdr answer)) "disk_conflict")))
    (should (equal (magent-test-bytes file) "theirs\n"))
    (should (equal (buffer-string) "one\n"))))

(ert-deftest magent-host-buffer-edit-of-a-file-changed-on-disk-reads-it-first ()
  (magent-test-visiting file "one\n"
    (magent-host-buffer-refusal-test--change-on-disk file "theirs one\n")
    ;; What was read before the change counts no more.
    (should (equal (alist-get 'code (cdr (magent-host-buffer-refusal-test--edit
                                          file (secure-hash 'sha256 "one\n"))))
                   "stale_revision"))
    (should (equal (buffer-string) "theirs one\n"))
    (should (car (magent-host-buffer-refusal-test--edit file)))
    (should (equal (magent-test-bytes file) "theirs uno\n"))
    (should (equal (buffer-string) "theirs uno\n"))))

(ert-deftest magent-host-buffer-new-text-that-the-encoding-cannot-hold-is-refused ()
  (magent-test-visiting file "one \344\n"
    (should (eq (coding-system-type buffer-file-coding-system) 'charset))
    (dolist (answer
             (list (magent-test-host 'buffer-edit :path file :old_text "one"
                                     :new_text "🙂"
                                     :expected_revision (magent-test-revision file))
                   (magent-test-host 'buffer-write :path file :text "🙂"
                                     :expected_revision (magent-test-revision file))))
      (should (equal (alist-get 'code (cdr answer)) "unencodable"))
      (should (equal (buffer-string) "one ä\n"))
      (should-not (buffer-modified-p))
      (should (equal (magent-test-bytes file) "one \344\n")))))

(ert-deftest magent-host-buffer-an-ascii-file-becomes-utf-8 ()
  (dolist (eol '("\n" "\r\n"))
    (magent-test-visiting file (concat "one" eol)
      (let ((answer (magent-test-host
                     'buffer-edit :path file :old_text "one" :new_text "ä🙂"
                     :expected_revision (magent-test-revision file))))
        (should (equal (alist-get 'revision (cdr answer)) (magent-test-revision file))))
      (should (equal (magent-test-bytes file)
                     (concat "\303\244\360\237\231\202" eol))))))

;;;; Hooks

(defun magent-host-buffer-refusal-test--with-hook (hook function)
  "Edit a file whose buffer has FUNCTION on HOOK.
Return t or the code of the answer, the buffer's text, whether it is modified,
and the file."
  (magent-test-with-log _log
    (magent-test-visiting file "one \n"
      (add-hook hook function nil t)
      (let ((answer (magent-host-buffer-refusal-test--edit file)))
        (list (or (car answer) (alist-get 'code (cdr answer)))
              (buffer-string) (buffer-modified-p)
              (magent-test-bytes file))))))

(ert-deftest magent-host-buffer-a-change-is-taken-back-when-a-hook-signals ()
  (dolist (hook '(write-contents-functions write-file-functions
                                   first-change-hook before-change-functions))
    (should (equal (cons hook (magent-host-buffer-refusal-test--with-hook
                               hook (lambda (&rest _) (error "A hook with a bug"))))
                   (list hook "error" "one \n" nil "one \n")))))

(ert-deftest magent-host-buffer-a-hook-that-asks-fails-instead-of-waiting ()
  (dolist (ask (list (lambda () (y-or-n-p "Really? "))
                     (lambda () (read-string "Why? "))))
    (let (seen)
      (should (equal (magent-host-buffer-refusal-test--with-hook
                      'write-contents-functions
                      (lambda ()
                        (condition-case err (funcall ask)
                          (error (setq seen (car err))
                                 (signal (car err) (cdr err))))))
                     '("user_question" "one \n" nil "one \n")))
      ;; In batch Emacs a question fails anyway, but with end-of-file.
      (should (eq seen 'inhibited-interaction)))))

(ert-deftest magent-host-buffer-buffer-and-file-agree-when-other-hooks-signal ()
  ;; Emacs itself goes on after an error before saving; after saving the file is there,
  ;; and a buffer that seems clean must not differ from it.
  (dolist (hook '(before-save-hook after-save-hook))
    (should (equal (magent-host-buffer-refusal-test--with-hook
                    hook (lambda () (error "A hook with a bug")))
                   '(t "uno \n" nil "uno \n")))))

(ert-deftest magent-host-buffer-what-a-hook-changes-is-in-the-revision ()
  (magent-test-visiting file "one \n"
    (add-hook 'before-save-hook #'delete-trailing-whitespace nil t)
    (let ((answer (magent-host-buffer-refusal-test--edit file)))
      (should (equal (magent-test-bytes file) "uno\n"))
      (should (equal (alist-get 'revision (cdr answer)) (magent-test-revision file))))))

(ert-deftest magent-host-buffer-the-final-newline-is-the-models-choice ()
  (magent-test-visiting file "one\nend"
    (setq-local require-final-newline t
                mode-require-final-newline t)
    (should (car (magent-host-buffer-refusal-test--edit file)))
    (should (equal (magent-test-bytes file) "uno\nend"))))

(ert-deftest magent-host-buffer-mode-and-link-of-the-file-survive ()
  (magent-test-visiting file "one\n"
    (set-file-modes file #o751)
    (make-symbolic-link file "link")
    (let ((link (expand-file-name "link")))
      (should (car (magent-host-buffer-refusal-test--edit link))))
    (should (equal (file-modes file) #o751))
    (should (equal (file-symlink-p "link") file))
    (should (equal (magent-test-bytes file) "uno\n"))))

(provide 'magent-host-buffer-refusal-test)

;;; magent-host-buffer-refusal-test.el ends here
