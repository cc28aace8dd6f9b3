//! The patterns of the tool `glob`.
//!
//! `**/` is any number of folders, `**` anything, `*` anything within a name, `?`
//! one character of a name; everything else stands for itself.

use grep_matcher::Matcher as _;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};

/// A pattern ready to be matched.
#[derive(Clone, Debug)]
pub(crate) struct GlobPattern {
    matcher: RegexMatcher,
    /// The folders before the first wildcard, each with its slash.
    fixed: String,
}

impl GlobPattern {
    /// Reads a pattern.  A backslash counts as a slash, and `./` at the beginning
    /// is dropped.
    pub(crate) fn new(pattern: &str) -> Result<Self, String> {
        let pattern = pattern.replace('\\', "/");
        let mut pattern = pattern.as_str();
        while let Some(rest) = pattern.strip_prefix("./") {
            pattern = rest.trim_start_matches('/');
        }
        if pattern.is_empty() {
            return Err("the pattern is empty".to_owned());
        }
        let matcher = RegexMatcherBuilder::new()
            .dot_matches_new_line(true)
            .build(&to_regex(pattern))
            .map_err(|error| error.to_string())?;
        let fixed = match pattern.find(['*', '?']) {
            Some(wildcard) => &pattern[..wildcard],
            None => pattern,
        };
        let folders = fixed.rfind('/').map_or(0, |slash| slash + 1);
        Ok(Self {
            matcher,
            fixed: fixed[..folders].to_owned(),
        })
    }

    /// Whether a path, relative and with slashes, fits.
    pub(crate) fn matches(&self, path: &str) -> bool {
        // This matcher cannot fail; an error would mean that nothing was found.
        self.matcher.is_match(path.as_bytes()).unwrap_or(false)
    }

    /// Whether something below this folder could fit.
    pub(crate) fn may_match_below(&self, folder: &str) -> bool {
        let folder = format!("{folder}/");
        self.fixed.starts_with(&folder) || folder.starts_with(&self.fixed)
    }
}

fn to_regex(pattern: &str) -> String {
    let mut regex = String::from(r"\A");
    let mut rest = pattern;
    while let Some(character) = rest.chars().next() {
        let (length, part) = if rest.starts_with("**/") {
            (3, "(?:.*/)?")
        } else if rest.starts_with("**") {
            (2, ".*")
        } else if character == '*' {
            (1, "[^/]*")
        } else if character == '?' {
            (1, "[^/]")
        } else {
            // An escaped angle bracket would be the edge of a word.
            if character.is_ascii_punctuation() && !matches!(character, '<' | '>') {
                regex.push('\\');
            }
            regex.push(character);
            rest = &rest[character.len_utf8()..];
            continue;
        };
        regex.push_str(part);
        rest = &rest[length..];
    }
    regex.push_str(r"\z");
    regex
}

#[cfg(test)]
#[path = "glob_pattern_tests.rs"]
mod tests;
