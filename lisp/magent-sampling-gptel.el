;;; magent-sampling-gptel.el --- Samples through gptel  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The Magent contributors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; Makes one request through `gptel-request' and reports what comes, for backends whose
;; protocol the core does not speak and for users who want it.  The words that the core
;; and this file use are those of the gptel codec of the core.
;;
;; gptel drives neither the turn nor a tool here: its state machine ends where tools would
;; run.  Its parsers take a stream that was cut off, or that brought an error, for a whole
;; answer, and may lose calls.  So what came over the wire is looked at once more, and an
;; answer that is not whole is an error.
;;
;; Settings are local to a buffer that lives as long as the request; no variable of gptel
;; is changed.

;;; Code:

(require 'cl-lib)
(require 'subr-x)
(require 'magent-backend)
(require 'magent-core)

(defvar gptel--request-alist)
(declare-function gptel-request "ext:gptel-request" (&optional prompt &rest args) t)
(declare-function gptel-abort "ext:gptel-request" (buffer))
(declare-function gptel-get-backend "ext:gptel-request" (name))
(declare-function gptel-backend-key "ext:gptel-request" (backend) t)
(declare-function gptel-make-fsm "ext:gptel-request" (&rest slots) t)
(declare-function gptel-fsm-info "ext:gptel-request" (fsm) t)
(declare-function gptel--handle-wait "ext:gptel-request" (fsm))
(declare-function gptel--make-tool "ext:gptel-request" (&rest slots))
(declare-function gptel--json-encode "ext:gptel-request" (object))
(declare-function magent-core-sampling-event "ext:magent-module" (id event))

(defvar magent-sampling-gptel--buffers (make-hash-table :test #'equal)
  "The buffers of the samples under way, by id.")

(defvar-local magent-sampling-gptel--id nil
  "Id of the sample of this buffer, or nil once it has ended.")

(defvar-local magent-sampling-gptel--raw nil
  "What came over the wire, once it has all come.")

;;;; The request

(defun magent-sampling-gptel--plist (json)
  "Return the JSON text as gptel has objects: plists, vectors and keywords."
  (json-parse-string json :object-type 'plist :null-object :null
                     :false-object :json-false))

(defun magent-sampling-gptel--tool (tool)
  "Return TOOL, an alist with name, description and parameters, for gptel."
  (let-alist tool
    (let* ((schema (magent-sampling-gptel--plist .parameters))
           (required (append (plist-get schema :required) nil)))
      (gptel--make-tool
       :name .name :description .description :function #'ignore
       :args (cl-loop for (key spec) on (plist-get schema :properties) by #'cddr
                      for name = (substring (symbol-name key) 1)
                      collect `( :name ,name
                                 ,@(unless (member name required) '(:optional t))
                                 ,@spec))))))

