//! The user's options, as the runtime sees them: one frozen value per submission.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use magent_ledger::{SpillSettings, WriterSettings};
use magent_permission::{PERMISSION_KEYS, RuleTable};
use magent_prompt::InstructionSettings;
use magent_tools::{OutputBounds, ToolLimits};
use magent_types::{Decision, Effort, PermissionRules, Rule, Thinking};
use serde_json::Value;

use crate::compaction::AutoCompact;
use crate::option_reader::{Reader, bad};
use crate::{AuditTarget, RuntimeError};

/// What becomes of reasoning that a model shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReasoningDisplay {
    /// It is shown and kept.
    Show,
    /// It is kept and not shown.
    Hide,
    /// It is neither shown nor kept.
    Omit,
}

/// The options of one submission.
#[derive(Clone, Debug)]
pub struct RuntimeConfig {
    /// The first system layer; `None` is the bundled one.
    pub system_prompt: Option<String>,
    /// The permission keys that are switched on.
    pub enabled_keys: Vec<String>,
    /// The user's rules, before those of any agent.
    pub permission_rules: PermissionRules,
    /// Whether permission questions are switched off.
    pub bypass_permission: bool,
    /// About how many messages of the past a model reads.
    pub max_history: Option<usize>,
    /// What is done about a conversation that nearly fills its model's context.
    pub auto_compact: AutoCompact,
    /// The part of the context from which on that is so.
    pub auto_compact_share: f64,
    /// The longest silence of a provider.
    pub request_timeout: Option<Duration>,
    /// How often a stream that was cut off before any text is asked for again.
    pub stream_retry_limit: u32,
    /// The most requests of one turn.
    pub max_sampling_requests: Option<u32>,
    /// The reasoning effort, unless agent or session set one.
    pub default_effort: Option<Effort>,
    /// The thinking mode, unless agent or session set one.
    pub default_thinking: Thinking,
    /// The agent of new sessions.
    pub default_agent: String,
    /// What becomes of reasoning.
    pub reasoning: ReasoningDisplay,
    /// Where audit records go.
    pub audit: AuditTarget,
    /// Limits of tools.
    pub tool_limits: ToolLimits,
    /// How results are cut for the model.
    pub output_bounds: OutputBounds,
    /// How long results are kept.
    pub spill: SpillSettings,
    /// When sessions are checkpointed.
    pub writer: WriterSettings,
    /// Project instructions.
    pub instructions: InstructionSettings,
    /// The environment of processes, as Emacs has it; `None` is this process's own.
    pub environment: Option<Arc<[(String, String)]>>,
}

impl Default for RuntimeConfig {
    fn default() -> Self {
        Self {
            system_prompt: None,
            enabled_keys: PERMISSION_KEYS
                .iter()
                .map(|key| (*key).to_owned())
                .collect(),
            permission_rules: PermissionRules::default(),
            bypass_permission: false,
            max_history: Some(100),
            auto_compact: AutoCompact::Tell,
            auto_compact_share: 0.8,
            request_timeout: Some(Duration::from_secs(120)),
            stream_retry_limit: 2,
            max_sampling_requests: None,
            default_effort: None,
            default_thinking: Thinking::Auto,
            default_agent: "build".to_owned(),
            reasoning: ReasoningDisplay::Show,
            audit: AuditTarget::Buffer,
            tool_limits: ToolLimits::default(),
            output_bounds: OutputBounds::default(),
            spill: SpillSettings::default(),
            writer: WriterSettings::default(),
            instructions: InstructionSettings::default(),
            environment: None,
        }
    }
}

impl RuntimeConfig {
    /// Reads the options as Lisp sends them: an object whose keys are the options'
    /// names without their prefix.  Absent keys keep their defaults, unknown keys are
    /// ignored, and a value of the wrong kind is refused by the option's name.
    pub fn from_json(value: &Value) -> Result<Self, RuntimeError> {
        let reader = Reader {
            map: value
                .as_object()
                .ok_or_else(|| bad("set", "is no object"))?,
        };
        let mut config = Self::default();
        config.read_model_options(&reader)?;
        config.read_permission_options(&reader)?;
        config.read_tool_options(&reader)?;
        config.read_storage_options(&reader)?;
        Ok(config)
    }

