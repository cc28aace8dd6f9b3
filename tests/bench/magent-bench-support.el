;;; magent-bench-support.el --- Figures, clocks and a model  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The Magent contributors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; How figures are told, what the main thread of Emacs is measured with, the model
;; that streams at a given rate, and just enough of an ACP client.

;;; Code:

(require 'magent-test-support)
(require 'magent-runtime-api)

(declare-function magent-core-acp-open "ext:magent-module" (config))
(declare-function magent-core-acp-send "ext:magent-module" (connection line config))

;;;; Figures

(defvar magent-bench-failed nil
  "Non-nil once a figure could not be taken.")

(defun magent-bench--quantity (number unit)
  "Return NUMBER, with as many digits as it deserves, and UNIT."
  (concat (format (cond ((= number (round number)) "%.0f")
                        ((< (abs number) 10) "%.2f")
                        ((< (abs number) 100) "%.1f")
                        (t "%.0f"))
                  number)
          " " unit))

(defun magent-bench-tell (name value budget verdict)
  "Print a figure: NAME, VALUE, BUDGET and VERDICT, all strings."
  (princ (format "%s\t%s\t%s\t%s\n" name value budget verdict)))

(defun magent-bench-figure (name value unit &optional budget)
  "Print the figure NAME: VALUE, a number of UNIT, and its BUDGET if there is one."
  (magent-bench-tell name (magent-bench--quantity value unit)
                     (if budget
                         (concat "<= " (magent-bench--quantity budget unit))
                       "-")
                     (cond ((null budget) "-")
                           ((<= value budget) "ok")
                           (t "OVER"))))

(defmacro magent-bench-measure (name &rest body)
  "Evaluate BODY, which prints figures about NAME, and print why if it fails."
  (declare (indent 1) (debug t))
  `(condition-case err
       (progn ,@body)
     (error
      (setq magent-bench-failed t)
      (magent-bench-tell ,name "not measured"
                         (replace-regexp-in-string "[\t\n ]+" " " (format "%S" err))
                         "FAILED"))))

;;;; The main thread

(defun magent-bench--proc (file)
  "Return the text of FILE about this process in /proc."
  (with-temp-buffer
    (insert-file-contents-literally (concat "/proc/self/" file))
    (buffer-string)))

(defconst magent-bench-has-proc (file-readable-p "/proc/self/schedstat")
  "Whether the system tells the processor time of a thread.")

(defun magent-bench-cpu ()
  "Return the processor time of the main thread in milliseconds."
  ;; The system brings the time up to date when the thread waits.
  (sleep-for 0.002)
  (/ (string-to-number (magent-bench--proc "schedstat")) 1e6))

(defun magent-bench-resident ()
  "Return the resident memory of this process in megabytes."
  (let ((status (magent-bench--proc "status")))
    (string-match "^VmRSS:[ \t]*\\([0-9]+\\) kB" status)
    (/ (string-to-number (match-string 1 status)) 1024.0)))

(defun magent-bench-wait (done &optional seconds)
  "Let Emacs work until DONE returns non-nil, with few interruptions.
Fail after SECONDS, by default 30."
  (let ((end (+ (float-time) (or seconds 30))))
    (while (not (funcall done))
      (when (> (float-time) end)
        (error "It took too long"))
      (accept-process-output nil 0.1))))

(defun magent-bench-stalls (done &optional seconds)
  "Let Emacs work until DONE returns non-nil; return the times it was busy.
They are in milliseconds, the shortest first.  Fail after SECONDS, by default
30."
  (let* ((last (float-time))
         (end (+ last (or seconds 30)))
         stalls)
    (while (not (funcall done))
      (when (> last end)
        (error "It took too long"))
      (accept-process-output nil 0.001)
      (let ((now (float-time)))
        ;; What is longer than the wait is time in which nobody could type.
        (push (max 0 (- (* 1000 (- now last)) 1)) stalls)
        (setq last now)))
    (sort stalls #'<)))

(defun magent-bench-percentile (sorted percent)
  "Return the element of SORTED numbers that PERCENT of them do not exceed."
  (nth (max 0 (1- (ceiling (* (length sorted) percent) 100))) sorted))

(defun magent-bench-value (call)
  "Call CALL with a callback and return the value that it gets, or fail."
  (let (reply)
    (funcall call (lambda (ok value) (setq reply (list ok value))))
    (magent-bench-wait (lambda () reply))
    (unless (car reply)
      (error "%S" (cadr reply)))
    (cadr reply)))

;;;; The model

(defun magent-bench-start-model ()
  "Start a model that streams at a given rate, and make it the default one."
  (let ((file (make-temp-name (expand-file-name "url-" temporary-file-directory))))
    (make-process :name "magent-bench-model" :noquery t :connection-type 'pipe
                  :command (list (getenv "MAGENT_BENCH") "serve" file))
    (magent-bench-wait (lambda () (file-exists-p file)))
    (magent-define-backend "Bench" :dialect 'openai-chat
      :url (string-trim (magent-test-bytes file)) :models '(bench))))

;;;; A client of ACP

(defvar magent-bench--answers (make-hash-table)
  "Answers to the requests of the client, by their number.")

(defvar magent-bench--request 0
  "Number of the last request of the client.")

(defvar magent-bench-characters 0
  "Characters of the model's text that have come.")

(defvar magent-bench-updates 0
  "Updates that have come.")

(cl-defmethod magent-core-handle ((_kind (eql 'acp)) args)
  "Take the line in ARGS, (CONNECTION LINE): an answer or an update."
  (let ((message (magent-core--parse (nth 1 args))))
    (let-alist message
      (if (null .method)
          (puthash .id message magent-bench--answers)
        (setq magent-bench-updates (1+ magent-bench-updates))
        (when (equal .params.update.sessionUpdate "agent_message_chunk")
          (setq magent-bench-characters
                (+ magent-bench-characters
                   (length .params.update.content.text))))))))

(defun magent-bench-acp-send (connection method params)
  "Send the request METHOD with PARAMS on CONNECTION and return its number."
  (setq magent-bench--request (1+ magent-bench--request))
  (magent-core-acp-send
   connection
   (json-serialize `((jsonrpc . "2.0") (id . ,magent-bench--request)
                     (method . ,method) (params . ,params)))
   (magent-config-json))
  magent-bench--request)

(defun magent-bench-acp-answer (number)
  "Return the result of the request NUMBER, or nil if it is not answered yet."
  (when-let* ((message (gethash number magent-bench--answers)))
    (when-let* ((failure (alist-get 'error message)))
      (error "%S" failure))
    (or (alist-get 'result message) t)))

(defun magent-bench-acp-ask (connection method params)
  "Send the request METHOD with PARAMS on CONNECTION and return its result."
  (let ((number (magent-bench-acp-send connection method params)))
    (magent-bench-wait (lambda () (magent-bench-acp-answer number)))
    (magent-bench-acp-answer number)))

(defun magent-bench-acp-open ()
  "Return a new connection that is ready for sessions."
  (let ((connection (magent-core-acp-open (magent-config-json))))
    (magent-bench-acp-ask connection "initialize"
                          '((protocolVersion . 1) (clientCapabilities)))
    connection))

(provide 'magent-bench-support)

;;; magent-bench-support.el ends here
