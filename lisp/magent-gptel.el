;;; magent-gptel.el --- Models and the way to them  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The Magent contributors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; The registry of models.  Models come from gptel, the user's registry of backends and
;; keys, and from `magent-define-backend', for endpoints that gptel does not know and
;; for use without gptel.  The core asks for the list of models and, before each
;; request, for the route to one of them.  Keys are looked up then and handed over for
;; that request only.  No variable of gptel is ever changed.

;;; Code:

(require 'cl-lib)
(require 'subr-x)
(require 'url-parse)
(require 'magent-backend)
(require 'magent-config)
(require 'magent-core)

(defvar gptel-backend)
(defvar gptel-model)
(defvar gptel-stream)
(defvar gptel-use-curl)
(defvar gptel-api-key)
(defvar gptel-temperature)
(defvar gptel-max-tokens)
(defvar gptel-proxy)
(defvar gptel--known-backends)
(defvar url-proxy-services)
(declare-function gptel-backend-name "ext:gptel-request" (backend) t)
(declare-function gptel-backend-models "ext:gptel-request" (backend) t)
(declare-function gptel-backend-url "ext:gptel-request" (backend) t)
(declare-function gptel-backend-header "ext:gptel-request" (backend) t)
(declare-function gptel-backend-key "ext:gptel-request" (backend) t)
(declare-function gptel-backend-stream "ext:gptel-request" (backend) t)
(declare-function gptel-backend-request-params "ext:gptel-request" (backend) t)

;;;; Backends of gptel

(defun magent-gptel--backends ()
  "Return the backends of gptel, newest definition last, or nil without gptel."
  (and (featurep 'gptel-request)
       (boundp 'gptel--known-backends)
       (reverse (mapcar #'cdr gptel--known-backends))))

(defun magent-gptel--pristine-p (backend)
  "Return non-nil if BACKEND is the one gptel begins with and nobody set up."
  (and (equal (gptel-backend-name backend) "ChatGPT")
       (eq (gptel-backend-key backend) 'gptel-api-key)
       (eq (default-value 'gptel-api-key) 'gptel-api-key-from-auth-source)))

(defun magent-gptel--dialect (backend url)
  "Return the dialect that BACKEND of gptel speaks at URL, a symbol, or nil.
Only exact types count: a type derived from one of these has ways of its own."
  (pcase (type-of backend)
    ((or 'gptel-openai 'gptel-deepseek 'gptel-perplexity) 'openai-chat)
    ((or 'gptel-openai-responses 'gptel-openai-oauth) 'openai-responses)
    ;; Copilot has both, by model.
    ('gptel--gh (if (string-suffix-p "/responses" url) 'openai-responses 'openai-chat))
    ('gptel-anthropic 'anthropic)
    ('gptel-gemini 'gemini)
    ('gptel-ollama 'ollama)))

(defun magent-gptel--call (function-or-value info)
  "Return FUNCTION-OR-VALUE, called with INFO if it is a function.
Functions of older versions of gptel take no argument."
  (cond ((not (functionp function-or-value)) function-or-value)
        ((eql (cdr (func-arity function-or-value)) 0) (funcall function-or-value))
        (t (funcall function-or-value info))))

(defun magent-gptel--params (backend model)
  "Return the user's request parameters for MODEL of BACKEND, as an alist."
  (let (params)
    (dolist (plist (list (gptel-backend-request-params backend)
                         (get model :request-params)))
      (while plist
        (setf (alist-get (car plist) params) (cadr plist))
        (setq plist (cddr plist))))
    params))

;;;; The list of models

(defun magent-gptel--model-row (backend model plist unit)
  "Return the row of MODEL, a string, of BACKEND, a string.
PLIST has what is known of the model; its context window is counted in UNIT
tokens."
  (let ((window (plist-get plist :context-window))
        (description (plist-get plist :description)))
    `((backend . ,backend)
      (model . ,model)
      ,@(when (stringp description) `((description . ,description)))
      ,@(when (numberp window) `((context-window . ,(round (* window unit)))))
      (capabilities . ,(vconcat (mapcar #'magent-backend--string
                                        (plist-get plist :capabilities)))))))

(defun magent-gptel--own-rows ()
  "Return rows of the models of our own backends."
  (mapcan (lambda (backend)
            (mapcar (lambda (spec)
                      (let ((model (magent-backend--model spec)))
                        (magent-gptel--model-row (magent-backend-name backend)
                                                 (car model) (cdr model) 1)))
                    (magent-backend-models backend)))
          magent-backend--all))

(defun magent-gptel--gptel-row (backend model)
  "Return the row of MODEL, a symbol or string, of BACKEND, a name in gptel."
  (magent-gptel--model-row backend (magent-backend--string model)
                           ;; gptel counts windows in thousands of tokens.
                           (and (symbolp model) (symbol-plist model)) 1000))

