//! Models: which there are, and the way to one of them.  Both are asked of Emacs,
//! where the user registered them.

use std::sync::Arc;
use std::time::Duration;

use magent_sampling::{ProxyChoice, Route, Secret};
use magent_tools::{HostError, HostPort};
use magent_types::{Dialect, Item, ModelInfo};
use serde_json::{Map, Value, json};

use crate::RuntimeError;

/// How long Emacs may take to answer; a key may need a passphrase typed in.
const CATALOG_DEADLINE: Duration = Duration::from_secs(20);
const ROUTE_DEADLINE: Duration = Duration::from_secs(120);

/// A model by its two names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelChoice {
    /// The backend's registered name.
    pub backend: String,
    /// The model's name.
    pub model: String,
}

impl ModelChoice {
    /// `BACKEND:MODEL`, as people read and type it.
    pub fn full_name(&self) -> String {
        format!("{}:{}", self.backend, self.model)
    }

    /// The model that a sample was made with, as its item tells.
    pub(crate) fn of_sample(sample: &Arc<Item>) -> Option<Self> {
        let route = sample.metadata.get("header")?.get("route")?;
        let text = |key: &str| Some(route.get(key)?.as_str()?.to_owned());
        Some(Self {
            backend: text("backend-name")?,
            model: text("model")?,
        })
    }
}

/// The models that are registered now.
#[derive(Clone, Debug, Default)]
pub struct ModelCatalog {
    /// All models in the user's order.
    pub models: Vec<ModelInfo>,
    /// The one that is used unless another is chosen.
    pub default: Option<ModelChoice>,
    /// What the user wants as the default, if there is no such model.
    pub missing_default: Option<String>,
}

impl ModelCatalog {
    /// Asks Emacs.
    pub(crate) async fn fetch(host: &dyn HostPort) -> Result<Self, RuntimeError> {
        let answer = host.call("models", json!({}), CATALOG_DEADLINE).await?;
        let models = answer
            .get("models")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(read_model)
            .collect();
        let default = answer.get("default").and_then(|choice| {
            Some(ModelChoice {
                backend: choice.get("backend")?.as_str()?.to_owned(),
                model: choice.get("model")?.as_str()?.to_owned(),
            })
        });
        let mut catalog = Self {
            models,
            default,
            missing_default: None,
        };
        if let Some(name) = answer.get("wanted").and_then(Value::as_str) {
            match catalog.find(name) {
                Some(choice) => catalog.default = Some(choice),
                None => {
                    catalog.default = None;
                    catalog.missing_default = Some(name.to_owned());
                }
            }
        }
        Ok(catalog)
    }

    /// The default, or why there is none.  Another one than the user wants is never
    /// taken silently.
    pub fn default_choice(&self) -> Result<ModelChoice, RuntimeError> {
        match (&self.default, &self.missing_default) {
            (_, Some(name)) => Err(self.unknown(name.clone())),
            (Some(choice), None) => Ok(choice.clone()),
            (None, None) => Err(RuntimeError::NoModel),
        }
    }

    /// The error of a model that is not among these.
    pub fn unknown(&self, name: String) -> RuntimeError {
        RuntimeError::UnknownModel {
            name,
            known: self.models.iter().map(ModelInfo::full_name).collect(),
        }
    }

    /// What is known of a model.
    pub fn get(&self, choice: &ModelChoice) -> Option<&ModelInfo> {
        self.models
            .iter()
            .find(|model| model.backend == choice.backend && model.model == choice.model)
    }

    /// Finds a model by `BACKEND:MODEL`, or by a model's name alone, the default
    /// backend's first.
    pub fn find(&self, name: &str) -> Option<ModelChoice> {
        let exact = self.models.iter().find(|model| model.full_name() == name);
        let of_default = || {
            let backend = &self.default.as_ref()?.backend;
            self.models
                .iter()
                .find(|model| model.backend == *backend && model.model == name)
        };
        let anywhere = || self.models.iter().find(|model| model.model == name);
        exact
            .or_else(of_default)
            .or_else(anywhere)
            .map(|model| ModelChoice {
                backend: model.backend.clone(),
                model: model.model.clone(),
            })
    }
}

