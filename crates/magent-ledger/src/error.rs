//! Everything that can go wrong with a session and its files.

use std::path::PathBuf;

/// A failure of the ledger or its files.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// A file cannot be read or written.
    #[error("{path}: {source}", path = path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A file does not hold what it should.
    #[error("{path}{place}: {problem}", path = path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// The line (`:12`) or the field (` (turns[3].status)`), if one is to blame.
        place: String,
        /// What is wrong there.
        problem: String,
    },
    /// A file is of another version than this program reads.
    #[error("{path}: session schema {found} is not supported (this version reads {supported})", path = path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// The version it says.
        found: String,
        /// The version this program reads.
        supported: u64,
    },
    /// There is no such session in this scope.
    #[error("there is no session {0} in this project")]
    NotFound(String),
    /// Of a damaged session no turn can be read.
    #[error("nothing of the session {0} can be read")]
    Unrecoverable(String),
    /// Another process has the session live.
    #[error("the session is in use by {holder}")]
    Locked {
        /// Who has it, as written in the lock file.
        holder: String,
    },
}

impl LedgerError {
    pub(crate) fn io(path: impl Into<PathBuf>, source: std::io::Error) -> Self {
        Self::Io {
            path: path.into(),
            source,
        }
    }
}

/// A shape that is not as documented: the field and what is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShapeError {
    /// The field, as `turns[3].items[0].status`; empty for the whole value.
    pub field: String,
    /// What is wrong.
    pub problem: String,
}

impl ShapeError {
    pub(crate) fn new(field: impl Into<String>, problem: impl Into<String>) -> Self {
        Self {
            field: field.into(),
            problem: problem.into(),
        }
    }

    pub(crate) fn below(mut self, parent: &str) -> Self {
        self.field = if self.field.is_empty() {
            parent.to_owned()
        } else if self.field.starts_with('[') {
            format!("{parent}{}", self.field)
        } else {
            format!("{parent}.{}", self.field)
        };
        self
    }

    /// The error of the file that holds the value.
    pub(crate) fn in_file(self, path: impl Into<PathBuf>) -> LedgerError {
        let place = if self.field.is_empty() {
            String::new()
        } else {
            format!(" (field {})", self.field)
        };
        LedgerError::Corrupt {
            path: path.into(),
            place,
            problem: self.problem,
        }
    }

    /// The error of the line that holds the value.
    pub(crate) fn in_line(self, path: impl Into<PathBuf>, line: usize) -> LedgerError {
        let place = if self.field.is_empty() {
            format!(":{line}")
        } else {
            format!(":{line} (field {})", self.field)
        };
        LedgerError::Corrupt {
            path: path.into(),
            place,
            problem: self.problem,
        }
    }
}
