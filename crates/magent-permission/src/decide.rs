//! The decision over a call: rules, session decisions and policies in their order.

use std::collections::BTreeMap;
use std::sync::Arc;

use magent_types::{ApprovalPolicy, Decision};

use crate::{ResourceName, RuleHit, RuleTable};

/// What the user decided for the rest of a session, by permission key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionOverrides {
    decisions: BTreeMap<String, Decision>,
}

impl SessionOverrides {
    /// Sets a decision; `ask` takes it back.
    pub fn set(&mut self, key: &str, decision: Decision) {
        match decision {
            Decision::Ask => {
                self.decisions.remove(key);
            }
            Decision::Allow | Decision::Deny => {
                self.decisions.insert(key.to_owned(), decision);
            }
        }
    }

    /// The decision for a key.
    pub fn get(&self, key: &str) -> Option<Decision> {
        self.decisions.get(key).copied()
    }

    /// All decisions, by key.
    pub fn iter(&self) -> impl Iterator<Item = (&str, Decision)> {
        self.decisions
            .iter()
            .map(|(key, decision)| (key.as_str(), *decision))
    }
}

/// Everything a decision depends on.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    /// The user's rules followed by the agent's, as one table each; a child agent or
    /// a phase adds further tables.  All of them count, the strictest wins.
    pub tables: Vec<Arc<RuleTable>>,
    /// What the user decided for the rest of the session.
    pub overrides: SessionOverrides,
    /// Whether the user switched the questions off.
    pub bypass: bool,
    /// The permission keys that are switched on at all.
    pub enabled_keys: Vec<String>,
}

/// What is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The permission key.
    pub key: &'a str,
    /// How long an approval may last.
    pub policy: ApprovalPolicy,
    /// The file it is about, if any.
    pub resource: Option<ResourceName<'a>>,
}

/// Why a decision is what it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// The user switched the tool group off.
    Disabled,
    /// A rule without patterns, or no rule.
    Rule(String, RuleHit),
    /// A rule's pattern.
    FileRule(String, RuleHit),
    /// The user's decision for the session.
    SessionOverride,
    /// The user switched the questions off.
    Bypass,
    /// Questions are off, but this tool is asked for every time.
    OnceOnlyBypass,
    /// This tool is asked for every time.
    OnceOnly,
    /// The user allowed the tool for the session, but it is asked for every time.
    OnceOnlyIgnoresSession,
    /// A change outside the project is asked for, unless a pattern names the place, from the root on.
    OutsideProject,
}

impl Source {
    /// The name kept in the ledger and the audit.
    pub fn name(&self, decision: Decision) -> String {
        let verb = decision.as_str();
        match self {
            Self::Disabled => "global-disable".to_owned(),
            Self::Rule(..) => format!("rule-{verb}"),
            Self::FileRule(..) => format!("file-rule-{verb}"),
            Self::SessionOverride => format!("session-override-{verb}"),
            Self::Bypass => "bypass".to_owned(),
            Self::OnceOnlyBypass => "once-only-bypass".to_owned(),
            Self::OnceOnly => "once-only".to_owned(),
            Self::OnceOnlyIgnoresSession => "once-only-ignores-session-allow".to_owned(),
            Self::OutsideProject => "outside-project".to_owned(),
        }
    }
}

/// A decision and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Authorization {
    /// The decision.
    pub decision: Decision,
    /// Why.
    pub source: Source,
}

impl Authorization {
    /// How long an answer to the question may last, for a tool of the given policy: a
    /// yes to one place outside the project is none to all others.
    pub fn approval_policy(&self, tool: ApprovalPolicy) -> ApprovalPolicy {
        match self.source {
            Source::OutsideProject => ApprovalPolicy::OnceOnly,
            _ => tool,
        }
    }

