//! Questions, answers and refusals.

use std::sync::Arc;

use magent_permission::RuleTable;
use magent_runtime::{ApprovalDecision, ApprovalMode};
use magent_testkit::{ChatStream, Reply};
use magent_types::{Decision, EventKind, PermissionRules, Rule, TurnStatusKind};
use serde_json::json;

use crate::support::{World, outcome, read_args};

fn bash(id: &str, command: &str) -> Reply {
    Reply::calling(id, "bash", &json!({"command": command}))
}

#[tokio::test]
async fn a_question_is_put_with_a_pending_row_and_a_yes_runs_the_call() {
    let world = World::new([bash("c1", "echo hi"), Reply::answer("done")]).await;
    world.answer_all(ApprovalDecision::AllowOnce);
    assert_eq!(world.turn("run").await.text, "done");
    let names = world.names();
    let place = |name: &str| names.iter().position(|known| *known == name).unwrap();
    assert!(place("tool-call-detected") < place("approval-requested"));
    assert!(place("approval-requested") < place("approval-resolved"));
    assert!(place("approval-resolved") < place("tool-call-start"));
    let items = world.saved_items();
    assert_eq!(items[2].metadata["approval-source"], "user-allow-once");
}

#[tokio::test]
async fn a_no_is_told_to_the_model_and_leaves_a_trace() {
    let world = World::new([bash("c1", "touch created"), Reply::answer("as you wish")]).await;
    world.answer_all(ApprovalDecision::DenyOnce);
    assert_eq!(world.turn("run").await.text, "as you wish");
    assert!(!world.project.path("created").exists());
    assert!(world.results()[0].contains("refused"));
    let items = world.saved_items();
    assert_eq!(items[2].status.as_str(), "failed");
    assert_eq!(items[2].metadata["approval-decision"], "deny");
}

/// Case 38.
#[tokio::test]
async fn always_allow_counts_for_the_session_and_survives_a_restart() {
    let world = World::new([
        bash("c1", "true"),
        bash("c2", "true"),
        Reply::answer("done"),
    ])
    .await;
    world.answer_all(ApprovalDecision::AllowSession);
    world.turn("run").await;
    let questions = world
        .events
        .lock()
        .iter()
        .filter(|event| matches!(event.kind, EventKind::ApprovalRequested(_)))
        .count();
    assert_eq!(questions, 1);
    let World {
        storage,
        project,
        session,
        runtime,
        ..
    } = world;
    runtime.shutdown(std::time::Duration::from_secs(2));
    let mut world = World::with_storage(
        storage,
        project,
        [bash("c3", "true"), Reply::answer("again")],
    )
    .await;
    let info = world
        .runtime
        .load_session(world.scope(), session, &world.config)
        .await
        .unwrap();
    world.session = info.id;
    assert_eq!(world.turn("more").await.text, "again");
    assert!(!world.names().contains(&"approval-requested"));
}

/// Case 40: denied at once, allowed while the question is open, asked for last.
#[tokio::test]
async fn a_mixed_batch_waits_only_where_it_must() {
    let batch = ChatStream::new()
        .call(0, "ask", "bash", &json!({"command": "echo asked"}))
        .call(1, "deny", "read_file", &read_args(".env"))
        .call(2, "allow", "read_file", &read_args("a.txt"))
        .finish("tool_calls")
        .done();
    let world = World::new([Reply::stream(&batch), Reply::answer("done")]).await;
    world.project.write("a.txt", "alpha\n");
    world.project.write(".env", "KEY=1\n");
    let submitted = world.submit("go").await;
    world
        .wait_for(|kind| matches!(kind, EventKind::ToolComplete(view) if view.call_id.as_str() == "allow"))
        .await;
    let EventKind::ApprovalRequested(view) = world
        .wait_for(|kind| matches!(kind, EventKind::ApprovalRequested(_)))
        .await
    else {
        unreachable!()
    };
    assert_eq!(view.tool.call_id.as_str(), "ask");
    assert_eq!(world.server.requests().len(), 1);
    assert!(
        world
            .runtime
            .resolve_approval(&view.approval_id, ApprovalDecision::AllowOnce)
    );
    assert!(
        !world
            .runtime
            .resolve_approval(&view.approval_id, ApprovalDecision::DenyOnce)
    );
    assert_eq!(outcome(submitted).await.status, TurnStatusKind::Completed);
    let results = world.results();
    assert!(results[0].contains("asked"));
    assert!(results[1].contains("denied"), "{}", results[1]);
    assert!(!results[1].contains("KEY"));
    assert!(results[2].contains("alpha"));
}

#[tokio::test]
async fn the_diff_of_a_change_is_part_of_the_question() {
    let write = json!({"path": "new.txt", "content": "hello\n", "expected_revision": "absent"});
    let world = World::new([
        Reply::calling("c1", "write_file", &write),
        Reply::answer("ok"),
    ])
    .await;
    let submitted = world.submit("write").await;
    let EventKind::ApprovalRequested(view) = world
        .wait_for(|kind| matches!(kind, EventKind::ApprovalRequested(_)))
        .await
    else {
        unreachable!()
    };
    assert_eq!(view.tool.diffs[0].old_text, None);
    assert_eq!(view.tool.diffs[0].new_text, "hello\n");
    assert!(!world.project.path("new.txt").exists());
    world
        .runtime
        .resolve_approval(&view.approval_id, ApprovalDecision::AllowOnce);
    outcome(submitted).await;
    assert_eq!(world.project.read("new.txt"), "hello\n");
}

