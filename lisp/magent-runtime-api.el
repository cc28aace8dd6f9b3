;;; magent-runtime-api.el --- Sessions and prompts for Lisp  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The Magent contributors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The runtime without any user interface: sessions, prompts, cancelling, observing.
;; Every function returns at once.  What takes time is answered by a callback that gets
;; OK and VALUE: non-nil and an alist, or nil and an alist with kind, code, message and
;; hint.

;;; Code:

(require 'cl-lib)
(require 'magent-core)
(require 'magent-gptel)
(require 'magent-sampling-gptel)
(require 'magent-host-buffer)
(require 'magent-host-file)

(declare-function magent-core-session-new "ext:magent-module" (directory config))
(declare-function magent-core-session-load "ext:magent-module" (directory id config))
(declare-function magent-core-session-copy "ext:magent-module"
                  (directory id how config))
(declare-function magent-core-session-list "ext:magent-module" (directory))
(declare-function magent-core-session-delete "ext:magent-module" (directory id))
(declare-function magent-core-session-export "ext:magent-module"
                  (directory id format file config))
(declare-function magent-core-session-close "ext:magent-module" (id))
(declare-function magent-core-session-observe "ext:magent-module" (id))
(declare-function magent-core-queue-submit "ext:magent-module" (request config))
(declare-function magent-core-queue-cancel "ext:magent-module" (session submission))
(declare-function magent-core-queue-busy-p "ext:magent-module" (session))
(declare-function magent-core-permission-answer "ext:magent-module" (approval decision))

(defvar magent-runtime--observers (make-hash-table :test #'equal)
  "Functions that get the reports of a session, by its id.")

(defun magent-runtime-ensure ()
  "Start the core unless it runs."
  (magent-core-ensure))

(defun magent-runtime--directory (directory)
  "Return DIRECTORY as the core wants it; nil is no project."
  (and directory (expand-file-name directory)))

(defun magent-runtime-session-new (directory callback)
  "Make a session for DIRECTORY, nil for no project, and hand it to CALLBACK.
The value has session-id, root, title, agent, model and notice."
  (magent-runtime-ensure)
  (magent-core-on-reply
   (magent-core-session-new (magent-runtime--directory directory)
                            (magent-config-json))
   callback))

(defun magent-runtime-session-load (directory id callback)
  "Open the session ID of DIRECTORY and hand it to CALLBACK.
The value is that of `magent-runtime-session-new'."
  (magent-runtime-ensure)
  (magent-core-on-reply
   (magent-core-session-load (magent-runtime--directory directory) id
                             (magent-config-json))
   callback))

(defun magent-runtime-fork (directory id callback)
  "Make a session with the past of session ID of DIRECTORY for CALLBACK.
The value is that of `magent-runtime-session-new'."
  (magent-runtime--copy directory id "fork" callback))

(defun magent-runtime-recover (directory id callback)
  "Make a session of what can be read of session ID of DIRECTORY for CALLBACK.
The value is that of `magent-runtime-session-new'; its notice says what is
missing.  The damaged session stays as it is."
  (magent-runtime--copy directory id "recover" callback))

(defun magent-runtime--copy (directory id how callback)
  "Make a session out of session ID of DIRECTORY as HOW says, for CALLBACK."
  (magent-runtime-ensure)
  (magent-core-on-reply
   (magent-core-session-copy (magent-runtime--directory directory) id how
                             (magent-config-json))
   callback))

(defun magent-runtime-list-sessions (directory callback)
  "List the saved sessions of DIRECTORY, nil for all, and call CALLBACK.
It gets a list of alists, newest first, with
  session-id  a string
  root        the project, nil for none
  title       nil if there is none
  updated-at  when it changed last, in seconds since 1970
  bytes       the size of its files
  turns       how many it has, nil if its header does not tell
  model       what it used last or is set to, as \"BACKEND:MODEL\", or nil
  holder      who has it open in another process, or nil
  here        non-nil if it is open in this Emacs
  damage      what is wrong with its header, or nil."
  (magent-runtime-ensure)
  (magent-core-on-reply
   (magent-core-session-list (magent-runtime--directory directory)) callback))

(defun magent-runtime-session-delete (directory id callback)
  "Delete the saved session ID of DIRECTORY for good, and call CALLBACK.
One that is open, here or elsewhere, is refused.  The value is nil."
  (magent-runtime-ensure)
  (magent-core-on-reply
   (magent-core-session-delete (magent-runtime--directory directory) id) callback))

(defun magent-runtime-export (directory id format file callback)
  "Write the conversation of session ID of DIRECTORY to FILE for CALLBACK.
FORMAT is the symbol org or markdown.  FILE is local, and what is in it is
replaced.  The session may be open.  The value is nil."
  (magent-runtime-ensure)
  (magent-core-on-reply
   (magent-core-session-export (magent-runtime--directory directory) id
                               (symbol-name format) (expand-file-name file)
                               (magent-config-json))
   callback))

(defun magent-runtime-session-close (id)
  "Give the session ID back: its work is cancelled and its files are written."
  (remhash id magent-runtime--observers)
  (magent-core-session-close id))

(defun magent-runtime-observe (id function)
  "Call FUNCTION with each report about session ID, an alist.
See the function `magent-core-drain' and the manual for the reports.  A
session has one observer; FUNCTION replaces an earlier one."
  (puthash id function magent-runtime--observers)
  (magent-core-session-observe id))

(defvar magent-runtime-report-json nil
  "JSON text of the report while an observer is called.")

(cl-defmethod magent-core-handle ((_kind (eql 'report)) args)
  "Pass the report in ARGS, (SESSION JSON), on to the session's observer."
  (pcase-let ((`(,session ,magent-runtime-report-json) args))
    (when-let* ((observer (gethash session magent-runtime--observers)))
      (funcall observer (magent-core--parse magent-runtime-report-json)))))

(cl-defun magent-runtime-submit (id prompt callback
                                    &key blocks agent model tools approval metadata)
  "Queue PROMPT for session ID and hand the acceptance to CALLBACK.
The value has submission-id and turn-id; what happens then is told by the
session's reports.

BLOCKS is a list of alists with uri, text, mime-type and name.  AGENT and
MODEL (as \"BACKEND:MODEL\") replace those of the session.  TOOLS is a list of
names, nil for all.  APPROVAL is \"ask\", \"never\", \"always\" or rules as
KEY=DECISION separated by commas.  METADATA is an alist that is kept with the
turn."
  (magent-core-on-reply
   (magent-core-queue-submit
    (json-serialize
     `((session-id . ,id)
       (prompt . ,prompt)
       ,@(when blocks `((blocks . ,(vconcat blocks))))
       ,@(when agent `((agent . ,agent)))
       ,@(when model `((model . ,model)))
       ,@(when tools `((tools . ,(vconcat tools))))
       ,@(when approval `((approval . ,approval)))
       ,@(when metadata `((metadata . ,metadata)))))
    (magent-config-json))
   callback))

(defun magent-runtime-cancel (id)
  "Cancel everything that runs or waits in session ID; return how much that was."
  (magent-core-queue-cancel id nil))

(defun magent-runtime-cancel-submission (id submission)
  "Cancel exactly SUBMISSION of session ID; return non-nil if it had not ended."
  (> (magent-core-queue-cancel id submission) 0))

(defun magent-runtime-processing-p (id)
  "Return non-nil if session ID has work running or waiting."
  (magent-core-queue-busy-p id))

(defun magent-runtime-answer (approval decision)
  "Answer the question APPROVAL with DECISION.
DECISION is one of the symbols allow-once, deny-once, allow-session and
deny-session.  Return nil if the question is settled."
  (magent-core-permission-answer approval (symbol-name decision)))

(provide 'magent-runtime-api)

;;; magent-runtime-api.el ends here