    fn read_auto_compact(&mut self, reader: &Reader<'_>) -> Result<(), RuntimeError> {
        let wrong = |option, problem| move || bad(option, problem);
        if reader.map.contains_key("auto-compact") {
            let mode = AutoCompact::parse(reader.text("auto-compact")?.as_deref());
            let wrong = wrong("auto-compact", "is none of nil, tell and compact");
            self.auto_compact = mode.ok_or_else(wrong)?;
        }
        if let Some(share) = reader.map.get("auto-compact-share") {
            let share = share.as_f64().filter(|share| (0.0..=1.0).contains(share));
            let wrong = wrong("auto-compact-share", "is no number from 0 to 1");
            self.auto_compact_share = share.ok_or_else(wrong)?;
        }
        Ok(())
    }

    fn read_model_options(&mut self, reader: &Reader<'_>) -> Result<(), RuntimeError> {
        self.system_prompt = reader.text("system-prompt")?;
        if let Some(limit) = reader.optional_count("max-history")? {
            self.max_history = limit.map(|limit| limit as usize);
        }
        self.read_auto_compact(reader)?;
        if let Some(seconds) = reader.seconds("request-timeout")? {
            self.request_timeout = (!seconds.is_zero()).then_some(seconds);
        }
        if let Some(limit) = reader.count("stream-retry-limit")? {
            self.stream_retry_limit = u32::try_from(limit).unwrap_or(u32::MAX);
        }
        if let Some(limit) = reader.count("max-sampling-requests")? {
            let limit = u32::try_from(limit).unwrap_or(u32::MAX);
            self.max_sampling_requests = (limit > 0).then_some(limit);
        }
        if let Some(name) = reader.text("default-effort")? {
            let effort = Effort::parse(&name);
            self.default_effort =
                Some(effort.ok_or_else(|| bad("default-effort", &format!("has no value {name}")))?);
        }
        if let Some(name) = reader.text("default-thinking")? {
            self.default_thinking = Thinking::parse(&name)
                .ok_or_else(|| bad("default-thinking", &format!("has no value {name}")))?;
        }
        if let Some(agent) = reader.text("default-agent")? {
            self.default_agent = agent;
        }
        if let Some(name) = reader.text("include-reasoning")? {
            self.reasoning = match name.as_str() {
                "show" => ReasoningDisplay::Show,
                "hide" => ReasoningDisplay::Hide,
                "omit" => ReasoningDisplay::Omit,
                _ => return Err(bad("include-reasoning", &format!("has no value {name}"))),
            };
        }
        if let Some(names) = reader.texts("project-instruction-file-names")? {
            self.instructions.file_names = names;
        }
        if let Some(limit) = reader.optional_count("project-instructions-max-bytes")? {
            self.instructions.max_bytes = limit.unwrap_or(0) as usize;
        }
        Ok(())
    }

    fn read_permission_options(&mut self, reader: &Reader<'_>) -> Result<(), RuntimeError> {
        if let Some(keys) = reader.texts("enable-tools")? {
            if let Some(key) = keys.iter().find(|key| !is_permission_key(key)) {
                let known = PERMISSION_KEYS.join(", ");
                return Err(bad(
                    "enable-tools",
                    &format!("has an unknown name {key}; there are {known}"),
                ));
            }
            self.enabled_keys = keys;
        }
        if let Some(rules) = reader.map.get("permission-rules") {
            self.permission_rules = read_rules(rules)?;
        }
        self.bypass_permission = reader.flag("bypass-permission");
        match reader.map.get("audit") {
            None => {}
            Some(Value::Null | Value::Bool(false)) => self.audit = AuditTarget::Off,
            Some(Value::String(name)) if name == "buffer" => self.audit = AuditTarget::Buffer,
            Some(Value::String(path)) => self.audit = AuditTarget::File(PathBuf::from(path)),
            Some(_) => return Err(bad("audit", "is neither nil, buffer nor a file name")),
        }
        Ok(())
    }

