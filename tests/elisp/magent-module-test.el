;;; magent-module-test.el --- Tests of finding and calling the module  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The Magent contributors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'magent-test-support)
(require 'magent-core)

;;;; Finding

(defmacro magent-module-test--without-module (&rest body)
  "Evaluate BODY as if no module were loaded or built, in a new folder."
  (declare (indent 0) (debug t))
  `(magent-test-with-directory
     (let ((process-environment (cons "MAGENT_MODULE" process-environment))
           (magent-module-directory (expand-file-name "installed/")))
       (cl-letf (((symbol-function 'magent-core-abi) nil)
                 ((symbol-value 'magent-module--source-directory)
                  default-directory))
         ,@body))))

(defun magent-module-test--name (hash &optional abi)
  "Return the name of a module with HASH for the version ABI, by default ours."
  (format "magent-core-module-%s-%s%s"
          (or abi magent-module-abi) hash module-file-suffix))

(defun magent-module-test--put (directory name &optional age)
  "Make the file NAME in DIRECTORY, AGE seconds old, and return its full name."
  (let ((file (expand-file-name name directory)))
    (make-directory directory t)
    (magent-test-write file "no module")
    (set-file-times file (time-subtract nil (or age 0)))
    file))

(ert-deftest magent-module-a-missing-module-is-told-with-a-way-out ()
  (magent-module-test--without-module
    (cl-letf (((symbol-function 'compilation-start)
               (lambda (&rest _) (ert-fail "A build was started"))))
      ;; Both the function for programs and the one for commands: batch Emacs must
      ;; neither ask nor build.
      (dolist (load '(magent-module-load magent-module-ensure))
        (let ((err (should-error (funcall load) :type 'magent-config-error)))
          (should (equal (nthcdr 2 err)
                         '(config "module-missing" "Run M-x magent-module-install.")))
          (should (string-match-p "is not built" (magent-error-message err)))
          (should (string-match-p "magent-module-install" (magent-error-message err))))))))

(ert-deftest magent-module-another-version-is-told-with-both-versions ()
  (magent-module-test--without-module
    (cl-letf (((symbol-function 'magent-core-abi) (lambda () "0.0.9+7"))
              ((symbol-function 'module-load)
               (lambda (_) (ert-fail "A second module was loaded"))))
      (let ((err (should-error (magent-module-ensure) :type 'magent-config-error)))
        (should (equal (nth 3 err) "module-version"))
        (should (string-match-p (regexp-quote "0.0.9+7") (nth 1 err)))
        (should (string-match-p (regexp-quote magent-module-abi) (nth 1 err)))
        (should (string-match-p "restart Emacs" (nth 4 err)))))))

(ert-deftest magent-module-advice-on-a-command-line-is-a-command ()
  (magent-module-test--without-module
    (let ((magent-module-command-line t))
      (should (equal (nth 4 (should-error (magent-module-load)))
                     (format "Run make build in %s."
                             (directory-file-name magent-module--source-directory))))
      (cl-letf (((symbol-function 'magent-core-abi) (lambda () "0.0.9+7")))
        (should (string-prefix-p "Run make build in "
                                 (nth 4 (should-error (magent-module-load)))))))))

(ert-deftest magent-module-a-person-is-asked-before-a-build ()
  (magent-module-test--without-module
    (let (asked built (answer nil))
      (cl-letf (((symbol-value 'noninteractive) nil)
                ((symbol-function 'y-or-n-p) (lambda (_) (setq asked t) answer))
                ((symbol-function 'magent-module-install) (lambda () (setq built t))))
        (should-error (magent-module-ensure) :type 'magent-config-error)
        (should asked)
        (should-not built)
        (setq answer t)
        (should-error (magent-module-ensure) :type 'user-error)
        (should built)))))

(ert-deftest magent-module-a-build-that-runs-is-not-started-again ()
  (magent-module-test--without-module
    (let ((build (make-process :name "build" :command '("cat") :connection-type 'pipe
                               :buffer (get-buffer-create "*magent-module*"))))
      (unwind-protect
          (cl-letf (((symbol-value 'noninteractive) nil)
                    ((symbol-function 'y-or-n-p) (lambda (&rest _) (error "Asked"))))
            (should (string-search
                     "still being built"
                     (cadr (should-error (magent-module-ensure) :type 'user-error)))))
        (delete-process build)
        (kill-buffer "*magent-module*")))))

(ert-deftest magent-module-a-file-that-is-no-module-is-told ()
  (magent-module-test--without-module
    (dolist (file (list (magent-module-test--put default-directory "broken.so")
                        (expand-file-name "absent.so")))
      (setenv "MAGENT_MODULE" file)
      (let ((err (should-error (magent-module-load) :type 'magent-config-error)))
        (should (equal (nth 3 err) "module-load"))
        (should (string-match-p (regexp-quote file) (nth 1 err)))))))

(ert-deftest magent-module-the-environment-comes-first-then-the-newest ()
  (magent-module-test--without-module
    (should-not (magent-module-find))
    (let ((installed (magent-module-test--put magent-module-directory
                                              (magent-module-test--name "aaaa") 30)))
      (magent-module-test--put "build" (magent-module-test--name "cccc") 60)
      (should (equal (magent-module-find) installed))
      (let ((built (magent-module-test--put "build" (magent-module-test--name "bbbb") 10)))
        (should (equal (magent-module-find) built)))
      (setenv "MAGENT_MODULE" "/somewhere/else.so")
      (should (equal (magent-module-find) "/somewhere/else.so"))
      (setenv "MAGENT_MODULE" "")
      (should (string-match-p "bbbb" (magent-module-find))))))

(ert-deftest magent-module-the-newest-of-this-version-is-found ()
  (magent-module-test--without-module
    (magent-module-test--put "build" (magent-module-test--name "0001") 30)
    (magent-module-test--put "build" (magent-module-test--name "0002") 10)
    (magent-module-test--put "build" (magent-module-test--name "0003") 20)
    (magent-module-test--put "build" (magent-module-test--name "0004" "9.9.9+9"))
    (magent-module-test--put "build" (concat (magent-module-test--name "0005") "-tmp"))
    (should (equal (file-name-nondirectory (magent-module-find))
                   (magent-module-test--name "0002")))))

;;;; Installing

(ert-deftest magent-module-a-library-is-installed-once-under-its-hash ()
  (magent-test-with-directory
    (let ((library (expand-file-name "lib.so"))
          (folder (expand-file-name "a/b/")))
      (magent-test-write library "first \300\n")
      (let ((first (magent-module-install-file library folder)))
        (should (equal (file-name-nondirectory first)
                       (magent-module-test--name
                        (substring (magent-test-revision library) 0 8))))
        (should (equal (magent-test-bytes first) "first \300\n"))
        ;; A file that may be loaded must never be written to again.
        (let ((inode (file-attribute-inode-number (file-attributes first))))
          (should (equal (magent-module-install-file library folder) first))
          (should (equal (file-attribute-inode-number (file-attributes first)) inode)))
        (magent-test-write library "second")
        (let ((second (magent-module-install-file library folder)))
          (should-not (equal second first))
          (should (equal (magent-test-bytes second) "second"))
          (should (equal (magent-test-bytes first) "first \300\n")))
        (should (= 2 (length (directory-files folder nil "\\`[^.]"))))))))

(ert-deftest magent-module-a-newer-build-replaces-an-older-version-in-memory ()
  (magent-module-test--without-module
    (let ((library (magent-module-test--put default-directory "lib.so"))
          (version "0.0.9+7")
          (inhibit-message t)
          calls)
      (cl-letf (((symbol-function 'magent-core-abi) (lambda () version))
                ((symbol-function 'magent-core-shutdown)
                 (lambda (_) (push 'shutdown calls)))
                ((symbol-function 'module-load)
                 (lambda (file)
                   (setq version magent-module-abi)
                   (push file calls))))
        (magent-module--installed library)
        ;; The old core has to end first, and the new one is another file.
        (should (eq (nth 1 calls) 'shutdown))
        (should (string-prefix-p magent-module-directory (nth 0 calls)))
        ;; The version in memory fits now, so it stays.
        (setq calls nil)
        (magent-module--installed library)
        (should-not calls)))))

(ert-deftest magent-module-without-source-or-cargo-no-build-is-started ()
  (magent-module-test--without-module
    (cl-letf (((symbol-function 'compilation-start)
               (lambda (&rest _) (ert-fail "A build was started"))))
      ;; People are shown the sentences alone.
      (let ((err (should-error (magent-module-install) :type 'user-error)))
        (should (string-match-p "\\`There is no source .* with the folder crates\\.\\'"
                                (error-message-string err))))
      (magent-test-write "Cargo.toml" "")
      (let* ((exec-path nil)
             (err (should-error (magent-module-install) :type 'user-error)))
        (should (string-match-p "\\`Building .* https://rustup\\.rs\\.\\'"
                                (error-message-string err)))))))

;;;; Loading Lisp

(ert-deftest magent-module-loading-lisp-starts-and-writes-nothing ()
  (let* ((files (directory-files magent-test-lisp-directory t "\\`magent.*\\.el\\'"))
         (home (make-temp-file "home-" t))
         (process-environment (cons (concat "HOME=" home) process-environment))
         (seen (magent-test-emacs
                `(progn
                   (dolist (file ',files) (load file nil t t))
                   (list (process-list) (fboundp 'magent-core-abi)
                         (and (get-buffer "*magent-log*") t)
                         (featurep 'magent-agent-shell))))))
    (should (> (length files) 10))
    (should (equal seen '(nil nil nil t)))
    (should-not (directory-files home nil directory-files-no-dot-files-regexp))
    (delete-directory home t)))

(provide 'magent-module-test)

;;; magent-module-test.el ends here
