;;; magent-sampling-gptel-test.el --- Samples through gptel  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The Magent contributors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The real gptel makes the requests: to the demo provider, and to a server that answers
;; what the test says.

;;; Code:

(require 'magent-test-session)

(defvar gptel--known-backends)
(defvar gptel-model)
(defvar gptel-tools)
(defvar gptel-use-tools)
(defvar gptel-stream)
(declare-function gptel-make-openai "ext:gptel-openai")
(declare-function magent-sampling-gptel--without-key "magent-sampling-gptel")

(defun magent-sampling-gptel-test--define (url &optional key)
  "Define the backend of gptel that is found at URL, with KEY or a usual one."
  (let ((parts (url-generic-parse-url url)))
    (gptel-make-openai "Through"
      :host (format "%s:%d" (url-host parts) (url-port parts)) :protocol "http"
      :stream t :key (or key "sk-secret-key") :models '(demo))))

(defmacro magent-sampling-gptel-test-with (url &rest body)
  "Evaluate BODY with requests through gptel to URL, an expression."
  (declare (indent 1) (debug t))
  `(let ((inhibit-message t))
     (magent-test-need-package 'gptel)
     (require 'gptel-openai)
     (unless (executable-find "curl")
       (ert-skip "curl is not installed, without which gptel does not stream"))
     (let ((gptel--known-backends nil) (magent-transport 'gptel)
           (magent-backend--all nil) (magent-default-model "Through:demo")
           (url-proxy-services nil) (process-environment
                                     (cons "no_proxy=127.0.0.1" process-environment)))
       (magent-sampling-gptel-test--define ,url)
       ,@body)))

(defun magent-sampling-gptel-test--end (prompt &rest keys)
  "Return the end of a turn with PROMPT and KEYS in a new session, and the session."
  (let* ((session (magent-test-open-session))
         (turn (apply #'magent-test-submit session prompt keys)))
    (list (magent-test-await-end session turn) session)))

(ert-deftest magent-sampling-gptel-a-turn-with-calls-goes-through-gptel ()
  (magent-test-with-provider provider
    (magent-sampling-gptel-test-with (process-get provider 'url)
      (with-temp-file "notes.txt" (insert "älpha\n"))
      (let ((before (list gptel-model gptel-tools gptel-use-tools gptel-stream)))
        (pcase-let ((`(,end ,session)
                     (magent-sampling-gptel-test--end
                      (concat "[[think Hm.]] [[say I look, 漢字.]] "
                              "[[par read_file {\"path\": \"notes.txt\", \"source\": \"disk\"}]]"
                              "[[tool bash {\"command\": \"echo one; echo two\"}]] "
                              "[[say Done.]]")
                      :approval "bash=allow")))
          (should (equal (alist-get 'status end) "completed"))
          (should (equal (alist-get 'text end) "Done."))
          (should (equal (mapcar (lambda (report) (alist-get 'name report))
                                 (magent-test-reports session "tool-call-complete"))
                         '("read_file" "bash")))
          (should (string-match-p "älpha" (format "%S" (magent-test-reports
                                                        session "tool-call-complete"))))
          (should (magent-test-reports session "reasoning-delta")))
        (should (equal before (list gptel-model gptel-tools gptel-use-tools
                                    gptel-stream))))
      (should (= 0 (hash-table-count magent-sampling-gptel--buffers))))))

(ert-deftest magent-sampling-gptel-failures-read-as-those-of-the-core ()
  (magent-test-with-provider provider
    (magent-sampling-gptel-test-with (process-get provider 'url)
      (pcase-dolist (`(,prompt . ,code) '(("[[http 401]]" . "unauthorized")
                                          ("[[http 500]]" . "server-error")
                                          ("[[empty]]" . "empty-completion")
                                          ("[[say Half of it.]][[drop]]"
                                           . "stream-truncated")))
        (let ((magent-stream-retry-limit 0))
          (let-alist (car (magent-sampling-gptel-test--end prompt))
            (should (equal (cons .status .error.code) (cons "failed" code)))
            (should-not (string-match-p "sk-secret" .error.message))))))))

(ert-deftest magent-sampling-gptel-a-cancel-ends-the-request ()
  (magent-test-with-provider provider
    (magent-sampling-gptel-test-with (process-get provider 'url)
      (let* ((session (magent-test-open-session))
             (turn (magent-test-submit session "[[slow 500]]")))
        (magent-test-await session "assistant-delta")
        (magent-runtime-cancel (magent-test-session-id session))
        (should (equal (alist-get 'status (magent-test-await-end session turn))
                       "cancelled"))
        (magent-test-wait-for
         "The end of curl"
         (lambda () (cl-notany (lambda (process)
                                 (string-match-p "gptel" (process-name process)))
                               (process-list))))
        (should (= 0 (hash-table-count magent-sampling-gptel--buffers)))))))

(ert-deftest magent-sampling-gptel-types-that-nobody-knows-go-through-gptel ()
  (magent-test-with-provider provider
    (magent-sampling-gptel-test-with (process-get provider 'url)
      (let ((magent-transport 'core))
        (let-alist (magent-test-host-value 'route :backend "Through" :model "demo")
          (should (equal .dialect "openai-chat")))
        (eval '(cl-defstruct (magent-sampling-gptel-test-backend
                              (:include gptel-openai)
                              (:copier nil)))
              t)
        (let ((mine (copy-sequence (cdar gptel--known-backends))))
          (aset mine 0 'magent-sampling-gptel-test-backend)
          (setf (cdar gptel--known-backends) mine))
        (let-alist (magent-test-host-value 'route :backend "Through" :model "demo")
          (should (equal .dialect "gptel"))
          (should-not .url))
        (should (equal (alist-get 'text (car (magent-sampling-gptel-test--end
                                              "[[say Derived.]]")))
                       "Derived."))))))

;;;; Streams that gptel misreads

(defun magent-sampling-gptel-test--serve (body)
  "Return a server process that answers every request with BODY, a stream."
  (make-network-process
   :name "magent-test-server" :server t :host "127.0.0.1" :service t :noquery t
   :family 'ipv4 :coding 'binary
   :filter (lambda (connection _request)
             (process-send-string
              connection
              (concat "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                      "Connection: close\r\n\r\n" (encode-coding-string body 'utf-8)))
             (process-send-eof connection)
             (delete-process connection))))

(defun magent-sampling-gptel-test--chunk (delta &optional finish)
  "Return an event with DELTA, a plist, and the reason FINISH."
  (format "data: %s\n\n"
          (json-serialize `( :choices [( :index 0 :delta ,delta
                                         :finish_reason ,(or finish :null))]))))

(defun magent-sampling-gptel-test--answered (body)
  "Return the end of a turn that is answered with BODY, a stream."
  (magent-test-need-core)
  (let ((server (magent-sampling-gptel-test--serve body))
        (magent-stream-retry-limit 0)
        (magent-max-sampling-requests 1)
        (magent-test--sessions nil))
    (unwind-protect
        (magent-test-with-directory
          (magent-sampling-gptel-test-with
              (format "http://127.0.0.1:%d" (process-contact server :service))
            (unwind-protect (car (magent-sampling-gptel-test--end "Go"))
              (mapc #'magent-test--close magent-test--sessions))))
      (delete-process server))))

(defun magent-sampling-gptel-test--call (&rest names)
  "Return a delta that calls the tools NAMES, all in one event."
  `(:tool_calls
    ,(vconcat (seq-map-indexed
               (lambda (name index)
                 `( :index ,index :id ,(format "c%d" index) :type "function"
                    :function (:name ,name :arguments "{\"path\": \"a\"}")))
               names))))

(ert-deftest magent-sampling-gptel-an-answer-that-is-not-whole-is-no-success ()
  (let ((words (magent-sampling-gptel-test--chunk '(:content "Some words")))
        (stop (magent-sampling-gptel-test--chunk '(:content "") "stop"))
        (done "data: [DONE]\n\n"))
    (let-alist (magent-sampling-gptel-test--answered (concat words stop done))
      (should (equal (cons .status .text) '("completed" . "Some words"))))
    (pcase-dolist
        (`(,body . ,code)
         `((,words . "stream-truncated")
           (,(concat words "event: error\ndata: {\"type\": \"error\", \"error\": "
                     "{\"message\": \"Overloaded\"}}\n\n")
            . "provider-error")
           (,(concat words "data: {\"error\": {\"message\": \"Out of memory\"}}\n\n" done)
            . "provider-error")
           ;; gptel reads the first call of an event only.
           (,(concat (magent-sampling-gptel-test--chunk
                      (magent-sampling-gptel-test--call "read_file" "glob"))
                     (magent-sampling-gptel-test--chunk '(:content "") "tool_calls") done)
            . "protocol")
           ;; It reads no call that stands beside a text.
           (,(concat (magent-sampling-gptel-test--chunk
                      (append '(:content "I read.")
                              (magent-sampling-gptel-test--call "read_file")))
                     (magent-sampling-gptel-test--chunk '(:content "") "tool_calls") done)
            . "protocol")
           ;; Without the marker it does not make calls of what it has read.
           (,(concat (magent-sampling-gptel-test--chunk
                      (magent-sampling-gptel-test--call "read_file"))
                     (magent-sampling-gptel-test--chunk '(:content "") "tool_calls"))
            . "protocol")))
      (let-alist (magent-sampling-gptel-test--answered body)
        (should (equal (list body .status .error.code) (list body "failed" code)))))))

(ert-deftest magent-sampling-gptel-no-message-repeats-a-key ()
  (magent-sampling-gptel-test-with "http://127.0.0.1:9"
    (should (equal (magent-sampling-gptel--without-key
                    "Incorrect key: sk-secret-key." (cdar gptel--known-backends))
                   "Incorrect key: [key]."))))

(ert-deftest magent-sampling-gptel-a-key-that-fails-is-not-quoted ()
  (magent-sampling-gptel-test-with "http://127.0.0.1:9"
    (magent-sampling-gptel-test--define
     "http://127.0.0.1:9" (lambda () (error "Boom sk-secret-key")))
    (dolist (call '((route (backend . "Through") (model . "demo"))
                    (sample-start (id . "a")
                                  (request (backend . "Through") (model . "demo")
                                           (system . "") (stream . t)
                                           (speeches ((role . "user") (text . "x")))))))
      (let* ((magent-transport (if (eq (car call) 'route) 'core 'gptel))
             (failure (format "%S" (should-error
                                    (magent-core-host-call (car call) (cdr call))
                                    :type 'magent-core-host-failure))))
        (should (string-match-p "backend Through fails with an error of the type error\\." failure))
        (should-not (string-match-p "sk-secret" failure))))))

(provide 'magent-sampling-gptel-test)

;;; magent-sampling-gptel-test.el ends here
