use std::os::unix::fs::{PermissionsExt, symlink};

use super::*;
use crate::revision_of;
use crate::test_support::{Project, exists, failure, visiting};

fn arguments(path: &str, content: &str, expected: &str) -> Value {
    json!({ "path": path, "content": content, "expected_revision": expected })
}

async fn write(
    project: &Project,
    path: &str,
    content: &str,
    expected: &str,
) -> Result<ToolOutput, ToolError> {
    let arguments = arguments(path, content, expected);
    project.run(&WriteFile::new(), arguments).await
}

/// Case 10: a new file in new folders; the answer has its revision.
#[tokio::test]
async fn a_new_file_is_made_with_its_folders() {
    let project = Project::new();
    let output = write(&project, "a/b/c.txt", "one\ntwo", "absent")
        .await
        .unwrap();
    let revision = revision_of(b"one\ntwo");
    assert_eq!(
        output.content,
        format!("Created a/b/c.txt: +2 -0 lines. New revision: {revision}")
    );
    // No final newline is added.
    assert_eq!(project.bytes("a/b/c.txt"), b"one\ntwo");
    let path = project.path("a/b/c.txt").to_str().unwrap().to_owned();
    assert_eq!(
        output.value,
        json!({ "path": path, "revision": revision, "line": 1, "added": 2, "removed": 0 })
    );
    assert_eq!(
        output.diffs,
        [FileDiff {
            path,
            old_text: None,
            new_text: "one\ntwo".to_owned(),
            line: Some(1),
        }]
    );
    assert_eq!(project.names("a/b"), ["c.txt"]);
}

/// The revision in the answer is good for the next change, without reading again.
#[tokio::test]
async fn changes_follow_each_other_without_reading() {
    let project = Project::new();
    let output = write(&project, "a", "1\n", "absent").await.unwrap();
    let revision = output.value["revision"].as_str().unwrap().to_owned();
    let output = write(&project, "a", "1\n2\n", &revision).await.unwrap();
    assert!(
        output
            .content
            .starts_with("Wrote a: +1 -0 lines. New revision: ")
    );
    assert_eq!(output.diffs[0].old_text.as_deref(), Some("1\n"));
    assert_eq!(output.value["revision"], project.revision("a"));
}

/// Case 9.
#[tokio::test]
async fn absent_refuses_an_existing_file() {
    let project = Project::new();
    project.write("a", "old");
    let (code, message) = failure(write(&project, "a", "new", "absent").await);
    assert_eq!(code, "stale_revision");
    assert!(message.contains(&revision_of(b"old")), "{message}");
    assert_eq!(project.bytes("a"), b"old");
}

/// Case 11.
#[tokio::test]
async fn a_file_that_changed_meanwhile_is_refused() {
    let project = Project::new();
    project.write("a", "old");
    let seen = project.revision("a");
    project.write("a", "newer");
    let (code, message) = failure(write(&project, "a", "new", &seen).await);
    assert_eq!(code, "stale_revision");
    assert!(message.contains(&seen) && message.contains(&revision_of(b"newer")));
    assert_eq!(project.bytes("a"), b"newer");
    std::fs::remove_file(project.path("a")).unwrap();
    let (code, message) = failure(write(&project, "a", "new", &seen).await);
    assert_eq!(code, "stale_revision");
    assert!(message.contains("does not exist"));
    assert!(!exists(&project.path("a")));
}

/// Case 16 and the form of the old file.
#[tokio::test]
async fn mode_mark_and_line_ends_stay() {
    let project = Project::new();
    let path = project.write("a.sh", "\u{feff}one\r\ntwo\r\n");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    let revision = project.revision("a.sh");
    let output = write(&project, "a.sh", "one\n2\n", &revision)
        .await
        .unwrap();
    assert_eq!(project.bytes("a.sh"), "\u{feff}one\r\n2\r\n".as_bytes());
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o755);
    // People compare the texts with line feeds.
    assert_eq!(output.diffs[0].old_text.as_deref(), Some("one\ntwo\n"));
    assert_eq!(output.diffs[0].new_text, "one\n2\n");
    assert!(output.content.contains("+1 -1"));
    // Line ends that are spelled out are meant.
    let revision = project.revision("a.sh");
    write(&project, "a.sh", "x\r\ny\n", &revision)
        .await
        .unwrap();
    assert_eq!(project.bytes("a.sh"), "\u{feff}x\r\ny\n".as_bytes());
}

/// Case 19 and C57: the file behind a link is written and the link stays.
#[tokio::test]
async fn links_stay_links() {
    let project = Project::new();
    project.write("real.txt", "old");
    symlink("real.txt", project.path("link.txt")).unwrap();
    symlink("nowhere.txt", project.path("dangling")).unwrap();
    let revision = project.revision("real.txt");
    write(&project, "link.txt", "new", &revision).await.unwrap();
    assert_eq!(project.bytes("real.txt"), b"new");
    assert!(project.path("link.txt").is_symlink());
    write(&project, "dangling", "made", "absent").await.unwrap();
    assert_eq!(project.bytes("nowhere.txt"), b"made");
    assert!(project.path("dangling").is_symlink());
}

#[tokio::test]
async fn what_cannot_be_replaced_is_refused() {
    let project = Project::new();
    project.write("binary", b"\0");
    project.write("dir/x", "");
    project.fifo("fifo");
    for (path, expected) in [
        ("binary", "binary"),
        ("dir", "is_directory"),
        ("new/", "is_directory"),
        ("new/.", "is_directory"),
        ("fifo", "not_a_regular_file"),
        ("dir/x/below", "io"),
    ] {
        let revision = if path == "binary" {
            project.revision(path)
        } else {
            "absent".to_owned()
        };
        let (code, _) = failure(write(&project, path, "new", &revision).await);
        assert_eq!(code, expected, "{path}");
    }
    let (code, _) = failure(write(&project, "new", "x", "latest").await);
    assert_eq!(code, "bad_revision");
}