#[tokio::test]
async fn without_a_user_the_mode_decides() {
    let replies = || [bash("c1", "echo ran"), Reply::answer("done")];
    let mut world = World::new(replies()).await;
    world.approval = ApprovalMode::Never;
    world.turn("go").await;
    assert!(world.results()[0].contains("nobody is there"));
    let bash = rules(&[("bash", Rule::Always(Decision::Allow))]);
    let mut world = World::new(replies()).await;
    world.approval = bash.clone();
    world.turn("go").await;
    assert!(world.results()[0].contains("ran"));
    // Rules that say nothing about a call do not allow it.
    let mut world = World::new([
        Reply::calling(
            "c1",
            "write_file",
            &json!({"path": "x", "content": "", "expected_revision": "absent"}),
        ),
        Reply::answer("done"),
    ])
    .await;
    world.approval = bash;
    world.turn("go").await;
    assert!(world.results()[0].contains("rules of --approve"));
    assert!(!world.project.path("x").exists());
    assert!(!world.names().contains(&"approval-requested"));
}

#[tokio::test]
async fn rules_for_an_absent_user_refuse_what_needs_no_approval() {
    let call = |path: &str| {
        let arguments = json!({"path": path, "old_text": "a", "new_text": "b",
            "expected_revision": "0".repeat(64)});
        Reply::calling("c1", "edit_file", &arguments)
    };
    let mut world = World::new([call("x"), Reply::answer("done")]).await;
    world.approval = rules(&[("edit", Rule::Always(Decision::Deny))]);
    world.project.write("x", "a");
    world.turn("go").await;
    // A tool that is refused whatever it is about is not offered.
    assert!(
        world.results()[0].contains("edit_file"),
        "{:?}",
        world.results()
    );
    assert_eq!(world.project.read("x"), "a");
    let offered = world.server.requests()[0].body["tools"].to_string();
    assert!(!offered.contains("\"name\":\"edit_file\"") && offered.contains("read_file"));
    let pattern = Rule::ByPattern(vec![("y".into(), Decision::Deny)]);
    let mut world = World::new([call("y"), Reply::answer("done")]).await;
    world.approval = rules(&[("edit", pattern)]);
    world.project.write("y", "a");
    world.turn("go").await;
    assert!(
        world.results()[0].contains("denied"),
        "{:?}",
        world.results()
    );
}

#[tokio::test]
async fn rules_for_an_absent_user_must_name_what_is_outside_the_project() {
    let outside = tempfile::tempdir().unwrap();
    let outside = outside.path().canonicalize().unwrap();
    let pattern = |text: String| Rule::ByPattern(vec![(text, Decision::Allow)]);
    for (name, rule, written) in [
        ("a", Rule::Always(Decision::Allow), false),
        ("b", pattern("**/*".into()), false),
        ("c", pattern(format!("{}/*", outside.display())), true),
    ] {
        let path = outside.join(name);
        let arguments = json!({"path": path, "content": "", "expected_revision": "absent"});
        let call = Reply::calling("c1", "write_file", &arguments);
        let mut world = World::new([call, Reply::answer("done")]).await;
        world.approval = rules(&[("write", rule)]);
        world.turn("go").await;
        assert_eq!(path.exists(), written, "{name}: {:?}", world.results());
    }
}

fn rules(rules: &[(&str, Rule)]) -> ApprovalMode {
    let rules = PermissionRules {
        rules: (rules.iter())
            .map(|(key, rule)| ((*key).to_owned(), rule.clone()))
            .collect(),
    };
    ApprovalMode::Rules(Arc::new(RuleTable::compile("--approve", &rules).unwrap()))
}

#[tokio::test]
async fn nobody_is_asked_about_a_call_that_cannot_succeed() {
    let calls = [
        (
            "write_file",
            json!({"path": "x", "content": "", "expected_revision": "latest"}),
        ),
        (
            "edit_file",
            json!({"path": "/etc/x", "old_text": "a", "new_text": "b",
            "expected_revision": "absent"}),
        ),
        ("bash", json!({"command": " \n"})),
    ];
    for (tool, arguments) in calls {
        let world = World::new([
            Reply::calling("c1", tool, &arguments),
            Reply::answer("done"),
        ])
        .await;
        world.turn("go").await;
        assert!(!world.names().contains(&"approval-requested"), "{tool}");
        assert!(!world.results()[0].is_empty());
    }
}

#[tokio::test]
async fn the_users_rules_come_before_the_agents() {
    let mut world = World::new([bash("c1", "echo ran"), Reply::answer("done")]).await;
    world.config.permission_rules = PermissionRules {
        rules: vec![("bash".into(), Rule::Always(Decision::Allow))],
    };
    world.turn("go").await;
    assert!(world.results()[0].contains("ran"));
    world.config.permission_rules = PermissionRules {
        rules: vec![("bash".into(), Rule::Always(Decision::Deny))],
    };
    world.server.push(Reply::answer("no bash"));
    world.turn("go").await;
    let tools = world.server.requests().last().unwrap().body["tools"].to_string();
    assert!(!tools.contains("\"bash\""));
}

