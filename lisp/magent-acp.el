;;; magent-acp.el --- An ACP client inside Emacs  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The Magent contributors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; A client object of acp.el whose agent is the core in this Emacs.  Requests are handed
;; over as JSON text and lines of the core are parsed and routed as those of any other
;; agent, so that logs and traffic views of acp.el work.  No process is started: acp.el
;; gets a pipe process to look at, whose end tells that the shell was closed.

;;; Code:

(require 'cl-lib)
(require 'map)
(require 'magent-core)
(require 'magent-runtime-api)

(declare-function acp-make-client "ext:acp")
(declare-function acp--log "ext:acp")
(declare-function acp--log-traffic "ext:acp")
(declare-function acp--make-message "ext:acp")
(declare-function acp--parse-json "ext:acp")
(declare-function acp--route-incoming-message "ext:acp")
(declare-function acp--serialize-json "ext:acp")
(declare-function magent-core-acp-open "ext:magent-module" (config))
(declare-function magent-core-acp-send "ext:magent-module" (connection line config))
(declare-function magent-core-acp-close "ext:magent-module" (connection))

(defvar magent-acp--clients (make-hash-table)
  "Clients by the number of their connection.")

(defvar-local magent-acp--process nil
  "Pipe process of this shell's client.")

(defun magent-acp--program ()
  "Return a program that exists, which is all that is asked of it."
  (expand-file-name invocation-name invocation-directory))

(defun magent-acp-make-client (buffer)
  "Return an acp.el client for the shell BUFFER.
This is cheap and may be called several times for one shell, which has one
connection; see `magent-acp-connect'."
  (require 'acp)
  (let ((client (acp-make-client
                 :context-buffer buffer
                 :command (magent-acp--program)
                 :request-sender #'magent-acp--send-request
                 :notification-sender #'magent-acp--send-notification
                 :response-sender #'magent-acp--send-response
                 :outgoing-request-decorator (magent-acp--decorator buffer))))
    (setf (map-elt client :process) (magent-acp--process buffer))
    client))

(defun magent-acp--decorator (buffer)
  "Return the function that changes requests of the shell BUFFER, or nil."
  (map-elt (buffer-local-value 'agent-shell--state buffer)
           :outgoing-request-decorator))

(defun magent-acp--process (buffer)
  "Return the pipe process of the shell BUFFER, made anew if it has ended."
  (with-current-buffer buffer
    (unless (process-live-p magent-acp--process)
      (setq magent-acp--process
            (make-pipe-process :name "magent-acp" :buffer nil :noquery t
                               :sentinel #'magent-acp--closed)))
    magent-acp--process))

(defun magent-acp--closed (process _event)
  "End the connection of PROCESS, whose shell was closed."
  (unless (process-live-p process)
    (when-let* ((connection (process-get process 'magent-connection)))
      (process-put process 'magent-connection nil)
      (remhash connection magent-acp--clients)
      (magent-core-acp-close connection))))

(defun magent-acp-connect (client)
  "Return the number of CLIENT's connection, opened if it is not.
Signal an error if the options, as they are in the current buffer, are wrong.
What the core says goes to the last of a shell's clients that was connected."
  (let* ((process (map-elt client :process))
         (connection (or (process-get process 'magent-connection)
                         (progn
                           (magent-core-ensure)
                           (magent-core-acp-open (magent-config-json))))))
    (process-put process 'magent-connection connection)
    (puthash connection client magent-acp--clients)
    connection))

;;;; To the core

(defun magent-acp--send (client object kind)
  "Send OBJECT, a message of KIND (request, notification or response), to the core.
The options go with it as they are in CLIENT's buffer now."
  (let ((json (acp--serialize-json object)))
    (acp--log client "OUTGOING TEXT" "%s" json)
    (acp--log-traffic client 'outgoing kind (acp--make-message :object object :json json))
    (with-current-buffer (map-elt client :context-buffer)
      (magent-core-acp-send (magent-acp-connect client) json
                            (magent-config-json)))))

(cl-defun magent-acp--send-request (&key client request buffer on-success on-failure
                                         &allow-other-keys)
  "Send REQUEST of CLIENT; call ON-SUCCESS or ON-FAILURE in BUFFER later."
  (when-let* ((decorator (map-elt client :outgoing-request-decorator))
              (decorated (funcall decorator request)))
    (setq request decorated))
  (let* ((id (1+ (map-elt client :request-id)))
         (params (map-elt request :params))
         (object `((jsonrpc . "2.0")
                   (method . ,(map-elt request :method))
                   (id . ,id)
                   ,@(when params `((params . ,params))))))
    (map-put! client :request-id id)
    (map-put! client :pending-requests
              (cons (cons id `((:request . ,object)
                               (:buffer . ,buffer)
                               (:on-success . ,on-success)
                               (:on-failure . ,on-failure)))
                    (map-elt client :pending-requests)))
    (condition-case err
        (magent-acp--send client object 'request)
      (error (magent-acp--refuse client id err)))))

(defun magent-acp--refuse (client id err)
  "Let the request ID of CLIENT fail with the error ERR, but not at once.
Callers do not expect an answer before they have returned."
  (let ((object `((jsonrpc . "2.0") (id . ,id)
                  (error . ((code . -32603)
                            (message . ,(magent-error-message err)))))))
    (run-at-time 0 nil #'magent-acp--route client
                 (acp--make-message :object object
                                    :json (json-serialize object)))))

(cl-defun magent-acp--send-notification (&key client notification &allow-other-keys)
  "Send NOTIFICATION of CLIENT."
  (magent-acp--send client
                    `((jsonrpc . "2.0")
                      (method . ,(map-elt notification :method))
                      (params . ,(map-elt notification :params)))
                    'notification))

(cl-defun magent-acp--send-response (&key client response)
  "Send RESPONSE of CLIENT to a request of the core."
  (magent-acp--send client
                    `((jsonrpc . "2.0")
                      (id . ,(map-elt response :request-id))
                      ,@(if (map-elt response :error)
                            `((error . ,(map-elt response :error)))
                          `((result . ,(map-elt response :result)))))
                    'response))

;;;; From the core

(defun magent-acp--tell-failure (client object)
  "Warn if OBJECT tells CLIENT that a session cannot be opened.
If that was to be taken up again, the shell begins a new session, and does not
say why.  If it was to be new, the shell would wait for it for ever; it is
killed once it has got OBJECT."
  (when-let* ((failure (map-elt object 'error))
              (pending (map-elt (map-elt client :pending-requests)
                                (map-elt object 'id))))
    (pcase (map-nested-elt pending '(:request method))
      ((or "session/load" "session/resume")
       (display-warning 'magent (map-elt failure 'message) :warning))
      ((or "initialize" "session/new")
       (display-warning 'magent (concat "No conversation could be opened: "
                                        (map-elt failure 'message))
                        :error)
       (run-at-time 0 nil #'magent-acp--give-up (map-elt client :context-buffer))))))

(defun magent-acp--give-up (buffer)
  "Kill BUFFER if it is a shell of agent-shell that has no session."
  (when (and (buffer-live-p buffer)
             (provided-mode-derived-p (buffer-local-value 'major-mode buffer)
                                      'agent-shell-mode)
             (not (map-nested-elt (buffer-local-value 'agent-shell--state buffer)
                                  '(:session :id))))
    (kill-buffer buffer)))

(defun magent-acp--route (client message)
  "Hand MESSAGE of the core to whoever in CLIENT waits for it."
  (magent-acp--tell-failure client (map-elt message :object))
  (acp--route-incoming-message
   :client client
   :message message
   :on-notification (lambda (notification)
                      (magent-acp--call-handlers
                       (map-elt client :notification-handlers) notification))
   :on-request (lambda (request)
                 (magent-acp--call-handlers
                  (map-elt client :request-handlers) request))))

(defun magent-acp--call-handlers (handlers argument)
  "Call each of HANDLERS with ARGUMENT.
An error in one is logged and hurts no other."
  (dolist (handler handlers)
    (condition-case-unless-debug err
        (funcall handler argument)
      (error (magent-log 'error "A handler of the shell failed: %S" err)))))

(cl-defmethod magent-core-handle ((_kind (eql 'acp)) args)
  "Route the line in ARGS, (CONNECTION LINE)."
  (pcase-let ((`(,connection ,line) args))
    (when-let* ((client (gethash connection magent-acp--clients)))
      (acp--log client "INCOMING LINE" "%s" line)
      (magent-acp--route client (acp--make-message :object (acp--parse-json line)
                                                   :json line)))))

(cl-defmethod magent-core-handle ((_kind (eql 'notice)) args)
  "Show the notice in ARGS, (CONNECTION TEXT), beside the conversation."
  (pcase-let ((`(,connection ,text) args))
    (magent-log 'info "%s" text)
    (when-let* ((client (gethash connection magent-acp--clients)))
      (magent-acp--call-handlers (map-elt client :error-handlers)
                                 `((code . 0) (message . ,text))))))

(provide 'magent-acp)

;;; magent-acp.el ends here
