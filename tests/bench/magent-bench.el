;;; magent-bench.el --- Figures of Emacs against their budgets  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The Magent contributors
;; SPDX-License-Identifier: GPL-3.0-or-later

;;; Commentary:

;; scripts/bench.sh loads this file in batch Emacs and calls `magent-bench-run-batch'.
;; The environment tells where things are: MAGENT_MODULE is the module's file,
;; MAGENT_BENCH the program magent-bench, and MAGENT_BENCH_DIRECTORY a folder in which
;; that has written sessions.
;;
;; What is measured is what the main thread of Emacs does, since that is what a user
;; waits for.

;;; Code:

(require 'magent-bench-support)

(defconst magent-bench--sessions 3
  "Sessions that stream side by side.")

(defconst magent-bench--rate 2000
  "Pieces that each of them streams every second.")

(defconst magent-bench--seconds 4
  "How long they stream.")

(defconst magent-bench--piece 20
  "Characters of a piece.")

(defconst magent-bench--long-session "bench-2000"
  "The session of 2,000 turns.")

(defun magent-bench--project ()
  "Return the folder of the project that the measurements work in."
  (file-truename (expand-file-name "project" (getenv "MAGENT_BENCH_DIRECTORY"))))

;;;; Loading the module

(defun magent-bench--load-times ()
  "Return how long new Emacsen take to load the module, in milliseconds, sorted."
  (let (times)
    (dotimes (_ 5)
      (push (magent-test-emacs
             '(progn (require 'magent-module)
                     (let ((begun (float-time)))
                       (magent-module-load)
                       (* 1000 (- (float-time) begun)))))
            times))
    (sort times #'<)))

(defun magent-bench--module ()
  "Print the figures of loading the module and starting the core."
  (let ((size (file-attribute-size (file-attributes (getenv "MAGENT_MODULE")))))
    (magent-bench-figure "size of the module" (/ size 1e6) "MB" 8))
  (magent-bench-figure "load the module" (nth 2 (magent-bench--load-times)) "ms" 20)
  (garbage-collect)
  (let ((before (and magent-bench-has-proc (magent-bench-resident)))
        (begun (float-time)))
    (magent-runtime-ensure)
    (magent-bench-figure "load the module and start the core"
                         (* 1000 (- (float-time) begun)) "ms")
    (magent-test-settle 1)
    (if before
        (magent-bench-figure "extra memory, idle" (- (magent-bench-resident) before)
                             "MB" 15)
      (magent-bench-tell "extra memory, idle" "-" "needs /proc" "-"))))

;;;; Streaming

(defun magent-bench--prompt ()
  "Return the prompt that lets the model stream."
  (format "stream %d %d" (* magent-bench--rate magent-bench--seconds)
          magent-bench--rate))

(defun magent-bench--pieces ()
  "Return how many pieces all sessions stream."
  (* magent-bench--sessions magent-bench--rate magent-bench--seconds))

(defun magent-bench--stream-reports (wait)
  "Stream in all sessions to observers; return what WAIT does, called with the end."
  (let ((ended 0) ids)
    (setq magent-bench-characters 0
          magent-bench-updates 0)
    (dotimes (_ magent-bench--sessions)
      (let ((id (magent-bench--new-session)))
        (magent-runtime-observe
         id (lambda (report)
              (setq magent-bench-updates (1+ magent-bench-updates))
              (let-alist report
                (pcase .type
                  ("assistant-delta"
                   (setq magent-bench-characters
                         (+ magent-bench-characters (length .text))))
                  ((or "turn-complete" "turn-failed") (setq ended (1+ ended)))))))
        (push id ids)))
    (dolist (id ids)
      (magent-bench-value
       (lambda (callback) (magent-runtime-submit id (magent-bench--prompt) callback))))
    (prog1 (funcall wait (lambda () (= ended magent-bench--sessions)))
      (mapc #'magent-runtime-session-close ids)
      (magent-bench--check-characters))))

(defun magent-bench--stream-acp (wait)
  "Stream in all sessions to a client; return what WAIT does, called with the end."
  (let ((connection (magent-bench-acp-open)) prompts)
    (setq magent-bench-characters 0
          magent-bench-updates 0)
    (dotimes (_ magent-bench--sessions)
      (let ((session (magent-bench-acp-ask
                      connection "session/new"
                      `((cwd . ,(magent-bench--project)) (mcpServers . [])))))
        (push (magent-bench-acp-send
               connection "session/prompt"
               `((sessionId . ,(alist-get 'sessionId session))
                 (prompt . [((type . "text") (text . ,(magent-bench--prompt)))])))
              prompts)))
    (prog1 (funcall wait (lambda () (cl-every #'magent-bench-acp-answer prompts)))
      (magent-bench--check-characters))))

(defun magent-bench--check-characters ()
  "Fail unless all of the text has come."
  (let ((expected (* magent-bench--piece (magent-bench--pieces))))
    (unless (= magent-bench-characters expected)
      (error "%d of %d characters came" magent-bench-characters expected))))

(defun magent-bench--stalls (name stalls &optional p99 longest)
  "Print the figures NAME of STALLS, with the budgets P99 and LONGEST."
  (magent-bench-figure (concat name ", p99") (magent-bench-percentile stalls 99)
                       "ms" p99)
  (magent-bench-figure (concat name ", longest") (car (last stalls)) "ms" longest))

(defun magent-bench--streaming ()
  "Print the figures of streams."
  (let ((end (+ (float-time) 2)))
    (magent-bench--stalls "stall without any work (the machine's own)"
                          (magent-bench-stalls (lambda () (> (float-time) end)))))
  (pcase-dolist (`(,path . ,stream) '(("Lisp" . magent-bench--stream-reports)
                                      ("ACP" . magent-bench--stream-acp)))
    (magent-bench--stalls (format "stall, %d streams of %d/s to %s"
                                  magent-bench--sessions magent-bench--rate path)
                          (funcall stream #'magent-bench-stalls) 8 33)
    (when magent-bench-has-proc
      (let ((before (magent-bench-cpu)))
        (funcall stream #'magent-bench-wait)
        (magent-bench-figure
         (format "main thread per 10,000 deltas to %s" path)
         (/ (- (magent-bench-cpu) before) (magent-bench--pieces) 1e-4) "ms" 30)
        (magent-bench-figure (format "updates per 10,000 deltas to %s" path)
                             (/ magent-bench-updates (magent-bench--pieces) 1e-4) "")))))

;;;; Turns

(defun magent-bench--new-session ()
  "Make a session and return its id."
  (alist-get 'session-id
             (magent-bench-value
              (lambda (callback)
                (magent-runtime-session-new (magent-bench--project) callback)))))

(defun magent-bench--turn (id prompt)
  "Run PROMPT in the session ID to its end.
Return how many tool calls were completed, and the milliseconds from the start
of the first one to the end of the last one, as a cons."
  (let ((calls 0) first last end)
    (magent-runtime-observe
     id (lambda (report)
          (let-alist report
            (pcase .type
              ("tool-call-start" (unless first (setq first .time)))
              ("tool-call-complete" (setq last .time)
                                    (when (equal .status "completed")
                                      (setq calls (1+ calls))))
              ((or "turn-complete" "turn-failed") (setq end .type))))))
    (magent-bench-value
     (lambda (callback) (magent-runtime-submit id prompt callback)))
    (magent-bench-wait (lambda () end))
    (unless (equal end "turn-complete")
      (error "The turn failed"))
    (cons calls (and last (* 1000 (- last first))))))

(defun magent-bench--timed (name function &optional wall cpu)
  "Print the figures of calling FUNCTION, with NAME and the budgets WALL and CPU."
  (let ((before (and magent-bench-has-proc (magent-bench-cpu)))
        (begun (float-time)))
    (funcall function)
    (magent-bench-figure name (* 1000 (- (float-time) begun)) "ms" wall)
    (when before
      (magent-bench-figure (concat name ", main thread")
                           (- (magent-bench-cpu) before) "ms" cpu))))

(defun magent-bench--calls ()
  "Print the figures of calls of a tool, reported to Emacs."
  (magent-test-write (expand-file-name "file.txt" (magent-bench--project))
                     (apply #'concat (make-list 80 "a line with some words in it\n")))
  (let* ((id (magent-bench--new-session))
         (before (and magent-bench-has-proc (magent-bench-cpu)))
         (calls (magent-bench--turn id "read 200 file.txt")))
    (unless (= (car calls) 200)
      (error "%d calls were completed" (car calls)))
    (magent-bench-figure "200 read_file calls with Emacs, each"
                         (/ (cdr calls) 200) "ms" 0.5)
    (when before
      (magent-bench-figure "200 read_file calls with Emacs, main thread each"
                           (/ (- (magent-bench-cpu) before) 200) "ms"))))

;;;; A long session

(defun magent-bench--turn-cpu (id)
  "Return the main thread's milliseconds for a short turn of the session ID."
  (magent-bench--turn id "hi")
  (let ((before (magent-bench-cpu)))
    (dotimes (_ 20)
      (magent-bench--turn id "hi"))
    (/ (- (magent-bench-cpu) before) 20)))

(defun magent-bench--long-session ()
  "Print the figures of the session of 2,000 turns."
  (magent-bench--timed
   "load 2000 turns in Emacs"
   (lambda ()
     (magent-bench-value
      (lambda (callback)
        (magent-runtime-session-load (magent-bench--project) magent-bench--long-session
                                     callback))))
   300 20)
  (when magent-bench-has-proc
    (let* ((short (magent-bench--turn-cpu (magent-bench--new-session)))
           (long (magent-bench--turn-cpu magent-bench--long-session)))
      (magent-bench-figure "a turn in a new session, main thread" short "ms")
      ;; The budget is nothing, as far as the clock can tell.
      (magent-bench-figure "a turn after 2000, main thread beyond that"
                           (max 0 (- long short)) "ms" 1)))
  (magent-runtime-session-close magent-bench--long-session)
  (let ((connection (magent-bench-acp-open)))
    (setq magent-bench-updates 0)
    (magent-bench--timed
     "load 2000 turns and replay them to ACP"
     (lambda ()
       (magent-bench-acp-ask connection "session/load"
                             `((sessionId . ,magent-bench--long-session)
                               (cwd . ,(magent-bench--project)) (mcpServers . [])))))
    (magent-bench-figure "load 2000 turns and replay them to ACP, updates"
                         magent-bench-updates "")))

(defun magent-bench-run-batch ()
  "Take all figures and end Emacs with status 1 if one could not be taken."
  (setq magent-session-directory
        (expand-file-name "sessions/" (getenv "MAGENT_BENCH_DIRECTORY")))
  (magent-bench-measure "module" (magent-bench--module))
  (magent-bench-measure "model"
    (magent-runtime-ensure)
    (magent-bench-start-model))
  (magent-bench-measure "streams" (magent-bench--streaming))
  (magent-bench-measure "calls in Emacs" (magent-bench--calls))
  (magent-bench-measure "a long session in Emacs" (magent-bench--long-session))
  (kill-emacs (if magent-bench-failed 1 0)))

(provide 'magent-bench)

;;; magent-bench.el ends here
