//! Every Rust file says what it is for, and the root of a library only names its parts.

use super::rust_text::{item_end, line_of, mask};
use super::{Complaint, Tree};

/// Library roots that do more, and why.
const EXCEPTIONS: &[(&str, &str)] = &[(
    "crates/magent-module/src/lib.rs",
    "the module's licence and its init function are what a reader of the crate looks for",
)];

pub(crate) fn check(tree: &Tree) -> Vec<Complaint> {
    check_with(tree, EXCEPTIONS)
}

fn check_with(tree: &Tree, exceptions: &[(&str, &str)]) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for file in tree.files_in("", ".rs").filter(|file| !file.is_test()) {
        if !file.text.starts_with("//!") {
            let message = "the file does not begin with its documentation (//!)";
            complaints.push(Complaint::new(&file.path, 1, message));
        }
        if !file.path.ends_with("/lib.rs") {
            continue;
        }
        let excepted = exceptions.iter().any(|(path, _)| *path == file.path);
        let lines = other_items(&file.text);
        if excepted && lines.is_empty() {
            let message =
                "the file needs no exception any more: take it out of xtask/src/tidy/docs.rs";
            complaints.push(Complaint::new(&file.path, 1, message));
        }
        for line in lines.into_iter().filter(|_| !excepted) {
            let message = "lib.rs is for documentation, attributes, mod and use only";
            complaints.push(Complaint::new(&file.path, line, message));
        }
    }
    complaints
}

/// The lines of items other than `mod name;` and `use`.
fn other_items(text: &str) -> Vec<usize> {
    let code = mask(text);
    let mut lines = Vec::new();
    let mut at = 0;
    loop {
        at += code[at..].len() - code[at..].trim_start().len();
        let rest = &code[at..];
        if rest.is_empty() {
            return lines;
        }
        if rest.starts_with('#') {
            at += attribute_length(rest);
            continue;
        }
        let end = item_end(&code, at);
        if !names_a_part(&code[at..end]) {
            lines.push(line_of(&code, at));
        }
        at = end;
    }
}

fn attribute_length(rest: &str) -> usize {
    let mut depth = 0usize;
    for (offset, byte) in rest.bytes().enumerate() {
        match byte {
            b'[' => depth += 1,
            b']' => depth = depth.saturating_sub(1),
            _ => continue,
        }
        if depth == 0 {
            return offset + 1;
        }
    }
    rest.len()
}

fn names_a_part(item: &str) -> bool {
    let mut words = item.split_whitespace();
    let mut word = words.next();
    if word.is_some_and(|word| word == "pub" || word.starts_with("pub(")) {
        word = words.next();
    }
    match word {
        Some("use") => true,
        Some("mod") => !item.contains('{'),
        _ => false,
    }
}

#[cfg(test)]
#[path = "docs_tests.rs"]
mod tests;