    fn read_tool_options(&mut self, reader: &Reader<'_>) -> Result<(), RuntimeError> {
        let limits = &mut self.tool_limits;
        for (key, place) in [
            ("grep-max-matches", &mut limits.grep_max_matches),
            ("glob-max-results", &mut limits.glob_max_results),
            ("glob-max-files-scanned", &mut limits.glob_max_files_scanned),
            (
                "tool-output-spill-page-characters",
                &mut limits.page_characters,
            ),
            (
                "tool-result-preview-length",
                &mut self.output_bounds.preview_length,
            ),
        ] {
            if let Some(count) = reader.count(key)? {
                if count == 0 {
                    return Err(bad(key, "must be positive"));
                }
                *place = count as usize;
            }
        }
        if let Some(limit) = reader.optional_count("tool-result-model-max-length")? {
            self.output_bounds.max_length = limit.map(|limit| limit as usize);
            limits.result_max_length = self.output_bounds.max_length;
        }
        if let Some(variables) = reader.texts("process-environment")? {
            self.environment = Some(read_environment(&variables));
        }
        if let Some(program) = reader.text("bash-program")? {
            limits.bash_program = program;
        }
        if let Some(timeout) = reader.seconds("bash-timeout")? {
            if timeout.is_zero() {
                return Err(bad("bash-timeout", "must be positive"));
            }
            limits.bash_timeout = timeout;
        }
        Ok(())
    }

    fn read_storage_options(&mut self, reader: &Reader<'_>) -> Result<(), RuntimeError> {
        if let Some(bytes) = reader.count("tool-output-spill-session-max-bytes")? {
            self.spill.session_max_bytes = bytes;
        }
        if let Some(time) = reader.seconds("tool-output-spill-ttl")? {
            self.spill.time_to_live = time;
        }
        if let Some(limit) = reader.optional_count("session-log-max-events")? {
            self.writer.log_max_events = limit;
        }
        Ok(())
    }
}

/// Reads `NAME=VALUE` entries.  As in Emacs, the first of a name counts, and a name
/// without a value is unset.
fn read_environment(entries: &[String]) -> Arc<[(String, String)]> {
    let mut seen = HashSet::new();
    entries
        .iter()
        .filter_map(|entry| {
            let (name, value) = match entry.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (entry.as_str(), None),
            };
            let usable = !name.is_empty() && !entry.contains('\0');
            (usable && seen.insert(name.to_owned()))
                .then_some(())
                .and(value)
                .map(|value| (name.to_owned(), value.to_owned()))
        })
        .collect()
}

fn is_permission_key(name: &str) -> bool {
    PERMISSION_KEYS.contains(&name)
}

