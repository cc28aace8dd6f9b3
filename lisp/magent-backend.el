;;; magent-backend.el --- Backends without gptel  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The Magent contributors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; `magent-define-backend', for endpoints that gptel does not know and for use without
;; gptel: what a definition may hold, and the address and headers that follow from it.

;;; Code:

(require 'cl-lib)
(require 'subr-x)
(require 'url-parse)
(require 'magent-error)

(cl-defstruct (magent-backend (:constructor magent-backend--make))
  "A backend defined with `magent-define-backend'."
  name dialect url key models headers params)

(defvar magent-backend--all nil
  "Backends defined with `magent-define-backend', in order of definition.")

(defconst magent-backend--dialects
  '((openai-chat . "/chat/completions")
    (openai-responses . "/responses")
    (anthropic . "/messages")
    (gemini . "/models/%s:streamGenerateContent?alt=sse")
    (ollama . "/api/chat"))
  "Dialects and the last part of their endpoint's path; %s is the model.")

(defun magent-backend--address (url)
  "Return words for the scheme and host of URL, what a user gave as one.
The rest of it may be secret, and all of it if it has no scheme."
  (if (and (stringp url)
           (string-match "\\`\\([a-zA-Z][a-zA-Z0-9+.-]*://\\)\\(?:[^/?#]*@\\)?\\([^/?#@]*\\)"
                         url))
      (format "; it begins with %s%s" (match-string 1 url) (match-string 2 url))
    ""))

(defun magent-backend--alist-p (value name-p)
  "Return non-nil if VALUE is an alist whose keys NAME-P, a predicate, takes."
  (and (proper-list-p value)
       (cl-every (lambda (field) (and (consp field) (funcall name-p (car field))))
                 value)))

(defun magent-backend--header-name-p (name)
  "Return non-nil if NAME can be that of a header."
  (and name (or (stringp name) (symbolp name))
       (string-match-p "\\`[!#$%&'*+.^_`|~0-9A-Za-z-]+\\'" (format "%s" name))))

(defun magent-backend--field-name-p (name)
  "Return non-nil if NAME can be that of a field of a request."
  (and name (or (stringp name) (symbolp name))))

