;;; magent-host-buffer-test.el --- Tests of files in live buffers  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The Magent contributors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'magent-test-support)
(require 'magent-host-buffer)

(defun magent-host-buffer-test--write (file text &optional revision)
  "Return the value of writing TEXT to FILE at REVISION, by default the current."
  (magent-test-host-value 'buffer-write :path file :text text
                          :expected_revision (or revision (magent-test-revision file))))

(defun magent-host-buffer-test--edit (file old new)
  "Return the value of replacing OLD by NEW in FILE."
  (magent-test-host-value 'buffer-edit :path file :old_text old :new_text new
                          :expected_revision (magent-test-revision file)))

(defun magent-host-buffer-test--edit-code (file old new)
  "Return the code that replacing OLD by NEW in FILE fails with."
  (magent-test-host-code 'buffer-edit :path file :old_text old :new_text new
                         :expected_revision (magent-test-revision file)))

;;;; Looking

(ert-deftest magent-host-buffer-state-tells-what-a-buffer-is-like ()
  (magent-test-visiting file "text\n"
    (let ((state (lambda (path)
                   (mapcar #'cdr (magent-test-host-value 'buffer-state :path path)))))
      (should (equal (funcall state file) (list t nil nil (buffer-name))))
      (should (equal (funcall state (concat file "x")) '(nil nil nil nil)))
      (make-symbolic-link file "link")
      (should (equal (funcall state (expand-file-name "link"))
                     (list t nil nil (buffer-name))))
      (insert "more")
      (should (equal (funcall state file) (list t t nil (buffer-name))))
      (set-buffer-modified-p nil)
      (magent-test-write file "other")
      (set-file-times file (time-add nil 10))
      (should (equal (funcall state file) (list t nil t (buffer-name))))
      (kill-buffer)
      (should (equal (funcall state file) '(nil nil nil nil))))))

(ert-deftest magent-host-buffer-read-sees-unsaved-text-behind-a-narrowing ()
  (magent-test-visiting file "one\ntwo\n"
    (goto-char (point-max))
    (insert (propertize "drei äöü 🙂\n" 'face 'bold))
    (narrow-to-region 5 7)
    (goto-char 6)
    (let-alist (magent-test-host-value 'buffer-read :path file)
      (should (equal .text "one\ntwo\ndrei äöü 🙂\n"))
      (should (equal .modified t))
      (should (equal .narrowed t))
      (should (equal .buffer (buffer-name)))
      (should (equal .revision
                     (secure-hash 'sha256 (encode-coding-string .text 'utf-8-unix)))))
    (should (equal (list (point-min) (point-max) (point)) '(5 7 6)))
    (should (equal (magent-test-bytes file) "one\ntwo\n"))))

(defconst magent-host-buffer-test--encodings
  '((utf-8 . "a\303\244\n") (no-final-newline . "a\nb") (empty . "")
    (crlf . "a\r\nb\303\244\r\n") (mac . "a\rb\303\244\r")
    (mixed . "a\r\nb\nc\303\244\n") (bom . "\357\273\277a\303\244\n")
    (bom-crlf . "\357\273\277a\303\244\r\n") (latin-1 . "a\344\366\n")
    (utf-16 . "\377\376a\0\344\0\n\0") (utf-16-be . "\376\377\0a\0\344\0\n")
    (cookie . "-*- coding: latin-2 -*-\n\261\n"))
  "Contents of files with names.")

(ert-deftest magent-host-buffer-a-clean-buffer-has-the-revision-of-its-file ()
  (pcase-dolist (`(,name . ,bytes) magent-host-buffer-test--encodings)
    (magent-test-visiting file bytes
      (let-alist (magent-test-host-value 'buffer-read :path file)
        (should (equal (cons name .revision)
                       (cons name (secure-hash 'sha256 bytes))))))))

(ert-deftest magent-host-buffer-the-revision-is-that-of-what-saving-writes ()
  (pcase-dolist (`(,name . ,bytes) magent-host-buffer-test--encodings)
    (magent-test-visiting file bytes
      (goto-char (point-max))
      (insert "more\nlines\n")
      (let ((revision (alist-get 'revision
                                 (magent-test-host-value 'buffer-read :path file))))
        (let ((inhibit-message t)) (save-buffer))
        (should (equal (cons name revision)
                       (cons name (magent-test-revision file))))))))

(ert-deftest magent-host-buffer-bytes-that-are-no-text-are-refused ()
  (dolist (coding '(utf-8-unix no-conversion))
    (magent-test-visiting file "a\377b\303\244\n"
      (let ((coding-system-for-read coding)) (revert-buffer t t))
      (dolist (call `((buffer-read :path ,file)
                      (buffer-write :path ,file :text "new"
                                    :expected_revision ,(magent-test-revision file))
                      (buffer-edit :path ,file :old_text "b" :new_text "c"
                                   :expected_revision ,(magent-test-revision file))))
        (should (equal (cons coding (apply #'magent-test-host-code call))
                       (cons coding "binary")))))))

;;;; Changing

(ert-deftest magent-host-buffer-changes-keep-the-encoding-of-the-file ()
  (pcase-dolist (`(,name . ,bytes) magent-host-buffer-test--encodings)
    (unless (eq name 'empty)
      (magent-test-visiting file bytes
        (let ((revision (alist-get 'revision
                                   (magent-host-buffer-test--edit file "a" "xyz"))))
          (should (equal (cons name (magent-test-bytes file))
                         (cons name
                               (string-replace
                                "a" (if (eq name 'utf-16) "x\0y\0z"
                                      (if (eq name 'utf-16-be) "x\0y\0z" "xyz"))
                                bytes))))
          (should (equal revision (magent-test-revision file))))
        (should-not (buffer-modified-p))))))

(ert-deftest magent-host-buffer-write-replaces-and-saves-in-one-step-of-undo ()
  (magent-test-visiting file "one\ntwo\nthree\n"
    (insert "by the user\n")
    (let ((inhibit-message t)) (save-buffer))
    (let ((old (buffer-string)))
      (let-alist (magent-host-buffer-test--write file "zero\ntwo\nfour\nfive")
        (should (equal .old_text old))
        (should (equal .revision (magent-test-revision file))))
      (should (equal (buffer-string) "zero\ntwo\nfour\nfive"))
      (should (equal (magent-test-bytes file) "zero\ntwo\nfour\nfive"))
      (should-not (buffer-modified-p))
      (let ((last-command 'ignore) (inhibit-message t)) (undo))
      (should (equal (buffer-string) old)))))

(ert-deftest magent-host-buffer-edit-is-one-step-of-undo-and-tells-the-line ()
  (magent-test-visiting file "one\ntwo\nthree\n"
    (insert "by the user\n")
    (let ((inhibit-message t)) (save-buffer))
    (should (= 3 (alist-get 'line (magent-host-buffer-test--edit file "two\n" "2\n2\n"))))
    (should (equal (buffer-string) "by the user\none\n2\n2\nthree\n"))
    (let ((last-command 'ignore) (inhibit-message t)) (undo))
    (should (equal (buffer-string) "by the user\none\ntwo\nthree\n"))))

(ert-deftest magent-host-buffer-point-mark-markers-and-narrowing-survive ()
  (dolist (change (list (lambda (file) (magent-host-buffer-test--edit file "one" "ONE!!"))
                        (lambda (file) (magent-host-buffer-test--write
                                        file "ONE!!\ntwo\nthree\nfour\n"))))
    (magent-test-visiting file "one\ntwo\nthree\nfour\n"
      (let ((marker (copy-marker 16)))  ; The u of four.
        (set-mark 12)                   ; The e of three.
        (goto-char 6)                   ; The w of two.
        (narrow-to-region 5 9)
        (funcall change file)
        (should (looking-at-p "wo$"))
        (should (equal (buffer-string) "two\n"))
        (widen)
        (should (equal (char-after (mark)) ?e))
        (should (equal (char-after marker) ?o))
        (should (equal (buffer-string) "ONE!!\ntwo\nthree\nfour\n"))))))

(ert-deftest magent-host-buffer-a-window-keeps-its-place ()
  (magent-test-visiting file (concat "first\n" (apply #'concat (make-list 200 "line\n")))
    (save-window-excursion
      (switch-to-buffer (current-buffer))
      (goto-char 500)
      (let ((after (buffer-substring 500 (point-max))))
        (magent-host-buffer-test--edit file "first" "the very first")
        (should (equal (buffer-substring (point) (point-max)) after))
        (should (equal (window-point) (point)))))))

;;;; Matching

(ert-deftest magent-host-buffer-edit-wants-exactly-one-literal-match ()
  (magent-test-visiting file "aaa\nA.c abc\nback\\slash\n"
    (pcase-dolist (`(,old . ,code) '(("nowhere" . "no_match") ("AA" . "no_match")
                                     ("aa" . "not_unique") ("a" . "not_unique")))
      (should (equal (cons old (magent-host-buffer-test--edit-code file old "x"))
                     (cons old code))))
    (should (equal (magent-test-bytes file) "aaa\nA.c abc\nback\\slash\n"))
    (magent-host-buffer-test--edit file "A.c" "\\&\\1$0")
    (magent-host-buffer-test--edit file "k\\s" "k/s")
    (should (equal (magent-test-bytes file) "aaa\n\\&\\1$0 abc\nback/slash\n"))))

(ert-deftest magent-host-buffer-edit-of-nothing-fails ()
  (magent-test-visiting file "text\n"
    (should (equal (magent-host-buffer-test--edit-code file "" "x") "no_match"))))

(provide 'magent-host-buffer-test)

;;; magent-host-buffer-test.el ends here
