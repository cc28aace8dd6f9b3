//! Where a request goes, and with which secrets.

use std::fmt;

use magent_types::{Dialect, DurableRoute, NativeOrigin, SamplingParams, is_capable};
use serde_json::{Map, Value};

/// A text that must not be shown: a key or a header that carries one.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a secret.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The secret itself, for the request only.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("<secret>")
    }
}

/// Which proxy a request goes through.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ProxyChoice {
    /// What the environment says (`https_proxy`, `no_proxy`, ...).
    #[default]
    System,
    /// None, whatever the environment says.
    Direct,
    /// This one.
    Url(Secret),
}

/// A way to a model, resolved for one request.
#[derive(Clone, Debug, PartialEq)]
pub struct Route {
    /// The backend's registered name.
    pub backend: String,
    /// The model's name.
    pub model: String,
    /// The protocol it speaks.
    pub dialect: Dialect,
    /// The full URL of the endpoint; may carry a key.
    pub url: Secret,
    /// Headers of the request, keys included.
    pub headers: Vec<(String, Secret)>,
    /// Fields of the user's own that are added to the body.
    pub extra: Map<String, Value>,
    /// Which proxy is used.
    pub proxy: ProxyChoice,
    /// A file of further certificate authorities, in PEM.
    pub ca_bundle: Option<String>,
    /// Whether the backend sends its answer in pieces.
    pub stream: bool,
    /// How many tokens the model can read and write, if known.
    pub context_window: Option<u64>,
    /// What the model can do, in gptel's words.
    pub capabilities: Vec<String>,
}

impl Route {
    /// What a session keeps of the route.
    pub fn durable(&self, params: SamplingParams) -> DurableRoute {
        DurableRoute {
            backend: self.backend.clone(),
            model: self.model.clone(),
            params,
        }
    }

    /// Where answers over this route come from.
    pub fn origin(&self) -> NativeOrigin {
        NativeOrigin {
            dialect: self.dialect,
            backend: self.backend.clone(),
            host: self.host(),
            model: self.model.clone(),
        }
    }

    /// The host and port for messages, without user, path or query.
    pub fn host(&self) -> String {
        let rest = self
            .url
            .reveal()
            .split_once("://")
            .map_or("", |(_, rest)| rest);
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let host = authority.rsplit('@').next().unwrap_or_default();
        if self.dialect == Dialect::Gptel {
            // Only gptel knows it.
            self.backend.clone()
        } else if host.is_empty() {
            "the configured URL".to_owned()
        } else {
            host.to_owned()
        }
    }

    /// Whether requests carry a key, as far as can be told from the names of headers and
    /// of what the URL asks.
    pub fn has_key(&self) -> bool {
        const HEADERS: [&str; 4] = ["authorization", "x-api-key", "api-key", "x-goog-api-key"];
        let url = self.url.reveal();
        self.headers
            .iter()
            .any(|(name, _)| HEADERS.contains(&name.to_ascii_lowercase().as_str()))
            || url
                .split_once('?')
                .is_some_and(|(_, query)| query.split('&').any(|pair| pair.starts_with("key=")))
    }

    /// Whether the model takes tools, as far as is known.
    pub fn takes_tools(&self) -> bool {
        const NAMES: [&str; 4] = ["tool-use", "tool", "tools", "function-calling"];
        is_capable(&self.capabilities, &NAMES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route(url: &str) -> Route {
        Route {
            backend: "b".into(),
            model: "m".into(),
            dialect: Dialect::OpenAiChat,
            url: Secret::new(url),
            headers: Vec::new(),
            extra: Map::new(),
            proxy: ProxyChoice::System,
            ca_bundle: None,
            stream: true,
            context_window: None,
            capabilities: Vec::new(),
        }
    }

    #[test]
    fn messages_name_the_host_and_never_what_may_be_secret() {
        let named = |url| route(url).host();
        assert_eq!(
            named("https://u:p@api.x.com:8443/v1?key=k"),
            "api.x.com:8443"
        );
        assert_eq!(named("http://127.0.0.1:1/v1"), "127.0.0.1:1");
        assert_eq!(named("nonsense"), "the configured URL");
        assert!(!format!("{:?}", route("https://x/?key=abc")).contains("abc"));
    }
}
