//! Random texts that cannot be guessed.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};

use crate::error::Error;

/// The number of random bytes.
const BYTES: usize = 32;

/// Returns a random text in URL-safe Base64.
pub(super) fn random() -> Result<String, Error> {
    let mut bytes = [0; BYTES];
    getrandom::fill(&mut bytes).map_err(|error| Error::Authorization {
        at: "this machine".into(),
        problem: format!("it has no random numbers ({error})"),
        is_transient: false,
    })?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

/// Returns the challenge for a PKCE verifier by the method `S256`.
pub(super) fn pkce_challenge(verifier: &str) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(verifier))
}
