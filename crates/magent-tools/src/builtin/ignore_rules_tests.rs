use std::fs;

use super::*;

struct Tree {
    _folder: tempfile::TempDir,
    root: PathBuf,
}

impl Tree {
    fn new(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let tree = Self {
            _folder: folder,
            root,
        };
        for (path, text) in files {
            let path = tree.root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        tree
    }

    /// Whether a file is ignored by the rules down to its folder, seen from a
    /// project root.
    fn ignores(&self, project: &str, path: &str) -> bool {
        let path = self.root.join(path);
        let folder = path.parent().unwrap();
        let rules = IgnoreRules::around(folder, Some(&self.root.join(project)))
            .inside(folder, RuleFiles::look(folder));
        rules.is_ignored(&path, false)
    }
}

#[test]
fn gitignore_files_count_without_a_repository() {
    let tree = Tree::new(&[
        (".gitignore", "*.log\n!keep.log\n"),
        ("sub/.gitignore", "/x\n"),
    ]);
    assert!(tree.ignores("", "a.log"));
    assert!(tree.ignores("", "sub/deep/a.log"));
    assert!(!tree.ignores("", "sub/keep.log"));
    assert!(tree.ignores("", "sub/x"));
    assert!(!tree.ignores("", "sub/deep/x"));
    assert!(!tree.ignores("", "x"));
}

#[test]
fn the_nearest_rule_decides_and_dot_ignore_comes_first() {
    let tree = Tree::new(&[
        (".gitignore", "*.log\n"),
        ("sub/.gitignore", "!*.log\n"),
        ("other/.ignore", "!*.log\n*.txt\n"),
    ]);
    assert!(tree.ignores("", "a.log"));
    assert!(!tree.ignores("", "sub/a.log"));
    assert!(!tree.ignores("", "other/a.log"));
    assert!(tree.ignores("", "other/a.txt"));
}

/// A home folder that ignores everything must not empty the projects in it.
#[test]
fn rules_outside_the_project_do_not_count() {
    let tree = Tree::new(&[
        (".gitignore", "*\n"),
        ("project/a", ""),
        ("repo/.git/HEAD", ""),
    ]);
    assert!(!tree.ignores("project", "project/a"));
    assert!(!tree.ignores("project", "project/sub/a"));
    assert!(!tree.ignores("", "repo/a"));
}

#[test]
fn a_repository_around_the_project_counts() {
    let tree = Tree::new(&[
        (".git/HEAD", ""),
        (".git/info/exclude", "private\n"),
        (".gitignore", "/project/out\n*.tmp\n"),
    ]);
    assert!(tree.ignores("project", "project/out"));
    assert!(tree.ignores("project", "project/a.tmp"));
    assert!(tree.ignores("project", "project/private"));
    assert!(!tree.ignores("project", "out"));
}

#[test]
fn broken_rules_match_nothing() {
    let tree = Tree::new(&[(".gitignore", "\u{feff}*.log\n[\n{a\n*.tmp\n")]);
    assert!(tree.ignores("", "a.log"));
    assert!(tree.ignores("", "a.tmp"));
    assert!(!tree.ignores("", "a"));
}

#[test]
fn a_fifo_of_that_name_is_no_trap() {
    let tree = Tree::new(&[]);
    let made = std::process::Command::new("mkfifo")
        .arg(tree.root.join(".gitignore"))
        .status();
    assert!(made.unwrap().success());
    assert!(!tree.ignores("", "a"));
}
