//! The revision of a file: what a write must name to prove that it saw the file.

use sha2::{Digest, Sha256};

/// The revision of a file's bytes: SHA-256 in lower-case hexadecimal.
pub fn revision_of(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
#[path = "revision_tests.rs"]
mod tests;
