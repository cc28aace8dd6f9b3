;;; magent-core.el --- The core and its events  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The Magent contributors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The core runs on threads of its own.  It wakes Emacs through a pipe; the events
;; themselves are fetched in small portions and handed to `magent-core-handle', one
;; method per kind.  Requests of the core to Emacs go to `magent-core-host-call', one
;; method per operation.  Nothing here waits for the core.

;;; Code:

(require 'cl-lib)
(require 'magent-config)
(require 'magent-error)
(require 'magent-log)
(require 'magent-module)

(declare-function magent-core-queue-busy-p "ext:magent-module" (session))
(declare-function magent-core-start "ext:magent-module" (process options))
(declare-function magent-core-drain "ext:magent-module" (most))
(declare-function magent-core-drained "ext:magent-module" (microseconds))
(declare-function magent-core-shutdown "ext:magent-module" (milliseconds))
(declare-function magent-core-host-reply "ext:magent-module" (id ok value))

(defvar magent-core--process nil
  "Pipe process through which the core wakes Emacs.")

(defvar magent-core--replies (make-hash-table)
  "Functions that wait for the reply to a request, by its number.")

(defconst magent-core--portion 16
  "Most events that are fetched at once.")

(defconst magent-core--time-limit 0.02
  "Seconds after which the rest of the events waits for the next wake.")

;;;; Starting

(defun magent-core--about ()
  "Return what a model is told about this Emacs."
  (format "Editor: GNU Emacs %s on %s." emacs-version system-configuration))

(defun magent-core--holder ()
  "Return how this Emacs is named to others that want its sessions."
  (format "Emacs %d of %s on %s, since %s"
          (emacs-pid) (user-login-name) (system-name)
          (format-time-string "%F %R" before-init-time)))

(defun magent-core--options ()
  "Return the options that the core starts with, as JSON text."
  (json-serialize
   `((session-directory . ,(magent-config-session-directory))
     (home . ,(expand-file-name "~"))
     (holder . ,(magent-core--holder))
     (about . ,(magent-core--about)))))

(defun magent-core-ensure ()
  "Load and start the core unless it runs.
A pipe process that somebody has killed is made again."
  (magent-module-load)
  (unless (process-live-p magent-core--process)
    ;; Emacs before 31 delays reading from a process that sends little, by 50 ms.
    (let ((process-adaptive-read-buffering nil))
      (setq magent-core--process
            (make-pipe-process :name "magent-core" :buffer nil :noquery t
                               :coding 'no-conversion
                               :filter #'magent-core--filter
                               :sentinel #'ignore)))
    (magent-core-start magent-core--process (magent-core--options))
    (add-hook 'kill-emacs-hook #'magent-core--kill-emacs)
    (add-hook 'kill-emacs-query-functions #'magent-core--confirm-kill)))

(defun magent-core--confirm-kill ()
  "Return non-nil if Emacs may end; ask if that would cost the user something.
That is work of an agent, or conversations that are in memory only."
  (or (not (magent-module-loaded-version))
      (and (or (not (ignore-errors (magent-core-queue-busy-p nil)))
               (yes-or-no-p "Magent is at work; cancel that and exit? "))
           (or (hash-table-empty-p magent-core--unsaved)
               (yes-or-no-p (magent-core--unsaved-question))))))

(defun magent-core--kill-emacs ()
  "End the core's work when Emacs ends."
  (when (magent-module-loaded-version)
    (with-demoted-errors "Magent: %S"
      (magent-core-shutdown 400))))

;;;; Events

(defvar magent-core--taken nil
  "Events that were taken from the core and not handled yet, oldest first.
A handler may let Emacs wait for the user, while which the next call of
`magent-core--filter' goes on with those behind it; and it may be left by a
throw.")

(defun magent-core--filter (&rest _)
  "Handle the events that the core woke Emacs for.
Portions are small and time is limited, so that input is never kept waiting;
the core wakes Emacs again for what is left."
  (let ((begun (float-time))
        (go-on t)
        done)
    (unwind-protect
        (progn
          (while go-on
            (magent-core--dispatch-taken)
            ;; Whoever was woken has to take something, or is never woken again.
            (setq magent-core--taken (magent-core-drain magent-core--portion)
                  go-on (= (length magent-core--taken) magent-core--portion))
            (magent-core--dispatch-taken)
            (when (> (- (float-time) begun) magent-core--time-limit)
              (setq go-on nil)))
          (setq done t))
      (unless done
        (run-at-time 0 nil #'magent-core--filter))
      (magent-core-drained (round (* 1e6 (- (float-time) begun)))))))

(defun magent-core--dispatch-taken ()
  "Handle the events in `magent-core--taken', one after another."
  (while magent-core--taken
    (magent-core--dispatch (pop magent-core--taken))))

(defun magent-core--dispatch (event)
  "Hand EVENT to its method.  An error there must not lose the events behind it."
  (condition-case err
      (magent-core-handle (car event) (cdr event))
    (error (magent-log 'error "Handling %S failed: %S" (car event) err))))

(cl-defgeneric magent-core-handle (kind args)
  "Handle an event of KIND, a symbol, with ARGS, a list.
See the function `magent-core-drain' for the kinds.")

(cl-defmethod magent-core-handle (kind _args)
  "Log an event of unknown KIND."
  (magent-log 'warn "Unknown event %S" kind))

(cl-defmethod magent-core-handle ((_kind (eql 'log)) args)
  "Log the message in ARGS, (LEVEL TEXT)."
  (magent-log (intern (nth 0 args)) "%s" (nth 1 args)))

;;;; Conversations that cannot be saved

(defvar magent-core--unsaved (make-hash-table :test #'equal)
  "Why sessions cannot be saved, strings by their ids.")

(defun magent-core--unsaved-question ()
  "Return the question whether conversations may be lost."
  (let ((count (hash-table-count magent-core--unsaved)))
    (format "%s not saved (%s); exit and lose %s? "
            (if (= count 1) "1 conversation with Magent is"
              (format "%d conversations with Magent are" count))
            (string-join (sort (seq-uniq (hash-table-values magent-core--unsaved))
                               #'string<)
                         ", ")
            (if (= count 1) "it" "them"))))

(cl-defmethod magent-core-handle ((_kind (eql 'storage)) args)
  "Note whether the session in ARGS, (SESSION PROBLEM), can be saved.
PROBLEM is nil when it is saved again or given up.  The user is warned when
saving begins to fail; without a window, the session's own notice does that."
  (pcase-let* ((`(,session ,problem) args)
               (known (gethash session magent-core--unsaved)))
    (if (null problem)
        (remhash session magent-core--unsaved)
      (puthash session problem magent-core--unsaved)
      (unless (or known noninteractive)
        (display-warning
         'magent
         (format "A conversation cannot be saved (%s).  It is in memory only, and is saved \
as soon as that works again." problem)
         :error)))))

;;;; Requests to the core

(defun magent-core--parse (json)
  "Return JSON text as Lisp: objects as alists, arrays as lists."
  (json-parse-string json :object-type 'alist :array-type 'list
                     :null-object nil :false-object nil))

(defun magent-core-on-reply (number callback)
  "Call CALLBACK when the request NUMBER is answered.
CALLBACK gets OK and VALUE: non-nil and the result, or nil and an alist with
kind, code, message and hint."
  (puthash number callback magent-core--replies))

(cl-defmethod magent-core-handle ((_kind (eql 'reply)) args)
  "Pass the answer in ARGS, (NUMBER OK JSON), on to whoever waits for it."
  (pcase-let ((`(,number ,ok ,json) args))
    (when-let* ((callback (gethash number magent-core--replies)))
      (remhash number magent-core--replies)
      (funcall callback ok (magent-core--parse json)))))

;;;; Requests of the core

(cl-defgeneric magent-core-host-call (op args)
  "Carry out the operation OP, a symbol, with ARGS, an alist.
Return a value that `json-serialize' takes.  To fail, signal any error; the
code of `magent-core-host-fail' reaches the core as it is.")

(cl-defmethod magent-core-host-call (op _args)
  "Refuse the unknown operation OP."
  (magent-core-host-fail "unknown-op" (format "There is no operation %s" op)))

(define-error 'magent-core-host-failure "Request of the core failed")

(defun magent-core-host-fail (code message)
  "Let the current operation fail with CODE and MESSAGE, both strings."
  (signal 'magent-core-host-failure (list code message)))

(defun magent-core-fail-setting (backend setting err)
  "Let the current operation fail because SETTING of BACKEND signalled ERR.
Both are strings.  Only the kind of the error is told: what functions of the
user say when they fail may hold the key itself."
  (magent-core-host-fail
   "route"
   (format "The %s of backend %s fails with an error of the type %s. Evaluate what its \
definition calls by hand to see more" setting backend (car err))))

(defmacro magent-core-with-setting (backend setting &rest body)
  "Return the value of BODY, which calls the SETTING that a user gave BACKEND.
See `magent-core-fail-setting' for what happens when that signals an error."
  (declare (indent 2) (debug t))
  `(condition-case err
       (progn ,@body)
     (error (magent-core-fail-setting ,backend ,setting err))))

(cl-defmethod magent-core-handle ((_kind (eql 'host)) args)
  "Carry out the request in ARGS, (ID OP JSON), and answer it."
  (pcase-let ((`(,id ,op ,json) args))
    (let ((answer (magent-core--host-answer (intern op) json)))
      (magent-core-host-reply id (car answer) (cdr answer)))))

(defun magent-core--host-answer (op json)
  "Return (OK . JSON), the answer to the operation OP with the arguments JSON."
  (condition-case err
      (cons t (json-serialize
               (magent-core-host-call op (magent-core--parse json))))
    (magent-core-host-failure
     (magent-core--host-error (nth 1 err) (nth 2 err)))
    ((error quit)
     (magent-log 'debug "Operation %s failed: %S" op err)
     (magent-core--host-error "error" (magent-error-message err)))))

(defun magent-core--host-error (code message)
  "Return the answer that an operation failed with CODE and MESSAGE."
  (cons nil (json-serialize
             `((code . ,code)
               (message . ,(magent-core-plain-text message))))))

(defun magent-core-plain-text (text)
  "Return TEXT with replacement characters for bytes that are no text.
Messages may quote such bytes, but JSON cannot hold them."
  (replace-regexp-in-string
   "[\x3fff80-\x3fffff]" "\ufffd"
   (decode-coding-string (encode-coding-string text 'utf-8-unix) 'utf-8-unix)))

(provide 'magent-core)

;;; magent-core.el ends here
