;;; magent-acp-test.el --- Tests of the client of acp.el  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The Magent contributors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'map)
(require 'magent-test-session)
(require 'magent-acp)

(defvar acp-logging-enabled)
(declare-function acp-send-notification "ext:acp")
(declare-function acp-send-request "ext:acp")
(declare-function acp-shutdown "ext:acp")
(declare-function acp-subscribe-to-errors "ext:acp")
(declare-function acp-subscribe-to-notifications "ext:acp")
(declare-function acp-subscribe-to-requests "ext:acp")
(declare-function acp-traffic-buffer "ext:acp-traffic")
(declare-function magent-core-acp-send "ext:magent-module" (connection line config))

(defvar-local agent-shell--state nil
  "What agent-shell has in its buffers.")

(defmacro magent-acp-test--with-client (client &rest body)
  "Evaluate BODY with CLIENT bound to a client of the current buffer, a new one."
  (declare (indent 1) (debug (symbolp body)))
  `(progn
     (magent-test-need-core)
     (magent-test-need-package 'acp)
     (magent-test-with-directory
       (let ((directory default-directory))
         (with-temp-buffer
           (setq default-directory directory
                 agent-shell--state (list (cons :outgoing-request-decorator nil)))
           (let ((,client (magent-acp-make-client (current-buffer))))
             (unwind-protect
                 (progn ,@body)
               (when-let* ((process (map-elt ,client :process)))
                 (delete-process process)))))))))

(defun magent-acp-test--initialize ()
  "Return the request that each connection begins with."
  `((:method . "initialize")
    (:params . ((protocolVersion . 1)
                (clientCapabilities . ((fs . ((readTextFile . :false)
                                              (writeTextFile . :false)))))))))

(defun magent-acp-test--ask (client request)
  "Send REQUEST with CLIENT; return (ok VALUE) or (failed ERROR MESSAGE)."
  (let (answer)
    (acp-send-request :client client :request request :buffer (current-buffer)
                      :on-success (lambda (value) (setq answer (list 'ok value)))
                      ;; Callers take exactly these two.
                      :on-failure (lambda (err message)
                                    (setq answer (list 'failed err message))))
    ;; Callers do not expect an answer before they have returned.
    (should-not answer)
    (magent-test-wait-for "The answer" (lambda () answer))))

(defun magent-acp-test--value (client method &optional params)
  "Return the result of METHOD with PARAMS, asked with CLIENT."
  (pcase (magent-acp-test--ask client `((:method . ,method) (:params . ,params)))
    (`(ok ,value) value)
    (answer (ert-fail (list method answer)))))

(defun magent-acp-test--open (client)
  "Begin the connection of CLIENT and return the id of a new session."
  (should (eq 'ok (car (magent-acp-test--ask client (magent-acp-test--initialize)))))
  (map-elt (magent-acp-test--value client "session/new"
                                   `((cwd . ,(directory-file-name default-directory))
                                     (mcpServers . [])))
           'sessionId))

;;;; The client

(ert-deftest magent-acp-making-a-client-is-cheap-and-opens-nothing ()
  (magent-acp-test--with-client client
    (let ((connections (hash-table-count magent-acp--clients))
          (processes (length (process-list)))
          (process (map-elt client :process)))
      ;; agent-shell makes three for one shell.
      (should (eq (map-elt (magent-acp-make-client (current-buffer)) :process) process))
      (should (= (hash-table-count magent-acp--clients) connections))
      (should (= (length (process-list)) processes))
      (should (process-live-p process))
      (should-not (process-query-on-exit-flag process))
      ;; No program runs; there is only something that acp.el can look at.
      (should (eq (process-type process) 'pipe))
      (should (file-executable-p (map-elt client :command))))))

(ert-deftest magent-acp-a-client-starts-no-program-for-requests ()
  (magent-acp-test--with-client client
    (let ((process (map-elt client :process)))
      (cl-letf (((symbol-function 'acp--start-client)
                 (lambda (&rest _) (ert-fail "A program was started"))))
        (magent-acp-test--open client))
      (should (eq (map-elt client :process) process)))))

(ert-deftest magent-acp-capabilities-that-are-missing-are-left-out ()
  (magent-acp-test--with-client client
    (let-alist (cadr (magent-acp-test--ask client (magent-acp-test--initialize)))
      (should (equal .protocolVersion 1))
      (should (eq .agentCapabilities.loadSession t))
      ;; agent-shell takes a key for a capability, whatever its value.
      (cl-labels ((values (tree)
                    (if (and (consp tree) (consp (car tree)))
                        (cl-mapcan (lambda (field)
                                     (or (values (cdr field))
                                         (list (cons (car field) (cdr field)))))
                                   (copy-sequence tree))
                      nil)))
        (dolist (field (values .agentCapabilities.promptCapabilities))
          (should (cdr field)))))))

(ert-deftest magent-acp-requests-are-decorated-as-the-shell-says ()
  (magent-acp-test--with-client client
    (let (seen)
      (setf (map-elt agent-shell--state :outgoing-request-decorator)
            (lambda (request)
              (push (map-elt request :method) seen)
              `((:method . "no/such/method") (:params . ((a . 1))))))
      (setq client (magent-acp-make-client (current-buffer)))
      (let ((answer (magent-acp-test--ask client (magent-acp-test--initialize))))
        (should (equal seen '("initialize")))
        (should (equal (map-elt (nth 1 answer) 'code) -32601))))))

(ert-deftest magent-acp-failures-have-a-code-and-come-later ()
  (magent-acp-test--with-client client
    (magent-acp-test--open client)
    (pcase-dolist (`(,method ,params ,code)
                   '(("no/such/method" nil -32601)
                     ("session/prompt" ((sessionId . 5)) -32602)))
      (pcase (magent-acp-test--ask client `((:method . ,method) (:params . ,params)))
        (`(failed ,err ,_)
         (should (equal (cons method (map-elt err 'code)) (cons method code)))
         (should (stringp (map-elt err 'message))))
        (answer (ert-fail answer))))))

(ert-deftest magent-acp-why-a-session-cannot-be-opened-is-told ()
  (magent-acp-test--with-client client
    (magent-acp-test--open client)
    (let (warnings)
      (cl-letf (((symbol-function 'display-warning)
                 (lambda (_type message &rest _) (push message warnings))))
        (dolist (method '("session/load" "session/resume" "no/such/method"))
          (magent-acp-test--ask
           client `((:method . ,method)
                    (:params . ((sessionId . "session-none") (mcpServers . [])
                                (cwd . ,(expand-file-name default-directory))))))))
      (should (= (length warnings) 2))
      (dolist (warning warnings)
        (should (string-search "session-none" warning))))))

(ert-deftest magent-acp-a-request-that-cannot-be-sent-fails-later-too ()
  (magent-acp-test--with-client client
    (let ((magent-default-effort 'huge)
          warnings)
      (cl-letf (((symbol-function 'display-warning)
                 (lambda (_type text &rest _) (push text warnings))))
        (pcase (magent-acp-test--ask client (magent-acp-test--initialize))
          (`(failed ,err ,_)
           (should (string-match-p "magent-default-effort" (map-elt err 'message))))
          (answer (ert-fail answer))))
      (should (string-match-p "could be opened.*magent-default-effort" (car warnings))))
    (should-not (map-elt client :pending-requests))))

(ert-deftest magent-acp-answers-are-handled-in-the-buffer-of-the-request ()
  (magent-acp-test--with-client client
    (let ((shell (current-buffer)) where)
      (with-temp-buffer
        (acp-send-request :client client :request (magent-acp-test--initialize)
                          :buffer shell
                          :on-success (lambda (_) (setq where (current-buffer))))
        (magent-test-wait-for "The answer" (lambda () where)))
      (should (eq where shell)))))

;;;; Logs and handlers

(ert-deftest magent-acp-traffic-and-log-show-both-directions ()
  (magent-acp-test--with-client client
    (require 'acp-traffic)
    (let ((acp-logging-enabled t))
      (magent-acp-test--open client)
      (with-current-buffer (acp-traffic-buffer :client client)
        (let ((text (buffer-string)))
          (should (string-match-p "initialize" text))
          (should (string-match-p "session/new" text))
          (should (string-match-p "response" text)))
        (kill-buffer)))))

(ert-deftest magent-acp-a-handler-that-signals-hurts-no-other ()
  (magent-test-with-log log
    (magent-acp-test--with-client client
      (let (seen)
        (cl-flet ((subscribe (handler)
                    (acp-subscribe-to-notifications :client client :buffer (current-buffer)
                                                    :on-notification handler)))
          (subscribe (lambda (it) (push (map-nested-elt it '(params update sessionUpdate))
                                        seen)))
          (subscribe (lambda (_) (error "A shell with a bug")))
          (subscribe (lambda (it) (push (map-elt it 'method) seen))))
        (magent-acp-test--open client)
        (magent-test-wait-for "A notification" (lambda () (cdr seen)))
        (should (member "session/update" seen))
        (should (member "available_commands_update" seen))
        (should (string-match-p "A shell with a bug" (log)))
        (should (magent-acp-test--value client "session/list" nil))))))

(ert-deftest magent-acp-notices-go-to-the-error-handlers-of-their-client ()
  (magent-acp-test--with-client client
    (let (told)
      (acp-subscribe-to-errors :client client :buffer (current-buffer)
                               :on-error (lambda (it) (push it told)))
      (magent-acp-test--open client)
      ;; That no model is configured was told as well.
      (setq told nil)
      (let ((connection (process-get (map-elt client :process) 'magent-connection)))
        (magent-core--dispatch (list 'notice connection "Trying again."))
        (magent-core--dispatch (list 'notice 987654321 "For somebody else.")))
      (should (equal told '(((code . 0) (message . "Trying again."))))))))

;;;; The end

(ert-deftest magent-acp-the-end-of-the-shell-closes-the-connection ()
  (dolist (end (list (lambda (client) (acp-shutdown :client client))
                     (lambda (client) (delete-process (map-elt client :process)))))
    (magent-acp-test--with-client client
      (magent-acp-test--open client)
      (let ((connection (process-get (map-elt client :process) 'magent-connection)))
        (should (gethash connection magent-acp--clients))
        (funcall end client)
        (magent-test-wait-for
         "The end" (lambda () (not (gethash connection magent-acp--clients))))
        (should-error (magent-core-acp-send connection "{}" nil)
                      :type 'magent-config-error)
        ;; What still comes for it is nobody's.
        (magent-core--dispatch (list 'acp connection "{\"method\":\"x\"}"))))))

(ert-deftest magent-acp-the-end-of-the-shell-ends-its-turn ()
  (magent-test-with-provider provider
    (magent-acp-test--with-client client
      (let ((session (magent-acp-test--open client)) answer)
        (acp-send-request
         :client client :buffer (current-buffer)
         :request `((:method . "session/prompt")
                    (:params . ((sessionId . ,session)
                                (prompt . [((type . "text") (text . "[[hang]]"))]))))
         :on-success (lambda (value) (setq answer value))
         :on-failure (lambda (err _) (setq answer err)))
        (magent-test-wait-for "The turn" (lambda () (magent-runtime-processing-p session)))
        (magent-test-settle 0.1)
        (should-not answer)
        (acp-shutdown :client client)
        (magent-test-wait-for
         "The end" (lambda () (not (magent-runtime-processing-p session))) 3)))))

(ert-deftest magent-acp-a-prompt-can-be-cancelled ()
  (magent-test-with-provider provider
    (magent-acp-test--with-client client
      (let ((session (magent-acp-test--open client)) answer)
        (acp-send-request
         :client client :buffer (current-buffer)
         :request `((:method . "session/prompt")
                    (:params . ((sessionId . ,session)
                                (prompt . [((type . "text") (text . "[[hang]]"))]))))
         :on-success (lambda (value) (setq answer value)))
        (magent-test-wait-for "The turn" (lambda () (magent-runtime-processing-p session)))
        (acp-send-notification
         :client client
         :notification `((:method . "session/cancel")
                         (:params . ((sessionId . ,session) (reason . "User")))))
        (magent-test-wait-for "The answer" (lambda () answer) 3)
        (should (equal (map-elt answer 'stopReason) "cancelled"))))))

(provide 'magent-acp-test)

;;; magent-acp-test.el ends here
