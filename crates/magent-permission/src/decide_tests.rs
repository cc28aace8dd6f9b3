use magent_types::{PermissionRules, Rule};

use super::*;
use crate::{PERMISSION_KEYS, build_rules, plan_rules};

fn policy(rules: &PermissionRules) -> Policy {
    Policy {
        tables: vec![Arc::new(RuleTable::compile("agent test", rules).unwrap())],
        enabled_keys: PERMISSION_KEYS
            .iter()
            .map(|key| (*key).to_owned())
            .collect(),
        ..Policy::default()
    }
}

fn one(key: &str, decision: Decision) -> PermissionRules {
    PermissionRules {
        rules: vec![(key.to_owned(), Rule::Always(decision))],
    }
}

fn check(policy: &Policy, key: &str, once: bool, path: Option<&str>) -> (Decision, String) {
    let resource = path.map(|path| ResourceName {
        path,
        in_project: path.strip_prefix("/p/"),
    });
    let request = Request {
        key,
        policy: if once {
            ApprovalPolicy::OnceOnly
        } else {
            ApprovalPolicy::Normal
        },
        resource,
    };
    let authorization = decide(policy, &request);
    assert!(!authorization.explain(&request).is_empty());
    let name = authorization.source.name(authorization.decision);
    (authorization.decision, name)
}

#[test]
fn the_default_profile_asks_for_commands_and_writes_and_refuses_secrets() {
    let build = policy(&build_rules());
    let decision = |key: &str, path: Option<&str>| check(&build, key, false, path).0;
    assert_eq!(decision("bash", None), Decision::Ask);
    assert_eq!(decision("read", Some("/p/a.rs")), Decision::Allow);
    assert_eq!(decision("read", Some("/p/.env")), Decision::Deny);
    assert_eq!(decision("grep", Some("/p/.env")), Decision::Deny);
    assert_eq!(decision("edit", Some("/p/a.rs")), Decision::Allow);
    assert_eq!(decision("edit", Some("/p/x.env.local")), Decision::Deny);
    assert_eq!(decision("write", Some("/p/a.rs")), Decision::Ask);
    assert_eq!(decision("write", Some("/p/.env.example")), Decision::Allow);
    assert_eq!(decision("plan", None), Decision::Allow);
    assert_eq!(decision("glob", Some("/p")), Decision::Allow);
}

/// Case 36.
#[test]
fn the_plan_agent_edits_plans_only() {
    let plan = policy(&plan_rules());
    let decision = |key: &str, path: Option<&str>| check(&plan, key, false, path).0;
    assert_eq!(
        decision("edit", Some("/p/.magent/plan/a.md")),
        Decision::Allow
    );
    assert_eq!(decision("edit", Some("/p/src/a.rs")), Decision::Deny);
    assert_eq!(decision("bash", None), Decision::Ask);
    assert_eq!(decision("write", Some("/p/a")), Decision::Ask);
    assert_eq!(
        check(&plan, "emacs_eval_live", true, None).0,
        Decision::Deny
    );
}

#[test]
fn a_change_outside_the_project_is_asked_for_unless_named() {
    let build = policy(&build_rules());
    assert_eq!(
        check(&build, "edit", false, Some("/etc/hosts")),
        (Decision::Ask, "outside-project".into())
    );
    assert_eq!(
        check(&build, "read", false, Some("/etc/hosts")).0,
        Decision::Allow
    );
    let named = PermissionRules {
        rules: vec![(
            "edit".into(),
            Rule::ByPattern(vec![("/etc/*".into(), Decision::Allow)]),
        )],
    };
    assert_eq!(
        check(&policy(&named), "edit", false, Some("/etc/hosts")).0,
        Decision::Allow
    );
    for anywhere in ["**/*", "*/**", "**/hosts", "hosts", "**"] {
        let rules = PermissionRules {
            rules: vec![(
                "edit".into(),
                Rule::ByPattern(vec![(anywhere.into(), Decision::Allow)]),
            )],
        };
        assert_eq!(
            check(&policy(&rules), "edit", false, Some("/etc/hosts")),
            (Decision::Ask, "outside-project".into()),
            "{anywhere}"
        );
    }
}

#[test]
fn what_is_allowed_for_the_session_is_still_asked_for_outside_the_project() {
    let mut allowed = policy(&build_rules());
    for key in ["edit", "write"] {
        allowed.overrides.set(key, Decision::Allow);
        assert_eq!(
            check(&allowed, key, false, Some("/etc/hosts")),
            (Decision::Ask, "outside-project".into())
        );
    }
    let asked = decide(
        &allowed,
        &Request {
            key: "write",
            policy: ApprovalPolicy::Normal,
            resource: Some(ResourceName {
                path: "/etc/hosts",
                in_project: None,
            }),
        },
    );
    assert_eq!(
        asked.approval_policy(ApprovalPolicy::Normal),
        ApprovalPolicy::OnceOnly
    );
}

/// Cases 37 and 39, E39.
#[test]
fn once_only_tools_are_asked_for_whatever_was_allowed() {
    let mut policy = policy(&one("emacs_eval_live", Decision::Allow));
    assert_eq!(
        check(&policy, "emacs_eval_live", true, None),
        (Decision::Ask, "once-only".into())
    );
    policy.overrides.set("emacs_eval_live", Decision::Allow);
    assert_eq!(
        check(&policy, "emacs_eval_live", true, None),
        (Decision::Ask, "once-only-ignores-session-allow".into())
    );
    policy.bypass = true;
    assert_eq!(
        check(&policy, "emacs_eval_live", true, None),
        (Decision::Ask, "once-only-bypass".into())
    );
}

#[test]
fn a_rules_deny_beats_the_session_and_bypass_beats_the_rule() {
    let mut policy = policy(&one("bash", Decision::Deny));
    policy.overrides.set("bash", Decision::Allow);
    assert_eq!(
        check(&policy, "bash", false, None),
        (Decision::Deny, "rule-deny".into())
    );
    policy.bypass = true;
    assert_eq!(
        check(&policy, "bash", false, None),
        (Decision::Allow, "bypass".into())
    );
}

/// Case 38.
#[test]
fn session_decisions_replace_the_question() {
    let mut policy = policy(&one("bash", Decision::Ask));
    policy.overrides.set("bash", Decision::Allow);
    assert_eq!(
        check(&policy, "bash", false, None),
        (Decision::Allow, "session-override-allow".into())
    );
    policy.overrides.set("bash", Decision::Deny);
    assert_eq!(
        check(&policy, "bash", false, None),
        (Decision::Deny, "session-override-deny".into())
    );
    policy.overrides.set("bash", Decision::Ask);
    assert_eq!(check(&policy, "bash", false, None).0, Decision::Ask);
}

#[test]
fn what_is_switched_off_stays_off_even_under_bypass() {
    let mut policy = policy(&one("*", Decision::Allow));
    policy.enabled_keys = vec!["read".into()];
    policy.bypass = true;
    assert_eq!(
        check(&policy, "bash", false, None),
        (Decision::Deny, "global-disable".into())
    );
}

#[test]
fn of_several_tables_the_strictest_counts() {
    let mut both = policy(&one("bash", Decision::Allow));
    both.tables.push(Arc::new(
        RuleTable::compile("parent", &one("*", Decision::Ask)).unwrap(),
    ));
    assert_eq!(check(&both, "bash", false, None).0, Decision::Ask);
    both.tables.push(Arc::new(
        RuleTable::compile("phase", &one("bash", Decision::Deny)).unwrap(),
    ));
    assert_eq!(check(&both, "bash", false, None).0, Decision::Deny);
}
