use proptest::prelude::*;

use super::*;

fn letters(count: usize) -> String {
    ('a'..='z').cycle().take(count).collect()
}

#[test]
fn a_short_result_is_untouched() {
    let text = letters(12_000);
    let bounded = bound_output(&text, false, &OutputBounds::default(), Some("result-x"));
    assert_eq!(bounded.text, text);
    assert!(!bounded.omitted);
}

/// Case 32: a long success keeps its first 10000 characters and names the result.
#[test]
fn a_long_success_keeps_its_beginning() {
    let text = letters(30_000);
    let bounded = bound_output(&text, false, &OutputBounds::default(), Some("result-x"));
    let (kept, notice) = bounded.text.split_once('\n').unwrap();
    assert_eq!(kept, &text[..10_000]);
    assert_eq!(
        notice,
        "[output cut: the first 10000 of 30000 characters are shown; read the rest with \
         read_tool_output, result_id \"result-x\", start_character 10001]"
    );
    assert!(bounded.omitted);
    assert_eq!(bounded.original_characters, 30_000);
}

/// Case 33: a long failure keeps 2500 characters of its beginning and 7500 of its end.
#[test]
fn a_long_failure_keeps_beginning_and_end() {
    let text = letters(30_000);
    let bounded = bound_output(&text, true, &OutputBounds::default(), Some("result-x"));
    let parts: Vec<&str> = bounded.text.split('\n').collect();
    assert_eq!(parts.len(), 3);
    assert_eq!(parts[0], &text[..2_500]);
    assert_eq!(parts[2], &text[22_500..]);
    assert!(parts[1].contains("10000 of 30000"), "{}", parts[1]);
    assert!(parts[1].contains("start_character 2501"), "{}", parts[1]);
}

/// Case 34: without a stored result the notice says so.
#[test]
fn an_unstored_result_is_said_to_be_unavailable() {
    let bounded = bound_output(&letters(30_000), false, &OutputBounds::default(), None);
    assert!(bounded.text.ends_with("; the full output is unavailable]"));
}

#[test]
fn no_limit_keeps_everything() {
    let bounds = OutputBounds {
        max_length: None,
        ..OutputBounds::default()
    };
    let text = letters(100_000);
    assert_eq!(bound_output(&text, true, &bounds, None).text, text);
}

/// E5: no line that is longer than the limit reaches a user interface.
#[test]
fn over_long_lines_are_shortened_and_say_so() {
    let text = format!("short\n{}\nlast", letters(600_000));
    let clipped = clip_lines(&text, 2_000);
    let lines: Vec<&str> = clipped.split('\n').collect();
    assert_eq!(lines.len(), 3);
    assert_eq!((lines[0], lines[2]), ("short", "last"));
    assert!(lines[1].chars().count() <= 2_000);
    assert!(
        lines[1].ends_with(" [... 598028 characters cut]"),
        "{}",
        &lines[1][1_900..]
    );
}

/// E10: terminal escapes without a line break are one long line.
#[test]
fn escapes_without_line_breaks_are_one_line() {
    let text = "\u{1b}[31mx\u{1b}[0m\r".repeat(6_000);
    assert!(clip_lines(&text, 1_000).chars().count() <= 1_000);
}

proptest! {
    #[test]
    fn bounded_output_is_bounded_and_honest(
        text in "(\\PC|\n){0,300}",
        failed: bool,
        max_length in proptest::option::of(0_usize..200),
        preview_length in 0_usize..250,
        id in proptest::option::of("result-[a-z]{5}"),
    ) {
        let bounds = OutputBounds { max_length, preview_length };
        let bounded = bound_output(&text, failed, &bounds, id.as_deref());
        let total = text.chars().count();
        prop_assert_eq!(bounded.original_characters, total);
        prop_assert_eq!(bounded.omitted, max_length.is_some_and(|max| total > max));
        if bounded.omitted {
            let kept = preview_length.min(max_length.unwrap());
            let head = if failed { kept / 4 } else { kept };
            prop_assert!(bounded.text.chars().count() <= kept + 300);
            let first: String = text.chars().take(head).collect();
            let last: String = text.chars().skip(total - (kept - head)).collect();
            prop_assert!(bounded.text.starts_with(&first));
            prop_assert!(bounded.text.ends_with(&last));
        } else {
            prop_assert_eq!(bounded.text, text);
        }
    }

    #[test]
    fn clipped_lines_are_short_and_keep_their_number(
        text in "(\\PC|\n|\r){0,400}",
        max_line in 40_usize..100,
    ) {
        let clipped = clip_lines(&text, max_line);
        prop_assert!(clipped.split('\n').all(|line| line.chars().count() <= max_line));
        prop_assert_eq!(clipped.matches('\n').count(), text.matches('\n').count());
        if text.split('\n').all(|line| line.chars().count() <= max_line) {
            prop_assert_eq!(clipped, text);
        }
    }
}
