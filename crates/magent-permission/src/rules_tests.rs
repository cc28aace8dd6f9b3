use magent_types::{Decision, PermissionRules, Rule};
use proptest::prelude::*;

use super::*;

fn table(rules: &[(&str, Rule)]) -> RuleTable {
    let rules = PermissionRules {
        rules: rules
            .iter()
            .map(|(key, rule)| ((*key).to_owned(), rule.clone()))
            .collect(),
    };
    RuleTable::compile("test", &rules).unwrap()
}

fn nested(entries: &[(&str, Decision)]) -> Rule {
    Rule::ByPattern(
        entries
            .iter()
            .map(|(pattern, decision)| ((*pattern).to_owned(), *decision))
            .collect(),
    )
}

fn inside(path: &str) -> ResourceName<'_> {
    ResourceName {
        path,
        in_project: path.strip_prefix("/p/"),
    }
}

fn decide(table: &RuleTable, path: &str) -> Decision {
    table.evaluate("read", Some(inside(path))).decision
}

#[test]
fn the_first_match_in_declared_order_decides_even_when_it_is_a_star() {
    let star_first = table(&[
        ("*", Rule::Always(Decision::Deny)),
        ("read", Rule::Always(Decision::Allow)),
    ]);
    assert_eq!(decide(&star_first, "/p/a"), Decision::Deny);
    let star_last = table(&[
        ("read", Rule::Always(Decision::Allow)),
        ("*", Rule::Always(Decision::Deny)),
    ]);
    assert_eq!(decide(&star_last, "/p/a"), Decision::Allow);
    let none = table(&[("write", Rule::Always(Decision::Deny))]);
    let hit = none.evaluate("read", None);
    assert_eq!((hit.decision, hit.number), (Decision::Allow, 0));
}

/// Case 35.
#[test]
fn nested_rules_go_in_order_and_fall_through_when_none_matches() {
    let rules = table(&[
        (
            "read",
            nested(&[
                ("*.env.example", Decision::Allow),
                ("*.env", Decision::Deny),
                ("*.env.*", Decision::Deny),
                ("docs/*.md", Decision::Ask),
            ]),
        ),
        ("*", Rule::Always(Decision::Ask)),
    ]);
    assert_eq!(decide(&rules, "/p/.env"), Decision::Deny);
    assert_eq!(decide(&rules, "/p/a/prod.env"), Decision::Deny);
    assert_eq!(decide(&rules, "/p/.env.local"), Decision::Deny);
    assert_eq!(decide(&rules, "/p/.env.example"), Decision::Allow);
    assert_eq!(decide(&rules, "/p/.ENV"), Decision::Ask);
    assert_eq!(decide(&rules, "/p/docs/a.md"), Decision::Ask);
    let hit = rules.evaluate("read", Some(inside("/p/src/x.rs")));
    assert_eq!((hit.decision, hit.number), (Decision::Ask, 2));
    assert_eq!(hit.pattern, None);
}

#[test]
fn patterns_with_a_slash_match_canonical_and_project_paths() {
    let rules = table(&[(
        "read",
        nested(&[("src/**/x.rs", Decision::Deny), ("/etc/**", Decision::Deny)]),
    )]);
    assert_eq!(decide(&rules, "/p/src/x.rs"), Decision::Deny);
    assert_eq!(decide(&rules, "/p/src/a/b/x.rs"), Decision::Deny);
    assert_eq!(decide(&rules, "/other/src/x.rs"), Decision::Allow);
    assert_eq!(decide(&rules, "/etc/ssh/key"), Decision::Deny);
    let star = table(&[("read", nested(&[("src/*.rs", Decision::Deny)]))]);
    assert_eq!(decide(&star, "/p/src/a.rs"), Decision::Deny);
    assert_eq!(decide(&star, "/p/src/a/b.rs"), Decision::Allow);
}

#[test]
fn everything_but_star_and_question_mark_is_literal() {
    let rules = table(&[(
        "read",
        nested(&[("a[1]{x,y}!.txt", Decision::Deny), ("?.c", Decision::Deny)]),
    )]);
    assert_eq!(decide(&rules, "/p/a[1]{x,y}!.txt"), Decision::Deny);
    assert_eq!(decide(&rules, "/p/a1x!.txt"), Decision::Allow);
    assert_eq!(decide(&rules, "/p/漢.c"), Decision::Deny);
    assert_eq!(decide(&rules, "/p/ab.c"), Decision::Allow);
}

#[test]
fn without_a_resource_only_the_catch_all_pattern_counts() {
    let rules = table(&[(
        "read",
        nested(&[("a", Decision::Allow), ("*", Decision::Ask)]),
    )]);
    assert_eq!(rules.evaluate("read", None).decision, Decision::Ask);
}

fn decisions() -> impl Strategy<Value = Decision> {
    prop::sample::select(Decision::ALL)
}

fn any_rules() -> impl Strategy<Value = Vec<(String, Rule)>> {
    let key = prop::sample::select(vec!["read", "edit", "*"]).prop_map(str::to_owned);
    let pattern = prop::sample::select(vec!["*", "*.rs", "src/*", "a?"]).prop_map(str::to_owned);
    let rule = prop_oneof![
        decisions().prop_map(Rule::Always),
        prop::collection::vec((pattern, decisions()), 0..4).prop_map(Rule::ByPattern),
    ];
    prop::collection::vec((key, rule), 0..6)
}

proptest! {
    /// A deny put in front can only make things stricter.
    #[test]
    fn a_deny_in_front_never_allows_more(rules in any_rules(), path in "/p/(src/)?[ab]{1,2}(\\.rs)?") {
        let before = RuleTable::compile("t", &PermissionRules { rules: rules.clone() }).unwrap();
        let mut more = rules;
        more.insert(0, ("read".into(), Rule::ByPattern(vec![("*.rs".into(), Decision::Deny)])));
        let after = RuleTable::compile("t", &PermissionRules { rules: more }).unwrap();
        let (before, after) = (decide(&before, &path), decide(&after, &path));
        prop_assert!(after == before || after == Decision::Deny);
    }

    /// A tool that is hidden could not have been used with any resource.
    #[test]
    fn hidden_means_denied_everywhere(rules in any_rules(), path in "/p/(src/)?[ab]{1,2}(\\.rs)?") {
        let table = RuleTable::compile("t", &PermissionRules { rules }).unwrap();
        if !table.may_be_usable("read") {
            prop_assert_eq!(decide(&table, &path), Decision::Deny);
        }
    }
}

/// A rule for commands that never matches would look like protection.
#[test]
fn patterns_are_refused_where_calls_are_not_about_files() {
    let compile = |key: &str, pattern: &str| {
        let rule = nested(&[(pattern, Decision::Deny)]);
        RuleTable::compile(
            "test",
            &PermissionRules {
                rules: vec![(key.to_owned(), rule)],
            },
        )
    };
    for key in [
        "bash",
        "emacs_eval",
        "emacs_eval_live",
        "agent",
        "plan",
        "web_search",
    ] {
        for pattern in ["rm *", "rm*", "git/**", "?"] {
            let error = compile(key, pattern).unwrap_err().to_string();
            assert!(error.contains(key) && error.contains(pattern), "{error}");
        }
        assert!(compile(key, "*").is_ok());
        assert!(compile(key, "**").is_ok());
    }
    for key in ["read", "write", "edit", "grep", "glob", "*"] {
        assert!(compile(key, "*.env").is_ok());
    }
}
