//! Which crate may need which.
//!
//! `types <- {ledger, permission, tools, sampling, prompt} <- runtime <- acp <- module`;
//! the five in the middle do not need each other, and the binaries and the testkit stand
//! apart.  The table lists every edge there is, so that a new one is a decision.

use super::tree::{Dependency, Package};
use super::{Complaint, Tree};

/// A crate, and the crates of the workspace that it needs.
struct Edges {
    name: &'static str,
    normal: &'static [&'static str],
    /// Those that only its tests need, besides the testkit, which all tests may use.
    dev: &'static [&'static str],
}

const fn edges(
    name: &'static str,
    normal: &'static [&'static str],
    dev: &'static [&'static str],
) -> Edges {
    Edges { name, normal, dev }
}

/// Where this table is, for complaints.
const TABLE_FILE: &str = "xtask/src/tidy/edges.rs";

const TYPES: &[&str] = &["magent-types"];

const TABLE: &[Edges] = &[
    edges("magent-types", &[], &[]),
    edges("magent-ledger", TYPES, &[]),
    edges("magent-permission", TYPES, &[]),
    edges("magent-tools", TYPES, &[]),
    edges("magent-sampling", TYPES, &[]),
    edges("magent-prompt", TYPES, &[]),
    edges(
        "magent-runtime",
        &[
            "magent-ledger",
            "magent-permission",
            "magent-prompt",
            "magent-sampling",
            "magent-tools",
            "magent-types",
        ],
        &[],
    ),
    edges(
        "magent-acp",
        &["magent-runtime", "magent-types"],
        &["magent-sampling", "magent-tools"],
    ),
    edges(
        "magent-module",
        &[
            "magent-acp",
            "magent-permission",
            "magent-runtime",
            "magent-sampling",
            "magent-tools",
            "magent-types",
        ],
        &[],
    ),
    edges("magent-testkit", &[], &[]),
    edges("magent-demo-provider", &[], &[]),
    // For developers only, so that it may use what tests use.
    edges(
        "magent-bench",
        &[
            "magent-ledger",
            "magent-runtime",
            "magent-sampling",
            "magent-testkit",
            "magent-tools",
            "magent-types",
        ],
        &[],
    ),
    edges("xtask", &[], &[]),
];

const TESTKIT: &str = "magent-testkit";

/// Crates from outside that only one crate may know.
const OWNED: &[(&str, &str)] = &[
    ("agent-client-protocol-schema", "magent-acp"),
    ("emacs", "magent-module"),
    ("reqwest", "magent-sampling"),
];

pub(crate) fn check(tree: &Tree) -> Vec<Complaint> {
    check_with(tree, TABLE)
}

fn check_with(tree: &Tree, table: &[Edges]) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for package in &tree.packages {
        let mut complain = |line, message| {
            complaints.push(Complaint::new(&package.manifest, line, message));
        };
        let Some(row) = table.iter().find(|row| row.name == package.name) else {
            complain(
                1,
                format!("{} is not in the table of {TABLE_FILE}", package.name),
            );
            continue;
        };
        for dependency in &package.dependencies {
            if let Some(message) = forbidden(tree, row, dependency) {
                complain(dependency_line(tree, package, dependency), message);
            }
        }
        for gone in unused(row, package) {
            let message = format!("{gone} is not needed any more: take it out of {TABLE_FILE}");
            complain(1, message);
        }
    }
    complaints
}

fn forbidden(tree: &Tree, row: &Edges, dependency: &Dependency) -> Option<String> {
    let name = dependency.name.as_str();
    if let Some((_, owner)) = OWNED.iter().find(|(owned, _)| *owned == name) {
        return (*owner != row.name).then(|| format!("only {owner} may need {name}"));
    }
    let internal = tree.packages.iter().any(|package| package.name == name);
    let allowed = if dependency.dev {
        name == TESTKIT || row.dev.contains(&name) || row.normal.contains(&name)
    } else {
        row.normal.contains(&name)
    };
    let purpose = if dependency.dev { " for its tests" } else { "" };
    (internal && !allowed).then(|| format!("{} must not need {name}{purpose}", row.name))
}

/// What the table allows and the crate does not use.
fn unused<'a>(row: &'a Edges, package: &'a Package) -> impl Iterator<Item = &'static str> + 'a {
    let rows = [(row.normal, false), (row.dev, true)];
    rows.into_iter().flat_map(move |(names, dev)| {
        names.iter().copied().filter(move |name| {
            !package
                .dependencies
                .iter()
                .any(|dependency| dependency.name == *name && dependency.dev == dev)
        })
    })
}

/// The line of the manifest that names the dependency; the first if none does so plainly.
fn dependency_line(tree: &Tree, package: &Package, dependency: &Dependency) -> usize {
    let text = tree.file(&package.manifest).map_or("", |file| &file.text);
    let mut section = "";
    for (index, line) in text.lines().enumerate() {
        if line.starts_with('[') {
            section = line;
        }
        let rest = line.strip_prefix(dependency.name.as_str());
        if section.contains("dev-dependencies") == dependency.dev
            && rest.is_some_and(|rest| rest.starts_with(['.', ' ', '=']))
        {
            return index + 1;
        }
    }
    1
}

#[cfg(test)]
#[path = "edges_tests.rs"]
mod tests;
