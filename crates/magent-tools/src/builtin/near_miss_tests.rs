use proptest::prelude::*;

use super::*;

/// C33: a file with tabs, a model that sends spaces.
#[test]
fn tabs_against_spaces_are_shown() {
    let text = "func main() {\n\tif ok {\n\t\trun(1)\n\t}\n}\n";
    assert_eq!(
        explain(text, "    if ok {\n        run(1)\n"),
        "The lines 2-3 differ from it only in whitespace (tabs or the number of spaces):\n  \
         old_text: \"    if ok {\"\n  line 2: \"\\tif ok {\""
    );
}

/// C34: several lines, tabs and line ends at once.
#[test]
fn the_first_line_that_differs_is_shown() {
    let text = "a {\n\tone;\n\ttwo;\n}\n";
    let report = explain(text, "a {\n\tone;\n    two;\n}");
    assert!(
        report.ends_with("  old_text: \"    two;\"\n  line 3: \"\\ttwo;\""),
        "{report}"
    );
}

#[test]
fn the_kind_of_difference_is_named() {
    for (text, wanted, name) in [
        ("let a =\u{a0}1;", "let a = 1;", "special spaces"),
        ("zero\u{200b}width", "zerowidth", "special spaces"),
        ("cafe\u{301} au lait", "café au lait", "Unicode form"),
        ("Hello World", "hello world", "letter case"),
        ("say \u{201c}hi\u{201d}", "say \"hi\"", "typographic quotes"),
        ("one\ntwo", "one two", "line breaks"),
        ("a\rb\nc\n", "ab\nc", "line breaks"),
        ("a  b", "a b", "whitespace"),
    ] {
        let report = explain(text, wanted);
        assert!(report.contains(name), "{text:?}: {report}");
        assert!(report.contains("only in"), "{text:?}: {report}");
    }
}

#[test]
fn what_cannot_be_seen_is_spelled_out() {
    assert!(explain("a\u{a0}b", "a b").contains("line 1: \"a\\u00a0b\""));
    assert!(explain("cafe\u{301}", "café").contains("line 1: \"cafe\\u0301\""));
    assert!(explain("a\tb", "a b").contains("line 1: \"a\\tb\""));
}

#[test]
fn several_kinds_are_named_together() {
    let report = explain("IF\u{a0}x", "if x");
    assert!(
        report.contains("special spaces (no-break or without width) and letter case"),
        "{report}"
    );
}

#[test]
fn a_place_with_most_of_the_lines_is_shown() {
    let text = "fn a() {\n    one();\n    two();\n    three();\n}\n\nfn b() {}\n";
    let report = explain(
        text,
        "fn a() {\n    one();\n    changed();\n    three();\n}\n",
    );
    assert_eq!(
        report,
        "The closest place is at the lines 1-5, where 4 of 5 lines are equal. The first that \
         differ:\n  old_text: \"    changed();\"\n  line 3: \"    two();\""
    );
}

#[test]
fn a_similar_line_is_shown() {
    let report = explain(
        "alpha\nlet total_count = 1;\nbeta\n",
        "let total_counts = 2;",
    );
    assert_eq!(
        report,
        "The most similar line is line 2:\n  old_text: \"let total_counts = 2;\"\n  line 2: \
         \"let total_count = 1;\""
    );
}

#[test]
fn nothing_similar_is_said_plainly() {
    assert!(explain("abc\n", "xyzzy plugh").starts_with("Nothing similar"));
    assert!(explain("", "x").contains("empty"));
    assert!(explain("last", "last\n").contains("ends with a line break"));
    assert!(!explain("a\n", "   \n").is_empty());
}

/// E6: a report on huge lines is short and quick.
#[test]
fn reports_on_huge_texts_are_bounded() {
    let start = std::time::Instant::now();
    let line = format!("{}\tneedle{}", "x".repeat(300_000), "y".repeat(300_000));
    let report = explain(&line, " needle");
    assert!(report.chars().count() < 800, "{}", report.len());
    assert!(
        report.contains("\\tneedle") || report.contains("needle"),
        "{report}"
    );
    let many: String = (0..20_000).map(|n| format!("line number {n}\n")).collect();
    let report = explain(&many, "line numbers 77777777\nother");
    assert!(report.chars().count() < 800);
    assert!(start.elapsed().as_secs() < 10);
}

proptest! {
    /// Whatever the texts are, the report is a bounded word about them.
    #[test]
    fn a_report_never_fails(
        text in "([ab \t\r\u{a0}e\u{301}é\u{200b}AB\"]|\n){0,40}",
        wanted in "([ab \t\r\u{a0}e\u{301}é\u{200b}AB\"]|\n){1,12}",
    ) {
        prop_assume!(!text.contains(&wanted));
        let report = explain(&text, &wanted);
        prop_assert!(!report.is_empty());
        prop_assert!(report.chars().count() < 2_000);
    }
}
