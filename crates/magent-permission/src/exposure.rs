//! Which tools a model is told about.

use crate::Policy;

/// Whether a tool is shown to the model, and why not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exposure {
    /// It is shown.
    Shown,
    /// The user switched its group off.
    Disabled,
    /// The rules refuse it whatever it is used for.
    Unusable,
}

/// Whether the tools of a permission key are shown.  A tool that is asked for is
/// shown; one that is certainly refused is not.
pub fn exposure(policy: &Policy, key: &str) -> Exposure {
    if !policy.enabled_keys.iter().any(|enabled| enabled == key) {
        return Exposure::Disabled;
    }
    if policy.bypass || policy.tables.iter().all(|table| table.may_be_usable(key)) {
        Exposure::Shown
    } else {
        Exposure::Unusable
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use magent_types::{Decision, PermissionRules, Rule};

    use super::*;
    use crate::{RuleTable, plan_rules};

    fn policy(rules: &PermissionRules) -> Policy {
        Policy {
            tables: vec![Arc::new(RuleTable::compile("t", rules).unwrap())],
            enabled_keys: vec!["edit".into(), "bash".into(), "emacs_eval_live".into()],
            ..Policy::default()
        }
    }

    #[test]
    fn a_partly_denied_tool_is_shown_and_a_wholly_denied_one_is_not() {
        let plan = policy(&plan_rules());
        assert_eq!(exposure(&plan, "edit"), Exposure::Shown);
        assert_eq!(exposure(&plan, "bash"), Exposure::Shown);
        assert_eq!(exposure(&plan, "emacs_eval_live"), Exposure::Unusable);
        assert_eq!(exposure(&plan, "read"), Exposure::Disabled);
    }

    #[test]
    fn bypass_shows_what_rules_refuse_but_not_what_is_off() {
        let mut policy = policy(&PermissionRules {
            rules: vec![("*".into(), Rule::Always(Decision::Deny))],
        });
        assert_eq!(exposure(&policy, "bash"), Exposure::Unusable);
        policy.bypass = true;
        assert_eq!(exposure(&policy, "bash"), Exposure::Shown);
        assert_eq!(exposure(&policy, "read"), Exposure::Disabled);
    }
}
