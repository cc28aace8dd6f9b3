//! How a request to a model can fail, and the words for it.

use std::time::Duration;

use magent_types::{Failure, FailureKind};

use crate::sampler::KEPT_ALIVE;

/// An answer that is no success.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpFailure {
    /// The HTTP status.
    pub status: u16,
    /// What the provider says, without secrets.
    pub message: String,
    /// The provider's own code, if it has one.
    pub code: Option<String>,
    /// When the provider wants to be asked again.
    pub retry_after: Option<Duration>,
    /// Whether the request carried a key.
    pub had_key: bool,
}

/// A failed request.  No variant carries a key, a header or a URL's query.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProviderError {
    /// The server cannot be reached.
    #[error("{host} cannot be reached: {problem}")]
    Unreachable {
        /// Host and port.
        host: String,
        /// What the system said.
        problem: String,
        /// Whether it will be the same the next time, as with a certificate that nobody
        /// trusts.
        lasting: bool,
    },
    /// The server answered with an error status.
    #[error("HTTP {}: {}", .0.status, .0.message)]
    Http(HttpFailure),
    /// The provider reported an error inside a stream that had begun well.
    #[error("{message}")]
    Reported {
        /// What the provider says.
        message: String,
        /// The provider's own code, if it has one.
        code: Option<String>,
    },
    /// The stream ended before the answer was whole.
    #[error("the stream from {host} ended before the answer was complete")]
    Truncated {
        /// Host and port.
        host: String,
    },
    /// Nothing came for too long, or nothing of the answer for much too long.
    #[error("{}", silence(host, *seconds, *kept_alive))]
    Silent {
        /// Host and port.
        host: String,
        /// The limit.
        seconds: u64,
        /// Whether the server showed that it was alive.
        kept_alive: bool,
    },
    /// What came is not what the protocol says.
    #[error("{host} sent something unexpected: {problem}")]
    Protocol {
        /// Host and port.
        host: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The route itself is of no use.
    #[error("{0}")]
    Route(String),
    /// The request was cancelled.
    #[error("cancelled")]
    Cancelled,
}

/// The words for a server that says nothing.
fn silence(host: &str, seconds: u64, kept_alive: bool) -> String {
    if kept_alive {
        format!(
            "{host} kept the connection alive but sent nothing of the answer for \
             {KEPT_ALIVE} times the limit of {seconds} s"
        )
    } else {
        format!("{host} sent nothing for {seconds} s")
    }
}

/// Whether asking again may help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// It would not.
    Never,
    /// It may, if nothing of the answer was shown yet; after this time, if told.
    BeforeText(Option<Duration>),
}

/// Nobody is kept waiting longer than this for a provider that names a time.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

impl ProviderError {
    /// Whether asking again may help.
    pub fn retry(&self) -> Retry {
        match self {
            Self::Truncated { .. } | Self::Unreachable { lasting: false, .. } => {
                Retry::BeforeText(None)
            }
            Self::Http(http) => match (http.status, http.retry_after) {
                (429 | 503 | 529, Some(wait)) if wait <= LONGEST_WAIT => {
                    Retry::BeforeText(Some(wait))
                }
                _ => Retry::Never,
            },
            Self::Unreachable { .. }
            | Self::Reported { .. }
            | Self::Silent { .. }
            | Self::Protocol { .. }
            | Self::Route(_)
            | Self::Cancelled => Retry::Never,
        }
    }

    /// The failure as people are told it.
    pub fn to_failure(&self, backend: &str, model: &str) -> Failure {
        let failure =
            |code: &str, message: String| Failure::new(FailureKind::Provider, code, message);
        match self {
            Self::Unreachable { host, .. } => failure("unreachable", format!("{self}."))
                .with_hint(format!(
                    "Is the server running and the network up? {host} is the host of backend {backend}."
                )),
            Self::Http(http) => http_failure(http, backend, model),
            Self::Reported { message, code } => {
                let code_text = code.as_deref().map(|code| format!(" ({code})"));
                failure(
                    "provider-error",
                    format!(
                        "{backend} reported an error{}: {message}",
                        code_text.unwrap_or_default()
                    ),
                )
            }
            Self::Truncated { .. } => failure("stream-truncated", sentence(&self.to_string()))
                .with_hint("Send the prompt again to go on; nothing that was shown is lost."),
            Self::Silent { .. } => failure("timeout", sentence(&self.to_string()))
                .with_hint("The limit is magent-request-timeout; local models may need more."),
            Self::Protocol { .. } => failure("protocol", sentence(&self.to_string()))
                .with_hint(format!("Check the URL and dialect of backend {backend}.")),
            Self::Route(problem) => failure("route", problem.clone()),
            Self::Cancelled => failure("cancelled", "The request was cancelled.".to_owned()),
        }
    }
}

fn http_failure(http: &HttpFailure, backend: &str, model: &str) -> Failure {
    let code = http
        .code
        .as_deref()
        .map(|code| format!(", {code}"))
        .unwrap_or_default();
    let status = http.status;
    let (name, hint) = match status {
        300..=399 => (
            "redirected",
            format!(
                "Keys and conversations go to no other host than the one you named: correct \
                 the URL of backend {backend}."
            ),
        ),
        401 | 403 if http.had_key => (
            "unauthorized",
            format!("Check the API key of backend {backend}."),
        ),
        401 | 403 => (
            "unauthorized",
            format!(
                "No API key was found for backend {backend}: look at the :key of its definition."
            ),
        ),
        404 => (
            "not-found",
            format!("Check the URL of backend {backend} and that it has the model {model}."),
        ),
        413 => (
            "too-large",
            "The conversation is larger than the provider takes; start a new session.".to_owned(),
        ),
        429 => (
            "rate-limited",
            match http.retry_after {
                Some(after) => format!("Try again in {} s.", after.as_secs().max(1)),
                None => "Wait a little, then send the prompt again.".to_owned(),
            },
        ),
        500..=599 => (
            "server-error",
            "The provider has a problem; send the prompt again later.".to_owned(),
        ),
        _ => (
            "http-error",
            format!("Check the model and parameters of backend {backend}."),
        ),
    };
    Failure::new(
        FailureKind::Provider,
        name,
        format!(
            "{backend} refused the request (HTTP {status}{code}): {}",
            sentence(&http.message)
        ),
    )
    .with_hint(hint)
}

/// The text with a capital and a full stop.
fn sentence(text: &str) -> String {
    let text = text.trim();
    let mut out = String::with_capacity(text.len() + 1);
    let mut characters = text.chars();
    if let Some(first) = characters.next() {
        // A host name keeps its case.
        if text
            .split_whitespace()
            .next()
            .is_some_and(|word| word.contains('.'))
        {
            out.push(first);
        } else {
            out.extend(first.to_uppercase());
        }
    }
    out.push_str(characters.as_str());
    if !out.ends_with(['.', '!', '?']) {
        out.push('.');
    }
    out
}