(defun magent-sampling-gptel--model-prompts (speech)
  "Return what the model said in SPEECH, an alist, as prompts of gptel."
  (let-alist speech
    (append
     (unless (string-blank-p (or .text ""))
       (list (cons 'response .text)))
     (mapcar (lambda (call)
               (let-alist call
                 (cons 'tool
                       (list :id .id :name .name
                             :args (magent-sampling-gptel--plist .arguments)
                             :result .output))))
             .calls))))

(defun magent-sampling-gptel--prompts (speeches)
  "Return SPEECHES, a list of alists, as prompts of gptel.
What the user said at one go is one prompt, for gptel would join the words."
  (let (prompts)
    (dolist (speech speeches (nreverse prompts))
      (let-alist speech
        (cond ((not (equal .role "user"))
               (dolist (prompt (magent-sampling-gptel--model-prompts speech))
                 (push prompt prompts)))
              ((eq (car-safe (car prompts)) 'prompt)
               (setf (cdar prompts) (concat (cdar prompts) "\n\n" .text)))
              (t (push (cons 'prompt .text) prompts)))))))

(defun magent-sampling-gptel--machine ()
  "Return a state machine of gptel that ends where tools would run."
  (gptel-make-fsm :handlers '((WAIT gptel--handle-wait)
                              (TOOL magent-sampling-gptel--ended)
                              (DONE magent-sampling-gptel--ended)
                              (ERRS magent-sampling-gptel--failed))))

(defun magent-sampling-gptel--set-up (request)
  "Set the variables of gptel in this buffer as REQUEST, an alist, says."
  (let-alist request
    (setq-local gptel-backend (gptel-get-backend .backend)
                gptel-model (intern .model)
                gptel-stream .stream
                gptel-use-tools (and .tools t)
                gptel-tools (mapcar #'magent-sampling-gptel--tool .tools)
                gptel-use-context nil
                gptel-context nil
                gptel-include-reasoning t
                gptel-track-response t
                gptel-track-media nil
                gptel--schema nil
                gptel--num-messages-to-send nil)
    (when .temperature (setq-local gptel-temperature .temperature))
    (when .max-tokens (setq-local gptel-max-tokens .max-tokens))))

(defun magent-sampling-gptel--start (id request)
  "Begin the sample ID with REQUEST, an alist."
  (let ((buffer (generate-new-buffer " *magent-gptel*" t)))
    (puthash id buffer magent-sampling-gptel--buffers)
    (with-current-buffer buffer
      (setq magent-sampling-gptel--id id)
      (condition-case err
          (let-alist request
            (magent-sampling-gptel--set-up request)
            (gptel-request (magent-sampling-gptel--prompts .speeches)
              :callback #'magent-sampling-gptel--take
              :buffer buffer :stream .stream :system .system
              :transforms nil :fsm (magent-sampling-gptel--machine)))
        (error (magent-sampling-gptel--forget buffer)
               ;; gptel calls the functions that the user gave it for keys.
               (magent-core-fail-setting (alist-get 'backend request)
                                         "key or another setting" err))))))

(cl-defmethod magent-core-host-call ((_op (eql 'sample-start)) args)
  "Begin the sample in ARGS: its id and its request."
  (let-alist args
    (magent-sampling-gptel--start .id .request))
  nil)

(cl-defmethod magent-core-host-call ((_op (eql 'sample-cancel)) args)
  "End the sample in ARGS, if it is under way."
  (when-let* ((buffer (gethash (alist-get 'id args) magent-sampling-gptel--buffers)))
    (magent-sampling-gptel--abort buffer))
  nil)

;;;; The answer

(defun magent-sampling-gptel--forget (buffer)
  "Forget the sample of BUFFER, which gptel may still use until it returns."
  (when (buffer-live-p buffer)
    (with-current-buffer buffer
      (remhash magent-sampling-gptel--id magent-sampling-gptel--buffers)
      (setq magent-sampling-gptel--id nil))
    (run-at-time 0 nil (lambda ()
                         (when (buffer-live-p buffer)
                           (kill-buffer buffer))))))

(defun magent-sampling-gptel--abort (buffer)
  "End the request of BUFFER, and forget it."
  (magent-sampling-gptel--forget buffer)
  (when (buffer-live-p buffer)
    (let ((inhibit-message t))
      (gptel-abort buffer))))

(defun magent-sampling-gptel--report (buffer &rest event)
  "Report EVENT, a plist for JSON, of the sample of BUFFER.
If nobody wants it any more, the request ends."
  (when-let* (((buffer-live-p buffer))
              (id (buffer-local-value 'magent-sampling-gptel--id buffer)))
    (unless (magent-core-sampling-event id (json-serialize event))
      (magent-sampling-gptel--abort buffer))))

(defun magent-sampling-gptel--text (text)
  "Return TEXT without what JSON cannot hold."
  (magent-core-plain-text (substring-no-properties text)))

(defun magent-sampling-gptel--take (response info)
  "Report RESPONSE, what gptel hands to its callbacks with INFO."
  (let ((buffer (plist-get info :buffer)))
    (pcase response
      ((pred stringp)
       (unless (string-empty-p response)
         (magent-sampling-gptel--report
          buffer :type "text" :text (magent-sampling-gptel--text response))))
      (`(reasoning . ,(and (pred stringp) text))
       (magent-sampling-gptel--report
        buffer :type "reasoning" :text (magent-sampling-gptel--text text)))
      ;; All of a stream has come, and its buffer is still there.
      ('t (when (buffer-live-p buffer)
            (with-current-buffer buffer
              (setq magent-sampling-gptel--raw
                    (magent-sampling-gptel--wire buffer))))))))

(defun magent-sampling-gptel--wire (buffer)
  "Return what the process of the request of BUFFER has sent."
  (or (cl-loop for (process fsm . _) in gptel--request-alist
               when (and (eq (plist-get (gptel-fsm-info fsm) :buffer) buffer)
                         (processp process)
                         (buffer-live-p (process-buffer process)))
               return (with-current-buffer (process-buffer process)
                        (buffer-substring-no-properties (point-min) (point-max))))
      ""))

;;;; Whether it is whole

(defconst magent-sampling-gptel--signs
  '((gptel-openai-responses "response\\.\\(?:completed\\|incomplete\\)"
                            "response\\.output_item\\.done.*\"type\" *: *\"function_call\"")
    (gptel-anthropic "\"message_stop\"" "\"type\" *: *\"tool_use\" *,")
    (gptel-gemini "\"finishReason\"" "\"functionCall\"")
    (gptel-ollama "\"done\" *: *true" "\"function\" *: *{")
    (gptel-bedrock "messageStop" "\"toolUseId\"[^{}]*\"name\"")
    ;; Most others are derived from this one, so it comes last.
    (gptel-openai "\"finish_reason\" *: *\"\\|\\[DONE\\]"
                  "\"function\" *: *{[^{}]*\"name\" *: *\"[^\"]"))
  "Types of backends, and what tells the end of a stream and each call in it.")

(defun magent-sampling-gptel--signs-of (backend)
  "Return (END CALL), the regexps for a stream of BACKEND, or nil."
  (cl-loop for (type . signs) in magent-sampling-gptel--signs
           when (and (cl-find-class type) (cl-typep backend type))
           return signs))

(defconst magent-sampling-gptel--error
  (concat "^\\(?:data: *\\)?\\({\\(?:\"type\" *: *\"error\" *, *\\)?"
          "\"error\" *: *\\(?:{\\|\"\\).*\\)$")
  "What tells an error in a stream; the first group is its JSON.")

(defun magent-sampling-gptel--stream-error (raw)
  "Return the message of the error in RAW, a stream, or nil."
  (cond ((string-match magent-sampling-gptel--error raw)
         (let* ((json (match-string 1 raw))
                (parsed (ignore-errors (magent-sampling-gptel--plist json)))
                (problem (plist-get parsed :error)))
           (magent-sampling-gptel--error-text (or problem json))))
        ((string-match "^event: *error[ \t]*\r?\n\\(?:data: *\\)?\\(.*\\)" raw)
         (string-trim (match-string 1 raw)))))

(defun magent-sampling-gptel--error-text (problem)
  "Return the words of PROBLEM, an error as providers or gptel tell it."
  (cond ((stringp problem) problem)
        ((and (consp problem) (stringp (plist-get problem :message)))
         (plist-get problem :message))
        (t (format "%S" problem))))

(defun magent-sampling-gptel--calls (info)
  "Return the calls in INFO in the order in which they came."
  (let ((raw (buffer-local-value 'magent-sampling-gptel--raw (plist-get info :buffer)))
        (calls (plist-get info :tool-use)))
    (if (not raw)
        calls
      ;; gptel has the newest first in some protocols.
      (cl-sort (copy-sequence calls) #'<
               :key (lambda (call)
                      (or (and (stringp (plist-get call :id))
                               (string-search (plist-get call :id) raw))
                          0))))))

(defun magent-sampling-gptel--complaint (info)
  "Return what is wrong with the answer in INFO as (KIND . MESSAGE), or nil."
  (let* ((raw (buffer-local-value 'magent-sampling-gptel--raw (plist-get info :buffer)))
         (signs (magent-sampling-gptel--signs-of (plist-get info :backend)))
         (calls (plist-get info :tool-use))
         (streamed (plist-get info :stream))
         (problem (and streamed raw (magent-sampling-gptel--stream-error raw))))
    (cond ((and streamed (null raw)) '("truncated" . "The connection broke"))
          (problem (cons "reported" problem))
          ((and streamed signs (not (string-match-p (car signs) raw)))
           '("truncated" . "The stream has no end"))
          ((or (cl-notevery (lambda (call) (stringp (plist-get call :name))) calls)
               (and (null calls)
                    (member (plist-get info :stop-reason) '("tool_calls" "tool_use")))
               (and streamed signs
                    (> (magent-sampling-gptel--count (cadr signs) raw) (length calls))))
           '("protocol" . "gptel has lost a tool call of the answer")))))

(defun magent-sampling-gptel--count (regexp text)
  "Return how often REGEXP is found in TEXT."
  (cl-loop with start = 0
           while (string-match regexp text start)
           count t
           do (setq start (match-end 0))))

;;;; Its end

(defun magent-sampling-gptel--ended (fsm)
  "Report the end of the answer that FSM, a state machine of gptel, has got."
  (let* ((info (gptel-fsm-info fsm))
         (buffer (plist-get info :buffer)))
    (when (and (buffer-live-p buffer)
               (buffer-local-value 'magent-sampling-gptel--id buffer))
      (pcase (magent-sampling-gptel--complaint info)
        (`(,kind . ,message)
         (magent-sampling-gptel--report-failure info kind message))
        (_ (magent-sampling-gptel--report-end info)))
      (magent-sampling-gptel--forget buffer))))

(defun magent-sampling-gptel--report-end (info)
  "Report the calls, the usage and the end of the answer in INFO."
  (let ((buffer (plist-get info :buffer))
        (tokens (plist-get info :tokens))
        (stop (plist-get info :stop-reason)))
    (dolist (call (magent-sampling-gptel--calls info))
      (let ((id (plist-get call :id))
            (arguments (plist-get call :args)))
        (magent-sampling-gptel--report
         buffer :type "call" :id (if (stringp id) id "")
         :name (plist-get call :name)
         :arguments (if arguments
                        (magent-sampling-gptel--text (gptel--json-encode arguments))
                      "{}"))))
    (when-let* ((input (plist-get tokens :input)))
      (magent-sampling-gptel--report
       buffer :type "usage"
       ;; gptel counts what was cached apart.
       :input (+ input (or (plist-get tokens :cached) 0))
       :output (or (plist-get tokens :output) 0)
       :cached (or (plist-get tokens :cached) 0)))
    (magent-sampling-gptel--report
     buffer :type "end" :stop (if (stringp stop) stop ""))))

(defun magent-sampling-gptel--failed (fsm)
  "Report the failure of the request of FSM, a state machine of gptel."
  (let* ((info (gptel-fsm-info fsm))
         (buffer (plist-get info :buffer))
         (status (plist-get info :status)))
    (magent-sampling-gptel--report-failure
     info
     (if (equal status "Curl failure") "unreachable" "reported")
     (magent-sampling-gptel--error-text (or (plist-get info :error) status)))
    (magent-sampling-gptel--forget buffer)))

(defun magent-sampling-gptel--report-failure (info kind message)
  "Report that the request in INFO failed: the KIND of failure and a MESSAGE."
  (let ((status (plist-get info :http-status)))
    (magent-sampling-gptel--report
     (plist-get info :buffer) :type "error" :kind kind
     :status (if (stringp status) (string-to-number status) 0)
     :message (magent-sampling-gptel--text
               (magent-sampling-gptel--without-key
                message (plist-get info :backend))))))

(defun magent-sampling-gptel--without-key (message backend)
  "Return MESSAGE without the key of BACKEND, which providers like to repeat."
  (let ((key (ignore-errors (magent-backend--key (gptel-backend-key backend)))))
    (if (and key (> (length key) 3))
        (string-replace key "[key]" message)
      message)))

(provide 'magent-sampling-gptel)

;;; magent-sampling-gptel.el ends here
