//! A scripted model server on loopback that speaks the OpenAI chat dialect.
//!
//! It shows Magent to people who have no key yet, and it drives tests: a prompt either
//! says itself what the model is to do (see [`directive`]), or gets a short guided tour
//! (see [`tour`]).  The server keeps no state between requests: whatever it does next
//! follows from the conversation that the client sends, so retries, several sessions and
//! a restart need no care.

#![forbid(unsafe_code)]

mod answer;
mod cli;
mod directive;
mod report;
mod request;
mod script;
mod server;
mod stream;
mod tour;
mod tour_text;
mod usage;
mod words;

use std::io::{self, Read as _, Write as _};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

use crate::cli::{Command, Options};

fn main() -> ExitCode {
    match cli::parse(std::env::args_os().skip(1)) {
        Ok(Command::Help) => match say(cli::USAGE) {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        },
        Ok(Command::Serve(options)) => match serve(&options) {
            Ok(()) => ExitCode::SUCCESS,
            Err(problem) => {
                complain(&problem);
                ExitCode::FAILURE
            }
        },
        Err(error) => {
            complain(&error.to_string());
            ExitCode::from(2)
        }
    }
}

/// Serves until it is told to stop.
fn serve(options: &Options) -> Result<(), String> {
    // One thread is plenty for a script, and leaves the machine to whoever is tested.
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("cannot start: {error}"))?
        .block_on(serve_until_told(options))
}

async fn serve_until_told(options: &Options) -> Result<(), String> {
    let trap = |kind| signal(kind).map_err(|error| format!("cannot catch signals: {error}"));
    // Caught before the address is told: who knows the address may stop the server.
    let mut terminate = trap(SignalKind::terminate())?;
    let mut interrupt = trap(SignalKind::interrupt())?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, options.port))
        .await
        .map_err(|error| format!("cannot listen on 127.0.0.1:{}: {error}", options.port))?;
    let address = listener
        .local_addr()
        .map_err(|error| format!("cannot tell the address: {error}"))?;
    let url = format!("http://{address}/v1");
    if let Some(file) = &options.url_file {
        write_url(file, &url)
            .map_err(|error| format!("cannot write {}: {error}", file.display()))?;
    }
    say(&url).map_err(|error| format!("cannot tell the address on stdout: {error}"))?;
    tokio::select! {
        () = server::run(listener, options.delay) => {}
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
        () = end_of_input(options.until_eof) => {}
    }
    Ok(())
}

/// Puts the URL into the file in one go, so that whoever polls it never reads half.
fn write_url(file: &Path, url: &str) -> io::Result<()> {
    let mut name = file.as_os_str().to_owned();
    name.push(format!(".{}", std::process::id()));
    let draft = PathBuf::from(name);
    let written =
        std::fs::write(&draft, format!("{url}\n")).and_then(|()| std::fs::rename(&draft, file));
    if written.is_err() {
        // Nothing more can be done about the draft than to try; the error is told.
        let _ = std::fs::remove_file(&draft);
    }
    written
}

/// Waits for the end of stdin, which comes when the parent closes it or dies.
///
/// A thread of its own reads, because a read that blocks cannot be given up, and the
/// runtime would wait for one of its own threads at the end.
async fn end_of_input(wanted: bool) {
    if !wanted {
        return std::future::pending().await;
    }
    let (ended, end) = oneshot::channel::<()>();
    std::thread::spawn(move || {
        let mut buffer = [0; 4096];
        loop {
            match io::stdin().read(&mut buffer) {
                Ok(1..) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // Another process made the common input not wait.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    std::thread::sleep(Duration::from_millis(100));
                }
                Ok(0) | Err(_) => break,
            }
        }
        drop(ended);
    });
    // The channel carries nothing: it closes when the thread is done.
    let _ = end.await;
}

/// Writes a line to stdout.  `println!` would panic if nobody reads it.
fn say(line: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "{line}")?;
    stdout.flush()
}

/// Writes a line to stderr; if that is closed, the exit status says enough.
fn complain(problem: &str) {
    let _ = writeln!(io::stderr(), "magent-demo-provider: {problem}");
}
