//! Lisp and the module agree: every function that Lisp declares is one the module has,
//! with as many arguments, and both have the same version of the interface.

use super::lisp_text::{self, Form, Node};
use super::rust_text::{comma_parts, functions, line_of, mask};
use super::{Complaint, Tree};

const MODULE: &str = "magent-module";
const MODULE_SOURCE: &str = "crates/magent-module/src/";
const RUST_VERSION: &str = "crates/magent-module/src/defuns.rs";
const LISP_VERSION: &str = "lisp/magent-module.el";
/// What `#[emacs::module]` puts before the names of its functions.
const PREFIX: &str = "magent-core-";

/// A function of the module.
#[derive(Debug, PartialEq, Eq)]
struct Defun {
    name: String,
    arguments: usize,
}

pub(crate) fn check(tree: &Tree) -> Vec<Complaint> {
    let mut complaints = declarations(tree);
    complaints.extend(versions(tree));
    complaints
}

fn declarations(tree: &Tree) -> Vec<Complaint> {
    let defuns: Vec<Defun> = tree
        .files_in(MODULE_SOURCE, ".rs")
        .flat_map(|file| defuns_of(&file.text))
        .collect();
    let mut complaints = Vec::new();
    for file in tree.files_in("lisp/", ".el") {
        let nodes = lisp_text::read(&file.text);
        for list in lisp_text::lists(&nodes) {
            if let Some(message) = wrong_declaration(list, &defuns) {
                complaints.push(Complaint::new(&file.path, list.line, message));
            }
        }
    }
    complaints
}

/// The functions that a source file of the module exports.
fn defuns_of(text: &str) -> Vec<Defun> {
    let code = mask(text);
    let functions = functions(&code);
    let defun = |at: usize| {
        let function = functions.iter().find(|function| function.at > at)?;
        let name = given_name(&text[at..function.at])
            .map_or_else(|| function.name.replace('_', "-"), str::to_owned);
        Some(Defun {
            name: format!("{PREFIX}{name}"),
            arguments: comma_parts(function.parameters)
                .iter()
                .filter(|parameter| !is_environment(parameter))
                .count(),
        })
    };
    code.match_indices("#[defun")
        .filter_map(|(at, _)| defun(at))
        .collect()
}

/// The name that the attribute gives, as in `#[defun(name = "x")]`.
fn given_name(attribute: &str) -> Option<&str> {
    let options = attribute.strip_prefix("#[defun(")?.split(")]").next()?;
    let (_, name) = options.split_once("name = \"")?;
    name.split('"').next()
}

/// Whether the parameter is the `&Env` that Emacs itself passes.
fn is_environment(parameter: &str) -> bool {
    let kind = parameter
        .split_once(':')
        .map_or("", |(_, kind)| kind.trim());
    let name = kind.strip_prefix('&').unwrap_or_default();
    name.split_whitespace().last() == Some("Env")
}

fn wrong_declaration(list: &Node, defuns: &[Defun]) -> Option<String> {
    if list.head() != Some("declare-function") {
        return None;
    }
    let parts = list.parts();
    let name = parts.get(1)?.atom()?;
    // What lies in a file of Lisp is for the byte compiler to check.
    if !name.starts_with(PREFIX) || !parts.get(2)?.text()?.starts_with("ext:") {
        return None;
    }
    let Some(defun) = defuns.iter().find(|defun| defun.name == name) else {
        return Some(format!("the module has no function {name}"));
    };
    let (least, most) = arity(parts.get(3)?)?;
    let fits = (least, most) == (defun.arguments, Some(defun.arguments));
    (!fits).then(|| {
        format!(
            "{name} is declared with other arguments than the {} of the module",
            defun.arguments
        )
    })
}

/// How many arguments an argument list takes: at least, and at most if there is a bound.
/// `t` stands for an unknown list.
fn arity(arguments: &Node) -> Option<(usize, Option<usize>)> {
    let names = match &arguments.form {
        Form::List(names) => names.as_slice(),
        Form::Atom(name) if name == "nil" => &[],
        _ => return None,
    };
    let (mut least, mut most, mut optional) = (0, 0, false);
    for name in names {
        match name.atom() {
            Some("&optional") => optional = true,
            Some("&rest") => return Some((least, None)),
            _ => {
                most += 1;
                least += usize::from(!optional);
            }
        }
    }
    Some((least, Some(most)))
}

fn versions(tree: &Tree) -> Vec<Complaint> {
    let Some(package) = tree.packages.iter().find(|package| package.name == MODULE) else {
        return Vec::new();
    };
    let text = |path| tree.file(path).map_or("", |file| file.text.as_str());
    let Some((line, ours)) = rust_version(text(RUST_VERSION), &package.version) else {
        return vec![Complaint::new(
            RUST_VERSION,
            1,
            "there is no constant ABI, or it is not a string or concat! of one line",
        )];
    };
    let theirs = lisp_version(text(LISP_VERSION));
    if theirs.as_ref().is_some_and(|(_, theirs)| *theirs == ours) {
        return Vec::new();
    }
    let line_there = theirs.as_ref().map_or(1, |(line, _)| *line);
    let theirs = theirs.map_or_else(|| "missing".to_owned(), |(_, theirs)| theirs);
    vec![Complaint::new(
        LISP_VERSION,
        line_there,
        format!("magent-module-abi is {theirs}, but ABI in {RUST_VERSION}:{line} is {ours}"),
    )]
}

/// The constant `ABI`: its line and its value.
fn rust_version(text: &str, package_version: &str) -> Option<(usize, String)> {
    let at = text.find("const ABI: &str = ")?;
    let value = text[at..].lines().next()?.split_once(" = ")?.1;
    let value = value.strip_suffix(';')?;
    let pieces = value
        .strip_prefix("concat!(")
        .and_then(|rest| rest.strip_suffix(')'))
        .unwrap_or(value);
    let mut version = String::new();
    for piece in comma_parts(pieces) {
        match piece.trim() {
            "env!(\"CARGO_PKG_VERSION\")" => version.push_str(package_version),
            literal => version.push_str(literal.strip_prefix('"')?.strip_suffix('"')?),
        }
    }
    Some((line_of(text, at), version))
}

/// The constant `magent-module-abi`: its line and its value.
fn lisp_version(text: &str) -> Option<(usize, String)> {
    lisp_text::read(text).iter().find_map(|form| {
        let parts = form.parts();
        let named = parts.get(1)?.atom() == Some("magent-module-abi");
        (form.head() == Some("defconst") && named)
            .then(|| Some((form.line, parts.get(2)?.text()?.to_owned())))?
    })
}

#[cfg(test)]
#[path = "parity_tests.rs"]
mod tests;
