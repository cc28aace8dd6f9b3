;;; magent-gptel-test.el --- Tests of the registry of models  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The Magent contributors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Code:

(require 'magent-test-support)
(require 'magent-gptel)

(defvar gptel-proxy)
(defvar url-proxy-services)
(defvar gptel-backend)
(defvar gptel-model)
(defvar gptel--known-backends)
(declare-function gptel-make-gh-copilot "ext:gptel-gh")
(declare-function gptel-make-openai "ext:gptel-openai")

(defvar magent-gptel-test-key nil
  "A variable that holds a key.")

(defmacro magent-gptel-test--with (backends &rest body)
  "Evaluate BODY with only BACKENDS, lists of arguments, and without gptel's.
They are arguments of `magent-define-backend'."
  (declare (indent 1) (debug (form body)))
  `(let ((magent-backend--all nil) (magent-default-model nil)
         (gptel-proxy nil) (url-proxy-services nil))
     ;; This variable cannot be bound with `let'.
     (cl-letf (((symbol-value 'features) (remq 'gptel-request features)))
       (dolist (backend ,backends)
         (apply #'magent-define-backend backend))
       ,@body)))

(defun magent-gptel-test--route (backend model)
  "Return the route to MODEL of BACKEND as the core gets it."
  (magent-test-host-value 'route :backend backend :model model))

(defun magent-gptel-test--header (route name)
  "Return the value of the header NAME of ROUTE."
  (cadr (assoc name (alist-get 'headers route))))

(defconst magent-gptel-test--good
  '("B" :dialect openai-chat :url "http://localhost:1/v1" :models (m))
  "Arguments of `magent-define-backend' that are right.")

;;;; Defining

(ert-deftest magent-gptel-bad-definitions-are-refused-by-name ()
  (pcase-dolist (`(,key ,value ,code)
                 '((:dialect nil "bad-dialect") (:dialect openai "bad-dialect")
                   (:dialect "openai-chat" "bad-dialect")
                   (:url nil "bad-url") (:url "localhost:1/v1" "bad-url")
                   (:url "ftp://host/" "bad-url") (:url "http://" "bad-url")
                   (:url http://host "bad-url") (:models nil "no-models")))
    (magent-gptel-test--with nil
      (let* ((plist (plist-put (copy-sequence (cdr magent-gptel-test--good)) key value))
             (err (should-error (apply #'magent-define-backend "B" plist)
                                :type 'magent-config-error)))
        (should (equal (nthcdr 2 (take 4 err)) (list 'config code)))
        (should (string-match-p "\\`Backend B " (nth 1 err)))
        (should-not magent-backend--all)))))

(ert-deftest magent-gptel-a-backend-is-replaced-and-the-first-one-is-the-default ()
  (magent-gptel-test--with '(("A" :dialect ollama :url "http://a" :models ("one"))
                             ("B" :dialect ollama :url "http://b" :models ("two"))
                             ("B" :dialect ollama :url "http://c" :models (three)))
    (let-alist (magent-test-host-value 'models)
      (should (equal (mapcar (lambda (row) (list (alist-get 'backend row)
                                                 (alist-get 'model row)))
                             .models)
                     '(("A" "one") ("B" "three"))))
      (should (equal .default '((backend . "A") (model . "one")))))
    (should-not (assq 'wanted (magent-test-host-value 'models)))
    (let ((magent-default-model "B:three:latest"))
      (should (equal (alist-get 'wanted (magent-test-host-value 'models))
                     "B:three:latest")))))

(ert-deftest magent-gptel-a-backend-that-cannot-be-used-is-refused-when-it-is-defined ()
  (let ((magent-backend--all nil))
    (pcase-dolist (`(,name ,key ,value)
                   '(("B" :models "m") ("B" :models nil) ("B" :models (5))
                     ("B" :models (m . n)) ("B" :models (nil)) ("B" :models (("m" x)))
                     ("B" :url "h/v1") ("B" :url nil) ("B" :dialect openai)
                     (b :models (m)) ("" :models (m))))
      (let ((arguments (list :dialect 'openai-chat :url "http://h/v1" :models '(m))))
        (should-error (apply #'magent-define-backend name
                             (plist-put arguments key value))
                      :type 'magent-config-error)))
    (should-not magent-backend--all)))

(ert-deftest magent-gptel-a-key-that-fails-is-told-by-the-backends-name ()
  (magent-gptel-test--with
      `(("A" :dialect openai-chat :url "http://a/v1" :models (m)
         :key ,(lambda () (error "Boom sk-secret")))
        ("B" :dialect openai-chat :url "http://a/v1" :models (m)
         :key ,(lambda () (car "sk-secret"))))
    (pcase-dolist (`(,backend . ,symbol) '(("A" . "error") ("B" . "wrong-type-argument")))
      (let ((failure (format "%S" (should-error
                                   (magent-core-host-call
                                    'route `((backend . ,backend) (model . "m")))
                                   :type 'magent-core-host-failure))))
        (should (string-match-p
                 (format "The :key of backend %s fails with an error of the type %s\\." backend symbol)
                 failure))
        (should-not (string-match-p "sk-secret" failure))))))

(ert-deftest magent-gptel-a-definition-that-is-refused-is-not-quoted ()
  (pcase-dolist
      (`(,key ,value ,part)
       `((:url "htp://me:sk-secret@x/sk-secret?key=sk-secret" "begins with htp://x\\.")
         (:url "sk-secret" "has no usable URL\\.")
         (:url (sk-secret) "has no usable URL\\.")
         (:headers ,(lambda () '(("X-Key" . "sk-secret"))) "no usable :headers")
         (:headers (lambda () '(("X-Key" . "sk-secret"))) "no usable :headers")
         (:headers (("X-Key: sk-secret" . "")) "no usable :headers")
         (:headers (("X-Key" "sk-secret")) "no usable :headers")
         (:headers ("X-Key" . "sk-secret") "no usable :headers")
         (:params (:api_key "sk-secret") "no usable :params")
         (:params ,(lambda () "sk-secret") "no usable :params")))
    (magent-gptel-test--with nil
      (let* ((plist (plist-put (copy-sequence (cdr magent-gptel-test--good)) key value))
             (err (should-error (apply #'magent-define-backend "B" plist)
                                :type 'magent-config-error)))
        (should (string-match-p part (nth 1 err)))
        (should-not (string-match-p "sk-secret" (format "%S" err)))))))

(ert-deftest magent-gptel-what-is-known-of-a-model-is-told ()
  (magent-gptel-test--with
      '(("B" :dialect openai-chat :url "http://b"
         :models ((big :description "Größer" :context-window 128000
                       :capabilities (tool-use media))
                  "plain")))
    (should (equal (alist-get 'models (magent-test-host-value 'models))
                   '(((backend . "B") (model . "big") (description . "Größer")
                      (context-window . 128000) (capabilities "tool-use" "media"))
                     ((backend . "B") (model . "plain") (capabilities)))))
    (should (= (alist-get 'context-window (magent-gptel-test--route "B" "big")) 128000))))

(ert-deftest magent-gptel-without-any-backend-there-is-no-default ()
  (magent-gptel-test--with nil
    (should (equal (magent-test-host-value 'models) '((models))))
    (should (equal (magent-test-host-code 'route :backend "B" :model "m")
                   "unknown-model"))))

;;;; Routes of our own

(ert-deftest magent-gptel-endpoints-follow-from-the-url-and-the-dialect ()
  (pcase-dolist
      (`(,dialect ,url ,endpoint)
       '((openai-chat "http://h" "http://h/v1/chat/completions")
         (openai-chat "http://h/" "http://h/v1/chat/completions")
         (openai-chat "http://h:8/v1" "http://h:8/v1/chat/completions")
         (openai-chat "http://h/v1/chat/completions" "http://h/v1/chat/completions")
         (openai-chat "https://h/x?version=1" "https://h/x?version=1")
         (openai-responses "https://h/v1/" "https://h/v1/responses")
         (anthropic "https://h" "https://h/v1/messages")
         (gemini "https://h" "https://h/v1beta/models/m:streamGenerateContent?alt=sse")
         (gemini "https://h/v1/models" "https://h/v1/models/m:streamGenerateContent?alt=sse")
         (ollama "http://h:11434" "http://h:11434/api/chat")))
    (magent-gptel-test--with `(("B" :dialect ,dialect :url ,url :models (m)))
      (let-alist (magent-gptel-test--route "B" "m")
        (should (equal .url endpoint))
        (should (equal .dialect (symbol-name dialect)))
        (should (eq .stream t))))))

(ert-deftest magent-gptel-keys-are-looked-up-for-each-request ()
  (let ((calls 0))
    (pcase-dolist (`(,key . ,expected)
                   `(("literal" . "Bearer literal")
                     (,(lambda () (format "call-%d\n" (cl-incf calls))) . "Bearer call-1")
                     (magent-gptel-test-key . "Bearer from-variable")
                     (nil . nil) ("" . nil) (magent-gptel-test-unbound . nil)))
      (magent-gptel-test--with `(("B" :dialect openai-chat :url "http://b"
                                  :key ,key :models (m) :headers (("X-A" . 1))))
        ;; The list of models needs no key.
        (magent-test-host-value 'models)
        (setq magent-gptel-test-key (lambda () "from-variable"))
        (let ((route (magent-gptel-test--route "B" "m")))
          (should (equal (magent-gptel-test--header route "Authorization") expected))
          (should (equal (magent-gptel-test--header route "X-A") "1")))
        (when (functionp key)
          (should (= calls 1))
          (magent-gptel-test--route "B" "m")
          (should (= calls 2)))))))

(ert-deftest magent-gptel-each-dialect-has-its-header-for-the-key ()
  (pcase-dolist (`(,dialect ,header ,value)
                 '((anthropic "x-api-key" "k") (anthropic "anthropic-version" "2023-06-01")
                   (gemini "x-goog-api-key" "k") (ollama "Authorization" "Bearer k")
                   (openai-responses "Authorization" "Bearer k")))
    (magent-gptel-test--with `(("B" :dialect ,dialect :url "http://b" :key "k"
                                :models (m)))
      (should (equal (magent-gptel-test--header (magent-gptel-test--route "B" "m") header)
                     value)))))

(ert-deftest magent-gptel-params-cross-as-an-object ()
  (pcase-dolist (`(,params . ,expected)
                 '((nil . nil)
                   (((top_k . 4) ("stop" . ["a" "b"]) (:nested . ((on . t)))
                     (plist . (:off :json-false :none nil :list ["a" (:b 1.5)])))
                    . ((top_k . 4) (stop "a" "b") (nested (on . t))
                       (plist (off) (none) (list "a" ((b . 1.5))))))))
    (magent-gptel-test--with `(("B" :dialect openai-chat :url "http://b"
                                :models (m) :params ,params))
      (let ((json (cdr (magent-core--host-answer
                        'route "{\"backend\":\"B\",\"model\":\"m\"}"))))
        (should (string-match-p "\"params\":{" json))
        (should (equal (alist-get 'params (magent-core--parse json)) expected))))))

(ert-deftest magent-gptel-a-key-that-cannot-be-had-is-an-answer-without-secrets ()
  (magent-test-with-log log
    (magent-gptel-test--with
        `(("B" :dialect openai-chat :url "http://b" :models (m)
           :key ,(lambda () (error "Keyring is locked")))
          ("C" :dialect openai-chat :url "http://c" :models (m) :key "sk-secret"))
      (let ((answer (magent-test-host 'route :backend "B" :model "m")))
        (should-not (car answer))
        (should (string-match-p "backend B fails with an error of the type error"
                                (alist-get 'message (cdr answer)))))
      (magent-gptel-test--route "C" "m")
      (magent-test-host 'route :backend "C" :model "other")
      (magent-test-host 'models)
      (should-not (string-match-p "sk-secret" (log))))))

(ert-deftest magent-gptel-proxies-and-authorities-are-told ()
  (magent-gptel-test--with (list magent-gptel-test--good)
    (cl-flet ((field (key) (alist-get key (magent-gptel-test--route "B" "m"))))
      (should (equal (field 'proxy) "system"))
      (let ((url-proxy-services '(("http" . "proxy:3128"))))
        (should (equal (field 'proxy) "http://proxy:3128")))
      (let ((url-proxy-services '(("http" . "proxy:3128") ("no_proxy" . "localhost"))))
        (should (equal (field 'proxy) "direct")))
      (let ((gptel-proxy "socks5://p:1"))
        (should (equal (field 'proxy) "socks5://p:1")))
      (should-not (field 'ca-bundle))
      (let ((magent-ca-bundle "/ca.pem"))
        (should (equal (field 'ca-bundle) "/ca.pem"))))))

;;;; Backends of gptel

(defmacro magent-gptel-test--with-gptel (key &rest body)
  "Evaluate BODY with a backend of gptel that has KEY; skip without gptel."
  (declare (indent 1) (debug (form body)))
  `(let ((inhibit-message t))
     (magent-test-need-package 'gptel)
     (require 'gptel-openai)
     (let ((magent-backend--all nil) (magent-default-model nil)
           (gptel--known-backends nil) (url-proxy-services nil))
       (gptel-make-openai "Local"
         :host "localhost:9" :protocol "http" :stream t :key ,key
         :request-params '(:top_k 3)
         :models '((model-a :description "A" :context-window 32
                            :capabilities (tool-use))
                   model-b))
       ,@body)))

(ert-deftest magent-gptel-models-of-gptel-are-listed-with-windows-in-tokens ()
  (magent-gptel-test--with-gptel "k"
    (let-alist (magent-test-host-value 'models)
      (should (equal .models
                     '(((backend . "Local") (model . "model-a") (description . "A")
                        (context-window . 32000) (capabilities "tool-use"))
                       ((backend . "Local") (model . "model-b") (capabilities))))))))

(ert-deftest magent-gptel-a-route-of-gptel-has-what-gptel-would-send ()
  (let ((calls 0))
    (magent-gptel-test--with-gptel (lambda () (format "key-%d" (cl-incf calls)))
      (let* ((before (list gptel-backend gptel-model))
             (route (magent-gptel-test--route "Local" "model-a")))
        (let-alist route
          (should (equal .dialect "openai-chat"))
          (should (equal .url "http://localhost:9/v1/chat/completions"))
          (should (equal .params '((top_k . 3))))
          (should (= .context-window 32000)))
        (should (equal (magent-gptel-test--header route "Authorization") "Bearer key-1"))
        (should (equal (magent-gptel-test--header
                        (magent-gptel-test--route "Local" "model-b") "Authorization")
                       "Bearer key-2"))
        (should (= calls 2))
        (should (equal (list gptel-backend gptel-model) before))
        (should (equal (magent-test-host-code 'route :backend "Local" :model "none")
                       "unknown-model"))))))

(ert-deftest magent-gptel-every-kind-of-backend-of-gptel-has-its-route ()
  (magent-gptel-test--with-gptel "k"
    (dolist (feature '(gptel-anthropic gptel-gemini gptel-ollama gptel-openai-extras))
      (require feature))
    (pcase-dolist
        (`(,maker ,arguments ,dialect ,url ,header)
         '((gptel-make-anthropic (:key "k" :stream t) "anthropic"
            "https://api.anthropic.com/v1/messages" ("x-api-key" "k"))
           (gptel-make-gemini (:key "k" :stream t) "gemini"
            "https://generativelanguage.googleapis.com/v1beta/models/m:streamGenerateContent?alt=sse"
            ("X-goog-api-key" "k"))
           (gptel-make-gemini (:key "k" :stream nil) "gemini"
            "https://generativelanguage.googleapis.com/v1beta/models/m:generateContent"
            ("X-goog-api-key" "k"))
           (gptel-make-ollama (:host "h:11434" :stream t) "ollama"
            "http://h:11434/api/chat" nil)
           (gptel-make-deepseek (:key "k" :stream t) "openai-chat"
            "https://api.deepseek.com/v1/chat/completions" ("Authorization" "Bearer k"))
           (gptel-make-xai (:key "k" :stream t) "openai-chat"
            "https://api.x.ai/v1/chat/completions" ("Authorization" "Bearer k"))
           (gptel-make-azure (:key "k" :host "h" :stream t
                              :endpoint "/openai/x?api-version=1")
            "openai-chat" "https://h/openai/x?api-version=1" ("api-key" "k"))
           (gptel-make-openai-responses (:key "k" :stream t) "openai-responses"
            "https://api.openai.com/v1/responses" ("Authorization" "Bearer k"))))
      (when (fboundp maker)
        (apply maker "Kind" :models '(m) arguments)
        (let-alist (magent-gptel-test--route "Kind" "m")
          (should (equal (list maker .dialect) (list maker dialect)))
          (should (equal (car (split-string .url "[?&]key=")) url))
          (should (eq .stream (plist-get arguments :stream)))
          (when header
            (should (member header .headers))))))))

(ert-deftest magent-gptel-copilot-is-told-who-goes-on-and-asked-in-the-models-protocol ()
  (magent-gptel-test--with-gptel "k"
    (unless (require 'gptel-gh nil t)
      (ert-skip "this version of gptel has no Copilot"))
    ;; The token would be fetched from the network.
    (cl-letf (((symbol-function 'gptel--gh-auth) #'ignore))
      (gptel-make-gh-copilot "Copilot" :models '(chat (both :capabilities (responses-api))))
      (cl-flet ((told (model continues)
                  (let-alist (magent-test-host-value 'route :backend "Copilot" :model model
                                                     :continues continues)
                    (list .dialect (cadr (assoc "x-initiator" .headers))))))
        (should (equal (told "chat" :false) '("openai-chat" "user")))
        (should (equal (told "chat" t) '("openai-chat" "agent")))
        (should (equal (told "both" t) '("openai-responses" "agent")))))))

(ert-deftest magent-gptel-the-default-is-gptels-unless-nobody-set-it-up ()
  (magent-gptel-test--with-gptel "k"
    (let ((old (list (default-value 'gptel-backend) (default-value 'gptel-model))))
      (unwind-protect
          (progn
            (apply #'magent-define-backend magent-gptel-test--good)
            ;; What gptel begins with, and nobody chose, is no default: nothing, or in
            ;; some versions a backend without a key.
            (set-default 'gptel-backend nil)
            (should (equal (magent-gptel--default) '("B" . "m")))
            (set-default 'gptel-model 'model-c)
            (set-default 'gptel-backend
                         (gptel-make-openai "ChatGPT" :key 'gptel-api-key
                                            :models '(model-c)))
            (should (equal (magent-gptel--default) '("B" . "m")))
            (set-default 'gptel-backend (cdr (assoc "Local" gptel--known-backends)))
            (set-default 'gptel-model 'model-b)
            (should (equal (magent-gptel--default) '("Local" . "model-b"))))
        (set-default 'gptel-backend (car old))
        (set-default 'gptel-model (cadr old))))))

(provide 'magent-gptel-test)

;;; magent-gptel-test.el ends here
