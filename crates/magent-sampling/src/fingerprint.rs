//! Whether two requests may share a provider's continuation.

use serde_json::Value;
use sha2::{Digest, Sha256};

/// The fingerprint of a sample header: SHA-256 over its canonical JSON.  Two samples
/// with the same one had the same backend, model, phase, system text, tools and
/// numbers.
pub fn fingerprint(header: &Value) -> String {
    let digest = Sha256::digest(header.to_string().as_bytes());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}
