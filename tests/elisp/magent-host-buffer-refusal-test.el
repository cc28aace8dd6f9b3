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
Return the answer, the buffer's text, whether it is modified, and the file."
  (magent-test-with-log _log
    (magent-test-visiting file "one \n"
      (add-hook hook function nil t)
      (let ((answer (magent-host-buffer-refusal-test--edit file)))
        (list (car answer) (buffer-string) (buffer-modified-p)
              (magent-test-bytes file))))))

(ert-deftest magent-host-buffer-a-change-is-taken-back-when-a-hook-signals ()
  (dolist (hook '(write-contents-functions write-file-functions
                                   first-change-hook before-change-functions))
    (should (equal (cons hook (magent-host-buffer-refusal-test--with-hook
                               hook (lambda (&rest _) (error "A hook with a bug"))))
                   (list hook nil "one \n" nil "one \n")))))

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
                     '(nil "one \n" nil "one \n")))
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
