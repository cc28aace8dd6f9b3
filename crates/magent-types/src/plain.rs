//! Texts that others wrote, fit to be shown: without what a terminal would obey, and no
//! longer than people read.

/// Takes terminal control sequences out: a text display can only show them as noise.
/// A carriage return that redraws a line (progress bars) becomes a new line.
pub fn strip_controls(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\u{1b}' => skip_sequence(&mut characters),
            '\r' => {
                if characters.peek() != Some(&'\n') {
                    out.push('\n');
                }
            }
            '\n' | '\t' => out.push(character),
            '\u{8}' => {
                out.pop();
            }
            character if character.is_control() => {}
            character => out.push(character),
        }
    }
    out
}

/// Skips the rest of an escape sequence: CSI up to its final byte, OSC up to its
/// terminator, anything else one character.
fn skip_sequence(characters: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    match characters.next() {
        Some('[') => {
            for character in characters.by_ref() {
                if ('\u{40}'..='\u{7e}').contains(&character) {
                    break;
                }
            }
        }
        Some(']') => {
            while let Some(character) = characters.next() {
                if character == '\u{7}' {
                    break;
                }
                if character == '\u{1b}' {
                    characters.next();
                    break;
                }
            }
        }
        _ => {}
    }
}

/// A text of at most `limit` characters; the last is an ellipsis if something is missing.
pub fn shorten(text: &str, limit: usize) -> String {
    // A text has at least one byte per character.
    if text.len() <= limit || text.chars().nth(limit).is_none() {
        return text.to_owned();
    }
    text.chars()
        .take(limit.saturating_sub(1))
        .chain(['…'])
        .collect()
}

/// Most characters that an error or a title shows of a name that somebody made up.
const LONGEST_NAME: usize = 200;

/// A name, a path or another short thing as errors and titles quote it: one line of bounded
/// length, whoever made it up.
pub fn short(name: &str) -> String {
    // What is not shown need not be looked at, however long it is.
    let end = name.char_indices().nth(2 * LONGEST_NAME);
    let head = end.map_or(name, |(end, _)| &name[..end]);
    shorten(&one_line(head), LONGEST_NAME)
}

/// A text in which whatever could break or reorder a line is a space.
pub fn one_line(text: &str) -> String {
    text.chars()
        .map(|character| {
            if is_disruptive(character) {
                ' '
            } else {
                character
            }
        })
        .collect::<String>()
        .trim()
        .to_owned()
}

/// Whether a character could break or reorder a line: control characters, line and
/// paragraph separators, direction overrides.
pub fn is_disruptive(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{2028}' | '\u{2029}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}'
                | '\u{2066}'..='\u{2069}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_sequences_are_gone_and_text_stays() {
        assert_eq!(strip_controls("\u{1b}[31mred\u{1b}[0m 漢"), "red 漢");
        assert_eq!(
            strip_controls("\u{1b}]0;title\u{7}a\u{1b}]8;;x\u{1b}\\b"),
            "ab"
        );
        assert_eq!(strip_controls("10%\r20%\r\ndone\n"), "10%\n20%\ndone\n");
        assert_eq!(strip_controls("ab\u{8}c\u{0}\u{1b}"), "ac");
    }

    #[test]
    fn names_are_one_short_line() {
        assert_eq!(short(" a\nb\u{1b}\u{202e}c "), "a b  c");
        let long = short(&"漢\n".repeat(1_000_000));
        assert_eq!(long.chars().count(), LONGEST_NAME);
        assert!(long.ends_with('…'));
    }

    #[test]
    fn long_texts_end_in_an_ellipsis() {
        assert_eq!(shorten("漢字漢字", 4), "漢字漢字");
        assert_eq!(shorten("漢字漢字漢", 4), "漢字漢…");
        assert_eq!(shorten("", 0), "");
    }
}