    /// One sentence for people, as Markdown: what a rule names is a code span, for a
    /// star is not an emphasis.
    pub fn explain(&self, request: &Request<'_>) -> String {
        let verb = match self.decision {
            Decision::Allow => "allowed",
            Decision::Ask => "asked for",
            Decision::Deny => "denied",
        };
        let key = request.key;
        match &self.source {
            Source::Disabled => format!("{key} is denied: it is not in magent-enable-tools."),
            Source::Rule(origin, hit) if hit.number == 0 => {
                format!("{key} is {verb}: no rule of {origin} speaks about it.")
            }
            Source::Rule(origin, hit) => format!(
                "{key} is {verb} by rule {} of {origin} (`{}`).",
                hit.number, hit.key
            ),
            Source::FileRule(origin, hit) => format!(
                "{key} is {verb} by rule {} of {origin} (`{}`, pattern `{}`).",
                hit.number,
                hit.key,
                hit.pattern.as_deref().unwrap_or("*")
            ),
            Source::SessionOverride => {
                format!("{key} is {verb} by your decision for this session.")
            }
            Source::Bypass => format!("{key} is {verb}: permission questions are switched off."),
            Source::OnceOnlyBypass | Source::OnceOnly | Source::OnceOnlyIgnoresSession => {
                format!("{key} is asked for at every single call.")
            }
            Source::OutsideProject => {
                format!("{key} is asked for: the file is outside the project.")
            }
        }
    }
}

/// Decides.  The order is fixed: switched off, bypass, a rule's deny, the session's
/// deny, once-only, a change outside the project, the session's allow, the rule.
pub fn decide(policy: &Policy, request: &Request<'_>) -> Authorization {
    let is = |decision, source| Authorization { decision, source };
    if !policy.enabled_keys.iter().any(|key| key == request.key) {
        return is(Decision::Deny, Source::Disabled);
    }
    let once_only = request.policy == ApprovalPolicy::OnceOnly;
    if policy.bypass {
        return if once_only {
            is(Decision::Ask, Source::OnceOnlyBypass)
        } else {
            is(Decision::Allow, Source::Bypass)
        };
    }
    let rule = strictest(policy, request);
    if rule.decision == Decision::Deny {
        return rule;
    }
    let session = policy.overrides.get(request.key);
    if session == Some(Decision::Deny) {
        return is(Decision::Deny, Source::SessionOverride);
    }
    if once_only {
        let source = if session.is_some() {
            Source::OnceOnlyIgnoresSession
        } else {
            Source::OnceOnly
        };
        return is(Decision::Ask, source);
    }
    if is_unnamed_change_outside(request, &rule) {
        return is(Decision::Ask, Source::OutsideProject);
    }
    if session == Some(Decision::Allow) {
        return is(Decision::Allow, Source::SessionOverride);
    }
    rule
}

/// The most restrictive hit among all tables.
fn strictest(policy: &Policy, request: &Request<'_>) -> Authorization {
    let mut result = Authorization {
        decision: Decision::Allow,
        source: Source::Rule(
            "the agent".to_owned(),
            RuleHit {
                decision: Decision::Allow,
                number: 0,
                key: String::new(),
                pattern: None,
            },
        ),
    };
    let mut first = true;
    for table in &policy.tables {
        let hit = table.evaluate(request.key, request.resource);
        if first || strictness(hit.decision) > strictness(result.decision) {
            let origin = table.origin().to_owned();
            result.decision = hit.decision;
            result.source = if hit.pattern.is_some() {
                Source::FileRule(origin, hit)
            } else {
                Source::Rule(origin, hit)
            };
            first = false;
        }
    }
    result
}

fn strictness(decision: Decision) -> u8 {
    match decision {
        Decision::Allow => 0,
        Decision::Ask => 1,
        Decision::Deny => 2,
    }
}

/// Whether the request changes a file outside the project that no rule means by name:
/// "edits are allowed", by a rule or for the session, speaks of the project the user
/// opened.
fn is_unnamed_change_outside(request: &Request<'_>, rule: &Authorization) -> bool {
    let outside = request
        .resource
        .is_some_and(|resource| resource.in_project.is_none());
    let named = matches!(&rule.source, Source::FileRule(_, hit) if hit.names_place());
    matches!(request.key, "write" | "edit") && outside && !named
}

#[cfg(test)]
#[path = "decide_tests.rs"]
mod tests;
