use super::*;
use crate::revision_of;
use crate::test_support::{Project, failure, visiting};

async fn edit(
    project: &Project,
    path: &str,
    old: &str,
    new: &str,
    expected: &str,
) -> Result<ToolOutput, ToolError> {
    let arguments = json!({
        "path": path, "old_text": old, "new_text": new, "expected_revision": expected,
    });
    project.run(&EditFile::new(), arguments).await
}

/// Edits the file as it is now.
async fn edit_now(
    project: &Project,
    path: &str,
    old: &str,
    new: &str,
) -> Result<ToolOutput, ToolError> {
    edit(project, path, old, new, &project.revision(path)).await
}

#[tokio::test]
async fn an_edit_reports_line_counts_and_revision() {
    let project = Project::new();
    project.write("src/a.rs", "one\ntwo\nthree\n");
    let output = edit_now(&project, "src/a.rs", "two\n", "2\n2b\n")
        .await
        .unwrap();
    let revision = revision_of(b"one\n2\n2b\nthree\n");
    assert_eq!(
        output.content,
        format!("Edited src/a.rs (line 2): +2 -1 lines. New revision: {revision}")
    );
    let path = project.path("src/a.rs").to_str().unwrap().to_owned();
    assert_eq!(
        output.value,
        json!({ "path": path, "revision": revision, "line": 2, "added": 2, "removed": 1 })
    );
    assert_eq!(
        output.diffs,
        [FileDiff {
            path,
            old_text: Some("one\ntwo\nthree\n".to_owned()),
            new_text: "one\n2\n2b\nthree\n".to_owned(),
            line: Some(2),
        }]
    );
    assert_eq!(output.locations[0].line, Some(2));
    // The next edit needs no reading.
    edit(&project, "src/a.rs", "2b\n", "", &revision)
        .await
        .unwrap();
    assert_eq!(project.bytes("src/a.rs"), b"one\n2\nthree\n");
}

/// C30: CRLF, byte order mark and no final newline; only the edit differs.
#[tokio::test]
async fn bytes_outside_the_edit_are_identical() {
    let project = Project::new();
    project.write("a", "\u{feff}one\r\ntwo\r\nthree");
    edit_now(&project, "a", "two", "2\n2b").await.unwrap();
    assert_eq!(
        project.bytes("a"),
        "\u{feff}one\r\n2\r\n2b\r\nthree".as_bytes()
    );
    project.write("a", "one\r\ntwo\nthree\r\n");
    edit_now(&project, "a", "one\ntwo\n", "one\n2\n")
        .await
        .unwrap();
    assert_eq!(project.bytes("a"), b"one\r\n2\nthree\r\n");
}

/// Case 17.
#[tokio::test]
async fn old_text_must_be_there_exactly_once() {
    let project = Project::new();
    project.write("a", "x\ny\nx\n");
    let (code, message) = failure(edit_now(&project, "a", "x", "z").await);
    assert_eq!(code, "not_unique");
    assert!(
        message.contains("2 times in a, beginning in the lines 1, 3"),
        "{message}"
    );
    let (code, message) = failure(edit_now(&project, "a", "Y\n", "z").await);
    assert_eq!(code, "no_match");
    assert!(message.contains("0 times in a"), "{message}");
    assert!(message.contains("letter case"), "{message}");
    let (code, _) = failure(edit_now(&project, "a", "", "z").await);
    assert_eq!(code, "arguments");
    let (code, _) = failure(edit_now(&project, "a", "x", "x").await);
    assert_eq!(code, "no_change");
    assert_eq!(project.bytes("a"), b"x\ny\nx\n");
}

/// C33 and C34 through the tool.
#[tokio::test]
async fn a_near_miss_shows_the_tabs() {
    let project = Project::new();
    project.write("a.go", "func f() {\r\n\treturn 1\r\n}\r\n");
    let (code, message) =
        failure(edit_now(&project, "a.go", "func f() {\n    return 1\n}", "x").await);
    assert_eq!(code, "no_match");
    assert!(message.contains("line 2: \"\\treturn 1\""), "{message}");
    assert!(message.contains("tabs"), "{message}");
}

