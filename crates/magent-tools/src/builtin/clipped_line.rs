//! Long lines in search results: the part around the match.

/// Characters before the match that are kept.
const LEAD: usize = 100;

/// A line as text, at most `limit` characters of it, around the match at the given
/// bytes.  Markers tell how many characters were cut on each side; bytes that are
/// not UTF-8 are replaced.
pub(crate) fn clip_around(line: &[u8], start: usize, end: usize, limit: usize) -> String {
    // A line has at most one character per byte.
    if line.len() <= limit {
        return String::from_utf8_lossy(line).into_owned();
    }
    let before = String::from_utf8_lossy(&line[..start]);
    let matched = String::from_utf8_lossy(&line[start..end]);
    let after = String::from_utf8_lossy(&line[end..]);
    let before_length = before.chars().count();
    let length = before_length + matched.chars().count() + after.chars().count();
    if length <= limit {
        return [before, matched, after].concat();
    }
    // Near the end of the line there is more room before the match.
    let first = before_length.saturating_sub(LEAD).min(length - limit);
    let last = first + limit;
    let shown: String = before
        .chars()
        .chain(matched.chars())
        .chain(after.chars())
        .skip(first)
        .take(limit)
        .collect();
    let mut clipped = String::with_capacity(shown.len() + 64);
    if first > 0 {
        clipped.push_str(&format!("[{first} characters cut ...] "));
    }
    clipped.push_str(&shown);
    if last < length {
        clipped.push_str(&format!(" [... {} characters cut]", length - last));
    }
    clipped
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn clipped_lines_are_short_and_count_right(
            line in "[a-cé€]{0,60}",
            ends in (0_usize..200, 0_usize..200),
            limit in 1_usize..40,
        ) {
            let (start, end) = (ends.0.min(ends.1), ends.0.max(ends.1));
            let (start, end) = (start.min(line.len()), end.min(line.len()));
            let clipped = clip_around(line.as_bytes(), start, end, limit);
            prop_assert!(clipped.chars().count() <= limit + 60);
            if line.chars().count() <= limit && line.is_char_boundary(start)
                && line.is_char_boundary(end)
            {
                prop_assert_eq!(clipped, line);
            }
        }
    }

    #[test]
    fn short_lines_are_whole() {
        assert_eq!(clip_around("grün".as_bytes(), 0, 2, 400), "grün");
        assert_eq!(clip_around(b"a\xffb", 0, 1, 400), "a\u{fffd}b");
    }

    /// E5: a match inside a line of 600 KB.
    #[test]
    fn long_lines_are_shown_around_the_match() {
        let line = format!("{}needle{}", "é".repeat(300_000), "x".repeat(1_000));
        let start = line.find("needle").unwrap();
        let clipped = clip_around(line.as_bytes(), start, start + 6, 400);
        assert!(clipped.starts_with("[299900 characters cut ...] éé"));
        assert!(clipped.contains("éneedlex"));
        assert!(clipped.ends_with("x [... 706 characters cut]"), "{clipped}");
    }

    #[test]
    fn a_match_at_either_end_uses_the_whole_room() {
        let line = format!("needle{}", "x".repeat(1_000));
        let clipped = clip_around(line.as_bytes(), 0, 6, 400);
        assert!(clipped.starts_with("needlex"));
        assert!(clipped.ends_with(" [... 606 characters cut]"));
        let line = format!("{}needle", "x".repeat(1_000));
        let clipped = clip_around(line.as_bytes(), 1_000, 1_006, 400);
        assert!(clipped.starts_with("[606 characters cut ...] xx"));
        assert!(clipped.ends_with("xneedle"));
    }
}
