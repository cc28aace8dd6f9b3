use proptest::prelude::*;

use super::*;

fn edit(raw: &str, old: &str, new: &str) -> String {
    edit_text(raw, old, new).unwrap().raw
}

#[test]
fn one_place_is_replaced() {
    let edited = edit_text("a\nb\nc\n", "b\n", "x\ny\n").unwrap();
    assert_eq!(edited.raw, "a\nx\ny\nc\n");
    assert_eq!(edited.shown_old, "a\nb\nc\n");
    assert_eq!(edited.shown_new, "a\nx\ny\nc\n");
    assert_eq!(
        (
            edited.summary.line,
            edited.summary.added,
            edited.summary.removed
        ),
        (2, 2, 1)
    );
}

/// C30: line ends, and no final newline.
#[test]
fn crlf_files_keep_their_line_ends() {
    assert_eq!(edit("a\r\nb\r\nc", "b", "x\ny"), "a\r\nx\r\ny\r\nc");
    assert_eq!(edit("a\r\nb\r\nc", "a\nb\nc", "a\nx\nc"), "a\r\nx\r\nc");
    assert_eq!(edit("a\r\nb\r\nc", "b\r\nc", "x\r\nc"), "a\r\nx\r\nc");
    assert_eq!(edit("a\rb\rc", "a\nb", "a\nx\ny"), "a\rx\ry\rc");
}

#[test]
fn mixed_files_keep_each_line_end() {
    let raw = "one\r\ntwo\nthree\r\nfour\n";
    assert_eq!(
        edit(raw, "one\ntwo\nthree\n", "one\n2\nthree\n"),
        "one\r\n2\nthree\r\nfour\n"
    );
    assert_eq!(
        edit(raw, "hree", "hree\nmore"),
        "one\r\ntwo\nthree\r\nmore\r\nfour\n"
    );
}

/// Case 17: the counts and the places of the matches.
#[test]
fn zero_and_several_matches_are_counted() {
    let error = edit_text("a\nb\na\n", "a", "x").unwrap_err();
    assert_eq!(error.code(), "not_unique");
    assert!(
        error
            .message("f")
            .contains("found 2 times in f, beginning in the lines 1, 3;")
    );
    let error = edit_text("a\n", "b", "x").unwrap_err();
    assert_eq!(error.code(), "no_match");
    assert!(error.message("f").contains("found 0 times in f"));
    assert_eq!(edit_text("a", "", "x"), Err(EditError::Empty));
}

#[test]
fn overlapping_places_are_several() {
    let error = edit_text("aaa", "aa", "b").unwrap_err();
    assert_eq!(error.code(), "not_unique");
    let error = edit_text(&"é".repeat(100_000), "éé", "b").unwrap_err();
    assert!(error.message("f").contains("more than 1000 times"));
}

#[test]
fn a_change_of_nothing_is_refused() {
    assert_eq!(edit_text("a", "a", "a"), Err(EditError::NoChange));
    assert_eq!(edit_text("a\n", "a\n", "a\r\n"), Err(EditError::NoChange));
}

#[test]
fn replacement_text_is_literal() {
    assert_eq!(edit("x", "x", r"$0 \1 &"), r"$0 \1 &");
}

/// A text of lines with any line ends.
fn any_lines() -> impl Strategy<Value = String> {
    let line = (
        "[a-cé\u{301}\t ]{0,4}",
        prop_oneof![Just("\n"), Just("\r\n")],
    );
    (proptest::collection::vec(line, 0..12), "[a-c]{0,3}").prop_map(|(lines, last)| {
        let mut text: String = lines
            .into_iter()
            .map(|(body, end)| format!("{body}{end}"))
            .collect();
        text.push_str(&last);
        text
    })
}

proptest! {
    /// Whatever is replaced, every byte around it stays; and what the model sees
    /// after the edit is what it asked for.
    #[test]
    fn bytes_around_the_edit_are_identical(
        before in any_lines(),
        after in any_lines(),
        middle in any_lines(),
        new in "[a-cé\n]{0,12}",
    ) {
        // The markers make the place unique; they are replaced with it.
        let raw = format!("{before}<{middle}>{after}");
        let ends = LineEnds::of(&raw);
        let old = format!("<{}>", ends.to_feeds(&middle));
        let edited = edit_text(&raw, &old, &new).unwrap();
        prop_assert!(edited.raw.starts_with(&before));
        prop_assert!(edited.raw.ends_with(&after));
        let inside = &edited.raw[before.len()..edited.raw.len() - after.len()];
        prop_assert_eq!(inside.replace("\r\n", "\n"), new.as_str());
        if ends == LineEnds::Crlf {
            prop_assert!(!inside.replace("\r\n", "").contains('\n'));
        }
        if ends == LineEnds::Lf {
            prop_assert!(!inside.contains('\r'));
        }
    }

    /// Lines of the replaced part that the new text has, too, keep their line ends.
    #[test]
    fn lines_that_stay_keep_their_line_ends(
        first in "[a-c]{1,4}(\n|\r\n)",
        second in "[d-f]{1,4}(\n|\r\n)",
        third in "[g-i]{1,4}(\n|\r\n)",
        new in "[x-z]{1,4}",
    ) {
        let raw = format!("{first}{second}{third}");
        let old = raw.replace("\r\n", "\n");
        let wanted = second.trim_end();
        let edited = edit_text(&raw, &old, &old.replacen(wanted, &new, 1)).unwrap();
        prop_assert_eq!(edited.raw, raw.replacen(wanted, &new, 1));
    }
}