/// C41: a formatter ran between two edits.
#[tokio::test]
async fn an_edit_of_an_older_revision_is_refused() {
    let project = Project::new();
    project.write("a", "old");
    let seen = project.revision("a");
    project.write("a", "old, formatted");
    let (code, message) = failure(edit(&project, "a", "old", "new", &seen).await);
    assert_eq!(code, "stale_revision");
    assert!(message.contains(&project.revision("a")), "{message}");
    let (code, _) = failure(edit(&project, "missing", "a", "b", &seen).await);
    assert_eq!(code, "not_found");
    let (code, _) = failure(edit(&project, "a", "old", "new", "absent").await);
    assert_eq!(code, "bad_revision");
}

/// E6: one line of 2 MB, and a long generated file.
#[tokio::test]
async fn huge_files_are_edited_quickly() {
    let project = Project::new();
    let start = std::time::Instant::now();
    let line = format!("{{\"a\":\"{}\",\"needle\":1}}", "x".repeat(2_000_000));
    project.write("huge.json", &line);
    let output = edit_now(&project, "huge.json", "\"needle\":1", "\"needle\":2")
        .await
        .unwrap();
    assert!(output.content.contains("(line 1): +1 -1 lines"));
    let (_, message) = failure(edit_now(&project, "huge.json", "\"NEEDLE\" :2", "y").await);
    assert!(message.chars().count() < 1_000);
    let lines: String = (0..20_000).map(|n| format!("line {n}\n")).collect();
    project.write("long", &lines);
    let all = lines.replace("line", "row");
    let output = edit_now(&project, "long", &lines, &all).await.unwrap();
    assert!(
        output.content.contains("+20000 -20000"),
        "{}",
        output.content
    );
    assert!(start.elapsed().as_secs() < 10);
}

/// Case 13 and 14: a visited file is edited in its buffer, by Emacs.
#[tokio::test]
async fn a_visited_file_is_edited_by_emacs() {
    let project = Project::new();
    project.write("a.rs", "one\ntwo\n");
    let before = project.revision("a.rs");
    let after = "12".repeat(32);
    project.host.answer("buffer-state", visiting(true));
    project
        .host
        .answer("buffer-edit", json!({ "revision": after, "line": 2 }));
    let output = edit(&project, "a.rs", "two", "2", &before).await.unwrap();
    assert_eq!(
        output.content,
        format!("Edited a.rs (line 2): +1 -1 lines. New revision: {after}")
    );
    // The text of an unmodified buffer is that of its file.
    assert_eq!(output.diffs[0].new_text, "one\n2\n");
    assert_eq!(project.host.ops(), ["buffer-state", "buffer-edit"]);
    assert_eq!(project.bytes("a.rs"), b"one\ntwo\n");
    assert_eq!(
        project.host.last_args("buffer-edit"),
        json!({
            "path": project.path("a.rs"), "expected_revision": before,
            "old_text": "two", "new_text": "2",
        })
    );
}

/// Case 12 and E47: unsaved changes stay, and the model is told why.
#[tokio::test]
async fn unsaved_changes_refuse_the_edit() {
    let project = Project::new();
    project.write("a.rs", "one\n");
    project.host.answer("buffer-state", visiting(true));
    project.host.fail("buffer-edit", "buffer_conflict");
    // Also when the text is not in the file, the conflict is the news.
    let (code, _) = failure(edit_now(&project, "a.rs", "nowhere", "2").await);
    assert_eq!(code, "buffer_conflict");
    assert_eq!(project.bytes("a.rs"), b"one\n");
}

#[tokio::test]
async fn a_miss_in_a_buffer_shows_the_closest_place() {
    let project = Project::new();
    project.write("a.rs", "One\n");
    project.host.answer("buffer-state", visiting(true));
    project.host.fail("buffer-edit", "no_match");
    let (code, message) = failure(edit_now(&project, "a.rs", "one", "2").await);
    assert_eq!(code, "no_match");
    assert!(message.contains("letter case"), "{message}");
    // Of a text that is not at hand nothing can be shown.
    let unknown = "99".repeat(32);
    let (code, message) = failure(edit(&project, "a.rs", "one", "2", &unknown).await);
    assert_eq!(
        (code.as_str(), message.as_str()),
        ("no_match", "Emacs says no_match")
    );
}

