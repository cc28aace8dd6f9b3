use proptest::prelude::*;

use super::*;

fn numbered(count: usize) -> String {
    (1..=count)
        .map(|number| format!("line {number}\n"))
        .collect()
}

/// Case 2: without a range a page has 200 lines.
#[test]
fn a_page_has_at_most_the_lines_that_were_asked_for() {
    let page = LinePage::of(&numbered(500), 1, 200);
    assert_eq!(page.lines, Some((1, 200)));
    assert_eq!((page.total, page.next_line()), (500, Some(201)));
    assert!(page.text.ends_with("line 200\n"));
}

#[test]
fn a_page_ends_on_a_line_before_it_is_too_long() {
    let text = format!("{}\n", "x".repeat(99)).repeat(200);
    let page = LinePage::of(&text, 1, 200);
    assert_eq!(page.lines, Some((1, 80)));
    assert_eq!(page.text.len(), 8_000);
}

/// Case 3: one line of 20000 characters is whole.
#[test]
fn one_long_line_is_whole() {
    let page = LinePage::of(&"x".repeat(20_000), 1, 200);
    assert_eq!(page.text.len(), 20_000);
    assert_eq!((page.lines, page.next_line()), (Some((1, 1)), None));
    // It does not share its page.
    let text = format!("a\n{}\nb\n", "x".repeat(20_000));
    assert_eq!(LinePage::of(&text, 1, 200).lines, Some((1, 1)));
    assert_eq!(LinePage::of(&text, 2, 200).lines, Some((2, 2)));
}

#[test]
fn a_monstrous_line_is_cut_and_says_so() {
    let page = LinePage::of(&format!("{}\nb", "é".repeat(2_000_000)), 1, 1);
    assert!(page.text.ends_with(" [... 1800000 characters cut]\n"));
    assert_eq!(page.next_line(), Some(2));
}

/// Case 4: a start beyond the end is an empty page.
#[test]
fn a_start_beyond_the_end_is_an_empty_page() {
    for (text, total) in [("", 0), ("a\nb\n", 2), ("a\nb", 2)] {
        let page = LinePage::of(text, 3, 200);
        assert_eq!((page.lines, page.total), (None, total));
        assert_eq!((page.next_line(), page.text.as_str()), (None, ""));
    }
}

proptest! {
    #[test]
    fn pages_joined_are_the_text(
        text in "([a-zé]{0,30}\n){0,200}[a-z]{0,9}",
        count in 1_usize..60,
    ) {
        let mut joined = String::new();
        let mut next = Some(1);
        while let Some(start) = next {
            let page = LinePage::of(&text, start, count);
            prop_assert!(page.text.chars().count() <= PAGE_CHARACTERS);
            joined.push_str(&page.text);
            next = page.next_line();
        }
        prop_assert_eq!(joined, text);
    }
}
