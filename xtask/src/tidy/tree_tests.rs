//! The real tree, the report, and trees for the tests of the checks.

use std::path::Path;

use super::tree::{Dependency, Package, TextFile, Tree};
use super::{CHECKS, Complaint, check, report};

impl Tree {
    /// A tree of these files, each a path and a text.
    pub(super) fn of(files: &[(&str, &str)]) -> Self {
        let files = files.iter().map(|(path, text)| TextFile {
            path: (*path).to_owned(),
            text: (*text).to_owned(),
        });
        Self {
            files: files.collect(),
            packages: Vec::new(),
        }
    }

    /// Adds a crate of version 1.2.3; what its tests need begins with `dev `.
    pub(super) fn with_package(mut self, name: &str, dependencies: &[&str]) -> Self {
        let dependencies = dependencies.iter().map(|name| Dependency {
            name: name.trim_start_matches("dev ").to_owned(),
            dev: name.starts_with("dev "),
        });
        self.packages.push(Package {
            name: name.to_owned(),
            version: "1.2.3".to_owned(),
            manifest: format!("crates/{name}/Cargo.toml"),
            dependencies: dependencies.collect(),
        });
        self
    }
}

/// The complaints as they are printed.
pub(super) fn told(complaints: &[Complaint]) -> Vec<String> {
    complaints.iter().map(Complaint::to_string).collect()
}

fn real_tree() -> Tree {
    Tree::load(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap()
}

#[test]
fn the_real_tree_is_tidy() {
    let tree = real_tree();
    let complaints = check(&tree);
    assert!(complaints.is_empty(), "{}", report(&tree, &complaints));
}

#[test]
fn the_real_tree_is_read_with_its_crates() {
    let tree = real_tree();
    assert!(tree.file("Cargo.toml").is_some());
    assert!(tree.files_in("lisp/", ".el").count() > 5);
    let module = tree
        .packages
        .iter()
        .find(|package| package.name == "magent-module")
        .unwrap();
    assert_eq!(module.manifest, "crates/magent-module/Cargo.toml");
    let needs = |name| module.dependencies.iter().any(|one| one.name == name);
    assert!(needs("emacs") && needs("magent-acp"));
}

#[test]
fn a_folder_outside_of_a_workspace_is_a_problem_not_a_panic() {
    assert!(Tree::load(Path::new("/")).is_err());
    assert!(Tree::load(Path::new("/no-such-folder")).is_err());
}

#[test]
fn every_check_runs_and_complaints_are_sorted() {
    assert_eq!(CHECKS.len(), 6);
    let tree = Tree::of(&[
        ("lisp/magent-new.el", "(foo) \n"),
        ("crates/a/src/lib.rs", "fn f() {}"),
    ]);
    let complaints = check(&tree);
    let paths: Vec<&str> = complaints.iter().map(|one| one.path.as_str()).collect();
    assert!(paths.is_sorted());
    let words = report(&tree, &complaints);
    for part in [
        "lisp/magent-new.el:1: the file is in no layer",
        "lisp/magent-new.el:1: the line ends in blanks",
        "crates/a/src/lib.rs:1: the file does not begin with",
        "crates/a/src/lib.rs:1: lib.rs is for",
        "crates/a/src/lib.rs:1: the file does not end in a newline",
    ] {
        assert!(words.contains(part), "{words}");
    }
}

#[test]
fn the_last_line_is_the_sum() {
    let tree = Tree::of(&[("a.txt", "a\n")]);
    assert_eq!(report(&tree, &[]), "tidy: 1 files, 0 complaints");
    let one = [Complaint::new("a.txt", 3, "is wrong")];
    assert_eq!(
        report(&tree, &one),
        "a.txt:3: is wrong\ntidy: 1 files, 1 complaint"
    );
}

#[test]
fn test_files_are_known_by_their_place_or_name() {
    let is_test = |path: &str| Tree::of(&[(path, "")]).files[0].is_test();
    for path in [
        "tests/elisp/a.el",
        "crates/a/tests/it/main.rs",
        "crates/a/src/b_tests.rs",
        "crates/a/src/b/tests.rs",
    ] {
        assert!(is_test(path), "{path}");
    }
    for path in [
        "crates/a/src/b.rs",
        "crates/tests-of/src/b.rs",
        "lisp/tests.el",
    ] {
        assert!(!is_test(path), "{path}");
    }
}
