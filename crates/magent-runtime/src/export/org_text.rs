//! Text that Org takes for text.

/// A character that Org does not see: between two others it keeps them from meaning
/// something.
pub(super) const NOTHING: char = '\u{200b}';

/// A block of code, or of anything that is to be read to the letter.
pub(super) fn block(language: &str, text: &str) -> String {
    let mut lines = String::new();
    for line in text.lines() {
        let code = line.trim_start();
        let inner = code.trim_start_matches(',');
        // Org takes a comma away before these.
        if inner.starts_with('*') || inner.starts_with("#+") {
            let indentation = &line[..line.len() - code.len()];
            lines.push_str(&format!("{indentation},{code}\n"));
        } else {
            lines.push_str(&format!("{line}\n"));
        }
    }
    // The language becomes a word of its line.
    match language.split_whitespace().next() {
        Some(language) => format!("#+begin_src {language}\n{lines}#+end_src\n"),
        None => format!("#+begin_example\n{lines}#+end_example\n"),
    }
}

/// Plain text that means nothing else in Org.
pub(super) fn escaped(text: &str) -> String {
    escaped_after(None, text)
}

/// The same after a character of its line, if there is one.
pub(super) fn escaped_after(mut previous: Option<char>, text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut characters = text.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        if begins_line(previous) && is_line_mark(&text[at..]) {
            out.push(NOTHING);
        }
        out.push(character);
        let next = characters.peek().map(|(_, next)| *next);
        if let Some(next) = next
            && is_inline_mark(previous, character, next)
        {
            out.push(NOTHING);
        }
        previous = Some(character);
    }
    out
}

fn begins_line(previous: Option<char>) -> bool {
    previous.is_none_or(|previous| previous == '\n')
}

/// Whether a line that begins so is more than text: a headline, list, table, keyword,
/// drawer or fixed-width line.
fn is_line_mark(line: &str) -> bool {
    let line = line.trim_start_matches([' ', '\t']);
    let digits = line.trim_start_matches(|character: char| character.is_ascii_digit());
    let is_numbered = digits.len() < line.len() && digits.starts_with(['.', ')']);
    is_numbered
        || line.starts_with(['*', '#', '|', ':'])
        || ["- ", "+ ", "-----", "\\begin{", "[fn:", "%%("]
            .iter()
            .any(|mark| line.starts_with(mark))
}

fn is_inline_mark(previous: Option<char>, character: char, next: char) -> bool {
    match character {
        '*' | '/' | '_' | '=' | '~' | '+' => {
            previous.is_none_or(may_precede_mark) && !next.is_whitespace()
        }
        '[' => matches!(next, '[' | 'f'),
        '{' => next == '{',
        '@' => next == '@',
        '<' => matches!(next, '<' | '%') || next.is_alphanumeric(),
        '$' => !next.is_whitespace(),
        '\\' => next.is_alphabetic() || matches!(next, '\\' | '(' | '['),
        '^' => next == '{',
        _ => false,
    }
}

/// Where Org sees the beginning of emphasis.
pub(super) fn may_precede_mark(previous: char) -> bool {
    previous.is_whitespace() || matches!(previous, '-' | '(' | '\'' | '"' | '{' | NOTHING)
}

/// Where Org sees the end of emphasis.
pub(super) fn may_follow_mark(next: char) -> bool {
    next.is_whitespace()
        || matches!(
            next,
            '-' | '.' | ',' | ';' | ':' | '!' | '?' | '\'' | '"' | ')' | '}' | '[' | '\\' | NOTHING
        )
}
