//! The functions that Lisp calls.  Each returns at once; what takes time is answered by
//! an event, which `magent-core-drain` fetches.

use std::sync::Arc;
use std::time::Duration;

use emacs::{Env, IntoLisp, Result, Value, defun};
use magent_runtime::ApprovalDecision;
use magent_tools::HostError;
use magent_types::{ApprovalId, HostCallId, SessionId, SubmissionId};
use serde_json::json;

use crate::api;
use crate::channel::PipeWaker;
use crate::core::{core, outbox, parse, read_config};
use crate::errors::{bad_argument, failed, guarded};
use crate::outbox::Event;
use crate::process;
use crate::terminal;
use crate::text::Text;

emacs::use_symbols!(nil t acp notice host reply report storage log stdio_closed interrupted);
emacs::use_functions!(list);

/// What Lisp and module must agree on; changes with every change of these functions.
const ABI: &str = concat!(env!("CARGO_PKG_VERSION"), "+10");

/// Return the version of the interface, a string.
///
/// Lisp compares it with its own right after loading; see `magent-module-abi'.
#[defun]
fn abi() -> Result<String> {
    Ok(ABI.to_owned())
}

/// Start the core, and wake Emacs through the pipe process PROCESS.
///
/// OPTIONS is JSON text: an object with the strings session-directory, home,
/// holder and about.  When the core runs already, only the process is replaced.
/// Return t.  Signal `magent-error' if the core cannot be started.
#[defun]
fn start<'e>(env: &'e Env, process: Value<'e>, options: Text) -> Result<Value<'e>> {
    let waker = PipeWaker::open(env, process)?;
    guarded(env, || {
        let options = parse(&options.0)?;
        outbox().set_waker(waker);
        crate::core::start(outbox(), &options)
    })?;
    t.bind(env).into_lisp(env)
}

/// Return at most MOST events as a list, oldest first.
///
/// Each is one of (acp CONNECTION LINE), (notice CONNECTION TEXT),
/// (host ID OP ARGS), (reply NUMBER OK JSON), (report SESSION JSON),
/// (storage SESSION PROBLEM), (log LEVEL TEXT), (stdio-closed) and (interrupted).
/// PROBLEM is why the session cannot be saved, nil when it is saved again or given
/// up.  When more are left, the process is woken again.
#[defun]
fn drain(env: &Env, most: i64) -> Result<Value<'_>> {
    let most = usize::try_from(most).unwrap_or(0);
    let events = guarded(env, || Ok(outbox().drain(most)))?;
    let values: Vec<Value<'_>> = events
        .into_iter()
        .map(|event| to_lisp(env, event))
        .collect::<Result<_>>()?;
    list.call(env, values.as_slice())
}

fn to_lisp(env: &Env, event: Event) -> Result<Value<'_>> {
    match event {
        Event::Acp { connection, line } => list.call(env, (acp, connection as i64, line)),
        Event::Notice { connection, text } => list.call(env, (notice, connection as i64, text)),
        Event::Host { id, op, args } => list.call(env, (host, id, op, args)),
        Event::Reply {
            id,
            result: Ok(json),
        } => list.call(env, (reply, id as i64, true, json)),
        Event::Reply {
            id,
            result: Err(json),
        } => list.call(env, (reply, id as i64, false, json)),
        Event::Report { session, json } => list.call(env, (report, session, json)),
        Event::Storage { session, problem } => list.call(env, (storage, session, problem)),
        Event::Log { level, text } => list.call(env, (log, level, text)),
        Event::StdioClosed => list.call(env, (stdio_closed,)),
        Event::Interrupted => list.call(env, (interrupted,)),
    }
}

/// Tell the core that handling the last events took MICROSECONDS.
///
/// Streamed text comes in fewer, larger pieces while Emacs is slow to draw.
#[defun]
fn drained(env: &Env, microseconds: i64) -> Result<()> {
    guarded(env, || {
        let took = Duration::from_micros(u64::try_from(microseconds).unwrap_or(0));
        outbox().note_drawing(took);
        Ok(())
    })
}

/// Stop everything within about MILLISECONDS, for the end of Emacs.
///
/// Turns are cancelled, their processes killed, sessions written.  This is the
/// only function that waits.
#[defun]
fn shutdown(env: &Env, milliseconds: i64) -> Result<()> {
    guarded(env, || {
        if let Ok(core) = core() {
            let limit = u64::try_from(milliseconds).unwrap_or(0);
            core.shutdown(Duration::from_millis(limit));
        }
        Ok(())
    })
}

/// Answer the request ID of the core.
///
/// When OK is non-nil VALUE is the result as JSON text.  Otherwise VALUE is an
/// object with the strings code and message.  Return nil if nobody waits for the
/// answer any more.
#[defun]
fn host_reply(env: &Env, id: Text, ok: Value<'_>, value: Text) -> Result<bool> {
    let ok = ok.is_not_nil();
    guarded(env, || {
        let id = HostCallId::new(id.0);
        let value = parse(&value.0)?;
        let result = if ok {
            Ok(value)
        } else {
            let text = |key: &str, default: &str| {
                let found = value.get(key).and_then(serde_json::Value::as_str);
                found.unwrap_or(default).to_owned()
            };
            Err(HostError::Failed {
                code: text("code", "error"),
                message: text("message", "Emacs signalled an error"),
            })
        };
        Ok(core()?.host.reply(&id, result))
    })
}

