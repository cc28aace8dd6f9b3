//! Identifiers.  Each kind is a type of its own, so that they cannot be mixed.

use std::fmt;

const SUFFIX_LENGTH: usize = 24;
const ALPHABET: &[u8; 36] = b"abcdefghijklmnopqrstuvwxyz0123456789";

/// Returns 24 random characters out of `a-z0-9`, the tail of every generated id.
///
/// The characters come from the operating system's random source, since some ids
/// (spilled tool results) are capabilities: who knows the id may read the text.
pub fn fresh_suffix() -> String {
    let mut bytes = [0_u8; SUFFIX_LENGTH];
    // Without a random source two ids could collide and overwrite each other's
    // files, so the time is the fallback and never a constant.
    if getrandom::fill(&mut bytes).is_err() {
        let nanos = std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .map_or(0, |elapsed| elapsed.as_nanos());
        for (index, byte) in bytes.iter_mut().enumerate() {
            *byte = (nanos >> (index * 5)) as u8;
        }
    }
    bytes
        .iter()
        .map(|byte| ALPHABET[usize::from(*byte) % ALPHABET.len()] as char)
        .collect()
}

macro_rules! id_type {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(String);

        impl $name {
            /// Wraps an existing identifier without checking its form.
            pub fn new(id: impl Into<String>) -> Self {
                Self(id.into())
            }

            /// Makes a new identifier of this kind, `PREFIX-` and 24 characters.
            pub fn fresh() -> Self {
                Self(format!(concat!($prefix, "-{}"), fresh_suffix()))
            }

            /// Returns the identifier as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(&self.0)
            }
        }

        impl From<&str> for $name {
            fn from(id: &str) -> Self {
                Self(id.to_owned())
            }
        }
    };
}

id_type!(
    /// A conversation as the user sees it; also the stem of its files.
    SessionId, "session"
);
id_type!(
    /// The ledger thread of a session.
    ThreadId, "thread"
);
id_type!(
    /// One user request and everything that answers it.
    TurnId, "turn"
);
id_type!(
    /// One message, reasoning block, tool call, plan or notice of a turn.
    ItemId, "item"
);
id_type!(
    /// A tool call; the same id live, in the permission dialog, in the ledger and in a replay.
    CallId, "call"
);
id_type!(
    /// A request waiting in, or running from, a session's queue.
    SubmissionId, "submission"
);
id_type!(
    /// A question to the user whether a tool may run.
    ApprovalId, "approval"
);
id_type!(
    /// A request of the core to Emacs.
    HostCallId, "host"
);

impl SessionId {
    /// Whether the text is a legal session id: 1 to 200 characters out of
    /// `[A-Za-z0-9_.-]` that begin with a letter or digit, so that it is always
    /// one file name below the session directory.
    pub fn is_legal(text: &str) -> bool {
        (1..=200).contains(&text.len())
            && text.starts_with(|c: char| c.is_ascii_alphanumeric())
            && text
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fresh_ids_have_the_documented_form() {
        let id = ItemId::fresh();
        let suffix = id.as_str().strip_prefix("item-").unwrap();
        assert_eq!(suffix.len(), 24);
        assert!(
            suffix
                .chars()
                .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
        );
        assert_ne!(id, ItemId::fresh());
    }

    #[test]
    fn session_ids_never_name_another_directory() {
        for legal in ["session-20261130-223647", "a", "A.b_c-1"] {
            assert!(SessionId::is_legal(legal), "{legal}");
        }
        for illegal in [
            "",
            ".hidden",
            "../x",
            "a/b",
            "-x",
            "a b",
            &"a".repeat(201),
            "ä",
        ] {
            assert!(!SessionId::is_legal(illegal), "{illegal}");
        }
    }
}
