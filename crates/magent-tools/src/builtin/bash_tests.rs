use std::path::PathBuf;
use std::sync::Arc;

use super::*;
use crate::test_support::{Project, failure};

async fn bash(project: &Project, command: &str) -> Result<ToolOutput, ToolError> {
    project
        .run(&Bash::new(), json!({ "command": command }))
        .await
}

/// The exit code, the message and the output of a failed command.
async fn failed(project: &Project, command: &str) -> (Option<i32>, String, String) {
    match bash(project, command).await {
        Err(ToolError::Failed {
            code,
            message,
            content,
            exit_code,
            ..
        }) => {
            assert_eq!(code, "exit");
            (exit_code, message, content)
        }
        other => panic!("no failure: {other:?}"),
    }
}

/// Case 27.
#[tokio::test]
async fn the_exit_status_decides() {
    let project = Project::new();
    let (code, message, content) = failed(&project, "echo out; false | true").await;
    assert_eq!((code, content.as_str()), (Some(1), "out\n"));
    assert_eq!(message, "the command exited with status 1");
    let output = bash(&project, "false; echo x").await.unwrap();
    assert_eq!(output.content, "x\n");
    assert_eq!(output.value, json!({ "exit_code": 0, "output": "x\n" }));
    let (code, message, _) = failed(&project, "kill -9 $$").await;
    assert_eq!(code, None);
    assert_eq!(message, "the command was killed by signal 9 (SIGKILL)");
    assert_eq!(failed(&project, "exit 42").await.0, Some(42));
    assert_eq!(bash(&project, "true").await.unwrap().content, "(no output)");
}

/// Case 28: no start file of the host, no pager, no prompt, no input.
#[tokio::test]
async fn the_environment_is_fixed() {
    let project = Project::new();
    let command = "echo $PWD; echo $PAGER $GIT_PAGER $MANPAGER $SYSTEMD_PAGER \
                   $GIT_TERMINAL_PROMPT $DEBIAN_FRONTEND; echo ${BASH_ENV-unset}; cat";
    let output = bash(&project, command).await.unwrap();
    assert_eq!(
        output.content,
        format!(
            "{}\ncat cat cat cat 0 noninteractive\nunset\n",
            project.root.display()
        )
    );
}

#[tokio::test]
async fn both_streams_come_in_their_order() {
    let project = Project::new();
    let output = bash(&project, "echo a; echo b >&2; echo c").await.unwrap();
    assert_eq!(output.content, "a\nb\nc\n");
}

