//! Which Lisp file may require which: only one of a lower layer.

use super::lisp_text::{self, Node};
use super::{Complaint, Tree};

/// The files of each layer, those to come as well.  A name that is not here is in no
/// layer, so that a new file is a decision.
const LAYERS: &[&[&str]] = &[
    // Options and backends that users define, the log buffer, the error tree.  They may
    // require each other.
    &[
        "magent-backend",
        "magent-config",
        "magent-error",
        "magent-log",
    ],
    // Finding, building and loading the module.
    &["magent-module"],
    // The wake pipe and the dispatch of events; writing files as the core does.
    &["magent-core", "magent-disk"],
    // What the core asks Emacs to do; routes from gptel.
    &[
        "magent-gptel",
        "magent-host-buffer",
        "magent-host-eval",
        "magent-host-file",
        "magent-host-process",
        "magent-host-read",
        "magent-sampling-gptel",
    ],
    // The API for Lisp callers.
    &["magent-runtime-api"],
    // Actions, Doctor, skills and audit.
    &[
        "magent-action",
        "magent-action-builtin-doctor",
        "magent-action-builtins",
        "magent-action-session",
        "magent-action-session-view",
        "magent-audit",
        "magent-skill-manager",
        "magent-skills",
    ],
    // The client of ACP inside Emacs, and a turn on a terminal.
    &["magent-acp", "magent-terminal"],
    // The configuration of agent-shell, and the words after bin/magent.
    &["magent-agent-shell", "magent-batch-arguments"],
    // What is done to a saved session, and writing one down for people.
    &["magent-session-commands"],
    &["magent-session-export"],
    // The entries: the package, and bin/magent.
    &["magent", "magent-batch", "magent-sessions"],
];

const FOLDER: &str = "lisp/";

/// One file needs another, at a line.
struct Edge {
    from: String,
    to: String,
    line: usize,
    autoload: bool,
}

pub(crate) fn check(tree: &Tree) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    let mut edges = Vec::new();
    for file in tree.files_in(FOLDER, ".el") {
        let name = &file.path[FOLDER.len()..file.path.len() - ".el".len()];
        if layer(name).is_none() {
            let message = "the file is in no layer of xtask/src/tidy/layers.rs";
            complaints.push(Complaint::new(&file.path, 1, message));
        }
        edges.extend(edges_of(name, &lisp_text::read(&file.text)));
    }
    for edge in &edges {
        if let Some(message) = forbidden(edge, &edges) {
            let path = format!("{FOLDER}{}.el", edge.from);
            complaints.push(Complaint::new(&path, edge.line, message));
        }
    }
    complaints
}

fn layer(name: &str) -> Option<usize> {
    LAYERS.iter().position(|names| names.contains(&name))
}

/// What a file requires or autoloads of Magent, anywhere in it.
fn edges_of(from: &str, nodes: &[Node]) -> Vec<Edge> {
    let edge = |list: &Node| {
        let parts = list.parts();
        let (to, autoload) = match list.head()? {
            "require" => (parts.get(1)?.atom()?, false),
            "autoload" => (parts.get(2)?.text()?, true),
            _ => return None,
        };
        (to == "magent" || to.starts_with("magent-")).then(|| Edge {
            from: from.to_owned(),
            to: to.to_owned(),
            line: list.line,
            autoload,
        })
    };
    lisp_text::lists(nodes)
        .into_iter()
        .filter_map(edge)
        .collect()
}

fn forbidden(edge: &Edge, edges: &[Edge]) -> Option<String> {
    let from = layer(&edge.from)?;
    let Some(to) = layer(&edge.to) else {
        return Some(format!(
            "{} is in no layer of xtask/src/tidy/layers.rs",
            edge.to
        ));
    };
    if to < from || edge.autoload && from == LAYERS.len() - 1 {
        return None;
    }
    if (from, to) == (0, 0) {
        return reaches(edges, &edge.to, &edge.from)
            .then(|| format!("{} and {} require each other", edge.from, edge.to));
    }
    let verb = if edge.autoload { "autoload" } else { "require" };
    Some(format!(
        "{} of layer {from} must not {verb} {} of layer {to}",
        edge.from, edge.to
    ))
}

/// Whether one file needs the other, directly or not.
fn reaches(edges: &[Edge], from: &str, to: &str) -> bool {
    let mut seen = vec![from];
    let mut next = 0;
    while let Some(name) = seen.get(next).copied() {
        if name == to {
            return true;
        }
        for edge in edges.iter().filter(|edge| edge.from == name) {
            if !seen.contains(&edge.to.as_str()) {
                seen.push(&edge.to);
            }
        }
        next += 1;
    }
    false
}

#[cfg(test)]
#[path = "layers_tests.rs"]
mod tests;
