//! Failures and panics as conditions of Lisp.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;

use emacs::{Env, Result};
use magent_runtime::RuntimeError;
use magent_types::{Failure, FailureKind};
use parking_lot::Mutex;

type PanicReport = Box<dyn Fn(&str) + Send>;

thread_local! {
    static LAST_PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
}
static REPORT: OnceLock<Mutex<PanicReport>> = OnceLock::new();

/// Replaces the hook that prints to standard error, which would scribble over a
/// terminal frame; the message is kept for the condition and for the log.
pub(crate) fn install_panic_hook() {
    std::panic::set_hook(Box::new(|info| {
        let text = info.to_string();
        if let Some(report) = REPORT.get()
            && let Some(report) = report.try_lock()
        {
            report(&text);
        }
        // A thread that is ending has no place for it, and nobody to ask.
        let _ = LAST_PANIC.try_with(|last| *last.borrow_mut() = Some(text));
    }));
}

/// Sets where panics of background threads are reported; the first caller wins.
pub(crate) fn report_panics_to(report: impl Fn(&str) + Send + 'static) {
    let _ = REPORT.set(Mutex::new(Box::new(report)));
}

/// Runs the body of a function.  A failure is signalled as its condition; a panic as
/// `magent-error` of kind `internal`, and Emacs goes on.
pub(crate) fn guarded<T>(
    env: &Env,
    body: impl FnOnce() -> std::result::Result<T, Failure>,
) -> Result<T> {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(failure)) => signal(env, &failure),
        Err(_) => {
            let text = LAST_PANIC
                .try_with(|last| last.borrow_mut().take())
                .ok()
                .flatten();
            let text = text.unwrap_or_else(|| "panic".to_owned());
            let message = format!("A bug in Magent: {text}");
            signal(env, &Failure::new(FailureKind::Internal, "panic", message))
        }
    }
}

/// Signals `(CONDITION MESSAGE KIND CODE HINT)`.
fn signal<T>(env: &Env, failure: &Failure) -> Result<T> {
    let condition = match failure.kind {
        FailureKind::Config => "magent-config-error",
        FailureKind::Session => "magent-session-error",
        FailureKind::Provider => "magent-provider-error",
        FailureKind::Tool => "magent-tool-error",
        FailureKind::Permission => "magent-permission-error",
        FailureKind::Internal => "magent-error",
    };
    let kind = env.intern(failure.kind.as_str())?;
    env.signal(
        condition,
        (
            failure.message.as_str(),
            kind,
            failure.code.as_str(),
            failure.hint.clone(),
        ),
    )
}

/// The failure of a request that the runtime did not carry out.
#[expect(clippy::needless_pass_by_value, reason = "the shape map_err wants")]
pub(crate) fn failed(error: RuntimeError) -> Failure {
    error.to_failure()
}

/// The failure of a function that is called before the core was started.
pub(crate) fn not_started() -> Failure {
    Failure::new(
        FailureKind::Internal,
        "not-started",
        "The core of Magent has not been started.",
    )
}

/// The failure of an argument that is not what it should be.
pub(crate) fn bad_argument(problem: impl Into<String>) -> Failure {
    Failure::new(FailureKind::Config, "bad-argument", problem)
}