(defun magent-backend--check-alists (name headers params)
  "Signal `magent-config-error' unless HEADERS and PARAMS can be those of NAME.
What they hold instead is not told, for it may be a key."
  (unless (and (magent-backend--alist-p headers #'magent-backend--header-name-p)
               (cl-every (lambda (header) (atom (cdr header))) headers)
               (cl-notany (lambda (header) (functionp (cdr header))) headers))
    (magent-error-signal 'config "bad-headers"
                         (format "Backend %s has no usable :headers." name)
                         "Write :headers '((NAME . VALUE) ...), with strings."))
  (unless (magent-backend--alist-p params #'magent-backend--field-name-p)
    (magent-error-signal 'config "bad-params"
                         (format "Backend %s has no usable :params." name)
                         "Write :params '((NAME . VALUE) ...).")))

(defun magent-backend--check (name dialect url models)
  "Signal `magent-config-error' unless a backend can have these.
NAME, DIALECT, URL and MODELS are arguments of `magent-define-backend'."
  (unless (and (stringp name) (not (string-blank-p name)))
    (magent-error-signal 'config "bad-name"
                         (format "A backend is named by a string, not by %S." name)))
  (unless (assq dialect magent-backend--dialects)
    (magent-error-signal 'config "bad-dialect"
                         (format "Backend %s has no dialect %S." name dialect)
                         (format "There are %s."
                                 (mapconcat (lambda (entry) (symbol-name (car entry)))
                                            magent-backend--dialects ", "))))
  (unless (and (stringp url) (string-match-p "\\`https?://[^/]" url))
    (magent-error-signal 'config "bad-url"
                         (format "Backend %s has no usable URL%s." name
                                 (magent-backend--address url))
                         "Write :url \"http://HOST:PORT/v1\", or with https."))
  (unless (and models (proper-list-p models)
               (cl-every #'magent-backend--model-p models))
    (magent-error-signal
     'config "no-models"
     (format "Backend %s has no list of models; it has %S." name models)
     "Write :models '(NAME ...), where each is a string, a symbol or (NAME . PLIST).")))

;;;###autoload
(cl-defun magent-define-backend (name &key dialect url key models headers params)
  "Define the model backend NAME, a string; replace it if it is defined.
It needs neither gptel nor any other configuration.

DIALECT is the protocol: `openai-chat', `openai-responses', `anthropic',
`gemini' or `ollama'.
URL is the endpoint, or its base, such as \"http://localhost:8080/v1\".
KEY is the key: a string, a variable, a function without arguments, or nil.
MODELS is a list of names, each a string or symbol, or (NAME . PLIST) with
the keys :description, :capabilities (a list of symbols) and :context-window
\(in tokens).
HEADERS is an alist of further headers.
PARAMS is an alist of further fields of a request."
  (declare (indent 1))
  (magent-backend--check name dialect url models)
  (magent-backend--check-alists name headers params)
  (let ((backend (magent-backend--make
                  :name name :dialect dialect :url url :key key :models models
                  :headers headers :params params)))
    (setq magent-backend--all
          (append (cl-remove name magent-backend--all
                             :key #'magent-backend-name :test #'equal)
                  (list backend)))
    name))

(defun magent-backend--string (name)
  "Return NAME, a symbol or string, as a string."
  (if (symbolp name) (symbol-name name) name))

(defun magent-backend--model-p (spec)
  "Return non-nil if SPEC is a model as `magent-define-backend' takes it."
  (pcase spec
    ((or (pred stringp) `(,(pred stringp) . ,(pred plistp))) t)
    ((or (and (pred symbolp) name) `(,(and (pred symbolp) name) . ,(pred plistp)))
     (and name (not (keywordp name))))))

(defun magent-backend--model (spec)
  "Return (NAME . PLIST) for the model SPEC of a backend of ours."
  (if (consp spec)
      (cons (magent-backend--string (car spec)) (cdr spec))
    (list (magent-backend--string spec))))

(defun magent-backend--endpoint (backend model)
  "Return the URL that requests for MODEL of BACKEND, one of ours, go to.
A URL that already ends in the dialect's path is left alone; one without any
path gets the usual version before it."
  (let* ((url (string-remove-suffix "/" (magent-backend-url backend)))
         (dialect (magent-backend-dialect backend))
         (end (format (alist-get dialect magent-backend--dialects) model))
         (version (pcase dialect ('ollama "") ('gemini "/v1beta") (_ "/v1")))
         (bare (string-match-p "\\`https?://[^/?]+\\'" url)))
    (cond ((or (string-match-p "\\?\\|:[a-z]+GenerateContent" url)
               (string-suffix-p end url))
           url)
          (bare (concat url version end))
          (t (concat (if (eq dialect 'gemini)
                         (string-remove-suffix "/models" url)
                       url)
                     end)))))

(defun magent-backend--key (key)
  "Return the key behind KEY, a string, variable or function, or nil."
  (let ((value (cond ((stringp key) key)
                     ((functionp key) (funcall key))
                     ((and key (symbolp key) (boundp key))
                      (magent-backend--key (symbol-value key))))))
    (and (stringp value) (not (string-empty-p value))
         (string-trim-right value "[\n\r]+"))))

(defun magent-backend--request-headers (backend)
  "Return the headers of a request to BACKEND, one of ours, as an alist."
  (let ((key (magent-backend--key (magent-backend-key backend))))
    (append (when key
              (pcase (magent-backend-dialect backend)
                ('anthropic `(("x-api-key" . ,key)
                              ("anthropic-version" . "2023-06-01")))
                ('gemini `(("x-goog-api-key" . ,key)))
                (_ `(("Authorization" . ,(concat "Bearer " key))))))
            (magent-backend-headers backend))))

(provide 'magent-backend)

;;; magent-backend.el ends here