/// Queue the prompt REQUEST with CONFIG and return a request number.
///
/// REQUEST is JSON text: an object with session-id, prompt and, if wanted, blocks,
/// agent, model, tools, approval and metadata.  The reply has submission-id and
/// turn-id; what happens then is told by the session's reports.
#[defun]
fn queue_submit(env: &Env, request: Text, config: Text) -> Result<i64> {
    guarded(env, || {
        let config = read_config(Some(&config.0))?;
        Ok(api::queue_submit(core()?, &request.0, config)? as i64)
    })
}

/// Cancel the work of SESSION, or only SUBMISSION if non-nil.
///
/// Return how many submissions were cancelled.
#[defun]
fn queue_cancel(env: &Env, session: Text, submission: Option<Text>) -> Result<i64> {
    guarded(env, || {
        let core = core()?;
        let _inside = core.handle.enter();
        let count = match submission {
            Some(id) => usize::from(core.runtime.cancel_submission(&SubmissionId::new(id.0))),
            None => core.runtime.cancel_session(&SessionId::new(session.0)),
        };
        Ok(count as i64)
    })
}

/// Return non-nil if SESSION has work running or waiting.
///
/// SESSION is an id, or nil for any session.
#[defun]
fn queue_busy_p(env: &Env, session: Option<Text>) -> Result<bool> {
    guarded(env, || {
        let runtime = &core()?.runtime;
        Ok(match session {
            Some(session) => runtime.is_busy(&SessionId::new(session.0)),
            None => runtime.is_any_busy(),
        })
    })
}

/// Report an interrupt from the terminal as an event, for batch Emacs.
///
/// Emacs without a window ends at once otherwise.  A third interrupt ends it still.
#[defun]
fn queue_watch_interrupts(env: &Env) -> Result<()> {
    guarded(env, || {
        let core = core()?;
        let _inside = core.handle.enter();
        core.handle.spawn(process::watch_interrupts(|| {
            outbox().push(Event::Interrupted);
        }));
        Ok(())
    })
}

/// Write TEXT to standard output, for batch Emacs, which does not tell failures.
///
/// Return nil, or why it cannot be written, a string: "closed" if whoever read it
/// has gone, otherwise the words of the system.
#[defun]
fn queue_print(env: &Env, text: Text) -> Result<Option<String>> {
    guarded(env, || Ok(terminal::print(text.0.as_bytes())))
}

/// Read a line from the terminal, for batch Emacs, and return a request number.
///
/// What was typed before is thrown away: it cannot be meant as an answer to a question
/// that was not there.  The reply has line, a string without its end, or null when the
/// input has ended.
#[defun]
fn queue_read_line(env: &Env) -> Result<i64> {
    guarded(env, || Ok(terminal::read_line(core()?)? as i64))
}

/// Answer the question APPROVAL with DECISION.
///
/// DECISION is allow-once, deny-once, allow-session or deny-session, a string.
/// Return nil if the question is settled.
#[defun]
fn permission_answer(env: &Env, approval: Text, decision: Text) -> Result<bool> {
    guarded(env, || {
        let decision = ApprovalDecision::parse(&decision.0)
            .ok_or_else(|| bad_argument(format!("There is no decision {}.", decision.0)))?;
        let id = ApprovalId::new(approval.0);
        Ok(core()?.runtime.resolve_approval(&id, decision))
    })
}

/// Return what the agent of SESSION may do under CONFIG, as JSON text.
///
/// An array of objects with tool, permission-key, decision, exposed, approval,
/// explanation and patterns.
#[defun]
fn permission_authority(env: &Env, session: Text, config: Text) -> Result<String> {
    guarded(env, || {
        let config = read_config(Some(&config.0))?;
        let id = SessionId::new(session.0);
        let rows = core()?.runtime.authority(&id, &config).map_err(failed)?;
        Ok(api::authority_json(&rows).to_string())
    })
}

/// Pass EVENT, JSON text, of the sample ID on to whoever waits for it.
///
/// Return nil if nobody does any more.
#[defun]
fn sampling_event(env: &Env, id: Text, event: Text) -> Result<bool> {
    guarded(env, || Ok(core()?.runtime.sampling_event(&id.0, event.0)))
}

/// Return the audit records in memory as JSON text, an array of objects.
#[defun]
fn permission_audit(env: &Env) -> Result<String> {
    guarded(env, || {
        let records = core()?.runtime.audit_records();
        let records: Vec<&serde_json::Value> = records.iter().map(Arc::as_ref).collect();
        Ok(json!(records).to_string())
    })
}

/// Return the tools as JSON text, an array of objects.
///
/// Each has name, description, parameters, permission-key, kind, locality and
/// approval.
#[defun]
fn tool_list(env: &Env) -> Result<String> {
    guarded(env, || {
        let core = core()?;
        let tools: Vec<serde_json::Value> = core
            .runtime
            .catalog()
            .iter()
            .map(|tool| {
                let spec = tool.spec();
                json!({
                    "name": spec.name,
                    "description": spec.description,
                    "parameters": spec.parameters,
                    "permission-key": spec.permission_key,
                    "kind": spec.kind.as_str(),
                    "locality": spec.locality.as_str(),
                    "approval": spec.approval.as_str(),
                })
            })
            .collect();
        Ok(json!(tools).to_string())
    })
}
