//! The rules of the built-in agents.

use magent_types::{Decision, PermissionRules, Rule};

/// Every permission key; rules with another key can only be `*`.
pub const PERMISSION_KEYS: [&str; 11] = [
    "read",
    "write",
    "edit",
    "grep",
    "glob",
    "bash",
    "emacs_eval",
    "emacs_eval_live",
    "agent",
    "plan",
    "web_search",
];

/// The keys whose calls are about a file or a directory, which patterns can name.
pub(crate) const FILE_KEYS: [&str; 5] = ["read", "write", "edit", "grep", "glob"];

fn always(key: &str, decision: Decision) -> (String, Rule) {
    (key.to_owned(), Rule::Always(decision))
}

/// Files that usually hold secrets are refused; anything else is as told.
fn except_env_files(key: &str, rest: Decision) -> (String, Rule) {
    let entries = [
        ("*.env.example", Decision::Allow),
        ("*.env", Decision::Deny),
        ("*.env.*", Decision::Deny),
        ("*", rest),
    ];
    let entries = entries
        .into_iter()
        .map(|(pattern, decision)| (pattern.to_owned(), decision))
        .collect();
    (key.to_owned(), Rule::ByPattern(entries))
}

/// The rules of the agent `build`, and the base of most others.
pub fn build_rules() -> PermissionRules {
    PermissionRules {
        rules: vec![
            always("bash", Decision::Ask),
            always("emacs_eval", Decision::Ask),
            always("emacs_eval_live", Decision::Ask),
            always("agent", Decision::Allow),
            always("web_search", Decision::Allow),
            except_env_files("read", Decision::Allow),
            except_env_files("grep", Decision::Allow),
            except_env_files("write", Decision::Ask),
            except_env_files("edit", Decision::Allow),
            always("*", Decision::Allow),
        ],
    }
}

/// The rules of the agent `plan`: like `build`, but it edits nothing except plans and
/// evaluates nothing in the running Emacs.
pub fn plan_rules() -> PermissionRules {
    let edit = Rule::ByPattern(vec![
        (".magent/plan/*.md".to_owned(), Decision::Allow),
        ("*".to_owned(), Decision::Deny),
    ]);
    let mut rules = build_rules().rules;
    rules.retain(|(key, _)| key != "edit" && key != "emacs_eval_live");
    rules.insert(0, ("edit".to_owned(), edit));
    rules.insert(0, always("emacs_eval_live", Decision::Deny));
    PermissionRules { rules }
}
