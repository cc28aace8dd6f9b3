//! How large files and functions may grow.

use super::rust_text::{functions, line_of, mask, test_ranges};
use super::tree::TextFile;
use super::{Complaint, Tree, lisp_text};

const FILE_LINES: usize = 400;
const RUST_FUNCTION_LINES: usize = 60;
const LISP_FUNCTION_LINES: usize = 40;

/// Something that may be larger, up to a limit of its own.
struct Exception {
    path: &'static str,
    /// The function; all of the file otherwise.
    function: Option<&'static str>,
    most: usize,
    reason: &'static str,
}

const EXCEPTIONS: &[Exception] = &[
    Exception {
        path: "crates/magent-runtime/src/batch.rs",
        function: Some("run_batch"),
        most: 70,
        reason: "two futures that borrow the same turn and the select over both, not split yet",
    },
    Exception {
        path: "crates/magent-runtime/src/sample.rs",
        function: Some("run_sample"),
        most: 70,
        reason: "the loop over attempts with every way it can end, not split yet",
    },
    Exception {
        path: "crates/magent-types/src/event.rs",
        function: Some("write_json"),
        most: 90,
        reason: "a table with one arm for each kind of event, better read in one piece",
    },
];

/// How large one thing is.
struct Size {
    path: String,
    line: usize,
    function: Option<String>,
    lines: usize,
    most: usize,
}

pub(crate) fn check(tree: &Tree) -> Vec<Complaint> {
    check_with(tree, EXCEPTIONS)
}

fn check_with(tree: &Tree, exceptions: &[Exception]) -> Vec<Complaint> {
    let mut sizes = Vec::new();
    for file in tree.files.iter().filter(|file| !file.is_test()) {
        if file.path.ends_with(".rs") {
            rust_sizes(file, &mut sizes);
        } else if file.path.ends_with(".el") {
            lisp_sizes(file, &mut sizes);
        }
    }
    let too_large: Vec<&Size> = sizes.iter().filter(|size| size.lines > size.most).collect();
    let mut complaints: Vec<Complaint> = too_large
        .iter()
        .filter_map(|size| complaint(size, exceptions))
        .collect();
    for exception in exceptions {
        if !too_large.iter().any(|size| is_about(exception, size)) {
            let message = format!(
                "{} needs no exception any more: take it out of xtask/src/tidy/sizes.rs",
                exception.function.unwrap_or("the file")
            );
            complaints.push(Complaint::new(exception.path, 1, message));
        }
    }
    complaints
}

fn is_about(exception: &Exception, size: &Size) -> bool {
    exception.path == size.path && exception.function == size.function.as_deref()
}

fn complaint(size: &Size, exceptions: &[Exception]) -> Option<Complaint> {
    let exception = exceptions
        .iter()
        .find(|exception| is_about(exception, size));
    let most = exception.map_or(size.most, |exception| exception.most);
    let what = size.function.as_deref().unwrap_or("the file");
    (size.lines > most).then(|| {
        let mut message = format!("{what} has {} lines, more than {most}", size.lines);
        if let Some(exception) = exception {
            message.push_str(&format!(" (an exception: {})", exception.reason));
        }
        Complaint::new(&size.path, size.line, message)
    })
}

fn rust_sizes(file: &TextFile, sizes: &mut Vec<Size>) {
    let code = mask(&file.text);
    let tests = test_ranges(&code);
    let test_lines: usize = tests
        .iter()
        .map(|range| line_of(&code, range.end) - line_of(&code, range.start) + 1)
        .sum();
    sizes.push(Size {
        path: file.path.clone(),
        line: 1,
        function: None,
        lines: file.text.lines().count() - test_lines,
        most: FILE_LINES,
    });
    for function in functions(&code) {
        if tests.iter().any(|range| range.contains(&function.at)) {
            continue;
        }
        sizes.push(Size {
            path: file.path.clone(),
            line: line_of(&code, function.at),
            function: Some(function.name.to_owned()),
            lines: function.lines,
            most: RUST_FUNCTION_LINES,
        });
    }
}

fn lisp_sizes(file: &TextFile, sizes: &mut Vec<Size>) {
    sizes.push(Size {
        path: file.path.clone(),
        line: 1,
        function: None,
        lines: file.text.lines().count(),
        most: FILE_LINES,
    });
    for form in lisp_text::read(&file.text) {
        let parts = form.parts();
        if !form.head().is_some_and(defines_a_function) {
            continue;
        }
        let Some(name) = parts.get(1).and_then(lisp_text::Node::atom) else {
            continue;
        };
        sizes.push(Size {
            path: file.path.clone(),
            line: form.line,
            function: Some(name.to_owned()),
            lines: form.end_line - form.line + 1,
            most: LISP_FUNCTION_LINES,
        });
    }
}

fn defines_a_function(head: &str) -> bool {
    matches!(
        head,
        "defun"
            | "cl-defun"
            | "defsubst"
            | "cl-defsubst"
            | "defmacro"
            | "cl-defmacro"
            | "cl-defgeneric"
            | "cl-defmethod"
            | "define-minor-mode"
            | "define-derived-mode"
    )
}

#[cfg(test)]
#[path = "sizes_tests.rs"]
mod tests;
