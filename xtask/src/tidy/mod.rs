//! The checks of the tree, one file each.
//!
//! A check is a function from the tree to complaints.  All of them run, and none of them
//! reads a file itself, so that tests can give them trees of a few lines.

mod docs;
mod edges;
mod layers;
mod lisp_text;
mod parity;
mod rust_text;
mod sizes;
mod tree;
mod words;

#[cfg(test)]
mod tree_tests;

use std::fmt;

pub(crate) use tree::Tree;

/// One violation, at a place in a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Complaint {
    path: String,
    line: usize,
    message: String,
}

impl Complaint {
    fn new(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            line,
            message: message.into(),
        }
    }
}

impl fmt::Display for Complaint {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}: {}", self.path, self.line, self.message)
    }
}

type Check = fn(&Tree) -> Vec<Complaint>;

const CHECKS: &[Check] = &[
    edges::check,
    layers::check,
    sizes::check,
    docs::check,
    parity::check,
    words::check,
];

/// What is wrong with the tree, by path and line.
pub(crate) fn check(tree: &Tree) -> Vec<Complaint> {
    let mut complaints: Vec<Complaint> = CHECKS.iter().flat_map(|check| check(tree)).collect();
    complaints.sort();
    complaints
}

/// The lines to print: every complaint, then the sum.
pub(crate) fn report(tree: &Tree, complaints: &[Complaint]) -> String {
    let mut lines: Vec<String> = complaints.iter().map(Complaint::to_string).collect();
    let noun = if complaints.len() == 1 {
        "complaint"
    } else {
        "complaints"
    };
    lines.push(format!(
        "tidy: {} files, {} {noun}",
        tree.files.len(),
        complaints.len()
    ));
    lines.join("\n")
}
