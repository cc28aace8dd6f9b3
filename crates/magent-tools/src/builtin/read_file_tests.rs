use super::*;
use crate::test_support::{Project, failure, visiting};
use crate::{HostError, revision_of};

async fn read(project: &Project, path: &str) -> ToolOutput {
    let arguments = json!({ "path": path, "source": "disk" });
    project.run(&ReadFile::new(), arguments).await.unwrap()
}

async fn code_of(project: &Project, arguments: Value) -> String {
    failure(project.run(&ReadFile::new(), arguments).await).0
}

fn parts(output: &ToolOutput) -> (&str, &str) {
    output.content.split_once('\n').unwrap()
}

/// Case 2: the whole header.
#[tokio::test]
async fn a_page_has_a_header_and_the_text_as_it_is() {
    let project = Project::new();
    let text: String = (1..=500).map(|n| format!("\tline {n}\n")).collect();
    project.write("src/a.rs", &text);
    let output = read(&project, "src/a.rs").await;
    let (header, page) = parts(&output);
    assert_eq!(
        header,
        format!(
            "[read_file source=disk modified=false revision={} lines=1-200 total_lines=500 \
             has_more=true next_start_line=201]",
            revision_of(text.as_bytes())
        )
    );
    assert!(text.starts_with(page));
    assert_eq!(page.lines().count(), 200);
    assert_eq!(output.value["next_start_line"], 201);
}

/// Case 1: without a source nothing is read.
#[tokio::test]
async fn the_source_is_required() {
    let project = Project::new();
    project.write("a", "x");
    assert_eq!(code_of(&project, json!({ "path": "a" })).await, "arguments");
    let wrong = json!({ "path": "a", "source": "memory" });
    assert_eq!(code_of(&project, wrong).await, "arguments");
    assert!(project.host.ops().is_empty());
}

/// Case 5: positions are positive integers; `2.0` is one.
#[tokio::test]
async fn positions_are_positive_integers() {
    let project = Project::new();
    project.write("a", "1\n2\n3\n");
    for wrong in [json!(0), json!(-1), json!(1.5), json!("2")] {
        for name in ["start_line", "line_count"] {
            let mut arguments = json!({ "path": "a", "source": "disk" });
            arguments[name] = wrong.clone();
            assert_eq!(code_of(&project, arguments).await, "arguments", "{wrong}");
        }
    }
    let arguments = json!({
        "path": "a", "source": "disk", "start_line": 2.0, "line_count": 1, "reason": "why",
    });
    let output = project.run(&ReadFile::new(), arguments).await.unwrap();
    assert_eq!(parts(&output).1, "2\n");
    let huge = json!({ "path": "a", "source": "disk", "start_line": u64::MAX });
    let output = project.run(&ReadFile::new(), huge).await.unwrap();
    assert!(parts(&output).0.contains("lines=none"));
}

/// Case 4: a start beyond the end, and optional arguments that are null.
#[tokio::test]
async fn a_start_beyond_the_end_is_no_error() {
    let project = Project::new();
    project.write("a", "1\n");
    let arguments = json!({
        "path": "a", "source": "disk", "start_line": 9, "line_count": null,
    });
    let output = project.run(&ReadFile::new(), arguments).await.unwrap();
    let (header, page) = parts(&output);
    assert!(header.contains("lines=none total_lines=1 has_more=false next_start_line=none"));
    assert_eq!(page, "");
    project.write("empty", "");
    assert!(
        parts(&read(&project, "empty").await)
            .0
            .contains("lines=none total_lines=0")
    );
}

/// Case 3, E5 and E6: one long line, and one of 2 MB.
#[tokio::test]
async fn long_lines_are_whole_up_to_a_bound() {
    let project = Project::new();
    project.write("long", "x".repeat(20_000));
    let output = read(&project, "long").await;
    assert_eq!(parts(&output).1.len(), 20_000);
    assert!(parts(&output).0.contains("has_more=false"));
    project.write("huge.json", "x".repeat(2_000_000));
    let output = read(&project, "huge.json").await;
    assert!(parts(&output).1.ends_with("x [... 1800000 characters cut]"));
    assert_eq!(output.content.matches('\n').count(), 1);
}

