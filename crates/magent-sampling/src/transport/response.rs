//! What an answer is before its dialect matters: a stream, a body, or a refusal.

use std::time::Duration;

use magent_types::strip_controls;
use reqwest::header::{CONTENT_TYPE, HeaderMap, LOCATION, RETRY_AFTER};
use serde_json::Value;

use crate::{HttpFailure, Redactor};

/// How much of an error page is read.
pub(super) const ERROR_BODY_LIMIT: usize = 64 * 1024;
/// How much of it is told.
const MESSAGE_LIMIT: usize = 600;

/// How the answer comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BodyKind {
    /// Server-sent events.
    Events,
    /// One JSON value.
    Json,
    /// A web page, which no provider sends on purpose.
    Page,
}

pub(super) fn body_kind(headers: &HeaderMap, streaming: bool) -> BodyKind {
    let content_type = headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default()
        .to_ascii_lowercase();
    if content_type.contains("text/html") {
        BodyKind::Page
    } else if content_type.contains("application/json") || !streaming {
        BodyKind::Json
    } else {
        // Some servers stream as text/plain or say nothing.
        BodyKind::Events
    }
}

pub(super) fn http_failure(
    status: u16,
    headers: &HeaderMap,
    body: &[u8],
    redactor: &Redactor,
    had_key: bool,
) -> HttpFailure {
    let text = String::from_utf8_lossy(body);
    let (message, code) = match serde_json::from_str::<Value>(&text) {
        Ok(value) => message_of(&value),
        Err(_) => (page_text(&strip_controls(&text)), None),
    };
    // What is left of a message must not be nothing.
    let message = strip_controls(&message);
    let message = if let Some(host) = redirection(status, headers) {
        format!("it redirects to {host}")
    } else if message.trim().is_empty() {
        "no further information".to_owned()
    } else {
        message
    };
    HttpFailure {
        status,
        message: clip(&redactor.clean(&message)),
        code: code.map(|code| clip(&redactor.clean(&code))),
        retry_after: retry_after(headers),
        had_key,
    }
}

/// The host that a redirect leads to.  The rest of the URL may be secret.
fn redirection(status: u16, headers: &HeaderMap) -> Option<String> {
    if !(300..400).contains(&status) {
        return None;
    }
    let location = headers.get(LOCATION)?.to_str().ok()?;
    let url = reqwest::Url::parse(location).ok();
    let origin = url.map(|url| url.origin().ascii_serialization());
    Some(origin.unwrap_or_else(|| "another place on the same host".to_owned()))
}

fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?;
    text.trim().parse().ok().map(Duration::from_secs)
}

/// Finds the message in the shapes that providers use.
fn message_of(value: &Value) -> (String, Option<String>) {
    let value = match value {
        Value::Array(entries) => entries.first().unwrap_or(&Value::Null),
        value => value,
    };
    let error = match value.get("error") {
        Some(error) if !error.is_null() => error,
        _ => value,
    };
    let message = match error {
        Value::String(text) => text.clone(),
        _ => ["message", "detail", "error_description", "msg"]
            .into_iter()
            .find_map(|key| match error.get(key)? {
                Value::String(text) => Some(text.clone()),
                Value::Null => None,
                other => Some(other.to_string()),
            })
            .unwrap_or_else(|| value.to_string()),
    };
    let code = ["code", "type", "status"]
        .into_iter()
        .find_map(|key| match error.get(key)? {
            Value::String(text) => Some(text.clone()),
            _ => None,
        });
    (message, code)
}

/// The words of a page: its title if it has one, otherwise its text without markup.
fn page_text(text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let title = lower.find("<title>").and_then(|start| {
        let from = start + "<title>".len();
        let length = lower.get(from..)?.find("</title>")?;
        text.get(from..from + length)
    });
    if let Some(title) = title.map(one_line).filter(|title| !title.is_empty()) {
        return format!("a web page titled \"{title}\"");
    }
    let mut plain = String::new();
    let mut in_tag = false;
    for character in text.chars() {
        match character {
            '<' => in_tag = true,
            '>' => {
                in_tag = false;
                plain.push(' ');
            }
            _ if !in_tag => plain.push(character),
            _ => {}
        }
    }
    one_line(&plain)
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn clip(text: &str) -> String {
    let text = text.trim();
    if text.chars().count() <= MESSAGE_LIMIT {
        return text.to_owned();
    }
    let head: String = text.chars().take(MESSAGE_LIMIT).collect();
    format!("{head}…")
}
