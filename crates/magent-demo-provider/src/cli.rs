//! The command line.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// What `--help` says.
pub(crate) const USAGE: &str = "\
usage: magent-demo-provider [--port N] [--url-file FILE] [--until-eof] [--delay-ms N]

A scripted model server on 127.0.0.1 that speaks the OpenAI chat dialect.

  --port N         listen on port N; default 0, any free port
  --url-file FILE  write the base URL to FILE when ready
  --until-eof      exit when stdin is closed
  --delay-ms N     pause between words; default 25";

/// The pause between words that looks like a quick model.
const DEFAULT_DELAY: u64 = 25;

/// More than this between two words is a slip of the finger.
const LONGEST_DELAY: u64 = 60_000;

/// What the program is to do.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Command {
    /// Tell how it is used.
    Help,
    /// Serve.
    Serve(Options),
}

/// How to serve.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Options {
    /// The port, 0 for any free one.
    pub(crate) port: u16,
    /// Where to write the base URL.
    pub(crate) url_file: Option<PathBuf>,
    /// Whether the end of stdin ends the program.
    pub(crate) until_eof: bool,
    /// The pause between words.
    pub(crate) delay: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            port: 0,
            url_file: None,
            until_eof: false,
            delay: Duration::from_millis(DEFAULT_DELAY),
        }
    }
}

/// A command line that makes no sense.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum UsageError {
    /// An option or argument that does not exist.
    Unknown(String),
    /// An option at the end that needs a value.
    NoValue(&'static str),
    /// A value that is no number in range.
    BadNumber {
        /// The option.
        option: &'static str,
        /// What was given.
        given: String,
        /// The greatest number it takes.
        most: u64,
    },
}

impl fmt::Display for UsageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(argument) => write!(f, "unknown argument {argument:?}")?,
            Self::NoValue(option) => write!(f, "{option} needs a value")?,
            Self::BadNumber {
                option,
                given,
                most,
            } => write!(
                f,
                "{option} needs a whole number from 0 to {most}, not {given:?}"
            )?,
        }
        f.write_str(" (see --help)")
    }
}

/// Reads the arguments, without the program's name.
pub(crate) fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Command, UsageError> {
    let mut arguments = arguments.into_iter();
    let mut options = Options::default();
    while let Some(argument) = arguments.next() {
        let mut value = |option| arguments.next().ok_or(UsageError::NoValue(option));
        match argument.to_str() {
            Some("--port") => {
                let port = number("--port", &value("--port")?, u64::from(u16::MAX))?;
                options.port = u16::try_from(port).unwrap_or_default();
            }
            Some("--url-file") => options.url_file = Some(value("--url-file")?.into()),
            Some("--until-eof") => options.until_eof = true,
            Some("--delay-ms") => {
                let delay = number("--delay-ms", &value("--delay-ms")?, LONGEST_DELAY)?;
                options.delay = Duration::from_millis(delay);
            }
            Some("--help" | "-h") => return Ok(Command::Help),
            _ => {
                let shown = argument.to_string_lossy().into_owned();
                return Err(UsageError::Unknown(shown));
            }
        }
    }
    Ok(Command::Serve(options))
}

fn number(option: &'static str, given: &OsString, most: u64) -> Result<u64, UsageError> {
    given
        .to_str()
        .and_then(|text| text.parse().ok())
        .filter(|number| *number <= most)
        .ok_or_else(|| UsageError::BadNumber {
            option,
            given: given.to_string_lossy().into_owned(),
            most,
        })
}

#[cfg(test)]
#[path = "cli_tests.rs"]
mod tests;
