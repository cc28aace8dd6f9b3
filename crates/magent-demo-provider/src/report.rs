//! Reads what tools reported.

use crate::words::shortened;

/// The digits of a revision.
const REVISION_DIGITS: usize = 64;

/// The most characters of an error or an output that the model repeats.
const LONGEST_QUOTE: usize = 120;

/// How a call ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It did what it should; this is its result.
    Done(String),
    /// The user or the rules did not let it run.
    Refused,
    /// The file to read does not exist.
    Missing,
    /// It went wrong, for this reason.
    Failed(String),
}

impl Outcome {
    /// Whether it did what it should.
    pub(crate) fn is_done(&self) -> bool {
        matches!(self, Self::Done(_))
    }

    /// How a call of this tool ended, by its result.
    ///
    /// The tools that change or read a file prove their success; a command may put out
    /// anything, so there the mark of a failure decides.
    pub(crate) fn of(tool: &str, result: &str) -> Self {
        let (mark, rest) = match result.split_once('\n') {
            Some((mark, rest)) if mark.starts_with("[status=") => (mark, rest),
            _ => ("", result),
        };
        let done = match tool {
            "read_file" => result.starts_with("[read_file "),
            "write_file" | "edit_file" => result.contains("New revision: "),
            _ => mark.is_empty() && !result.is_empty() && !is_interrupted(result),
        };
        if done {
            return Self::Done(result.to_owned());
        }
        let told = |code: &str| mark.split([' ', ']']).any(|field| field == code);
        let reason = first_line(rest);
        let words = reason.to_lowercase();
        if told("code=permission-denied") || words.contains("the user refused") {
            Self::Refused
        } else if tool == "read_file" && (told("code=not_found") || words.contains("no such file"))
        {
            Self::Missing
        } else {
            Self::Failed(reason)
        }
    }
}

/// What stands in the place of a result if a turn was cut off.
fn is_interrupted(result: &str) -> bool {
    result.starts_with("The call was ")
}

/// The first line that says something.
pub(crate) fn first_line(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty());
    shortened(line.unwrap_or_default(), LONGEST_QUOTE)
}

/// The last revision that a text mentions: a word of 64 hexadecimal digits.
pub(crate) fn newest_revision(text: &str) -> Option<&str> {
    text.rsplit(|char: char| !char.is_ascii_alphanumeric() && char != '_')
        .find(|word| {
            word.len() == REVISION_DIGITS
                && word
                    .bytes()
                    .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn success_is_proved_or_at_least_not_denied() {
        let done = |tool: &str, result: &str| Outcome::of(tool, result).is_done();
        assert!(done(
            "read_file",
            "[read_file source=disk revision=x]\nThe user refused"
        ));
        assert!(done(
            "edit_file",
            "Edited a (line 1): +1 -1 lines. New revision: x"
        ));
        assert!(done("bash", "permission denied, said the user"));
        assert!(!done("bash", ""));
        assert!(!done(
            "bash",
            "The call was interrupted. Whether it took effect is unknown."
        ));
        assert!(!done("read_file", ""));
        assert!(!done("write_file", "Access denied"));
    }

    #[test]
    fn refusals_missing_files_and_other_failures_are_told_apart() {
        let refused = "[status=failed exit_code=unavailable code=permission-denied]\nNo.";
        assert_eq!(Outcome::of("bash", refused), Outcome::Refused);
        let refused = "The user refused this call. Do not try to reach the same by other means.";
        assert_eq!(Outcome::of("edit_file", refused), Outcome::Refused);
        let missing = "[status=failed exit_code=unavailable code=not_found]\n\
                       cannot read notes.txt: there is no such file";
        assert_eq!(Outcome::of("read_file", missing), Outcome::Missing);
        let failed = "[status=failed exit_code=1 code=exit]\nthe command exited with status 1\n\n0";
        assert_eq!(
            Outcome::of("bash", failed),
            Outcome::Failed("the command exited with status 1".into())
        );
    }

    #[test]
    fn a_revision_is_a_word_of_its_own() {
        let (old, new) = ("0".repeat(64), "a1".repeat(32));
        let text = format!("x={old} revision={new} {new}0 {}", new.to_uppercase());
        assert_eq!(newest_revision(&text), Some(new.as_str()));
        assert_eq!(
            newest_revision(&format!("sha256:{old}.")),
            Some(old.as_str())
        );
        assert_eq!(newest_revision("none"), None);
    }
}
