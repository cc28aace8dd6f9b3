//! Which texts of a route are secret, and how a server may spell them when it repeats
//! them.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::{ProxyChoice, Route};

/// Shorter texts are no secrets, and removing them would garble the message.
const SHORTEST: usize = 6;

/// Headers that are the same for everybody, or that say only who asks.  Their words, such
/// as dates and names of programs, are in ordinary texts as well.
const HARMLESS_HEADERS: [&str; 15] = [
    "content-type",
    "accept",
    "accept-encoding",
    "user-agent",
    "anthropic-version",
    "anthropic-beta",
    "openai-beta",
    "openai-intent",
    "http-referer",
    "referer",
    "x-title",
    "x-initiator",
    "editor-version",
    "editor-plugin-version",
    "copilot-integration-id",
];

/// Names of schemes, which precede what is secret in a header.
const SCHEMES: [&str; 6] = ["bearer", "basic", "token", "digest", "apikey", "api-key"];

/// What URLs ask that is no secret.
const HARMLESS_QUERIES: [&str; 4] = ["alt", "model", "version", "api-version"];

/// Parts of the names of settings that hold something secret.
const TELLING: [&str; 7] = [
    "key",
    "token",
    "secret",
    "password",
    "credential",
    "cookie",
    "auth",
];

/// Fields of requests that such a part is in although their values are no secrets.
const HARMLESS_FIELDS: [&str; 3] = ["prompt_cache_key", "tokenizer", "author"];

/// The secrets of a route in all their spellings, longer ones first, so that a part never
/// spoils the whole.
pub(crate) fn of_route(route: &Route) -> Vec<String> {
    let mut secrets = Secrets::default();
    for (name, value) in &route.headers {
        secrets.add_header(name, value.reveal());
    }
    secrets.add_url(route.url.reveal(), &route.model);
    // What is sent is the URL as the library writes it.
    if let Ok(url) = reqwest::Url::parse(route.url.reveal()) {
        secrets.add_url(url.as_str(), &route.model);
    }
    if let ProxyChoice::Url(url) = &route.proxy {
        secrets.add_user(url.reveal());
    }
    for (name, value) in &route.extra {
        secrets.add_field(name, value, false);
    }
    let mut spellings: Vec<String> = secrets
        .texts
        .iter()
        .flat_map(|text| spelled(text))
        .collect();
    spellings.retain(|text| text.len() >= SHORTEST);
    spellings
        .sort_unstable_by(|left, right| right.len().cmp(&left.len()).then_with(|| left.cmp(right)));
    spellings.dedup();
    spellings
}

#[derive(Default)]
struct Secrets {
    texts: BTreeSet<String>,
}

impl Secrets {
    fn add(&mut self, text: &str) {
        self.texts.insert(text.to_owned());
    }

    /// A header's value and its words.  Of a header whose name does not tell that it is
    /// secret, words that anybody might write stay.
    fn add_header(&mut self, name: &str, value: &str) {
        let name = name.to_ascii_lowercase();
        if HARMLESS_HEADERS.contains(&name.as_str()) {
            return;
        }
        self.add(value);
        let telling = is_telling(&name);
        let separators = |c: char| c.is_whitespace() || matches!(c, ';' | ',' | '"');
        for word in value.split(separators) {
            let parts = [Some(word), word.split_once('=').map(|(_, value)| value)];
            for part in parts.into_iter().flatten() {
                let is_scheme = SCHEMES.contains(&part.to_ascii_lowercase().as_str());
                if !is_scheme && (telling || looks_secret(part)) {
                    self.add(part);
                }
            }
        }
    }

    /// The user, what is asked, the fragment, and the parts of the path that look so.
    fn add_url(&mut self, url: &str, model: &str) {
        self.add_user(url);
        let (rest, fragment) = url.split_once('#').unwrap_or((url, ""));
        self.add(fragment);
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        for pair in query.split('&') {
            let (name, value) = pair.split_once('=').unwrap_or(("", pair));
            if !HARMLESS_QUERIES.contains(&name) && decoded(value) != model {
                self.add(value);
            }
        }
        let path = rest.split_once("://").map_or("", |(_, rest)| rest);
        for segment in path.split('/').skip(1) {
            // The model is part of some paths, and of every second message.
            let segment_says = decoded(segment);
            let is_model = !model.is_empty() && segment_says.contains(model);
            if !is_model && looks_secret(&segment_says) {
                self.add(segment);
            }
        }
    }