/// Case 12: Emacs decides about files it visits; nothing is written here.
#[tokio::test]
async fn a_visited_file_is_written_by_emacs() {
    let project = Project::new();
    project.write("a.rs", "old\n");
    let revision = project.revision("a.rs");
    project.host.answer("buffer-state", visiting(true));
    project.host.fail("buffer-write", "buffer_conflict");
    let (code, message) = failure(write(&project, "a.rs", "new\n", &revision).await);
    assert_eq!(code, "buffer_conflict");
    assert_eq!(message, "Emacs says buffer_conflict");
    assert_eq!(project.bytes("a.rs"), b"old\n");

    let after = "12".repeat(32);
    project.host.answer(
        "buffer-write",
        json!({ "revision": after, "old_text": "old\n" }),
    );
    let output = write(&project, "a.rs", "new\n", &revision).await.unwrap();
    assert_eq!(
        output.content,
        format!("Wrote a.rs: +1 -1 lines. New revision: {after}")
    );
    assert_eq!(output.diffs[0].old_text.as_deref(), Some("old\n"));
    assert_eq!(
        project.host.last_args("buffer-write"),
        json!({
            "path": project.path("a.rs"), "expected_revision": revision, "text": "new\n",
        })
    );
}

/// Without an Emacs nothing is visited; an Emacs that does not answer might have
/// the file open with changes.
#[tokio::test]
async fn an_emacs_that_does_not_answer_stops_the_write() {
    let project = Project::new();
    project.host.on("buffer-state", |_| {
        Err(crate::HostError::Deadline(std::time::Duration::from_secs(
            10,
        )))
    });
    let (code, _) = failure(write(&project, "a", "x", "absent").await);
    assert_eq!(code, "host_deadline");
    assert!(!exists(&project.path("a")));
}

/// Case 18: another coding is kept by letting Emacs write.
#[tokio::test]
async fn other_codings_and_other_hosts_are_written_by_emacs() {
    let mut project = Project::new();
    project.write("latin", b"gr\xfcn");
    project.host.answer("buffer-state", visiting(false));
    let after = "34".repeat(32);
    project.host.answer(
        "file-write",
        json!({ "revision": after, "old_text": "grün" }),
    );
    let revision = project.revision("latin");
    let output = write(&project, "latin", "blau", &revision).await.unwrap();
    assert_eq!(output.value["revision"], after);
    assert_eq!(project.bytes("latin"), b"gr\xfcn");

    project.scope = magent_types::Scope::Project("/ssh:host:/srv".to_owned());
    project
        .host
        .answer("file-write", json!({ "revision": after, "old_text": null }));
    let output = write(&project, "new", "x", "absent").await.unwrap();
    assert!(
        output.content.starts_with("Created new: "),
        "{}",
        output.content
    );
    assert_eq!(output.diffs[0].old_text, None);
    assert_eq!(
        project.host.last_args("file-write"),
        json!({ "path": "/ssh:host:/srv/new", "expected_revision": "absent", "text": "x" })
    );
}

#[tokio::test]
async fn a_cancelled_write_changes_nothing() {
    let project = Project::new();
    project.write("a", "old");
    let revision = project.revision("a");
    project.cancel.cancel();
    let end = write(&project, "a", "new", &revision).await;
    assert_eq!(end, Err(ToolError::Cancelled));
    assert_eq!(project.bytes("a"), b"old");
    assert_eq!(project.names("."), ["a"]);
}

async fn preview_of(project: &Project, arguments: Value) -> Vec<FileDiff> {
    let tool = WriteFile::new();
    let call = project.call(&tool, &arguments).unwrap();
    tool.preview(&call, &project.context()).await
}

#[tokio::test]
async fn a_preview_shows_the_change_and_makes_none() {
    let project = Project::new();
    project.write("a", "old\r\n");
    let revision = project.revision("a");
    let diffs = preview_of(&project, arguments("a", "new\n", &revision)).await;
    assert_eq!(diffs[0].old_text.as_deref(), Some("old\n"));
    assert_eq!(diffs[0].new_text, "new\n");
    assert_eq!(project.bytes("a"), b"old\r\n");
    let diffs = preview_of(&project, arguments("x/new", "text", "absent")).await;
    assert_eq!(diffs[0].old_text, None);
    assert_eq!(project.names("."), ["a"]);
    // What the call is going to refuse has no preview.
    assert!(
        preview_of(&project, arguments("a", "new", "absent"))
            .await
            .is_empty()
    );
    assert!(
        preview_of(&project, arguments("a", "new", "x"))
            .await
            .is_empty()
    );
}

#[tokio::test]
async fn the_preview_of_another_coding_asks_emacs() {
    let project = Project::new();
    project.write("latin", b"gr\xfcn");
    let revision = project.revision("latin");
    let arguments = arguments("latin", "blau", &revision);
    assert!(preview_of(&project, arguments.clone()).await.is_empty());
    project.host.answer(
        "file-read",
        json!({ "text": "grün", "revision": revision, "coding": "latin-1" }),
    );
    let diffs = preview_of(&project, arguments).await;
    assert_eq!(diffs[0].old_text.as_deref(), Some("grün"));
}

#[test]
fn the_audit_keeps_lengths() {
    let Value::Object(arguments) = arguments("a", "secret", "absent") else {
        panic!("not an object")
    };
    assert_eq!(
        Value::Object(WriteFile::new().audit_preview(&arguments)),
        json!({ "path": "a", "content_length": 6 })
    );
}