#[tokio::test]
async fn line_ends_and_marks_are_named_and_shown_as_line_feeds() {
    let project = Project::new();
    for (bytes, form, text) in [
        ("\u{feff}a\r\nb\r\n", " eol=crlf bom=true]", "a\nb\n"),
        ("a\rb", " eol=cr]", "a\nb"),
        ("a\r\nb\n", " eol=mixed]", "a\nb\n"),
        ("10%\r20%\n", "none]", "10%\r20%\n"),
    ] {
        project.write("a", bytes);
        let output = read(&project, "a").await;
        assert!(parts(&output).0.ends_with(form), "{}", output.content);
        assert_eq!(parts(&output).1, text);
        assert_eq!(output.value["revision"], revision_of(bytes.as_bytes()));
    }
}

#[tokio::test]
async fn what_is_no_text_file_is_refused() {
    let project = Project::new();
    project.write("binary", b"a\0b");
    project.write("dir/x", "");
    project.fifo("fifo");
    for (path, expected) in [
        ("binary", "binary"),
        ("dir", "is_directory"),
        ("missing", "not_found"),
        ("fifo", "not_a_regular_file"),
        ("/dev/zero", "not_a_regular_file"),
    ] {
        let (code, message) = failure(
            project
                .run(&ReadFile::new(), json!({ "path": path, "source": "disk" }))
                .await,
        );
        assert_eq!(code, expected, "{path}");
        assert!(
            message.starts_with(&format!("cannot read {path}: ")),
            "{message}"
        );
    }
    // None of this is a case for Emacs.
    assert!(project.host.ops().is_empty());
}

/// E35: a file in another coding is read by Emacs; without one the failure says so.
#[tokio::test]
async fn other_codings_are_read_by_emacs() {
    let project = Project::new();
    let path = project.write("latin", b"gr\xfcn\n");
    let arguments = json!({ "path": "latin", "source": "disk" });
    assert_eq!(code_of(&project, arguments.clone()).await, "host_absent");
    let revision = "ab".repeat(32);
    project.host.answer(
        "file-read",
        json!({ "text": "grün\n", "revision": revision, "coding": "iso-latin-1-unix" }),
    );
    let output = project
        .run(&ReadFile::new(), arguments.clone())
        .await
        .unwrap();
    let (header, page) = parts(&output);
    assert!(header.ends_with(" coding=iso-latin-1-unix]"), "{header}");
    assert!(header.contains(&format!("source=disk modified=false revision={revision}")));
    assert_eq!(page, "grün\n");
    assert_eq!(
        project.host.last_args("file-read"),
        json!({ "path": path.to_str().unwrap() })
    );
    project.host.answer("file-read", json!({ "text": 1 }));
    assert_eq!(code_of(&project, arguments).await, "host_protocol");
}

/// Cases 7 and 8: the live text, whatever the disk has and the user looks at.
#[tokio::test]
async fn a_live_buffer_is_read_with_what_is_not_saved() {
    let project = Project::new();
    project.write("a.rs", "saved\n");
    let revision = "cd".repeat(32);
    project.host.answer(
        "buffer-read",
        json!({
            "text": "unsaved\n", "revision": revision, "modified": true, "narrowed": true,
            "buffer": "a.rs<\"2\">\n",
        }),
    );
    let arguments = json!({ "path": "a.rs", "source": "live-buffer" });
    let output = project.run(&ReadFile::new(), arguments).await.unwrap();
    assert_eq!(
        output.content,
        format!(
            "[read_file source=live-buffer modified=true buffer=\"a.rs<\\\"2\\\">\" \
             narrowed=true revision={revision} lines=1-1 total_lines=1 has_more=false \
             next_start_line=none]\nunsaved\n"
        )
    );
    assert_eq!(parts(&read(&project, "a.rs").await).1, "saved\n");
}