/// E35, C31: a file in another coding is edited by Emacs, with a whole diff.
#[tokio::test]
async fn other_codings_are_edited_by_emacs() {
    let project = Project::new();
    project.write("latin", b"gr\xfcn\nrot\n");
    let before = project.revision("latin");
    let after = "56".repeat(32);
    project.host.answer(
        "file-read",
        json!({ "text": "grün\nrot\n", "revision": before, "coding": "latin-1" }),
    );
    project
        .host
        .answer("file-edit", json!({ "revision": after, "line": 2 }));
    let output = edit(&project, "latin", "rot", "blau", &before)
        .await
        .unwrap();
    assert_eq!(output.value["revision"], after);
    assert_eq!(output.diffs[0].new_text, "grün\nblau\n");
    assert_eq!(project.bytes("latin"), b"gr\xfcn\nrot\n");
    // Without the text there is no diff, and the counts come from the call.
    project.host.fail("file-read", "error");
    let output = edit(&project, "latin", "rot", "blau", &before)
        .await
        .unwrap();
    assert!(output.diffs.is_empty());
    assert!(
        output
            .content
            .starts_with("Edited latin (line 2): +1 -1 lines.")
    );
}

#[tokio::test]
async fn remote_files_are_edited_by_emacs() {
    let mut project = Project::new();
    project.scope = magent_types::Scope::Project("/ssh:host:/srv".to_owned());
    let (before, after) = ("12".repeat(32), "34".repeat(32));
    project.host.answer(
        "file-read",
        json!({ "text": "a\n", "revision": before, "coding": "utf-8" }),
    );
    project
        .host
        .answer("file-edit", json!({ "revision": after, "line": 1 }));
    let output = edit(&project, "x", "a", "b", &before).await.unwrap();
    assert_eq!(output.diffs[0].path, "/ssh:host:/srv/x");
    assert_eq!(project.host.ops(), ["file-read", "file-edit"]);
}

async fn preview_of(project: &Project, call: &Call) -> Vec<FileDiff> {
    EditFile::new().preview(call, &project.context()).await
}

#[tokio::test]
async fn a_preview_shows_the_change_and_makes_none() {
    let project = Project::new();
    project.write("a", "one\ntwo\n");
    let arguments = json!({
        "path": "a", "old_text": "two", "new_text": "2",
        "expected_revision": project.revision("a"),
    });
    let call = project.call(&EditFile::new(), &arguments).unwrap();
    let diffs = preview_of(&project, &call).await;
    assert_eq!(diffs[0].new_text, "one\n2\n");
    assert_eq!(diffs[0].line, Some(2));
    assert_eq!(project.bytes("a"), b"one\ntwo\n");
}

/// E25: a preview of nonsense is empty and never in the way.
#[tokio::test]
async fn a_preview_of_nonsense_is_empty() {
    let project = Project::new();
    let path = project.write("a", "one\n");
    let arguments = json!({
        "path": "a", "old_text": "one", "new_text": "2",
        "expected_revision": project.revision("a"),
    });
    let good = project.call(&EditFile::new(), &arguments).unwrap();
    for (name, value) in [
        ("old_text", json!(null)),
        ("old_text", json!("")),
        ("old_text", json!("\u{0}\u{fffd}")),
        ("old_text", json!(["one"])),
        ("new_text", json!("one")),
        ("expected_revision", json!("absent")),
        ("expected_revision", json!(7)),
    ] {
        let mut call = good.clone();
        call.arguments.insert(name.to_owned(), value);
        assert!(preview_of(&project, &call).await.is_empty(), "{name}");
    }
    let nowhere = Call {
        resource: None,
        ..good.clone()
    };
    assert!(preview_of(&project, &nowhere).await.is_empty());
    std::fs::write(&path, b"\0").unwrap();
    assert!(preview_of(&project, &good).await.is_empty());
}

#[tokio::test]
async fn a_dropped_call_leaves_no_temporary_file() {
    let project = Project::new();
    project.write("a", "one\n");
    let arguments = json!({
        "path": "a", "old_text": "one", "new_text": "2",
        "expected_revision": project.revision("a"),
    });
    let call = project.call(&EditFile::new(), &arguments).unwrap();
    let context = project.context();
    for _ in 0..20 {
        let tool = EditFile::new();
        let run = tool.run(&call, &context);
        let _ = tokio::time::timeout(std::time::Duration::from_micros(50), run).await;
    }
    crate::test_support::eventually("only the file is left", || project.names(".") == ["a"]).await;
}