(defun magent-gptel--stream-p (backend)
  "Return t if the user lets BACKEND of gptel stream, else nil."
  (and (gptel-backend-stream backend) (default-value 'gptel-stream) t))

(defun magent-gptel--gptel-rows ()
  "Return rows of the models of gptel's backends."
  (mapcan (lambda (backend)
            (mapcar (lambda (model)
                      (magent-gptel--gptel-row (gptel-backend-name backend) model))
                    (gptel-backend-models backend)))
          (magent-gptel--backends)))

(defun magent-gptel--gptel-default ()
  "Return (BACKEND . MODEL), the default of gptel as strings, or nil."
  (when-let* (((featurep 'gptel-request))
              (backend (default-value 'gptel-backend))
              (model (default-value 'gptel-model)))
    (cons (gptel-backend-name backend) (magent-backend--string model))))

(defun magent-gptel--own-default ()
  "Return (BACKEND . MODEL), the first model of our own backends, or nil."
  (when-let* ((backend (car magent-backend--all)))
    (cons (magent-backend-name backend)
          (car (magent-backend--model (car (magent-backend-models backend)))))))

(defun magent-gptel--default ()
  "Return (BACKEND . MODEL), the model unless the user wants another, or nil."
  (let ((own (magent-gptel--own-default))
        (gptel (magent-gptel--gptel-default)))
    (if (and own
             (or (null gptel)
                 (magent-gptel--pristine-p (default-value 'gptel-backend))))
        own
      gptel)))

(cl-defmethod magent-core-host-call ((_op (eql 'models)) _args)
  "Return the registered models, the default one and what the user wants instead."
  (let ((default (magent-gptel--default)))
    `((models . ,(vconcat (magent-gptel--own-rows) (magent-gptel--gptel-rows)))
      ,@(when default
          `((default . ((backend . ,(car default)) (model . ,(cdr default))))))
      ,@(unless (member magent-default-model '(nil ""))
          `((wanted . ,(format "%s" magent-default-model)))))))

;;;; Routes

(defun magent-gptel--proxy (url)
  "Return the proxy for URL: \"system\", \"direct\" or the proxy's URL."
  (let* ((parts (url-generic-parse-url url))
         (no-proxy (cdr (assoc "no_proxy" url-proxy-services)))
         (service (cdr (assoc (url-type parts) url-proxy-services)))
         (gptel (and (boundp 'gptel-proxy) gptel-proxy)))
    (cond ((and (stringp gptel) (not (string-empty-p gptel)))
           (if (string-match-p "://" gptel) gptel (concat "http://" gptel)))
          ((and (stringp no-proxy) (string-match-p no-proxy (url-host parts)))
           "direct")
          ((and (stringp service) (not (string-empty-p service)))
           (if (string-match-p "://" service) service (concat "http://" service)))
          (t "system"))))

(defun magent-gptel--headers (alist)
  "Return the headers in ALIST as a vector of pairs of strings."
  (vconcat (mapcar (lambda (header)
                     (vector (format "%s" (car header)) (format "%s" (cdr header))))
                   alist)))

(defun magent-gptel--object (alist)
  "Return ALIST for JSON, with symbols as keys; nil is an empty object."
  (mapcar (lambda (field)
            (cons (intern (string-remove-prefix ":" (format "%s" (car field))))
                  (magent-gptel--json (cdr field))))
          alist))

(defun magent-gptel--json (value)
  "Return VALUE as `json-serialize' takes it, inside of lists and vectors, too.
What users and gptel write as JSON is a plist or alist for an object, a
vector or list for an array, `:json-false' for false and nil for null."
  (pcase value
    ('nil :null)
    ((or ':json-false ':false) :false)
    ((or 't ':null (pred stringp) (pred numberp)) value)
    ((pred vectorp) (vconcat (mapcar #'magent-gptel--json value)))
    (`(,(pred keywordp) . ,_)
     (magent-gptel--object (cl-loop for (key field) on value by #'cddr
                                    collect (cons key field))))
    (`((,(pred atom) . ,_) . ,_) (magent-gptel--object value))
    ((pred consp) (vconcat (mapcar #'magent-gptel--json value)))
    (_ (format "%s" value))))

(defun magent-gptel--streaming-url (url dialect)
  "Return URL, of DIALECT, so that answers come as server-sent events.
Gemini sends a growing array otherwise."
  (if (and (eq dialect 'gemini)
           (string-match-p ":streamGenerateContent" url)
           (not (string-match-p "[?&]alt=" url)))
      (concat url (if (string-match-p "\\?" url) "&" "?") "alt=sse")
    url))

(defun magent-gptel--ca-bundle ()
  "Return the alist entry that names the file of certificate authorities, if any."
  (when-let* ((file (or magent-ca-bundle (getenv "SSL_CERT_FILE")))
              ((not (string-empty-p file))))
    `((ca-bundle . ,(expand-file-name file)))))

(defun magent-gptel--own-route (backend model)
  "Return the route to MODEL, a string, of BACKEND, one of ours."
  (let* ((spec (cl-find model (magent-backend-models backend)
                        :key (lambda (spec) (car (magent-backend--model spec)))
                        :test #'equal))
         (plist (cdr (magent-backend--model spec)))
         (url (magent-backend--endpoint backend model)))
    (unless spec
      (magent-core-host-fail "unknown-model"
                             (format "%s has no model %s"
                                     (magent-backend-name backend) model)))
    `((dialect . ,(symbol-name (magent-backend-dialect backend)))
      (url . ,url)
      (headers . ,(magent-gptel--headers
                   (magent-core-with-setting (magent-backend-name backend) ":key"
                     (magent-backend--request-headers backend))))
      (params . ,(magent-gptel--object (magent-backend-params backend)))
      (proxy . ,(magent-gptel--proxy url))
      (stream . t)
      ,@(magent-gptel--ca-bundle)
      ,@(assoc-delete-all
         'backend (magent-gptel--model-row "" model plist 1)))))

(defun magent-gptel--gptel-route (backend model continues)
  "Return the route to MODEL, a symbol, of BACKEND of gptel.
CONTINUES is non-nil if the request goes on with a turn, after tool calls."
  (let* ((gptel-backend backend)
         (gptel-model model)
         (gptel-stream (magent-gptel--stream-p backend))
         ;; Some backends take it as a condition of streaming.
         (gptel-use-curl t)
         (info (list :backend backend :model model :stream gptel-stream
                     ;; Copilot charges for what a user begins, not for what an
                     ;; agent goes on with.
                     :gh-initiator (and continues "agent")))
         (name (gptel-backend-name backend))
         (address (magent-core-with-setting name "URL"
                    (magent-gptel--call (gptel-backend-url backend) info)))
         (dialect (magent-gptel--dialect backend address))
         (url (magent-gptel--streaming-url address dialect))
         (row (magent-gptel--gptel-row "" model)))
    `((dialect . ,(symbol-name dialect))
      (url . ,url)
      (headers . ,(magent-gptel--headers
                   (magent-core-with-setting name "key or header"
                     (magent-gptel--call (gptel-backend-header backend) info))))
      (params . ,(magent-gptel--object (magent-gptel--params backend model)))
      (proxy . ,(magent-gptel--proxy url))
      (stream . ,(or gptel-stream :false))
      ,@(magent-gptel--numbers backend)
      ,@(magent-gptel--ca-bundle)
      ,@(assoc-delete-all 'backend row))))

(defun magent-gptel--transport-p (backend)
  "Return non-nil if gptel itself makes the requests to BACKEND of gptel.
Its protocol is told by its type alone, but for Copilot, which has two that
are both spoken."
  (or (eq magent-transport 'gptel)
      (not (magent-gptel--dialect backend ""))))

(defun magent-gptel--transport-route (backend model)
  "Return the route to MODEL, a symbol, of BACKEND through gptel's own requests."
  (let ((row (magent-gptel--gptel-row "" model)))
    `((dialect . "gptel")
      (stream . ,(or (magent-gptel--stream-p backend) :false))
      ;; gptel takes pictures out of files that are linked in a buffer only.
      (capabilities . ,(vconcat (seq-remove (lambda (name) (equal name "media"))
                                            (alist-get 'capabilities row))))
      ,@(assoc-delete-all 'capabilities (assoc-delete-all 'backend row)))))

(defun magent-gptel--numbers (backend)
  "Return the alist entries of gptel's numbers that BACKEND takes."
  (unless (eq (type-of backend) 'gptel-openai-oauth)
    (let ((temperature (default-value 'gptel-temperature))
          (max-tokens (default-value 'gptel-max-tokens)))
      `(,@(when (numberp temperature) `((temperature . ,temperature)))
        ,@(when (numberp max-tokens) `((max-tokens . ,max-tokens)))))))

(cl-defmethod magent-core-host-call ((_op (eql 'route)) args)
  "Return the route to the model in ARGS.
It has the keys backend, model and continues: whether the request goes on with a
turn."
  (let-alist args
    (let ((own (cl-find .backend magent-backend--all
                        :key #'magent-backend-name :test #'equal))
          (gptel (cl-find .backend (magent-gptel--backends)
                          :key (lambda (backend) (gptel-backend-name backend))
                          :test #'equal)))
      (condition-case err
          (cond (own (magent-gptel--own-route own .model))
                ((and gptel
                      (cl-find .model (gptel-backend-models gptel)
                               :key #'magent-backend--string :test #'equal))
                 (if (magent-gptel--transport-p gptel)
                     (magent-gptel--transport-route gptel (intern .model))
                   (magent-gptel--gptel-route gptel (intern .model) .continues)))
                (t (magent-core-host-fail
                    "unknown-model"
                    (format "There is no model %s:%s" .backend .model))))
        (magent-core-host-failure (signal (car err) (cdr err)))
        (error (magent-core-fail-setting .backend "definition" err))))))

(provide 'magent-gptel)

;;; magent-gptel.el ends here
