;;; magent-test-support.el --- What the tests have in common  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The Magent contributors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A home of its own for the tests, packages, functions for files and buffers, and the
;; demo provider.
;;
;; The environment tells where things are: MAGENT_MODULE is the module's file,
;; MAGENT_DEMO_PROVIDER the program of the demo provider, and MAGENT_ELPA a folder with
;; package folders.  What is not there is skipped, with this as the reason.

;;; Code:

(require 'cl-lib)
(require 'ert)

;;;; A home of its own

;; This comes before any file of Magent is loaded: options take their defaults from it.

(defconst magent-test-lisp-directory
  (expand-file-name "lisp" default-directory)
  "Folder of the files that are tested.")

(defconst magent-test-root
  (file-truename (file-name-as-directory (make-temp-file "magent-test-" t)))
  "Folder that everything is written to and that is deleted in the end.")

(defun magent-test--make-home ()
  "Point everything that may be written to below the root of the tests."
  (let ((home (expand-file-name "home" magent-test-root))
        (temporary (expand-file-name "tmp/" magent-test-root)))
    (dolist (variable '("MAGENT_MODULE" "MAGENT_DEMO_PROVIDER" "MAGENT_ELPA"))
      (when-let* ((value (getenv variable)))
        (setenv variable (and (not (string-empty-p value))
                              (expand-file-name value)))))
    (make-directory home t)
    (make-directory temporary t)
    (setenv "HOME" home)
    (setenv "TMPDIR" temporary)
    (dolist (variable '("XDG_CONFIG_HOME" "XDG_CACHE_HOME" "XDG_DATA_HOME"
                        "XDG_STATE_HOME" "MAGENT_INIT" "SSL_CERT_FILE"
                        "http_proxy" "https_proxy" "no_proxy" "HTTP_PROXY"
                        "HTTPS_PROXY" "NO_PROXY" "ALL_PROXY" "all_proxy"))
      (setenv variable nil))
    (setq user-emacs-directory (expand-file-name ".emacs.d/" home)
          temporary-file-directory temporary
          native-comp-jit-compilation nil
          native-comp-enable-subr-trampolines nil
          load-prefer-newer t
          create-lockfiles nil
          make-backup-files nil)))

(defun magent-test--clean-up ()
  "Delete everything that the tests wrote."
  (ignore-errors (delete-directory magent-test-root t)))

(defvar native-comp-jit-compilation)
(defvar native-comp-enable-subr-trampolines)

(magent-test--make-home)
;; The core writes until it is shut down, which another function of this hook does.
(add-hook 'kill-emacs-hook #'magent-test--clean-up 100)

;;;; What is installed

(defun magent-test--add-packages ()
  "Make the packages in the folder that MAGENT_ELPA names available."
  (when-let* ((directory (getenv "MAGENT_ELPA"))
              ((file-directory-p directory)))
    (dolist (package (directory-files directory t "\\`[^.]"))
      (when (file-directory-p package)
        (add-to-list 'load-path package)))))

(magent-test--add-packages)

(defun magent-test-need-module ()
  "Skip the test unless there is a module; load it."
  (unless (getenv "MAGENT_MODULE")
    (ert-skip "the module is not built: set MAGENT_MODULE"))
  (require 'magent-core)
  (magent-module-load))

(defun magent-test-need-core ()
  "Skip the test unless there is a module; start the core."
  (magent-test-need-module)
  (require 'magent-runtime-api)
  (magent-runtime-ensure))

(defun magent-test-need-package (feature)
  "Skip the test unless the package with FEATURE is there; load it."
  (unless (require feature nil t)
    (ert-skip (format "%s is not installed: set MAGENT_ELPA" feature))))

;;;; Waiting

(defun magent-test-wait-for (what predicate &optional seconds)
  "Let Emacs work until PREDICATE returns non-nil; return that.
Fail, naming WHAT, when that takes longer than SECONDS, by default 10."
  (let ((end (+ (float-time) (or seconds 10)))
        value)
    (while (and (not (setq value (funcall predicate)))
                (< (float-time) end))
      (accept-process-output nil 0.02))
    (or value (ert-fail (format "%s did not happen in time" what)))))

(defun magent-test-settle (seconds)
  "Let Emacs work for SECONDS, to see that something does not happen."
  (let ((end (+ (float-time) seconds)))
    (while (< (float-time) end)
      (accept-process-output nil 0.02))))

(defun magent-test-reply (call)
  "Call CALL with a callback and return (OK . VALUE), what that is called with."
  (let (reply)
    (funcall call (lambda (ok value) (setq reply (list (cons ok value)))))
    (should-not reply)
    (car (magent-test-wait-for "The reply" (lambda () reply)))))

(defun magent-test-value (call)
  "Call CALL with a callback and return the value; fail if there is none."
  (pcase (magent-test-reply call)
    (`(nil . ,failure) (ert-fail (format "%S" failure)))
    (`(,_ . ,value) value)))

;;;; Files and buffers

(defun magent-test-write (file bytes)
  "Write BYTES, a unibyte string or ASCII, to FILE."
  (let ((coding-system-for-write 'no-conversion))
    (write-region bytes nil file nil 'quiet)))

(defun magent-test-bytes (file)
  "Return the bytes of FILE."
  (with-temp-buffer
    (set-buffer-multibyte nil)
    (insert-file-contents-literally file)
    (buffer-string)))

(defun magent-test-revision (file)
  "Return the revision of FILE: the SHA-256 of its bytes."
  (secure-hash 'sha256 (magent-test-bytes file)))

(defun magent-test--kill-buffers-below (directory)
  "Kill the buffers that visit files in DIRECTORY."
  (dolist (buffer (buffer-list))
    (when-let* ((file (buffer-file-name buffer))
                ((string-prefix-p directory file)))
      (with-current-buffer buffer
        (set-buffer-modified-p nil)
        (let ((kill-buffer-hook nil) (kill-buffer-query-functions nil))
          (kill-buffer buffer))))))

(defmacro magent-test-with-directory (&rest body)
  "Evaluate BODY in a new folder, which is deleted afterwards."
  (declare (indent 0) (debug t))
  `(let ((default-directory
          (file-name-as-directory (make-temp-file "project-" t))))
     (unwind-protect
         (progn ,@body)
       (magent-test--kill-buffers-below default-directory)
       (delete-directory default-directory t))))

(defmacro magent-test-visiting (file bytes &rest body)
  "Write BYTES to a new file, visit it, bind FILE to its name and evaluate BODY.
The buffer is current then, and unlike in batch Emacs it keeps undo."
  (declare (indent 2) (debug (symbolp form body)))
  `(magent-test-with-directory
     (let ((,file (expand-file-name "file.txt")))
       (magent-test-write ,file ,bytes)
       (with-current-buffer (find-file-noselect ,file)
         (buffer-enable-undo)
         ,@body))))

;;;; Operations

(defun magent-test-host (op &rest arguments)
  "Return (OK . VALUE), the answer to OP with ARGUMENTS, a plist.
They cross as JSON, as between the core and Emacs."
  (let* ((alist (cl-loop for (key value) on arguments by #'cddr
                         collect (cons (intern (substring (symbol-name key) 1)) value)))
         (answer (magent-core--host-answer op (json-serialize alist))))
    (cons (car answer) (magent-core--parse (cdr answer)))))

(defun magent-test-host-value (op &rest arguments)
  "Return the value of OP with ARGUMENTS, a plist; fail if OP does."
  (pcase (apply #'magent-test-host op arguments)
    (`(t . ,value) value)
    (`(nil . ,failure) (ert-fail (list op failure)))))

(defun magent-test-host-code (op &rest arguments)
  "Return the code that OP fails with; fail if it does not.
ARGUMENTS is a plist."
  (pcase (apply #'magent-test-host op arguments)
    (`(nil . ,failure) (alist-get 'code failure))
    (`(,_ . ,value) (ert-fail (list op 'succeeded value)))))

(declare-function magent-core--host-answer "magent-core" (op json))
(declare-function magent-core--parse "magent-core" (json))

;;;; Another Emacs

(defun magent-test-emacs (form)
  "Evaluate FORM in a new batch Emacs and return what it prints, as Lisp.
Fail if it ends with another status than 0."
  (with-temp-buffer
    ;; That of a checkout below the home may begin with ~, and tests change HOME.
    (setq default-directory magent-test-root)
    (let ((status (call-process
                   (expand-file-name invocation-name invocation-directory)
                   nil t nil "-Q" "--batch" "-L" magent-test-lisp-directory
                   "--eval" "(setq load-prefer-newer t)"
                   "--eval" (let ((print-length nil) (print-level nil))
                              (format "(princ (concat \"\\n=> \" (prin1-to-string %S)))"
                                      form)))))
      (goto-char (point-min))
      (unless (and (equal status 0) (search-forward "\n=> " nil t))
        (ert-fail (format "Emacs ended with %s: %s" status (buffer-string))))
      (read (current-buffer)))))

;;;; The log

(defmacro magent-test-with-messages (messages &rest body)
  "Evaluate BODY; MESSAGES is bound to what is shown meanwhile, newest first."
  (declare (indent 1) (debug (symbolp body)))
  `(let (,messages)
     (cl-letf (((symbol-function 'message)
                (lambda (format &rest args)
                  (when format
                    (push (apply #'format-message format args) ,messages)))))
       ,@body)))

(defmacro magent-test-with-log (log &rest body)
  "Evaluate BODY with a new log; bind LOG to a function that returns its text."
  (declare (indent 1) (debug (symbolp body)))
  `(let ((magent-log-buffer-name (generate-new-buffer-name "*magent-test-log*"))
         (magent-log-level 'debug)
         (inhibit-message t))
     (cl-flet ((,log () (if-let* ((buffer (get-buffer magent-log-buffer-name)))
                            (with-current-buffer buffer (buffer-string))
                          "")))
       (unwind-protect
           (progn ,@body)
         (when-let* ((buffer (get-buffer magent-log-buffer-name)))
           (kill-buffer buffer))))))

(defvar magent-log-buffer-name)
(defvar magent-log-level)

(provide 'magent-test-support)

;;; magent-test-support.el ends here
