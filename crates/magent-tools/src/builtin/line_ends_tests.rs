use super::*;

#[test]
fn line_ends_are_told_apart() {
    for (text, ends) in [
        ("", LineEnds::Lf),
        ("a", LineEnds::Lf),
        ("a\nb\n", LineEnds::Lf),
        ("10%\r20%\ndone\n", LineEnds::Lf),
        ("a\r\nb\r\n", LineEnds::Crlf),
        ("a\rx\r\nb", LineEnds::Crlf),
        ("a\rb\r", LineEnds::Cr),
        ("a\nb\r\n", LineEnds::Mixed),
    ] {
        assert_eq!(LineEnds::of(text), ends, "{text:?}");
    }
}

#[test]
fn offsets_never_fall_inside_a_pair() {
    let raw = "a\r\nbc\nd\r\n";
    let shown = LineEnds::Mixed.to_feeds(raw);
    assert_eq!(shown, "a\nbc\nd\n");
    let offsets: Vec<usize> = (0..=shown.len())
        .map(|offset| LineEnds::Mixed.raw_offset(raw, offset))
        .collect();
    assert_eq!(offsets, [0, 1, 3, 4, 5, 6, 7, 9]);
}

#[test]
fn a_changed_part_keeps_the_line_ends_of_its_lines() {
    let raw = "one\r\ntwo\nthree\r\nfour\n";
    let restore = |from: usize, to: usize, new: &str| LineEnds::Mixed.restore(raw, from, to, new);
    // A changed line in the middle; its neighbours are untouched.
    assert_eq!(restore(0, 16, "one\n2\nthree\n"), "one\r\n2\nthree\r\n");
    // Added lines follow the line above them.
    assert_eq!(restore(0, 5, "one\nnew\n"), "one\r\nnew\r\n");
    // A part within a line looks at the line's own end.
    assert_eq!(restore(5, 8, "a\nb"), "a\nb");
    assert_eq!(restore(9, 14, "a\nb"), "a\r\nb");
}

#[test]
fn uniform_files_get_their_own_line_end() {
    assert_eq!(LineEnds::Crlf.restore("x", 0, 1, "a\nb"), "a\r\nb");
    assert_eq!(LineEnds::Cr.restore("x", 0, 1, "a\nb"), "a\rb");
    assert_eq!(LineEnds::Lf.restore("x", 0, 1, "a\nb"), "a\nb");
}
