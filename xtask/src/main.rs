//! Chores of the repository.
//!
//! `cargo xtask tidy` checks what compilers and linters do not: which crate may need
//! which, which Lisp file may require which, how large things may grow, and what no file
//! may say.  It reads the files that git tracks, changes nothing, and needs no network.

#![forbid(unsafe_code)]

mod tidy;

use std::io::{self, Write as _};
use std::path::Path;
use std::process::ExitCode;

use crate::tidy::Tree;

const USAGE: &str = "Usage: cargo xtask tidy

Checks the rules of the tree that no compiler or linter knows.
Exit status: 0 clean, 1 complaints, 2 wrong use, or the tree cannot be read.";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["tidy"] => tidy(),
        ["help" | "--help" | "-h"] => finish(say(USAGE), ExitCode::SUCCESS),
        _ => finish(complain(USAGE), ExitCode::from(2)),
    }
}

fn tidy() -> ExitCode {
    let tree = match Tree::load(Path::new(".")) {
        Ok(tree) => tree,
        Err(problem) => return finish(complain(&format!("tidy: {problem}")), ExitCode::from(2)),
    };
    let complaints = tidy::check(&tree);
    let status = if complaints.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    };
    finish(say(&tidy::report(&tree, &complaints)), status)
}

/// The exit status, which is a failure also where the output could not be written.
fn finish(written: io::Result<()>, status: ExitCode) -> ExitCode {
    match written {
        Ok(()) => status,
        Err(_) => ExitCode::FAILURE,
    }
}

/// Writes to stdout.  `println!` would panic if nobody reads it.
fn say(text: &str) -> io::Result<()> {
    writeln!(io::stdout().lock(), "{text}")
}

fn complain(text: &str) -> io::Result<()> {
    writeln!(io::stderr().lock(), "{text}")
}
