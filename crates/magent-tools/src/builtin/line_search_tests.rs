use super::*;
use crate::test_support::Project;

fn search(pattern: &str, limit: usize) -> LineSearch {
    LineSearch::new(pattern, false, limit).unwrap()
}

fn tree(project: &Project, search: &LineSearch) -> SearchReport {
    let options = WalkOptions {
        root: project.root.clone(),
        project_root: Some(project.root.clone()),
        private: Vec::new(),
        include_ignored: false,
    };
    search
        .search_tree(&options, &StopFlag::default(), &mut |_| true)
        .unwrap()
}

fn lines(report: &SearchReport) -> Vec<String> {
    report
        .files
        .iter()
        .flat_map(|file| {
            let name = file.path.file_name().unwrap().to_str().unwrap();
            file.lines
                .iter()
                .map(move |line| format!("{name}:{}:{}", line.number, line.text))
        })
        .collect()
}

/// A bounded search shows the first matches by path, the same ones each time.
#[test]
fn a_bounded_search_is_the_same_each_time() {
    let project = Project::new();
    for number in 0..200 {
        // Files of different sizes finish in another order than they begin.
        let filler = "filler\n".repeat((number * 7919) % 3_000);
        project.write(
            &format!("f{number:03}"),
            format!("{filler}needle\nneedle\n"),
        );
    }
    let search = search("needle", 25);
    let first = tree(&project, &search);
    assert!(first.truncated);
    assert_eq!(lines(&first).len(), 25);
    assert!(lines(&first)[24].starts_with("f012:"));
    for _ in 0..10 {
        assert_eq!(tree(&project, &search), first);
    }
}

#[test]
fn as_many_matches_as_the_limit_are_not_truncated() {
    let project = Project::new();
    project.write("a", "x\nx\n");
    project.write("b", "x\n");
    assert!(!tree(&project, &search("x", 3)).truncated);
    let report = tree(&project, &search("x", 2));
    assert!(report.truncated);
    assert_eq!(lines(&report), ["a:1:x", "a:2:x"]);
    let single = search("x", 1).search_file(&project.path("a"), &StopFlag::default());
    assert!(single.unwrap().truncated);
}

#[test]
fn binary_files_are_skipped_wherever_their_nul_is() {
    let project = Project::new();
    project.write("early", b"needle\0\n");
    let mut late = b"needle\n".repeat(100_000);
    late.extend_from_slice(b"\0needle\n");
    project.write("late", late);
    project.write("text", "needle\n");
    let report = tree(&project, &search("needle", 1_000_000));
    assert_eq!(lines(&report), ["text:1:needle"]);
}

#[test]
fn line_ends_of_any_kind_are_no_part_of_a_line() {
    let project = Project::new();
    project.write("a", "one;\r\ntwo;\nthree;");
    let report = tree(&project, &search(";$", 10));
    assert_eq!(lines(&report), ["a:1:one;", "a:2:two;", "a:3:three;"]);
    assert_eq!(lines(&tree(&project, &search("^two", 10))), ["a:2:two;"]);
    assert_eq!(
        lines(&tree(&project, &search("^$", 10))),
        Vec::<String>::new()
    );
    // A pattern can ask for the carriage return.
    assert_eq!(lines(&tree(&project, &search(r"\r$", 10))), ["a:1:one;"]);
    assert!(tree(&project, &search(r"one;\s+two", 10)).files.is_empty());
}

#[test]
fn other_codings_are_searched_as_well_as_possible() {
    let project = Project::new();
    project.write("latin", b"gr\xfcn needle\n");
    let utf16: Vec<u8> = "\u{feff}grün needle\n"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    project.write("utf16", utf16);
    let report = tree(&project, &search("NEEDLE", 10));
    assert_eq!(
        lines(&report),
        ["latin:1:gr\u{fffd}n needle", "utf16:1:grün needle"]
    );
}

#[test]
fn a_bad_pattern_has_the_message_of_the_engine() {
    let error = LineSearch::new("a(b", false, 1).unwrap_err();
    assert!(error.contains("unclosed group"), "{error}");
    let error = LineSearch::new(r"a\nb", false, 1).unwrap_err();
    assert!(error.contains("\\n"), "{error}");
}

#[test]
fn a_stopped_search_is_no_result() {
    let project = Project::new();
    project.write("a", "x");
    let stop = StopFlag::default();
    stop.set();
    let options = WalkOptions {
        root: project.root.clone(),
        project_root: None,
        private: Vec::new(),
        include_ignored: false,
    };
    let end = search("x", 1).search_tree(&options, &stop, &mut |_| true);
    assert!(matches!(end, Err(FileError::Stopped)));
}
