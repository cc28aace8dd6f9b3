//! Figures of the core against its budgets, and what the figures of Emacs need.
//!
//! `make bench` runs this program and the measurements in `tests/bench`.  A figure that is
//! over its budget is told and is no failure, since clocks differ from machine to machine;
//! one that could not be taken is.

#![forbid(unsafe_code)]
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "its output is what this program is for"
)]

mod calls;
mod cancelling;
mod codecs;
mod copies;
mod files;
mod first_token;
mod listing;
mod report;
mod saving;
mod search;
mod search_tree;
mod serve;
mod serve_reply;
mod sessions;
mod world;

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;

use crate::report::Figure;

/// A failure to measure, with its reason.
type Failure = Box<dyn Error + Send + Sync>;

const USAGE: &str = "\
usage: magent-bench core [NAME...]   take the figures of the core, or those named
       magent-bench sessions FOLDER  write the sessions that figures of Emacs load
       magent-bench serve FILE       serve a model until the end of input; FILE gets its URL";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match arguments.as_slice() {
        ["core", names @ ..] => Ok(core(names)),
        ["sessions", folder] => sessions::write_for_emacs(Path::new(folder)).map(|()| true),
        ["serve", file] => serve::serve(Path::new(file)).map(|()| true),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("magent-bench: {error}");
            ExitCode::FAILURE
        }
    }
}

type Measure = fn() -> Result<Vec<Figure>, Failure>;

const MEASURES: [(&str, Measure); 14] = [
    ("save", saving::one_more_turn),
    ("checkpoints", saving::with_checkpoints),
    ("load", saving::load),
    ("fork", copies::fork),
    ("view", copies::view),
    ("list", listing::list),
    ("calls", calls::read_files),
    ("prefix", calls::prompt_prefix),
    ("search", search::against_ripgrep),
    ("cancel", cancelling::cancel),
    ("redaction", calls::redaction),
    ("decode", codecs::decode),
    ("encode", codecs::encode),
    ("first-token", first_token::first_token),
];

/// Takes the named figures, or all; returns whether each could be taken.
fn core(names: &[&str]) -> bool {
    let mut whole = true;
    for (name, measure) in MEASURES {
        if !names.is_empty() && !names.contains(&name) {
            continue;
        }
        match measure() {
            Ok(figures) => figures.iter().for_each(Figure::print),
            Err(error) => {
                whole = false;
                Figure::failed(name, &error.to_string()).print();
            }
        }
    }
    whole
}
