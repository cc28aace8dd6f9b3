//! What no text file may have: folders of one machine, and untidy blanks.

use super::tree::TextFile;
use super::{Complaint, Tree};

/// Absolute folders that mean something on one machine only.  They are put together
/// here, or else this file would have them.
const FOLDERS: &[&str] = &[concat!("/", "work/"), concat!("/", "root/")];

/// Files whose blanks are checked.
const NEAT: &[&str] = &[".rs", ".el", ".org", ".md"];

pub(crate) fn check(tree: &Tree) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for file in &tree.files {
        folders(file, &mut complaints);
        // A fixture is what some program has sent or written, to the byte.
        if !format!("/{}", file.path).contains("/tests/fixtures/") {
            blanks(file, &mut complaints);
            ending(file, &mut complaints);
        }
    }
    complaints
}

fn folders(file: &TextFile, complaints: &mut Vec<Complaint>) {
    for (index, line) in file.text.lines().enumerate() {
        for folder in FOLDERS.iter().filter(|folder| mentions(line, folder)) {
            let message = format!("{folder} is a folder of one machine");
            complaints.push(Complaint::new(&file.path, index + 1, message));
        }
    }
}

/// Whether the folder is named as such, not as the end of a longer path.
fn mentions(line: &str, folder: &str) -> bool {
    line.match_indices(folder).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|char| char.is_alphanumeric() || "_-.~})*".contains(char))
    })
}

fn blanks(file: &TextFile, complaints: &mut Vec<Complaint>) {
    if !NEAT.iter().any(|extension| file.path.ends_with(extension)) {
        return;
    }
    for (index, line) in file.text.split('\n').enumerate() {
        let mut complain = |message: &str| {
            complaints.push(Complaint::new(&file.path, index + 1, message));
        };
        if line.ends_with(char::is_whitespace) {
            complain("the line ends in blanks");
        }
        if line.trim_end().contains('\t') {
            complain("the line has a tab");
        }
    }
}

fn ending(file: &TextFile, complaints: &mut Vec<Complaint>) {
    let message = if file.text.is_empty() {
        return;
    } else if !file.text.ends_with('\n') {
        "the file does not end in a newline"
    } else if file.text.ends_with("\n\n") || file.text == "\n" {
        "the file ends in more than one newline"
    } else {
        return;
    };
    let line = file.text.lines().count();
    complaints.push(Complaint::new(&file.path, line, message));
}

#[cfg(test)]
#[path = "words_tests.rs"]
mod tests;
