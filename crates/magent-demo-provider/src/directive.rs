//! The directives in a prompt: what the model is to do, said by whoever asks it.
//!
//! | Directive | The model |
//! |---|---|
//! | `[[think TEXT]]` | thinks this |
//! | `[[say TEXT]]` | says this |
//! | `[[tool NAME JSON]]` | calls a tool, which ends the step |
//! | `[[par NAME JSON]]` | calls a tool in the same step as the next |
//! | `[[slow N]]` | says N words, 150 ms apart |
//! | `[[big N]]` | says N bytes at once, in deltas of 20 bytes |
//! | `[[half NAME]]` | calls a tool with arguments that are cut off, which ends the step |
//! | `[[http CODE]]` | answers with an HTTP error |
//! | `[[drop]]` | breaks the connection half way through the text |
//! | `[[hang]]` | says its text, then nothing, and keeps the connection open |
//! | `[[empty]]` | says nothing |
//!
//! Text outside of directives is not for the model.  In a text, single brackets and
//! nested pairs of them are fine as long as they are balanced; in JSON everything is.

use std::fmt;

use serde_json::{Deserializer, Value};

use crate::answer::Call;

/// More than anybody needs, and little enough to be held in memory.
const MOST_BYTES: u64 = 64 << 20;
const MOST_SLOW_WORDS: u64 = 100_000;

/// One directive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Directive {
    /// Think this.
    Think(String),
    /// Say this.
    Say(String),
    /// Call a tool and end the step.
    Tool(Call),
    /// Call a tool and go on with the step.
    Par(Call),
    /// Say so many words slowly.
    Slow(u64),
    /// Say so many bytes.
    Big(u64),
    /// Call this tool with cut arguments and end the step.
    Half(String),
    /// Answer with this HTTP status.
    Http(u16),
    /// Break the connection.
    Drop,
    /// Say nothing more.
    Hang,
    /// Say nothing.
    Empty,
}

/// A directive that cannot be followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BadDirective {
    name: &'static str,
    problem: String,
}

impl fmt::Display for BadDirective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the directive [[{}]] {}", self.name, self.problem)
    }
}

/// The names of all directives.
const NAMES: [&str; 11] = [
    "think", "say", "tool", "par", "slow", "big", "half", "http", "drop", "hang", "empty",
];

/// Finds the directives of a prompt.  Double brackets around anything else, as links in
/// Org files have them, are text like any other.
pub(crate) fn parse(prompt: &str) -> Result<Vec<Directive>, BadDirective> {
    let mut directives = Vec::new();
    let mut rest = prompt;
    while let Some(start) = rest.find("[[") {
        let inside = rest.get(start + 2..).unwrap_or_default();
        match head(inside) {
            Some((name, body)) => {
                let (directive, after) = directive(name, body)?;
                directives.push(directive);
                rest = after;
            }
            // One bracket on, as of three the last two may begin a directive.
            None => rest = rest.get(start + 1..).unwrap_or_default(),
        }
    }
    Ok(directives)
}

/// The name at the beginning and what follows it, or nothing if this is no directive.
fn head(text: &str) -> Option<(&'static str, &str)> {
    NAMES.into_iter().find_map(|name| {
        let body = text.strip_prefix(name)?;
        (body.starts_with("]]") || body.starts_with(char::is_whitespace))
            .then(|| (name, body.trim_start()))
    })
}

