;;; magent-host-buffer-save-test.el --- Tests of saving live buffers  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The Magent contributors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'magent-test-support)
(require 'magent-host-buffer)

(defun magent-host-buffer-save-test--edit (file)
  "Return the answer to an edit of FILE, one to uno, at its revision."
  (magent-test-host 'buffer-edit :path file :old_text "one" :new_text "uno"
                    :expected_revision (magent-test-revision file)))

(defun magent-host-buffer-save-test--write (file revision)
  "Return the answer to a write of FILE that was read at REVISION."
  (magent-test-host 'buffer-write :path file :text "uno\n"
                    :expected_revision revision))

(defun magent-host-buffer-save-test--identity (file)
  "Return the owner, group and mode of FILE."
  (let ((attributes (file-attributes file 'integer)))
    (list (file-attribute-user-id attributes) (file-attribute-group-id attributes)
          (file-attribute-modes attributes))))

(defmacro magent-host-buffer-save-test--through (visited bytes &rest body)
  "Visit VISITED after file.txt was written with BYTES, and evaluate BODY.
VISITED is evaluated when file.txt is there, in its folder, and makes the name."
  (declare (indent 2) (debug t))
  `(magent-test-with-directory
     (magent-test-write "file.txt" ,bytes)
     (with-current-buffer (let ((find-file-visit-truename nil)
                                (vc-follow-symlinks nil))
                            (find-file-noselect ,visited))
       (buffer-enable-undo)
       ,@body)))

(defvar vc-follow-symlinks)

;;;; What a file is

(ert-deftest magent-host-buffer-a-link-that-is-visited-stays-one ()
  (dolist (change (list #'magent-host-buffer-save-test--edit
                        (lambda (file) (magent-host-buffer-save-test--write
                                        file (magent-test-revision file)))))
    (magent-host-buffer-save-test--through
        (progn (make-directory "elsewhere")
               (make-symbolic-link "../file.txt" "elsewhere/link")
               (make-symbolic-link "elsewhere" "folder")
               (make-symbolic-link "folder/link" "chain")
               "chain")
        "one\n"
      (set-file-modes "file.txt" #o640)
      (should (car (funcall change (expand-file-name "file.txt"))))
      (should (equal (magent-test-bytes "file.txt") "uno\n"))
      (should (equal (file-modes "file.txt") #o640))
      (should (equal (mapcar #'file-symlink-p '("chain" "folder" "elsewhere/link"))
                     '("folder/link" "elsewhere" "../file.txt")))
      (should (equal (file-name-nondirectory buffer-file-name) "chain"))
      (should-not (buffer-modified-p))
      (should (verify-visited-file-modtime))
      (should (equal (directory-files default-directory nil "\\`[^.]\\|magent")
                     '("chain" "elsewhere" "file.txt" "folder"))))))

(ert-deftest magent-host-buffer-further-names-of-a-file-stay ()
  (magent-host-buffer-save-test--through
      (progn (add-name-to-file "file.txt" "other") "other")
      "one\n"
    (should (car (magent-host-buffer-save-test--edit (expand-file-name "file.txt"))))
    (should (equal (magent-test-bytes "file.txt") "uno\n"))
    (should (equal (magent-test-bytes "other") "uno\n"))
    (should (= 2 (file-nlinks "other")))))

(ert-deftest magent-host-buffer-the-owner-of-a-file-stays ()
  (unless (zerop (user-uid))
    (ert-skip "only root can give a file away"))
  (magent-test-visiting file "one\n"
    (should (zerop (call-process "chown" nil nil nil "1234:4321" file)))
    (set-file-modes file #o604)
    (set-visited-file-modtime)
    (should (car (magent-host-buffer-save-test--edit file)))
    (should (equal (magent-test-bytes file) "uno\n"))
    (should (equal (magent-host-buffer-save-test--identity file)
                   '(1234 4321 "-rw----r--")))))

(ert-deftest magent-host-buffer-backups-are-made-as-the-user-wants-and-break-nothing ()
  (pcase-dolist (`(,make ,versions ,names)
                 '((nil nil ("file.txt" "other")) (t nil ("file.txt" "file.txt~" "other"))
                   ;; Versions over the limit raise a question.
                   (t t ("file.txt" "file.txt.~1~" "file.txt.~2~" "file.txt.~3~" "other"))))
    (magent-test-visiting file "one\n"
      (add-name-to-file file "other")
      (when versions
        (magent-test-write "file.txt.~1~" "")
        (magent-test-write "file.txt.~2~" ""))
      (let ((make-backup-files make) (version-control versions)
            (backup-inhibited nil)
            (kept-old-versions 0) (kept-new-versions 1) (delete-old-versions nil)
            (backup-by-copying nil) (backup-by-copying-when-linked nil))
        (should (car (magent-host-buffer-save-test--edit file))))
      (should (equal (directory-files default-directory nil "\\`[^.]") names))
      (when make
        (should (equal (magent-test-bytes (nth (- (length names) 2) names)) "one\n")))
      (should (equal (magent-test-bytes "other") "uno\n")))))

(ert-deftest magent-host-buffer-a-compressed-file-stays-one ()
  (unless (executable-find "gzip")
    (ert-skip "gzip is not installed"))
  (magent-test-with-directory
    (let ((file (expand-file-name "file.txt.gz")) (inhibit-message t))
      (auto-compression-mode 1)
      (write-region "one\n" nil file)
      (with-current-buffer (find-file-noselect file)
        (should (car (magent-test-host 'buffer-edit :path file
                                       :old_text "one" :new_text "uno"
                                       :expected_revision (secure-hash 'sha256 "one\n")))))
      (should (equal (substring (magent-test-bytes file) 0 2) "\37\213"))
      (with-temp-buffer
        (insert-file-contents file)
        (should (equal (buffer-string) "uno\n"))))))

(ert-deftest magent-host-buffer-a-failed-save-leaves-file-and-buffer ()
  (pcase-dolist (`(,names ,condition ,code)
                 '((1 file-error "io") (2 file-error "io")
                   (1 permission-denied "permission_denied")))
    (magent-test-visiting file "one\n"
      (when (= names 2)
        (add-name-to-file file "other"))
      (let* ((write (symbol-function 'write-region))
             (answer (cl-letf (((symbol-function 'write-region)
                                (lambda (start end name &rest more)
                                  (apply write start end name more)
                                  (unless (stringp start)
                                    (signal condition '("Writing" "No space left"))))))
                       (magent-host-buffer-save-test--edit file))))
        (should (equal (alist-get 'code (cdr answer)) code)))
      (should (equal (magent-test-bytes file) "one\n"))
      (should (equal (buffer-string) "one\n"))
      (should-not (buffer-modified-p))
      (should (verify-visited-file-modtime))
      (should (= names (length (directory-files default-directory nil "\\`[^.]\\|magent")))))))

;;;; What was saved

(ert-deftest magent-host-buffer-a-hook-that-only-claims-to-save-is-found-out ()
  (magent-test-visiting file "one\n"
    (add-hook 'write-contents-functions #'always nil t)
    (should (equal (alist-get 'code (cdr (magent-host-buffer-save-test--edit file)))
                   "not_saved"))
    (should (equal (magent-test-bytes file) "one\n"))
    (should (equal (buffer-string) "one\n"))
    (should-not (buffer-modified-p))))

(ert-deftest magent-host-buffer-a-file-that-differs-from-its-buffer-is-told ()
  (magent-test-visiting file "one\n"
    (add-hook 'after-save-hook (lambda () (magent-test-write file "theirs\n")) nil t)
    (let ((answer (magent-host-buffer-save-test--edit file)))
      (should (equal (alist-get 'code (cdr answer)) "disk_conflict"))
      (should (string-match-p "holds other bytes" (alist-get 'message (cdr answer)))))
    (should (equal (buffer-string) "uno\n"))))

(provide 'magent-host-buffer-save-test)

;;; magent-host-buffer-save-test.el ends here
