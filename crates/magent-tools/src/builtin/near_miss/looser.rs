//! Texts with the differences taken out that people and models overlook.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization as _;

/// A kind of difference that is easy to overlook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Difference {
    /// Tabs for spaces, or another number of them.
    Blanks,
    /// Another place or another character for a line break.
    LineBreaks,
    /// No-break and other special spaces, characters without width.
    SpecialSpaces,
    /// One character against a letter and a combining mark.
    UnicodeForm,
    /// Upper and lower case.
    Case,
    /// Typographic quotes and dashes for plain ones.
    Punctuation,
}

impl Difference {
    /// Every kind.
    pub(super) const ALL: [Self; 6] = [
        Self::Blanks,
        Self::LineBreaks,
        Self::SpecialSpaces,
        Self::UnicodeForm,
        Self::Case,
        Self::Punctuation,
    ];

    /// The kind in words.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Blanks => "whitespace (tabs or the number of spaces)",
            Self::LineBreaks => "line breaks",
            Self::SpecialSpaces => "special spaces (no-break or without width)",
            Self::UnicodeForm => "Unicode form (composed or decomposed characters)",
            Self::Case => "letter case",
            Self::Punctuation => "typographic quotes or dashes",
        }
    }
}

/// A text without the differences that are easy to overlook, and where its lines
/// begin in it.
pub(super) struct Loosened {
    text: String,
    line_starts: Vec<usize>,
    kept: Option<Difference>,
}

impl Loosened {
    /// Loosens a text; differences of the kind `kept` stay.
    pub(super) fn new(text: &str, kept: Option<Difference>) -> Self {
        let mut loose = String::with_capacity(text.len());
        let mut line_starts = Vec::new();
        for line in text.split_inclusive('\n') {
            line_starts.push(loose.len());
            loosen_into(line, kept, &mut loose);
        }
        Self {
            text: loose,
            line_starts,
            kept,
        }
    }

    /// The first and last line, from 0, of the first place with the loosened text.
    pub(super) fn find(&self, wanted: &str) -> Option<(usize, usize)> {
        let mut loose = String::new();
        loosen_into(wanted, self.kept, &mut loose);
        if loose.is_empty() {
            return None;
        }
        let start = self.text.find(&loose)?;
        let end = start + loose.len() - 1;
        Some((self.line_at(start), self.line_at(end)))
    }

    fn line_at(&self, offset: usize) -> usize {
        // Of several lines that are empty when loosened, the last one holds the text.
        self.line_starts
            .partition_point(|start| *start <= offset)
            .saturating_sub(1)
    }
}

/// A line without any difference that is easy to overlook.
pub(super) fn loosen(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    loosen_into(line, None, &mut out);
    out
}

fn loosen_into(text: &str, kept: Option<Difference>, out: &mut String) {
    let drops = |difference: Difference| kept != Some(difference);
    let text: Cow<'_, str> = if text.is_ascii() || !drops(Difference::UnicodeForm) {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(text.nfc().collect())
    };
    for mut character in text.chars() {
        if drops(Difference::SpecialSpaces) {
            if is_invisible(character) {
                continue;
            }
            if is_special_space(character) {
                character = ' ';
            }
        }
        if drops(Difference::Blanks) && matches!(character, ' ' | '\t') {
            continue;
        }
        if drops(Difference::LineBreaks) && is_line_break(character) {
            continue;
        }
        if drops(Difference::Punctuation) {
            character = plain_punctuation(character);
        }
        if drops(Difference::Case) {
            out.extend(character.to_lowercase());
        } else {
            out.push(character);
        }
    }
}

fn is_line_break(character: char) -> bool {
    matches!(
        character,
        '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}'
    )
}

/// Whether a character looks like a space and is none.
pub(super) fn is_special_space(character: char) -> bool {
    matches!(
        character,
        '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}'
    )
}

/// Whether a character has no width.
pub(super) fn is_invisible(character: char) -> bool {
    matches!(
        character,
        '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}'
            | '\u{feff}'
    )
}

fn plain_punctuation(character: char) -> char {
    match character {
        '\u{2018}' | '\u{2019}' | '\u{201b}' | '\u{2032}' => '\'',
        '\u{201c}' | '\u{201d}' | '\u{201f}' | '\u{2033}' => '"',
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        _ => character,
    }
}