/// Case 28: partial output and the limit in the metadata.
#[tokio::test]
async fn a_timeout_is_a_failure_with_the_output_so_far() {
    let mut project = Project::new();
    project.limits.bash_timeout = Duration::from_millis(300);
    match bash(&project, "echo part; sleep 60").await {
        Err(ToolError::Failed {
            code,
            message,
            content,
            exit_code,
            metadata,
        }) => {
            assert_eq!((code.as_str(), content.as_str()), ("timeout", "part\n"));
            assert_eq!(exit_code, None);
            assert_eq!(metadata["timeout"], 0.3);
            assert!(message.contains("after 0.3 s"), "{message}");
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_cancelled_command_is_cancelled() {
    let project = Project::new();
    let canceller = async {
        crate::test_support::eventually("the command runs", || {
            project.live.text().contains("started")
        })
        .await;
        project.cancel.cancel();
    };
    let (end, ()) = tokio::join!(bash(&project, "echo started; sleep 60"), canceller);
    assert_eq!(end, Err(ToolError::Cancelled));
}

/// E4 and E34: what is shown is what was put out, whatever the pieces are.
#[tokio::test]
async fn output_is_shown_while_it_comes() {
    let project = Project::new();
    let watcher = async {
        crate::test_support::eventually("the first line is shown", || {
            project.live.text() == "one •\n"
        })
        .await;
        project.write("go", "");
    };
    let command = r"echo 'one •'; until [ -e go ]; do sleep 0.01; done
        printf '\xf0\x9f'; sleep 0.05; printf '\x9a\x80'; printf '\xff'";
    let (output, ()) = tokio::join!(bash(&project, command), watcher);
    assert_eq!(output.unwrap().content, "one •\n🚀\u{fffd}");
    assert_eq!(project.live.text(), "one •\n🚀\u{fffd}");
}

/// E4: 20 MB of output are bounded in memory.
#[tokio::test]
async fn floods_are_bounded() {
    let project = Project::new();
    let command = "yes 0123456789abcdef | head -c 20000000; echo end";
    let output = bash(&project, command).await.unwrap();
    assert!(output.content.len() < 17 * 1024 * 1024);
    assert!(output.content.starts_with("0123456789abcdef\n"));
    assert!(output.content.ends_with("end\n"));
    assert!(output.content.contains(" bytes of output dropped ...]"));
}

#[tokio::test]
async fn calls_that_cannot_run_are_clear_failures() {
    let mut project = Project::new();
    for (command, expected) in [("  \n\t", "blank_command"), ("a\0b", "bad_command")] {
        assert_eq!(failure(bash(&project, command).await).0, expected);
    }
    let long = format!("true {}", "x".repeat(16_000));
    let (code, message) = failure(bash(&project, &long).await);
    assert_eq!(code, "arguments");
    assert!(message.contains("16000"), "{message}");
    project.limits.bash_program = "no-such-shell".to_owned();
    let (code, message) = failure(bash(&project, "true").await);
    assert_eq!(code, "missing_executable");
    assert!(message.contains("no-such-shell"), "{message}");
    project.limits = crate::ToolLimits::default();
    project.limits.bash_timeout = Duration::ZERO;
    assert_eq!(failure(bash(&project, "true").await).0, "bad_timeout");
    project.limits = crate::ToolLimits::default();
    project.scope = magent_types::Scope::Project("/no/such/folder".to_owned());
    assert_eq!(failure(bash(&project, "true").await).0, "missing_directory");
    project.scope = magent_types::Scope::Project("/ssh:host:/srv".to_owned());
    assert_eq!(
        failure(bash(&project, "true").await).0,
        "remote_unsupported"
    );
}

/// C60: there is no argument for the folder, so nothing can point it elsewhere.
#[test]
fn the_folder_is_no_argument() {
    let project = Project::new();
    let arguments = json!({ "command": "true", "cwd": "../.." });
    assert!(project.call(&Bash::new(), &arguments).is_err());
    assert_eq!(
        project.context().base_directory(),
        PathBuf::from(&project.root)
    );
}

#[test]
fn the_title_is_the_first_line_of_the_command_and_tells_of_others() {
    let project = Project::new();
    let tool = Bash::new();
    let title = |command: &str| {
        let call = project.call(&tool, &json!({ "command": command })).unwrap();
        tool.title(&call, &project.context())
    };
    assert_eq!(
        title("\n\n  make test\necho done"),
        "make test (and 1 more line)"
    );
    assert_eq!(title("a\n\nb\nc\n"), "a (and 2 more lines)");
    assert_eq!(title("a\n"), "a");
    assert_eq!(title("echo \u{1b}[31mred"), "echo  [31mred");
    let long = title(&"x".repeat(100));
    assert_eq!(long.chars().count(), 60);
    assert!(long.ends_with('…'));
    assert_eq!(title("   "), "bash");
}

/// The environment is the one that Emacs has, and nothing of this process's own.
#[tokio::test]
async fn the_environment_is_the_one_it_is_given() {
    let project = Project::new();
    let path = std::env::var("PATH").unwrap();
    let mut context = project.context();
    context.environment = Some(Arc::from([
        ("PATH".to_owned(), path),
        ("ONLY".to_owned(), "漢 x".to_owned()),
        ("BASH_ENV".to_owned(), "/nonexistent".to_owned()),
    ]));
    let arguments = json!({ "command": "echo $ONLY $PAGER ${HOME-none} ${BASH_ENV-none}" });
    let call = project.call(&Bash::new(), &arguments).unwrap();
    let output = Bash::new().run(&call, &context).await.unwrap();
    assert_eq!(output.content, "漢 x cat none none\n");
}