/// Reads the rest of a directive; returns what follows it, too.
fn directive<'a>(name: &'static str, body: &'a str) -> Result<(Directive, &'a str), BadDirective> {
    let bad = |problem: String| BadDirective { name, problem };
    if matches!(name, "tool" | "par") {
        let (call, after) = call(body).map_err(|problem| bad(problem.to_owned()))?;
        let directive = match name {
            "tool" => Directive::Tool(call),
            _ => Directive::Par(call),
        };
        return Ok((directive, after));
    }
    let (text, after) = text(body).ok_or_else(|| bad("is not closed".to_owned()))?;
    let word = text.trim();
    let nothing = |directive| match word {
        "" => Ok(directive),
        _ => Err(bad(format!("takes nothing, not {word:?}"))),
    };
    let directive = match name {
        "think" => Directive::Think(text.to_owned()),
        "say" => Directive::Say(text.to_owned()),
        "slow" => Directive::Slow(number(word, 0, MOST_SLOW_WORDS).map_err(bad)?),
        "big" => Directive::Big(number(word, 0, MOST_BYTES).map_err(bad)?),
        "http" => {
            let status = number(word, 400, 599).map_err(bad)?;
            Directive::Http(u16::try_from(status).unwrap_or(500))
        }
        "half" if word.is_empty() || word.contains(char::is_whitespace) => {
            return Err(bad("needs the name of a tool".to_owned()));
        }
        "half" => Directive::Half(word.to_owned()),
        "drop" => nothing(Directive::Drop)?,
        "hang" => nothing(Directive::Hang)?,
        _ => nothing(Directive::Empty)?,
    };
    Ok((directive, after))
}

fn number(word: &str, least: u64, most: u64) -> Result<u64, String> {
    word.parse()
        .ok()
        .filter(|number| (least..=most).contains(number))
        .ok_or_else(|| format!("needs a number from {least} to {most}, not {word:?}"))
}

/// Reads a tool's name, its arguments and the closing brackets.
fn call(body: &str) -> Result<(Call, &str), &'static str> {
    const NOT_CLOSED: &str = "is not closed";
    let end = body
        .char_indices()
        .find(|(at, char)| char.is_whitespace() || is_closed_at(body, *at))
        .map(|(at, _)| at)
        .ok_or(NOT_CLOSED)?;
    let (name, rest) = body.split_at(end);
    if name.is_empty() {
        return Err("needs the name of a tool");
    }
    let rest = rest.trim_start();
    let (arguments, after) = match json(rest) {
        Some(parts) => parts,
        // Anything goes: arguments that are no JSON are what a test may be about.
        None => text(rest).ok_or(NOT_CLOSED)?,
    };
    let arguments = match arguments.trim() {
        "" => "{}",
        arguments => arguments,
    };
    let call = Call {
        name: name.to_owned(),
        arguments: arguments.to_owned(),
    };
    Ok((call, after))
}

fn is_closed_at(text: &str, at: usize) -> bool {
    text.get(at..).is_some_and(|rest| rest.starts_with("]]"))
}

/// Splits after a JSON value that closing brackets follow.  The value knows best where
/// it ends: brackets in it, and in its strings, close nothing.
fn json(text: &str) -> Option<(&str, &str)> {
    let mut values = Deserializer::from_str(text).into_iter::<Value>();
    values.next()?.ok()?;
    let (value, rest) = text.split_at_checked(values.byte_offset())?;
    Some((value, rest.trim_start().strip_prefix("]]")?))
}

/// Splits before the brackets that close a text.
///
/// They are the first pair outside of all brackets of the text itself.  If those are not
/// balanced, the first pair of all closes the text.
fn text(body: &str) -> Option<(&str, &str)> {
    let end = balanced_end(body).or_else(|| first_end(body))?;
    let (text, rest) = body.split_at_checked(end)?;
    Some((text, rest.strip_prefix("]]")?))
}

fn balanced_end(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, char) in text.char_indices() {
        match char {
            '[' => depth += 1,
            ']' if depth > 0 => depth -= 1,
            ']' if is_closed_at(text, at) => return Some(at),
            _ => {}
        }
    }
    None
}

fn first_end(text: &str) -> Option<usize> {
    let first = text.find("]]")?;
    let tail = text.get(first..)?;
    // Of a longer run the last two close, the others are the text's.
    let run = tail.len() - tail.trim_start_matches(']').len();
    Some(first + run - 2)
}

#[cfg(test)]
#[path = "directive_tests.rs"]
mod tests;