fn read_model(value: &Value) -> Option<ModelInfo> {
    Some(ModelInfo {
        backend: value.get("backend")?.as_str()?.to_owned(),
        model: value.get("model")?.as_str()?.to_owned(),
        description: text(value, "description"),
        context_window: value.get("context-window").and_then(Value::as_u64),
        capabilities: texts(value, "capabilities"),
    })
}

fn text(value: &Value, key: &str) -> Option<String> {
    Some(value.get(key)?.as_str()?.to_owned())
}

fn texts(value: &Value, key: &str) -> Vec<String> {
    value
        .get(key)
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.as_str().map(str::to_owned))
        .collect()
}

/// Asks Emacs for the way to a model: URL, headers with the key, the user's parameters.
/// The answer lives for one request.
pub(crate) async fn resolve_route(
    host: &dyn HostPort,
    choice: &ModelChoice,
    continues: bool,
) -> Result<ResolvedRoute, RuntimeError> {
    let args = json!({
        "backend": choice.backend,
        "model": choice.model,
        "continues": continues,
    });
    let answer = match host.call("route", args, ROUTE_DEADLINE).await {
        Err(HostError::Failed { code, .. }) if code == "unknown-model" => {
            return Err(RuntimeError::UnknownModel {
                name: choice.full_name(),
                known: Vec::new(),
            });
        }
        answer => answer?,
    };
    read_route(choice, &answer)
}

/// A route together with the numbers that belong to its backend.
pub(crate) struct ResolvedRoute {
    pub(crate) route: Route,
    pub(crate) temperature: Option<f64>,
    pub(crate) max_tokens: Option<u64>,
}

fn read_route(choice: &ModelChoice, answer: &Value) -> Result<ResolvedRoute, RuntimeError> {
    let broken = |what: &str| {
        RuntimeError::BadOption(format!("of backend {}", choice.backend), what.to_owned())
    };
    let dialect = text(answer, "dialect").ok_or_else(|| broken("names no dialect"))?;
    let dialect =
        Dialect::parse(&dialect).ok_or_else(|| broken(&format!("has no dialect {dialect}")))?;
    let url = match (text(answer, "url"), dialect) {
        (Some(url), _) => url,
        (None, Dialect::Gptel) => String::new(),
        (None, _) => return Err(broken("has no URL")),
    };
    let mut headers = Vec::new();
    for entry in answer
        .get("headers")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        match entry.as_array().map(Vec::as_slice) {
            Some([Value::String(name), Value::String(value)]) => {
                headers.push((name.clone(), Secret::new(value.as_str())));
            }
            _ => return Err(broken("has a header that is no pair of strings")),
        }
    }
    let proxy = match text(answer, "proxy").as_deref() {
        None | Some("system") => ProxyChoice::System,
        Some("direct") => ProxyChoice::Direct,
        Some(url) => ProxyChoice::Url(Secret::new(url)),
    };
    let extra = match answer.get("params") {
        Some(Value::Object(extra)) => extra.clone(),
        _ => Map::new(),
    };
    let route = Route {
        backend: choice.backend.clone(),
        model: choice.model.clone(),
        dialect,
        url: Secret::new(url),
        headers,
        extra,
        proxy,
        ca_bundle: text(answer, "ca-bundle"),
        stream: answer
            .get("stream")
            .and_then(Value::as_bool)
            .unwrap_or(true),
        context_window: answer.get("context-window").and_then(Value::as_u64),
        capabilities: texts(answer, "capabilities"),
    };
    Ok(ResolvedRoute {
        route,
        temperature: answer.get("temperature").and_then(Value::as_f64),
        max_tokens: answer.get("max-tokens").and_then(Value::as_u64),
    })
}
