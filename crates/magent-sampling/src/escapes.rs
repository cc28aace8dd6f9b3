//! Secrets of which some characters are spelled with the escapes of JSON or of URLs.

use crate::redact::REDACTED;
use crate::secrets::percent_byte;

/// A text together with what it means.
pub(crate) struct Unescaped {
    text: String,
    /// The text with its escapes read.
    meant: Vec<u8>,
    /// For each byte of that, and for its end, the place in the text where it is written.
    places: Vec<usize>,
}

impl Unescaped {
    /// Reads the escapes of a text.
    pub(crate) fn read(text: String) -> Self {
        let (meant, places) = unescaped(&text);
        Self {
            text,
            meant,
            places,
        }
    }

    /// Removes a secret, however it is spelled.
    pub(crate) fn remove(&mut self, secret: &str) {
        let wanted = secret.as_bytes();
        let mut cleaned = String::new();
        // Up to here the text is copied, and its meaning searched.
        let (mut copied, mut searched) = (0, 0);
        while let Some(found) = find(&self.meant[searched..], wanted) {
            let start = searched + found;
            searched = start + wanted.len();
            cleaned.push_str(&self.text[copied..self.places[start]]);
            cleaned.push_str(REDACTED);
            copied = self.places[searched];
        }
        if copied > 0 {
            cleaned.push_str(&self.text[copied..]);
            *self = Self::read(cleaned);
        }
    }

    /// The text as it is now.
    pub(crate) fn into_text(self) -> String {
        self.text
    }
}

fn find(text: &[u8], wanted: &[u8]) -> Option<usize> {
    let first = *wanted.first()?;
    text.windows(wanted.len())
        .position(|window| window[0] == first && window == wanted)
}

/// What a text means, and where each byte of that is written.
fn unescaped(text: &str) -> (Vec<u8>, Vec<usize>) {
    let mut meant = Vec::with_capacity(text.len());
    let mut places = Vec::with_capacity(text.len() + 1);
    let mut place = 0;
    while let Some(first) = text[place..].chars().next() {
        let rest = &text[place..];
        let known = meant.len();
        let length = if let Some((character, length)) = json_escape(rest) {
            meant.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            length
        } else if let Some(byte) = percent_byte(rest.as_bytes()) {
            meant.push(byte);
            3
        } else {
            meant.extend_from_slice(first.encode_utf8(&mut [0; 4]).as_bytes());
            first.len_utf8()
        };
        places.resize(places.len() + meant.len() - known, place);
        place += length;
    }
    places.push(place);
    (meant, places)
}

/// The character that an escape of JSON at the start stands for, and the escape's length.
fn json_escape(text: &str) -> Option<(char, usize)> {
    let escape = text.strip_prefix('\\')?;
    let character = match escape.as_bytes().first()? {
        b'u' => return unicode_escape(escape),
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        character @ (b'"' | b'\\' | b'/') => char::from(*character),
        _ => return None,
    };
    Some((character, 2))
}

/// Like [`json_escape`], for what follows the backslash of `\uXXXX` or of a pair of those.
fn unicode_escape(escape: &str) -> Option<(char, usize)> {
    let unit = |text: &str| u16::from_str_radix(text.get(1..5)?, 16).ok();
    let first = unit(escape)?;
    let second = escape
        .get(5..)
        .and_then(|rest| rest.strip_prefix('\\'))
        .filter(|rest| rest.starts_with('u'))
        .and_then(unit);
    if let Some(character) = char::from_u32(u32::from(first)) {
        return Some((character, 6));
    }
    let pair = char::decode_utf16([first, second?]).next()?.ok()?;
    Some((pair, 12))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_found_however_its_characters_are_escaped() {
        for (text, cleaned) in [
            (
                r#"{"a":"sk\u002Dk\u00e9y\/1 \n"}"#,
                r#"{"a":"<redacted> \n"}"#,
            ),
            (r"sk-k\u00E9y/1sk-k\u00e9y/1", "<redacted><redacted>"),
            ("at sk-k%C3%a9y%2f1&b", "at <redacted>&b"),
            ("sk%2dk\\u00e9y/1", "<redacted>"),
            (r"sk\\u002Dk\u00e9y/1", r"sk\\u002Dk\u00e9y/1"),
            (r"sk\u002", r"sk\u002"),
            (r"\", r"\"),
            ("100 % of \\ud83d\\", "100 % of \\ud83d\\"),
            (r"a \ud83d\ude00-word %", "a <redacted> %"),
        ] {
            let mut text = Unescaped::read(text.to_owned());
            text.remove("sk-kéy/1");
            text.remove("😀-word");
            assert_eq!(text.into_text(), cleaned);
        }
    }
}
