//! JSON as other programs write it.

use std::borrow::Cow;

use serde_json::Value;

/// Reads JSON, with a replacement character for each half of a surrogate pair.
///
/// JavaScript and Python write such halves when a text was cut between two pieces of an
/// emoji; they are no Unicode, but no reason to lose the rest of the message either.
pub fn parse_json(text: &str) -> serde_json::Result<Value> {
    serde_json::from_str(text).or_else(|error| match replace_lone_surrogates(text) {
        Cow::Owned(repaired) => serde_json::from_str(&repaired),
        Cow::Borrowed(_) => Err(error),
    })
}

fn replace_lone_surrogates(text: &str) -> Cow<'_, str> {
    let mut repaired = String::new();
    // Up to here the text is copied.
    let mut copied = 0;
    let mut position = 0;
    while let Some(found) = text[position..].find('\\') {
        let start = position + found;
        let unit = escaped_unit(&text[start..]);
        position = match unit {
            Some(0xd800..=0xdbff)
                if matches!(escaped_unit(&text[start + 6..]), Some(0xdc00..=0xdfff)) =>
            {
                start + 12
            }
            Some(0xd800..=0xdfff) => {
                repaired.push_str(&text[copied..start]);
                repaired.push_str("\\ufffd");
                copied = start + 6;
                copied
            }
            Some(_) => start + 6,
            // A backslash and what it escapes, which may be another one.
            None => {
                let escaped = text[start + 1..].chars().next();
                start + 1 + escaped.map_or(0, char::len_utf8)
            }
        };
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    repaired.push_str(&text[copied..]);
    Cow::Owned(repaired)
}

/// The UTF-16 unit of an escape `\uXXXX` at the start of the text.
fn escaped_unit(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    u16::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn halves_of_pairs_are_replaced_and_pairs_are_kept() {
        for (text, expected) in [
            (r#""a\ud83db""#, "a\u{fffd}b"),
            (r#""\uDE00""#, "\u{fffd}"),
            (r#""\ud83d\ude00\ud83d""#, "😀\u{fffd}"),
            (r#""\ud83d\ud83d\ude00""#, "\u{fffd}😀"),
            (r#""\ud83d\u0041""#, "\u{fffd}A"),
            (r#""\\ud83d \ud83d漢""#, "\\ud83d \u{fffd}漢"),
        ] {
            assert_eq!(parse_json(text).unwrap(), json!(expected), "{text}");
        }
    }

    #[test]
    fn other_mistakes_stay_mistakes() {
        for text in ["", "{", r#""\ud83"#, r#""\ud83d"#, r#""\u""#, "\"\\"] {
            assert!(parse_json(text).is_err(), "{text}");
        }
    }
}