    /// The user's name and password in a URL.
    fn add_user(&mut self, url: &str) {
        let authority = url
            .split_once("://")
            .and_then(|(_, rest)| rest.split(['/', '?', '#']).next());
        let Some((user, _)) = authority.and_then(|authority| authority.rsplit_once('@')) else {
            return;
        };
        self.add(user);
        // It is sent as a header.
        self.add(&STANDARD.encode(decoded(user)));
        let (name, password) = user.split_once(':').unwrap_or((user, ""));
        self.add(password);
        if password.is_empty() || looks_secret(name) {
            self.add(name);
        }
    }

    /// The texts in a field of the request whose own or outer name says that they are
    /// secret.
    fn add_field(&mut self, name: &str, value: &Value, outer: bool) {
        let name = name.to_ascii_lowercase();
        let secret = outer || (is_telling(&name) && !HARMLESS_FIELDS.contains(&name.as_str()));
        match value {
            Value::String(text) if secret => self.add(text),
            Value::Array(values) => {
                for value in values {
                    self.add_field("", value, secret);
                }
            }
            Value::Object(fields) => {
                for (name, value) in fields {
                    self.add_field(name, value, secret);
                }
            }
            _ => {}
        }
    }
}

fn is_telling(name: &str) -> bool {
    TELLING.iter().any(|part| name.contains(part))
}

/// Whether a text can hardly be anything else than a key.  Names of models and versions
/// have letters, digits and hyphens as well, but in short runs.
fn looks_secret(text: &str) -> bool {
    const SHORTEST_KEY: usize = 16;
    const MIXED_RUN: usize = 8;
    const ANY_RUN: usize = 32;
    text.len() >= SHORTEST_KEY
        && text.split(|c: char| !c.is_ascii_alphanumeric()).any(|run| {
            let mixed = run.bytes().any(|byte| byte.is_ascii_digit())
                && run.bytes().any(|byte| byte.is_ascii_alphabetic());
            run.len() >= ANY_RUN || (mixed && run.len() >= MIXED_RUN)
        })
}

/// A secret as it is written, as it is meant, and as it is written in URLs, with digits of
/// both cases.
fn spelled(text: &str) -> Vec<String> {
    let meant = decoded(text);
    let form = decoded(&text.replace('+', "%20"));
    let mut spellings = vec![text.to_owned()];
    for meant in [meant.as_str(), form.as_str(), text] {
        spellings.push(meant.to_owned());
        spellings.push(encoded(meant, "0123456789ABCDEF"));
        spellings.push(encoded(meant, "0123456789abcdef"));
    }
    spellings
}

/// The text with its percent escapes decoded; what is no UTF-8 then is left as it is.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        match percent_byte(rest) {
            Some(byte) => {
                bytes.push(byte);
                rest = &rest[3..];
            }
            None => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

/// The byte that an escape such as `%2F` at the start stands for.
pub(crate) fn percent_byte(text: &[u8]) -> Option<u8> {
    let [b'%', high, low, ..] = text else {
        return None;
    };
    let digit = |byte: &u8| char::from(*byte).to_digit(16);
    u8::try_from(digit(high)? * 16 + digit(low)?).ok()
}

/// The text with everything escaped that may not stand in every part of a URL.
fn encoded(text: &str, digits: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            out.push(char::from(byte));
        } else {
            let digit = |place: u8| digits.chars().nth(usize::from(place));
            out.push('%');
            out.extend(digit(byte >> 4));
            out.extend(digit(byte & 15));
        }
    }
    out
}

#[cfg(test)]
#[path = "secrets_tests.rs"]
mod tests;
