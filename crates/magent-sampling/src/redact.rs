//! Taking a request's own secrets out of a text.

use crate::Route;

/// Knows the secrets of one request and removes them from texts that come back, since
/// servers and proxies like to echo what they were sent.
#[derive(Clone)]
pub struct Redactor {
    secrets: Vec<String>,
}

/// Shorter texts are no secrets, and removing them would garble the message.
const SHORTEST: usize = 6;

impl Redactor {
    /// Collects the secrets of a route: header values, their last words (`Bearer X`)
    /// and the values of the URL's query.
    pub fn for_route(route: &Route) -> Self {
        const HARMLESS: [&str; 3] = ["content-type", "accept", "user-agent"];
        let mut secrets = Vec::new();
        for (name, value) in &route.headers {
            if HARMLESS.contains(&name.to_ascii_lowercase().as_str()) {
                continue;
            }
            let value = value.reveal();
            secrets.push(value.to_owned());
            secrets.extend(value.split_whitespace().last().map(str::to_owned));
        }
        let url = route.url.reveal();
        if let Some((_, query)) = url.split_once('?') {
            for pair in query.split('&') {
                secrets.extend(pair.split_once('=').map(|(_, value)| value.to_owned()));
            }
        }
        if let Some(credentials) = url
            .split_once("://")
            .and_then(|(_, rest)| rest.split(['/', '?']).next())
            .and_then(|authority| authority.rsplit_once('@'))
            .map(|(credentials, _)| credentials)
        {
            secrets.push(credentials.to_owned());
            secrets.extend(credentials.split_once(':').map(|(_, p)| p.to_owned()));
        }
        secrets.retain(|secret| secret.len() >= SHORTEST);
        // Longer ones first, so that a part never spoils the whole.
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        secrets.dedup();
        Self { secrets }
    }

    /// The text without the secrets.
    pub fn clean(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for secret in &self.secrets {
            if text.contains(secret.as_str()) {
                text = text.replace(secret.as_str(), "<redacted>");
            }
        }
        text
    }
}