/// Reads rules: an array of `[KEY, DECISION]` and `[KEY, [[PATTERN, DECISION], ...]]`.
fn read_rules(value: &Value) -> Result<PermissionRules, RuntimeError> {
    let wrong = |what: &str| bad("permission-rules", what);
    let entries = match value {
        Value::Null => return Ok(PermissionRules::default()),
        Value::Array(entries) => entries,
        _ => return Err(wrong("is no list")),
    };
    let decision = |value: &Value| {
        value.as_str().and_then(Decision::parse).ok_or_else(|| {
            wrong(&format!(
                "has a decision {value} that is not allow, ask or deny"
            ))
        })
    };
    let mut rules = Vec::new();
    for entry in entries {
        let (key, body) = match entry.as_array().map(Vec::as_slice) {
            Some([Value::String(key), body]) => (key, body),
            _ => return Err(wrong("has an entry that is no (KEY . RULE)")),
        };
        if key != "*" && !is_permission_key(key) {
            let known = PERMISSION_KEYS.join(", ");
            return Err(wrong(&format!(
                "has an unknown key {key}; there are *, {known}"
            )));
        }
        let rule = match body {
            Value::Array(patterns) => {
                let patterns = patterns
                    .iter()
                    .map(|entry| match entry.as_array().map(Vec::as_slice) {
                        Some([Value::String(pattern), verdict]) => {
                            Ok((pattern.clone(), decision(verdict)?))
                        }
                        _ => Err(wrong("has an entry that is no (PATTERN . DECISION)")),
                    })
                    .collect::<Result<_, _>>()?;
                Rule::ByPattern(patterns)
            }
            body => Rule::Always(decision(body)?),
        };
        rules.push((key.clone(), rule));
    }
    let rules = PermissionRules { rules };
    RuleTable::compile("magent-permission-rules", &rules)
        .map_err(|error| wrong(&format!("has a rule that cannot be used: {error}")))?;
    Ok(rules)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn absent_options_keep_their_defaults_and_null_switches_off() {
        let config = RuntimeConfig::from_json(&json!({})).unwrap();
        assert_eq!(config.max_history, Some(100));
        assert_eq!(config.audit, AuditTarget::Buffer);
        let config = RuntimeConfig::from_json(&json!({
            "max-history": null,
            "request-timeout": 0,
            "max-sampling-requests": 0,
            "audit": null,
            "tool-result-model-max-length": null,
            "session-log-max-events": null,
            "include-reasoning": "omit",
            "unknown": [1],
        }))
        .unwrap();
        assert_eq!(config.max_history, None);
        assert_eq!(config.request_timeout, None);
        assert_eq!(config.max_sampling_requests, None);
        assert_eq!(config.audit, AuditTarget::Off);
        assert_eq!(config.output_bounds.max_length, None);
        assert_eq!(config.writer.log_max_events, None);
        assert_eq!(config.reasoning, ReasoningDisplay::Omit);
    }

    #[test]
    fn values_of_the_wrong_kind_are_refused_by_the_options_name() {
        for (key, value) in [
            ("bash-timeout", json!(0)),
            ("bash-timeout", json!("long")),
            ("grep-max-matches", json!(0)),
            ("glob-max-results", json!(-1)),
            ("default-effort", json!("huge")),
            ("audit", json!(1)),
            ("permission-rules", json!([["nope", "allow"]])),
            ("permission-rules", json!([["bash", "maybe"]])),
            (
                "permission-rules",
                json!([["bash", [["rm *", "deny"], ["*", "allow"]]]]),
            ),
            ("enable-tools", json!(["read", "bsah"])),
        ] {
            let error = RuntimeConfig::from_json(&json!({ key: value })).unwrap_err();
            assert!(
                error.to_string().contains(&format!("magent-{key}")),
                "{error}"
            );
        }
    }

    #[test]
    fn the_first_of_a_name_counts_and_a_bare_name_is_unset() {
        let entries = ["A=1", "B", "A=2", "B=3", "C=x=y", "=z"].map(str::to_owned);
        let variables = read_environment(&entries);
        let expected = [("A", "1"), ("C", "x=y")].map(|(n, v)| (n.to_owned(), v.to_owned()));
        assert_eq!(variables.as_ref(), expected);
    }

    #[test]
    fn rules_keep_their_order() {
        let config = RuntimeConfig::from_json(&json!({"permission-rules": [
            ["edit", [["docs/*", "allow"], ["*", "ask"]]],
            ["*", "deny"],
        ]}))
        .unwrap();
        let rules = config.permission_rules.rules;
        assert_eq!(rules.len(), 2);
        assert_eq!(rules[1], ("*".into(), Rule::Always(Decision::Deny)));
        assert!(matches!(&rules[0].1, Rule::ByPattern(entries) if entries.len() == 2));
    }
}
