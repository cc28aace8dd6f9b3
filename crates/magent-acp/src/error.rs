//! Failures as JSON-RPC errors: message for people, code and kind for programs.

use agent_client_protocol_schema::v1::{Error, ErrorCode};
use magent_runtime::RuntimeError;
use magent_types::Failure;
use serde_json::json;

/// The error of a failure.  Its data has the keys `kind`, `code` and `hint`.
pub(crate) fn failure_error(failure: &Failure) -> Error {
    let code = match failure.code.as_str() {
        "unknown-session" => ErrorCode::ResourceNotFound,
        "blank-prompt" | "unknown-agent" | "unknown-model" | "unavailable-tool" | "bad-option" => {
            ErrorCode::InvalidParams
        }
        _ => ErrorCode::InternalError,
    };
    let mut error = Error::new(code.into(), failure.full_text());
    error.data = Some(json!({
        "kind": failure.kind.as_str(),
        "code": failure.code,
        "hint": failure.hint,
    }));
    error
}

/// The error of a request that the runtime did not carry out.
pub(crate) fn runtime_error(error: &RuntimeError) -> Error {
    failure_error(&error.to_failure())
}

/// The error of parameters that cannot be used.
pub(crate) fn bad_params(problem: impl Into<String>) -> Error {
    Error::new(ErrorCode::InvalidParams.into(), problem)
}
