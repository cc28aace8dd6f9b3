//! Rules ready to be matched.

use magent_types::{Decision, PermissionRules, Rule};
use regex::Regex;

use crate::defaults::FILE_KEYS;

/// A resource as rules see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResourceName<'a> {
    /// The canonical absolute path.
    pub path: &'a str,
    /// The path below the project root; `None` for a resource outside of it.
    pub in_project: Option<&'a str>,
}

/// A rule that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the pattern {pattern:?} of {key} cannot be used: {problem}")]
pub struct RuleError {
    /// The permission key.
    pub key: String,
    /// The pattern.
    pub pattern: String,
    /// What is wrong with it.
    pub problem: String,
}

/// The rule that matched a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleHit {
    /// What it says.
    pub decision: Decision,
    /// Its place among the rules of its table, from 1; 0 if no rule matched and the
    /// request is therefore allowed.
    pub number: usize,
    /// Its key: the permission key, or `*`.
    pub key: String,
    /// The pattern that matched, if the rule has patterns.
    pub pattern: Option<String>,
}

impl RuleHit {
    /// Whether the rule's pattern says where in the file system it counts: "all Markdown
    /// files" speaks of the project the user opened.
    pub fn names_place(&self) -> bool {
        (self.pattern.as_deref()).is_some_and(|pattern| pattern.starts_with('/'))
    }
}

/// A list of rules, compiled.  The first rule that matches decides, literally in the
/// order in which the rules were written; `*` is a rule like any other.
#[derive(Clone, Debug)]
pub struct RuleTable {
    origin: String,
    rules: Vec<CompiledRule>,
}

#[derive(Clone, Debug)]
struct CompiledRule {
    key: String,
    body: Body,
}

#[derive(Clone, Debug)]
enum Body {
    Always(Decision),
    ByPattern(Vec<(Pattern, Decision)>),
}

impl RuleTable {
    /// Compiles rules.  `origin` names them in explanations, such as `agent build`.
    pub fn compile(origin: impl Into<String>, rules: &PermissionRules) -> Result<Self, RuleError> {
        let rules = rules
            .rules
            .iter()
            .map(|(key, rule)| {
                let body = match rule {
                    Rule::Always(decision) => Body::Always(*decision),
                    Rule::ByPattern(entries) => Body::ByPattern(
                        entries
                            .iter()
                            .map(|(text, decision)| Ok((Pattern::compile(key, text)?, *decision)))
                            .collect::<Result<_, RuleError>>()?,
                    ),
                };
                Ok(CompiledRule {
                    key: key.clone(),
                    body,
                })
            })
            .collect::<Result<_, RuleError>>()?;
        Ok(Self {
            origin: origin.into(),
            rules,
        })
    }

    /// Where the rules come from.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// Finds the first rule that matches; without one the request is allowed.
    pub fn evaluate(&self, key: &str, resource: Option<ResourceName<'_>>) -> RuleHit {
        for (index, rule) in self.rules.iter().enumerate() {
            if rule.key != key && rule.key != "*" {
                continue;
            }
            let (decision, pattern) = match &rule.body {
                Body::Always(decision) => (*decision, None),
                Body::ByPattern(entries) => {
                    let hit = entries
                        .iter()
                        .find(|(pattern, _)| pattern.matches(resource));
                    match hit {
                        Some((pattern, decision)) => (*decision, Some(pattern.text.clone())),
                        None => continue,
                    }
                }
            };
            return RuleHit {
                decision,
                number: index + 1,
                key: rule.key.clone(),
                pattern,
            };
        }
        RuleHit {
            decision: Decision::Allow,
            number: 0,
            key: String::new(),
            pattern: None,
        }
    }

    /// Whether some resource exists for which the rules do not refuse the key.  Errs
    /// towards yes: a tool is hidden only when it is certainly of no use.
    pub(crate) fn may_be_usable(&self, key: &str) -> bool {
        for rule in &self.rules {
            if rule.key != key && rule.key != "*" {
                continue;
            }
            match &rule.body {
                Body::Always(decision) => return *decision != Decision::Deny,
                Body::ByPattern(entries) => {
                    for (pattern, decision) in entries {
                        if *decision != Decision::Deny {
                            return true;
                        }
                        if pattern.is_catch_all() {
                            return false;
                        }
                    }
                }
            }
        }
        true
    }

    /// The patterns under a key with what they say, for explanations.
    pub fn patterns(&self, key: &str) -> Vec<(String, Decision)> {
        self.rules
            .iter()
            .filter(|rule| rule.key == key)
            .filter_map(|rule| match &rule.body {
                Body::Always(_) => None,
                Body::ByPattern(entries) => Some(entries),
            })
            .flatten()
            .map(|(pattern, decision)| (pattern.text.clone(), *decision))
            .collect()
    }
}

/// A path pattern: `*` within one component, `**` across components, `?` one
/// character, anything else literal and case-sensitive.  Without a slash it is
/// matched against the last component, otherwise against the canonical path and
/// against the path below the project root.
#[derive(Clone, Debug)]
struct Pattern {
    text: String,
    matcher: Regex,
}

impl Pattern {
    fn compile(key: &str, text: &str) -> Result<Self, RuleError> {
        // Not a shell glob library: those match bytes, and give brackets, braces and
        // backslashes a meaning that rules do not have.
        let unusable = |problem: String| RuleError {
            key: key.to_owned(),
            pattern: text.to_owned(),
            problem,
        };
        if text.is_empty() {
            return Err(unusable("it is empty, and matches nothing".to_owned()));
        }
        let matcher = Regex::new(&expression(text)).map_err(|error| unusable(error.to_string()))?;
        let pattern = Self {
            text: text.to_owned(),
            matcher,
        };
        // A rule that can never match must not look as if it protected something.
        if key != "*" && !FILE_KEYS.contains(&key) && !pattern.is_catch_all() {
            return Err(unusable(format!(
                "patterns name files, and {key} is not about a file; allow, ask for or deny all \
                 of {key}, with {key} alone or the pattern *"
            )));
        }
        Ok(pattern)
    }

    fn is_catch_all(&self) -> bool {
        matches!(self.text.as_str(), "*" | "**")
    }

    fn matches(&self, resource: Option<ResourceName<'_>>) -> bool {
        if self.is_catch_all() {
            return true;
        }
        let Some(resource) = resource else {
            return false;
        };
        if self.text.contains('/') {
            self.matcher.is_match(resource.path)
                || resource
                    .in_project
                    .is_some_and(|path| self.matcher.is_match(path))
        } else {
            let name = resource.path.rsplit('/').next().unwrap_or(resource.path);
            self.matcher.is_match(name)
        }
    }
}

/// The pattern as a regular expression over the whole text.
fn expression(text: &str) -> String {
    let mut out = String::from("(?s)^");
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        let (piece, consumed) = if rest.starts_with("**/") {
            ("(?:.*/)?".to_owned(), 3)
        } else if rest.starts_with("**") {
            (".*".to_owned(), 2)
        } else if character == '*' {
            ("[^/]*".to_owned(), 1)
        } else if character == '?' {
            ("[^/]".to_owned(), 1)
        } else {
            let length = character.len_utf8();
            (regex::escape(&rest[..length]), length)
        };
        out.push_str(&piece);
        rest = &rest[consumed..];
    }
    out.push('$');
    out
}

#[cfg(test)]
#[path = "rules_tests.rs"]
mod tests;
