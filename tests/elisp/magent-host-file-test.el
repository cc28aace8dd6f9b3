;;; magent-host-file-test.el --- Tests of files that only Emacs can read  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The Magent contributors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'magent-test-support)
(require 'magent-host-file)

(defmacro magent-host-file-test--with (file bytes &rest body)
  "Write BYTES to a new file, bind FILE to its name and evaluate BODY."
  (declare (indent 2) (debug (symbolp form body)))
  `(magent-test-with-directory
     (let ((,file (expand-file-name "file.txt")))
       (magent-test-write ,file ,bytes)
       ,@body)))

(defun magent-host-file-test--edit (file old new)
  "Return the answer to replacing OLD by NEW in FILE as it is."
  (magent-test-host 'file-edit :path file :old_text old :new_text new
                    :expected_revision (magent-test-revision file)))

(defun magent-host-file-test--write (file text &optional revision)
  "Return the answer to writing TEXT to FILE at REVISION, by default as it is."
  (magent-test-host 'file-write :path file :text text
                    :expected_revision (or revision (magent-test-revision file))))

(defun magent-host-file-test--code (answer)
  "Return the code of ANSWER, which must be a failure."
  (should-not (car answer))
  (alist-get 'code (cdr answer)))

(defconst magent-host-file-test--encodings
  '(("ä\n" . "\344\n") ("ä\nno end" . "\344\nno end") ("ä\nb\n" . "\344\r\nb\r\n")
    ("-*- coding: latin-2 -*-\ną\n" . "-*- coding: latin-2 -*-\n\261\n")
    ("aä\n" . "\377\376a\0\344\0\n\0")
    ("a\nb\n" . "\377\376a\0\r\0\n\0b\0\r\0\n\0") ("a\nb\n" . "\376\377\0a\0\r\0\n\0b\0\r\0\n")
    ("a\r\nb\n" . "\377\376a\0\r\0\n\0b\0\n\0") ("\n" . "\377\376\r\0\n\0")
    ("ä\r\nb\n" . "\344\r\nb\n")
    ("aä\n" . "\376\377\0a\0\344\0\n")
    ("aä🙂\n" . "a\303\244\360\237\231\202\n") ("" . "") ("plain\n" . "plain\n")
    ("-*- coding: euc-jp -*- 日本\n"
     . "-*- coding: euc-jp -*- \306\374\313\334\n"))
  "Texts and the bytes of a file that holds them.")

(ert-deftest magent-host-file-read-decodes-and-tells-the-revision-of-the-bytes ()
  (pcase-dolist (`(,text . ,bytes) magent-host-file-test--encodings)
    (magent-host-file-test--with file bytes
      (let-alist (magent-test-host-value 'file-read :path file)
        (should (equal .text text))
        (should (equal .revision (secure-hash 'sha256 bytes)))))))

(ert-deftest magent-host-file-read-runs-nothing-of-the-file-and-keeps-no-buffer ()
  (magent-host-file-test--with file
      "-*- mode: emacs-lisp; eval: (error \"Evaluated\") -*-\n\344\n"
    (let ((buffers (buffer-list))
          (find-file-hook (list (lambda () (error "A hook ran"))))
          (enable-local-eval t) (enable-local-variables :all))
      (magent-test-host-value 'file-read :path file)
      (should (car (magent-host-file-test--edit file "ä" "ö")))
      (should (equal (buffer-list) buffers)))))

(ert-deftest magent-host-file-what-is-no-moderate-text-file-is-told ()
  (magent-test-with-directory
    (let ((file (expand-file-name "file")))
      (cl-flet ((code () (magent-test-host-code 'file-read :path file)))
        (should (equal (code) "not_found"))
        (make-directory file)
        (should (equal (code) "is_directory"))
        (delete-directory file)
        (make-symbolic-link "nowhere" file)
        (should (equal (code) "not_found"))
        (delete-file file)
        (call-process "mkfifo" nil nil nil file)
        (should (equal (code) "not_a_regular_file"))
        (delete-file file)
        (magent-test-write file "12345678")
        (let ((magent-host-file--size-limit 7))
          (should (equal (code) "too_large")))))))

(ert-deftest magent-host-file-bytes-that-no-coding-explains-are-told ()
  (dolist (bytes '("-*- coding: utf-8 -*-\na\344\n" "-*- coding: utf-8 -*-\n\355\240\275"
                   "-*- coding: utf-8 -*-\n\300\257"))
    (magent-host-file-test--with file bytes
      (should (equal (magent-test-host-code 'file-read :path file) "undecodable"))
      (should (equal (magent-host-file-test--code
                      (magent-host-file-test--edit file "a" "b"))
                     "undecodable"))))
  ;; A coding system that Emacs does not have is no reason to give up.
  (magent-host-file-test--with file "-*- coding: bogus-8 -*-\n\344\n"
    (should (equal (alist-get 'text (magent-test-host-value 'file-read :path file))
                   "-*- coding: bogus-8 -*-\nä\n"))))

(ert-deftest magent-host-file-an-edit-leaves-all-other-bytes ()
  (dolist (bytes '("x\344\r\nend" "\357\273\277x\303\244\n" "x\344\n"
                   "-*- coding: latin-2 -*-\nx\261"))
    (magent-host-file-test--with file bytes
      (set-file-modes file #o741)
      (let ((answer (magent-host-file-test--edit file "x" "wxyz")))
        (should (car answer))
        (should (equal (magent-test-bytes file) (string-replace "x" "wxyz" bytes)))
        (should (equal (alist-get 'revision (cdr answer)) (magent-test-revision file))))
      (should (equal (file-modes file) #o741))
      (should (equal (directory-files "." nil "\\`[^.]\\|magent") '("file.txt"))))))

(ert-deftest magent-host-file-a-link-that-was-not-checked-is-not-followed ()
  (magent-host-file-test--with file "one \344\n"
    (make-symbolic-link file "link")
    (let ((answer (magent-host-file-test--edit (expand-file-name "link") "one" "two")))
      (should-not (car answer))
      (should (equal (alist-get 'code (cdr answer)) "resource-identity-changed")))
    (should (equal (magent-test-bytes file) "one \344\n"))))

(ert-deftest magent-host-file-other-names-of-a-file-stay-names-of-it ()
  (magent-host-file-test--with file "one \344\n"
    (add-name-to-file file "other")
    (should (car (magent-host-file-test--edit file "one" "two")))
    (should (equal (magent-test-bytes (expand-file-name "other")) "two \344\n"))
    (should (equal (file-attribute-link-number (file-attributes file)) 2))))

(ert-deftest magent-host-file-write-protection-counts ()
  (magent-host-file-test--with file "one \344\n"
    ;; The superuser may write anywhere, so the answer is given instead.
    (cl-letf (((symbol-function 'file-writable-p) #'ignore))
      (let ((answer (magent-host-file-test--edit file "one" "two")))
        (should (equal (alist-get 'code (cdr answer)) "permission_denied"))))
    (should (equal (magent-test-bytes file) "one \344\n"))))

(ert-deftest magent-host-file-a-failed-write-in-place-puts-the-old-bytes-back ()
  (magent-test-with-log _log
    (magent-host-file-test--with file "one \344\n"
      (add-name-to-file file "other")
      (let ((write (symbol-function 'write-region)) (calls 0))
        (cl-letf (((symbol-function 'write-region)
                   (lambda (text _end path &rest rest)
                     (when (= 1 (setq calls (1+ calls)))
                       (funcall write "on" nil path nil 'quiet)
                       (signal 'file-error '("Writing" "No space")))
                     (apply write text nil path rest))))
          (should-not (car (magent-host-file-test--edit file "one" "two")))))
      (should (equal (magent-test-bytes file) "one \344\n")))))

(ert-deftest magent-host-file-an-edit-wants-exactly-one-literal-match ()
  (magent-host-file-test--with file "\344 a.c\nabc aaa\n"
    (pcase-dolist (`(,old . ,code) '(("x" . "no_match") ("A.C" . "no_match")
                                     ("aa" . "not_unique") ("a" . "not_unique")))
      (should (equal (magent-host-file-test--code (magent-host-file-test--edit file old ""))
                     code)))
    (let ((answer (magent-host-file-test--edit file "bc" "\\&\\1")))
      (should (equal (alist-get 'line (cdr answer)) 2)))
    (should (equal (magent-test-bytes file) "\344 a.c\na\\&\\1 aaa\n"))))

(ert-deftest magent-host-file-stale-and-unencodable-texts-change-nothing ()
  (magent-host-file-test--with file "one \344\n"
    (should (equal (magent-host-file-test--code
                    (magent-host-file-test--write file "two\n" (make-string 64 ?0)))
                   "stale_revision"))
    (should (equal (magent-host-file-test--code
                    (magent-host-file-test--write file "two\n" "absent"))
                   "stale_revision"))
    (should (equal (magent-host-file-test--code (magent-host-file-test--write file "🙂"))
                   "unencodable"))
    (should (equal (magent-host-file-test--code
                    (magent-host-file-test--edit file "one" "🙂"))
                   "unencodable"))
    (should (equal (magent-test-bytes file) "one \344\n"))
    (should (equal (directory-files "." nil "\\`[^.]\\|magent") '("file.txt")))))

(ert-deftest magent-host-file-write-keeps-the-encoding-and-tells-the-old-text ()
  (magent-host-file-test--with file "ein \344\r\n"
    (let ((answer (magent-host-file-test--write file "ö\nu\n")))
      (should (equal (alist-get 'old_text (cdr answer)) "ein ä\n")))
    (should (equal (magent-test-bytes file) "\366\r\nu\r\n"))))

(ert-deftest magent-host-file-a-new-file-is-utf-8-and-gets-its-folders ()
  (magent-test-with-directory
    (let ((file (expand-file-name "a/b/new.txt")))
      (should (equal (magent-host-file-test--code
                      (magent-host-file-test--write file "ä" (make-string 64 ?0)))
                     "stale_revision"))
      (should-not (file-exists-p "a"))
      (let ((answer (magent-host-file-test--write file "ä🙂\r\n" "absent")))
        (should (car answer))
        (should-not (alist-get 'old_text (cdr answer)))
        (should (equal (alist-get 'revision (cdr answer)) (magent-test-revision file))))
      (should (equal (magent-test-bytes file) "\303\244\360\237\231\202\r\n"))
      (should (= (file-modes file) (logand #o666 (default-file-modes)))))))

(ert-deftest magent-host-file-a-failed-write-leaves-no-temporary-file ()
  (magent-test-with-log _log
    (magent-host-file-test--with file "one \344\n"
      (cl-letf (((symbol-function 'rename-file)
                 (lambda (&rest _) (signal 'file-error '("Renaming" "No space")))))
        (should-not (car (magent-host-file-test--edit file "one" "two"))))
      (should (equal (directory-files "." nil directory-files-no-dot-files-regexp)
                     '("file.txt")))
      (should (equal (magent-test-bytes file) "one \344\n")))))

(provide 'magent-host-file-test)

;;; magent-host-file-test.el ends here
