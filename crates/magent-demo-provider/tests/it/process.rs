//! The program as its parent sees it.

use std::io::Read as _;
use std::net::TcpListener;
use std::thread;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::provider::{Provider, command};

#[test]
fn the_url_is_told_on_stdout_and_in_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("url");
    let mut provider = Provider::start_with(&["--url-file", file.to_str().unwrap()]);
    assert_eq!(
        std::fs::read_to_string(&file).unwrap(),
        format!("{}\n", provider.url)
    );
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    provider.child.kill().unwrap();
    let mut rest = String::new();
    let mut stdout = provider.child.stdout.take().unwrap();
    stdout.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "");
}

#[test]
fn the_end_of_stdin_ends_it_only_on_demand() {
    let mut provider = Provider::start_with(&["--until-eof"]);
    thread::sleep(Duration::from_millis(50));
    assert!(provider.child.try_wait().unwrap().is_none());
    provider.close_stdin();
    assert_eq!(provider.exit_code(), Some(0));

    let mut provider = Provider::start();
    provider.close_stdin();
    thread::sleep(Duration::from_millis(50));
    assert!(provider.child.try_wait().unwrap().is_none());
}

#[test]
fn sigterm_ends_it_even_while_it_answers() {
    let mut provider = Provider::start();
    let body = serde_json::json!([{"role": "user", "content": "[[say a]] [[hang]]"}]);
    let mut connection = provider.open(&crate::provider::streaming(body));
    connection.wait_for("\"a\"");
    let id = i32::try_from(provider.child.id()).unwrap();
    kill(Pid::from_raw(id), Signal::SIGTERM).unwrap();
    assert_eq!(provider.exit_code(), Some(0));
    assert!(!connection.answer().whole);
}

/// The exit status and the one line on stderr of a program that cannot start.
fn complaint(arguments: &[&str]) -> (Option<i32>, String) {
    let output = command(arguments).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    assert!(output.stdout.is_empty());
    (output.status.code(), stderr)
}

#[test]
fn bad_usage_is_told() {
    for arguments in [
        &["--port", "x"][..],
        &["--port"],
        &["--nonsense"],
        &["--delay-ms", "-1"],
    ] {
        let (code, stderr) = complaint(arguments);
        assert_eq!(code, Some(2), "{stderr}");
        assert!(stderr.contains(arguments[0]), "{stderr}");
    }
}

#[test]
fn a_port_in_use_and_a_file_that_cannot_be_written_are_told() {
    let taken = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let (code, stderr) = complaint(&["--port", &port]);
    assert_eq!(code, Some(1));
    assert!(
        stderr.contains(&format!("cannot listen on 127.0.0.1:{port}")),
        "{stderr}"
    );

    let (code, stderr) = complaint(&["--url-file", "/nonexistent/url"]);
    assert_eq!(code, Some(1));
    assert!(stderr.contains("cannot write /nonexistent/url"), "{stderr}");
}

#[test]
fn help_is_no_mistake() {
    let output = command(&["--help"]).output().unwrap();
    assert!(output.status.success());
    assert!(
        String::from_utf8(output.stdout)
            .unwrap()
            .starts_with("usage:")
    );
}
