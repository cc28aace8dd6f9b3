//! How calls and paths look in one line: titles, headers and result lines.
//!
//! Everything here ends up in front of a person or in a line-based result, so no
//! character may break the line, reorder it or make it endless.

use magent_types::{is_disruptive, one_line, shorten};

use crate::{Call, ToolContext};

/// Most characters of a title.
pub(crate) const TITLE_CHARACTERS: usize = 120;

/// Cuts a title to its bound and makes it one line.
pub(crate) fn title(text: &str) -> String {
    shorten(&one_line(text), TITLE_CHARACTERS)
}

/// A path in a title, without its middle if it is long, since its name is what
/// people look for.
pub(crate) fn title_path(path: &str) -> String {
    const LIMIT: usize = 80;
    let path = one_line(path);
    let total = path.chars().count();
    if total <= LIMIT {
        return path;
    }
    let head: String = path.chars().take(LIMIT / 4).collect();
    let tail: String = path.chars().skip(total - (LIMIT - LIMIT / 4 - 1)).collect();
    format!("{head}…{tail}")
}

/// The path of a call in its title.
pub(crate) fn call_path(call: &Call, context: &ToolContext) -> String {
    title_path(&match &call.resource {
        Some(resource) => context.display_path(resource.path()),
        None => call.text("path").to_owned(),
    })
}

/// A file name for a result line.  A name that could be taken for the start of
/// another line is spelled with escapes; it is rare and cannot be used as it is.
pub(crate) fn result_path(path: &str) -> String {
    if path.chars().any(is_disruptive) {
        path.chars()
            .flat_map(|character| {
                let escape = is_disruptive(character);
                let escaped = escape.then(|| character.escape_default());
                escaped
                    .into_iter()
                    .flatten()
                    .chain((!escape).then_some(character))
            })
            .collect()
    } else {
        path.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_are_one_bounded_line() {
        assert_eq!(title("Read a\nb\u{1b}[2K\u{202e}c"), "Read a b [2K c");
        let long = title(&"x".repeat(500));
        assert_eq!(long.chars().count(), TITLE_CHARACTERS);
        assert!(long.ends_with('…'));
    }

    #[test]
    fn long_paths_keep_their_name() {
        let path = format!("{}/name.rs", "folder/".repeat(50));
        let short = title_path(&path);
        assert!(short.chars().count() <= 80);
        assert!(short.ends_with("/name.rs"));
        assert_eq!(title_path("src/a.rs"), "src/a.rs");
    }

    #[test]
    fn names_cannot_pretend_to_be_lines() {
        assert_eq!(result_path("a\nb:1:x"), "a\\nb:1:x");
        assert_eq!(result_path("grün.rs"), "grün.rs");
    }
}