/// Case 6: no buffer, no fallback.
#[tokio::test]
async fn a_live_buffer_that_is_not_there_is_no_file() {
    let project = Project::new();
    project.write("a.rs", "saved\n");
    project.host.fail("buffer-read", "buffer_not_found");
    project.host.answer("buffer-state", visiting(false));
    let arguments = json!({ "path": "a.rs", "source": "live-buffer" });
    assert_eq!(code_of(&project, arguments).await, "buffer_not_found");
    assert_eq!(project.host.ops(), ["buffer-read"]);
}

#[tokio::test]
async fn a_busy_emacs_is_a_clear_failure() {
    let project = Project::new();
    let deadline = std::time::Duration::from_secs(10);
    project
        .host
        .on("buffer-read", move |_| Err(HostError::Deadline(deadline)));
    let arguments = json!({ "path": "a.rs", "source": "live-buffer" });
    let (code, message) = failure(project.run(&ReadFile::new(), arguments).await);
    assert_eq!(code, "host_deadline");
    assert!(message.contains("did not answer within 10 s"), "{message}");
}

#[tokio::test]
async fn remote_files_are_read_by_emacs() {
    let mut project = Project::new();
    project.scope = magent_types::Scope::Project("/ssh:host:/srv".to_owned());
    project.host.answer(
        "file-read",
        json!({ "text": "x", "revision": "ef".repeat(32), "coding": "utf-8-unix" }),
    );
    let output = read(&project, "a").await;
    assert!(output.content.ends_with("\nx"));
    assert_eq!(
        project.host.last_args("file-read"),
        json!({ "path": "/ssh:host:/srv/a" })
    );
}

/// C57: a link is read as the file it leads to.
#[tokio::test]
async fn links_are_read_through() {
    let project = Project::new();
    project.write("real/a.txt", "text");
    std::os::unix::fs::symlink("real", project.path("link")).unwrap();
    assert!(
        read(&project, "link/a.txt")
            .await
            .content
            .ends_with("\ntext")
    );
}

#[tokio::test]
async fn a_cancelled_call_answers_at_once() {
    let project = Project::new();
    project.write("a", "x");
    project.cancel.cancel();
    let arguments = json!({ "path": "a", "source": "disk" });
    let end = project.run(&ReadFile::new(), arguments).await;
    assert_eq!(end, Err(ToolError::Cancelled));
    let arguments = json!({ "path": "a", "source": "live-buffer" });
    let end = project.run(&ReadFile::new(), arguments).await;
    assert_eq!(end, Err(ToolError::Cancelled));
}

#[test]
fn titles_name_the_range() {
    let project = Project::new();
    let title = |arguments: Value| {
        let tool = ReadFile::new();
        let call = project.call(&tool, &arguments).unwrap();
        tool.title(&call, &project.context())
    };
    let base = json!({ "path": "src/a.rs", "source": "disk" });
    assert_eq!(title(base), "Read src/a.rs");
    assert_eq!(
        title(json!({ "path": "src/a.rs", "source": "live-buffer" })),
        "Read src/a.rs (live buffer)"
    );
    assert_eq!(
        title(json!({ "path": "a", "source": "disk", "start_line": 10, "line_count": 41 })),
        "Read a:10-50"
    );
    assert_eq!(
        title(json!({ "path": "a", "source": "disk", "start_line": 10 })),
        "Read a:10-"
    );
    assert_eq!(title(json!({ "path": ".", "source": "disk" })), "Read .");
}

#[test]
fn locations_have_the_line_and_the_audit_no_text() {
    let project = Project::new();
    let tool = ReadFile::new();
    let arguments = json!({ "path": "a", "source": "disk", "start_line": 7 });
    let call = project.call(&tool, &arguments).unwrap();
    assert_eq!(tool.locations(&call)[0].line, Some(7));
    assert_eq!(
        Value::Object(tool.audit_preview(&call.arguments)),
        json!({ "path": "a", "source": "disk" })
    );
}
