//! Texts that nobody can guess.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};

use crate::error::Error;

/// How much chance is in one, in bytes.
const BYTES: usize = 32;

/// A text that nobody can guess, of letters that a URL may have.
pub(super) fn random() -> Result<String, Error> {
    let mut bytes = [0; BYTES];
    getrandom::fill(&mut bytes).map_err(|error| Error::Authorization {
        at: "this machine".into(),
        problem: format!("it has no random numbers ({error})"),
        passes: false,
    })?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

/// The challenge of a PKCE verifier by the method `S256`.
pub(super) fn challenge_of(verifier: &str) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(verifier))
}
