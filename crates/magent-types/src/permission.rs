//! Permission rules as data.  What they mean is decided in `magent-permission`.

use crate::status::status_type;

status_type!(
    /// What a rule says about a call.
    Decision {
        /// Run it.
        Allow = "allow",
        /// Ask the user first.
        Ask = "ask",
        /// Refuse it.
        Deny = "deny",
    }
);

/// The right-hand side of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rule {
    /// One decision for every resource.
    Always(Decision),
    /// Decisions by resource pattern, first match wins.
    ByPattern(Vec<(String, Decision)>),
}

/// Rules in declared order: a permission key (or `*`) and what it says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PermissionRules {
    /// The rules in the order in which they were written.
    pub rules: Vec<(String, Rule)>,
}