/// Case 36.
#[tokio::test]
async fn the_plan_agent_may_not_edit_the_project() {
    let edit = json!({"path": "a.txt", "old_text": "a", "new_text": "b",
        "expected_revision": magent_tools::revision_of(b"a\n")});
    let world = World::new([
        Reply::calling("c1", "edit_file", &edit),
        Reply::answer("planned"),
    ])
    .await;
    world.project.write("a.txt", "a\n");
    world.runtime.set_agent(&world.session, "plan").unwrap();
    world.turn("plan it").await;
    assert_eq!(world.project.read("a.txt"), "a\n");
    assert!(world.results()[0].contains("denied"));
    let system = world.server.requests()[0].messages()[0]["content"].to_string();
    assert!(system.contains("you do not carry out"));
}

/// Cases 19 to 21, C57.
#[tokio::test]
async fn paths_are_judged_by_where_they_lead() {
    let outside = tempfile::tempdir().unwrap();
    let target = outside.path().join("target.txt");
    std::fs::write(&target, "old\n").unwrap();
    let edit = |path: &str| {
        json!({"path": path, "old_text": "old", "new_text": "new",
            "expected_revision": magent_tools::revision_of(b"old\n")})
    };
    let world = World::new([
        Reply::calling("c1", "edit_file", &edit("link/target.txt")),
        Reply::calling("c2", "read_file", &read_args("$NO_SUCH_VARIABLE/x")),
        Reply::answer("done"),
    ])
    .await;
    std::os::unix::fs::symlink(outside.path(), world.project.path("link")).unwrap();
    let submitted = world.submit("go").await;
    let EventKind::ApprovalRequested(view) = world
        .wait_for(|kind| matches!(kind, EventKind::ApprovalRequested(_)))
        .await
    else {
        unreachable!()
    };
    // The link is led elsewhere while the question is open.
    let other = tempfile::tempdir().unwrap();
    std::fs::write(other.path().join("target.txt"), "old\n").unwrap();
    std::fs::remove_file(world.project.path("link")).unwrap();
    std::os::unix::fs::symlink(other.path(), world.project.path("link")).unwrap();
    world
        .runtime
        .resolve_approval(&view.approval_id, ApprovalDecision::AllowOnce);
    outcome(submitted).await;
    assert_eq!(std::fs::read_to_string(&target).unwrap(), "old\n");
    assert_eq!(
        std::fs::read_to_string(other.path().join("target.txt")).unwrap(),
        "old\n"
    );
    let results = world.results();
    assert!(
        results[0].contains("resource-identity-changed"),
        "{}",
        results[0]
    );
    assert!(results[1].contains("NO_SUCH_VARIABLE"), "{}", results[1]);
}

#[tokio::test]
async fn the_audit_tells_who_decided_and_never_what_was_in_it() {
    let world = World::new([bash("c1", "echo top-secret-command"), Reply::answer("done")]).await;
    world.answer_all(ApprovalDecision::AllowOnce);
    world.turn("run").await;
    let records = world.runtime.audit_records();
    let events: Vec<&str> = records
        .iter()
        .map(|record| record["event"].as_str().unwrap())
        .collect();
    for expected in [
        "permission-decision",
        "approval-requested",
        "approval-resolved",
        "tool-call-start",
        "tool-call-end",
    ] {
        assert!(events.contains(&expected), "{events:?}");
    }
    let text = format!("{records:?}");
    assert!(!text.contains("top-secret-command"));
    assert!(text.contains("command_length"));
}

#[tokio::test]
async fn authority_lists_every_tool_with_its_reason() {
    let world = World::new([]).await;
    let rows = world
        .runtime
        .authority(&world.session, &world.config)
        .unwrap();
    assert_eq!(rows.len(), world.runtime.catalog().iter().count());
    let bash = rows.iter().find(|row| row.tool == "bash").unwrap();
    assert_eq!(bash.decision, Some(Decision::Ask));
    assert!(bash.explanation.contains("rule 1"), "{}", bash.explanation);
}

/// The rules that keep secrets from `read_file` count for searches too.
#[tokio::test]
async fn a_search_does_not_show_what_may_not_be_read() {
    let grep = |path: &str| json!({"pattern": "KEY", "path": path});
    let world = World::new([
        Reply::calling("c1", "grep", &grep(".")),
        Reply::calling("c2", "grep", &grep(".env")),
        Reply::answer("done"),
    ])
    .await;
    world.project.write(".env", "KEY=top-secret\n");
    world.project.write("a.txt", "KEY\n");
    world.turn("search").await;
    let results = world.results();
    assert!(results[0].contains("a.txt:1:KEY"), "{}", results[0]);
    assert!(!results.concat().contains("top-secret"));
    assert!(results[1].contains("denied"), "{}", results[1]);
}
