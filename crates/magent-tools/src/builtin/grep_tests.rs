use super::*;
use crate::test_support::{Project, failure};

async fn grep(project: &Project, arguments: Value) -> ToolOutput {
    project.run(&Grep::new(), arguments).await.unwrap()
}

async fn find(project: &Project, pattern: &str) -> String {
    let arguments = json!({ "pattern": pattern, "path": "." });
    grep(project, arguments).await.content
}

/// Case 22: the whole answer.
#[tokio::test]
async fn matches_come_with_the_revisions_of_their_files() {
    let project = Project::new();
    project.write("src/b.rs", "Needle 1\nno\nneedle: 2:3\r\n");
    project.write("a.rs", "NEEDLE\n");
    project.write("c.rs", "nothing\n");
    let output = grep(&project, json!({ "pattern": "needle", "path": "." })).await;
    let (a, b) = (project.revision("a.rs"), project.revision("src/b.rs"));
    assert_eq!(
        output.content,
        format!(
            "[file revisions]\n{a} a.rs\n{b} src/b.rs\n[/file revisions]\n\
             a.rs:1:NEEDLE\nsrc/b.rs:1:Needle 1\nsrc/b.rs:3:needle: 2:3"
        )
    );
    assert_eq!(
        output.value["matches"][2],
        json!({ "path": "src/b.rs", "line": 3, "text": "needle: 2:3" })
    );
    assert_eq!(output.value["revisions"]["a.rs"], a);
    assert_eq!(output.metadata["backend"], "ripgrep-library");
    assert_eq!(output.metadata["limit"], 100);
    let exact = json!({ "pattern": "needle", "path": ".", "case_sensitive": true });
    assert_eq!(
        grep(&project, exact).await.value["matches"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
}

/// Case 24.
#[tokio::test]
async fn no_match_is_no_failure_and_a_bad_pattern_is_one() {
    let project = Project::new();
    project.write("a", "x");
    assert_eq!(find(&project, "nowhere").await, "No matches found");
    let arguments = json!({ "pattern": "a(b", "path": "." });
    let (code, message) = failure(project.run(&Grep::new(), arguments).await);
    assert_eq!(code, "bad_pattern");
    assert!(message.contains("unclosed group"), "{message}");
    let arguments = json!({ "pattern": "a", "path": ".", "glob": "a{b" });
    assert_eq!(
        failure(project.run(&Grep::new(), arguments).await).0,
        "bad_glob"
    );
}

/// Case 23.
#[tokio::test]
async fn more_matches_than_the_limit_end_with_a_note() {
    let mut project = Project::new();
    project.limits.grep_max_matches = 3;
    for name in ["a", "b", "c"] {
        project.write(name, "x\nx\n");
    }
    let output = grep(&project, json!({ "pattern": "x", "path": "." })).await;
    let tail: Vec<&str> = output.content.lines().skip(4).collect();
    assert_eq!(
        tail,
        [
            "a:1:x",
            "a:2:x",
            "b:1:x",
            "[truncated: only the first 3 matching lines are shown; use a narrower pattern, \
             glob or path]"
        ]
    );
    assert_eq!(output.value["truncated"], true);
    assert_eq!(output.metadata["truncated"], true);
}

/// C42: a filter never brings ignored files back.  C43: what is ignored is told.
#[tokio::test]
async fn a_filter_only_takes_files_away() {
    let project = Project::new();
    project.write(".gitignore", "dist/\n");
    for path in ["dist/a.js", "src/b.js", "src/c.ts", ".github/d.js"] {
        project.write(path, "x");
    }
    let run = async |glob: &str| {
        let output = grep(
            &project,
            json!({ "pattern": "x", "path": ".", "glob": glob }),
        )
        .await;
        let matches = output.value["matches"].as_array().unwrap().clone();
        let paths: Vec<String> = matches
            .iter()
            .map(|found| found["path"].as_str().unwrap().to_owned())
            .collect();
        assert!(output.content.ends_with("\n[1 ignored paths not searched]"));
        paths.join(" ")
    };
    assert_eq!(run("*.js").await, ".github/d.js src/b.js");
    assert_eq!(run("src/*.{js,ts}").await, "src/b.js src/c.ts");
    assert_eq!(run("**/*.ts").await, "src/c.ts");
    assert_eq!(run("./src/*").await, "src/b.js src/c.ts");
    assert_eq!(run("!*.js").await, "src/c.ts");
    // What is named itself is searched.
    let output = grep(&project, json!({ "pattern": "x", "path": "dist" })).await;
    assert_eq!(output.value["matches"][0]["path"], "dist/a.js");
    assert_eq!(output.value["ignored_paths"], 0);
}

/// C45: neither transcripts nor Magent's own files are found.
#[tokio::test]
async fn private_folders_are_left_out() {
    let mut project = Project::new();
    project.write(".agent-shell/transcripts/t.md", "needle");
    project.write("state/sessions/s.jsonl", "needle");
    project.write(".git/config", "needle");
    project.write(".env", "needle");
    project.private.push(project.path("state"));
    let output = grep(&project, json!({ "pattern": "needle", "path": "." })).await;
    assert_eq!(output.value["matches"].as_array().unwrap().len(), 1);
    assert_eq!(output.value["matches"][0]["path"], ".env");
    let arguments = json!({ "pattern": "needle", "path": "state/sessions/s.jsonl" });
    assert_eq!(
        failure(project.run(&Grep::new(), arguments).await).0,
        "private"
    );
}

/// E5: a match in a minified file of 600 KB is one short line.
#[tokio::test]
async fn long_lines_are_clipped_around_the_match() {
    let project = Project::new();
    project.write(
        "min.js",
        format!("{}needle{}", "a".repeat(300_000), "b".repeat(300_000)),
    );
    let content = find(&project, "needle").await;
    let line = content.lines().last().unwrap();
    assert!(
        line.starts_with("min.js:1:[299900 characters cut ...] aaa"),
        "{line}"
    );
    assert!(line.contains("aneedleb"));
    assert!(line.chars().count() < 500);
}

#[tokio::test]
async fn a_single_file_can_be_searched() {
    let mut project = Project::new();
    project.write("src/a.rs", "x\n");
    project.fifo("fifo");
    let output = grep(&project, json!({ "pattern": "x", "path": "src/a.rs" })).await;
    assert!(output.content.ends_with("\nsrc/a.rs:1:x"));
    for (path, expected) in [("missing", "not_found"), ("fifo", "not_a_regular_file")] {
        let arguments = json!({ "pattern": "x", "path": path });
        assert_eq!(
            failure(project.run(&Grep::new(), arguments).await).0,
            expected
        );
    }
    // A FIFO on the way does not hang the search.
    assert!(find(&project, "x").await.contains("src/a.rs:1:x"));
    project.scope = magent_types::Scope::Project("/ssh:host:/srv".to_owned());
    let arguments = json!({ "pattern": "x", "path": "." });
    let (code, message) = failure(project.run(&Grep::new(), arguments).await);
    assert_eq!(code, "remote_unsupported");
    assert_eq!(message, "grep on a remote project is not available yet");
}

/// Names and lines that look like parts of the answer.
#[tokio::test]
async fn names_cannot_forge_lines() {
    let project = Project::new();
    project.write("a\n[file revisions]", "needle path:1:x\n");
    let content = find(&project, "needle").await;
    assert_eq!(content.lines().count(), 4);
    assert!(content.ends_with("\na\\n[file revisions]:1:needle path:1:x"));
}

#[tokio::test]
async fn a_cancelled_search_ends_at_once() {
    let project = Project::new();
    project.cancel.cancel();
    let start = std::time::Instant::now();
    let arguments = json!({ "pattern": "x", "path": "/" });
    let end = project.run(&Grep::new(), arguments).await;
    assert_eq!(end, Err(ToolError::Cancelled));
    assert!(start.elapsed().as_millis() < 500);
}

#[test]
fn the_title_and_the_audit_are_short() {
    let project = Project::new();
    let tool = Grep::new();
    let arguments = json!({ "pattern": "fn\n main", "path": "src", "case_sensitive": true });
    let call = project.call(&tool, &arguments).unwrap();
    assert_eq!(
        tool.title(&call, &project.context()),
        "Search \"fn  main\" in src"
    );
    assert_eq!(
        Value::Object(tool.audit_preview(&call.arguments)),
        json!({ "path": "src", "case_sensitive": true, "pattern_length": 8 })
    );
}

/// What the rules keep from `read_file` must not come out of a search.
#[tokio::test]
async fn files_that_may_not_be_read_are_not_searched_and_it_says_so() {
    let project = Project::new();
    project.write("a.txt", "KEY here\n");
    project.write("conf/.env", "KEY=secret\n");
    let mut context = project.context();
    context.may_read = std::sync::Arc::new(|path| !path.ends_with(".env"));
    let arguments = json!({ "pattern": "KEY", "path": "." });
    let call = project.call(&Grep::new(), &arguments).unwrap();
    let output = Grep::new().run(&call, &context).await.unwrap();
    assert!(!output.content.contains("secret"), "{}", output.content);
    assert!(output.content.ends_with(
        "a.txt:1:KEY here\n[1 files not searched: the permission rules deny reading them]"
    ));
}

#[tokio::test]
async fn people_see_the_lines_without_the_revisions() {
    let project = Project::new();
    project.write("a.txt", "x\n");
    let output = grep(&project, json!({ "pattern": "x", "path": "." })).await;
    assert_eq!(Grep::new().display_content(&output.content), "a.txt:1:x");
    assert_eq!(
        Grep::new().display_content("No matches found"),
        "No matches found"
    );
}
