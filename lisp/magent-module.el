;;; magent-module.el --- The dynamic module of Magent  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The Magent contributors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Finding, building, loading and checking the module.  Nothing is loaded, built or
;; fetched when this file is loaded or compiled.
;;
;; A loaded module can never be unloaded, and overwriting its file crashes Emacs.  So
;; every build is installed under a name of its own, made of the interface's version and
;; a hash of the file, in a folder outside of the package.

;;; Code:

(require 'cl-lib)
(require 'compile)
(require 'magent-config)
(require 'magent-error)
(require 'magent-log)

(declare-function magent-core-abi "ext:magent-module" ())
(declare-function magent-core-shutdown "ext:magent-module" (milliseconds))

(defconst magent-module-abi "0.1.0+10"
  "Version of the module's interface that these files need.")

(defcustom magent-module-directory
  (expand-file-name "magent/bin" user-emacs-directory)
  "Folder that built modules are installed in."
  :type 'directory
  :group 'magent)

(defconst magent-module--source-directory
  (file-name-directory
   (directory-file-name
    (file-name-directory (or load-file-name buffer-file-name default-directory))))
  "Folder of the module's source: that above the Lisp files.")

;;;; Finding

(defun magent-module--suffix ()
  "Return the file name suffix of modules; signal an error if there are none."
  (or (bound-and-true-p module-file-suffix)
      (magent-error-signal
       'config "no-modules"
       "This Emacs was built without support for dynamic modules."
       "Use an Emacs that was configured with --with-modules.")))

(defun magent-module--newest (&rest directories)
  "Return the newest module for this version in DIRECTORIES, or nil."
  (let ((name (concat "\\`magent-core-module-" (regexp-quote magent-module-abi)
                      "-[0-9a-f]+" (regexp-quote (magent-module--suffix)) "\\'")))
    (car (sort (cl-mapcan (lambda (directory)
                            (and (file-directory-p directory)
                                 (directory-files directory t name)))
                          directories)
               #'file-newer-than-file-p))))

(defun magent-module-find ()
  "Return the module's file, or nil if there is none for this version.
The environment variable MAGENT_MODULE has precedence; then the newest in the
build folder of the checkout and in `magent-module-directory' counts."
  (let ((named (getenv "MAGENT_MODULE")))
    (if (and named (not (string-empty-p named)))
        named
      (magent-module--newest
       (expand-file-name "build" magent-module--source-directory)
       magent-module-directory))))

;;;; Advice

(defvar magent-module-command-line nil
  "Non-nil when Magent was started from a command line, where nobody types keys.")

(defun magent-module--advice (&optional more)
  "Return the advice to build the module, with MORE words for users of Emacs."
  (if magent-module-command-line
      (format "Run make build in %s."
              (directory-file-name magent-module--source-directory))
    (concat "Run M-x magent-module-install" more ".")))

;;;; Loading

(defun magent-module-loaded-version ()
  "Return the version of the loaded module, or nil if none is loaded."
  (and (fboundp 'magent-core-abi) (magent-core-abi)))

(defun magent-module-check ()
  "Signal an error unless the loaded module fits these files."
  (let ((version (magent-module-loaded-version)))
    (unless (equal version magent-module-abi)
      (magent-error-signal
       'config "module-version"
       (format "Magent's module has version %s, but its Lisp files need %s."
               (or version "(none)") magent-module-abi)
       (magent-module--advice ", or restart Emacs if you have done so")))))

(defun magent-module--problem (file err)
  "Return what ERR says about FILE, which could not be loaded."
  (let ((detail (car (last err))))
    (if (and (stringp detail) (not (equal detail file)))
        (string-remove-prefix (concat file ": ") detail)
      (get (car err) 'error-message))))

(defun magent-module-load ()
  "Load the module unless it is loaded, and check its version."
  (unless (magent-module-loaded-version)
    (let ((file (magent-module-find)))
      (unless file
        (magent-error-signal
         'config "module-missing"
         (format "Magent's module (version %s) is not built." magent-module-abi)
         (magent-module--advice)))
      (magent-log 'debug "Loading %s" file)
      (condition-case err
          (module-load (expand-file-name file))
        (error
         (magent-error-signal
          'config "module-load"
          (format "Magent's module %s cannot be loaded: %s."
                  file (magent-module--problem file err))
          (magent-module--advice " to build it again"))))))
  (magent-module-check))

(defun magent-module-ensure ()
  "Load the module; offer to build it if it is missing or too old.
Building takes minutes and happens in a compilation buffer, so an error is
signalled then, and the command has to be repeated."
  (condition-case err
      (magent-module-load)
    (magent-config-error
     (when (get-buffer-process "*magent-module*")
       (user-error "Magent's module is still being built; repeat the command then"))
     (if (and (not noninteractive)
              (member (nth 3 err) '("module-missing" "module-version"))
              (y-or-n-p (concat (nth 1 err) "  Build it now with cargo? ")))
         (progn
           (magent-module-install)
           (user-error "Building Magent's module; repeat the command when it is done"))
       (signal (car err) (cdr err))))))

;;;; Building

(defun magent-module--target-directory ()
  "Return the folder that cargo builds in, outside of the package."
  (expand-file-name "magent/target"
                    (or (getenv "XDG_CACHE_HOME") "~/.cache")))

(defun magent-module--library (target-directory)
  "Return the file that cargo makes below TARGET-DIRECTORY."
  (let ((name (pcase system-type
                ('darwin "libmagent_module.dylib")
                ('windows-nt "magent_module.dll")
                (_ "libmagent_module.so"))))
    (expand-file-name (concat "release/" name) target-directory)))

(defun magent-module-install-file (library directory)
  "Install the module LIBRARY into DIRECTORY and return its new name."
  (let* ((bytes (with-temp-buffer
                  (set-buffer-multibyte nil)
                  (insert-file-contents-literally library)
                  (secure-hash 'sha256 (current-buffer))))
         (name (concat "magent-core-module-" magent-module-abi "-"
                       (substring bytes 0 8) (magent-module--suffix)))
         (file (expand-file-name name directory)))
    (if (file-exists-p file)
        ;; The newest counts, and this one was built just now.
        (set-file-times file)
      (make-directory directory t)
      (let ((temporary (make-temp-name (concat file "-"))))
        (copy-file library temporary)
        (rename-file temporary file t)))
    file))

(defun magent-module--installed (library)
  "Install LIBRARY after a successful build, and load it where that is possible."
  (let ((file (magent-module-install-file library magent-module-directory))
        (loaded (magent-module-loaded-version)))
    (cond ((null loaded)
           (magent-module-load)
           (message "Magent's module is installed: %s" file))
          ((equal loaded magent-module-abi)
           (message "Magent's module is installed; restart Emacs to use the new one"))
          (t
           ;; The old module stays in memory; its work ends here.
           (magent-core-shutdown 500)
           (module-load file)
           (magent-module-check)
           (message "Magent's module was replaced by %s" file)))))

(defun magent-module--check-tools ()
  "Signal an error unless the module can be built here."
  (let ((source magent-module--source-directory))
    (unless (file-exists-p (expand-file-name "Cargo.toml" source))
      (magent-error-signal
       'config "no-source" (format "There is no source of the module in %s." source)
       "Install Magent from its repository, with the folder crates.")))
  (unless (executable-find "cargo")
    (magent-error-signal
     'config "no-cargo" "Building the module needs cargo, which is not installed."
     "Install Rust (version 1.89 or newer) from https://rustup.rs.")))

;;;###autoload
(defun magent-module-install ()
  "Build the module from source with cargo and install it.
The build runs in a compilation buffer; Emacs stays usable meanwhile."
  (interactive)
  (magent-error-as-user-error
    (magent-module--check-tools))
  (let* ((target (magent-module--target-directory))
         (default-directory magent-module--source-directory)
         (process-environment
          (cons (concat "CARGO_TARGET_DIR=" target) process-environment))
         (buffer (compilation-start
                  "cargo build --release --locked --package magent-module"
                  nil (lambda (_mode) "*magent-module*"))))
    (with-current-buffer buffer
      (add-hook 'compilation-finish-functions
                (lambda (_buffer status)
                  (if (string-prefix-p "finished" status)
                      (magent-module--installed (magent-module--library target))
                    (message "Building Magent's module failed; see *magent-module*")))
                nil t))))

(provide 'magent-module)

;;; magent-module.el ends here
