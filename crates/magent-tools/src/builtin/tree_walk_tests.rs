use std::os::unix::fs::symlink;

use super::*;
use crate::test_support::Project;

fn options(project: &Project) -> WalkOptions {
    WalkOptions {
        root: project.root.clone(),
        project_root: Some(project.root.clone()),
        private: project.private.clone(),
        include_ignored: false,
    }
}

fn walk(options: &WalkOptions) -> (Vec<String>, WalkReport) {
    let mut seen = Vec::new();
    let report = walk_tree(options, &StopFlag::default(), &mut |entry| {
        seen.push(format!(
            "{}{}",
            entry.relative,
            match entry.kind {
                EntryKind::File => "",
                EntryKind::Folder => "/",
                EntryKind::Link => "@",
                EntryKind::Other => "|",
            }
        ));
        Step::Continue
    });
    (seen, report.unwrap())
}

#[test]
fn entries_come_in_the_order_of_their_paths() {
    let project = Project::new();
    for path in ["b/x", "b-c/y", "b.c", "a/z", "é", ".hidden/h", "b0"] {
        project.write(path, "");
    }
    let (seen, _) = walk(&options(&project));
    let mut sorted = seen.clone();
    sorted.sort();
    assert_eq!(seen, sorted);
    assert_eq!(seen.len(), 11);
}

#[test]
fn what_is_no_concern_of_a_search_is_left_out() {
    let mut project = Project::new();
    for path in [
        ".git/config",
        "sub/.git",
        "sub/.agent-shell/transcripts/t.md",
        "state/sessions/s.jsonl",
        "ignored/a",
        "ignored/b",
        "x.log",
        "kept",
    ] {
        project.write(path, "");
    }
    project.write(".gitignore", "ignored/\n*.log\n");
    project.private.push(project.path("state"));
    symlink("kept", project.path("link")).unwrap();
    symlink("sub", project.path("sublink")).unwrap();
    project.fifo("fifo");
    let (seen, report) = walk(&options(&project));
    assert_eq!(
        seen,
        [".gitignore", "fifo|", "kept", "link@", "sub/", "sublink@"]
    );
    // An ignored folder counts once.
    assert_eq!(
        report,
        WalkReport {
            ignored: 2,
            unreadable: 0
        }
    );
    let all = WalkOptions {
        include_ignored: true,
        ..options(&project)
    };
    let (seen, report) = walk(&all);
    assert!(seen.contains(&"ignored/b".to_owned()));
    assert_eq!(report.ignored, 0);
}

/// An ignored folder that is named itself is walked.
#[test]
fn the_root_of_a_walk_is_never_ignored() {
    let project = Project::new();
    project.write(".gitignore", "dist/\n*.map\n");
    project.write("dist/a.js", "");
    project.write("dist/a.map", "");
    let root = WalkOptions {
        root: project.path("dist"),
        ..options(&project)
    };
    let (seen, report) = walk(&root);
    assert_eq!((seen, report.ignored), (vec!["a.js".to_owned()], 1));
}

#[test]
fn a_walk_stops_when_it_is_told_to() {
    let project = Project::new();
    for name in ["a/1", "a/2", "b/1"] {
        project.write(name, "");
    }
    let mut seen = Vec::new();
    let steps = &mut |entry: &WalkEntry<'_>| {
        seen.push(entry.relative.to_owned());
        if entry.relative == "a" {
            Step::SkipFolder
        } else {
            Step::Stop
        }
    };
    walk_tree(&options(&project), &StopFlag::default(), steps).unwrap();
    assert_eq!(seen, ["a", "b"]);
    let stop = StopFlag::default();
    stop.set();
    let end = walk_tree(&options(&project), &stop, &mut |_| Step::Continue);
    assert!(matches!(end, Err(FileError::Stopped)));
}
